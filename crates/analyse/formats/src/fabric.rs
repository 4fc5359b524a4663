//! Descriptions of networks and readings of their counters, in other tools' formats.
//!
//! Owns their syntax, one module a format, and one kind of error, with line and expectation.
//! Missing parts of a description that do not invalidate it are gaps. It refuses routes and loads:
//! those are [`talea_fabric`]'s.

pub mod blue_gene;
pub mod cables;
pub mod hostlist;
pub mod ibnetdiscover;
pub mod nodemap;
pub mod perfquery;
mod ports;
pub mod rtr;
pub mod topology_conf;
mod yaml;

use std::collections::BTreeSet;

use talea_fabric::{Coordinate, FabricError, MOST_AXES};
use talea_model::{Gap, GapKind};

/// Errors of descriptions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A line that violates the format, or contradicts others.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Line {
        /// Line number, from 1.
        line: u64,
        /// The expected form.
        expected: String,
        /// The text that was found, shortened.
        found: String,
    },
    /// A line that describes something impossible.
    #[error("line {line}: {wrong}")]
    Fabric {
        /// Line number, from 1.
        line: u64,
        /// The error of the network.
        wrong: FabricError,
    },
    /// An impossible whole.
    #[error(transparent)]
    Whole(#[from] FabricError),
    /// An error in a file that another one includes.
    #[error("line {line}: in `{name}`, which it includes: {source}")]
    Included {
        /// Line number, from 1, of the including file.
        line: u64,
        /// The included file, shortened.
        name: String,
        /// Its error.
        source: Box<Self>,
    },
    /// An included file that cannot be read.
    #[error("{why}")]
    Unread {
        /// The reason.
        why: String,
    },
    /// No content of the format.
    #[error("expected {expected}, found none")]
    Nothing {
        /// The expected kind of content.
        expected: &'static str,
    },
}

fn wrong(line: u64, expected: impl Into<String>, found: &str) -> Error {
    Error::Line { line, expected: expected.into(), found: short(found) }
}

fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

fn at_line(line: u64) -> impl Fn(FabricError) -> Error {
    move |wrong| Error::Fabric { line, wrong }
}

fn missing(detail: String, count: u64) -> Gap {
    Gap { kind: GapKind::Missing, rank: None, detail, count }
}

/// Lengths of the axes of a torus whose routers are at these coordinates, with their lines.
///
/// A coordinate out of range is recognised by its distance from those that others use of its axis:
/// at least half of the numbers of an axis must be used.
fn lengths(places: &[(u64, Coordinate)]) -> Result<Vec<u16>, Error> {
    let nothing = Error::Nothing { expected: "a coordinate" };
    let axes = places.first().ok_or(nothing)?.1.values().len();
    let mut lengths = Vec::with_capacity(MOST_AXES);
    for axis in 0..axes {
        let mut used = BTreeSet::new();
        for (line, at) in places {
            let Some(&value) = at.values().get(axis) else {
                return Err(wrong(*line, format!("a coordinate of {axes} axes"), &at.to_string()));
            };
            used.insert(value);
        }
        let most = used.len() * 2;
        // Lengths are numbers of the same width.
        let most = most.max(2).min(u16::MAX.into());
        let outside = places.iter().find(|(_, at)| usize::from(at.values()[axis]) >= most);
        if let Some((line, at)) = outside {
            let expected = format!(
                "a number below {most} on axis {axis} of the coordinate, which uses {} of them",
                used.len()
            );
            return Err(wrong(*line, expected, &at.to_string()));
        }
        lengths.push(used.last().map_or(1, |&last| last + 1));
    }
    let all = lengths.iter().fold(1_u64, |all, &length| all.saturating_mul(length.into()));
    if all > 64 * places.len() as u64 + 4096 {
        let (line, at) = places[places.len() - 1];
        let expected = "coordinates that fill a torus, at least one in 64";
        return Err(wrong(line, expected, &at.to_string()));
    }
    Ok(lengths)
}

/// Samples with a few bytes changed, for the readers' tests.
#[cfg(test)]
mod damaged {
    use proptest::prelude::*;
    use proptest::sample::Index;

    /// Places and their new bytes.
    pub(super) type Changes = Vec<(Index, u8)>;

    pub(super) fn changes() -> impl Strategy<Value = Changes> {
        prop::collection::vec((any::<Index>(), any::<u8>()), 1..9)
    }

    pub(super) fn changed(text: &str, changes: &Changes) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        bytes
    }
}

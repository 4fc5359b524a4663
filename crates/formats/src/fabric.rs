//! Descriptions of networks and readings of their counters, as other tools write them.
//!
//! Owns their syntax, one module a format, and one kind of error, which says line and expectation. What is missing from a description but does not break it is a gap. It refuses
//! ways and loads: that is [`talea_fabric`].

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

/// Bytes that are no such description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A line that breaks the format, or contradicts others.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Line {
        /// From 1.
        line: u64,
        /// What should stand there.
        expected: String,
        /// What stands there, shortened.
        found: String,
    },
    /// A line that describes what cannot be.
    #[error("line {line}: {wrong}")]
    Fabric {
        /// From 1.
        line: u64,
        /// What cannot be.
        wrong: FabricError,
    },
    /// A whole that cannot be.
    #[error(transparent)]
    Whole(#[from] FabricError),
    /// Something that is wrong with a file that another one includes.
    #[error("line {line}: in `{name}`, which it includes: {source}")]
    Included {
        /// From 1, of the including file.
        line: u64,
        /// The included file, shortened.
        name: String,
        /// What is wrong with it.
        source: Box<Self>,
    },
    /// A file that another one includes and that is not there.
    #[error("{why}")]
    Unread {
        /// Why.
        why: String,
    },
    /// Nothing of the format.
    #[error("expected {expected}, found none")]
    Nothing {
        /// Of which there should be some.
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
/// A coordinate out of range shows as one far beyond what others use of its axis: at least half of the numbers of an axis must be used.
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
                "a number below {most} on axis {axis} of the coordinate, of which {} are used",
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

    /// Places and the bytes that they get.
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

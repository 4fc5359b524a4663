//! Machines described in a line, in the syntax of hwloc's tools: `pack:2 numa:2 l3:1 core:8 pu:2`,
//! `2 4 2`.
//!
//! Owns the text and its machine: levels with the number of each in one of the level before,
//! `[numa(...)]` for nodes beside a level, attributes in parentheses. Follows the chapter
//! "Synthetic topologies" of hwloc's manual; counts are those of `lstopo -i`. It refuses indexes
//! that do not fit, for which hwloc only warns.

mod build;
mod indexes;
mod settle;
mod text;

use std::fmt;
use std::ops::Range;

use crate::objects::Topology;

/// Maximum number of levels of a description.
pub const MOST_LEVELS: usize = 128;
/// Maximum number of objects of a description.
pub const MOST_OBJECTS: usize = 1 << 21;

/// A text that describes no machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("character {}: expected {expected}, found {found}", 1 + at.start)]
pub struct SyntheticError {
    /// Place in the text, in bytes.
    pub at: Range<usize>,
    /// The expected text.
    pub expected: String,
    /// The text that was found.
    pub found: String,
}

impl SyntheticError {
    /// The text with a line below that marks the place.
    pub fn pointed<'t>(&'t self, text: &'t str) -> impl fmt::Display + 't {
        struct Pointed<'t>(&'t SyntheticError, &'t str);
        impl fmt::Display for Pointed<'_> {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Self(error, text) = self;
                let before = text.get(..error.at.start).unwrap_or(text).chars().count();
                let marked =
                    text.get(error.at.clone()).map_or(1, |part| part.chars().count().max(1));
                let line: String =
                    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                writeln!(out, "{line}")?;
                write!(out, "{}{} {error}", " ".repeat(before), "^".repeat(marked))
            }
        }
        Pointed(self, text)
    }
}

/// Makes the machine described by a text.
pub fn parse(text: &str) -> Result<Topology, SyntheticError> {
    let text::Parsed { cursor, mut levels, is_named } = text::parse(text)?;
    settle::settle(&cursor, &mut levels, &is_named)?;
    build::build(text, &levels)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(text: &str) -> String {
        let topology = parse(text).unwrap();
        let counts = topology.counts().into_iter().map(|(kind, count)| format!("{kind} {count}"));
        counts.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn levels_and_nodes() {
        insta::assert_snapshot!(counts("pack:2 numa:2 l3:1 core:8 pu:2"),
            @"Machine 1, Package 2, NUMANode 4, L3Cache 4, Core 32, PU 64");
        insta::assert_snapshot!(counts("2 4 2"), @"Machine 1, Package 2, Group 8, NUMANode 8, PU 16");
        insta::assert_snapshot!(counts("pack:2 [numa(memory=1GB memorysidecachesize=16MB)] pu:2"),
            @"Machine 1, Package 2, NUMANode 2, MemCache 2, PU 4");
    }

    #[test]
    fn numbers_interleave() {
        let numbers = |text: &str| -> Vec<u32> {
            let topology = parse(text).unwrap();
            topology.pus().into_iter().filter_map(|id| topology.get(id).os_index).collect()
        };
        assert_eq!(numbers("core:2 pu:2(indexes=2*2:1*2)"), [0, 2, 1, 3]);
        assert_eq!(numbers("core:2 pu:2(indexes=core)"), [0, 2, 1, 3]);
        assert_eq!(numbers("pack:2 core:2 pu:2(indexes=pack:core)"), [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(numbers("pack:2 core:2 pu:2(indexes=core:pack)"), [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(numbers("core:2 pu:2(indexes=7,9,11,13)"), [7, 9, 11, 13]);
    }

    #[test]
    fn errors_point_at_the_place() {
        let shown: Vec<String> = [
            "",
            "foo:2 pu:2",
            "pack:2",
            "pack 2",
            "pack:0 pu:1",
            "pack:99999999999 pu:1",
            "pack:2 2 core:2 pu:1",
            "core:2 core:2 pu:1",
            "pack:2(memory=1XB) pu:1",
            "pack:2(colour=red) pu:1",
            "pack:2 [core] pu:1",
            "pack:2 [numa pu:1",
            "numa:2 pack:2 [numa] pu:1",
            "core:2 pu:2(indexes=0,1,2)",
            "core:2 pu:2(indexes=0,1,1,2)",
            "core:2 pu:2(indexes=2*2:2*2)",
            "core:2 pu:2(indexes=core:pu)",
            "pu:2)",
            "4096 4096 4096",
        ]
        .iter()
        .map(|text| parse(text).unwrap_err().pointed(text).to_string())
        .collect();
        insta::assert_snapshot!(shown.join("\n"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_machine_or_refused(text in "[a-z0-9 :()\\[\\]=,*]{0,40}") {
            let _ = parse(&text).map_err(|error| error.pointed(&text).to_string());
        }

        #[test]
        fn near_texts_are_machines_or_refused(
            parts in prop::collection::vec(prop::sample::select(vec![
                "pack:2", " ", "numa:2", "[numa]", "l2:1", "group:2", "2", "pu:2", "core:3",
                "(memory=1GB)", "(indexes=1,0)", "é",
            ]), 0..12)
        ) {
            let text = parts.join(" ");
            if let Err(error) = parse(&text) {
                let _ = error.pointed(&text).to_string();
            }
        }
    }
}

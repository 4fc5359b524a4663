//! Gaps: data that were lost, skipped, estimated or unsupported, as a value that travels with every
//! result.
//!
//! Owns the list and its wording. It never decides whether a gap matters; views show all of them.

use serde::{Deserialize, Serialize};

use crate::ids::Rank;
use crate::notation::grouped;

/// One thing that a result lacks, and why.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Gap {
    /// The kind of loss, stable for programs that read JSON.
    pub kind: GapKind,
    /// The rank that it happened on; absent where it concerns the whole run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rank: Option<Rank>,
    /// One sentence for people, with figures, without a full stop.
    pub detail: String,
    /// How many events (or other units that `detail` names) are missing; 0 where it cannot be
    /// known.
    #[serde(default)]
    pub count: u64,
}

impl Gap {
    /// The sentence for people with its count, which sums of many intervals have beside the text,
    /// unless the text has it.
    pub fn sentence(&self) -> String {
        let digits = self.count.to_string();
        let mut words = self.detail.split(|c: char| !c.is_ascii_digit() && c != ',');
        let has_it = words.any(|word| word.trim_matches(',').replace(',', "") == digits);
        if self.count == 0 || has_it {
            return self.detail.clone();
        }
        format!("{} ({})", self.detail, grouped(self.count))
    }
}

/// Why something is missing.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GapKind {
    /// The process ended without `MPI_Finalize`; its record goes up to its last moments.
    EndedEarly,
    /// The memory bound was reached; what follows is kept more coarsely or not at all.
    MemoryBound,
    /// The disk or file system had no room for the record.
    DiskFull,
    /// The program paused the recording with `MPI_Pcontrol(0)`.
    Paused,
    /// Bytes of a record were damaged.
    Damaged,
    /// A record that should exist was not found.
    Missing,
    /// A call or feature that is not recorded.
    Unsupported,
    /// A figure that was estimated rather than measured.
    Estimated,
    /// Symbols or line tables were not found.
    Unresolved,
}

/// All gaps of a result, without repetition, in a fixed order.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Gaps(Vec<Gap>);

impl Gaps {
    /// Adds one gap unless the same is there already; the order is by kind, rank and text.
    pub fn note(&mut self, gap: Gap) {
        if let Err(place) = self.0.binary_search(&gap) {
            self.0.insert(place, gap);
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: Gaps) {
        const FEW: usize = 16;
        if other.0.len() <= FEW {
            return other.0.into_iter().for_each(|gap| self.note(gap));
        }
        // Lists from files may be long and in any order: one after the other would take the square
        // of their length.
        self.0.extend(other.0);
        self.0.sort();
        self.0.dedup();
    }

    /// All gaps in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Gap> {
        self.0.iter()
    }

    /// True when nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a Gaps {
    type Item = &'a Gap;
    type IntoIter = std::slice::Iter<'a, Gap>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(detail: &str) -> Gap {
        Gap { kind: GapKind::Damaged, rank: None, detail: detail.to_owned(), count: 0 }
    }

    #[test]
    fn lists_in_any_order_become_one_in_order() {
        // As a file may have them.
        let mut gaps = Gaps(vec![gap("c"), gap("a")]);
        gaps.merge(Gaps(
            ["d", "b", "a", "b"].iter().cycle().take(40).map(|text| gap(text)).collect(),
        ));
        gaps.merge(Gaps(vec![gap("c"), gap("b")]));
        let details: Vec<&str> = gaps.iter().map(|gap| gap.detail.as_str()).collect();
        assert_eq!(details, ["a", "b", "c", "d"]);
    }

    #[test]
    fn counts_are_told_once() {
        let told = |detail, count| Gap { count, ..gap(detail) }.sentence();
        assert_eq!(
            told("node n1: samples are lost", 1_234_567),
            "node n1: samples are lost (1,234,567)"
        );
        assert_eq!(told("samples are lost", 0), "samples are lost");
        assert_eq!(told("1,234 samples are lost", 1234), "1,234 samples are lost");
        assert_eq!(told("lost 12, told", 12), "lost 12, told");
        assert_eq!(told("node n12: lost", 2), "node n12: lost (2)");
    }

    #[test]
    fn many_gaps_take_no_time() {
        let many =
            |from: u32| Gaps((from..from + 300_000).rev().map(|n| gap(&n.to_string())).collect());
        let mut gaps = many(0);
        gaps.merge(many(150_000));
        assert_eq!(gaps.iter().count(), 450_000);
    }
}

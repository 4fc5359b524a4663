//! Temporal labels: the visits of its source node on which an edge is taken.
//!
//! Owns partitions of visits in the slides' notation: `first,last,stride,blocksize`, parts joined
//! with `|`, where blocks are formed greedily from the left and `last` is the last visit of the
//! last block, so that {0,2,4,5} is `0,2,2,1|4,5,0,2`; consecutive visits have the short form
//! `first,last`. Works on runs, never on single visits. Source: slides 6 and 21; visits count from
//! 1 in labels of edges and from 0 in guards.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::cycles::Cycles;

/// Equal blocks of consecutive visits at equal distances. Visits count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Part {
    /// First visit of the first block.
    pub first: u64,
    /// Last visit of the last block.
    pub last: u64,
    /// Distance between the begins of neighbouring blocks; 0 where there is one block only.
    pub stride: u64,
    /// Visits in a block.
    pub block: u64,
}

/// A set of visits as parts in increasing order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Partition(Vec<Part>);

/// Notation of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// All four numbers of each part.
    Full,
    /// `first,last` for a part of consecutive visits, four numbers for the others.
    Short,
}

/// The number of the first visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// As in guards of the structure tree.
    FromZero,
    /// As in labels of edges.
    FromOne,
}

/// Errors of parsing a partition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseLabelError {
    /// A part has another number of fields than 2 or 4, or an invalid number.
    #[error("a part needs the numbers first,last or first,last,stride,blocksize: `{0}`")]
    Fields(String),
    /// The four numbers contradict each other.
    #[error("no blocks of this size and stride end at this visit: `{0}`")]
    Contradiction(String),
    /// A part begins before the one to its left ends.
    #[error("parts are out of order: `{0}`")]
    Order(String),
}

impl Partition {
    /// The set of all visits in `intervals` (first visit, number of visits), which must not
    /// decrease; overlaps with earlier intervals are dropped.
    pub fn from_intervals(intervals: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut builder = PartitionBuilder::default();
        for (first, count) in intervals {
            builder.push(first, count);
        }
        builder.finish()
    }

    /// The parts in increasing order.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }

    /// Number of visits.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|part| part.blocks().saturating_mul(part.block)).sum()
    }

    /// True without any visit.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if `visit` is in the set.
    pub fn contains(&self, visit: u64) -> bool {
        let place = self.0.partition_point(|part| part.last < visit);
        self.0.get(place).is_some_and(|part| {
            visit >= part.first
                && (part.stride == 0 || (visit - part.first) % part.stride < part.block)
        })
    }

    /// Blocks of consecutive visits as (first visit, number of visits), in order.
    pub fn intervals(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().flat_map(|part| {
            (0..part.blocks()).map(move |i| (part.first + i * part.stride, part.block))
        })
    }

    /// The set in the slides' notation; empty for the empty set.
    pub fn label(&self, notation: Notation, counting: Counting) -> String {
        let base = counting.base();
        let mut text = String::new();
        for part in &self.0 {
            let bar = if text.is_empty() { "" } else { "|" };
            let (first, last) = (part.first + base, part.last + base);
            // Writing to a string cannot fail.
            let _ = if part.stride == 0 && notation == Notation::Short {
                write!(text, "{bar}{first},{last}")
            } else {
                write!(text, "{bar}{first},{last},{},{}", part.stride, part.block)
            };
        }
        text
    }

    /// Reads the output of [`Self::label`], in either notation; blanks are allowed around the
    /// numbers.
    pub fn parse(text: &str, counting: Counting) -> Result<Self, ParseLabelError> {
        let mut parts: Vec<Part> = Vec::new();
        for piece in text.split('|').filter(|_| !text.trim().is_empty()) {
            let part = Part::parse(piece, counting)?;
            if parts.last().is_some_and(|before| before.last >= part.first) {
                return Err(ParseLabelError::Order(piece.trim().to_owned()));
            }
            parts.push(part);
        }
        Ok(Self(parts))
    }
}

impl Counting {
    const fn base(self) -> u64 {
        match self {
            Self::FromZero => 0,
            Self::FromOne => 1,
        }
    }
}

impl Part {
    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        // Saturates, because a part may come from a file.
        let reach = self.last.saturating_add(1).saturating_sub(self.block);
        reach.saturating_sub(self.first).checked_div(self.stride).unwrap_or(0) + 1
    }

    fn parse(piece: &str, counting: Counting) -> Result<Self, ParseLabelError> {
        let piece = piece.trim();
        let numbers: Option<Vec<u64>> =
            piece.split(',').map(|field| field.trim().parse().ok()).collect();
        let (first, last, stride, block) = match numbers.as_deref() {
            Some(&[first, last]) => (first, last, 1, 1),
            Some(&[first, last, stride, block]) => (first, last, stride, block),
            _ => return Err(ParseLabelError::Fields(piece.to_owned())),
        };
        let wrong = || ParseLabelError::Contradiction(piece.to_owned());
        let first = first.checked_sub(counting.base()).ok_or_else(wrong)?;
        let last = last.checked_sub(counting.base()).ok_or_else(wrong)?;
        // The largest number has no successor to count with.
        let length = last.checked_sub(first).filter(|_| last < u64::MAX).ok_or_else(wrong)? + 1;
        let rest = length.checked_sub(block).filter(|_| block > 0).ok_or_else(wrong)?;
        match (stride, rest) {
            (_, 0) => Ok(Self { first, last, stride: 0, block }),
            // Blocks that touch are one block.
            (stride, rest) if stride == block && rest % stride == 0 => {
                Ok(Self { first, last, stride: 0, block: length })
            }
            (stride, rest) if stride > block && rest % stride == 0 => {
                Ok(Self { first, last, stride, block })
            }
            _ => Err(wrong()),
        }
    }
}

/// Collects visits in increasing order into a partition.
#[derive(Clone, Debug, Default)]
pub struct PartitionBuilder {
    parts: Vec<Part>,
    /// The block that may still grow: first visit and number of visits.
    open: Option<(u64, u64)>,
}

impl PartitionBuilder {
    /// Adds `count` visits from `first` on; visits that are not after all earlier ones are dropped.
    pub fn push(&mut self, first: u64, count: u64) {
        let end = first.saturating_add(count);
        let seen = self.open.map_or(0, |(begin, length)| begin + length);
        let first = first.max(seen);
        let count = end.saturating_sub(first);
        if count == 0 {
            return;
        }
        match &mut self.open {
            Some((_, length)) if seen == first => *length += count,
            _ => {
                self.close();
                self.open = Some((first, count));
            }
        }
    }

    /// The set of all added visits.
    pub fn finish(mut self) -> Partition {
        self.close();
        Partition(self.parts)
    }

    /// Adds the open block to the last part when it continues it, else as a part of its own.
    fn close(&mut self) {
        let Some((first, block)) = self.open.take() else {
            return;
        };
        let last = first + block - 1;
        if let Some(part) = self.parts.last_mut()
            && part.block == block
        {
            let stride = first - (part.last + 1 - block);
            if part.stride == 0 || part.stride == stride {
                part.stride = stride;
                part.last = last;
                return;
            }
        }
        self.parts.push(Part { first, last, stride: 0, block });
    }
}

/// Maximum number of runs of choices for a label, which takes time for each.
const MOST_RUNS: u64 = 1 << 26;

/// The visits on which a successor was chosen: the label of an edge. `None` if it has more than
/// `parts` parts, or the node too many runs of choices.
pub fn edge_partition(choices: &Cycles<u32>, successor: u32, parts: usize) -> Option<Partition> {
    if choices.run_count() > MOST_RUNS {
        return None;
    }
    let mut builder = PartitionBuilder::default();
    let mut visit = 0_u64;
    for (choice, count) in choices.runs() {
        if choice == successor {
            builder.push(visit, count);
            if builder.parts.len() > parts {
                return None;
            }
        }
        visit = visit.saturating_add(count);
    }
    let partition = builder.finish();
    (partition.0.len() <= parts).then_some(partition)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(visits: &[u64]) -> Partition {
        Partition::from_intervals(visits.iter().map(|&visit| (visit, 1)))
    }

    #[test]
    fn labels_as_the_slides_write_them() {
        let check = |visits: &[u64], full: &str, short: &str| {
            let set = set(visits);
            assert_eq!(set.label(Notation::Full, Counting::FromZero), full);
            assert_eq!(set.label(Notation::Short, Counting::FromOne), short);
        };
        check(&[0, 2, 4, 5], "0,2,2,1|4,5,0,2", "1,3,2,1|5,6");
        check(&[3], "3,3,0,1", "4,4");
        check(&[0, 2, 4, 6, 8], "0,8,2,1", "1,9,2,1");
        check(&[0, 1, 2], "0,2,0,3", "1,3");
        check(&[0, 1, 5, 6, 10, 11, 20], "0,11,5,2|20,20,0,1", "1,12,5,2|21,21");
        check(&[], "", "");
    }

    #[test]
    fn wrong_labels_are_refused() {
        let parse = |text| Partition::parse(text, Counting::FromOne);
        assert_eq!(parse("1,3,1,1"), parse("1,3"));
        assert_eq!(parse(" 1,3,2,1 | 5,6,0,2 ").unwrap().len(), 4);
        for text in ["1", "1,2,3", "a,b", "|", "1,2,3,4,5"] {
            assert!(matches!(parse(text), Err(ParseLabelError::Fields(_))), "{text}");
        }
        for text in ["0,3", "3,1", "1,4,2,1", "1,5,0,1", "1,5,1,2", "1,1,0,0"] {
            assert!(matches!(parse(text), Err(ParseLabelError::Contradiction(_))), "{text}");
        }
        assert!(matches!(parse("1,3|3,4"), Err(ParseLabelError::Order(_))));
        assert!(parse("1,18446744073709551615,2,1").is_ok());
    }

    #[test]
    fn edges_of_a_node_partition_its_visits_without_expansion() {
        let choices = Cycles::from_runs([(0, 1 << 60), (1, 1), (7, 5), (0, 2)]);
        let label = |successor, parts| edge_partition(&choices, successor, parts);
        assert_eq!(label(0, 2).map(|label| label.len()), Some((1 << 60) + 2));
        assert_eq!(label(1, 1).map(|label| label.parts()[0].first), Some(1 << 60));
        assert_eq!((label(0, 1), label(3, 0)), (None, Some(Partition::default())));
    }

    proptest! {
        #[test]
        fn parse_undoes_print(visits in prop::collection::btree_set(0_u64..200, 0..80)) {
            let visits: Vec<u64> = visits.into_iter().collect();
            let set = set(&visits);
            for notation in [Notation::Full, Notation::Short] {
                for counting in [Counting::FromZero, Counting::FromOne] {
                    let text = set.label(notation, counting);
                    prop_assert_eq!(Partition::parse(&text, counting).unwrap(), set.clone());
                }
            }
            prop_assert_eq!(set.len(), visits.len() as u64);
            for visit in 0..200 {
                prop_assert_eq!(set.contains(visit), visits.contains(&visit));
            }
            let flat: Vec<u64> = set.intervals().flat_map(|(a, n)| a..a + n).collect();
            prop_assert_eq!(flat, visits);
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in "[0-9,| ]{0,30}") {
            if let Ok(set) = Partition::parse(&text, Counting::FromZero) {
                let again = set.label(Notation::Full, Counting::FromZero);
                prop_assert_eq!(Partition::parse(&again, Counting::FromZero).unwrap(), set);
            }
        }
    }
}

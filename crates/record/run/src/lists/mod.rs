//! Lists among the arguments of calls: ages of requests, counts, positions.
//!
//! Owns the table of a process's or a recording's lists. A list is stored in full, or as its
//! difference from an earlier one, because a program that waits for one of many requests passes
//! nearly the same list each time. [`Cursor`] returns their entries: from one list to the next it
//! applies the changes. It refuses to hold the entries of all lists.

mod cursor;
pub mod record;
pub mod sum;
#[cfg(test)]
mod tests;

pub(crate) use cursor::States;
pub use cursor::{Cursor, List};
pub use record::Change;

/// Maximum number of changes between a list of this length and its full list: the maximum cost of
/// finding a list.
///
/// Recorders write a full list after half as many.
pub const fn most_weight(length: u64) -> u64 {
    2 * key_weight(length)
}

/// Number of changes after which a recorder writes the whole list again.
pub const fn key_weight(length: u64) -> u64 {
    64 + 4 * length
}

/// In the place of a list's number: no list.
const NONE: u32 = u32::MAX;

/// Lists by number.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    spans: Vec<Span>,
    /// Entries of full lists; positions and values in turn for changes.
    numbers: Vec<i64>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    /// The base of this list; [`NONE`] for a full one.
    base: u32,
    /// A list of positions whose entries are null here.
    nulls: u32,
    /// Added to each age of an own request.
    shift: i64,
    /// Number of entries of the list.
    length: u32,
    /// Number of changes since the last full list.
    weight: u32,
    /// Place among `numbers`.
    start: usize,
    /// Count of numbers there.
    count: usize,
}

impl Lists {
    /// Number of lists.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// True without lists.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// True where no list is the change of another one.
    pub(crate) fn are_full(&self) -> bool {
        self.spans.iter().all(|span| span.base == NONE)
    }

    /// Adds a list with these entries; `None` where there is no room for its number.
    pub fn push(&mut self, entries: &[i64]) -> Option<u32> {
        let start = self.numbers.len();
        let length = u32::try_from(entries.len()).ok()?;
        self.numbers.extend_from_slice(entries);
        let count = entries.len();
        self.add(Span { base: NONE, nulls: NONE, shift: 0, length, weight: 0, start, count })
    }

    /// Adds a list that differs from an earlier one; `None` where the change contradicts the lists
    /// that it refers to, or is one change too many since the last full list.
    pub fn push_change(&mut self, change: &Change) -> Option<u32> {
        let base = self.spans.get(change.base as usize)?;
        let nulls = match change.nulls {
            Some(nulls) => self.spans.get(nulls as usize).filter(|span| span.base == NONE)?.count,
            None => 0,
        };
        // Each entry that a list has more than its base is among the changes.
        let more = change.length.saturating_sub(base.length);
        if more as usize > change.entries.len()
            || change.entries.last().is_some_and(|&(last, _)| last >= change.length)
            || !change.entries.is_sorted_by_key(|&(position, _)| position)
        {
            return None;
        }
        let weight = self.weight(change.base, nulls + change.entries.len());
        if weight > most_weight(u64::from(change.length)) {
            return None;
        }
        let start = self.numbers.len();
        let pairs = change.entries.iter();
        self.numbers.extend(pairs.flat_map(|&(position, value)| [i64::from(position), value]));
        self.add(Span {
            base: change.base,
            nulls: change.nulls.unwrap_or(NONE),
            shift: change.shift,
            length: change.length,
            weight: weight as u32,
            start,
            count: 2 * change.entries.len(),
        })
    }

    /// Number of changes since the last full list for a list derived from `base` by this many.
    fn weight(&self, base: u32, changes: usize) -> u64 {
        let before = self.spans.get(base as usize).map_or(0, |span| u64::from(span.weight));
        before + 1 + changes as u64
    }

    fn add(&mut self, span: Span) -> Option<u32> {
        let id = u32::try_from(self.spans.len()).ok().filter(|&id| id != NONE)?;
        self.spans.push(span);
        Some(id)
    }

    /// The list as it was added: its entries, or its differences.
    pub(crate) fn get(&self, id: u32) -> Option<Form<'_>> {
        let span = self.spans.get(id as usize)?;
        let numbers = &self.numbers[span.start..span.start + span.count];
        if span.base == NONE {
            return Some(Form::Full(numbers));
        }
        let pairs = numbers.chunks_exact(2);
        Some(Form::Changed(Change {
            base: span.base,
            length: span.length,
            shift: span.shift,
            nulls: (span.nulls != NONE).then_some(span.nulls),
            entries: pairs.map(|pair| (pair[0] as u32, pair[1])).collect(),
        }))
    }

    /// Count of numbers of all lists.
    pub(crate) fn numbers(&self) -> usize {
        self.numbers.len()
    }

    /// Number of entries of a list; 0 for an unknown number.
    pub(crate) fn length(&self, id: u32) -> u32 {
        self.spans.get(id as usize).map_or(0, |span| span.length)
    }

    /// The entries of a full list.
    fn full(&self, id: u32) -> Option<&[i64]> {
        let span = self.spans.get(id as usize).filter(|span| span.base == NONE)?;
        Some(&self.numbers[span.start..span.start + span.count])
    }

    /// Access to the entries of lists.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor::new(self)
    }
}

/// A list as it was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form<'a> {
    /// Its entries.
    Full(&'a [i64]),
    /// The differences from another one.
    Changed(Change),
}

impl FromIterator<Vec<i64>> for Lists {
    fn from_iter<I: IntoIterator<Item = Vec<i64>>>(lists: I) -> Self {
        let mut all = Self::default();
        for list in lists {
            all.push(&list);
        }
        all
    }
}

//! Columns: the same number of many records, packed as a stream.
//!
//! Owns the limit of a column's claim. A column of equal numbers takes a few bytes however long it
//! is, so that bytes alone do not bound its length.

use talea_flow::codec::sequence::{self, Bounds};

use crate::limits::MOST_TABLE;
use crate::live::numbers::{Cursor, put_number, put_signed};

/// Form of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One number after the other: quick, for messages between ranks.
    Plain,
    /// Packed as streams: small, for files.
    Packed,
}

impl Form {
    /// Appends a column; its reader knows its length.
    pub(super) fn put(self, out: &mut Vec<u8>, values: impl Iterator<Item = i64>) {
        match self {
            Self::Plain => values.for_each(|value| put_signed(out, value)),
            Self::Packed => {
                let packed = sequence::encode(&values.collect());
                put_number(out, packed.len() as u64);
                out.extend_from_slice(&packed);
            }
        }
    }
}

/// Reads columns, of [`MOST_TABLE`] numbers at most in total.
#[derive(Debug)]
pub(super) struct Columns {
    form: Form,
    left: u64,
}

impl Columns {
    pub(super) fn new(form: Form) -> Self {
        Self { form, left: MOST_TABLE }
    }

    /// A column of `count` numbers.
    pub(super) fn get(&mut self, from: &mut Cursor<'_>, count: u64) -> Option<Vec<i64>> {
        self.left = self.left.checked_sub(count)?;
        if self.form == Form::Plain {
            // Each number takes a byte at least.
            let count = usize::try_from(count).ok().filter(|&count| count <= from.left())?;
            return (0..count).map(|_| from.signed()).collect();
        }
        let length = usize::try_from(from.number()?).ok()?;
        let mut bounds = Bounds { runs: u64::MAX, steps: count };
        let runs = sequence::decode_all(from.take(length)?, count, &mut bounds).ok()?;
        Some(runs.values().collect())
    }

    /// A column of small numbers.
    pub(super) fn small(&mut self, from: &mut Cursor<'_>, count: u64) -> Option<Vec<u32>> {
        let column = self.get(from, count)?;
        column.into_iter().map(|value| u32::try_from(value).ok()).collect()
    }
}

/// Number of records that follow when each of these counts is the number of its own.
pub(super) fn total(counts: &[u32]) -> u64 {
    counts.iter().map(|&count| u64::from(count)).sum()
}

/// Ids in the order of first use, as small, similar numbers: 0 for the next new one, else id + 1.
#[derive(Debug, Default)]
pub(super) struct FirstUses {
    next: u32,
}

impl FirstUses {
    pub(super) fn number(&mut self, id: u32) -> i64 {
        if id == self.next {
            self.next += 1;
            return 0;
        }
        i64::from(id) + 1
    }

    pub(super) fn id(&mut self, number: u32) -> u32 {
        number.checked_sub(1).unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

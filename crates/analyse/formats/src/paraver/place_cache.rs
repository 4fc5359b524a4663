//! Places of records by their text: a trace names few places, over and over.
//!
//! Owns a table of the last text seen for each hash. `cpu:appl:task:thread:` of up to 16 bytes is
//! found by its fourth colon, without reading the four numbers; a text that is not in the table is
//! read and added. The text is compared as a whole, so that the table only returns earlier results
//! of reading.

use super::number::Cursor;

/// Number of texts that are kept: 32 KiB, for the first-level cache.
const ENTRIES: usize = 1 << 10;
const WIDE: usize = 16;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// The text, its first byte lowest, followed by zeros; zero: none.
    key: u128,
    location: u32,
    cpu: u32,
}

/// The table.
#[derive(Debug)]
pub(super) struct PlaceCache(Vec<Entry>);

/// A place in the table for the result of reading.
pub(super) struct Miss {
    key: u128,
    length: usize,
}

const COLONS: u128 = u128::from_le_bytes([b':'; WIDE]);
const ONES: u128 = u128::from_le_bytes([1; WIDE]);
const HIGH: u128 = ONES << 7;

fn slot(key: u128) -> usize {
    // Multiplicative hashing (Knuth) of the two halves; the highest bits depend on all of them.
    let mixed =
        (key as u64 ^ ((key >> 64) as u64).rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 54) as usize
}

impl PlaceCache {
    pub(super) fn new() -> Self {
        Self(vec![Entry::default(); ENTRIES])
    }

    /// Location and CPU of the text that begins here, with the cursor after it; else the place
    /// where they can be put.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it begins every record, and the cursor stays in registers"
    )]
    pub(super) fn find(&self, cursor: &mut Cursor) -> Result<(u32, u32), Option<Miss>> {
        let Some(bytes) = cursor.bytes.get(cursor.at..).and_then(<[u8]>::first_chunk) else {
            return Err(None);
        };
        let text = u128::from_le_bytes(*bytes);
        let unlike = text ^ COLONS;
        // Marks are right up to the first colon and at all others; a byte after a colon may be
        // marked too, and then the text is one that reading never put into the table.
        let mut marks = unlike.wrapping_sub(ONES) & !unlike & HIGH;
        for _ in 0..3 {
            marks &= marks.wrapping_sub(1);
        }
        if marks == 0 {
            return Err(None);
        }
        let mark = marks & marks.wrapping_neg();
        // All bits up to the marked one, which is the highest of its byte.
        let key = text & ((mark - 1) | mark);
        let length = (mark.trailing_zeros() as usize >> 3) + 1;
        match self.0.get(slot(key)) {
            Some(entry) if entry.key == key => {
                cursor.at += length;
                Ok((entry.location, entry.cpu))
            }
            _ => Err(Some(Miss { key, length })),
        }
    }

    /// Keeps the result of reading the text, which took `length` bytes.
    pub(super) fn put(&mut self, miss: &Miss, length: usize, (location, cpu): (u32, u32)) {
        if miss.length == length
            && let Some(entry) = self.0.get_mut(slot(miss.key))
        {
            *entry = Entry { key: miss.key, location, cpu };
        }
    }
}

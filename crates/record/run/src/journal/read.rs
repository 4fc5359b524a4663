//! Reading a journal from untrusted bytes.
//!
//! Owns the search for the next block after damage. Payloads are borrowed, never copied.

use std::path::Path;

use talea_model::{Gap, GapKind, Gaps};

use super::{BLOCK, MARKER, MOST};
use crate::container::{HEADER, ReadError, Tag, check_header, checksum, tag, word};

/// Maximum number of places of damage that are reported one by one; of more, their total bytes.
const MOST_PLACES: usize = 100;

/// An intact block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// Its kind.
    pub tag: Tag,
    /// Offset of its payload in the file, for errors inside it.
    pub offset: u64,
    /// Its payload.
    pub bytes: &'a [u8],
}

/// A journal's intact blocks, and its gaps.
#[derive(Clone, Debug)]
pub struct Journal<'a> {
    /// Blocks in the order of the file.
    pub blocks: Vec<Block<'a>>,
    /// Damage, with its place.
    pub gaps: Gaps,
}

impl<'a> Journal<'a> {
    /// Reads a journal of a kind; `path` is for errors only. Damaged blocks are left out and are
    /// gaps.
    pub fn read(bytes: &'a [u8], kind: Tag, path: &Path) -> Result<Self, ReadError> {
        check_header(bytes, kind, path)?;
        let mut journal = Self { blocks: Vec::new(), gaps: Gaps::default() };
        let mut missed = Missed::default();
        // Blocks inside others could make it the square of the file.
        let mut checked = 0_usize;
        let mut at = HEADER;
        while at < bytes.len() {
            if bytes[at..].starts_with(&bytes[..HEADER]) {
                at += HEADER;
                continue;
            }
            let Some((block, length, expected)) = header(bytes, at) else {
                let next = find(bytes, at + 1).unwrap_or(bytes.len());
                missed.range(&mut journal.gaps, at, next);
                at = next;
                continue;
            };
            let begin = at + BLOCK;
            let Some(payload) = bytes.get(begin..begin + length) else {
                // The writer was stopped inside a block, unless another one follows.
                let next = find(bytes, begin).unwrap_or(bytes.len());
                missed.range(&mut journal.gaps, at, next);
                at = next;
                continue;
            };
            let mut next = begin + length;
            checked = checked.saturating_add(length);
            if checksum(payload) == expected {
                journal.blocks.push(Block { tag: block, offset: begin as u64, bytes: payload });
            } else {
                // Another writer may have appended to a block that was cut.
                if checked < bytes.len().saturating_mul(8) {
                    next = find(bytes, begin).unwrap_or(bytes.len()).min(next);
                }
                missed.range(&mut journal.gaps, at, next);
            }
            at = next;
        }
        missed.rest(&mut journal.gaps);
        Ok(journal)
    }
}

/// Damage so far.
#[derive(Debug, Default)]
struct Missed {
    places: usize,
    /// Number of bytes at places that are not reported one by one.
    more: usize,
}

impl Missed {
    fn range(&mut self, gaps: &mut Gaps, from: usize, to: usize) {
        self.places += 1;
        if self.places > MOST_PLACES {
            self.more += to - from;
            return;
        }
        let what = "are no whole block and are left out";
        note(gaps, format!("{} bytes at offset {from} {what}", to - from));
    }

    fn rest(&self, gaps: &mut Gaps) {
        if let more @ 1.. = self.places.saturating_sub(MOST_PLACES) {
            note(gaps, format!("{} bytes at {more} more places are no whole blocks", self.more));
        }
    }
}

fn note(gaps: &mut Gaps, detail: String) {
    gaps.note(Gap { kind: GapKind::Damaged, rank: None, detail, count: 0 });
}

/// Tag, length and checksum of the block at a place, if its own checksum holds.
fn header(bytes: &[u8], at: usize) -> Option<(Tag, usize, u32)> {
    let header = bytes.get(at..at + BLOCK)?;
    let whole = header.starts_with(&MARKER) && checksum(&header[..16]) == word(header, 16);
    let length = word(header, 8) as usize;
    (whole && length <= MOST).then(|| (tag(header, 4), length, word(header, 12)))
}

/// The next place from `from` where a block begins.
fn find(bytes: &[u8], from: usize) -> Option<usize> {
    let marked = |&at: &usize| bytes[at..].starts_with(&MARKER) && header(bytes, at).is_some();
    (from..bytes.len().saturating_sub(BLOCK - 1)).find(marked)
}

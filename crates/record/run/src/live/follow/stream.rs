//! A stream of bytes that grows.
//!
//! Owns the place up to which it was read. Bytes are read in pieces, and are kept until they are
//! decoded.

use super::super::layout::{Chunk, Stream};
use super::super::numbers::Cursor;
use super::{Input, Source};

/// Bytes that are read at a time.
const PIECE: u32 = 1 << 16;

/// Maximum length of an entry: two numbers of 64 bits.
const LONGEST: usize = 20;

/// Reads a stream from its begin.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Offset of the chunk that is read; 0 before the first.
    chunk: u64,
    /// Bytes of it that were read.
    read: u32,
    /// Bytes that were read, and how many of them are decoded.
    bytes: Vec<u8>,
    decoded: usize,
    is_damaged: bool,
}

impl Reader {
    /// Decodes the next entry; `None` where it is not there yet. `stream` is the stream's head as
    /// it is now.
    pub(super) fn take<T>(
        &mut self,
        source: &Input<'_, impl Source>,
        stream: &Stream,
        decode: impl Fn(&mut Cursor<'_>) -> Option<T>,
    ) -> Option<T> {
        loop {
            let mut from = Cursor::new(&self.bytes[self.decoded..]);
            if let Some(entry) = decode(&mut from) {
                self.decoded += from.position();
                return Some(entry);
            }
            self.is_damaged |= self.bytes.len() - self.decoded >= LONGEST;
            if self.is_damaged || !self.fill(source, stream) {
                return None;
            }
        }
    }

    /// True if the bytes are no entry.
    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Reads a piece; false if nothing is new.
    fn fill(&mut self, source: &Input<'_, impl Source>, stream: &Stream) -> bool {
        if self.chunk == 0 {
            self.chunk = stream.head;
        }
        while let Some(chunk) = source.get::<Chunk>(self.chunk) {
            let is_last = self.chunk == stream.tail;
            let there = match (is_last, chunk.next) {
                (true, _) => stream.tail_len.min(chunk.cap),
                (false, 0) => return false,
                (false, _) => chunk.used.min(chunk.cap),
            };
            let from = self.chunk.saturating_add(size_of::<Chunk>() as u64);
            let new = there.saturating_sub(self.read).min(PIECE);
            if new > 0 {
                self.bytes.drain(..self.decoded);
                self.decoded = 0;
                let old = self.bytes.len();
                self.bytes.resize(old + new as usize, 0);
                let at = from.saturating_add(u64::from(self.read));
                let length = source.read(at, &mut self.bytes[old..]);
                self.bytes.truncate(old + length);
                self.read += length as u32;
                return length > 0;
            }
            // Chunks are in the order of their allocation, which ends a cycle.
            if is_last || chunk.next < from.saturating_add(u64::from(there)) {
                return false;
            }
            (self.chunk, self.read) = (chunk.next, 0);
        }
        false
    }
}

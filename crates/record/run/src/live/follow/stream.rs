//! A stream of bytes that grows.
//!
//! Owns the place up to which it was read. Bytes are read in pieces, and are kept until they are
//! decoded. The chunks of a ring may be used again meanwhile: a reader that is too late for one
//! continues with the oldest one.

use super::super::layout::{Chunk, RingHead, Stream};
use super::super::numbers::Cursor;
use super::{Input, Source};

/// Bytes that are read at a time.
const PIECE: u32 = 1 << 16;

/// Maximum length of an entry: two numbers of 64 bits.
const LONGEST: usize = 20;

/// An entry of a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingEntry<T> {
    /// Number of entries before it.
    pub(super) number: u64,
    pub(super) times: T,
    pub(super) entry: Entry,
    /// End of the event before, where it is stated.
    pub(super) end: Option<u64>,
}

/// Bytes of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    length: u8,
    bytes: [u8; LONGEST],
}

impl Entry {
    /// The first bytes of these, as many as an entry may have.
    pub fn new(bytes: &[u8]) -> Self {
        let length = bytes.len().min(LONGEST);
        let mut own = [0; LONGEST];
        own[..length].copy_from_slice(&bytes[..length]);
        Self { length: length as u8, bytes: own }
    }

    /// As they are in the stream.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

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
    /// Number of the next entry.
    number: u64,
    /// Head of the chunk, of a ring.
    head: Option<RingHead>,
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
                self.number += 1;
                return Some(entry);
            }
            self.is_damaged |= self.bytes.len() - self.decoded >= LONGEST;
            if self.is_damaged || !self.fill(source, stream) {
                return None;
            }
        }
    }

    /// As [`Self::take`], for a ring: the entry with its number, its bytes and, for the first of a
    /// chunk, the end that the head of the chunk states.
    pub(super) fn next_ring_entry<T>(
        &mut self,
        source: &Input<'_, impl Source>,
        stream: &Stream,
        decode: impl Fn(&mut Cursor<'_>) -> Option<T>,
    ) -> Option<RingEntry<T>> {
        loop {
            let mut from = Cursor::new(&self.bytes[self.decoded..]);
            if let Some(times) = decode(&mut from) {
                let length = from.position();
                let entry = Entry::new(&self.bytes[self.decoded..][..length]);
                self.decoded += length;
                let number = self.number;
                self.number += 1;
                let head = self.head.filter(|head| head.first == number);
                return Some(RingEntry { number, times, entry, end: head.map(|head| head.end) });
            }
            if !self.read_ring(source, stream) {
                return None;
            }
        }
    }

    /// Reads what is new in a chunk of a ring, or in the next one; false if nothing is new.
    fn read_ring(&mut self, source: &Input<'_, impl Source>, stream: &Stream) -> bool {
        const HEAD: u32 = size_of::<RingHead>() as u32;
        // From chunk to chunk at most once: each has an entry.
        for _ in 0..2 {
            let content = self.chunk.saturating_add(size_of::<Chunk>() as u64);
            let is_same = self.chunk != 0 && source.get(content) == self.head;
            if !is_same && !self.enter_chunk(source, stream.head) {
                return false;
            }
            if !is_same {
                continue;
            }
            let Some(chunk) = source.get::<Chunk>(self.chunk) else { return false };
            let is_last = self.chunk == stream.tail;
            let there = match (is_last, chunk.next) {
                (true, _) => stream.tail_len.min(chunk.cap),
                (false, 0) => return false,
                (false, _) => chunk.used.min(chunk.cap),
            };
            let new = there.saturating_sub(self.read.max(HEAD)).min(PIECE);
            if new > 0 {
                self.read = self.read.max(HEAD);
                self.bytes.drain(..self.decoded);
                self.decoded = 0;
                let old = self.bytes.len();
                self.bytes.resize(old + new as usize, 0);
                let at = content.saturating_add(u64::from(self.read));
                let length = source.read(at, &mut self.bytes[old..]);
                self.bytes.truncate(old + length);
                // Used again while it was read.
                if source.get(content) != self.head {
                    return self.enter_chunk(source, stream.head);
                }
                self.read += length as u32;
                return length > 0;
            }
            // The next one may have been used again already.
            let is_there = !is_last
                && (self.enter_chunk(source, chunk.next) || self.enter_chunk(source, stream.head));
            if !is_there {
                return false;
            }
        }
        false
    }

    /// Goes to the begin of a chunk of a ring.
    fn enter_chunk(&mut self, source: &Input<'_, impl Source>, chunk: u64) -> bool {
        let head = source.get::<RingHead>(chunk.saturating_add(size_of::<Chunk>() as u64));
        let Some(head) = head.filter(|head| chunk != 0 && head.first >= self.number) else {
            return false;
        };
        self.bytes.clear();
        self.decoded = 0;
        (self.chunk, self.read, self.number, self.head) = (chunk, 0, head.first, Some(head));
        true
    }

    /// Offset of the chunk that is read; 0 before the first.
    pub(super) fn chunk(&self) -> u64 {
        self.chunk
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

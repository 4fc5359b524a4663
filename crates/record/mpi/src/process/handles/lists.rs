//! Numbers of lists.
//!
//! Owns the set of written lists, by the sums of their entries, so that a repeated list takes no
//! bytes. Only the newest ones are remembered: a list that returns after many others is written
//! again.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use talea_run::lists::record::put_full;
use talea_run::lists::sum::Sum;

use crate::record::memory::Memory;

/// Maximum number of remembered lists: few enough to stay in the cache beside the program.
const MOST: usize = 1 << 12;

/// Hasher of sums of lists, which are practically random: the lower half suffices.
#[derive(Debug, Default)]
pub struct Lower(u64);

impl Hasher for Lower {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }
    fn write_u128(&mut self, number: u128) {
        self.0 = (number as u64 ^ (number >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// A list in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its number.
    pub id: u32,
    /// Number of changes since the last full list; 0 for a full one.
    pub weight: u32,
}

/// Lists of the process.
#[derive(Debug, Default)]
pub struct Lists {
    known: HashMap<u128, Known, BuildHasherDefault<Lower>>,
    /// Sums from the oldest to the newest.
    order: VecDeque<u128>,
    /// Number of lists in the file.
    count: u32,
    /// True if there was no room for a list: later ones are not written any more.
    full: bool,
    bytes: Vec<u8>,
}

impl Lists {
    /// The number of the list with this sum.
    #[inline]
    pub fn find(&self, sum: u128) -> Option<Known> {
        self.known.get(&sum).copied()
    }

    /// The number of the next list; `None` where it would not be written.
    #[inline]
    pub fn next(&self) -> Option<u32> {
        (!self.full && self.count < u32::MAX).then_some(self.count)
    }

    /// Writes the list with this sum, whose record `put` appends.
    pub fn add(
        &mut self,
        memory: &Memory,
        sum: u128,
        weight: u32,
        put: impl FnOnce(&mut Vec<u8>),
    ) -> Option<Known> {
        let id = self.next()?;
        self.bytes.clear();
        put(&mut self.bytes);
        // SAFETY: streams of the header are only written under the lock that guards `Handles`.
        if unsafe { memory.append(&raw mut (*memory.header()).lists, &self.bytes) }.is_err() {
            self.full = true;
            return None;
        }
        if self.bytes.capacity() > 1 << 16 {
            self.bytes = Vec::new();
        }
        self.count += 1;
        let known = Known { id, weight };
        if self.order.len() == MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.known.insert(sum, known);
        self.order.push_back(sum);
        Some(known)
    }

    /// The number of a list with these entries, which is written if it is new.
    pub fn list(&mut self, memory: &Memory, entries: &[i64]) -> Option<Known> {
        let sum = Sum::number_of(entries);
        self.find(sum).or_else(|| self.add(memory, sum, 0, |out| put_full(out, entries)))
    }
}

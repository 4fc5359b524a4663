//! The arrays of requests that a thread has used last.
//!
//! Owns how many are remembered, and finding the one of a call.

use super::shadow::{Array, Shadow};
use crate::process::Process;

/// Arrays that are remembered.
const MOST: usize = 16;
/// Entries of those that are remembered beside the newest one.
const MOST_ENTRIES: usize = 1 << 20;

/// Arrays of requests.
#[derive(Debug, Default)]
pub(super) struct Shadows {
    all: Vec<Shadow>,
    /// The one that was used last.
    last: usize,
    asked: u64,
}

impl Shadows {
    /// The array that a call names, which has so many entries.
    pub(super) fn of(&mut self, array: Array, count: usize, process: &Process) -> &mut Shadow {
        self.asked += 1;
        let is_it = |shadow: &Shadow| shadow.array == array;
        if !self.all.get(self.last).is_some_and(is_it) {
            self.last = match self.all.iter().position(is_it) {
                Some(place) => place,
                None => self.add(array, count, process),
            };
        }
        let shadow = &mut self.all[self.last];
        shadow.used = self.asked;
        shadow
    }

    fn add(&mut self, array: Array, count: usize, process: &Process) -> usize {
        let mut held = self.all.iter().map(Shadow::len).sum::<usize>() + count;
        while self.all.len() >= MOST || (held > MOST_ENTRIES && !self.all.is_empty()) {
            let oldest = (0..self.all.len()).min_by_key(|&at| self.all[at].used).unwrap_or(0);
            held -= self.all.swap_remove(oldest).len();
        }
        self.all.push(process.requests.with(|requests| Shadow::new(array, requests)));
        self.all.len() - 1
    }

    /// The array that was named last.
    pub(super) fn last(&mut self) -> Option<&mut Shadow> {
        self.all.get_mut(self.last)
    }
}

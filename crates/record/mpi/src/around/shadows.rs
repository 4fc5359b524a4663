//! The most recently used arrays of requests of a thread.
//!
//! Owns their maximum number, and the lookup of a call's array.

use super::shadow::{Array, Shadow};
use crate::process::Process;

/// Maximum number of remembered arrays.
const MOST: usize = 16;
/// Maximum number of entries of the remembered ones beside the newest.
const MOST_ENTRIES: usize = 1 << 20;

/// Arrays of requests.
#[derive(Debug, Default)]
pub(super) struct Shadows {
    all: Vec<Shadow>,
    /// The last used array.
    last: usize,
    asked: u64,
}

impl Shadows {
    /// The array of a call, with this many entries.
    pub(super) fn find_or_add(
        &mut self,
        array: Array,
        count: usize,
        process: &Process,
    ) -> &mut Shadow {
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

    /// The last used array.
    pub(super) fn last(&mut self) -> Option<&mut Shadow> {
        self.all.get_mut(self.last)
    }
}

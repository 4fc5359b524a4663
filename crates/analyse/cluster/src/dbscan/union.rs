//! Connected cells: sets that only grow together.
//!
//! Owns a union-find of atomics, after Anderson and Woll (1991): in whatever order threads unite
//! members, the sets are the same in the end, and the smallest member represents each.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub(super) struct Union {
    parents: Vec<AtomicU32>,
}

impl Union {
    pub(super) fn new(members: usize) -> Self {
        Self { parents: (0..members as u32).map(AtomicU32::new).collect() }
    }

    fn parent(&self, member: u32) -> u32 {
        // Only the numbers themselves are passed on, so that no memory order is needed.
        self.parents[member as usize].load(Relaxed)
    }

    pub(super) fn find(&self, mut member: u32) -> u32 {
        loop {
            let parent = self.parent(member);
            if parent == member {
                return member;
            }
            let above = self.parent(parent);
            if above != parent {
                // Parents only become smaller: an older store that wins costs a detour, no error.
                self.parents[member as usize].store(above, Relaxed);
            }
            member = above;
        }
    }

    pub(super) fn are_together(&self, a: u32, b: u32) -> bool {
        self.find(a) == self.find(b)
    }

    pub(super) fn unite(&self, a: u32, b: u32) {
        let (mut a, mut b) = (self.find(a), self.find(b));
        while a != b {
            let (low, high) = (a.min(b), a.max(b));
            let exchange =
                self.parents[high as usize].compare_exchange(high, low, Relaxed, Relaxed);
            if exchange.is_ok() {
                return;
            }
            (a, b) = (self.find(low), self.find(high));
        }
    }
}

//! Statistics by context, in a table that grows with the contexts met.
//!
//! Owns the lookup of a context's counters by its hash, and the bound of memory: a full table
//! replaces other contexts by new ones.

use super::CONTEXTS;
use crate::codec::mix::Counter;

/// Number of decisions of a bucket: three levels.
pub(super) const NODES: usize = 7;
/// Largest number of buckets: 8 MiB.
const BUCKETS_MAX: usize = 1 << 18;

/// Counters of three decisions in a row in one context.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    /// 0 for a free bucket.
    check: u32,
    pub(super) counters: [Counter; NODES],
}

/// Buckets by context, found by hashing.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) buckets: Vec<Bucket>,
    used: usize,
}

impl Table {
    pub(super) fn new() -> Self {
        Self { buckets: vec![Bucket::default(); 32], used: 0 }
    }

    /// Makes room for all contexts of a decision.
    pub(super) fn reserve(&mut self) {
        if (self.used + CONTEXTS) * 4 <= self.buckets.len() * 3 || self.buckets.len() >= BUCKETS_MAX
        {
            return;
        }
        let larger = vec![Bucket::default(); self.buckets.len() * 4];
        let old = std::mem::replace(&mut self.buckets, larger);
        self.used = 0;
        for bucket in old.into_iter().filter(|bucket| bucket.check != 0) {
            let at = self.find(bucket.check);
            self.buckets[at] = bucket;
        }
    }

    /// The bucket of `check`, new or old. A full table replaces other contexts by new ones.
    #[inline]
    pub(super) fn find(&mut self, check: u32) -> usize {
        let mask = self.buckets.len() - 1;
        let start = check.wrapping_mul(0x9e37_79b1) as usize;
        let start = (start >> 8 ^ start) & mask;
        for probe in 0..16 {
            let at = (start + probe) & mask;
            if self.buckets[at].check == check {
                return at;
            }
            if self.buckets[at].check == 0 {
                self.used += 1;
                self.buckets[at].check = check;
                return at;
            }
        }
        self.buckets[start] = Bucket { check, ..Bucket::default() };
        start
    }
}

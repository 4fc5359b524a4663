//! Ranges that a thread has open for other tools: pushed and popped in a domain.
//!
//! Owns the stack of one thread, and the counts of ranges that did not fit. Refuses phases, which
//! `bridge` makes of ranges.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// Ranges that a thread can have open; deeper ones are counted as lost.
pub(crate) const OPEN: usize = 64;

/// Maximum number of domains whose lost ranges are counted each on its own.
const DOMAINS: usize = 8;

/// Open ranges of a thread, innermost last. Only that thread uses it; zeroed memory has none.
#[repr(C)]
pub(crate) struct Stack {
    pub(crate) depth: AtomicU32,
    /// Open ranges that did not fit, by domain, and those of still more domains.
    lost: [Lost; DOMAINS],
    pub(crate) others: AtomicU32,
    ranges: [Range; OPEN],
}

#[repr(C)]
struct Range {
    /// Whatever tells domains apart.
    domain: AtomicUsize,
    /// Twice the number of its name, and 1 if its phase was entered.
    name: AtomicUsize,
}

/// Open ranges of a domain that did not fit; without any the place is free.
#[repr(C)]
struct Lost {
    domain: AtomicUsize,
    count: AtomicU32,
}

/// A range as it is on the stack.
#[derive(Clone, Copy)]
pub(crate) struct Open {
    pub(crate) domain: usize,
    pub(crate) name: usize,
    pub(crate) entered: bool,
}

impl Stack {
    /// Nothing is open: for a thread that begins.
    pub(crate) fn clear(&self) {
        self.depth.store(0, Relaxed);
        self.others.store(0, Relaxed);
        for lost in &self.lost {
            lost.count.store(0, Relaxed);
        }
    }

    /// Where lost ranges of a domain are counted, if it has any there.
    pub(crate) fn lost(&self, domain: usize) -> Option<&AtomicU32> {
        let of_it =
            |lost: &&Lost| lost.count.load(Relaxed) > 0 && lost.domain.load(Relaxed) == domain;
        self.lost.iter().find(of_it).map(|lost| &lost.count)
    }

    /// Counts a range that does not fit.
    pub(crate) fn lose(&self, domain: usize) {
        let place = self.lost(domain).or_else(|| {
            let free = self.lost.iter().find(|lost| lost.count.load(Relaxed) == 0)?;
            free.domain.store(domain, Relaxed);
            Some(&free.count)
        });
        let place = place.unwrap_or(&self.others);
        place.store(place.load(Relaxed).saturating_add(1), Relaxed);
    }

    pub(crate) fn at(&self, at: usize) -> Option<Open> {
        let range = self.ranges.get(at)?;
        let name = range.name.load(Relaxed);
        let domain = range.domain.load(Relaxed);
        Some(Open { domain, name: name / 2, entered: name % 2 == 1 })
    }

    pub(crate) fn put(&self, at: usize, open: Open) {
        if let Some(range) = self.ranges.get(at) {
            range.domain.store(open.domain, Relaxed);
            range.name.store(2 * open.name + usize::from(open.entered), Relaxed);
        }
    }

    pub(crate) fn depth(&self) -> usize {
        (self.depth.load(Relaxed) as usize).min(OPEN)
    }

    /// The innermost range of a domain.
    pub(crate) fn innermost(&self, domain: usize) -> Option<(usize, Open)> {
        (0..self.depth()).rev().find_map(|at| {
            let open = self.at(at)?;
            (open.domain == domain).then_some((at, open))
        })
    }

    /// Ranges of a domain.
    pub(crate) fn level(&self, domain: usize, below: usize) -> i32 {
        let of_it = |&at: &usize| self.at(at).is_some_and(|open| open.domain == domain);
        (0..below).filter(of_it).count() as i32
    }
}

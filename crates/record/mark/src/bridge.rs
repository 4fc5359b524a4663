//! Phases that programs mark for other tools: ranges that are pushed and popped in a domain, by
//! names that come at run time.
//!
//! Owns each thread's stack of such ranges, because a pop says its domain only. The interfaces are
//! in `nvtx` and `itt`, names in `names`; phases themselves are those of `markers` and `thread`,
//! with the same budget. A range whose name is off stays on the stack, so that its pop pops nothing
//! else. Ranges of two domains that overlap are untangled: phases nest, so the inner one ends with
//! the outer, and begins anew.

mod itt;
mod names;
mod nvtx;

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use crate::layout::header;
use crate::{c_api, markers, slots, thread};
use names::Name;

/// Ranges that a thread can have open; deeper ones are counted as lost.
const OPEN: usize = 64;
/// Maximum number of domains whose lost ranges are counted each on its own.
const DOMAINS: usize = 8;

/// Open ranges of a thread, innermost last. Only that thread uses it; zeroed memory has none.
#[repr(C)]
pub(crate) struct Stack {
    depth: AtomicU32,
    /// Open ranges that did not fit, by domain, and those of still more domains.
    lost: [Lost; DOMAINS],
    others: AtomicU32,
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
struct Open {
    domain: usize,
    name: usize,
    entered: bool,
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
    fn lost(&self, domain: usize) -> Option<&AtomicU32> {
        let of_it =
            |lost: &&Lost| lost.count.load(Relaxed) > 0 && lost.domain.load(Relaxed) == domain;
        self.lost.iter().find(of_it).map(|lost| &lost.count)
    }

    /// Counts a range that does not fit.
    fn lose(&self, domain: usize) {
        let place = self.lost(domain).or_else(|| {
            let free = self.lost.iter().find(|lost| lost.count.load(Relaxed) == 0)?;
            free.domain.store(domain, Relaxed);
            Some(&free.count)
        });
        let place = place.unwrap_or(&self.others);
        place.store(place.load(Relaxed).saturating_add(1), Relaxed);
    }

    fn at(&self, at: usize) -> Option<Open> {
        let range = self.ranges.get(at)?;
        let name = range.name.load(Relaxed);
        let domain = range.domain.load(Relaxed);
        Some(Open { domain, name: name / 2, entered: name % 2 == 1 })
    }

    fn put(&self, at: usize, open: Open) {
        if let Some(range) = self.ranges.get(at) {
            range.domain.store(open.domain, Relaxed);
            range.name.store(2 * open.name + usize::from(open.entered), Relaxed);
        }
    }

    fn depth(&self) -> usize {
        (self.depth.load(Relaxed) as usize).min(OPEN)
    }

    /// The innermost range of a domain.
    fn innermost(&self, domain: usize) -> Option<(usize, Open)> {
        (0..self.depth()).rev().find_map(|at| {
            let open = self.at(at)?;
            (open.domain == domain).then_some((at, open))
        })
    }

    /// Ranges of a domain.
    fn level(&self, domain: usize, below: usize) -> i32 {
        let of_it = |&at: &usize| self.at(at).is_some_and(|open| open.domain == domain);
        (0..below).filter(of_it).count() as i32
    }
}

/// Whether anything is marked in this process.
fn is_on() -> bool {
    markers::is_on()
}

/// Opens a range of a domain: how many of it were open; None if the thread cannot be followed.
fn push(domain: usize, name: &'static Name) -> Option<i32> {
    let thread = slots::own()?;
    let stack = &thread.ranges;
    let depth = stack.depth();
    // Inside a lost range of its domain it would be popped in place of that one.
    if depth == OPEN || stack.lost(domain).is_some() {
        stack.lose(domain);
        thread::count(header::DEEP, 1);
        return Some(OPEN as i32);
    }
    let level = stack.level(domain, depth);
    stack.put(depth, Open { domain, name: name.number, entered: enter(name) });
    stack.depth.store(depth as u32 + 1, Relaxed);
    Some(level)
}

/// Closes the innermost range of a domain: how many of it are left; None if there was none.
fn pop(domain: usize) -> Option<i32> {
    let stack = &slots::known()?.ranges;
    let depth = stack.depth();
    let found = stack.innermost(domain);
    let others = Some(&stack.others).filter(|all| found.is_none() && all.load(Relaxed) > 0);
    if let Some(lost) = stack.lost(domain).or(others) {
        lost.store(lost.load(Relaxed) - 1, Relaxed);
        return Some(OPEN as i32);
    }
    let Some((at, open)) = found else {
        thread::count(header::UNBALANCED, 1);
        return None;
    };
    for inner in (at + 1..depth).rev() {
        leave(stack.at(inner));
    }
    leave(Some(open));
    for inner in at + 1..depth {
        if let Some(mut open) = stack.at(inner) {
            open.entered = open.entered && names::at(open.name).is_some_and(enter);
            stack.put(inner - 1, open);
        }
    }
    stack.depth.store(depth as u32 - 1, Relaxed);
    Some(stack.level(domain, at))
}

fn enter(name: &'static Name) -> bool {
    let on = match name.flag() {
        ..0 => false,
        0 => markers::register(&name.site) > 0,
        _ => true,
    };
    let Some(marker) = name.site.marker().filter(|_| on) else { return false };
    thread::entered(marker) || c_api::enter(&name.site)
}

fn leave(open: Option<Open>) {
    let entered = open.filter(|open| open.entered).and_then(|open| names::at(open.name));
    if let Some(marker) = entered.and_then(|name| name.site.marker())
        && !thread::left(marker)
    {
        thread::leave_slowly(marker);
    }
}

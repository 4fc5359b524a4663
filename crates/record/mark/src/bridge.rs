//! Phases that programs mark for other tools: ranges that are pushed and popped in a domain, by
//! names that come at run time.
//!
//! Owns the phases of such ranges; each thread's stack of them is in `ranges`, because a pop says
//! its domain only. The interfaces are in `nvtx` and `itt`, names in `names`; phases themselves are
//! those of `markers` and `thread`, with the same budget. A range whose name is off stays on the
//! stack, so that its pop pops nothing else. Ranges of two domains that overlap are untangled:
//! phases nest, so the inner one ends with the outer, and begins anew.

mod itt;
mod names;
mod nvtx;

use std::sync::atomic::Ordering::Relaxed;

use crate::layout::header;
use crate::ranges::{OPEN, Open};
use crate::{c_api, markers, registry, slots, slow, thread};
use names::Name;

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
        registry::count(header::DEEP, 1);
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
        registry::count(header::UNBALANCED, 1);
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
        slow::leave_slowly(marker);
    }
}

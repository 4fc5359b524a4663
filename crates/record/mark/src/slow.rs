//! The longer way of entering and leaving: a thread's first phase, phases that are off or
//! recorded, meters that are due, ends out of order.
//!
//! Owns everything that the shorter way (`thread`) cannot do with some stores.

use std::ptr;
use std::sync::atomic::Ordering::Relaxed;

use crate::layout::header;
use crate::marker::Marker;
use crate::meter::{Meter, Verdict};
use crate::registry::{self, REGISTRY, count};
use crate::thread::{DEPTH, LOST, Thread, own_state};
use crate::{recorder, slots};

/// Ends of a name that is off, between two looks whether any thread is still inside.
const IDLE: u32 = 1024;

/// Enters a phase: true if it must be left again.
#[cold]
pub(crate) fn enter_slowly(marker: &'static Marker) -> bool {
    let state = own_state();
    if state <= LOST {
        return begin(state, marker);
    }
    // SAFETY: the state of this thread, which is never unmapped.
    let thread = unsafe { &*(state as *const Thread) };
    // SAFETY: numbers are 1 to `PHASES`, and there is a meter for each.
    let meter = unsafe { thread.meters.get_unchecked(marker.id as usize) };
    if !marker.on.load(Relaxed) {
        meter.look_again();
        return false;
    }
    if !meter.counted() {
        look(meter, marker);
    }
    thread.push(marker);
    true
}

/// Leaves the innermost phase of the marker's name, and those inside it. False if its ends may be
/// switched off too.
#[cold]
pub(crate) fn leave_slowly(marker: &Marker) -> bool {
    let state = own_state();
    if state <= LOST {
        // A thread without a state is in no phase.
        return !marker.leader().closed.load(Relaxed);
    }
    // SAFETY: the state of this thread, which is never unmapped.
    unsafe { &*(state as *const Thread) }.leave_from_below(marker)
}

impl Thread {
    fn push(&self, marker: &'static Marker) {
        let depth = self.depth.load(Relaxed) + 1;
        self.depth.store(depth, Relaxed);
        let Some(place) = self.stack.get(depth as usize) else { return count(header::DEEP, 1) };
        place.store(ptr::from_ref(marker).cast_mut(), Relaxed);
        self.publish(marker);
        // Last, so that what the marker itself takes is not the phase's.
        if let Some(recorder) = recorder::current() {
            recorder.enter(marker.recorded);
        }
    }

    /// Tells the recorder of the phases from one depth down to another, the innermost first.
    fn tell_left(&self, from: usize, to: usize) {
        let Some(recorder) = recorder::current() else { return };
        for marker in (to..=from).rev().filter_map(|at| self.at(at)) {
            recorder.leave(marker.recorded);
        }
    }

    fn leave_from_below(&self, marker: &Marker) -> bool {
        let depth = self.depth.load(Relaxed) as usize;
        if depth > DEPTH {
            self.depth.store(depth as u64 - 1, Relaxed);
            return true;
        }
        let same = |&at: &usize| self.at(at).is_some_and(|m| m.group == marker.group);
        if let Some(at) = (1..=depth).rev().find(same) {
            self.tell_left(depth, at);
            if at < depth {
                count(header::UNBALANCED, (depth - at) as u64);
            }
            self.pop_to(at - 1);
            return true;
        }
        if !marker.drained() {
            count(header::UNBALANCED, 1);
            return true;
        }
        // Its begins are off. The ends may be, too, when nobody is inside any more: a thread that
        // was shows the phase until its end.
        let leader = marker.leader();
        if leader.closed.load(Relaxed) {
            return false;
        }
        if leader.idle.fetch_add(1, Relaxed) % IDLE == IDLE - 1 {
            let registry = REGISTRY.hold();
            let inside = registry.threads.iter().any(|&thread| {
                // SAFETY: states are never unmapped.
                unsafe { &*thread }.is_inside(leader.group)
            });
            leader.closed.store(!inside, Relaxed);
        }
        true
    }
}

/// At some begins of a phase: adds its counts to the table, and switches the phase off if it costs
/// too much. Other threads learn that it is off when they look themselves, after some thousand
/// entries at most.
fn look(meter: &Meter, marker: &Marker) {
    let verdict = meter.look(now(), registry::budget().at(marker.charge));
    if let Some(table) = registry::table() {
        table.entries(marker.id).fetch_add(meter.take(), Relaxed);
    }
    if let Verdict::TooCostly(rate) = verdict {
        registry::too_costly(marker, rate);
        meter.look_again();
    }
}

/// Nanoseconds of `CLOCK_MONOTONIC`: a thread's own time takes a system call, and threads that
/// enter phases often are running.
fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one structure.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The first marker of a thread.
fn begin(state: usize, marker: &'static Marker) -> bool {
    state != LOST && marker.on.load(Relaxed) && slots::join() && enter_slowly(marker)
}

//! What each thread has: the stack of phases it is in, its meters, and where it publishes the
//! innermost one.
//!
//! Owns entering and leaving, which take no lock and no atomic read-modify-write: everything
//! written on the way belongs to the thread. Readers and the thread that closes a phase look from
//! outside, hence relaxed atomics. A signal handler that enters and leaves on top of an interrupted
//! enter leaves the stack as it was.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::bridge::Stack;
use crate::layout::{self, header};
use crate::markers::{self, Marker, REGISTRY};
use crate::meter::{Meter, Verdict};
use crate::{recorder, slots, tls};

/// Phases that can be inside each other; deeper ones are counted as lost.
pub const DEPTH: usize = 32;
/// Ends of a name that is off, between two looks whether any thread is still inside.
const IDLE: u32 = 1024;
/// State of a thread that found no slot.
pub(crate) const LOST: usize = 1;
/// State of a thread whose phases are recorded: its own state is in another word of the thread. It
/// goes the longer way at each marker, where the recorder is told, so that all others need not ask.
pub(crate) const RECORDED: usize = 2;

/// The state of the calling thread, whichever way it goes.
pub(crate) fn own_state() -> usize {
    match tls::state() {
        RECORDED => tls::recorded_state(),
        state => state,
    }
}

/// Zeroed memory is a thread without phases that has not begun.
#[repr(C, align(64))]
pub(crate) struct Thread {
    /// Phases on the stack, and those that did not fit.
    pub(crate) depth: AtomicU64,
    pub(crate) index: u32,
    /// Phase in the slot.
    pub(crate) slot: AtomicPtr<AtomicU32>,
    /// The thread context, or `unread`.
    pub(crate) context: AtomicPtr<*const u8>,
    /// What is written to where nobody shall read it.
    pub(crate) unread: AtomicPtr<u8>,
    /// Innermost last; the first is no phase.
    pub(crate) stack: [AtomicPtr<Marker>; DEPTH + 1],
    /// Ranges that are open for other tools.
    pub(crate) ranges: Stack,
    /// By number of the phase.
    pub(crate) meters: [Meter; layout::PHASES + 1],
}

/// Enters a phase where that takes some stores only; otherwise nothing was done, and `enter_slowly`
/// must be called. Without calls on its way it needs no registers saved, which is a third of its
/// time.
#[inline]
pub(crate) fn entered(marker: &'static Marker) -> bool {
    let state = tls::state();
    if state <= RECORDED {
        return false;
    }
    // SAFETY: the state of this thread, which is never unmapped.
    let thread = unsafe { &*(state as *const Thread) };
    // SAFETY: numbers are 1 to `PHASES`, and there is a meter for each.
    let meter = unsafe { thread.meters.get_unchecked(marker.id as usize) };
    let depth = thread.depth.load(Relaxed) as usize + 1;
    let Some(place) = thread.stack.get(depth) else { return false };
    if !meter.counted() {
        return false;
    }
    place.store(ptr::from_ref(marker).cast_mut(), Relaxed);
    thread.depth.store(depth as u64, Relaxed);
    thread.publish(marker);
    true
}

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

/// Leaves a phase that is the innermost one; otherwise nothing was done, and `leave_slowly` must be
/// called.
#[inline]
pub(crate) fn left(marker: &Marker) -> bool {
    let state = tls::state();
    if state <= RECORDED {
        return false;
    }
    // SAFETY: the state of this thread, which is never unmapped.
    let thread = unsafe { &*(state as *const Thread) };
    let depth = thread.depth.load(Relaxed) as usize;
    // Never at depth 0, where `NONE` is, which nobody leaves.
    let Some(place) = thread.stack.get(depth) else { return false };
    if !ptr::eq(place.load(Relaxed), marker) {
        return false;
    }
    thread.pop_to(depth - 1);
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
    /// The marker at a depth; None beyond the stack.
    #[inline]
    pub(crate) fn at(&self, depth: usize) -> Option<&'static Marker> {
        let place = self.stack.get(depth)?;
        // SAFETY: only markers are stored, which are never freed; null in zeroed memory.
        unsafe { place.load(Relaxed).as_ref() }
    }

    #[inline]
    pub(crate) fn publish(&self, marker: &Marker) {
        let (context, slot) = (self.context.load(Relaxed), self.slot.load(Relaxed));
        // SAFETY: both were set by `attach` to words that live as long as the thread, or its
        // process. Volatile, because a reader interrupts the thread at any place.
        unsafe {
            context.write_volatile(marker.record);
            (*slot).store(marker.id, Relaxed);
        }
    }

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

    #[inline]
    pub(crate) fn pop_to(&self, depth: usize) {
        self.depth.store(depth as u64, Relaxed);
        if let Some(marker) = self.at(depth) {
            self.publish(marker);
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

    fn is_inside(&self, group: u32) -> bool {
        let depth = self.depth.load(Relaxed) as usize;
        (1..=depth.min(DEPTH)).any(|at| self.at(at).is_some_and(|marker| marker.group == group))
    }

    /// Entries that are not yet in the table.
    pub(crate) fn entries(&self, id: u32) -> u64 {
        self.meters.get(id as usize).map_or(0, Meter::pending)
    }
}

pub(crate) fn count(offset: usize, more: u64) {
    if let Some(table) = markers::table() {
        table.long(offset).fetch_add(more, Relaxed);
    }
}

/// At some begins of a phase: adds its counts to the table, and switches the phase off if it costs
/// too much. Other threads learn that it is off when they look themselves, after some thousand
/// entries at most.
fn look(meter: &Meter, marker: &Marker) {
    let verdict = meter.look(now(), markers::budget().at(marker.charge));
    if let Some(table) = markers::table() {
        table.entries(marker.id).fetch_add(meter.take(), Relaxed);
    }
    if let Verdict::TooCostly(rate) = verdict {
        markers::too_costly(marker, rate);
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

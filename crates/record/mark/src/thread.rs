//! State of each thread: the stack of its phases, its meters, and where it publishes the innermost
//! one.
//!
//! Owns the shorter way of entering and leaving (`slow` has the other), which takes no lock and no
//! atomic read-modify-write: everything written on the way belongs to the thread. Readers and the
//! thread that closes a phase look from outside, hence relaxed atomics. A signal handler that
//! enters and leaves on top of an interrupted enter leaves the stack as it was.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::marker::Marker;
use crate::meter::Meter;
use crate::ranges::Stack;
use crate::{layout, tls};

/// Phases that can be inside each other; deeper ones are counted as lost.
pub const DEPTH: usize = 32;
/// State of a thread that found no slot.
pub(crate) const LOST: usize = 1;
/// State of a thread whose phases are recorded: its own state is in another word of the thread. It
/// goes the longer way at each marker and calls the recorder, so that all others need not ask.
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
    /// Target of writes that nobody shall read.
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

    #[inline]
    pub(crate) fn pop_to(&self, depth: usize) {
        self.depth.store(depth as u64, Relaxed);
        if let Some(marker) = self.at(depth) {
            self.publish(marker);
        }
    }

    pub(crate) fn is_inside(&self, group: u32) -> bool {
        let depth = self.depth.load(Relaxed) as usize;
        (1..=depth.min(DEPTH)).any(|at| self.at(at).is_some_and(|marker| marker.group == group))
    }

    /// Entries that are not yet in the table.
    pub(crate) fn entries(&self, id: u32) -> u64 {
        self.meters.get(id as usize).map_or(0, Meter::pending)
    }
}

//! What each thread has: the stack of phases it is in, its meters, and where it publishes the innermost one.
//!
//! Owns entering and leaving, which take no lock and no atomic read-modify-write: everything written on the way belongs to the thread.
//! Readers and the thread that closes a phase look from outside, hence relaxed atomics. A signal handler that enters and leaves on top of
//! an interrupted enter leaves the stack as it was.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::layout::{self, header};
use crate::markers::{self, Marker, NONE, REGISTRY, Registry};
use crate::meter::{Meter, Verdict};
use crate::table::Table;
use crate::{mapping, process, tls};

/// Phases that can be inside each other; deeper ones are counted as lost.
pub const DEPTH: usize = 32;
/// Ends of a name that is off, between two looks whether any thread is still inside.
const IDLE: u32 = 1024;
/// State of a thread that found no slot.
const LOST: usize = 1;

/// Zeroed memory is a thread without phases that has not begun.
#[repr(C, align(64))]
pub(crate) struct Thread {
    /// Phases on the stack, and those that did not fit.
    depth: AtomicU64,
    index: u32,
    /// Phase in the slot.
    slot: AtomicPtr<AtomicU32>,
    /// The thread context, or `unread`.
    context: AtomicPtr<*const u8>,
    /// What is written to where nobody shall read it.
    unread: AtomicPtr<u8>,
    /// Innermost last; the first is no phase.
    stack: [AtomicPtr<Marker>; DEPTH + 1],
    /// By number of the phase.
    meters: [Meter; layout::PHASES + 1],
}

/// Enters a phase where that takes some stores only; otherwise nothing was done, and `enter_slowly` must be called. Without calls on its
/// way it needs no registers saved, which is a third of its time.
#[inline]
pub(crate) fn entered(marker: &'static Marker) -> bool {
    let state = tls::state();
    if state <= LOST {
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
    let state = tls::state();
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

/// Leaves a phase that is the innermost one; otherwise nothing was done, and `leave_slowly` must be called.
#[inline]
pub(crate) fn left(marker: &Marker) -> bool {
    let state = tls::state();
    if state <= LOST {
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

/// Leaves the innermost phase of the marker's name, and those inside it. False if its ends may be switched off too.
#[cold]
pub(crate) fn leave_slowly(marker: &Marker) -> bool {
    let state = tls::state();
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
    fn at(&self, depth: usize) -> Option<&'static Marker> {
        let place = self.stack.get(depth)?;
        // SAFETY: only markers are stored, which are never freed; null in zeroed memory.
        unsafe { place.load(Relaxed).as_ref() }
    }

    #[inline]
    fn publish(&self, marker: &Marker) {
        let (context, slot) = (self.context.load(Relaxed), self.slot.load(Relaxed));
        // SAFETY: both were set by `attach` to words that live as long as the thread, or its process. Volatile, because a reader
        // interrupts the thread at any place.
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
    }

    #[inline]
    fn pop_to(&self, depth: usize) {
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
        // Its begins are off. The ends may be, too, when nobody is inside any more: a thread that was shows the phase until its end.
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

    /// Outside of all phases, with nothing counted.
    fn clear(&self, table: Option<Table>, used: u32) {
        self.depth.store(0, Relaxed);
        for id in 1..=used {
            if let (Some(table), entries @ 1..) = (table, self.entries(id)) {
                table.entries(id).fetch_add(entries, Relaxed);
            }
            if let Some(meter) = self.meters.get(id as usize) {
                meter.reset();
            }
        }
    }
}

fn count(offset: usize, more: u64) {
    if let Some(table) = markers::table() {
        table.long(offset).fetch_add(more, Relaxed);
    }
}

/// Now and then on the way into a phase: brings what was counted to the table, and switches the phase off if it costs too much. Other
/// threads learn that it is off when they look themselves, after some thousand entries at most.
fn look(meter: &Meter, marker: &Marker) {
    let verdict = meter.look(now(), markers::budget());
    if let Some(table) = markers::table() {
        table.entries(marker.id).fetch_add(meter.take(), Relaxed);
    }
    if let Verdict::TooCostly(rate) = verdict {
        markers::too_costly(marker, rate);
        meter.look_again();
    }
}

/// Nanoseconds of `CLOCK_MONOTONIC`: a thread's own time takes a system call, and threads that enter phases often are running.
fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one structure.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The first marker of a thread.
fn begin(state: usize, marker: &'static Marker) -> bool {
    if state == LOST || !marker.on.load(Relaxed) {
        return false;
    }
    let mut registry = REGISTRY.hold();
    let attached = attach(&mut registry);
    if attached.is_none()
        && let Some(table) = markers::table()
    {
        table.long(header::UNSLOTTED).fetch_add(1, Relaxed);
    }
    tls::set_state(attached.map_or(LOST, |thread| thread as usize));
    drop(registry);
    attached.is_some() && enter_slowly(marker)
}

#[allow(clippy::cast_ptr_alignment, reason = "mappings begin at a page, and offsets are multiples")]
fn attach(registry: &mut Registry) -> Option<*mut Thread> {
    let table = markers::table()?;
    let index = match registry.free.pop() {
        Some(index) => index,
        None if registry.threads.len() < layout::SLOTS => {
            let thread = mapping::anonymous(size_of::<Thread>())?.cast::<Thread>();
            registry.threads.push(thread);
            registry.threads.len() as u32 - 1
        }
        None => return None,
    };
    let thread = *registry.threads.get(index as usize)?;
    // SAFETY: zeroed memory of its size, or the state of a thread that has ended: nobody else has it.
    let state = unsafe {
        (*thread).index = index;
        &*thread
    };
    state.settle(table, registry.published);
    process::at_end_of_thread(thread.cast());
    Some(thread)
}

impl Thread {
    /// Where the calling thread publishes from now on.
    fn settle(&self, table: Table, published: bool) {
        self.stack[0].store(ptr::from_ref(&NONE).cast_mut(), Relaxed);
        // SAFETY: the kernel knows its threads' numbers; there is nothing to go wrong.
        let number = unsafe { libc::gettid() };
        let slot = table.take_slot(self.index, number as u32);
        self.slot.store(ptr::from_ref(slot).cast_mut(), Relaxed);
        let unread = self.unread.as_ptr().cast::<*const u8>();
        let context = tls::context().filter(|_| published).unwrap_or(unread);
        self.context.store(context, Relaxed);
    }
}

/// A thread is at its end, or has markers no more: its slot is for others.
pub(crate) fn detach(thread: *mut Thread) {
    let mut registry = REGISTRY.hold();
    // SAFETY: states are never unmapped, and this one belongs to the calling thread.
    let state = unsafe { &*thread };
    state.pop_to(0);
    let used = registry.entries.len() as u32;
    state.clear(markers::table(), used);
    if let Some(table) = markers::table() {
        table.free_slot(state.index);
    }
    registry.free.push(state.index);
    tls::set_state(0);
}

/// In a child after a fork: a table of its own, with the only thread that is left.
pub(crate) fn renew(registry: &mut Registry) {
    let Some(table) = markers::table() else { return };
    let used = registry.entries.len() as u32;
    let own = tls::state();
    let renewed = table.renew();
    if !renewed {
        // Without memory for a table the child marks nothing: it must not write into its parent's.
        markers::give_up();
        tls::set_state(LOST);
    }
    registry.free.clear();
    for at in 0..registry.threads.len() {
        let thread = registry.threads[at];
        // SAFETY: states are never unmapped; all other threads stayed in the parent.
        let state = unsafe { &*thread };
        let depth = state.depth.load(Relaxed);
        state.clear(None, used);
        if thread as usize == own && renewed {
            state.settle(table, registry.published);
            state.pop_to(0);
            state.depth.store(depth, Relaxed);
            if let Some(marker) = state.at((depth as usize).min(DEPTH)) {
                state.publish(marker);
            }
        } else {
            registry.free.push(at as u32);
        }
    }
}

//! Threads that come and go, and the thread that is left after a fork.
//!
//! Owns giving states and slots to threads, taking them back, and giving a child of the process a
//! table of its own. All of it is under the lock of the registry.

use std::ptr;
use std::sync::atomic::Ordering::Relaxed;

use crate::layout::{self, header};
use crate::marker::NONE;
use crate::registry::{self, REGISTRY, Registry};
use crate::table::Table;
use crate::thread::{DEPTH, LOST, RECORDED, Thread};
use crate::{ends, mapping, recorder, thread, tls};

/// Gives the calling thread a state and a slot; None if there is none left, or no memory.
#[allow(clippy::cast_ptr_alignment, reason = "mappings begin at a page, and offsets are multiples")]
fn attach(registry: &mut Registry) -> Option<*mut Thread> {
    let table = registry::table()?;
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
    // SAFETY: zeroed memory of its size, or the state of a thread that has ended: nobody else has
    // it.
    let state = unsafe {
        (*thread).index = index;
        &*thread
    };
    state.ranges.clear();
    state.settle(table, registry.published);
    ends::at_end_of_thread(thread.cast());
    Some(thread)
}

/// Gives the calling thread a state and a slot, and sends it the way that it goes from now on;
/// false if there is none left, or no memory.
pub(crate) fn join() -> bool {
    let attached = attach(&mut REGISTRY.hold());
    match (attached, recorder::current()) {
        (Some(thread), Some(_)) => {
            tls::set_recorded_state(thread as usize);
            tls::set_state(RECORDED);
        }
        (Some(thread), None) => tls::set_state(thread as usize),
        (None, _) => {
            registry::count(header::UNSLOTTED, 1);
            tls::set_state(LOST);
        }
    }
    attached.is_some()
}

/// The calling thread's state, if it has one.
pub(crate) fn known() -> Option<&'static Thread> {
    let state = thread::own_state();
    // SAFETY: the state of this thread, which is never unmapped.
    (state > LOST).then(|| unsafe { &*(state as *const Thread) })
}

/// The calling thread's state, which it gets if it has none yet; None if there is none left.
pub(crate) fn own() -> Option<&'static Thread> {
    if tls::state() == 0 {
        join();
    }
    known()
}

impl Thread {
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
    state.clear(registry::table(), used);
    if let Some(table) = registry::table() {
        table.free_slot(state.index);
    }
    registry.free.push(state.index);
    tls::set_state(0);
}

/// In a child after a fork: a table of its own, with the only thread that is left.
pub(crate) fn renew(registry: &mut Registry) {
    let Some(table) = registry::table() else { return };
    let used = registry.entries.len() as u32;
    // The child is not recorded: its only thread goes the short way from now on.
    recorder::forget();
    let own = thread::own_state();
    tls::set_state(own);
    let renewed = table.renew();
    if !renewed {
        // Without memory for a table the child marks nothing: it must not write into its parent's.
        registry::give_up();
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

//! State that all threads of a process share: registered phases, states of threads, table and
//! budget.
//!
//! Owns the data and their lock alone. Registration of phases (`markers`) and of threads (`slots`)
//! lies above.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};

use crate::lock::Lock;
use crate::marker::Marker;
use crate::meter::Budget;
use crate::table::Table;
use crate::thread::Thread;

/// A registered phase: its marker, name and place.
pub(crate) struct Entry {
    pub(crate) marker: &'static Marker,
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) line: u32,
}

/// Data of rare use, under the lock.
pub(crate) struct Registry {
    pub(crate) entries: Vec<Entry>,
    /// States of threads by the index of their slot; they are used again, never freed.
    pub(crate) threads: Vec<*mut Thread>,
    /// Indices that no thread has.
    pub(crate) free: Vec<u32>,
    /// Threads leave their phases in the thread context.
    pub(crate) published: bool,
}

// SAFETY: the states that it points to are shared by atomics.
unsafe impl Send for Registry {}

pub(crate) static REGISTRY: Lock<Registry> = Lock::new(Registry {
    entries: Vec::new(),
    threads: Vec::new(),
    free: Vec::new(),
    published: false,
});

/// Not yet asked, on, off.
pub(crate) static MODE: AtomicU8 = AtomicU8::new(0);

pub(crate) const ON: u8 = 1;

pub(crate) const OFF: u8 = 2;

/// The table of this process; null without one.
pub(crate) static TABLE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// Where everything is counted; None before the first marker, and where marking is off.
pub(crate) fn table() -> Option<Table> {
    // SAFETY: only bases of tables are stored.
    unsafe { Table::from_base(TABLE.load(Ordering::Acquire)) }
}

/// Millionths of a thread's time, `u64::MAX` for no limit.
pub(crate) static BUDGET: AtomicU64 = AtomicU64::new(10_000);

pub(crate) fn budget() -> Budget {
    let millionths = BUDGET.load(Ordering::Relaxed);
    Budget { millionths: (millionths != u64::MAX).then_some(millionths) }
}

/// Nothing is marked any more, in this process and from now on.
pub(crate) fn give_up() {
    TABLE.store(ptr::null_mut(), Ordering::Release);
    MODE.store(OFF, Ordering::Release);
}

/// A phase took too much of a thread's time, at `rate` entries a second.
pub(crate) fn too_costly(marker: &Marker, rate: u64) {
    if marker.on.swap(false, Ordering::Relaxed) {
        // Never below zero: it was counted when it was registered.
        marker.leader().open.fetch_sub(1, Ordering::Relaxed);
        if let Some(table) = table() {
            table.switched_off(marker.id, rate);
        }
    }
}

pub(crate) fn count(offset: usize, more: u64) {
    if let Some(table) = table() {
        table.long(offset).fetch_add(more, Ordering::Relaxed);
    }
}

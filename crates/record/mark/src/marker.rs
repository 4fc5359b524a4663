//! A phase at one place, as all threads see it.
//!
//! Owns whether the place, or its whole name, is on. Refuses to know threads and the registry that
//! makes markers.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::meter::PAIR_NS;

/// A phase at one place.
pub(crate) struct Marker {
    /// For the thread context.
    pub(crate) record: *const u8,
    /// From 1; 0 is no phase.
    pub(crate) id: u32,
    /// Number of the first phase of this name.
    pub(crate) group: u32,
    /// Its number where phases are recorded; 0 where they are not.
    pub(crate) recorded: u32,
    /// Nanoseconds that an entry with its leave is charged with.
    pub(crate) charge: u64,
    /// It is within its budget.
    pub(crate) on: AtomicBool,
    /// The first of this name; none if this is it.
    leader: Option<&'static Marker>,
    /// It is one of those that `open` of its first counts, or was.
    pub(crate) counted: AtomicBool,
    /// In the first of a name: places of this name that are on.
    pub(crate) open: AtomicU32,
    /// In the first of a name: ends that had nothing to end since all its places are off.
    pub(crate) idle: AtomicU32,
    /// In the first of a name: all places are off, and no thread is inside.
    pub(crate) closed: AtomicBool,
}

// SAFETY: the record never changes and is never freed; the rest is atomic or never changes.
unsafe impl Sync for Marker {}

// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Marker {}

impl Marker {
    pub(crate) const fn new(
        record: *const u8,
        id: u32,
        recorded: u32,
        leader: Option<&'static Marker>,
        charge: u64,
    ) -> Marker {
        Marker {
            record,
            recorded,
            id,
            charge,
            group: match leader {
                Some(leader) => leader.group,
                None => id,
            },
            on: AtomicBool::new(true),
            leader,
            counted: AtomicBool::new(false),
            open: AtomicU32::new(0),
            idle: AtomicU32::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// Which tells whether the whole name is off.
    pub(crate) fn leader(&self) -> &Marker {
        self.leader.unwrap_or(self)
    }

    /// All places of this name are off.
    pub(crate) fn drained(&self) -> bool {
        self.leader().open.load(Ordering::Relaxed) == 0
    }
}

/// No phase.
pub(crate) static NONE: Marker = Marker::new(ptr::null(), 0, 0, None, PAIR_NS);

//! State of one thread's phases.
//!
//! Owns the exclusion of a signal's handler from it, its first ring, and the paces at which
//! instances may be recorded. Refuses deciding about an instance, which [`super::phases`] does.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering, compiler_fence};

use talea_run::samples::MOST_PHASES;

use super::pace::LONGEST;
use super::ring::Ring;
use crate::sys::clock;

/// Mean nanoseconds between recorded instances of one phase, and the maximum number that may be
/// made up for at once.
pub(super) const STEP: u64 = 50_000;
const BURST: u64 = 64;
/// Maximum saved time between reads of counters, in steps: sixteen of the longest reads, so that
/// nested phases have theirs where reads are slow, too.
const SAVED: u64 = 16 * LONGEST;
/// Number of rows before the helper has opened the thread's counters; they are short.
pub(super) const EARLY: usize = 256;
/// Number of rows afterwards: the helper checks more often where they fill.
pub(super) const ROWS: usize = 1 << 11;

/// State of a thread's phases; the thread's own except for the ring and the count of lost
/// instances.
#[derive(Debug)]
pub(super) struct ThreadPhases {
    own: UnsafeCell<Option<Box<Own>>>,
    /// A signal's handler must not continue where the thread is in here itself.
    busy: AtomicBool,
    /// Number of instances that are not recorded.
    pub(super) lost: AtomicU64,
    /// For the time until the helper has opened the thread's counters.
    early: AtomicPtr<Ring>,
}

// SAFETY: `own` is accessed by its thread only, one call at a time, which `busy` ensures, and by
// the helper when the thread is gone.
unsafe impl Sync for ThreadPhases {}

/// Data that the thread alone accesses.
#[derive(Debug)]
pub(super) struct Own {
    /// Bits of the open phases of the thread: recorded, and with counters; the innermost is the
    /// lowest bit.
    pub(super) recorded: u64,
    pub(super) counted: u64,
    /// For each phase the ticks at which its recorded instances would be due at an even pace.
    pub(super) due: Box<[u64]>,
    /// The same for reads of counters.
    pub(super) read: u64,
    /// Ticks of [`STEP`], those of a burst, and those that reads may save up.
    pub(super) step: u64,
    pub(super) burst: u64,
    pub(super) saved: u64,
}

impl ThreadPhases {
    pub(super) fn new() -> Self {
        Self {
            own: UnsafeCell::new(None),
            busy: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            early: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Accesses the thread's own part; false if the thread is in it already.
    pub(super) fn guarded(&self, what: impl FnOnce(&mut Own)) -> bool {
        // Only the thread itself and its signals' handlers come here: no locked instruction is
        // needed.
        if self.busy.load(Ordering::Relaxed) {
            return false;
        }
        self.busy.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        // SAFETY: this is the owning thread, and no other call is in it.
        let own = unsafe { &mut *self.own.get() };
        what(own.get_or_insert_with(|| {
            let ring = Box::into_raw(Box::new(Ring::new(0, EARLY)));
            self.early.store(ring, Ordering::Release);
            let step = clock::ticks_of(STEP);
            let due = vec![0; MOST_PHASES + 1].into_boxed_slice();
            let (burst, saved) = (step * BURST, step * SAVED);
            Box::new(Own { recorded: 0, counted: 0, due, read: 0, step, burst, saved })
        }));
        compiler_fence(Ordering::SeqCst);
        self.busy.store(false, Ordering::Relaxed);
        true
    }

    /// Counts an instance that is not recorded.
    #[inline]
    pub(super) fn lose(&self) {
        self.lost.store(self.lost.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Ring of phases before counters are opened; for the thread and the helper.
    #[inline]
    pub(super) fn early(&self) -> Option<&Ring> {
        // SAFETY: it is freed by the helper only, when the thread is gone.
        unsafe { self.early.load(Ordering::Acquire).as_ref() }
    }

    /// Frees the thread's memory.
    ///
    /// # Safety
    /// The thread is gone, and the helper calls.
    pub(super) unsafe fn release(&self) {
        let ring = self.early.swap(std::ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: no other reference to either exists.
        unsafe {
            *self.own.get() = None;
            if !ring.is_null() {
                drop(Box::from_raw(ring));
            }
        }
    }
}

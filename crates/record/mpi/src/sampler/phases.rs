//! Phases that the program marks, with counters at either end: the functions called by
//! `libtalea_mark`.
//!
//! Owns the functions that it finds by the name `talea_mpi_phases`, the names of phases, and the
//! recording of a thread that marks any. An instance is recorded completely or not at all: its
//! begin decides about its end. A phase that repeats faster than every 50 µs for long is recorded
//! only occasionally, and counters are read for at most one part in 200 of the time, in addition to
//! MPI calls; short bursts of either are permitted. Instances that are not recorded are counted.

use std::cell::{Cell, UnsafeCell};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering, compiler_fence};

use talea_run::samples::MOST_PHASES;

use super::probes::{LONGEST, ProbeThread, Ring, Taken};
use crate::clock;

/// Version of the table of functions.
const VERSION: u32 = 1;
/// Mean nanoseconds between recorded instances of one phase, and the maximum number that may be
/// made up for at once.
const STEP: u64 = 50_000;
const BURST: u64 = 64;
/// Maximum saved time between reads of counters, in steps: sixteen of the longest reads, so that
/// nested phases have theirs where reads are slow, too.
const SAVED: u64 = 16 * LONGEST;
/// Number of rows before the helper has opened the thread's counters; they are short.
const EARLY: usize = 256;
/// Number of rows afterwards: the helper checks more often where they fill.
pub(super) const ROWS: usize = 1 << 11;
/// Number of rows that are reserved for the ends of phases that have begun.
const KEPT: usize = 64;

/// Functions for `libtalea_mark`; see its `recorder`.
#[repr(C)]
pub(super) struct Functions {
    version: u32,
    name: unsafe extern "C" fn(name: *const u8, length: usize) -> u32,
    enter: extern "C" fn(phase: u32),
    leave: extern "C" fn(phase: u32),
}

static FUNCTIONS: Functions = Functions { version: VERSION, name, enter, leave };

/// The functions to call at phases; null in a process that is not sampled, and for another version
/// than 1.
#[unsafe(no_mangle)]
pub(super) extern "C" fn talea_mpi_phases(version: u32) -> *const Functions {
    if version == VERSION && super::is_on() { &raw const FUNCTIONS } else { std::ptr::null() }
}

/// Names by their numbers, from 1.
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Names from a place on; for the helper.
pub(super) fn names_from(first: usize) -> Vec<String> {
    let names = NAMES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    names.get(first..).unwrap_or_default().to_vec()
}

unsafe extern "C" fn name(name: *const u8, length: usize) -> u32 {
    // SAFETY: the caller gives the length of its text.
    let name = unsafe { std::slice::from_raw_parts(name, length) };
    let name = String::from_utf8_lossy(name);
    let mut names = NAMES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let known = names.iter().position(|known| *known == name);
    let at = known.unwrap_or_else(|| {
        if names.len() < MOST_PHASES {
            names.push(name.into_owned());
        }
        names.len() - 1
    });
    // With too many names, the last one represents all others.
    at as u32 + 1
}

thread_local! {
    static THREAD: Cell<Option<&'static ProbeThread>> = const { Cell::new(None) };
}

/// The calling thread, known to the helper from now on.
pub(crate) fn this_thread() -> &'static ProbeThread {
    THREAD.with(|thread| {
        thread.get().unwrap_or_else(|| {
            let made = ProbeThread::register();
            thread.set(Some(made));
            made
        })
    })
}

extern "C" fn enter(phase: u32) {
    let thread = this_thread();
    if !thread.phases.guarded(|own| own.enter(thread, phase)) {
        thread.phases.lose();
    }
}

extern "C" fn leave(phase: u32) {
    let thread = this_thread();
    // Where the thread is in here itself the begin was not recorded either.
    let _ = thread.phases.guarded(|own| own.leave(thread, phase));
}

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

#[derive(Debug)]
struct Own {
    /// Bits of the open phases of the thread: recorded, and with counters; the innermost is the
    /// lowest bit.
    recorded: u64,
    counted: u64,
    /// For each phase the ticks at which its recorded instances would be due at an even pace.
    due: Box<[u64]>,
    /// The same for reads of counters.
    read: u64,
    /// Ticks of [`STEP`], those of a burst, and those that reads may save up.
    step: u64,
    burst: u64,
    saved: u64,
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
    fn guarded(&self, what: impl FnOnce(&mut Own)) -> bool {
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
    fn lose(&self) {
        self.lost.store(self.lost.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Ring of phases before counters are opened; for the thread and the helper.
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

impl Own {
    fn enter(&mut self, thread: &ProbeThread, phase: u32) {
        self.recorded <<= 1;
        self.counted <<= 1;
        let now = clock::ticks();
        let (step, burst) = (self.step, self.burst);
        let Some(due) = self.due.get_mut(phase as usize) else { return };
        // A phase that repeats fast leaves half of the ring to the others.
        let hasty = *due > now;
        let room = |ring: &Ring| ring.room() > if hasty { ring.rows() / 2 } else { KEPT };
        if *due > now + burst {
            return thread.phases.lose();
        }
        if !thread.phase_ring(room) {
            // Its pace counts as if it had been recorded: otherwise it would take the other half,
            // too.
            *due = ((*due).max(now) + step).min(now + burst);
            return thread.phases.lose();
        }
        *due = (*due).max(now) + step;
        self.recorded |= 1;
        let due = self.read <= now + self.saved;
        let taken = if due { thread.read_now(&mut self.read) } else { None };
        self.counted |= u64::from(taken.is_some());
        // The time of reading does not belong to the phase.
        let begin = taken.as_ref().map_or(now, |taken| taken.after);
        put(thread, begin, taken.as_ref(), 2 * u64::from(phase));
    }

    fn leave(&mut self, thread: &ProbeThread, phase: u32) {
        let (recorded, counted) = (self.recorded & 1 == 1, self.counted & 1 == 1);
        self.recorded >>= 1;
        self.counted >>= 1;
        if !recorded {
            return;
        }
        let taken = if counted { thread.read_now(&mut self.read) } else { None };
        let end = taken.as_ref().map_or_else(clock::ticks, |taken| taken.ticks);
        put(thread, end, taken.as_ref(), 2 * u64::from(phase) + 1);
    }
}

/// Passes one end of an instance to the helper; there is room for it, see [`KEPT`].
fn put(thread: &ProbeThread, ticks: u64, taken: Option<&Taken>, what: u64) {
    let (state, row) = taken.map_or((0, &[][..]), |taken| (taken.state, &taken.row[..]));
    thread.phase_ring(|ring| ring.push([ticks, state, what], row));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hasty_phase_leaves_room_for_others() {
        let thread = this_thread();
        let begin = clock::ticks();
        // The ring would be full after an eighth of this.
        while clock::ticks() - begin < clock::ticks_of(STEP * EARLY as u64 * 4) {
            enter(1);
            leave(1);
        }
        let lost = thread.phases.lost.load(Ordering::Relaxed);
        assert!(lost > 0, "all of it was recorded");
        enter(2);
        enter(3);
        leave(3);
        leave(2);
        assert_eq!(thread.phases.lost.load(Ordering::Relaxed), lost);
        let mut rows = Vec::new();
        let full = thread.drain_phases(|row| rows.push(row[2]));
        assert!((0.5..=0.8).contains(&full), "{full}");
        assert_eq!(rows[rows.len() - 4..], [4, 6, 7, 5]);
        assert!(thread.drain_phases(|_| ()) < 1e-9);
    }
}

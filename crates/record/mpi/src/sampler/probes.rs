//! Counters at the begin and end of calls, read by the thread itself.
//!
//! Owns the only part of sampling that is on the event path, and only of threads that are sampled.
//! A read by a system call is taken at most every 50 µs and for at most one part in 200 of the
//! time, so that it costs half a percent at most; one without a system call every 10 µs. Rows go to
//! the helper through a ring without locks; rows without room are counted.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use talea_sampling::threads::Reader;

use super::pace::{FAST_STEP, STEP, pause};
use super::ring::Ring;
use super::thread_phases::{self, ThreadPhases};
use crate::sys::clock;

/// Rows in the ring: a tenth of a second's, at the fastest.
const ROWS: usize = 1 << 14;
/// Maximum number of counts of a row.
const WIDEST: usize = 64;

/// Kind of event; see [`talea_run::samples::records::Record::Probes`].
pub(crate) const NO_EVENT: u64 = 0;

/// In place of the number of a thread without calls.
const NO_NUMBER: u32 = u32::MAX;

/// A thread that calls MPI, or marks phases.
#[derive(Debug)]
pub(crate) struct ProbeThread {
    pub(super) tid: u32,
    /// Its number in the recording, or [`NO_NUMBER`].
    number: AtomicU32,
    /// The next of those that the helper has not seen.
    next: *mut ProbeThread,
    open: AtomicPtr<Open>,
    /// Turn and set that are active, see [`state_of`]; 0 for none.
    pub(super) state: AtomicU64,
    pub(super) lost: AtomicU64,
    /// Ticks before which nothing is read; the thread's own.
    due: AtomicU64,
    pub(super) phases: ThreadPhases,
}

/// Data that the helper created for the thread.
#[derive(Debug)]
pub(super) struct Open {
    /// Readers, one for each set.
    readers: Vec<Reader>,
    ring: Ring,
    /// Ring of phases.
    phases: Ring,
    /// Minimum ticks between two reads.
    step: u64,
    fast: bool,
}

thread_local! {
    static THREAD: Cell<Option<&'static ProbeThread>> = const { Cell::new(None) };
}

static NEW: AtomicPtr<ProbeThread> = AtomicPtr::new(std::ptr::null_mut());

/// The state of a set's turn.
pub(super) fn state_of(turn: u32, set: usize) -> u64 {
    (u64::from(turn) << 16 | set as u64 & 0x7fff) + 1
}

/// Turn and set of a state.
pub(super) fn turn_of(state: u64) -> (u32, usize) {
    let state = state.saturating_sub(1);
    ((state >> 16) as u32, (state & 0x7fff) as usize)
}

/// Counters at one moment.
#[derive(Debug)]
pub(crate) struct Taken {
    /// Ticks before and after the read.
    pub(super) ticks: u64,
    pub(super) after: u64,
    pub(super) state: u64,
    pub(super) row: [u64; WIDEST],
}

impl ProbeThread {
    /// The calling thread, which has this number in the recording.
    pub(crate) fn numbered(number: u32) -> &'static Self {
        let thread = Self::current();
        thread.number.store(number, Ordering::Relaxed);
        thread
    }

    /// The calling thread, known to the helper from now on.
    #[inline]
    pub(super) fn current() -> &'static Self {
        THREAD.with(|thread| {
            thread.get().unwrap_or_else(|| {
                let made = Self::register();
                thread.set(Some(made));
                made
            })
        })
    }

    /// Its number in the recording, once it has made a call.
    pub(super) fn number(&self) -> Option<u32> {
        Some(self.number.load(Ordering::Relaxed)).filter(|&number| number != NO_NUMBER)
    }

    /// Registers the calling thread with the helper; once for each thread.
    fn register() -> &'static Self {
        // SAFETY: the call has no precondition.
        let tid = unsafe { libc::gettid() } as u32;
        let made = Box::leak(Box::new(Self {
            tid,
            number: AtomicU32::new(NO_NUMBER),
            next: std::ptr::null_mut(),
            open: AtomicPtr::new(std::ptr::null_mut()),
            state: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            due: AtomicU64::new(0),
            phases: ThreadPhases::new(),
        }));
        let made: *mut Self = made;
        // SAFETY: no other thread knows of it before the exchange succeeds, after which it is only
        // read.
        unsafe {
            let mut first = NEW.load(Ordering::Relaxed);
            loop {
                (*made).next = first;
                match NEW.compare_exchange_weak(first, made, Ordering::Release, Ordering::Relaxed) {
                    Ok(_) => return &*made,
                    Err(now) => first = now,
                }
            }
        }
    }

    /// Threads that registered since the last call; for the helper.
    pub(super) fn new_ones() -> Vec<&'static Self> {
        let mut at = NEW.swap(std::ptr::null_mut(), Ordering::Acquire);
        let mut all = Vec::new();
        // SAFETY: registered threads are never freed, only the data that were opened for them are.
        while let Some(thread) = unsafe { at.as_ref() } {
            all.push(thread);
            at = thread.next;
        }
        all
    }

    /// Gives the thread its readers; for the helper, once.
    pub(super) fn open(&self, readers: Vec<Reader>) {
        let fast = readers.iter().any(Reader::is_fast);
        let width = readers.iter().map(Reader::width).max().unwrap_or(0).min(WIDEST);
        let step = if fast { FAST_STEP } else { STEP };
        let (ring, phases) = (Ring::new(width, ROWS), Ring::new(width, thread_phases::ROWS));
        // Its pages exist from the beginning: a fault of ours in a phase would be counted as the
        // program's.
        phases.touch();
        let open = Open { readers, ring, phases, step: clock::ticks_of(step), fast };
        self.open.store(Box::into_raw(Box::new(open)), Ordering::Release);
    }

    /// Reads the counters, if due by `recent` ticks.
    #[inline]
    pub(crate) fn take(&self, recent: u64) -> Option<Taken> {
        if recent < self.due.load(Ordering::Relaxed) {
            return None;
        }
        self.read()
    }

    #[cold]
    fn read(&self) -> Option<Taken> {
        let mut due = self.due.load(Ordering::Relaxed);
        let taken = self.read_now(&mut due);
        self.due.store(due, Ordering::Relaxed);
        taken
    }

    /// Reads the counters, and advances `due` by the cost.
    pub(super) fn read_now(&self, due: &mut u64) -> Option<Taken> {
        let ticks = clock::ticks();
        let state = self.state.load(Ordering::Acquire);
        // SAFETY: opened data are not freed while the thread exists.
        let open = unsafe { self.open.load(Ordering::Acquire).as_ref() }.filter(|_| state != 0)?;
        let reader = open.readers.get(turn_of(state).1)?;
        let mut row = [talea_sampling::threads::ABSENT; WIDEST];
        let counts = &mut row[..reader.width().min(WIDEST)];
        let read = if open.fast && reader.is_fast() {
            reader.read_fast(counts);
            true
        } else {
            reader.read_into(counts)
        };
        let after = clock::ticks();
        let cost = after.saturating_sub(ticks);
        *due = (*due).max(ticks) + pause(open.step, cost);
        // Sets may have changed in between.
        (read && self.state.load(Ordering::Acquire) == state).then_some(Taken {
            ticks,
            after,
            state,
            row,
        })
    }

    /// Passes counters to the helper; [`talea_run::samples::records::Record::Probes`] defines
    /// `what`.
    pub(crate) fn put(&self, taken: &Taken, what: u64) {
        // SAFETY: opened data are not freed while the thread exists.
        if let Some(open) = unsafe { self.open.load(Ordering::Acquire).as_ref() }
            && !open.ring.push([taken.ticks, taken.state, what], &taken.row)
        {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The present ring of phases.
    pub(super) fn phase_ring<T: Default>(&self, what: impl FnOnce(&Ring) -> T) -> T {
        // SAFETY: opened data are not freed while the thread exists.
        match unsafe { self.open.load(Ordering::Acquire).as_ref() } {
            Some(open) => what(&open.phases),
            None => self.phases.early().map(what).unwrap_or_default(),
        }
    }

    /// Passes on all rows of phases since the last call, and returns the fill level of the fuller
    /// ring; for the helper.
    pub(super) fn drain_phases(&self, mut each: impl FnMut(&[u64])) -> f64 {
        // SAFETY: the helper alone frees opened data.
        let open = unsafe { self.open.load(Ordering::Acquire).as_ref() };
        // Rows of the early one came before.
        let rings = [self.phases.early(), open.map(|open| &open.phases)];
        let mut full: f64 = 0.0;
        for ring in rings.into_iter().flatten() {
            full = full.max(1.0 - ring.room() as f64 / ring.rows() as f64);
            ring.drain(&mut each);
        }
        full
    }

    /// Frees the data created for the thread.
    ///
    /// # Safety
    /// The thread is gone, and the helper calls.
    pub(super) unsafe fn release(&self) {
        let open = self.open.swap(std::ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: it was a box, and no other reference to it exists.
        unsafe {
            if !open.is_null() {
                drop(Box::from_raw(open));
            }
            self.phases.release();
        }
    }

    /// Passes on all rows since the last call: ticks, state, what, counts; for the helper.
    pub(super) fn drain(&self, each: impl FnMut(&[u64])) {
        // SAFETY: the helper alone frees opened data.
        if let Some(open) = unsafe { self.open.load(Ordering::Acquire).as_ref() } {
            open.ring.drain(each);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_come_back() {
        for (turn, set) in [(0, 0), (7, 3), (u32::MAX, 0x7fff)] {
            assert_eq!(turn_of(state_of(turn, set)), (turn, set));
            assert_ne!(state_of(turn, set), 0);
        }
    }
}

//! Phases that the program marks, with counters at either end: the functions called by
//! `libtalea_mark`.
//!
//! Owns the functions that it finds by the name `talea_mpi_phases`, the names of phases, and the
//! recording of a thread that marks any. An instance is recorded completely or not at all: its
//! begin decides about its end. A phase that repeats faster than every 50 µs for long is recorded
//! only occasionally, and counters are read for at most one part in 200 of the time, in addition to
//! MPI calls; short bursts of either are permitted. Instances that are not recorded are counted.

use std::sync::Mutex;

use talea_run::samples::MOST_PHASES;

use super::probes::{ProbeThread, Taken};
use super::ring::Ring;
use super::thread_phases::Own;
use crate::sys::clock;

/// Version of the table of functions.
const VERSION: u32 = 1;
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

extern "C" fn enter(phase: u32) {
    let thread = ProbeThread::current();
    if !thread.phases.guarded(|own| own.enter(thread, phase)) {
        thread.phases.lose();
    }
}

extern "C" fn leave(phase: u32) {
    let thread = ProbeThread::current();
    // Where the thread is in here itself the begin was not recorded either.
    let _ = thread.phases.guarded(|own| own.leave(thread, phase));
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
    use std::sync::atomic::Ordering;

    use super::super::thread_phases::{EARLY, STEP};
    use super::*;

    #[test]
    fn a_hasty_phase_leaves_room_for_others() {
        let thread = ProbeThread::current();
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

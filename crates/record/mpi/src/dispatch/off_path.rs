//! Calls beside the event path: before a recording begins, while it is paused, after its end, and
//! first ones of threads.
//!
//! Owns the start of the recording of a process and of a thread, and `MPI_Pcontrol`. Slow paths
//! only.

use std::sync::atomic::Ordering;

use super::{pass, record};
use crate::abi::entry::{Binding, Call, Entry};
use crate::abi::table::{Class, PROCEDURES};
use crate::process::handles::Handles;
use crate::process::{self, Process, STOP, process, stop};
use crate::sampler::probes::{NO_EVENT, ProbeThread};
use crate::sys::clock;
use crate::thread::{BUSY, Frames, PROBED, State, set_this_thread, this_thread};

/// Calls that are not recorded, and the first ones of a process or thread.
#[cold]
pub(super) unsafe fn off_path(entry: &'static Entry, index: u32, call: Call) -> usize {
    let class = PROCEDURES[usize::from(entry.procedure)].class;
    // SAFETY: as in `dispatch`.
    unsafe {
        let state = this_thread();
        if !state.is_null() {
            if (*state).busy == BUSY {
                if !(*state).is_left(call) {
                    return pass(entry, call);
                }
                (*state).leave();
            }
            if STOP.load(Ordering::Relaxed) == 0
                && let Some(probe) = (*state).probe.filter(|_| (*state).busy == PROBED)
            {
                return probed(&mut *state, probe, entry, index, call);
            }
        }
        if matches!(class, Class::Init | Class::SessionInit) {
            process::start();
        }
        let stopped = STOP.load(Ordering::Acquire);
        let Some(process) = process() else { return unrecorded(entry, call) };
        if class == Class::Pcontrol {
            return control(entry, call);
        }
        if stopped != 0 {
            if stopped == stop::PAUSED && class != Class::Local {
                process.paused();
                // The others wait for it there.
                if matches!(class, Class::Init | Class::Finalize) {
                    return unrecorded(entry, call);
                }
            }
            return pass(entry, call);
        }
        if state.is_null() {
            let Some(new) = State::new(process, Frames::read(call)) else {
                process.lost_thread();
                return unrecorded(entry, call);
            };
            set_this_thread(Box::into_raw(Box::new(new)));
        }
        let state = &mut *this_thread();
        match state.probe {
            Some(probe) if state.busy == PROBED => probed(state, probe, entry, index, call),
            _ => record(state, entry, index, call),
        }
    }
}

/// A call that is not recorded, though the recording has begun or could not begin. At the begin and
/// the end of MPI this process does with the others what they do together.
#[cold]
pub(super) unsafe fn unrecorded(entry: &Entry, call: Call) -> usize {
    let class = PROCEDURES[usize::from(entry.procedure)].class;
    if class == Class::Finalize {
        process().map_or_else(process::end_without, Process::complete);
    }
    // SAFETY: as in `dispatch`.
    let result = unsafe { pass(entry, call) };
    if class == Class::Finalize {
        process::finalized();
    }
    if class == Class::Init {
        process().map_or_else(process::initialised_without, Process::initialised);
    }
    result
}

/// A call of a thread that is sampled: counters are read around it. Calls that are only counted are
/// not worth it.
unsafe fn probed(
    state: &mut State,
    probe: &ProbeThread,
    entry: &'static Entry,
    index: u32,
    call: Call,
) -> usize {
    let worth = !entry.local || state.process.calls_all;
    let begin = if worth { probe.take(now(state)) } else { None };
    // SAFETY: as in `dispatch`; the thread's part of the file is its own.
    unsafe {
        let before = (*state.recorder.thread).events;
        state.busy = 0;
        let result = record(state, entry, index, call);
        state.busy = PROBED;
        let end = if worth { probe.take(now(state)) } else { None };
        // The call's own event is the last one, if it made any; an unsuccessful poll may have ended
        // a series and begun another.
        let events = (*state.recorder.thread).events;
        let own = events > before && !state.series.is_open();
        let what = if own { 2 * events } else { NO_EVENT };
        if let Some(begin) = &begin {
            probe.put(begin, what);
        }
        if let Some(end) = &end {
            probe.put(end, what + 1);
        }
        result
    }
}

/// Present ticks, or those of the last poll while polls find nothing: a poll is so short that
/// reading the clock for it would be noticeable. Computation between two such polls is then probed
/// at the end of the second, not at its begin.
#[inline]
fn now(state: &State) -> u64 {
    if !state.series.is_open() {
        return clock::ticks();
    }
    // SAFETY: the thread's part of the file is its own.
    unsafe { (*state.recorder.thread).poll_end }
}

/// `MPI_Pcontrol`: 0 pauses, any other level continues.
pub(super) unsafe fn control(entry: &Entry, call: Call) -> usize {
    // SAFETY: the first argument is an integer.
    unsafe {
        let word = call.arg(0);
        let level =
            if entry.binding == Binding::Fortran { *(word as *const i32) } else { word as i32 };
        if level == 0 {
            // Requests may change unobserved.
            if let Some(state) = this_thread().as_mut().filter(|state| state.series.is_open()) {
                state.close_series();
            }
            STOP.fetch_or(stop::PAUSED, Ordering::SeqCst);
        } else {
            if let Some(process) = process() {
                process.handles.with(Handles::forget_facts);
            }
            STOP.fetch_and(!stop::PAUSED, Ordering::SeqCst);
        }
        pass(entry, call)
    }
}

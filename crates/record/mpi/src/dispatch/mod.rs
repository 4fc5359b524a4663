//! The event path: the code at every call of an MPI procedure.
//!
//! Owns the order of steps: find the node of the call site, read arguments, read the clock, call
//! the intercepted function, read the clock, read results, record. Takes no lock unless the program
//! requested `MPI_THREAD_MULTIPLE`; makes no system call except to reserve disk space; allocates
//! for lists, and (under a lock) for anything new. Calls that are not recorded, and first ones, are
//! [`mod@off_path`]'s; those about one request [`mod@single`]'s, probes [`mod@probe`]'s.

mod off_path;
mod probe;
mod single;
mod trampoline;

use std::sync::atomic::Ordering;

use crate::abi::entry::{Call, ENTRIES, Entry, forward, forward_double};
use crate::abi::symbols::real;
use crate::abi::table::{Class, PROCEDURES};
use crate::around::Scene;
use crate::plan::arguments;
use crate::plan::plan_of;
use crate::process::{self, STOP, stop};
use crate::record::{HotNode, MAX_WORDS};
use crate::sys::clock;
use crate::thread::{BUSY, State, found_something, this_thread};
use off_path::{control, off_path, unrecorded};
use probe::probe;
use single::single;

/// Called by every entry with the call on the stack and the entry's number.
///
/// # Safety
/// `words` was laid on the stack by `trampoline::enter` for the entry with this number.
pub unsafe extern "C-unwind" fn dispatch(words: *mut usize, index: u32) -> usize {
    let call = Call(words);
    // SAFETY: entries pass their own numbers, and a thread's state is its own.
    unsafe {
        let entry = ENTRIES.get_unchecked(index as usize);
        let state = this_thread();
        if state.is_null() || (*state).busy != 0 || STOP.load(Ordering::Relaxed) != 0 {
            return off_path(entry, index, call);
        }
        record(&mut *state, entry, index, call)
    }
}

#[inline(always)]
unsafe fn pass(entry: &Entry, call: Call) -> usize {
    // SAFETY: `real` returns the function that this entry intercepted.
    unsafe {
        let name = PROCEDURES[usize::from(entry.procedure)].name;
        if entry.local && matches!(name, "MPI_Wtime" | "MPI_Wtick") {
            return forward_double(real(entry));
        }
        forward(real(entry), entry, call)
    }
}

#[inline(always)]
unsafe fn record(state: &mut State, entry: &'static Entry, index: u32, call: Call) -> usize {
    // SAFETY: see `dispatch`; pointers to nodes are valid for the life of the process.
    unsafe {
        if entry.local {
            if PROCEDURES[usize::from(entry.procedure)].class == Class::Pcontrol {
                return control(entry, call);
            }
            if !state.process.calls_all {
                return state.count(entry, call);
            }
        }
        state.open_at = call.0 as usize;
        let node = state.find(entry, index, call);
        if node.is_null() {
            return without_room(state, entry, call);
        }
        let plan = (*node).plan;
        state.busy = BUSY;
        let result = if plan.plain {
            plain(state, entry, node, call)
        } else if let Some(request) = plan.single {
            single(state, entry, node, call, request.flag)
        } else if plan.probe {
            probe(state, entry, node, call)
        } else {
            around(state, entry, node, call)
        };
        state.busy = 0;
        result
    }
}

/// Takes the words of the call itself. True if they are those of the node's current tuple.
#[inline(always)]
unsafe fn take_lanes(hot: &HotNode, call: Call, words: &mut [u64; MAX_WORDS]) -> bool {
    let plan = hot.plan;
    let lanes = usize::from(plan.lanes);
    let mut differ = 0;
    // SAFETY: lanes are arguments of the procedure; Fortran passes their addresses. A tuple has a
    // word for each.
    unsafe {
        if plan.fortran {
            for (lane, word) in words.iter_mut().enumerate().take(lanes) {
                let address = *call.0.add(usize::from(plan.place[lane]));
                *word = if plan.mask[lane] == u64::MAX {
                    *(address as *const u64)
                } else {
                    u64::from(*(address as *const u32))
                };
                differ |= *word ^ *hot.current.add(lane);
            }
        } else {
            for (lane, word) in words.iter_mut().enumerate().take(lanes) {
                *word = *call.0.add(usize::from(plan.place[lane])) as u64 & plan.mask[lane];
                differ |= *word ^ *hot.current.add(lane);
            }
        }
    }
    differ == 0
}

/// A call without further data around it.
#[inline(always)]
unsafe fn plain(state: &mut State, entry: &Entry, node: *mut HotNode, call: Call) -> usize {
    // SAFETY: see `record`.
    unsafe {
        let same = take_lanes(&*node, call, &mut state.words);
        let begin = state.open(node);
        let result = forward(real(entry), entry, call);
        let end = clock::ticks();
        state.commit_as(node, begin, end, same);
        result
    }
}

/// A call at a new place without room for it: it is counted.
#[cold]
unsafe fn without_room(state: &mut State, entry: &Entry, call: Call) -> usize {
    // SAFETY: see `record`.
    unsafe {
        state.recorder.lose();
        state.busy = BUSY;
        if PROCEDURES[usize::from(entry.procedure)].class == Class::Finalize {
            state.close_series();
        }
        let result = unrecorded(entry, call);
        state.busy = 0;
        result
    }
}

/// A call with further data around it.
#[inline(never)]
unsafe fn around(state: &mut State, entry: &Entry, node: *mut HotNode, call: Call) -> usize {
    // SAFETY: see `record`.
    unsafe {
        let plan = (*node).plan;
        let lanes = usize::from(plan.lanes);
        let thread = state.recorder.thread;
        let process = state.process;
        let scene = Scene { process, thread: state.number, plan, call };
        let folds = plan.poll && !process.calls_all;
        let place = if folds { state.series.place(node) } else { None };
        if let Some(place) = place
            && state.series.site(place).asks_again(plan, call)
        {
            return list_again(state, entry, node, scene, place);
        }
        take_lanes(&*node, call, &mut state.words);
        match plan.class {
            Class::Finalize => return finalize(state, entry, node, call),
            Class::Abort => {
                let now = clock::ticks();
                let code = lanes.checked_sub(1).map_or(0, |lane| state.words[lane] as i32);
                state.commit(node, now, now);
                process.aborted(code);
                STOP.fetch_or(stop::ENDED, Ordering::SeqCst);
                return forward(real(entry), entry, call);
            }
            _ => {}
        }
        // Polls of a series mostly repeat the same requests, whose state is known.
        let around = match place {
            Some(place) => &raw mut state.series.site(place).around,
            None => &raw mut state.around,
        };
        let words = &raw mut state.words[..(*node).used as usize];
        let (head, found) = (*words).split_at_mut(lanes);
        let again = place.is_some() && (*around).again(scene, head, found);
        if !again {
            (*around).before(scene, (*thread).requests, head, found);
        }
        let begin = state.open(node);
        let result =
            if entry.local { pass(entry, call) } else { forward(real(entry), entry, call) };
        let end = clock::ticks();
        match plan.class {
            Class::Init => process.initialised(),
            Class::SessionInit => {
                if let Some(session) = arguments::session(plan, call, result) {
                    process.session_opened(session);
                }
            }
            Class::SessionFinalize => process.session_closed(),
            _ => {}
        }
        let (head, found) = (*words).split_at_mut(lanes);
        let nothing = folds && !found_something(plan, call);
        match place {
            Some(_) if nothing => (*around).settle(),
            _ => (*around).after(scene, &mut (*thread).requests, head, found),
        }
        if nothing {
            let place = place.unwrap_or_else(|| state.join_series(node, begin, None));
            if !again {
                state.series.site(place).note_list(plan, call);
            }
            state.polled(place, begin, end);
        } else {
            state.commit(node, begin, end);
        }
        result
    }
}

/// A poll of a series that repeats the same list of requests: as a rule only the times are needed.
#[inline(always)]
unsafe fn list_again(
    state: &mut State,
    entry: &Entry,
    node: *mut HotNode,
    scene: Scene<'_>,
    place: usize,
) -> usize {
    // SAFETY: see `record`.
    unsafe {
        let Scene { plan, call, .. } = scene;
        let begin = state.open(node);
        let result = forward(real(entry), entry, call);
        let end = clock::ticks();
        if !found_something(plan, call) {
            state.polled(place, begin, end);
            return result;
        }
        take_lanes(&*node, call, &mut state.words);
        let words = &raw mut state.words[..(*node).used as usize];
        let (head, found) = (*words).split_at_mut(usize::from(plan.lanes));
        let around = &raw mut state.series.site(place).around;
        (*around).recall(found);
        (*around).after(scene, &mut (*state.recorder.thread).requests, head, found);
        state.commit(node, begin, end);
        result
    }
}

/// The last call of the recording. Its own duration is unknown when the record is completed.
unsafe fn finalize(state: &mut State, entry: &Entry, node: *mut HotNode, call: Call) -> usize {
    // SAFETY: see `record`.
    unsafe {
        let now = clock::ticks();
        state.commit(node, now, now);
        state.note_pu_time(now);
        state.process.complete();
        let result = forward(real(entry), entry, call);
        process::finalized();
        result
    }
}

impl State {
    /// A call that is only counted.
    #[inline(always)]
    unsafe fn count(&mut self, entry: &'static Entry, call: Call) -> usize {
        // SAFETY: there is a counter for each procedure.
        unsafe {
            let counter = self.counts.add(usize::from(entry.procedure));
            if *counter == 0 {
                self.process.procedure(plan_of(entry));
            }
            *counter += 1;
            pass(entry, call)
        }
    }
}

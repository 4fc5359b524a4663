//! The event path: what happens at every call of an MPI procedure.
//!
//! Owns the order of things: find the node of the call site, look at arguments, read the clock, let the intercepted function
//! work, read the clock, look at results, record. Takes no lock unless the program asked for `MPI_THREAD_MULTIPLE`; makes
//! no system call except to reserve disk space; allocates for lists, and (under a lock) when something is seen for the first time.
//! Calls that are not recorded, and first ones, are [`mod@aside`]'s.

mod aside;

use std::sync::atomic::Ordering;

use talea_model::args::special;
use talea_run::live::layout::state;

use crate::arguments;
use crate::around::Scene;
use crate::clock;
use crate::entry::{Call, ENTRIES, Entry, forward, forward_double};
use crate::polls::found_something;
use crate::process::{STOP, stop};
use crate::record::{HotNode, MAX_WORDS};
use crate::single::Single;
use crate::sites::plan_of;
use crate::symbols::real;
use crate::table::{Class, PROCEDURES};
use crate::thread::{BUSY, State, this_thread};
use aside::{aside, control};

/// Called by every entry with the call on the stack and the entry's number.
///
/// # Safety
/// `words` is what `entry::enter` laid on the stack for the entry with this number.
pub unsafe extern "C-unwind" fn dispatch(words: *mut usize, index: u32) -> usize {
    let call = Call(words);
    // SAFETY: entries pass their own numbers, and a thread's state is its own.
    unsafe {
        let entry = ENTRIES.get_unchecked(index as usize);
        let state = this_thread();
        if state.is_null() || (*state).busy != 0 || STOP.load(Ordering::Relaxed) != 0 {
            return aside(entry, index, call);
        }
        record(&mut *state, entry, index, call)
    }
}

#[inline(always)]
unsafe fn pass(entry: &Entry, call: Call) -> usize {
    // SAFETY: `real` gives the function that this entry intercepted.
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
        let node = state.find(entry, index, call);
        if node.is_null() {
            return without_room(state, entry, call);
        }
        let hot = &*node;
        let plan = hot.plan;
        let mut words = [0_u64; MAX_WORDS];
        let lanes = usize::from(plan.lanes);
        if plan.fortran {
            for (lane, word) in words.iter_mut().enumerate().take(lanes) {
                let address = *call.0.add(usize::from(plan.place[lane]));
                *word = if plan.mask[lane] == u64::MAX {
                    *(address as *const u64)
                } else {
                    u64::from(*(address as *const u32))
                };
            }
        } else {
            for (lane, word) in words.iter_mut().enumerate().take(lanes) {
                *word = *call.0.add(usize::from(plan.place[lane])) as u64 & plan.mask[lane];
            }
        }
        let used = plan.words();
        state.busy = BUSY;
        let thread = state.recorder.thread;
        if plan.plain {
            (*thread).open_node = hot.index + 1;
            let begin = clock::ticks();
            (*thread).open_begin = begin;
            let result = forward(real(entry), entry, call);
            let end = clock::ticks();
            state.commit(node, begin, end, &words[..used]);
            state.busy = 0;
            return result;
        }
        let result = around(state, entry, node, call, &mut words);
        state.busy = 0;
        result
    }
}

/// A call at a new place when there is no room for it: counted, and what has to be done at the end is done.
#[cold]
unsafe fn without_room(state: &mut State, entry: &Entry, call: Call) -> usize {
    // SAFETY: see `record`.
    unsafe {
        state.recorder.lose();
        if PROCEDURES[usize::from(entry.procedure)].class == Class::Finalize {
            state.busy = BUSY;
            state.close_series();
            state.process.end(state::FINALIZED);
            STOP.fetch_or(stop::ENDED, Ordering::SeqCst);
            state.process.gather();
            state.busy = 0;
        }
        pass(entry, call)
    }
}

/// A call around which more has to be looked at.
unsafe fn around(
    state: &mut State,
    entry: &Entry,
    node: *mut HotNode,
    call: Call,
    words: &mut [u64; MAX_WORDS],
) -> usize {
    // SAFETY: see `record`.
    unsafe {
        let hot = &*node;
        let plan = hot.plan;
        let used = plan.words();
        let lanes = usize::from(plan.lanes);
        let thread = state.recorder.thread;
        let process = state.process;
        match plan.class {
            Class::Finalize => return finalize(state, entry, node, call, words),
            Class::Abort => {
                let now = clock::ticks();
                state.commit(node, now, now, &words[..used]);
                process.aborted(words.get(lanes.wrapping_sub(1)).map_or(0, |&w| w as i32));
                STOP.fetch_or(stop::ENDED, Ordering::SeqCst);
                return forward(real(entry), entry, call);
            }
            _ => {}
        }
        let scene = Scene { process, thread: state.number, plan, call };
        if let Some(flag) = plan.single {
            let known = if state.series.node == node { state.series.single.as_ref() } else { None };
            if let Some(request) = Single::look(scene, (*thread).requests, known) {
                return single(state, entry, node, scene, request, flag, words);
            }
        }
        let (head, tail) = words.split_at_mut(lanes);
        let found = &mut tail[..used - lanes];
        // Polls of a series mostly ask for the same requests again, about which everything is known.
        let in_series = plan.poll && state.series.node == node && !process.calls_all;
        if !in_series || !state.around.again(scene, head, found) {
            state.around.before(scene, (*thread).requests, head, found);
        }
        (*thread).open_node = hot.index + 1;
        let begin = clock::ticks();
        (*thread).open_begin = begin;
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
        if plan.poll && !process.calls_all && !found_something(plan, call) {
            if in_series {
                state.around.settle();
            } else {
                state.close_series();
                state.around.after(scene, &mut (*thread).requests, head, found);
                state.begin_series(node, words, begin, None);
            }
            state.poll(node, end);
            return result;
        }
        state.around.after(scene, &mut (*thread).requests, head, found);
        state.commit(node, begin, end, &words[..used]);
        result
    }
}

/// A call about one request that is no receive with wild cards.
#[inline(always)]
unsafe fn single(
    state: &mut State,
    entry: &Entry,
    node: *mut HotNode,
    scene: Scene<'_>,
    request: Single,
    flag: Option<u8>,
    words: &mut [u64; MAX_WORDS],
) -> usize {
    // SAFETY: see `record`.
    unsafe {
        let Scene { process, plan, call, .. } = scene;
        let used = plan.words();
        let found = usize::from(plan.lanes);
        words[found..used].fill(special::ABSENT as u64);
        words[found] = request.age as u64;
        let thread = state.recorder.thread;
        (*thread).open_node = (*node).index + 1;
        let begin = clock::ticks();
        (*thread).open_begin = begin;
        let result = forward(real(entry), entry, call);
        let end = clock::ticks();
        let complete = found_something(plan, call);
        if let Some(flag) = flag {
            words[found + usize::from(flag)] = u64::from(complete);
        }
        if complete {
            request.complete(scene);
        } else if !process.calls_all {
            if state.series.node != node {
                state.close_series();
                state.begin_series(node, words, begin, Some(request));
            }
            state.poll(node, end);
            return result;
        }
        state.commit(node, begin, end, &words[..used]);
        result
    }
}

/// The last call of the recording. Its own duration is not known when the record is completed.
unsafe fn finalize(
    state: &mut State,
    entry: &Entry,
    node: *mut HotNode,
    call: Call,
    words: &mut [u64; MAX_WORDS],
) -> usize {
    // SAFETY: see `record`.
    unsafe {
        let used = (*node).plan.words();
        let now = clock::ticks();
        state.commit(node, now, now, &words[..used]);
        state.process.end(state::FINALIZED);
        STOP.fetch_or(stop::ENDED, Ordering::SeqCst);
        state.process.gather();
        forward(real(entry), entry, call)
    }
}

impl State {
    /// A call that is counted only.
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

//! The event path of calls about one request, the majority of those that complete any.
//!
//! Owns the order of steps for them; reading requests is [`crate::around::single`]'s.

use super::around;
use crate::abi::entry::{Call, Entry, forward};
use crate::abi::symbols::real;
use crate::around::Scene;
use crate::around::single::Single;
use crate::record::HotNode;
use crate::sys::clock;
use crate::thread::{State, found_something};

/// A call about one request.
#[inline(never)]
pub(super) unsafe fn single(
    state: &mut State,
    entry: &Entry,
    node: *mut HotNode,
    call: Call,
    flag: Option<u8>,
) -> usize {
    // SAFETY: see `record`.
    unsafe {
        let (plan, process) = ((*node).plan, state.process);
        let scene = Scene { process, thread: state.number, plan, call };
        let folds = plan.poll && !process.calls_all;
        let place = if folds { state.series.place(node) } else { None };
        let (handle, address) = Single::read(scene);
        if let Some(place) = place
            && let Some(request) = &state.series.site(place).single
            && request.is(handle, address)
        {
            // As a rule another unsuccessful poll: only the times are needed.
            let begin = state.open(node);
            let result = forward(real(entry), entry, call);
            let end = clock::ticks();
            if !found_something(plan, call) {
                state.polled(place, begin, end);
                return result;
            }
            if let Some(request) = state.series.site(place).single {
                request.put(&mut state.words[usize::from(plan.lanes)..(*node).used as usize]);
                completed(state, node, scene, &request, flag);
            }
            state.commit(node, begin, end);
            return result;
        }
        let made = (*state.recorder.thread).requests;
        let Some(request) = Single::look(scene, made, handle, address) else {
            // A receive with wild cards, whose status has its match.
            return around(state, entry, node, call);
        };
        request.put(&mut state.words[usize::from(plan.lanes)..(*node).used as usize]);
        let begin = state.open(node);
        let result = forward(real(entry), entry, call);
        let end = clock::ticks();
        if found_something(plan, call) {
            completed(state, node, scene, &request, flag);
        } else {
            if let Some(flag) = flag {
                state.words[usize::from(plan.lanes + flag)] = 0;
            }
            if folds {
                let place = place.unwrap_or_else(|| state.join_series(node, begin, Some(request)));
                state.polled(place, begin, end);
                return result;
            }
        }
        state.commit(node, begin, end);
        result
    }
}

/// A call has completed its request.
#[inline(always)]
unsafe fn completed(
    state: &mut State,
    node: *mut HotNode,
    scene: Scene<'_>,
    request: &Single,
    flag: Option<u8>,
) {
    // SAFETY: the node belongs to this thread.
    if let (Some(flag), lanes) = (flag, unsafe { (*node).plan.lanes }) {
        state.words[usize::from(lanes + flag)] = 1;
    }
    request.complete(scene);
}

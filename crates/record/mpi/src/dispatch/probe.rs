//! The event path of probes that return at once.
//!
//! Owns the order of steps for them; reading messages is [`crate::around::probe`]'s.

use super::take_lanes;
use crate::abi::entry::{Call, Entry, forward};
use crate::abi::symbols::real;
use crate::around::Scene;
use crate::around::probe;
use crate::record::HotNode;
use crate::sys::clock;
use crate::thread::{State, found_something};

/// A probe that returns at once.
#[inline(never)]
pub(super) unsafe fn probe(
    state: &mut State,
    entry: &Entry,
    node: *mut HotNode,
    call: Call,
) -> usize {
    // SAFETY: see `record`.
    unsafe {
        let (plan, process) = ((*node).plan, state.process);
        let scene = Scene { process, thread: state.number, plan, call };
        let folds = !process.calls_all;
        let place = if folds { state.series.place(node) } else { None };
        let lanes = usize::from(plan.lanes);
        if place.is_none() {
            take_lanes(&*node, call, &mut state.words);
            let (head, found) = state.words[..(*node).used as usize].split_at_mut(lanes);
            probe::find(scene, false, head, found);
        }
        probe::prepare(scene, &raw mut state.status);
        let begin = state.open(node);
        let result = forward(real(entry), entry, call);
        let end = clock::ticks();
        let complete = found_something(plan, call);
        if let (Some(place), false) = (place, complete) {
            state.polled(place, begin, end);
            return result;
        }
        if place.is_some() {
            take_lanes(&*node, call, &mut state.words);
        }
        let (head, found) = state.words[..(*node).used as usize].split_at_mut(lanes);
        probe::find(scene, complete, head, found);
        if folds && !complete {
            let place = state.join_series(node, begin, None);
            state.polled(place, begin, end);
        } else {
            state.commit(node, begin, end);
        }
        result
    }
}

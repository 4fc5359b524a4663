//! Edges of the flow graph: the calls at the two ends of a burst.
//!
//! Owns their numbers, by first appearance. A call is identified by the called function, its
//! caller, and the line; the call at a burst's begin is the one that ended the burst before.
//! Instances of functions have no such ends.

use std::collections::HashMap;

use super::{Bursts, Source};

/// The called function and its call site: event type and value, function, line.
type Call = (u32, i64, i64, i64);

/// Numbers the edges of all bursts.
pub(super) fn fill(bursts: &mut Bursts) {
    let call = |at: usize| -> Call {
        let (event_type, value) = bursts.call[at];
        (event_type, value, bursts.caller[at], bursts.line[at])
    };
    let unknown = Call::default();
    let is_known = (0..bursts.len()).any(|at| call(at) != unknown);
    if bursts.source == Source::Regions || !is_known {
        return;
    }
    let mut numbers = HashMap::<(Call, Call), u32>::new();
    let mut edges = Vec::with_capacity(bursts.len());
    for at in 0..bursts.len() {
        let before = at.checked_sub(1).filter(|&before| bursts.rank[before] == bursts.rank[at]);
        let next = numbers.len() as u32;
        let ends = (before.map_or(unknown, call), call(at));
        edges.push(*numbers.entry(ends).or_insert(next));
    }
    bursts.edge = edges;
}

//! Instances: from the events and states of a trace to begin and end of each.
//!
//! Owns the two ways in which tools mark an end. Routines nest: each 0 ends the innermost, and of a routine inside itself the outermost
//! counts. All other types are flat: any further value ends what was before. Memory is bounded by the trace.

use std::collections::BTreeMap;

use talea_model::trace::{UNKNOWN_TIME, types};
use talea_model::{GapKind, Nanos, Trace};

use super::{Region, Spans};

/// One instance of one value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) event_type: u32,
    pub(super) value: i64,
    pub(super) location: u32,
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// What is open on one location.
#[derive(Default)]
struct Open {
    /// Value and begin, the innermost last.
    stack: Vec<(i64, u64)>,
    /// How often each value of the stack is in it.
    depth: BTreeMap<i64, u32>,
}

impl Open {
    fn pop(&mut self) -> Option<(i64, u64, bool)> {
        let (value, begin) = self.stack.pop()?;
        let depth = self.depth.entry(value).or_default();
        *depth = depth.saturating_sub(1);
        let outermost = *depth == 0;
        if outermost {
            self.depth.remove(&value);
        }
        Some((value, begin, outermost))
    }
}

/// Types whose values nest.
fn nests(event_type: u32) -> bool {
    matches!(event_type, types::USER_FUNCTION | 60_000_018)
}

/// Shows each instance of the types that `of` names, location by location in the order of their ends; gives how many never end.
pub(super) fn walk(trace: &Trace, of: impl Fn(u32) -> bool, visit: &mut dyn FnMut(Span)) -> u64 {
    let by_location = trace.events_by_location();
    let mut unended = 0;
    for location in 0..by_location.len() as u32 {
        let mut open = BTreeMap::<u32, Open>::new();
        for &row in by_location.rows(location) {
            let Some(event) = trace.events.get(row as usize) else { continue };
            for (&event_type, &value) in event.types.iter().zip(event.values) {
                if !of(event_type) {
                    continue;
                }
                let one = open.entry(event_type).or_default();
                if (value == 0 || !nests(event_type))
                    && let Some((value, begin, true)) = one.pop()
                {
                    visit(Span { event_type, value, location, begin, end: event.time });
                }
                if value != 0 {
                    one.stack.push((value, event.time));
                    *one.depth.entry(value).or_default() += 1;
                }
            }
        }
        unended += open.values().map(|one| one.stack.len() as u64).sum::<u64>();
    }
    unended
}

/// Shows each state whose end is known: number, location, begin, end.
pub(super) fn states(trace: &Trace, visit: &mut dyn FnMut(u32, u32, u64, u64)) -> u64 {
    let mut unended = 0;
    for state in trace.states.iter() {
        if state.end == UNKNOWN_TIME {
            unended += 1;
        } else {
            visit(state.state, state.location, state.begin, state.end);
        }
    }
    unended
}

/// All instances of a region.
pub fn instances(trace: &Trace, region: Region) -> Spans {
    let mut found = Spans::default();
    let (backward, unended) = match region {
        Region::Value { event_type, value } => {
            let wanted = |one: i64| value.is_none_or(|value| value == one);
            let unended = walk(trace, |one| one == event_type, &mut |span| {
                if wanted(span.value) {
                    found.push(span.location, span.value, span.begin, span.end);
                }
            });
            // Others of the type that do not end are not asked for, and cannot be told apart here.
            (0, if found.is_empty() { unended } else { 0 })
        }
        Region::State(wanted) => {
            let mut backward = 0;
            let unended = states(trace, &mut |state, location, begin, end| {
                if state == wanted && end < begin {
                    backward += 1;
                } else if state == wanted {
                    found.push(location, i64::from(state), begin, end);
                }
            });
            (backward, unended)
        }
        Region::Between { event_type, value } => {
            let mut last = None::<(u32, u64)>;
            let by_location = trace.events_by_location();
            for location in 0..by_location.len() as u32 {
                for &row in by_location.rows(location) {
                    let Some(event) = trace.events.get(row as usize) else { continue };
                    if event.value(event_type) != Some(value) {
                        continue;
                    }
                    if let Some((_, begin)) = last.filter(|last| last.0 == location) {
                        found.push(location, value, begin, event.time);
                    }
                    last = Some((location, event.time));
                }
            }
            (0, 0)
        }
    };
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|&at| (found.location[at], found.begin[at], found.end[at]));
    let take = |column: &[Nanos]| order.iter().map(|&at| column[at]).collect::<Vec<_>>();
    (found.begin, found.end) = (take(&found.begin), take(&found.end));
    found.location = order.iter().map(|&at| found.location[at]).collect();
    found.value = order.iter().map(|&at| found.value[at]).collect();
    found.note(GapKind::Missing, unended, format!("{unended} instances have no end"));
    found.note(GapKind::Damaged, backward, format!("{backward} states end before they begin"));
    found
}

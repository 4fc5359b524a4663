//! Instances: from the events and states of a trace to begin and end of each.
//!
//! Owns the two ways in which tools mark an end. Routines and marked phases nest: each 0 ends the
//! innermost, and of recursive calls of a routine the outermost counts. All other types are flat:
//! any further value ends the one before. Memory is bounded by the trace.

use std::collections::BTreeMap;

use talea_model::trace::{InMemory, Records, UNKNOWN_TIME, types};
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

/// Open values of one location.
#[derive(Default)]
struct Open {
    /// Value and begin, the innermost last.
    stack: Vec<(i64, u64)>,
    /// Number of occurrences of each value in the stack.
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

/// True for types whose values nest.
fn nests(event_type: u32) -> bool {
    matches!(event_type, types::USER_FUNCTION | types::MARKED | 60_000_018)
}

/// Passes on each instance of the types in `of`, location by location in the order of their ends;
/// returns the values that never end.
pub(super) fn walk(
    records: &dyn Records,
    of: impl Fn(u32) -> bool,
    visit: &mut dyn FnMut(Span),
) -> Vec<i64> {
    let mut unended = Vec::new();
    for location in 0..records.head().locations.len() as u32 {
        let mut open = BTreeMap::<u32, Open>::new();
        records.events(location, &mut |event| {
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
        });
        unended.extend(open.values().flat_map(|one| one.stack.iter().map(|open| open.0)));
    }
    unended
}

/// All instances of a region.
pub fn instances(trace: &Trace, region: Region) -> Spans {
    let mut found = Spans::default();
    let (mut backward, mut unended) = (0, 0);
    match region {
        Region::Value { event_type, value } => {
            let wanted = |one: i64| value.is_none_or(|value| value == one);
            let records = InMemory::new(trace);
            let open = walk(&records, |one| one == event_type, &mut |span| {
                if wanted(span.value) {
                    found.push(span.location, span.value, span.begin, span.end);
                }
            });
            unended = open.into_iter().filter(|&value| wanted(value)).count() as u64;
        }
        Region::State(wanted) => {
            for one in trace.states.iter().filter(|one| one.state == wanted) {
                match one.end {
                    UNKNOWN_TIME => unended += 1,
                    end if end < one.begin => backward += 1,
                    end => found.push(one.location, i64::from(wanted), one.begin, end),
                }
            }
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
        }
    }
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

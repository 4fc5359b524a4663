//! Counters of whole nodes and sockets: memory controllers, links between sockets, power.
//!
//! Owns their sums over the elapsed time, independent of any thread's computation: every reader of
//! such a counter, often a program of its own beside the measured one, reads the activity of the
//! node. Of several readers of the same counter of a node, the one that read it longest counts.

use std::collections::{BTreeMap, BTreeSet};

use talea_model::{GapKind, Gaps, Trace};

use super::note;
use super::span::Span;
use crate::catalogue;
use crate::limits::can_grow;

/// Part of the time from which on a shortfall is not reported.
const NEARLY: f64 = 0.99;

/// A counter of a node, over all nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeCounter {
    /// Name in the trace.
    pub name: String,
    /// Increase in the analysed part.
    pub value: f64,
}

/// Readings of one counter by one location.
#[derive(Clone, Copy, Default)]
struct Sum {
    value: f64,
    covered: u64,
    last: Option<u64>,
}

/// Sums of all counters of nodes.
pub(super) fn sums(trace: &Trace, span: Span, gaps: &mut Gaps) -> Vec<NodeCounter> {
    let names: BTreeMap<u32, String> = node_types(trace);
    if names.is_empty() {
        return Vec::new();
    }
    let mut best: BTreeMap<(u32, Option<u32>), Sum> = BTreeMap::new();
    let mut impossible: BTreeMap<u32, u64> = BTreeMap::new();
    let by_location = trace.events_by_location();
    for location in 0..trace.locations.len() as u32 {
        let Some(place) = trace.locations.get(location) else { break };
        let mut own: BTreeMap<u32, Sum> = BTreeMap::new();
        for &row in by_location.rows(location) {
            let Some(record) = trace.events.get(row as usize) else { continue };
            for (event_type, &value) in record.types.iter().zip(record.values) {
                if !names.contains_key(event_type) {
                    continue;
                }
                let sum = own.entry(*event_type).or_default();
                // Its first value was counted before the first reading.
                let Some(from) = sum.last.replace(record.time) else { continue };
                let Some((begin, end)) = span.clip(from, record.time) else { continue };
                if !can_grow(value, record.time - from) {
                    *impossible.entry(*event_type).or_default() += 1;
                    continue;
                }
                sum.value += value as f64 * (end - begin) as f64 / (record.time - from) as f64;
                sum.covered += end - begin;
            }
        }
        for (event_type, sum) in own {
            let best = best.entry((event_type, place.node)).or_default();
            if sum.covered > best.covered {
                *best = sum;
            }
        }
    }
    let length = span.length().0 as f64;
    let (mut found, mut partial) = (BTreeMap::<&str, f64>::new(), BTreeSet::new());
    for ((event_type, _), sum) in best.into_iter().filter(|(_, sum)| sum.covered > 0) {
        let name = names[&event_type].as_str();
        let share = sum.covered as f64 / length;
        if share < NEARLY {
            partial.insert(name);
        }
        *found.entry(name).or_default() += sum.value / share;
    }
    for (event_type, count) in impossible {
        let what = format!("{}: {count} readings are impossible and left out", names[&event_type]);
        note(gaps, GapKind::Damaged, what, count);
    }
    if let Some(first) = partial.first() {
        let more = partial.len() - 1;
        let more = if more > 0 { format!(" and {more} more of nodes") } else { String::new() };
        let what = format!("{first}{more} counted a part of the time: made whole by time");
        note(gaps, GapKind::Estimated, what, partial.len() as u64);
    }
    let one = |(name, value): (&str, f64)| NodeCounter { name: name.to_owned(), value };
    found.into_iter().map(one).collect()
}

/// Event types of counters of nodes with their names.
fn node_types(trace: &Trace) -> BTreeMap<u32, String> {
    let all = trace.events.distinct_types().into_iter();
    all.filter_map(|event_type| {
        let label = trace.labels.event_type(event_type).map(|one| one.label.as_str());
        catalogue::is_of_node(event_type, label)
            .then(|| (event_type, super::counter_name(event_type, label)))
    })
    .collect()
}

//! Probes and call stacks of a trace, as columns for folding.
//!
//! Owns the distinction between readings of counters and samples with a stack, and the names of
//! counters. Counters stay deltas, as in the trace; where one was not read its column is NaN, so
//! that sets that take turns stay separate. Only records of locations that have instances are
//! taken; of more than [`MOST_COUNTERS`] counters those with the most readings.

use std::collections::BTreeMap;

use talea_metric::catalogue;
use talea_metric::limits::can_grow;
use talea_model::trace::types;
use talea_model::{Gap, GapKind, Gaps, Nanos, Trace};

use super::{Names, Spans};
use crate::project::{Counter, Form, Probes, Totals};

/// Maximum number of counters that are folded.
pub const MOST_COUNTERS: usize = 64;
/// Maximum number of frames of a stack.
const DEEPEST: u32 = 100;
/// Largest value of callers without a routine: the end, unresolved, not found.
const NAMELESS: i64 = 2;

/// Readings of counters, as columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeColumns {
    /// Location of each.
    pub location: Vec<u32>,
    /// Time of each.
    pub time: Vec<Nanos>,
    /// Event types of the counters: instructions and cycles first, then presets, then native ones.
    pub types: Vec<u32>,
    /// Their names.
    pub names: Vec<String>,
    /// Counts since the previous reading; NaN where a counter was not read.
    pub values: Vec<Vec<f64>>,
    /// Gaps.
    pub gaps: Gaps,
}

impl ProbeColumns {
    /// The counters, for [`Probes::counters`].
    pub fn counters(&self) -> Vec<Counter<'_>> {
        let one =
            |(name, values)| Counter { name, form: Form::Delta, values, totals: Totals::Measured };
        self.names
            .iter()
            .map(String::as_str)
            .zip(self.values.iter().map(Vec::as_slice))
            .map(one)
            .collect()
    }

    /// Probes in the form of [`crate::project()`].
    pub fn probes<'a>(&'a self, counters: &'a [Counter<'a>]) -> Probes<'a> {
        Probes { location: &self.location, time: &self.time, counters }
    }
}

/// Call stacks of samples, as columns; frames lie in columns of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackColumns {
    /// Location of each sample.
    pub location: Vec<u32>,
    /// Time of each.
    pub time: Vec<Nanos>,
    /// Frames of sample `i` are `starts[i]..starts[i + 1]`.
    pub starts: Vec<usize>,
    /// Values of routines, innermost first.
    pub routines: Vec<u32>,
    /// Values of lines beside the routines; 0 where there is none.
    pub lines: Vec<u32>,
    /// Number of samples without a named routine.
    pub nameless: u64,
}

/// The name of a counter: that of its label, or its number.
pub fn counter_name(names: &Names<'_>, event_type: u32) -> String {
    let usable = |name: &String| {
        (1..=80).contains(&name.len()) && !name.contains(|c: char| c.is_control() || c == '"')
    };
    let name = catalogue::name_in_trace(event_type, names.event_type(event_type));
    name.filter(usable).unwrap_or_else(|| event_type.to_string())
}

/// True if a type is a counter of the thread that read it; those of nodes are
/// [`super::node_probes`]'.
fn of_thread(names: &Names<'_>, event_type: u32) -> bool {
    types::is_counter(event_type)
        && !catalogue::is_of_node(event_type, names.event_type(event_type))
}

/// From the first begin to the last end of the instances of each location.
fn reach(spans: &Spans) -> BTreeMap<u32, (Nanos, Nanos)> {
    let mut found = BTreeMap::<u32, (Nanos, Nanos)>::new();
    for at in 0..spans.len() {
        let (begin, end) = (spans.begin[at], spans.end[at]);
        let reach = found.entry(spans.location[at]).or_insert((begin, end));
        *reach = (reach.0.min(begin), reach.1.max(end));
    }
    found
}

/// Rows of events on locations that have instances.
fn rows_of<'a>(trace: &'a Trace, spans: &Spans) -> impl Iterator<Item = usize> + 'a {
    let mut known = vec![false; trace.locations.len()];
    for &location in &spans.location {
        if let Some(known) = known.get_mut(location as usize) {
            *known = true;
        }
    }
    let rows = trace.events.location.iter().enumerate();
    rows.filter(move |(_, location)| known.get(**location as usize) == Some(&true))
        .map(|(row, _)| row)
}

/// Rows of events within the instances' time.
fn rows_within<'a>(trace: &'a Trace, spans: &Spans) -> impl Iterator<Item = usize> + 'a {
    let count = trace.locations.len();
    let mut limits = vec![(Nanos(u64::MAX), Nanos(0)); count];
    for (location, reach) in reach(spans) {
        if let Some(limit) = limits.get_mut(location as usize) {
            *limit = reach;
        }
    }
    let columns = trace.events.location.iter().zip(&trace.events.time).enumerate();
    columns.filter_map(move |(row, (&location, &time))| {
        let limit = limits.get(location as usize)?;
        (limit.0..=limit.1).contains(&Nanos(time)).then_some(row)
    })
}

/// The counters read around instances.
pub fn probes(trace: &Trace, spans: &Spans) -> ProbeColumns {
    let names = Names::new(trace);
    let mut readings = BTreeMap::<u32, u64>::new();
    let mut rows = Vec::new();
    for row in rows_of(trace, spans) {
        let Some(pairs) = trace.events.pairs(row) else { continue };
        let mut any = false;
        for &event_type in trace.events.types.get(pairs).unwrap_or_default() {
            if of_thread(&names, event_type) {
                *readings.entry(event_type).or_default() += 1;
                any = true;
            }
        }
        if any {
            rows.push(row);
        }
    }
    // By location and time, so that records that later share one place stay in order.
    let key = |&row: &usize| (trace.events.location[row], trace.events.time[row]);
    if !rows.is_sorted_by_key(key) {
        rows.sort_by_key(key);
    }
    let mut found = ProbeColumns::default();
    let mut chosen: Vec<(u64, u32, String)> = readings
        .iter()
        .map(|(&event_type, &count)| (count, event_type, counter_name(&names, event_type)))
        .collect();
    chosen.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    if chosen.len() > MOST_COUNTERS {
        let left = chosen.len() - MOST_COUNTERS;
        chosen.truncate(MOST_COUNTERS);
        let detail = format!(
            "{left} counters with fewer readings than {MOST_COUNTERS} others are not folded"
        );
        found.gaps.note(Gap { kind: GapKind::Unsupported, rank: None, detail, count: left as u64 });
    }
    // Instructions and cycles first, presets before native events, labelled ones before the others.
    chosen.sort_by_key(|(_, event_type, name)| {
        let class = match event_type {
            42_000_050 => 0,
            42_000_059 => 1,
            42_000_000..=42_000_999 => 2,
            _ if name.parse::<u32>().is_err() => 3,
            _ => 4,
        };
        (class, *event_type)
    });
    let places: BTreeMap<u32, usize> =
        chosen.iter().enumerate().map(|(at, one)| (one.1, at)).collect();
    found.types = chosen.iter().map(|one| one.1).collect();
    found.names = unique(chosen);
    found.values = vec![vec![f64::NAN; rows.len()]; found.types.len()];
    // The last two times of readings on a location.
    let (mut before, mut last): (Option<u64>, Option<(u32, u64)>) = (None, None);
    for (at, &row) in rows.iter().enumerate() {
        let Some(event) = trace.events.get(row) else { continue };
        if last != Some((event.location, event.time)) {
            before = last.filter(|last| last.0 == event.location).map(|last| last.1);
            last = Some((event.location, event.time));
        }
        let possible =
            |value: i64| before.map_or(value >= 0, |before| can_grow(value, event.time - before));
        found.location.push(event.location);
        found.time.push(Nanos(event.time));
        for (event_type, &value) in event.types.iter().zip(event.values) {
            if let Some(&column) = places.get(event_type) {
                // An impossible count is treated as a fall: its instance is not used.
                found.values[column][at] = if possible(value) { value as f64 } else { -1.0 };
            }
        }
    }
    found
}

/// Unique names: of counters with the same name all but the first get their number too.
fn unique(chosen: Vec<(u64, u32, String)>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    let name = |(_, event_type, name): (u64, u32, String)| {
        if seen.insert(name.clone()) { name } else { format!("{name}:{event_type}") }
    };
    chosen.into_iter().map(name).collect()
}

/// Locations of all samples with call stacks of a trace, in any order.
pub fn samples(trace: &Trace) -> impl Iterator<Item = u32> {
    (0..trace.events.len()).filter_map(|row| {
        let event = trace.events.get(row)?;
        let mut values = event.types.iter().zip(event.values);
        // The 0 at the end of a trace ends its last sample, and is none itself.
        let is_sample =
            values.any(|(kind, &value)| types::SAMPLE_CALLER.contains(kind) && value != 0);
        is_sample.then_some(event.location)
    })
}

/// Samples with call stacks within the instances' time.
pub fn stacks(trace: &Trace, spans: &Spans) -> StackColumns {
    let mut found = StackColumns { starts: vec![0], ..StackColumns::default() };
    let mut frames = BTreeMap::<u32, (i64, i64)>::new();
    for row in rows_within(trace, spans) {
        let Some(event) = trace.events.get(row) else { continue };
        frames.clear();
        for (&event_type, &value) in event.types.iter().zip(event.values) {
            if types::SAMPLE_CALLER.contains(&event_type) {
                let depth = event_type - types::SAMPLE_CALLER.start();
                frames.entry(depth.min(DEEPEST)).or_default().0 = value;
            } else if types::SAMPLE_LINE.contains(&event_type) {
                let depth = event_type - types::SAMPLE_LINE.start();
                frames.entry(depth.min(DEEPEST)).or_default().1 = value;
            }
        }
        // The 0 at the end of a trace ends its last sample, and is none itself.
        if frames.values().all(|frame| frame.0 == 0) {
            continue;
        }
        let first = found.routines.len();
        for &(routine, line) in frames.values() {
            if let Ok(routine) = u32::try_from(routine)
                && i64::from(routine) > NAMELESS
            {
                found.routines.push(routine);
                found.lines.push(u32::try_from(line).unwrap_or_default());
            }
        }
        found.nameless += u64::from(found.routines.len() == first);
        found.location.push(event.location);
        found.time.push(Nanos(event.time));
        found.starts.push(found.routines.len());
    }
    found
}

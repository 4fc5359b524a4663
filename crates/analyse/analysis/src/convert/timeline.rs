//! A trace in the form of viewers of slices: intervals with arguments, messages between them, and
//! counters.
//!
//! Owns the choice of the events that are slices (those whose value 0 ends an interval that another
//! value began), and the rates of counters: the increase since the thread's probe before, divided
//! by the time since then. Threads are read twice, first for the calls at the ends of messages
//! ([`messages`]), and made one after the other, so that only some are in memory.

mod labels;
mod messages;
mod records;

use std::collections::BTreeMap;
use std::io;

use rayon::prelude::*;
use talea_formats::profile::{
    FlowEnd, Series, Slice, TimelineCounts, Track, TrackName, TrackWriter,
};
use talea_model::trace::types::{self, is_counter};
use talea_model::trace::{EventRecord, Records};
use talea_model::{Gap, GapKind, Gaps, Nanos, Trace};

use self::labels::Labels;
use self::messages::{Calls, Messages};
pub(super) use self::records::WithMessages;
use crate::labels::{has_threads, process_name, thread_name};

/// Category of MPI calls in [`Slice::category`].
const CALL: &str = "mpi";

/// Category of the intervals that values of a type begin and value 0 ends; `None` for other types.
fn category(event_type: u32) -> Option<&'static str> {
    match event_type {
        _ if types::MPI.contains(&event_type) => Some(CALL),
        types::USER_FUNCTION => Some("function"),
        types::ITERATION => Some("iteration"),
        types::CLUSTER => Some("cluster"),
        types::MARKED => Some("phase"),
        _ if types::LOOP.contains(&event_type) => Some("loop"),
        _ => None,
    }
}

/// Writes all threads with activity, by the writer that `start` makes for their names. Items
/// without a place in a timeline are gaps. Returns the number of threads too.
pub(super) fn write<W: TrackWriter>(
    records: &impl WithMessages,
    start: impl FnOnce(&[TrackName]) -> io::Result<W>,
    gaps: &mut Gaps,
) -> io::Result<(TimelineCounts, usize)> {
    let trace = records.head();
    let locations: Vec<u32> = (0..trace.locations.len() as u32).collect();
    let mut messages = Messages::new(records.messages(), locations.len());
    let mut active = Vec::new();
    // Each thread's calls are forgotten once its ends of messages are known.
    for some in locations.chunks(rayon::current_num_threads().max(1)) {
        let found = some.par_iter().map(|&location| {
            let seen = Seen::new(records, location);
            (seen.is_active, messages.ends(location, &seen.calls))
        });
        for (&location, (is_active, ends)) in some.iter().zip(found.collect::<Vec<_>>()) {
            active.extend(is_active.then_some(location));
            messages.add(ends);
        }
    }
    let left_out = messages.connect();
    if left_out > 0 {
        gaps.note(Gap {
            kind: GapKind::Unsupported,
            rank: None,
            detail: format!(
                "{left_out} messages have no arrow: no call is at one of their ends, or they were received before they were sent"
            ),
            count: left_out,
        });
    }
    let names: Vec<TrackName> =
        active.iter().map(|&location| track_name(trace, location)).collect();
    let mut writer = start(&names)?;
    let mut names = names.into_iter();
    for some in active.chunks(rayon::current_num_threads().max(1)) {
        let made = some.par_iter().map(|&location| track(records, location, &messages));
        for (mut track, ends) in made.collect::<Vec<_>>() {
            track.of = names.next().unwrap_or_default();
            writer.track(&track, &ends)?;
        }
    }
    Ok((writer.finish()?, active.len()))
}

fn track_name(trace: &Trace, location: u32) -> TrackName {
    TrackName {
        process: process(trace, location),
        process_name: process_name(trace, location),
        thread: trace.locations.get(location).map_or(location, |place| place.thread - 1),
        name: thread_name(trace, location),
    }
}

/// The number of a process over all applications; the rank, where there is one.
fn process(trace: &Trace, location: u32) -> u32 {
    let Some(place) = trace.locations.get(location) else { return 0 };
    let before = (1..place.application).map(|one| trace.locations.tasks(one).len() as u32);
    before.sum::<u32>() + place.task - 1
}

/// Result of a first look at a thread.
struct Seen {
    /// True if it has slices or counters.
    is_active: bool,
    calls: Calls,
}

impl Seen {
    fn new(records: &impl WithMessages, location: u32) -> Self {
        if let Some(calls) = records.calls(location).filter(|calls| !calls.is_empty()) {
            return Self { is_active: true, calls: Calls::new(calls) };
        }
        let mut intervals = Intervals::new(|_, _| ());
        let (mut calls, mut is_active) = (Vec::new(), false);
        // The first probe has no rate, nor have those at its time.
        let (mut first_probe, mut has_rate) = (None, false);
        let mut close = |kind: u32, begin: u64, end: u64| {
            is_active = true;
            if types::MPI.contains(&kind) {
                calls.push((begin, end));
            }
        };
        records.events(location, &mut |event| {
            if !has_rate && event.types.iter().any(|&kind| is_counter(kind)) {
                has_rate = event.time > *first_probe.get_or_insert(event.time);
            }
            intervals.event(&event, |kind, (begin, ()), end| close(kind, begin, end));
        });
        let duration = records.head().duration.0;
        intervals.end(duration, |kind, (begin, ()), end| close(kind, begin, end));
        Self { is_active: is_active || has_rate, calls: Calls::new(calls) }
    }
}

/// An open interval: its begin, and its label.
type Open<L> = (u64, L);

/// Intervals of a thread, closed as their ends come; `label` is the label of one that begins, by
/// its type and value.
struct Intervals<L, F> {
    /// By type: a thread has few.
    open: Vec<(u32, Vec<Open<L>>)>,
    label: F,
}

impl<L, F: FnMut((u32, i64), &EventRecord<'_>) -> L> Intervals<L, F> {
    fn new(label: F) -> Self {
        Self { open: Vec::new(), label }
    }

    /// Those of a type.
    fn open(&mut self, kind: u32) -> &mut Vec<Open<L>> {
        let at = self.open.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            self.open.push((kind, Vec::new()));
            self.open.len() - 1
        });
        &mut self.open[at].1
    }

    /// Takes the next event by time; `close` gets the type, the interval and its end.
    fn event(&mut self, event: &EventRecord<'_>, mut close: impl FnMut(u32, Open<L>, u64)) {
        for (&kind, &value) in event.types.iter().zip(event.values) {
            if category(kind).is_none() {
                continue;
            }
            // Phases nest; of all others one at a time is open.
            if (value == 0 || kind != types::MARKED)
                && let Some(before) = self.open(kind).pop()
            {
                close(kind, before, event.time);
            }
            if value != 0 {
                let label = (self.label)((kind, value), event);
                self.open(kind).push((event.time, label));
            }
        }
    }

    /// Closes all at the end of the trace.
    fn end(mut self, duration: u64, mut close: impl FnMut(u32, Open<L>, u64)) {
        self.open.sort_by_key(|&(kind, _)| kind);
        for (kind, all) in self.open {
            for before in all.into_iter().rev() {
                close(kind, before, duration);
            }
        }
    }
}

/// Order of slices: by begin, of those that begin together the longest first.
fn key(begin: u64, end: u64) -> (u64, std::cmp::Reverse<u64>) {
    (begin, std::cmp::Reverse(end))
}

/// A thread without its name, with the ends of its messages.
fn track(records: &impl Records, location: u32, messages: &Messages<'_>) -> (Track, Vec<FlowEnd>) {
    let trace = records.head();
    let mut labels = Labels::new(trace);
    let mut slices = Vec::new();
    let mut rates = Rates::new(trace, location);
    let mut close = |_, (begin, label): Open<_>, end: u64| {
        slices.push(Slice { label, begin: Nanos(begin), end: Nanos(end.max(begin)) });
    };
    let mut intervals = Intervals::new(|of, event| labels.label(of, event));
    records.events(location, &mut |event| {
        rates.event(&event);
        intervals.event(&event, &mut close);
    });
    intervals.end(trace.duration.0, &mut close);
    slices.sort_by_key(|slice| key(slice.begin.0, slice.end.0));
    let calls: Vec<usize> =
        (0..slices.len()).filter(|&at| slices[at].label.category == CALL).collect();
    messages.fill(trace, location, &calls, &mut slices);
    let ends = messages.flow_ends(location, &calls);
    (Track { of: TrackName::default(), slices, counters: rates.into_series() }, ends)
}

/// Rates of the counters of a thread. A count over no time is added to the next one.
struct Rates<'a> {
    trace: &'a Trace,
    location: u32,
    found: BTreeMap<u32, Series>,
    kept: BTreeMap<u32, i64>,
    before: Option<u64>,
}

impl<'a> Rates<'a> {
    fn new(trace: &'a Trace, location: u32) -> Self {
        let (found, kept) = (BTreeMap::new(), BTreeMap::new());
        Self { trace, location, found, kept, before: None }
    }

    fn event(&mut self, event: &EventRecord<'_>) {
        let values = event.types.iter().zip(event.values).filter(|(kind, _)| is_counter(**kind));
        let mut any = false;
        let since = self.before.filter(|&since| since < event.time);
        for (&kind, &value) in values {
            any = true;
            let sum = self.kept.entry(kind).or_default();
            *sum = sum.saturating_add(value);
            // The first probe's counts have no known begin.
            let Some(begin) = since else {
                if self.before.is_none() {
                    *sum = 0;
                }
                continue;
            };
            let rate = std::mem::take(sum) as f64 / (event.time - begin) as f64 * 1e9;
            let series = self.found.entry(kind).or_insert_with(|| Series {
                name: counter_name(self.trace, self.location, kind),
                unit: "per second",
                values: Vec::new(),
            });
            series.values.push((Nanos(begin), rate));
        }
        if any {
            self.before = Some(event.time);
        }
    }

    fn into_series(self) -> Vec<Series> {
        self.found.into_values().collect()
    }
}

/// Counters stand beside the threads of a process, so that their names identify the thread.
fn counter_name(trace: &Trace, location: u32, kind: u32) -> String {
    let label = trace.labels.event_type(kind).map(|one| one.label.clone());
    let label = label.unwrap_or_else(|| kind.to_string());
    if has_threads(trace, location) {
        format!("{label}, {},", thread_name(trace, location))
    } else {
        label
    }
}

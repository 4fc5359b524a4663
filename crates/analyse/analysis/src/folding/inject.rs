//! Injection of a folded region into a trace: one instance gets the counters of all, at many
//! places.
//!
//! Owns the choice of the instance, and the records. The instance with the median duration is
//! taken. Its own readings of folded counters are replaced, and the new ones add up to its own
//! count (to the mean of all where it did not count that one), so that sums over the trace do not
//! change. Events of 600,000,001 mark the instance with the number of its group, those of
//! 600,000,002 its phases from 1, 630,000,000 the routine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use talea_fold::{Curve, Synthetic, synthetic};
use talea_model::trace::{EventRecord, EventType, Events, RecordKind, ValueSet, types};
use talea_model::{Nanos, Trace};
use talea_report::data::folded::FoldedData;

use super::analyse::Folded;
use super::options::{Extent, FoldOptions};
use crate::convert::paraver::{self, SaveError};
use crate::input::run::{self, Additions};
use crate::input::{self, InputError, Opened};
use crate::{Analysis, Progress};

/// Marks the instance; the value is its group, from 1.
const GROUP: u32 = 600_000_001;
/// Phases of the first counter with jumps, from 1.
const PHASE: u32 = 600_000_002;
/// The routine of the folded call stack.
const ROUTINE: u32 = 630_000_000;
/// Gradient of hardware counters.
const GRADIENT: u32 = 7;

/// Errors of the injection.
#[derive(Debug, thiserror::Error)]
pub enum InjectError {
    /// Time was cut out.
    #[error(
        "expected whole instances for --out-prv, those without MPI have no place on the trace's time"
    )]
    Cut,
    /// No curves.
    #[error("expected a folded counter for --out-prv, there is none")]
    NoCurves,
}

/// Errors of writing an input with folded counters.
#[derive(Debug, thiserror::Error)]
pub enum SaveFoldedError {
    /// The input, which is read once more.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The injection.
    #[error(transparent)]
    Inject(#[from] InjectError),
    /// The files.
    #[error(transparent)]
    Save(#[from] SaveError),
}

/// Pairs of type and value at one time.
type Pairs = Vec<(u32, i64)>;

/// Folded counters for one instance.
struct Injection {
    location: u32,
    begin: Nanos,
    end: Nanos,
    /// The counters, whose own readings are replaced.
    counters: BTreeSet<u32>,
    /// All new events by time.
    new: BTreeMap<u64, Pairs>,
    labels: Labels,
}

impl Injection {
    /// True where the instance has an event at this time.
    fn is_inside(&self, location: u32, time: u64) -> bool {
        location == self.location && Nanos(time) > self.begin && Nanos(time) <= self.end
    }

    /// Types and values of an event that are not replaced; empty where all of them are.
    fn kept(&self, event: &EventRecord<'_>) -> (Vec<u32>, Vec<i64>) {
        let is_inside = self.is_inside(event.location, event.time);
        let is_kept = |kind: &u32| !is_inside || !self.counters.contains(kind);
        event.types.iter().zip(event.values).filter(|&(kind, _)| is_kept(kind)).unzip()
    }

    /// Adds the labels of the new events to a trace.
    fn label(&self, trace: &mut Trace, region: &str) {
        // Gradients of counters whose labels the trace lacks remain those of hardware counters.
        for &number in self.counters.iter().filter(|&&one| types::is_counter(one)) {
            if trace.labels.event_type(number).is_none() {
                let (label, gradient) = (number.to_string(), GRADIENT);
                let one = EventType { number, gradient, label, ..EventType::default() };
                trace.labels.event_types.push(one);
            }
        }
        self.labels.add(trace, region);
    }
}

/// Writes the run at `path` with the folded counters on one instance to `out`. Records are made as
/// they are written.
pub(super) fn save_run(
    path: &Path,
    folded: &Folded,
    what: &FoldOptions,
    out: &Path,
    progress: Progress<'_>,
) -> Result<(), SaveFoldedError> {
    let Opened::Run(run) = input::open(path, &mut *progress)? else { return Ok(()) };
    let analysis = Analysis::new(&run, &mut *progress);
    progress("writing");
    let Some(mut stream) = run::stream(&analysis) else {
        let whole = run::trace(&analysis);
        return Ok(paraver::save(&inject(&whole, folded, what)?, out)?);
    };
    let injection = injection(&stream.samples, folded, what)?;
    let mut events = Events::default();
    for event in stream.samples.events.iter() {
        let (types, values) = injection.kept(&event);
        if !types.is_empty() {
            events.push(EventRecord { types: &types, values: &values, ..event });
        }
    }
    stream.replace_sample_events(events);
    injection.label(&mut stream.head, &folded.data.region.name);
    let mut first = Events::default();
    for (&time, pairs) in &injection.new {
        let (types, values): (Vec<u32>, Vec<i64>) = pairs.iter().copied().unzip();
        let (location, types, values) = (injection.location, &types[..], &values[..]);
        first.push(EventRecord { location, cpu: 0, time, types, values });
    }
    paraver::save_stream(&stream, &Additions { first, ..Additions::default() }, out)?;
    Ok(())
}

/// The trace with the folded counters on one instance.
pub(super) fn inject(
    trace: &Trace,
    folded: &Folded,
    what: &FoldOptions,
) -> Result<Trace, InjectError> {
    let injection = injection(trace, folded, what)?;
    let mut out = merged(trace, &injection);
    injection.label(&mut out, &folded.data.region.name);
    Ok(out)
}

/// The folded counters for one instance; `trace` must have the instance's readings of counters.
fn injection(trace: &Trace, folded: &Folded, what: &FoldOptions) -> Result<Injection, InjectError> {
    if what.extent == Extent::WithoutMpi {
        return Err(InjectError::Cut);
    }
    let spans = &folded.first.spans;
    let mut mode = folded.first.modes.first().cloned().unwrap_or_default();
    mode.sort_by_key(|&at| (spans.end[at as usize] - spans.begin[at as usize], at));
    if folded.curves.is_empty() || mode.is_empty() {
        return Err(InjectError::NoCurves);
    }
    let typical = mode[mode.len() / 2] as usize;
    let (location, begin, end) =
        (spans.location[typical], spans.begin[typical], spans.end[typical]);
    let counters: BTreeSet<u32> = folded.curves.iter().map(|one| one.0).collect();
    let inside = |at: u32, time: u64| at == location && Nanos(time) > begin && Nanos(time) <= end;
    // Counts of the instance itself.
    let mut counted = BTreeMap::<u32, u64>::new();
    for event in trace.events.iter().filter(|event| inside(event.location, event.time)) {
        for (event_type, &value) in event.types.iter().zip(event.values) {
            if counters.contains(event_type) {
                let sum = counted.entry(*event_type).or_default();
                *sum = sum.saturating_add(value.max(0) as u64);
            }
        }
    }
    let curves: Vec<&Curve> = folded.curves.iter().map(|one| &one.1).collect();
    let totals: Vec<u64> = folded
        .curves
        .iter()
        .map(|(event_type, curve)| {
            counted.get(event_type).copied().unwrap_or(curve.mean_total.round() as u64)
        })
        .collect();
    let made = synthetic(&curves, &totals, begin, end, what.points);
    let mut labels = Labels::default();
    let new = events(&folded.data, folded, &made, (begin, end), &mut labels);
    Ok(Injection { location, begin, end, counters, new, labels })
}

/// Names of routines, by their values.
#[derive(Default)]
struct Labels {
    routines: Vec<String>,
}

impl Labels {
    fn routine(&mut self, name: &str) -> i64 {
        let at = self.routines.iter().position(|known| known == name).unwrap_or_else(|| {
            self.routines.push(name.to_owned());
            self.routines.len() - 1
        });
        at as i64 + 1
    }

    fn add(&self, trace: &mut Trace, region: &str) {
        let numbered = |what: &str, count: i64| {
            (1..=count).map(|n| (n, format!("{what} {n}"))).collect::<Vec<_>>()
        };
        let group = vec![(1, format!("folded {region}"))];
        let routines = (1..).zip(self.routines.iter().cloned()).collect::<Vec<_>>();
        for (number, gradient, label, values) in [
            (GROUP, 0, "Folded group", group),
            (PHASE, 0, "Folded phase", numbered("phase", 16)),
            (ROUTINE, 0, "Folded routine", routines),
        ] {
            let labels = &mut trace.labels;
            if labels.event_types.iter().any(|one| one.number == number) {
                continue;
            }
            let mut set = ValueSet::default();
            set.push(0, "End".to_owned());
            for (value, name) in values {
                set.push(value, name);
            }
            labels.value_sets.push(set);
            let values = Some(labels.value_sets.len() as u32 - 1);
            labels.event_types.push(EventType {
                number,
                gradient,
                label: label.to_owned(),
                precision: None,
                values,
            });
        }
    }
}

/// All new events by time.
fn events(
    data: &FoldedData,
    folded: &Folded,
    made: &[Synthetic],
    (begin, end): (Nanos, Nanos),
    labels: &mut Labels,
) -> BTreeMap<u64, Pairs> {
    let mut found = BTreeMap::<u64, Pairs>::new();
    let duration = (end - begin).0 as f64;
    let time = |x: f64| (begin.0 + (x * duration) as u64).min(end.0);
    found.entry(begin.0).or_default().push((GROUP, 1));
    let phases = data.all.counters.iter().find(|one| one.phases.len() > 1);
    for (at, phase) in phases.iter().flat_map(|one| &one.phases).enumerate() {
        found.entry(time(phase.from)).or_default().push((PHASE, at as i64 + 1));
    }
    for run in &data.all.stack {
        let value = run.routine.as_deref().map_or(0, |name| labels.routine(name));
        found.entry(time(run.from)).or_default().push((ROUTINE, value));
    }
    for one in made {
        let at = found.entry(one.time.0).or_default();
        let counts = folded.curves.iter().zip(&one.counts);
        at.extend(counts.map(|((event_type, _), &count)| {
            (*event_type, i64::try_from(count).unwrap_or(i64::MAX))
        }));
    }
    let last = found.entry(end.0).or_default();
    last.push((GROUP, 0));
    if phases.is_some() {
        last.push((PHASE, 0));
    }
    if !data.all.stack.is_empty() {
        last.push((ROUTINE, 0));
    }
    found
}

/// The trace with new events, each before the trace's own events of that time, and without the
/// pairs that these replace.
fn merged(trace: &Trace, injection: &Injection) -> Trace {
    let mut out = Trace {
        date: trace.date.clone(),
        unit: trace.unit,
        duration: trace.duration,
        locations: trace.locations.clone(),
        communicators: trace.communicators.clone(),
        labels: trace.labels.clone(),
        ..Trace::default()
    };
    let mut waiting = injection.new.iter().peekable();
    let mut lines = trace.lines.iter().peekable();
    let mut push = |out: &mut Trace, before: u64| {
        while let Some((&time, pairs)) = waiting.next_if(|(time, _)| **time <= before) {
            let types: Vec<u32> = pairs.iter().map(|pair| pair.0).collect();
            let values: Vec<i64> = pairs.iter().map(|pair| pair.1).collect();
            out.push_event((injection.location, 0), time, &types, &values);
        }
    };
    let (mut states, mut events, mut messages) = (0, 0, 0);
    for (done, kind) in trace.order.iter().enumerate() {
        while let Some((_, line)) = lines.next_if(|(after, _)| *after <= done as u64) {
            out.push_line(line);
        }
        match kind {
            RecordKind::State => {
                if let Some(state) = trace.states.get(states) {
                    push(&mut out, state.begin);
                    out.push_state(state);
                }
                states += 1;
            }
            RecordKind::Event => {
                if let Some(event) = trace.events.get(events) {
                    push(&mut out, event.time);
                    let (types, values) = injection.kept(&event);
                    if !types.is_empty() {
                        out.push_event((event.location, event.cpu), event.time, &types, &values);
                    }
                }
                events += 1;
            }
            RecordKind::Message => {
                if let Some(message) = trace.messages.get(messages) {
                    push(&mut out, message.logical_send);
                    out.push_message(message);
                }
                messages += 1;
            }
        }
    }
    push(&mut out, u64::MAX);
    for (_, line) in lines {
        out.push_line(line);
    }
    out
}

//! Samples, counters and marked phases of a run as events of its trace.
//!
//! Owns which thread of the trace a sampled thread is, the numbers of counters, and the time axis:
//! a probe stands at the end of the call that it belongs to, as that was recorded. Counters become
//! what they grew by since the thread's last entry, as in every trace of Paraver; where the set of
//! counters changed in between that is not known, and nothing stands there.

mod pictures;

use std::collections::BTreeMap;

use talea_flow::iterations::TimedEvent;
use talea_model::trace::{StateRecord, types};
use talea_model::{Gap, GapKind, Nanos, Trace};
use talea_run::recording::Process;
use talea_run::samples::{
    PhaseKind, PhaseMarks, ProbeKind, Probes, ProcessSamples, RunSamples, Series, ThreadSamples,
};

pub(super) use pictures::Pictures;

/// Kinds of a thread's entries, in the order of those with the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Entry {
    Sample,
    Probe,
    Phase,
}

/// From `CLOCK_MONOTONIC` of a process's host to the time of the run.
#[derive(Clone, Copy, Debug)]
struct Axis {
    monotonic: u64,
    at: u64,
}

impl Axis {
    fn time(self, monotonic: u64) -> u64 {
        self.at.saturating_add(monotonic).saturating_sub(self.monotonic)
    }
}

/// Sampled threads of one process, and where they are put.
pub(super) struct Sampled<'a> {
    process: &'a ProcessSamples,
    /// Place in [`RunSamples::processes`].
    number: usize,
    axis: Axis,
    /// Threads that made no call of MPI.
    others: Vec<&'a ThreadSamples>,
}

impl<'a> Sampled<'a> {
    /// The samples of a recorded process; none if it was not sampled, or nobody knows when it
    /// started.
    pub(super) fn for_process(samples: &'a RunSamples, process: &Process) -> Option<Self> {
        let same = |one: &ProcessSamples| one.pid == process.pid && one.host == process.host;
        let number = samples.processes.iter().position(same)?;
        let axis = Axis { monotonic: process.started.monotonic.0, at: process.started.at.0 };
        (axis.monotonic != 0).then(|| Self::new(&samples.processes[number], number, axis))
    }

    /// The samples of all processes of a program without MPI; time counts from the first of them on
    /// its host.
    pub(super) fn alone(samples: &'a RunSamples) -> Vec<Self> {
        let mut first: BTreeMap<&str, u64> = BTreeMap::new();
        for process in &samples.processes {
            let begin = first.entry(&process.host).or_insert(process.begin.0);
            *begin = (*begin).min(process.begin.0);
        }
        let axis = |process: &ProcessSamples| Axis { monotonic: first[&*process.host], at: 0 };
        (0..).zip(&samples.processes).map(|(at, one)| Self::new(one, at, axis(one))).collect()
    }

    fn new(process: &'a ProcessSamples, number: usize, axis: Axis) -> Self {
        let others = process.threads.iter().filter(|thread| thread.number.is_none());
        // A thread without any data takes no row.
        let some =
            |one: &&ThreadSamples| !one.samples.series.is_empty() || !one.phases.series.is_empty();
        let others = others.filter(some).collect();
        Self { process, number, axis, others }
    }

    /// Host of the process.
    pub(super) fn host(&self) -> &'a str {
        &self.process.host
    }

    /// Threads that need a location of their own.
    pub(super) fn others(&self) -> u32 {
        self.others.len() as u32
    }

    /// The end of the process on the time axis.
    pub(super) fn end(&self) -> Nanos {
        Nanos(self.axis.time(self.process.end.0))
    }

    /// When a thread that made calls was there, if that is known.
    pub(super) fn presence(&self, number: u32) -> Option<(Nanos, Nanos)> {
        let same = |thread: &&ThreadSamples| thread.number == Some(number);
        let thread = self.process.threads.iter().find(same)?;
        let end = thread.end.unwrap_or(self.process.end);
        Some((Nanos(self.axis.time(thread.begin.0)), Nanos(self.axis.time(end.0))))
    }

    /// The time of each thread that made no calls, at locations from `first` on: it computes all
    /// the time.
    pub(super) fn states_of_others(&self, first: u32) -> impl Iterator<Item = StateRecord> {
        (first..).zip(&self.others).map(move |(location, thread)| {
            let begin = self.axis.time(thread.begin.0);
            let end = self.axis.time(thread.end.unwrap_or(self.process.end).0);
            StateRecord { location, cpu: 0, begin, end, state: types::RUNNING }
        })
    }

    /// Adds the threads that made no calls, at locations from `first` on.
    pub(super) fn add_others(
        &self,
        first: u32,
        pictures: &mut Pictures<'_, '_>,
        trace: &mut Trace,
    ) {
        for (state, thread) in self.states_of_others(first).zip(&self.others) {
            if state.end > state.begin {
                trace.push_state(state);
            }
            self.add(thread, state.location, &[], pictures, trace);
        }
    }

    /// Adds the samples of a thread that made calls.
    pub(super) fn add_caller(
        &self,
        number: u32,
        location: u32,
        events: &[TimedEvent],
        pictures: &mut Pictures<'_, '_>,
        trace: &mut Trace,
    ) {
        let own = self.process.threads.iter().filter(|thread| thread.number == Some(number));
        for thread in own {
            self.add(thread, location, events, pictures, trace);
        }
    }

    fn add(
        &self,
        thread: &ThreadSamples,
        location: u32,
        events: &[TimedEvent],
        pictures: &mut Pictures<'_, '_>,
        trace: &mut Trace,
    ) {
        let (samples, probes, phases) = (&thread.samples, &thread.probes, &thread.phases);
        // Time, what it is, place in its series.
        let mut entries: Vec<(u64, Entry, usize)> = Vec::new();
        for (kind, series) in [
            (Entry::Sample, &samples.series),
            (Entry::Probe, &probes.series),
            (Entry::Phase, &phases.series),
        ] {
            entries.extend(series.times.iter().zip(0..).map(|(&time, at)| (time, kind, at)));
        }
        entries.sort_unstable();
        let place = |&(time, kind, at): &(u64, Entry, usize)| match probed(probes, at, events) {
            Some(event) if kind == Entry::Probe => {
                let begins = probes.kinds[at] == ProbeKind::Begin;
                (if begins { event.begin.0 } else { event.end.0 }, true)
            }
            _ => (self.axis.time(time), false),
        };
        let mut times: Vec<(u64, bool)> = entries.iter().map(place).collect();
        put_between(&mut times);
        let mut before: Option<(&Series, usize)> = None;
        let mut last = 0;
        let mut inside = Vec::new();
        let (mut kinds, mut values) = (Vec::new(), Vec::new());
        for (&(_, kind, at), &(time, _)) in entries.iter().zip(&times) {
            kinds.clear();
            values.clear();
            let series = match kind {
                Entry::Sample => &samples.series,
                Entry::Probe => &probes.series,
                Entry::Phase => &phases.series,
            };
            let probe = kind == Entry::Probe;
            if kind == Entry::Phase {
                self.phase(phases, at, &mut inside, pictures, (&mut kinds, &mut values));
            } else if !probe {
                let stack = pictures.stack(self.number, self.process, samples.stacks[at]);
                kinds.extend(stack.iter().map(|pair| pair.0));
                values.extend(stack.iter().map(|pair| pair.1));
            }
            // Phases need not have counters.
            if series.row(at).is_empty() {
                if !kinds.is_empty() {
                    trace.push_event((location, 0), time, &kinds, &values);
                }
                continue;
            }
            let from = kinds.len();
            self.growth(before, (series, at), pictures, (&mut kinds, &mut values));
            before = Some((series, at));
            if probe && let Some(begin) = begin_of_burst(probes, at, events) {
                let part = share_before(begin, (last, time), (&kinds[from..], &mut values[from..]));
                if let Some(part) = part {
                    trace.push_event((location, 0), begin, &part.0, &part.1);
                    pictures.shared_out += 1;
                }
            }
            last = time;
            if !kinds.is_empty() {
                trace.push_event((location, 0), time, &kinds, &values);
            }
        }
    }

    /// Change of a phase; `inside` are the phases that the thread is in. An end without a begin is
    /// left out.
    fn phase(
        &self,
        phases: &PhaseMarks,
        at: usize,
        inside: &mut Vec<u32>,
        pictures: &mut Pictures<'_, '_>,
        (kinds, values): (&mut Vec<u32>, &mut Vec<i64>),
    ) {
        let phase = phases.phases[at];
        if phases.kinds[at] == PhaseKind::Enter {
            let name = self.process.phases.get(phase as usize).map_or("", String::as_str);
            inside.push(phase);
            kinds.push(types::MARKED);
            values.push(pictures.phase(name));
        } else if let Some(from) = inside.iter().rposition(|&one| one == phase) {
            // The end of one that was left before was lost with a damaged part of the file.
            kinds.extend(inside.drain(from..).map(|_| types::MARKED));
            values.resize(kinds.len(), 0);
        }
    }

    /// Growth of the counters of an entry's set since the entry before.
    fn growth(
        &self,
        before: Option<(&Series, usize)>,
        (series, at): (&Series, usize),
        pictures: &mut Pictures<'_, '_>,
        (kinds, values): (&mut Vec<u32>, &mut Vec<i64>),
    ) {
        let turn = |(series, at): (&Series, usize)| (series.turns[at], series.sets[at]);
        let set = series.sets[at];
        let known = before.filter(|&before| turn(before) == turn((series, at)));
        if known.is_none() && self.process.sets.len() > 1 {
            kinds.push(types::COUNTER_SET);
            values.push(i64::from(set) + 1);
        }
        let Some((earlier, from)) = known else { return };
        let Some(counters) = self.process.sets.get(set as usize) else { return };
        let rows = earlier.row(from).iter().zip(series.row(at));
        for (&counter, (then, now)) in counters.iter().zip(rows) {
            let growth = now - then;
            let Some(counter) = self.process.counters.get(counter as usize) else { continue };
            if growth.is_finite() {
                kinds.push(pictures.counter(&counter.name, &counter.unit));
                values.push(growth.round() as i64);
            }
        }
    }
}

/// The event of the call that a probe belongs to.
fn probed(probes: &Probes, at: usize, events: &[TimedEvent]) -> Option<TimedEvent> {
    let event = usize::try_from(*probes.events.get(at)?).ok()?;
    events.get(event).copied()
}

/// Keeps the order of counts. Times of calls were rounded when they were recorded, and those of
/// samples and phases were not: these stay between the ends of calls (true) that they were between,
/// so that what a call counted is no phase's that began after it.
fn put_between(times: &mut [(u64, bool)]) {
    let mut before = 0;
    for (time, of_call) in times.iter_mut() {
        if *of_call {
            before = before.max(*time);
        } else {
            *time = before.max(*time);
        }
    }
    let mut after = u64::MAX;
    for (time, of_call) in times.iter_mut().rev() {
        if *of_call {
            after = after.min(*time);
        } else {
            *time = after.min(*time);
        }
    }
}

/// Where the burst began that ends at this probe.
fn begin_of_burst(probes: &Probes, at: usize, events: &[TimedEvent]) -> Option<u64> {
    if probes.kinds[at] != ProbeKind::Begin {
        return None;
    }
    let before = usize::try_from(probes.events[at]).ok()?.checked_sub(1)?;
    events.get(before).map(|event| event.end.0)
}

/// Part of a growth between two readings that lies before the begin of a burst between them: not
/// every call's end is read. Growth is assumed to be even over time; the rest stays.
fn share_before(
    begin: u64,
    (last, time): (u64, u64),
    (kinds, values): (&[u32], &mut [i64]),
) -> Option<(Vec<u32>, Vec<i64>)> {
    if last == 0 || begin <= last || begin >= time {
        return None;
    }
    let share = (begin - last) as f64 / (time - last) as f64;
    let mut part = (Vec::new(), Vec::new());
    for (&kind, value) in kinds.iter().zip(values).filter(|(kind, _)| types::is_counter(**kind)) {
        let before = (*value as f64 * share).round() as i64;
        *value -= before;
        part.0.push(kind);
        part.1.push(before);
    }
    (!part.0.is_empty()).then_some(part)
}

/// Losses of the samples, beside those in the samples themselves.
pub(super) fn note_unplaced(samples: &RunSamples, placed: usize, trace: &mut Trace) {
    trace.gaps.merge(samples.gaps.clone());
    let left = samples.processes.len().saturating_sub(placed);
    if left > 0 {
        trace.gaps.note(Gap {
            kind: GapKind::Missing,
            rank: None,
            detail: format!("samples of {left} processes belong to no recorded rank"),
            count: left as u64,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_between_the_calls_that_they_were_between() {
        // Two ends of calls that were rounded up and down.
        let mut times = [(8, false), (12, true), (11, false), (14, false), (19, false), (17, true)];
        put_between(&mut times);
        assert_eq!(times.map(|(time, _)| time), [8, 12, 12, 14, 17, 17]);
        // Whatever a damaged recording says, times of calls stay.
        let mut times = [(5, false), (9, true), (7, false), (3, true), (4, false)];
        put_between(&mut times);
        assert_eq!(times.map(|(time, _)| time), [3, 9, 3, 3, 9]);
    }

    #[test]
    fn what_lies_before_a_burst_is_not_the_bursts() {
        let kinds = [types::COUNTER_SET, 44_000_000, 42_000_050];
        let mut values = [1, 100, 7];
        let part = share_before(25, (5, 105), (&kinds, &mut values));
        assert_eq!(part, Some((vec![44_000_000, 42_000_050], vec![20, 1])));
        assert_eq!(values, [1, 80, 6]);
        // Read at the begin itself, or nothing read before.
        assert_eq!(share_before(5, (5, 105), (&kinds, &mut values)), None);
        assert_eq!(share_before(5, (0, 105), (&kinds, &mut values)), None);
    }
}

//! Computation of a run's threads between their calls, without the calls.
//!
//! Owns the way from a recording to bursts that holds no record: each thread is read once, without
//! arguments, and a burst takes some thirty bytes. The result is that of
//! [`talea_cluster::bursts::bursts`] for the whole trace. Where that takes more than the times of
//! calls, as with samples, there is none.

use rayon::prelude::*;
use talea_cluster::bursts::{Bursts, Site, Sites, Source};
use talea_metric::measure::Activity;
use talea_model::trace::{EventRecord, Events, StateRecord, States, types};
use talea_model::{Nanos, Rank, Trace};
use talea_run::sampled::SampleSites;

use super::calls::{NodePlan, plans};
use super::names::{self, Callers, Calls};
use super::places::Row;
use super::{beginning, order, sampled, samples};
use crate::Analysis;

/// Computation of the threads of a trace, in place of its records.
#[derive(Debug)]
pub struct Computation {
    /// Stretches of computation, by location and time.
    pub bursts: Bursts,
    /// For each location its time outside MPI, where that is wanted.
    outside: Option<Vec<Vec<(u64, u64)>>>,
}

impl Computation {
    /// The activity of each location, where time outside MPI is wanted.
    pub fn activities(&self) -> Option<Vec<Activity<'_>>> {
        let mut all = Vec::new();
        let mut begin = 0;
        for (location, outside) in (0..).zip(self.outside.as_ref()?) {
            let own = &self.bursts.rank[begin..];
            let end = begin + own.partition_point(|rank| rank.0 <= location);
            let (begins, ends) = (&self.bursts.begin[begin..end], &self.bursts.end[begin..end]);
            all.push(Activity { begins, ends, outside });
            begin = end;
        }
        Some(all)
    }
}

/// Time of a thread outside MPI. Corrected clocks let calls overlap: the first end of a call inside
/// MPI leaves it, as in a trace's records.
struct Outside {
    intervals: Vec<(u64, u64)>,
    since: Option<u64>,
    /// Ends of calls that are not reached yet.
    ends: Vec<u64>,
}

impl Outside {
    fn new() -> Self {
        Self { intervals: Vec::new(), since: Some(0), ends: Vec::new() }
    }

    fn call(&mut self, begin: u64, end: u64) {
        self.until(begin);
        self.ends.push(end);
    }

    /// Goes on to the begin of a call, or to the end of time.
    fn until(&mut self, time: u64) {
        let mut first = None;
        self.ends.retain(|&end| {
            let is_ahead = end > time;
            if !is_ahead {
                first = Some(first.map_or(end, |first: u64| first.min(end)));
            }
            is_ahead
        });
        if let Some(since) = self.since.take().or(first).filter(|&since| since < time) {
            self.intervals.push((since, time));
        }
    }
}

/// Computation of one thread.
#[derive(Default)]
struct Own {
    begins: Vec<u64>,
    ends: Vec<u64>,
    /// Numbers in `sites`.
    site: Vec<u32>,
    sites: Sites,
    outside: Vec<(u64, u64)>,
    /// The few records that a measurement needs: times at which the thread was not there, the first
    /// burst, the first call and those that begin and end MPI.
    states: States,
    events: Events,
    last: u64,
}

impl Own {
    fn state(&mut self, location: u32, begin: Nanos, end: Nanos, state: u32) {
        if end > begin {
            self.last = self.last.max(end.0);
            let (begin, end) = (begin.0, end.0);
            self.states.push(StateRecord { location, cpu: 0, begin, end, state });
        }
    }

    fn burst(
        &mut self,
        location: u32,
        begin: Nanos,
        end: Nanos,
        site: impl FnOnce(&mut Sites) -> u32,
    ) {
        if begin < end {
            if self.begins.is_empty() {
                self.state(location, begin, end, types::RUNNING);
            }
            self.last = self.last.max(end.0);
            self.begins.push(begin.0);
            self.ends.push(end.0);
            let site = site(&mut self.sites);
            self.site.push(site);
        }
    }

    fn call(&mut self, location: u32, (begin, end): (Nanos, Nanos), kind: names::Kind) {
        for (time, value) in [(begin, kind.value), (end, 0)] {
            let (types, values) = (&[kind.event], &[value]);
            self.events.push(EventRecord { location, cpu: 0, time: time.0, types, values });
        }
    }
}

/// The end of a burst at a call of this node.
fn site(plan: &NodePlan) -> Site {
    let value = |first: u32| {
        let pair = plan.callers.iter().find(|&&(kind, _)| kind == first);
        pair.map_or(0, |&(_, value)| value)
    };
    Site {
        caller: value(*types::CALLER.start()),
        line: value(*types::CALLER_LINE.start()),
        call: (plan.kind.event, plan.kind.value),
    }
}

/// A thread's computation; `None` where its calls are not in the order of time.
fn own(
    analysis: &Analysis<'_>,
    row: &Row<'_>,
    plans: &[NodePlan],
    mut outside: Option<Outside>,
) -> Option<Own> {
    let location = row.location;
    let mut found = Own::default();
    let mut before: Option<(Nanos, Nanos)> = None;
    let mut events = row.process.events(&analysis.run.recording, row.thread).without_arguments();
    // Numbers of the sites of nodes, as they are met.
    let mut numbers = vec![None; plans.len()];
    while let Some(event) = events.next_event() {
        let (Some(begin), Some(duration)) = (event.begin, event.duration) else { break };
        let node = event.node.0 as usize;
        let Some(plan) = plans.get(node) else { continue };
        let end = begin + duration;
        let since = if let Some((last, since)) = before {
            if begin < last {
                return None;
            }
            since
        } else {
            let (start, came) = row.came(begin);
            found.state(location, start, came, types::NOT_CREATED);
            came
        };
        if since < begin {
            let number = &mut numbers[node];
            found.burst(location, since, begin, |sites| {
                *number.get_or_insert_with(|| sites.number(site(plan)))
            });
        } else if found.ends.last() == Some(&begin.0) {
            found.follow(plan);
        }
        if plan.bracket || before.is_none() {
            found.call(location, (begin, end), plan.kind);
        }
        found.last = found.last.max(end.0);
        if let Some(outside) = &mut outside {
            outside.call(begin.0, end.0);
        }
        before = Some((begin, end));
    }
    let [last, went, end] = row.went(before.map(|(_, end)| end));
    found.burst(location, last, went, |sites| sites.number(Site::default()));
    found.state(location, went, end, types::NOT_CREATED);
    if let Some(mut outside) = outside {
        outside.until(u64::MAX);
        found.outside = outside.intervals;
    }
    Some(found)
}

impl Own {
    /// A call at the end of the last burst, after others without any time there: of several calls
    /// the last one counts, of their callers the first.
    fn follow(&mut self, plan: &NodePlan) {
        let Some(last) = self.site.last_mut() else { return };
        let (mut now, next) = (self.sites.get(*last), site(plan));
        now.call = next.call;
        if now.caller == 0 {
            now.caller = next.caller;
        }
        if now.line == 0 {
            now.line = next.line;
        }
        *last = self.sites.number(now);
    }
}

/// The time that a computation shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// That of bursts.
    Computing,
    /// That outside MPI too.
    OutsideMpi,
}

/// A trace without most of its records, and the computation that they show; none where the records
/// have more to say about it, or where nothing was computed between calls.
pub fn computation(analysis: &Analysis<'_>, wanted: Time) -> Option<(Trace, Computation)> {
    let run_samples = talea_run::samples::load(&analysis.run.directory);
    if !run_samples.processes.is_empty() {
        return None;
    }
    let unresolved = SampleSites::load(&analysis.run.directory, &run_samples).gaps;
    let sampled = sampled(analysis, &run_samples);
    let (mut trace, places) = beginning(analysis, &sampled);
    let calls = Calls::new(&analysis.run.recording);
    let mut callers = Callers::new(analysis);
    let rows = places.rows(analysis, &sampled);
    let plans: Vec<_> = rows.iter().map(|row| plans(analysis, row, &calls, &mut callers)).collect();
    let each = rows.par_iter().zip(&plans).map(|(row, plans)| {
        let outside = (wanted == Time::OutsideMpi).then(Outside::new);
        own(analysis, row, plans, outside)
    });
    let found = each.collect::<Option<Vec<Own>>>()?;
    // Without repetition other records say what a burst is.
    if found.iter().all(|own| own.begins.len() < 2) {
        return None;
    }
    trace.gaps.merge(unresolved);
    samples::note_unplaced(&run_samples, 0, &mut trace);
    calls.label(&mut trace.labels);
    callers.label(0, &mut trace.labels);
    names::states(&mut trace.labels);
    let last = found.iter().map(|own| Nanos(own.last)).max().unwrap_or_default();
    trace.duration = trace.duration.max(last);
    Some(together(&rows, found, trace, wanted))
}

fn together(
    rows: &[Row<'_>],
    found: Vec<Own>,
    mut trace: Trace,
    wanted: Time,
) -> (Trace, Computation) {
    let mut bursts = Bursts {
        source: Source::States,
        site_types: [*types::CALLER.start(), *types::CALLER_LINE.start()],
        ..Bursts::default()
    };
    let count = found.iter().map(|own| own.begins.len()).sum();
    bursts.rank.reserve_exact(count);
    bursts.begin.reserve_exact(count);
    bursts.end.reserve_exact(count);
    bursts.site.reserve_exact(count);
    let mut outside = vec![Vec::new(); trace.locations.len()];
    let mut sites = Sites::default();
    let mut parts = Vec::with_capacity(rows.len());
    for (row, own) in rows.iter().zip(found) {
        let numbers: Vec<u32> =
            own.sites.into_all().into_iter().map(|site| sites.number(site)).collect();
        bursts.rank.resize(bursts.rank.len() + own.begins.len(), Rank(row.location));
        bursts.begin.extend_from_slice(&own.begins);
        bursts.end.extend_from_slice(&own.ends);
        bursts.site.extend(own.site.iter().map(|&site| numbers[site as usize]));
        if let Some(outside) = outside.get_mut(row.location as usize) {
            *outside = own.outside;
        }
        parts.push((own.states, own.events));
    }
    let spans = bursts.begin.iter().zip(&bursts.end);
    bursts.duration = spans.map(|(begin, end)| (end - begin) as f64).collect();
    bursts.sites = sites.into_all();
    bursts.complete(trace.locations.len());
    order::merge(&parts, &talea_model::trace::Messages::default(), &mut trace);
    let outside = (wanted == Time::OutsideMpi).then_some(outside);
    (trace, Computation { bursts, outside })
}

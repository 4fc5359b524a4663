//! Times at which a location computes.
//!
//! Owns intervals of computation: those in the state Running, or, of an application without states,
//! those outside MPI. Intervals are sorted, do not overlap, and lie in the analysed part.

use std::collections::BTreeSet;

use talea_model::trace::{UNKNOWN_TIME, types};
use talea_model::{GapKind, Gaps, Trace};

use super::activity::Intervals;
use super::node::NodeCounter;
use super::span::{Interval, Span};
use super::{is_mpi, note};
use crate::catalogue;

/// The applications of some locations.
fn applications(trace: &Trace, of: impl Iterator<Item = u32>) -> BTreeSet<u32> {
    let mut locations = vec![false; trace.locations.len()];
    for location in of {
        if let Some(has) = locations.get_mut(location as usize) {
            *has = true;
        }
    }
    let with = (0..).zip(&locations).filter(|(_, has)| **has).map(|(location, _)| location);
    with.filter_map(|location| Some(trace.locations.get(location)?.application)).collect()
}

/// Applications that use MPI.
pub(super) struct Mpi {
    applications: BTreeSet<u32>,
}

impl Mpi {
    pub(super) fn from_trace(trace: &Trace) -> Self {
        let calls = trace.events.iter().filter(|one| one.types.iter().copied().any(is_mpi));
        Self { applications: applications(trace, calls.map(|one| one.location)) }
    }

    /// True if an application is analysed: those with MPI, or all where none has it.
    pub(super) fn has_application(&self, application: u32) -> bool {
        self.applications.is_empty() || self.applications.contains(&application)
    }

    /// True if the trace has MPI at all.
    pub(super) fn is_there(&self) -> bool {
        !self.applications.is_empty()
    }

    /// Intervals of a location outside MPI; `None` in a trace without MPI.
    pub(super) fn outside(&self, trace: &Trace, rows: &[u32], span: Span) -> Option<Vec<Interval>> {
        if !self.is_there() {
            return None;
        }
        let mut found = Vec::new();
        let mut outside_since = Some(0);
        for &row in rows {
            let Some(record) = trace.events.get(row as usize) else { continue };
            for (_, &value) in
                record.types.iter().zip(record.values).filter(|(one, _)| is_mpi(**one))
            {
                match (value, outside_since) {
                    (0, None) => outside_since = Some(record.time),
                    (0, _) | (_, None) => {}
                    (_, Some(since)) => {
                        found.extend(span.clip(since, record.time));
                        outside_since = None;
                    }
                }
            }
        }
        found.extend(outside_since.and_then(|since| span.clip(since, u64::MAX)));
        Some(found)
    }
}

/// Source of computation intervals, for each application.
pub(super) struct Source {
    /// Applications with the state Running.
    running: BTreeSet<u32>,
    /// Applications whose threads have counters of their own.
    counting: BTreeSet<u32>,
}

impl Source {
    pub(super) fn from_trace(trace: &Trace, mpi: &Mpi, gaps: &mut Gaps) -> Self {
        let states = trace.states.iter().filter(|one| one.state == types::RUNNING);
        let running = applications(trace, states.map(|one| one.location));
        let of_thread = |event_type: &u32| {
            let label = trace.labels.event_type(*event_type).map(|one| one.label.as_str());
            types::is_counter(*event_type) && !catalogue::is_of_node(*event_type, label)
        };
        let own: BTreeSet<u32> =
            trace.events.distinct_types().into_iter().filter(of_thread).collect();
        let counts =
            trace.events.iter().filter(|one| one.types.iter().any(|one| own.contains(one)));
        let counting = applications(trace, counts.map(|one| one.location));
        if running.is_empty() {
            let what = if mpi.applications.is_empty() {
                "the trace has neither states nor calls of MPI: all time counts as computation"
            } else {
                "the trace has no state Running: time outside MPI counts as computation"
            };
            note(gaps, GapKind::Estimated, what.to_owned(), 0);
        }
        Self { running, counting }
    }

    /// True if an application computes by the records of the trace: it is in the state Running, or
    /// its threads count something.
    pub(super) fn computes(&self, application: u32) -> bool {
        self.running.contains(&application) || self.counting.contains(&application)
    }

    /// Notes the treatment of applications without MPI beside others.
    pub(super) fn note_others(
        &self,
        trace: &Trace,
        mpi: &Mpi,
        nodes: &[NodeCounter],
        gaps: &mut Gaps,
    ) {
        let all = 1..=trace.locations.applications() as u32;
        for application in all.filter(|&one| !mpi.has_application(one)) {
            let tasks = trace.locations.tasks(application).len();
            let beside =
                format!("application {application} with {tasks} tasks has no event of MPI");
            let what = match (self.running.contains(&application), self.computes(application)) {
                (true, _) => format!("{beside}: it has no part in the efficiency of MPI"),
                (_, true) => format!(
                    "{beside} and no state: all of its time counts as computation, without a part \
                     in the efficiency of MPI"
                ),
                _ if !nodes.is_empty() => format!("{beside}: it counts for the whole node only"),
                _ => format!("{beside}, no state and no counter: it is left out"),
            };
            note(gaps, GapKind::Unsupported, what, tasks as u64);
        }
    }

    /// Sums of the intervals in which a location computes, from sums of `running` and of those
    /// outside MPI; `whole` returns the sums of the whole part.
    pub(super) fn sums(
        &self,
        application: u32,
        running: Intervals,
        outside: Option<&Intervals>,
        whole: impl FnOnce() -> Intervals,
    ) -> Intervals {
        if self.running.contains(&application) {
            return running;
        }
        outside.cloned().unwrap_or_else(whole)
    }

    /// Intervals in which a location computes: `running` by time, or those outside MPI.
    pub(super) fn intervals(
        &self,
        application: u32,
        running: impl Iterator<Item = Interval>,
        outside: Option<&[Interval]>,
        span: Span,
    ) -> Vec<Interval> {
        if !self.running.contains(&application) {
            let all = || span.clip(0, u64::MAX).into_iter().collect();
            return outside.map_or_else(all, <[Interval]>::to_vec);
        }
        let end = |end| if end == UNKNOWN_TIME { span.end.0 } else { end };
        let mut found: Vec<Interval> =
            running.filter_map(|(begin, until)| span.clip(begin, end(until))).collect();
        // Traces with overlapping states are damaged; time still counts once.
        let mut last = 0;
        found.retain_mut(|(begin, end)| {
            *begin = (*begin).max(last);
            last = last.max(*end);
            *begin < *end
        });
        found
    }
}

/// States Running of a location, by time.
pub(super) fn running<'a>(
    trace: &'a Trace,
    rows: &'a [u32],
) -> impl Iterator<Item = Interval> + 'a {
    let states = rows.iter().filter_map(|&row| trace.states.get(row as usize));
    let running = states.filter(|state| state.state == types::RUNNING);
    running.map(|state| (state.begin, state.end))
}

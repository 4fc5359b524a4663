//! When a location computes.
//!
//! Owns intervals of computation: those in the state Running, or, in a trace without states, those outside MPI. Intervals are sorted,
//! do not touch each other's inside, and lie in the part that is looked at.

use std::collections::BTreeSet;

use talea_model::trace::{UNKNOWN_TIME, types};
use talea_model::{GapKind, Gaps, Nanos, Trace};

use super::span::Span;
use super::{is_mpi, note};

/// Begin and end in nanoseconds.
pub(super) type Interval = (u64, u64);

/// The sum of their lengths.
pub(super) fn length(intervals: &[Interval]) -> Nanos {
    intervals.iter().map(|&(begin, end)| Nanos(end - begin)).sum()
}

/// Which applications use MPI, if any does.
pub(super) struct Mpi {
    applications: BTreeSet<u32>,
}

impl Mpi {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut locations = vec![false; trace.locations.len()];
        for record in trace.events.iter().filter(|one| one.types.iter().copied().any(is_mpi)) {
            if let Some(has) = locations.get_mut(record.location as usize) {
                *has = true;
            }
        }
        let with = (0..).zip(&locations).filter(|(_, has)| **has).map(|(location, _)| location);
        let applications =
            with.filter_map(|location| Some(trace.locations.get(location)?.application));
        Self { applications: applications.collect() }
    }

    /// Whether an application is looked at: those with MPI, or all where none has it.
    pub(super) fn has_application(&self, application: u32) -> bool {
        self.applications.is_empty() || self.applications.contains(&application)
    }

    pub(super) fn note_left_out(&self, trace: &Trace, gaps: &mut Gaps) {
        let all = 1..=trace.locations.applications() as u32;
        for application in all.filter(|&application| !self.has_application(application)) {
            let tasks = trace.locations.tasks(application).len();
            let what = format!(
                "application {application} with {tasks} tasks is left out: it has no event of MPI, others have"
            );
            note(gaps, GapKind::Unsupported, what, tasks as u64);
        }
    }

    /// When a location is outside MPI; nothing in a trace without MPI.
    pub(super) fn outside(&self, trace: &Trace, rows: &[u32], span: Span) -> Option<Vec<Interval>> {
        if self.applications.is_empty() {
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

/// What tells computation.
pub(super) enum Source<'a> {
    /// The state Running.
    Running,
    /// Time outside MPI.
    Outside(&'a Mpi),
}

impl<'a> Source<'a> {
    pub(super) fn of(trace: &Trace, mpi: &'a Mpi, gaps: &mut Gaps) -> Self {
        if trace.states.state.contains(&types::RUNNING) {
            return Self::Running;
        }
        let what = if mpi.applications.is_empty() {
            "the trace has neither states nor calls of MPI: all time counts as computation"
        } else {
            "the trace has no state Running: time outside MPI counts as computation"
        };
        note(gaps, GapKind::Estimated, what.to_owned(), 0);
        Self::Outside(mpi)
    }

    /// When a location computes; `rows` are those of its states and of its events, by time.
    pub(super) fn intervals(
        &self,
        trace: &Trace,
        rows: (&[u32], &[u32]),
        span: Span,
    ) -> Vec<Interval> {
        let mut found: Vec<Interval> = match self {
            Self::Outside(mpi) => {
                let all = || span.clip(0, u64::MAX).into_iter().collect();
                return mpi.outside(trace, rows.1, span).unwrap_or_else(all);
            }
            Self::Running => {
                let states = rows.0.iter().filter_map(|&row| trace.states.get(row as usize));
                let running = states.filter(|state| state.state == types::RUNNING);
                let end = |end| if end == UNKNOWN_TIME { span.end.0 } else { end };
                running.filter_map(|state| span.clip(state.begin, end(state.end))).collect()
            }
        };
        // Traces in which states overlap are damaged; time counts once all the same.
        let mut last = 0;
        found.retain_mut(|(begin, end)| {
            *begin = (*begin).max(last);
            last = last.max(*end);
            *begin < *end
        });
        found
    }
}

//! The inside of a sampled run's iterations, without its calls.
//!
//! Owns the trace that has iterations, marked phases and samples, and of the calls those that begin
//! and end MPI: its size grows with time, not with calls. Begins and ends of the calls of as many
//! threads as there are processors are held at a time.

use std::borrow::Cow;

use rayon::prelude::*;
use talea_flow::iterations::TimedEvent;
use talea_model::Trace;
use talea_model::trace::{EventRecord, Events, Messages, States};

use super::calls::{NodePlan, times};
use super::loops::{Loops, turns};
use super::names;
use super::places::Row;
use super::samples::Pictures;
use super::{SampleFiles, Sampling, Setup, order};
use crate::Analysis;

/// The trace of a sampled run without its calls: instances of loops and of marked phases, samples
/// and readings of counters are those of [`super::trace`].
pub fn inside(analysis: &Analysis<'_>) -> Trace {
    let files = SampleFiles::load(analysis);
    // Functions and lines get the numbers that they have beside calls.
    let Setup { mut trace, places, sampled, rows, plans, calls, mut callers } =
        Setup::new(analysis, &files);
    let each = rows.par_iter().zip(&plans).map(|(row, plans)| {
        let calls = times(analysis, row);
        (brackets(row, plans, &calls), turns(analysis, row, calls))
    });
    let found: Vec<_> = each.collect();
    let mut loops = Loops::default();
    let mut parts = Vec::with_capacity(rows.len() + 1);
    for (row, (mut events, turns)) in rows.iter().zip(found) {
        loops.add(turns, row.location, &mut events);
        parts.push((States::default(), events));
    }
    let mut pictures = Pictures::new(&files.sites, &mut callers);
    let sampling = Sampling { analysis, files: &files, sampled: &sampled };
    let of_samples = sampling
        .records(&rows, &places, &mut pictures, |at| Cow::Owned(times(analysis, &rows[at])));
    parts.push(of_samples);
    let levels = sampling.label(pictures, &mut trace);
    calls.label(&mut trace.labels);
    callers.label(levels, &mut trace.labels);
    names::states(&mut trace.labels);
    order::merge(&parts, &Messages::default(), &mut trace);
    loops.label(&mut trace);
    trace
}

/// Events of a thread's calls that begin and end MPI.
pub(super) fn brackets(row: &Row<'_>, plans: &[NodePlan], calls: &[TimedEvent]) -> Events {
    let mut events = Events::default();
    for call in calls {
        let plan = plans.get(call.node.0 as usize).filter(|plan| plan.bracket);
        let Some(NodePlan { kind, .. }) = plan else { continue };
        for (time, value) in [(call.begin, kind.value), (call.end, 0)] {
            let (types, values) = (&[kind.event], &[value]);
            let (location, time) = (row.location, time.0);
            events.push(EventRecord { location, cpu: 0, time, types, values });
        }
    }
    events
}

//! Growth of the event flow graph over a run.
//!
//! Owns the interval between looks, and the events that count: all but those that begin and end
//! MPI. The measure is [`talea_flow::growth`]'s.

use rayon::prelude::*;
use talea_flow::growth::{Follower, Growth};
use talea_flow::iterations::TimedEvent;
use talea_model::{Nanos, Signature};
use talea_results::growth::{GrowthData, GrowthLook, SteadyData};
use talea_run::live::layout::TimesMode;

use crate::Analysis;
use crate::location::ThreadAt;
use crate::procedures::is_bracket;
use crate::walk::walk;

/// Looks over the whole run.
const LOOKS: u64 = 100;

/// The run was recorded without times of single calls.
#[derive(Debug, thiserror::Error)]
#[error("needs the times of single calls; the run was recorded with `--times statistics`")]
pub struct NoTimes;

/// Growth of the graphs of these threads, or of all where none is given, at a hundred looks.
///
/// # Errors
/// For a run without times of calls.
pub fn growth(analysis: &Analysis<'_>, threads: &[ThreadAt]) -> Result<GrowthData, NoTimes> {
    if analysis.run.recording.times == TimesMode::Statistics {
        return Err(NoTimes);
    }
    let all: Vec<ThreadAt> = if threads.is_empty() {
        (0..analysis.ranks.len()).flat_map(|place| analysis.threads_of(place)).collect()
    } else {
        threads.to_vec()
    };
    let ends = all.iter().map(|&at| analysis.thread(at).end);
    let end = ends.max().unwrap_or_default();
    let interval = Nanos(end.0 / LOOKS + 1);
    let grown = all.par_iter().map(|&at| of_thread(analysis, at, interval));
    let growth = grown.reduce(
        || Growth::new(interval),
        |mut one, other| {
            one.merge(&other);
            one
        },
    );
    let looks = (1..).zip(growth.looks().iter().zip(growth.known()));
    let looks = looks.map(|(number, (look, (nodes, edges)))| GrowthLook {
        until_ns: growth.end_of(number).min(end),
        events: look.events,
        nodes,
        edges,
        change: look.change(),
    });
    let steady = growth.steady().into_iter().map(|one| SteadyData {
        from_ns: one.from,
        known_ns: one.known.min(end),
        until_ns: one.until.min(end),
    });
    Ok(GrowthData {
        threads: all.len(),
        interval_ns: interval,
        looks: looks.collect(),
        steady: steady.collect(),
    })
}

fn of_thread(analysis: &Analysis<'_>, at: ThreadAt, interval: Nanos) -> Growth<Signature> {
    let (recording, thread) = (&analysis.run.recording, analysis.recorded(at));
    let brackets: Vec<bool> = thread
        .log
        .nodes
        .iter()
        .map(|node| {
            let spec = recording.procedures.get(usize::from(node.signature.procedure.0));
            spec.is_some_and(|spec| is_bracket(&spec.name))
        })
        .collect();
    let mut follower = Follower::new(interval);
    let mut take = |event: TimedEvent| {
        if brackets.get(event.node.0 as usize) == Some(&false) {
            follower.event(&event);
        }
    };
    if thread.has_holes() {
        let walked = walk(recording, analysis.process(at.process), thread);
        walked.events.into_iter().for_each(take);
        return follower.into_growth(|node| thread.log.nodes[node.0 as usize].signature);
    }
    let mut events = analysis.process(at.process).events(recording, thread).without_arguments();
    while let Some(event) = events.next_event() {
        let (Some(begin), Some(duration)) = (event.begin, event.duration) else { continue };
        take(TimedEvent { node: event.node, begin, end: begin + duration });
    }
    follower.into_growth(|node| thread.log.nodes[node.0 as usize].signature)
}

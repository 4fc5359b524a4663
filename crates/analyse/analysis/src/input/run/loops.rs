//! Iterations of a run's loops as events of its trace.
//!
//! Owns the types that loops get, a type a loop, and what loops are called: ranks that run the same
//! loop share its type.

use std::collections::HashMap;

use talea_flow::iterations::{LoopTimes, TimedEvent};
use talea_model::trace::{EventRecord, Events, types};
use talea_model::{Gap, GapKind, Nanos, PathId, Trace};
use talea_run::recording::Thread;

use super::names;
use super::places::Row;
use crate::Analysis;
use crate::flow::Flow;
use crate::walk::Walked;

/// Loops of a run by name, in the order in which they are met; ranks that run the same loop share
/// its type.
#[derive(Default)]
pub(super) struct Loops {
    names: Vec<String>,
    /// True if an iteration of a main loop was added.
    has_main: bool,
}

impl Loops {
    fn number(&mut self, name: String) -> Option<u32> {
        let at = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        let number = types::LOOP.start() + at as u32;
        types::LOOP.contains(&number).then_some(number)
    }

    /// Adds the iterations of a thread's loops to its events.
    pub(super) fn add(&mut self, turns: Vec<Turns>, location: u32, events: &mut Events) {
        for one in turns {
            let mut types = Vec::new();
            types.extend(one.main.then_some(types::ITERATION));
            types.extend(self.number(one.name));
            if types.is_empty() {
                continue;
            }
            self.has_main |= one.main && !one.marks.is_empty();
            for (time, value) in one.marks {
                let values = &[value; 2][..types.len()];
                events.push(EventRecord { location, cpu: 0, time: time.0, types: &types, values });
            }
        }
    }

    /// Labels of the types that iterations have.
    pub(super) fn label(self, trace: &mut Trace) {
        if self.has_main {
            names::plain(&mut trace.labels, types::ITERATION, "Iteration of the main loop");
        }
        let left_out = self.names.len().saturating_sub(types::LOOP.count());
        for (number, name) in types::LOOP.zip(self.names) {
            names::plain(&mut trace.labels, number, &label(&name));
        }
        if left_out > 0 {
            trace.gaps.note(Gap {
                kind: GapKind::Unsupported,
                rank: None,
                detail: format!("iterations of {left_out} further loops are left out"),
                count: left_out as u64,
            });
        }
    }
}

/// Iterations of one loop of a thread.
pub(super) struct Turns {
    name: String,
    /// True for the thread's main loop.
    main: bool,
    /// The number of each iteration at its begin, 0 where an execution of the loop ends.
    marks: Vec<(Nanos, i64)>,
}

/// Iterations of the loops of a thread with these calls.
pub(super) fn turns(analysis: &Analysis<'_>, row: &Row<'_>, calls: Vec<TimedEvent>) -> Vec<Turns> {
    let recording = &analysis.run.recording;
    let walked = Walked::with_times(recording, row.thread, calls);
    let flow = Flow::from_thread(recording, row.thread, &walked, &analysis.paths);
    let names = loop_names(analysis, row.thread, &flow);
    let marks = |one: &LoopTimes| {
        let mut marks = Vec::with_capacity(one.iterations.len() + one.executions.len());
        for execution in &one.executions {
            let Some(all) = one.iterations.get(execution.iterations.clone()) else { continue };
            let numbers = execution.iterations.start as i64 + 1..;
            marks.extend(all.iter().zip(numbers).map(|(one, number)| (one.begin, number)));
            marks.extend(all.last().map(|last| (last.begin + last.duration, 0)));
        }
        marks
    };
    let all = flow.timeline.loops.iter().zip(names).enumerate();
    all.map(|(number, (one, name))| Turns {
        name,
        main: flow.timeline.main == Some(number),
        marks: marks(one),
    })
    .collect()
}

/// The label of the event type of a loop's iterations, by [`loop_names`].
pub fn label(name: &str) -> String {
    format!("Loop {name}")
}

/// Names of a thread's loops in the order of its timeline; loops whose calls come together in the
/// same place are numbered.
pub fn loop_names(analysis: &Analysis<'_>, thread: &Thread, flow: &Flow) -> Vec<String> {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut names = Vec::with_capacity(flow.timeline.loops.len());
    for one in &flow.timeline.loops {
        let name = name(analysis, thread, flow, one.index);
        let count = known.entry(name.clone()).or_default();
        *count += 1;
        names.push(if *count > 1 { format!("{name} ({count})") } else { name });
    }
    names
}

/// Where the calls of a loop, those of loops inside it included, come together.
fn name(analysis: &Analysis<'_>, thread: &Thread, flow: &Flow, index: u32) -> String {
    let inside = |mut at: Option<u32>| {
        while let Some(one) = at {
            if one == index {
                return true;
            }
            // A loop comes after those around it.
            at = flow.forest.loops[one as usize].parent.filter(|&parent| parent < one);
        }
        false
    };
    let nodes = flow.forest.innermost.iter().zip(flow.graph.nodes());
    let paths: Vec<PathId> = nodes
        .filter(|(innermost, _)| inside(**innermost))
        .map(|(_, node)| thread.log.nodes[node.id.0 as usize].signature.path)
        .collect();
    let places = &analysis.places;
    let first = || paths.first().map(|&path| places.short(path));
    places.meeting(&paths).or_else(first).unwrap_or_else(|| format!("{index}"))
}

//! Iterations of a run's loops as events of its trace.
//!
//! Owns the types that loops get, a type a loop, and what loops are called: ranks that run the same
//! loop share its type.

use std::collections::HashMap;

use talea_model::trace::types;
use talea_model::{Gap, GapKind, Nanos, PathId, Trace};
use talea_run::recording::Thread;

use super::names;
use crate::Analysis;
use crate::flow::Flow;
use crate::location::ThreadAt;
use crate::walk::walk;

/// Loops of a run by name, in the order in which they are met; ranks that run the same loop share
/// its type.
#[derive(Default)]
pub(super) struct Loops(Vec<String>);

impl Loops {
    fn number(&mut self, name: String) -> Option<u32> {
        let at = self.0.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.0.push(name);
            self.0.len() - 1
        });
        let number = types::LOOP.start() + at as u32;
        types::LOOP.contains(&number).then_some(number)
    }

    pub(super) fn label(self, trace: &mut Trace) {
        if trace.events.types.contains(&types::ITERATION) {
            names::plain(&mut trace.labels, types::ITERATION, "Iteration of the main loop");
        }
        let left_out = self.0.len().saturating_sub(types::LOOP.count());
        for (number, name) in types::LOOP.zip(self.0) {
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

/// Iterations of the loops of a thread: a value at the begin of each, 0 where an execution of the
/// loop ends.
pub(super) fn iterations(
    analysis: &Analysis<'_>,
    at: ThreadAt,
    location: u32,
    loops: &mut Loops,
    trace: &mut Trace,
) {
    let thread = analysis.recorded(at);
    let walked = walk(&analysis.run.recording, analysis.process(at.process), thread);
    let flow = Flow::from_thread(&analysis.run.recording, thread, &walked, &analysis.paths);
    let names = loop_names(analysis, thread, &flow);
    for (number, (one, name)) in flow.timeline.loops.iter().zip(names).enumerate() {
        let mut kinds = Vec::new();
        kinds.extend((flow.timeline.main == Some(number)).then_some(types::ITERATION));
        kinds.extend(loops.number(name));
        if kinds.is_empty() {
            continue;
        }
        let mut event = |time: Nanos, value: i64| {
            trace.push_event((location, 0), time.0, &kinds, &vec![value; kinds.len()]);
        };
        for execution in &one.executions {
            let Some(all) = one.iterations.get(execution.iterations.clone()) else { continue };
            for (iteration, number) in all.iter().zip(execution.iterations.start as i64 + 1..) {
                event(iteration.begin, number);
            }
            if let Some(last) = all.last() {
                event(last.begin + last.duration, 0);
            }
        }
    }
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

//! Iterations of a run's loops as events of its trace.
//!
//! Owns the types that loops get, a type a loop, and what loops are called: ranks that run the same loop share its type.

use talea_model::trace::types;
use talea_model::{Gap, GapKind, Nanos, PathId, Trace};
use talea_run::recording::Thread;

use super::{Places, names};
use crate::analysis::Analysis;
use crate::analysis::rank::Flow;
use crate::analysis::walk::walk;

/// Loops of a run by name, in the order in which they are met; ranks that run the same loop share its type.
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
            names::plain(&mut trace.labels, number, &format!("Loop {name}"));
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

/// Iterations of the loops of a rank's first thread: a value at the begin of each, 0 where an execution of the loop ends.
pub(super) fn iterations(
    analysis: &Analysis<'_>,
    at: usize,
    places: &Places,
    loops: &mut Loops,
    trace: &mut Trace,
) {
    let process = analysis.process(at);
    let (Some(location), Some(thread)) = (places.of(at, 0), process.threads.first()) else {
        return;
    };
    let walked = walk(&analysis.run.recording, process, thread);
    let flow = Flow::new(thread, &walked);
    for (number, one) in flow.timeline.loops.iter().enumerate() {
        let mut kinds = Vec::new();
        kinds.extend((flow.timeline.main == Some(number)).then_some(types::ITERATION));
        kinds.extend(loops.number(name(analysis, thread, &flow, one.index)));
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

/// How the event type of a loop's iterations is called.
pub(crate) fn label(analysis: &Analysis<'_>, thread: &Thread, flow: &Flow, index: u32) -> String {
    format!("Loop {}", name(analysis, thread, flow, index))
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

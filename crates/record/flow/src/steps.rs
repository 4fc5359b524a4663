//! The program's steps in time, by the structure tree.
//!
//! Owns the replacement of the iterations of two loops of a [`Timeline`], the dominant one and the
//! one with the steps, by those of the tree. The loops of a graph are common to calls over the
//! whole run, so that a call site shared by several loops merges them; the tree examines each
//! region of the sequence separately and counts correctly.

use talea_model::{Nanos, NodeId};

use crate::graph::Graph;
use crate::iterations::{Execution, Iteration, LoopTimes, TimedEvent, Timeline, durations};
use crate::loops::Forest;
use crate::places::Places;
use crate::structure::{ThreadTree, Tree, steps};

/// Replaces iterations of `timeline`, which was made of the same graph, forest and events, by those
/// of the tree's steps.
///
/// A tree loop counts as the smallest loop of the graph that has all its nodes; without such a
/// loop, or without loops in the tree, the timeline stays as it is.
pub fn follow_tree(
    timeline: &mut Timeline,
    graph: &Graph,
    forest: &Forest,
    tree: &ThreadTree,
    events: &[TimedEvent],
) {
    let Some(found) = steps(&tree.tree) else { return };
    let dominant = replace(timeline, graph, forest, tree, events, found.dominant);
    let main = if found.steps == found.dominant {
        dominant
    } else {
        replace(timeline, graph, forest, tree, events, found.steps)
    };
    // Where the two lie in one loop of the graph, the steps are kept.
    timeline.dominant = dominant.or(timeline.dominant);
    timeline.main = main.or(timeline.main);
}

/// Replaces the graph's loop by the tree's loop with this number; returns the place.
fn replace(
    timeline: &mut Timeline,
    graph: &Graph,
    forest: &Forest,
    tree: &ThreadTree,
    events: &[TimedEvent],
    number: usize,
) -> Option<usize> {
    let nodes = nodes_of(&tree.tree, number)?;
    let place = smallest_around(timeline, graph, forest, &nodes)?;
    let ranges: Vec<_> = tree
        .iterations(number)
        .into_iter()
        .map(|range| range.start as usize..(range.end as usize).min(events.len()))
        .filter(|range| !range.is_empty())
        .collect();
    let mut iterations: Vec<Iteration> = Vec::new();
    let mut executions: Vec<Execution> = Vec::new();
    for (at, range) in ranges.iter().enumerate() {
        let begin = events[range.start].begin;
        let follows = ranges.get(at + 1).is_some_and(|next| next.start == range.end);
        let end = if follows { events[range.end].begin } else { events[range.end - 1].end };
        let continues = at > 0 && ranges[at - 1].end == range.start;
        iterations.push(Iteration { events: range.clone(), begin, duration: end - begin });
        match executions.last_mut() {
            Some(execution) if continues => {
                execution.events.end = range.end;
                execution.iterations.end = at + 1;
                execution.duration = end - execution.begin;
            }
            _ => executions.push(Execution {
                events: range.clone(),
                iterations: at..at + 1,
                begin,
                duration: end - begin,
            }),
        }
    }
    let total: Nanos = executions.iter().map(|execution| execution.duration).sum();
    let share = if timeline.run.0 == 0 { 0.0 } else { total.0 as f64 / timeline.run.0 as f64 };
    let durations = durations(&iterations);
    let counted_by = events.get(ranges.first()?.start)?.node;
    let times = &mut timeline.loops[place];
    *times =
        LoopTimes { counted_by, executions, iterations, total, share, durations, ..times.clone() };
    Some(place)
}

fn nodes_of(tree: &Tree, number: usize) -> Option<Vec<NodeId>> {
    let (mut at, mut nodes) = (0, None);
    tree.visit(&mut |inner| {
        if at == number {
            nodes = Some(inner.nodes());
        }
        at += 1;
    });
    nodes
}

fn smallest_around(
    timeline: &Timeline,
    graph: &Graph,
    forest: &Forest,
    nodes: &[NodeId],
) -> Option<usize> {
    let places: Places = graph.nodes().iter().map(|node| node.id).collect();
    let inside = |times: &&LoopTimes| {
        nodes.iter().all(|node| {
            places.get(*node).is_some_and(|place| forest.around(place).any(|l| l == times.index))
        })
    };
    // The innermost of those around all nodes is the deepest.
    let around = timeline.loops.iter().enumerate().filter(|(_, times)| inside(times));
    around.max_by_key(|(_, times)| times.depth).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iterations::timeline;
    use crate::testing;

    #[test]
    fn a_shared_call_does_not_melt_the_steps_into_the_set_up() {
        // Call 1 sets up three times, and begins each of 50 steps too.
        let mut sequence = vec![0, 1, 1, 1, 2];
        for _ in 0..50 {
            sequence.extend([1, 3, 3, 3, 4]);
        }
        sequence.push(5);
        let events: Vec<TimedEvent> = (0..)
            .zip(&sequence)
            .map(|(at, &node)| TimedEvent {
                node: NodeId(node),
                begin: Nanos(10 * at),
                end: Nanos(10 * at + 4),
            })
            .collect();
        let graph = Graph::from_timed(events.iter().map(|e| (e.node, e.begin, e.end)));
        let forest = Forest::new(&graph);
        let mut times = timeline(&graph, &forest, &events, &[NodeId(0), NodeId(5)]);
        let log = testing::log(&testing::ids(&sequence));
        let mut tree = ThreadTree::new(&log, &[]);
        tree.add_times(events.iter().map(|_| Nanos(10)));
        follow_tree(&mut times, &graph, &forest, &tree, &events);
        let main = &times.loops[times.main.unwrap()];
        assert_eq!(main.iterations.len(), 50);
        assert_eq!(main.executions.len(), 1);
        assert_eq!(main.durations.median, Nanos(50));
        assert!(main.share > 0.9, "{}", main.share);
    }
}

//! Whether stored sums can be those of a recording.
//!
//! Owns the test of every number by which views look something up. The bytes were intact; but a
//! file from outside may say anything.

use talea_flow::graph::Graph;
use talea_flow::loops::Forest;
use talea_flow::structure::{Guard, Kind, Tree};
use talea_model::NodeId;
use talea_run::Recording;

use super::Summary;
use crate::display::Shown;
use crate::location::ThreadAt;

/// Completes sums that were read from a file; false where they contradict the recording.
pub(super) fn fits(summary: &mut Summary, recording: &Recording) -> bool {
    let processes = &recording.processes;
    summary.calls.complete(recording.procedures.len(), recording.paths.len())
        && has_all_calls(summary, recording)
        && summary.ranks.len() == processes.len()
        && summary.ranks.iter().zip(processes).all(|(study, process)| {
            study.threads.len() == process.threads.len()
                && study.begin <= study.end
                && study.threads.iter().zip(&process.threads).all(|(one, of)| one.is_of(of))
        })
        && summary.waits.as_ref().is_none_or(|waits| waits.of_ranks.len() == processes.len())
        && summary.classes.iter().all(|class| {
            class.members.contains(&class.representative)
                && class.members.iter().all(|&at| nodes(recording, at).is_some())
                && nodes(recording, class.representative)
                    .is_some_and(|nodes| is_shown_of(&class.shown, nodes))
        })
}

/// Number of nodes of a thread, if the recording has it.
fn nodes(recording: &Recording, at: ThreadAt) -> Option<usize> {
    Some(recording.processes.get(at.process)?.threads.get(at.thread)?.log.nodes.len())
}

/// True if each call of the recording has a site.
fn has_all_calls(summary: &Summary, recording: &Recording) -> bool {
    let threads = recording.processes.iter().flat_map(|process| &process.threads);
    threads
        .flat_map(|thread| &thread.log.nodes)
        .all(|node| summary.calls.number(node.signature).is_some())
}

fn is_shown_of(shown: &Shown, nodes: usize) -> bool {
    shown.nodes.len() == nodes
        && shown.nodes.iter().all(|node| node.durations.is_valid())
        && is_graph(&shown.graph, nodes)
        && is_forest(&shown.forest, shown.graph.nodes().len())
        && is_tree(&shown.tree, nodes)
        && is_tree(&shown.gaps, nodes)
}

fn is_graph(graph: &Graph, nodes: usize) -> bool {
    let places = graph.nodes().len() as u32;
    let own = |at: u32| graph.edges_from(at).iter().all(|edge| edge.from == at);
    graph.nodes().iter().all(|node| (node.id.0 as usize) < nodes)
        && graph.edges().iter().all(|edge| edge.from < places && edge.to < places)
        && (0..places).all(own)
}

fn is_forest(forest: &Forest, places: usize) -> bool {
    let place = |at: u32| (at as usize) < places;
    forest.innermost.len() == places
        && forest.innermost.iter().flatten().all(|&at| (at as usize) < forest.loops.len())
        && (0..).zip(&forest.loops).all(|(at, one)| {
            place(one.header)
                && one.parent.is_none_or(|parent| parent < at)
                && one.nodes.iter().copied().all(place)
                && one.reentries.iter().all(|&(from, to)| place(from) && place(to))
        })
}

fn is_tree(tree: &Tree, nodes: usize) -> bool {
    let mut fits = true;
    tree.visit(&mut |one| {
        let node = |id: &NodeId| (id.0 as usize) < nodes;
        fits &= match &one.kind {
            Kind::Leaf { node: id } => node(id),
            Kind::Mixed { nodes, .. } => nodes.iter().all(|(id, _)| node(id)),
            Kind::Root | Kind::Sequence | Kind::Loop { .. } => true,
        };
        // Labels count visits from 1, too.
        fits &= match &one.guard {
            Some(Guard::Each { iterations } | Guard::Whole { iterations, .. }) => iterations
                .parts()
                .iter()
                .all(|part| part.first <= part.last && part.last < u64::MAX),
            Some(Guard::NotLast | Guard::Last) | None => true,
        };
    });
    fits
}

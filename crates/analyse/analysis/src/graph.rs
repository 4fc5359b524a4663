//! The flow graph of one rank in the form that views and the report draw.
//!
//! Owns names of nodes and chains, labels of edges, and the loop of each. Chains follow
//! [`Rule::Chains`].

use std::collections::{BTreeMap, HashMap};

use talea_flow::chains::{Blocks, Rule, compress};
use talea_flow::labels::{Counting, Notation, edge_partition};
use talea_model::{Nanos, NodeId};
use talea_report::data::{Category, ChainCall, GraphData, GraphEdge, GraphLoop, GraphNode};
use talea_run::recording::Thread;

use super::Analysis;
use super::display::Shown;
use super::flow::brackets;
use super::tree::graph_loop;

/// Maximum parts of a readable label.
const PARTS: usize = 6;

/// The graph of a rank; `first` is the first number of its loops.
pub fn graph(analysis: &Analysis<'_>, thread: &Thread, shown: &Shown, first: u32) -> GraphData {
    let blocks = compress(&shown.graph, Rule::Chains, &brackets(&shown.nodes));
    let places: HashMap<NodeId, u32> =
        (0..).zip(shown.graph.nodes()).map(|(place, node)| (node.id, place)).collect();
    let innermost = |node: NodeId| {
        let place = places.get(&node).copied()?;
        shown.forest.innermost.get(place as usize).copied().flatten()
    };
    let call = |node: NodeId| {
        let signature = thread.log.nodes[node.0 as usize].signature;
        ChainCall {
            label: analysis.places.label(signature),
            site: analysis.calls.number(signature),
            time: shown.nodes[node.0 as usize].durations.sum(),
            category: analysis.calls.get(signature).map_or(Category::Setup, |site| site.category),
        }
    };
    let nodes = (0..).zip(&blocks.blocks).map(|(id, block)| {
        let calls: Vec<ChainCall> = block.nodes.iter().map(|&node| call(node)).collect();
        let loop_id = block.nodes.first().and_then(|&node| innermost(node));
        let mut node = GraphNode {
            id,
            label: String::new(),
            procedure: String::new(),
            site: None,
            visits: block.visits,
            time: calls.iter().map(|call| call.time).sum(),
            loop_id: loop_id.map(|index| graph_loop(first, index)),
            category: most_time(&calls),
            calls: Vec::new(),
        };
        match <[ChainCall; 1]>::try_from(calls) {
            Ok([only]) => {
                only.label.split(' ').next().unwrap_or_default().clone_into(&mut node.procedure);
                (node.label, node.site) = (only.label, only.site);
            }
            Err(calls) => {
                node.label = format!("{} calls from {}", calls.len(), calls[0].label);
                node.calls = calls;
            }
        }
        node
    });
    GraphData {
        nodes: nodes.collect(),
        edges: edges(thread, &blocks),
        loops: loops(analysis, thread, shown, first),
    }
}

fn most_time(calls: &[ChainCall]) -> Category {
    let mut times: BTreeMap<Category, Nanos> = BTreeMap::new();
    for call in calls {
        *times.entry(call.category).or_default() += call.time;
    }
    times
        .into_iter()
        .max_by_key(|(_, time)| *time)
        .map_or(Category::Setup, |(category, _)| category)
}

fn edges(thread: &Thread, blocks: &Blocks) -> Vec<GraphEdge> {
    let mut edges = Vec::new();
    for edge in &blocks.edges {
        let from = blocks.blocks[edge.from as usize].nodes.last();
        let to = blocks.blocks[edge.to as usize].nodes.first();
        let label = from.zip(to).map_or_else(String::new, |(&from, &to)| label(thread, from, to));
        edges.push(GraphEdge {
            from: edge.from,
            to: edge.to,
            transitions: edge.transitions,
            gap: edge.gap,
            label,
            // Blocks stand in the order of first execution, so that only a loop leads back.
            back: edge.to <= edge.from,
        });
    }
    edges
}

/// The visits of `from` on which the edge is taken; empty where it is the only one.
fn label(thread: &Thread, from: NodeId, to: NodeId) -> String {
    let node = &thread.log.nodes[from.0 as usize];
    if node.successors.len() < 2 {
        return String::new();
    }
    let Some(choice) = node.successors.iter().position(|&successor| successor == to) else {
        return String::new();
    };
    let choice = choice as u32;
    if let Some(partition) = edge_partition(&node.choices, choice, PARTS) {
        return partition.label(Notation::Short, Counting::FromOne);
    }
    let chosen = node.choices.totals().filter(|total| total.0 == choice);
    let visits = chosen.fold(0_u64, |sum, (_, visits)| sum.saturating_add(visits));
    format!("{visits} of {} visits", node.visits)
}

fn loops(analysis: &Analysis<'_>, thread: &Thread, shown: &Shown, first: u32) -> Vec<GraphLoop> {
    (0..)
        .zip(&shown.forest.loops)
        .map(|(index, found)| {
            let header = shown.graph.nodes()[found.header as usize].id;
            let signature = thread.log.nodes[header.0 as usize].signature;
            let iterations = shown.iterations.get(&index).copied().unwrap_or(0);
            let count = if iterations > 0 { format!("×{iterations} ") } else { String::new() };
            GraphLoop {
                id: graph_loop(first, index),
                parent: found.parent.map(|parent| graph_loop(first, parent)),
                iterations,
                label: format!("{count}{}", analysis.places.short(signature.path)),
            }
        })
        .collect()
}

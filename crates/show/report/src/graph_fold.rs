//! Reduction of a graph of thousands of nodes: nodes without significant time are folded into lists
//! that open.
//!
//! Owns the choice of the nodes that remain. The full graph stays in the JSON; a fold is for
//! pictures.

use std::borrow::Cow;
use std::collections::BTreeMap;

use talea_model::Nanos;

use crate::data::{Category, ChainCall, GraphData, GraphEdge, GraphNode};

/// Maximum number of nodes drawn; more could not be distinguished.
const DRAWN: usize = 200;

/// The graph itself, or one of about 200 nodes: those with most time, and between them lists of the
/// others that follow each other in the same loop.
pub(crate) fn fold(graph: &GraphData) -> Cow<'_, GraphData> {
    if graph.nodes.len() <= DRAWN {
        return Cow::Borrowed(graph);
    }
    let mut by_time: Vec<usize> = (0..graph.nodes.len()).collect();
    by_time.sort_by_key(|&at| (std::cmp::Reverse(graph.nodes[at].time), at));
    let mut keep = vec![false; graph.nodes.len()];
    for &at in &by_time[..DRAWN / 2] {
        keep[at] = true;
    }
    let mut nodes: Vec<GraphNode> = Vec::new();
    let mut place = Vec::with_capacity(graph.nodes.len());
    // The list that takes further nodes of a loop; a kept node of that loop ends it.
    let mut open: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    for (at, node) in graph.nodes.iter().enumerate() {
        if keep[at] {
            open.remove(&node.loop_id);
            place.push(nodes.len());
            nodes.push(GraphNode { id: nodes.len() as u32, ..node.clone() });
            continue;
        }
        let list = *open.entry(node.loop_id).or_insert_with(|| {
            let id = nodes.len() as u32;
            let (procedure, calls) = (String::new(), Vec::new());
            let label = String::new();
            nodes.push(GraphNode {
                id,
                label,
                procedure,
                calls,
                site: None,
                time: Nanos(0),
                visits: 0,
                ..node.clone()
            });
            nodes.len() - 1
        });
        place.push(list);
        take(&mut nodes[list], node);
    }
    for node in nodes.iter_mut().filter(|node| node.label.is_empty()) {
        let mut times: BTreeMap<Category, Nanos> = BTreeMap::new();
        for call in &node.calls {
            *times.entry(call.category).or_default() += call.time;
        }
        let most = times.into_iter().max_by_key(|one| one.1);
        node.category = most.map_or(node.category, |one| one.0);
        node.label = format!("{} short calls", node.calls.len());
    }
    let mut edges: BTreeMap<(usize, usize), GraphEdge> = BTreeMap::new();
    for edge in &graph.edges {
        let ends = (place.get(edge.from as usize), place.get(edge.to as usize));
        let (Some(&from), Some(&to)) = ends else {
            continue;
        };
        if from == to && edge.from != edge.to {
            continue;
        }
        let merged = edges.entry((from, to)).or_insert_with(|| GraphEdge {
            from: from as u32,
            to: to as u32,
            transitions: 0,
            gap: Nanos(0),
            label: String::new(),
            back: edge.back,
        });
        merged.transitions += edge.transitions;
        merged.gap += edge.gap;
    }
    Cow::Owned(GraphData {
        nodes,
        edges: edges.into_values().collect(),
        loops: graph.loops.clone(),
    })
}

/// Adds a node to the list that stands for it.
fn take(list: &mut GraphNode, node: &GraphNode) {
    list.time += node.time;
    list.visits = list.visits.max(node.visits);
    if node.calls.is_empty() {
        let (label, site) = (node.label.clone(), node.site);
        list.calls.push(ChainCall { label, site, time: node.time, category: node.category });
    } else {
        list.calls.extend(node.calls.iter().cloned());
    }
}

//! The event flow graph: transitions between events, and their counts.
//!
//! Owns nodes and edges of one sequence, or of the sum of several, in the order of first execution.
//! It keeps no order of events beyond pairs; [`crate::labels`] and [`crate::structure`] do.
//! Source: Aguilar, Fürlinger, Laure, "MPI Trace Compression Using Event Flow Graphs" (Euro-Par
//! 2014).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use talea_model::{Nanos, NodeId, Signature};

use crate::log::ThreadLog;
use crate::places::Places;

/// A node: one event signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its id in the sequence.
    pub id: NodeId,
    /// The signature of its visits, where the graph was made from a log.
    pub signature: Option<Signature>,
    /// Number of visits.
    pub visits: u64,
    /// Time inside the event, all visits together; zero where no times were given.
    pub time: Nanos,
    /// Number of sequences that begin here.
    pub starts: u64,
    /// Number of sequences that end here.
    pub ends: u64,
}

/// An edge: `to` came next after `from`. These are places in [`Graph::nodes`], not ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// Place of the earlier node.
    pub from: u32,
    /// Place of the later node.
    pub to: u32,
    /// Number of transitions.
    pub transitions: u64,
    /// Time between the end of `from` and the begin of `to`, all transitions together.
    pub gap: Nanos,
}

/// Figures of a graph, as in the tables of the slides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphStats {
    /// Number of nodes; the synthetic start and end are not counted.
    pub nodes: usize,
    /// Number of edges.
    pub edges: usize,
    /// Number of events.
    pub events: u64,
    /// Events per node; 0 for an empty graph.
    pub cardinality: f64,
}

/// An event flow graph; see the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    nodes: Vec<Node>,
    /// Grouped by `from`, inside a group in the order of first use.
    edges: Vec<Edge>,
    /// For each node the begin of its edges in `edges`; one entry more than nodes.
    first_edge: Vec<u32>,
}

impl Graph {
    /// The graph of a sequence without times.
    pub fn from_sequence(sequence: impl IntoIterator<Item = NodeId>) -> Self {
        Self::from_timed(sequence.into_iter().map(|id| (id, Nanos(0), Nanos(0))))
    }

    /// The graph of a sequence of (node, begin, end).
    pub fn from_timed(events: impl IntoIterator<Item = (NodeId, Nanos, Nanos)>) -> Self {
        let mut builder = Builder::default();
        let mut before: Option<(u32, Nanos)> = None;
        for (id, begin, end) in events {
            let place = builder.node(Key::Id(id), id, None);
            let node = &mut builder.nodes[place as usize];
            node.visits += 1;
            node.time += end - begin;
            match before {
                Some((from, ended)) => builder.edge(from, place, 1, begin - ended),
                None => node.starts += 1,
            }
            before = Some((place, end));
        }
        if let Some((place, _)) = before {
            builder.nodes[place as usize].ends += 1;
        }
        builder.finish()
    }

    /// The graph of a thread, from its nodes and streams without walking through its events.
    ///
    /// Invalid successors and choices are left out.
    pub fn from_log(log: &ThreadLog) -> Self {
        let mut builder = Builder::default();
        for (place, node) in log.nodes.iter().enumerate() {
            let id = NodeId(place as u32);
            builder.node(Key::Id(id), id, Some(node.signature));
            builder.nodes[place].visits = node.visits;
            // Only the last event of the thread has no choice of successor.
            builder.nodes[place].ends = u64::from(node.choices.len() < node.visits);
        }
        if let Some(first) = builder.nodes.first_mut() {
            first.starts = u64::from(log.events > 0);
        }
        for (place, node) in log.nodes.iter().enumerate() {
            let mut transitions = vec![0_u64; node.successors.len()];
            for (choice, count) in node.choices.totals() {
                if let Some(sum) = transitions.get_mut(choice as usize) {
                    *sum = sum.saturating_add(count);
                }
            }
            for (&to, &count) in node.successors.iter().zip(&transitions) {
                if count > 0 && (to.0 as usize) < log.nodes.len() {
                    builder.edge(place as u32, to.0, count, Nanos(0));
                }
            }
        }
        builder.finish()
    }

    /// The sum of several graphs.
    ///
    /// Nodes are the same when their signatures are, or, where a graph has none, their ids. Ids of
    /// the sum count the nodes in the order of their appearance.
    pub fn sum<'a>(graphs: impl IntoIterator<Item = &'a Graph>) -> Self {
        let mut builder = Builder::default();
        for graph in graphs {
            let places: Vec<u32> = graph
                .nodes
                .iter()
                .map(|node| {
                    let key = node.signature.map_or(Key::Id(node.id), Key::Signature);
                    let id = NodeId(builder.nodes.len() as u32);
                    let place = builder.node(key, id, node.signature);
                    let sum = &mut builder.nodes[place as usize];
                    sum.visits += node.visits;
                    sum.time += node.time;
                    sum.starts += node.starts;
                    sum.ends += node.ends;
                    place
                })
                .collect();
            for edge in &graph.edges {
                let (from, to) = (places[edge.from as usize], places[edge.to as usize]);
                builder.edge(from, to, edge.transitions, edge.gap);
            }
        }
        builder.finish()
    }

    /// Nodes in the order of first execution.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Edges by their source node, those of one node in the order of first use.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Edges that leave the node at `place`, in the order of first use.
    pub fn edges_from(&self, place: u32) -> &[Edge] {
        let range = self
            .first_edge
            .get(place as usize)
            .zip(self.first_edge.get(place as usize + 1))
            .map_or(0..0, |(&begin, &end)| begin as usize..end as usize);
        self.edges.get(range).unwrap_or(&[])
    }

    /// Nodes, edges, events and cardinality.
    pub fn stats(&self) -> GraphStats {
        let events: u64 = self.nodes.iter().map(|node| node.visits).sum();
        let nodes = self.nodes.len();
        let cardinality = if nodes == 0 { 0.0 } else { events as f64 / nodes as f64 };
        GraphStats { nodes, edges: self.edges.len(), events, cardinality }
    }
}

/// Identity of nodes while a graph is built.
#[derive(Clone, Copy)]
enum Key {
    Id(NodeId),
    Signature(Signature),
}

#[derive(Default)]
struct Builder {
    nodes: Vec<Node>,
    /// Of nodes that their ids identify.
    by_id: Places,
    by_signature: HashMap<Signature, u32>,
    /// Edges that leave each node.
    out: Vec<Vec<Edge>>,
    index: HashMap<(u32, u32), u32>,
    /// For each node the edge used last: loops repeat themselves, so most look-ups end here.
    recent: Vec<u32>,
}

impl Builder {
    fn node(&mut self, key: Key, id: NodeId, signature: Option<Signature>) -> u32 {
        let next = self.nodes.len() as u32;
        let place = match key {
            Key::Id(id) => self.by_id.get_or_insert(id, next),
            Key::Signature(signature) => *self.by_signature.entry(signature).or_insert(next),
        };
        if place == next {
            let time = Nanos(0);
            self.nodes.push(Node { id, signature, visits: 0, time, starts: 0, ends: 0 });
            self.out.push(Vec::new());
            self.recent.push(0);
        }
        place
    }

    fn edge(&mut self, from: u32, to: u32, transitions: u64, gap: Nanos) {
        let out = &mut self.out[from as usize];
        let recent = &mut self.recent[from as usize];
        if out.get(*recent as usize).is_none_or(|edge| edge.to != to) {
            let next = out.len() as u32;
            *recent = *self.index.entry((from, to)).or_insert(next);
            if *recent == next {
                out.push(Edge { from, to, transitions: 0, gap: Nanos(0) });
            }
        }
        let edge = &mut out[*recent as usize];
        edge.transitions += transitions;
        edge.gap += gap;
    }

    fn finish(self) -> Graph {
        let mut first_edge = vec![0];
        let mut edges = Vec::new();
        for out in self.out {
            edges.extend(out);
            first_edge.push(edges.len() as u32);
        }
        Graph { nodes: self.nodes, edges, first_edge }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn graph_of_a_log_equals_the_graph_of_its_walk() {
        let log = testing::log(&testing::minighost());
        let mut walked = Graph::from_sequence(log.walk());
        let direct = Graph::from_log(&log);
        for (node, same) in walked.nodes.iter_mut().zip(&direct.nodes) {
            node.signature = same.signature;
        }
        assert_eq!(walked, direct);
    }

    #[test]
    fn stats_count_as_the_slides_do() {
        let stats = Graph::from_sequence(testing::minighost()).stats();
        assert_eq!((stats.events, stats.nodes, stats.edges), (3160, 87, 90));
        assert!((stats.cardinality - 36.3).abs() < 0.1);
        assert_eq!(Graph::default().stats().cardinality.to_bits(), 0);
    }

    #[test]
    fn times_are_summed_on_nodes_and_edges() {
        let events = [(7, 0, 10), (8, 15, 16), (7, 20, 30)]
            .map(|(id, begin, end)| (NodeId(id), Nanos(begin), Nanos(end)));
        let graph = Graph::from_timed(events);
        assert_eq!(graph.nodes()[0].time, Nanos(20));
        assert_eq!((graph.nodes()[0].starts, graph.nodes()[0].ends), (1, 1));
        assert_eq!(graph.edges_from(0)[0].gap, Nanos(5));
        assert_eq!(graph.edges_from(1)[0].gap, Nanos(4));
        assert!(graph.edges_from(9).is_empty());
    }

    #[test]
    fn sum_joins_nodes_by_signature() {
        let log = testing::log(&testing::ids(&[0, 1, 2, 1, 2, 3]));
        let mut other = log.clone();
        other.nodes[2].signature.path.0 = 77;
        let sum = Graph::sum([&Graph::from_log(&log), &Graph::from_log(&other)]);
        assert_eq!(sum.nodes().len(), 5);
        assert_eq!(sum.stats().events, 12);
        assert_eq!(sum.nodes()[1].visits, 4);
        assert_eq!(sum.edges_from(1).len(), 2);
    }
}

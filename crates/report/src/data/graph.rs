//! The flow graph of one class as it is to be drawn: chains merged, loops named, labels written.
//!
//! Owns the shape only; where things stand on the paper is the layout's business.

use serde::Serialize;
use talea_model::Nanos;

use super::{Category, LoopId, SiteId};

/// Nodes, edges and loops of one representative rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GraphData {
    /// In the order of first execution; `nodes[i].id == i`.
    pub nodes: Vec<GraphNode>,
    /// Any order; at most one for a pair of nodes.
    pub edges: Vec<GraphEdge>,
    /// Outer loops before the loops inside them.
    pub loops: Vec<GraphLoop>,
}

/// One event signature, or a chain of them that always run one after the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GraphNode {
    /// Index in the graph's list.
    pub id: u32,
    /// Short text: the procedure and its place, or for a chain how many calls from where on.
    pub label: String,
    /// `MPI_Waitall`; empty for a chain.
    pub procedure: String,
    /// Where it is called; absent for a chain.
    pub site: Option<SiteId>,
    /// How often it ran.
    pub visits: u64,
    /// Time inside the call (for a chain: inside all its calls, without the gaps between them).
    pub time: Nanos,
    /// Innermost loop that it belongs to.
    pub loop_id: Option<LoopId>,
    /// Its colour; for a chain that of the calls with most time.
    pub category: Category,
    /// Calls of a chain in order; empty for a single call.
    pub calls: Vec<ChainCall>,
}

/// One call inside a chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainCall {
    /// Short text: the procedure and its place.
    pub label: String,
    /// Where it is called.
    pub site: Option<SiteId>,
    /// Time inside it.
    pub time: Nanos,
    /// Its colour.
    pub category: Category,
}

/// A transition that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GraphEdge {
    /// Node that was left.
    pub from: u32,
    /// Node that was reached.
    pub to: u32,
    /// How often.
    pub transitions: u64,
    /// Time between the two calls, summed: computation.
    pub gap: Nanos,
    /// On which visits of `from` it is taken, `1,9,2,1`; empty for all.
    pub label: String,
    /// True when it closes a loop.
    pub back: bool,
}

/// A loop of the graph; its nodes are those that name it, and those of the loops inside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GraphLoop {
    /// The same number as in the tree.
    pub id: LoopId,
    /// The loop around it.
    pub parent: Option<LoopId>,
    /// Iterations over the whole run.
    pub iterations: u64,
    /// What stands at the corner, `×400`.
    pub label: String,
}

//! The flow graph of one class for drawing: chains merged, loops named, labels written.
//!
//! Owns the shape only; the layout decides the places on the paper.

use schemars::JsonSchema;
use serde::Serialize;
use talea_model::Nanos;

use super::{Category, LoopId, SiteId};

/// Nodes, edges and loops of one representative rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct GraphData {
    /// Nodes in the order of first execution; `nodes[i].id == i`.
    pub nodes: Vec<GraphNode>,
    /// Edges in any order; at most one for a pair of nodes.
    pub edges: Vec<GraphEdge>,
    /// Outer loops before the loops inside them.
    pub loops: Vec<GraphLoop>,
}

/// One event signature, or a chain of several that always follow each other.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GraphNode {
    /// Index in the graph's list.
    pub id: u32,
    /// Short text: the procedure and its place, or for a chain the number of calls and the first
    /// place.
    pub label: String,
    /// `MPI_Waitall`; empty for a chain.
    pub procedure: String,
    /// Its call site; absent for a chain.
    pub site: Option<SiteId>,
    /// Number of visits.
    pub visits: u64,
    /// Time inside the call (for a chain: inside all its calls, without the gaps between them).
    pub time: Nanos,
    /// Its innermost loop.
    pub loop_id: Option<LoopId>,
    /// Its colour; for a chain that of the calls with most time.
    pub category: Category,
    /// Calls of a chain in order; empty for a single call.
    pub calls: Vec<ChainCall>,
}

/// One call inside a chain.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChainCall {
    /// Short text: the procedure and its place.
    pub label: String,
    /// Its call site.
    pub site: Option<SiteId>,
    /// Time inside it.
    pub time: Nanos,
    /// Its colour.
    pub category: Category,
}

/// A transition that happened.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GraphEdge {
    /// Node that was left.
    pub from: u32,
    /// Node that was reached.
    pub to: u32,
    /// Number of transitions.
    pub transitions: u64,
    /// Time between the two calls, summed: computation.
    pub gap: Nanos,
    /// The visits of `from` on which it is taken, `1,9,2,1`; empty for all.
    pub label: String,
    /// True when it closes a loop.
    pub back: bool,
}

/// A loop of the graph; its nodes are those that refer to it, and those of the loops inside it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GraphLoop {
    /// The same number as in the tree.
    pub id: LoopId,
    /// The loop that contains it.
    pub parent: Option<LoopId>,
    /// Iterations over the whole run.
    pub iterations: u64,
    /// Text at the corner, `×400`.
    pub label: String,
}

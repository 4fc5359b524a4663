//! The structure tree of one class for display: loops, sequences and calls with their figures.
//!
//! Owns the shape only; labels are the analysis's.

use schemars::JsonSchema;
use serde::Serialize;
use talea_model::Nanos;

use super::{LoopId, SiteId};

/// Kind of a node of the structure tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TreeKind {
    /// The whole run of one rank.
    Root,
    /// Children one after the other; with a guard only in some iterations.
    Sequence,
    /// Children repeatedly.
    Loop,
    /// One call.
    Call,
}

/// One node of a structure tree. Figures are totals of the representative rank over the run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TreeNode {
    /// Unique in the report.
    pub id: u32,
    /// Its kind.
    pub kind: TreeKind,
    /// Set on loops, and only there.
    pub loop_id: Option<LoopId>,
    /// Short text: a procedure, the place of a loop (`verlet.cpp:291`), a name for a sequence.
    pub label: String,
    /// Iterations each time a loop is entered; absent where that varies (then `range`) and on other
    /// kinds.
    pub count: Option<u64>,
    /// Iterations as text where they vary, `4-7`; empty otherwise.
    pub range: String,
    /// Iterations of all its executions together; set on loops, and only there.
    pub iterations: Option<u64>,
    /// The iterations on which it runs, in the notation of the graph (`0,2,2,1|4,5,0,2`); empty for
    /// all.
    pub guard: String,
    /// Time inside it, children and computation between calls included.
    pub time: Nanos,
    /// `time` as a part of the root's, 0 to 1.
    pub share: f64,
    /// Part of `time` in MPI, 0 to 1.
    pub mpi_share: f64,
    /// Number of calls inside it.
    pub events: u64,
    /// Set on calls.
    pub site: Option<SiteId>,
    /// Children in the order of execution.
    pub children: Vec<TreeNode>,
}

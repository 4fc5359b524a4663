//! The structure tree: a program's loops, and their contents, as in its source.
//!
//! Owns the tree ([`Tree`]), its construction from a sequence ([`build`]), the inverse
//! ([`Tree::expand`]) and its text form ([`print()`]). Everything but [`Kind::Mixed`] is exact:
//! expanding the tree gives the sequence again. Construction proceeds from the whole sequence
//! inwards: the strongly connected components of a region's *own* graph are its loops, so that a
//! call that other parts of the program share does not join them; a loop's executions are cut into
//! iterations; only iterations that differ go on to the next level. Guards are in the notation of
//! slides 20 and 21.

mod arrange;
mod build;
mod code;
mod columns;
mod evidence;
mod expand;
mod flat;
mod guards;
mod nested;
mod periods;
mod print;
mod recount;
mod region;
mod split;
mod steps;
mod thread;
mod turns;

use serde::{Deserialize, Serialize};
use talea_model::{Nanos, NodeId};

pub use build::{Options, build};
pub use code::{CodeFrame, CodeLoop};
pub use periods::Traits;
pub use print::{PrintOptions, print, print_with};
pub use steps::{Steps, steps};
pub use thread::ThreadTree;

use crate::labels::Partition;
use crate::runs::Runs;

/// One node of the structure tree, with the nodes below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// Its kind.
    pub kind: Kind,
    /// The iterations of the innermost enclosing loop in which it runs; absent: in all iterations
    /// of its parent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub guard: Option<Guard>,
    /// Number of executions.
    pub executions: u64,
    /// Number of events of all its executions.
    pub events: u64,
    /// Time inside its events, if [`Tree::add_times`] was called.
    pub time: Nanos,
    /// Children in the order of execution.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub children: Vec<Tree>,
}

/// The kinds of tree nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Kind {
    /// The whole sequence.
    Root,
    /// Its children one after the other.
    Sequence,
    /// Its children one after the other, repeatedly.
    Loop {
        /// Iterations of each execution, in the order of the executions.
        trips: Runs<u64>,
    },
    /// One event.
    Leaf {
        /// The event.
        node: NodeId,
    },
    /// Events without their order, because it is too irregular to be bounded.
    Mixed {
        /// The events, in the order of first execution, with their total counts.
        nodes: Vec<(NodeId, u64)>,
        /// Events of each execution, in the order of the executions.
        lengths: Runs<u64>,
    },
}

/// The iterations on which a part runs; iterations count from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "in", rename_all = "snake_case")]
pub enum Guard {
    /// On these iterations of every execution of the loop, as far as the execution goes.
    Each {
        /// Iterations, counted in each execution from 0.
        iterations: Partition,
    },
    /// On these iterations, counted through all executions of the loop together.
    Whole {
        /// Iterations, counted from the first of the first execution.
        iterations: Partition,
        /// Number of iterations of all executions.
        of: u64,
    },
    /// On all iterations of an execution except its last one.
    NotLast,
    /// On the last iteration of every execution.
    Last,
}

impl Tree {
    /// True where all events below are in their exact order.
    pub fn is_exact(&self) -> bool {
        !matches!(self.kind, Kind::Mixed { .. }) && self.children.iter().all(Tree::is_exact)
    }

    /// The nodes of the leaves below, in their order in the tree.
    pub fn nodes(&self) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        self.visit(&mut |tree| match &tree.kind {
            Kind::Leaf { node } => nodes.push(*node),
            Kind::Mixed { nodes: mixed, .. } => nodes.extend(mixed.iter().map(|(node, _)| *node)),
            _ => {}
        });
        nodes
    }

    /// Calls `f` for this node and all below it, parents first.
    pub fn visit<'a>(&'a self, f: &mut impl FnMut(&'a Tree)) {
        f(self);
        for child in &self.children {
            child.visit(f);
        }
    }

    fn new(kind: Kind, executions: u64, children: Vec<Tree>) -> Self {
        let events = match &kind {
            Kind::Leaf { .. } => executions,
            Kind::Mixed { nodes, .. } => nodes.iter().map(|(_, count)| count).sum(),
            _ => children.iter().map(|child| child.events).sum(),
        };
        Self { kind, guard: None, executions, events, time: Nanos(0), children }
    }

    fn is_loop(&self) -> bool {
        matches!(self.kind, Kind::Loop { .. })
    }

    fn is_leaf(&self) -> bool {
        matches!(self.kind, Kind::Leaf { .. })
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_code;

//! Display data of one thread: its structure with times, its graph and its loops.
//!
//! Owns the choice of times in a tree: inside calls, and between them. Nothing here grows with the
//! events of the thread.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use talea_flow::graph::Graph;
use talea_flow::iterations::LoopTimes;
use talea_flow::loops::Forest;
use talea_flow::structure::{Steps, ThreadTree, Tree};
use talea_model::{Nanos, NodeId};
use talea_run::Recording;
use talea_run::recording::{Process, Thread};

use super::flow::{Flow, thread_tree};
use super::traits::KnownPath;
use super::walk::{NodeFigures, Walked, walk};

/// Display data of one thread.
#[derive(Debug, Serialize, Deserialize)]
pub struct Shown {
    /// Structure with the time inside calls.
    pub tree: Tree,
    /// The same tree with the time between calls, each gap at the call after it.
    pub gaps: Tree,
    /// Successors of each event.
    pub graph: Graph,
    /// Loops of the graph.
    pub forest: Forest,
    /// Number of iterations of each loop of the graph, by its place; loops without times are
    /// absent.
    pub iterations: BTreeMap<u32, u64>,
    /// The main loop in the tree.
    pub steps: Option<Steps>,
    /// Figures of the thread's nodes.
    pub nodes: Vec<NodeFigures>,
}

impl Shown {
    /// Display data of a thread, whose events are read for it.
    pub fn from_thread(
        recording: &Recording,
        process: &Process,
        thread: &Thread,
        paths: &[KnownPath],
    ) -> Self {
        let tree = thread_tree(recording, thread, paths);
        let walked = walk(recording, process, thread);
        let flow = Flow::new(thread, &walked, tree.clone());
        Self::new(tree, &walked, flow)
    }

    /// Display data of a thread from its tree without times, its walk and its flow.
    pub fn new(tree: ThreadTree, walked: &Walked, flow: Flow) -> Self {
        let (mut tree, mut gaps) = (tree.clone(), tree);
        let bracket = |id: NodeId| walked.nodes[id.0 as usize].bracket;
        tree.add_times(
            walked
                .events
                .iter()
                .map(|event| if bracket(event.node) { Nanos(0) } else { event.end - event.begin }),
        );
        // Computation begins when MPI is initialised: none is visible before.
        let mut before: Option<Nanos> = None;
        gaps.add_times(walked.events.iter().map(|event| {
            let gap = before.map_or(Nanos(0), |end| event.begin - end);
            before = Some(event.end);
            gap
        }));
        let Flow { graph, forest, timeline, steps } = flow;
        let count = |one: &LoopTimes| (one.index, one.iterations.len() as u64);
        let iterations = timeline.loops.iter().map(count).collect();
        let nodes = walked.nodes.clone();
        Self { tree: tree.tree, gaps: gaps.tree, graph, forest, iterations, steps, nodes }
    }
}

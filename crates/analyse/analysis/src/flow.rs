//! The graph of a thread, its loops, and these in time.
//!
//! Owns the steps from a walk through a thread to its main loop. A [`Flow`] holds the iterations of
//! all loops, which grow with the events: it is made for one thread at a time and not kept.

use talea_flow::graph::Graph;
use talea_flow::iterations::{Timeline, timeline};
use talea_flow::loops::Forest;
use talea_flow::steps::follow_tree;
use talea_flow::structure::{Steps, ThreadTree, steps};
use talea_model::NodeId;
use talea_run::Recording;
use talea_run::recording::Thread;

use super::traits::{KnownPath, traits};
use super::walk::{NodeFigures, Walked};

/// The graph of a thread with times where there are any, its loops, and these in time.
#[derive(Debug)]
pub struct Flow {
    /// Successors of each event.
    pub graph: Graph,
    /// Its loops.
    pub forest: Forest,
    /// Its loops in time; empty without times.
    pub timeline: Timeline,
    /// Its main loop in the structure tree.
    pub steps: Option<Steps>,
}

impl Flow {
    /// The flow of a thread and its walk.
    pub fn from_thread(
        recording: &Recording,
        thread: &Thread,
        walked: &Walked,
        paths: &[KnownPath],
    ) -> Self {
        Self::new(thread, walked, thread_tree(recording, thread, paths))
    }

    /// The flow of a thread, its walk and its tree without times.
    pub fn new(thread: &Thread, walked: &Walked, mut tree: ThreadTree) -> Self {
        let graph = if walked.events.is_empty() {
            Graph::from_log(&thread.log)
        } else {
            Graph::from_timed(
                walked.events.iter().map(|event| (event.node, event.begin, event.end)),
            )
        };
        let forest = Forest::new(&graph);
        let mut timeline = timeline(&graph, &forest, &walked.events, &brackets(&walked.nodes));
        if !walked.events.is_empty() {
            // From begin to begin: the computation after a call belongs to its step. Calls that
            // create communicators and the like do not define steps.
            let begins = walked.events.iter().map(|event| event.begin).skip(1);
            let next = begins.chain(walked.events.last().map(|last| last.end));
            tree.add_times(walked.events.iter().zip(next).map(|(event, next)| {
                let setup = walked.nodes[event.node.0 as usize].setup;
                next - if setup { event.end } else { event.begin }
            }));
            follow_tree(&mut timeline, &graph, &forest, &tree, &walked.events);
        }
        Self { graph, forest, timeline, steps: steps(&tree.tree) }
    }
}

/// The structure tree of a thread, without times.
pub(super) fn thread_tree(
    recording: &Recording,
    thread: &Thread,
    paths: &[KnownPath],
) -> ThreadTree {
    ThreadTree::new(&thread.log, &traits(recording, thread, paths))
}

/// Those of a thread's nodes that begin or end MPI.
pub fn brackets(nodes: &[NodeFigures]) -> Vec<NodeId> {
    let nodes = nodes.iter().zip(0..).filter(|(node, _)| node.bracket);
    nodes.map(|(_, number)| NodeId(number)).collect()
}

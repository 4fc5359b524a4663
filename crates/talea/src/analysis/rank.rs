//! One rank's figures: where its time goes, and its loops in time.
//!
//! Owns what is kept of a rank after its walk, which does not grow with its events but for the iterations of its main
//! loop. Shares are of the run without `MPI_Init` and `MPI_Finalize`, as on the slides that [`talea_flow`] follows.

use std::collections::BTreeMap;

use talea_flow::classes::Fingerprint;
use talea_flow::graph::{Graph, GraphStats};
use talea_flow::iterations::{Durations, Iteration, LoopTimes, Timeline, timeline};
use talea_flow::loops::Forest;
use talea_flow::steps::follow_tree;
use talea_flow::structure::{Options, build};
use talea_model::{Bytes, Nanos, NodeId, Rank, Signature};
use talea_report::data::Category;
use talea_run::Recording;
use talea_run::recording::{Process, Thread};

use super::walk::{Walked, walk};
use crate::procedures::{category, is_bracket};

/// What is known of a rank.
#[derive(Debug)]
pub(crate) struct RankStudy {
    /// The number by which it is shown.
    pub(crate) rank: Rank,
    /// Its first recorded moment.
    pub(crate) begin: Nanos,
    /// Its last one.
    pub(crate) end: Nanos,
    /// Time of its first thread between beginning and ending MPI.
    pub(crate) run: Nanos,
    /// Of that, time inside MPI.
    pub(crate) mpi: Nanos,
    /// `mpi` by what it is spent on.
    pub(crate) by_category: BTreeMap<Category, Nanos>,
    /// Bytes sent.
    pub(crate) bytes: Bytes,
    /// Events of all threads.
    pub(crate) events: u64,
    /// Figures of its first thread's graph.
    pub(crate) graph: GraphStats,
    /// Equal for ranks that make the same calls in the same order.
    pub(crate) exact: Option<Fingerprint>,
    /// Loops of its first thread, outer ones before those inside them.
    pub(crate) loops: Vec<LoopFigures>,
    /// The outermost loop with most time, as a place in `loops`.
    dominant: Option<usize>,
    /// The loop whose iterations are the program's steps, as a place in `loops`.
    main: Option<usize>,
    /// Iterations of the main loop.
    pub(crate) iterations: Vec<Iteration>,
}

/// A loop of one rank.
#[derive(Clone, Debug)]
pub(crate) struct LoopFigures {
    /// Its place in the forest.
    pub(crate) index: u32,
    /// The call by which it is entered first.
    pub(crate) header: Signature,
    /// Part of the run's time.
    pub(crate) share: f64,
    /// Durations of the iterations.
    pub(crate) durations: Durations,
}

impl RankStudy {
    /// The outermost loop with most time.
    pub(crate) fn dominant(&self) -> Option<&LoopFigures> {
        self.loops.get(self.dominant?)
    }

    /// The loop whose iterations are the program's steps.
    pub(crate) fn main(&self) -> Option<&LoopFigures> {
        self.loops.get(self.main?)
    }

    /// Part of the run's time inside MPI.
    pub(crate) fn mpi_share(&self) -> f64 {
        part(self.mpi, self.run)
    }
}

/// `time` by `of`; 0 of nothing.
pub(crate) fn part(time: Nanos, of: Nanos) -> f64 {
    if of.0 == 0 { 0.0 } else { time.0 as f64 / of.0 as f64 }
}

/// The graph of a thread with times where there are any, its loops, and these in time.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Which event followed which.
    pub(crate) graph: Graph,
    /// Its loops.
    pub(crate) forest: Forest,
    /// Its loops in time; empty without times.
    pub(crate) timeline: Timeline,
}

impl Flow {
    /// Of a thread and its walk.
    pub(crate) fn new(thread: &Thread, walked: &Walked) -> Self {
        let graph = if walked.events.is_empty() {
            Graph::from_log(&thread.log)
        } else {
            Graph::from_timed(
                walked.events.iter().map(|event| (event.node, event.begin, event.end)),
            )
        };
        let forest = Forest::new(&graph);
        let mut timeline = timeline(&graph, &forest, &walked.events, &brackets(walked));
        if !walked.events.is_empty() {
            let mut tree = build(thread.log.walk(), &Options::default());
            // From begin to begin: the computation after a call belongs to its step.
            let begins = walked.events.iter().map(|event| event.begin);
            let next = begins.clone().skip(1).chain(walked.events.last().map(|last| last.end));
            tree.add_times(begins.zip(next).map(|(begin, next)| next - begin));
            follow_tree(&mut timeline, &graph, &forest, &tree, &walked.events);
        }
        Self { graph, forest, timeline }
    }
}

/// Nodes that begin or end MPI.
pub(crate) fn brackets(walked: &Walked) -> Vec<NodeId> {
    let nodes = walked.nodes.iter().zip(0..).filter(|(node, _)| node.bracket);
    nodes.map(|(_, number)| NodeId(number)).collect()
}

/// Studies one process; also gives the walks through its threads, without their events.
pub(super) fn study(recording: &Recording, process: &Process) -> (RankStudy, Vec<Walked>) {
    let mut walks: Vec<Walked> =
        process.threads.iter().map(|thread| walk(recording, process, thread)).collect();
    let mut study = RankStudy {
        rank: process.location.rank,
        begin: walks
            .iter()
            .filter_map(|walk| Some(walk.events.first()?.begin))
            .min()
            .unwrap_or_default(),
        end: walks
            .iter()
            .filter_map(|walk| Some(walk.events.last()?.end))
            .max()
            .unwrap_or_default(),
        run: Nanos(0),
        mpi: Nanos(0),
        by_category: BTreeMap::new(),
        bytes: walks.iter().map(|walk| walk.sent).sum(),
        events: process.threads.iter().map(|thread| thread.log.events).sum(),
        graph: GraphStats { nodes: 0, edges: 0, events: 0, cardinality: 0.0 },
        exact: None,
        loops: Vec::new(),
        dominant: None,
        main: None,
        iterations: Vec::new(),
    };
    if let Some(open) = process.open {
        study.end = study.end.max(open.begin);
    }
    if let (Some(thread), Some(walked)) = (process.threads.first(), walks.first()) {
        let flow = Flow::new(thread, walked);
        study.graph = flow.graph.stats();
        study.exact = Some(Fingerprint::exact(&thread.log));
        study.add_times(recording, thread, walked, &flow);
    }
    for walked in &mut walks {
        walked.events = Vec::new();
    }
    (study, walks)
}

impl RankStudy {
    fn add_times(&mut self, recording: &Recording, thread: &Thread, walked: &Walked, flow: &Flow) {
        for (node, figures) in
            thread.log.nodes.iter().zip(&walked.nodes).filter(|(_, f)| !f.bracket)
        {
            let procedure = recording.procedures.get(usize::from(node.signature.procedure.0));
            let name = procedure.map_or("?", |spec| spec.name.as_str());
            *self.by_category.entry(category(name)).or_default() += figures.durations.sum();
            self.mpi += figures.durations.sum();
        }
        if walked.events.is_empty() {
            // Without single times the gaps' sums tell how long the run was.
            let before = |name: &str| is_bracket(name) && name != "MPI_Finalize";
            let name = |at: usize| {
                let procedure = usize::from(thread.log.nodes[at].signature.procedure.0);
                recording.procedures.get(procedure).map_or("?", |spec| spec.name.as_str())
            };
            let gaps = walked.gaps.iter().enumerate();
            self.run =
                self.mpi + gaps.filter(|(at, _)| !before(name(*at))).map(|(_, gap)| *gap).sum();
            let inside = walked.nodes.iter().map(|node| node.durations.sum()).sum();
            self.end = self.begin + walked.gaps.iter().copied().sum::<Nanos>() + inside;
            return;
        }
        self.run = flow.timeline.run;
        let signature = |id: NodeId| thread.log.nodes[id.0 as usize].signature;
        let figures = |found: &LoopTimes| LoopFigures {
            index: found.index,
            header: signature(
                flow.graph.nodes()[flow.forest.loops[found.index as usize].header as usize].id,
            ),
            share: found.share,
            durations: found.durations.clone(),
        };
        self.loops = flow.timeline.loops.iter().map(figures).collect();
        self.dominant = flow.timeline.dominant;
        self.main = flow.timeline.main;
        if let Some(main) = self.main {
            self.iterations.clone_from(&flow.timeline.loops[main].iterations);
        }
    }
}

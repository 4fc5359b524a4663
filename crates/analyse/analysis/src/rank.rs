//! Figures of one rank and of each of its threads: the distribution of its time, and the loops in
//! time.
//!
//! Owns the data of a rank that are kept after its walk, which do not grow with its events except
//! for the iterations of main loops. Shares are of the run without `MPI_Init` and `MPI_Finalize`,
//! as on the slides that [`talea_flow`] follows. The thread that began MPI is present from then
//! until it ends MPI; the begin and end of another thread are unknown, so that it counts from its
//! first call to the end of its last one.

use std::collections::BTreeMap;

use talea_flow::classes::Fingerprint;
use talea_flow::graph::{Graph, GraphStats};
use talea_flow::iterations::{Durations, Iteration, LoopTimes, Timeline, timeline};
use talea_flow::loops::Forest;
use talea_flow::steps::follow_tree;
use talea_flow::structure::{Steps, ThreadTree, steps};
use talea_model::{Bytes, Nanos, NodeId, Rank, Signature};
use talea_report::data::Category;
use talea_run::Recording;
use talea_run::recording::{Process, Thread};

use super::traits::{KnownPath, traits};
use super::walk::{Walked, walk};
use crate::procedures::{category, is_bracket};

/// Figures of a rank.
#[derive(Debug)]
pub struct RankStudy {
    /// Its displayed number.
    pub rank: Rank,
    /// Its first recorded moment.
    pub begin: Nanos,
    /// Its last one.
    pub end: Nanos,
    /// Time of its threads between beginning and ending MPI, all threads together.
    pub run: Nanos,
    /// Of that, time inside MPI.
    pub mpi: Nanos,
    /// `mpi` by category.
    pub by_category: BTreeMap<Category, Nanos>,
    /// Bytes sent.
    pub bytes: Bytes,
    /// Events of all threads.
    pub events: u64,
    /// Its threads that called MPI, in the order of the recording.
    pub threads: Vec<ThreadStudy>,
}

/// The analysis of a thread.
#[derive(Debug)]
pub struct ThreadStudy {
    /// Its number in the process.
    pub number: u32,
    /// Begin of its first call; 0 where single times were not kept.
    pub begin: Nanos,
    /// End of its last call.
    pub end: Nanos,
    /// Its time between beginning and ending MPI, or from its first to its last call.
    pub run: Nanos,
    /// Of that, time inside MPI.
    pub mpi: Nanos,
    /// `mpi` by category.
    by_category: BTreeMap<Category, Nanos>,
    /// Events.
    pub events: u64,
    /// Figures of its graph.
    pub graph: GraphStats,
    /// Equal for threads that make the same calls in the same order.
    pub exact: Fingerprint,
    /// Its loops, outer ones before those inside them.
    pub loops: Vec<LoopFigures>,
    /// The outermost loop with most time, as a place in `loops`.
    dominant: Option<usize>,
    /// The loop whose iterations are the program's steps, as a place in `loops`.
    main: Option<usize>,
    /// Iterations of the main loop.
    pub iterations: Vec<Iteration>,
}

/// A loop of one thread.
#[derive(Clone, Debug)]
pub struct LoopFigures {
    /// Its place in the forest.
    pub index: u32,
    /// The call by which it is first entered.
    pub header: Signature,
    /// Part of the run's time.
    pub share: f64,
    /// Durations of the iterations.
    pub durations: Durations,
}

impl RankStudy {
    /// Part of the run's time inside MPI.
    pub fn mpi_share(&self) -> f64 {
        part(self.mpi, self.run)
    }

    /// Its active threads with their places: the first one, and others whose calls are events.
    pub fn active(&self) -> impl Iterator<Item = (usize, &ThreadStudy)> {
        self.threads.iter().enumerate().filter(|(place, one)| *place == 0 || one.events > 0)
    }

    /// True if there are several of these.
    pub fn has_threads(&self) -> bool {
        self.active().nth(1).is_some()
    }

    /// The thread that represents the rank: the one with most time in a loop, of equals the first.
    pub fn lead(&self) -> Option<&ThreadStudy> {
        self.threads.iter().rev().max_by_key(|thread| thread.loop_time())
    }
}

impl ThreadStudy {
    /// The outermost loop with most time.
    pub fn dominant(&self) -> Option<&LoopFigures> {
        self.loops.get(self.dominant?)
    }

    /// The loop whose iterations are the program's steps.
    pub fn main(&self) -> Option<&LoopFigures> {
        self.loops.get(self.main?)
    }

    /// Part of its time inside MPI.
    pub fn mpi_share(&self) -> f64 {
        part(self.mpi, self.run)
    }

    /// Time in its outermost loop with most time.
    pub fn loop_time(&self) -> Nanos {
        let share = self.dominant().map_or(0.0, |dominant| dominant.share);
        Nanos((share * self.run.0 as f64) as u64)
    }
}

/// `time` divided by `of`; 0 if `of` is 0.
pub fn part(time: Nanos, of: Nanos) -> f64 {
    if of.0 == 0 { 0.0 } else { time.0 as f64 / of.0 as f64 }
}

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
        let traits = traits(recording, thread, paths);
        Self::new(thread, walked, ThreadTree::new(&thread.log, &traits))
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
        let mut timeline = timeline(&graph, &forest, &walked.events, &brackets(walked));
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

/// Nodes that begin or end MPI.
pub fn brackets(walked: &Walked) -> Vec<NodeId> {
    let nodes = walked.nodes.iter().zip(0..).filter(|(node, _)| node.bracket);
    nodes.map(|(_, number)| NodeId(number)).collect()
}

/// Studies one process; also returns the walks through its threads, without their events.
pub(super) fn study(
    recording: &Recording,
    process: &Process,
    paths: &[KnownPath],
) -> (RankStudy, Vec<Walked>) {
    let mut walks: Vec<Walked> =
        process.threads.iter().map(|thread| walk(recording, process, thread)).collect();
    let each = process.threads.iter().zip(&walks);
    let threads: Vec<ThreadStudy> =
        each.map(|(thread, walked)| ThreadStudy::new(recording, thread, walked, paths)).collect();
    let mut study = RankStudy {
        rank: process.location.rank,
        begin: walks
            .iter()
            .filter_map(|walk| Some(walk.events.first()?.begin))
            .min()
            .unwrap_or_default(),
        end: threads.iter().map(|one| one.end).max().unwrap_or_default(),
        run: threads.iter().map(|one| one.run).sum(),
        mpi: threads.iter().map(|one| one.mpi).sum(),
        by_category: BTreeMap::new(),
        bytes: walks.iter().map(|walk| walk.sent).sum(),
        events: threads.iter().map(|one| one.events).sum(),
        threads,
    };
    for (category, time) in study.threads.iter().flat_map(|one| &one.by_category) {
        *study.by_category.entry(*category).or_default() += *time;
    }
    if let Some(open) = process.open {
        study.end = study.end.max(open.begin);
    }
    for walked in &mut walks {
        walked.events = Vec::new();
    }
    (study, walks)
}

impl ThreadStudy {
    fn new(recording: &Recording, thread: &Thread, walked: &Walked, paths: &[KnownPath]) -> Self {
        let flow = Flow::from_thread(recording, thread, walked, paths);
        let mut study = Self {
            number: thread.number,
            begin: walked.events.first().map_or(Nanos(0), |event| event.begin),
            end: walked.events.last().map_or(Nanos(0), |event| event.end),
            run: Nanos(0),
            mpi: Nanos(0),
            by_category: BTreeMap::new(),
            events: thread.log.events,
            graph: flow.graph.stats(),
            exact: Fingerprint::exact(&thread.log),
            loops: Vec::new(),
            dominant: None,
            main: None,
            iterations: Vec::new(),
        };
        study.add_times(recording, thread, walked, &flow);
        study
    }

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
            // Without single times the gaps' sums give the length of the run.
            let before = |name: &str| is_bracket(name) && name != "MPI_Finalize";
            let name = |at: usize| {
                let procedure = usize::from(thread.log.nodes[at].signature.procedure.0);
                recording.procedures.get(procedure).map_or("?", |spec| spec.name.as_str())
            };
            let gaps = walked.gaps.iter().enumerate();
            self.run =
                self.mpi + gaps.filter(|(at, _)| !before(name(*at))).map(|(_, gap)| *gap).sum();
            let inside = walked.nodes.iter().map(|node| node.durations.sum()).sum();
            self.end = walked.gaps.iter().copied().sum::<Nanos>() + inside;
            // The gap of a call that occurs once is known by itself: the thread was not present
            // before.
            if let (Some(first), Some(gap)) = (thread.log.nodes.first(), walked.gaps.first())
                && first.visits == 1
                && !before(name(0))
            {
                self.begin = *gap;
                self.run = self.run - *gap;
            }
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

//! Figures of one rank and of each of its threads: the distribution of its time, and the loops in
//! time.
//!
//! Owns the data of a rank that are kept after its walk, which do not grow with its events except
//! for the iterations of main loops. Shares are of the run without `MPI_Init` and `MPI_Finalize`,
//! as on the slides that [`talea_flow`] follows. The thread that began MPI is present from then
//! until it ends MPI; the begin and end of another thread are unknown, so that it counts from its
//! first call to the end of its last one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use talea_flow::graph::GraphStats;
use talea_flow::iterations::{Durations, LoopTimes};
use talea_flow::structure::ThreadTree;
use talea_model::{Bytes, Nanos, NodeId, Rank, Signature};
use talea_report::data::Category;
use talea_run::Recording;
use talea_run::recording::{Process, Thread};

use super::course::Course;
use super::display::Shown;
use super::flow::{Flow, thread_tree};
use super::traits::KnownPath;
use super::walk::{Walked, walk};
use crate::procedures::{category, is_bracket};

/// Figures of a rank.
#[derive(Debug, Serialize, Deserialize)]
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
#[derive(Debug, Serialize, Deserialize)]
pub struct ThreadStudy {
    /// Its number in the process.
    pub number: u32,
    /// Begin of its first call; absent where single times were not kept.
    first: Option<Nanos>,
    /// Begin of its first call, also where only sums of gaps were kept and it is known by them.
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
    /// Its loops, outer ones before those inside them.
    pub loops: Vec<LoopFigures>,
    /// The outermost loop with most time, as a place in `loops`.
    dominant: Option<usize>,
    /// The loop whose iterations are the program's steps, as a place in `loops`.
    main: Option<usize>,
    /// Iterations of the main loop.
    pub course: Course,
}

/// A loop of one thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// True if this can be the study of a thread; what a file holds need not be.
    pub(super) fn is_of(&self, thread: &Thread) -> bool {
        let places = [self.dominant, self.main];
        self.number == thread.number
            && self.events == thread.log.events
            && places.into_iter().flatten().all(|place| place < self.loops.len())
            && self.course.fits(thread)
            && self
                .loops
                .iter()
                .all(|one| one.durations.outliers.iter().all(|&at| (at as u64) < thread.log.events))
    }

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

/// A process after the walks through its threads.
pub(super) struct Studied {
    /// Figures of the rank.
    pub(super) study: RankStudy,
    /// The walks, without their events.
    pub(super) walks: Vec<Walked>,
    /// Display data of the threads that stand for a class, by their places.
    pub(super) shown: Vec<(usize, Shown)>,
}

/// Studies a process. `max_of` is the maximum number of iterations, or groups of them, that are
/// kept of a thread. `tree_of` has the tree of a thread that stands for a class, by its place.
pub(super) fn study(
    recording: &Recording,
    process: &Process,
    paths: &[KnownPath],
    max_of: impl Fn(&Thread) -> usize,
    tree_of: impl Fn(usize) -> Option<ThreadTree>,
) -> Studied {
    let mut shown = Vec::new();
    let (mut threads, mut walks) = (Vec::new(), Vec::new());
    for (number, thread) in process.threads.iter().enumerate() {
        let mut walked = walk(recording, process, thread);
        let known = tree_of(number);
        let tree = known.clone().unwrap_or_else(|| thread_tree(recording, thread, paths));
        let flow = Flow::new(thread, &walked, tree);
        threads.push(ThreadStudy::new(recording, thread, &walked, &flow, max_of(thread)));
        if let Some(tree) = known {
            shown.push((number, Shown::new(tree, &walked, flow)));
        }
        walked.events = Vec::new();
        walks.push(walked);
    }
    let mut study = RankStudy {
        rank: process.location.rank,
        begin: threads.iter().filter_map(|one| one.first).min().unwrap_or_default(),
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
    Studied { study, walks, shown }
}

impl ThreadStudy {
    fn new(
        recording: &Recording,
        thread: &Thread,
        walked: &Walked,
        flow: &Flow,
        max: usize,
    ) -> Self {
        let first = walked.events.first().map(|event| event.begin);
        let mut study = Self {
            number: thread.number,
            first,
            begin: first.unwrap_or_default(),
            end: walked.events.last().map_or(Nanos(0), |event| event.end),
            run: Nanos(0),
            mpi: Nanos(0),
            by_category: BTreeMap::new(),
            events: thread.log.events,
            graph: flow.graph.stats(),
            loops: Vec::new(),
            dominant: None,
            main: None,
            course: Course::default(),
        };
        study.add_times(recording, thread, walked, flow);
        study.add_loops(thread, flow, max);
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
    }

    fn add_loops(&mut self, thread: &Thread, flow: &Flow, max: usize) {
        let signature = |id: NodeId| thread.log.nodes[id.0 as usize].signature;
        let durations = |found: &LoopTimes| {
            let mut durations = found.durations.clone();
            if found.iterations.len() > max {
                durations.outliers.truncate(max);
            }
            durations
        };
        let figures = |found: &LoopTimes| LoopFigures {
            index: found.index,
            header: signature(
                flow.graph.nodes()[flow.forest.loops[found.index as usize].header as usize].id,
            ),
            share: found.share,
            durations: durations(found),
        };
        self.loops = flow.timeline.loops.iter().map(figures).collect();
        self.dominant = flow.timeline.dominant;
        self.main = flow.timeline.main;
        if let Some(main) = self.main {
            let outliers = &self.loops[main].durations.outliers;
            self.course = Course::new(&flow.timeline.loops[main].iterations, outliers, max);
        }
    }
}

//! Everything about a run that is a sum over its events: the part of an analysis that is kept in a
//! file beside the recording.
//!
//! Owns the one pass over the events of all threads, in parallel over ranks and merged in their
//! order. The cost of a stored summary grows with graphs, ranks and iterations of main loops, not
//! with events.

mod check;
mod file;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use talea_flow::matrix::Matrix;
use talea_flow::structure::ThreadTree;
use talea_model::{Nanos, Rank};
use talea_run::live::layout::TimesMode;
use talea_run::load::Run;
use talea_run::recording::Thread;

pub use file::Unusable;
pub(super) use file::{read, write, write_for};

use super::calls::CallTable;
use super::classes::{Class, classes, groups};
use super::course::{MAX_KEPT, max_of_thread};
use super::location::ThreadAt;
use super::messages::{Waits, waits};
use super::rank::{RankStudy, Studied, study};
use super::traits::KnownPath;
use super::walk::{Collective, Walked};
use super::{Progress, display_rank};

/// Maximum number of events of a run whose waiting is judged: bounds the memory for messages and
/// calls.
const JUDGED: u64 = 4_000_000;

/// Number of processes that are walked at a time: bounds the memory for their events.
const AT_ONCE: usize = 64;

/// Sums over the events of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Summary {
    /// Call sites over all ranks.
    pub(super) calls: CallTable,
    /// One entry for each process of the recording, in its order.
    pub(super) ranks: Vec<RankStudy>,
    /// Threads that behave alike.
    pub(super) classes: Vec<Class>,
    /// Messages from one process to another.
    pub(super) matrix: Matrix,
    /// Collective operations by procedure.
    pub(super) collectives: BTreeMap<String, Collective>,
    /// Waiting times of ranks; absent where times of single calls were not kept.
    pub(super) waits: Option<Waits>,
}

/// The same by reference: the part of an analysis that is written.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Kept<'a> {
    pub(super) calls: &'a CallTable,
    pub(super) ranks: &'a [RankStudy],
    pub(super) classes: &'a [Class],
    pub(super) matrix: &'a Matrix,
    pub(super) collectives: &'a BTreeMap<String, Collective>,
    pub(super) waits: &'a Option<Waits>,
}

impl Summary {
    /// The parts of it.
    pub(super) fn kept(&self) -> Kept<'_> {
        let Self { calls, ranks, classes, matrix, collectives, waits } = self;
        Kept { calls, ranks, classes, matrix, collectives, waits }
    }

    /// Reads all events of a run.
    pub(super) fn new(run: &Run, paths: &[KnownPath], progress: Progress<'_>) -> Self {
        Self::within(run, paths, MAX_KEPT, progress)
    }

    /// Reads all events of a run, and keeps at most `kept` iterations, or groups of them.
    fn within(run: &Run, paths: &[KnownPath], kept: u64, progress: Progress<'_>) -> Self {
        let recording = &run.recording;
        let events = recording.events();
        let max_of = |thread: &Thread| max_of_thread(kept, thread.log.events, events);
        progress("finding classes");
        let groups = groups(recording, paths);
        let trees: BTreeMap<ThreadAt, &ThreadTree> =
            groups.iter().map(|one| (one.representative, &one.tree)).collect();
        let mut shown = BTreeMap::new();
        let mut summary = Self {
            calls: CallTable::default(),
            ranks: Vec::with_capacity(recording.processes.len()),
            classes: Vec::new(),
            matrix: Matrix::default(),
            collectives: BTreeMap::new(),
            waits: None,
        };
        for (chunk, processes) in recording.processes.chunks(AT_ONCE).enumerate() {
            let done = chunk * AT_ONCE;
            progress(&format!("reading rank {done} of {}", recording.processes.len()));
            let studied: Vec<Studied> = processes
                .par_iter()
                .enumerate()
                .map(|(place, process)| {
                    let tree_of = |thread| {
                        let at = ThreadAt { process: done + place, thread };
                        trees.get(&at).map(|&tree| tree.clone())
                    };
                    study(recording, process, paths, max_of, tree_of)
                })
                .collect();
            for one in studied {
                let place = summary.ranks.len();
                let at = |thread| ThreadAt { process: place, thread };
                summary.add(run, one.study, &one.walks);
                shown.extend(one.shown.into_iter().map(|(thread, one)| (at(thread), one)));
            }
        }
        summary.classes = classes(groups, &summary.ranks, &mut shown);
        progress("matching messages");
        summary.waits = summary.judged(run);
        summary
    }

    /// Adds the next process of the recording.
    fn add(&mut self, run: &Run, mut study: RankStudy, walks: &[Walked]) {
        let process = &run.recording.processes[self.ranks.len()];
        study.rank = display_rank(run, process);
        // Ranks inside a spawned world are shown after those of the worlds before it.
        let before = study.rank.0 - process.location.rank.0;
        let shown = |rank: Rank| Rank(rank.0.saturating_add(before));
        for (thread, walked) in process.threads.iter().zip(walks) {
            self.calls.add(&run.recording, study.rank, thread, walked);
            for (from, to, cell) in walked.matrix.cells() {
                self.matrix.add(shown(from), shown(to), cell.bytes, cell.messages);
            }
            for (procedure, more) in &walked.collectives {
                self.collectives.entry(procedure.clone()).or_default().add(*more);
            }
        }
        self.ranks.push(study);
    }

    /// Waiting in the part of the run whose calls can be kept.
    fn judged(&self, run: &Run) -> Option<Waits> {
        let recording = &run.recording;
        // The calls that waited for each other must have times, all of them.
        let mut threads = recording.processes.iter().flat_map(|process| &process.threads);
        if recording.times == TimesMode::Statistics || threads.any(Thread::has_holes) {
            return None;
        }
        let judged = (JUDGED as f64 / recording.events().max(1) as f64).min(1.0);
        let (begin, wall) = extent(&self.ranks);
        Some(waits(recording, begin + Nanos((wall.0 as f64 * judged).ceil() as u64)))
    }
}

/// Begin of the first rank, and time from there to the end of the last one.
pub(super) fn extent(ranks: &[RankStudy]) -> (Nanos, Nanos) {
    let begin = ranks.iter().map(|rank| rank.begin).min().unwrap_or_default();
    (begin, ranks.iter().map(|rank| rank.end).max().unwrap_or_default() - begin)
}

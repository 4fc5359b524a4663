//! A recording driven through the analysis: everything that views and the report are made of.
//!
//! Owns the order of the steps and what they hand on: one walk through each thread, figures for each rank and each
//! call site, classes of ranks with their structure. Ranks are walked in parallel and brought together in their order,
//! so that results do not depend on the number of threads.

pub(crate) mod arguments;
pub(crate) mod calls;
pub(crate) mod classes;
pub(crate) mod findings;
pub(crate) mod graph;
pub(crate) mod hosts;
pub(crate) mod messages;
pub(crate) mod rank;
pub(crate) mod sites;
pub(crate) mod tree;
pub(crate) mod walk;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rayon::prelude::*;
use talea_flow::matrix::Matrix;
use talea_model::{Bytes, Nanos, Rank};
use talea_run::recording::Process;

use crate::load::Run;
use crate::terminal::Progress;
use calls::CallTable;
use classes::Class;
use hosts::Host;
use rank::RankStudy;
use sites::Places;

/// What collective operations of one procedure moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Collective {
    /// Calls on all ranks.
    pub(crate) calls: u64,
    /// What the ranks contributed, as their arguments say.
    pub(crate) bytes: Bytes,
}

/// A run, analysed.
#[derive(Debug)]
pub(crate) struct Analysis<'a> {
    /// What was analysed.
    pub(crate) run: &'a Run,
    /// Call paths in the source.
    pub(crate) places: Places<'a>,
    /// Call sites over all ranks.
    pub(crate) calls: CallTable,
    /// One entry for each process of the recording, in its order.
    pub(crate) ranks: Vec<RankStudy>,
    /// Ranks that behave alike, largest class first.
    pub(crate) classes: Vec<Class>,
    /// Messages from one process to another.
    pub(crate) matrix: Matrix,
    /// Collective operations by procedure.
    pub(crate) collectives: BTreeMap<String, Collective>,
    /// Where processes were, once it is asked for: it takes a file for each host.
    hosts: OnceLock<Vec<Host>>,
    /// From the first rank's start to the last one's end.
    pub(crate) wall: Nanos,
}

/// Processes that are walked at a time: bounds the memory for their events.
const AT_ONCE: usize = 64;

impl<'a> Analysis<'a> {
    /// Analyses a run.
    pub(crate) fn new(run: &'a Run, progress: &mut Progress) -> Self {
        let recording = &run.recording;
        let mut calls = CallTable::default();
        let mut ranks = Vec::new();
        let mut matrix = Matrix::default();
        let mut collectives: BTreeMap<String, Collective> = BTreeMap::new();
        for (chunk, processes) in recording.processes.chunks(AT_ONCE).enumerate() {
            let done = chunk * AT_ONCE;
            progress.step(&format!("reading rank {done} of {}", recording.processes.len()));
            let studied: Vec<_> =
                processes.par_iter().map(|process| rank::study(recording, process)).collect();
            for (process, (mut study, threads)) in processes.iter().zip(studied) {
                study.rank = display_rank(run, process);
                for (thread, walked) in process.threads.iter().zip(&threads) {
                    calls.add(recording, study.rank, thread, walked);
                    // Ranks inside a spawned world are shown behind those of the worlds before it.
                    let before = study.rank.0 - process.location.rank.0;
                    for (from, to, cell) in walked.matrix.cells() {
                        let shown = |rank: Rank| Rank(rank.0.saturating_add(before));
                        matrix.add(shown(from), shown(to), cell.bytes, cell.messages);
                    }
                    for (procedure, more) in &walked.collectives {
                        let sum = collectives.entry(procedure.clone()).or_default();
                        sum.calls = sum.calls.saturating_add(more.calls);
                        sum.bytes += more.bytes;
                    }
                }
                ranks.push(study);
            }
        }
        progress.step("finding loops and classes");
        let classes = classes::classes(recording, &ranks);
        let wall = ranks.iter().map(|rank| rank.end).max().unwrap_or_default()
            - ranks.iter().map(|rank| rank.begin).min().unwrap_or_default();
        let places = Places::new(run);
        Self {
            run,
            places,
            calls,
            ranks,
            classes,
            matrix,
            collectives,
            hosts: OnceLock::new(),
            wall,
        }
    }

    /// Where processes were, by host.
    pub(crate) fn hosts(&self) -> &[Host] {
        self.hosts.get_or_init(|| hosts::hosts(self.run, &self.ranks))
    }

    /// The place of a rank in [`Self::ranks`].
    pub(crate) fn rank(&self, rank: Rank) -> Option<usize> {
        self.ranks.iter().position(|study| study.rank == rank)
    }

    /// The recorded process of a rank.
    pub(crate) fn process(&self, place: usize) -> &'a Process {
        &self.run.recording.processes[place]
    }

    /// Time of all ranks together without beginning and ending MPI.
    pub(crate) fn time_of_all(&self) -> Nanos {
        self.ranks.iter().map(|rank| rank.run).sum()
    }

    /// Mean share of the dominant loop; absent where no rank has one.
    pub(crate) fn dominant_share(&self) -> Option<f64> {
        let shares: Vec<f64> =
            self.ranks.iter().filter_map(|rank| Some(rank.dominant()?.share)).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }
}

/// The number by which a process is shown: its rank, where spawned worlds continue after the first one.
pub(crate) fn display_rank(run: &Run, process: &Process) -> Rank {
    let sizes: BTreeMap<u32, u32> =
        run.recording.processes.iter().map(|p| (p.location.world, p.world_size)).collect();
    let sizes = sizes.range(..process.location.world);
    let before = sizes.fold(0_u32, |sum, (_, size)| sum.saturating_add(*size));
    Rank(before.saturating_add(process.location.rank.0))
}

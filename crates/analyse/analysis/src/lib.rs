//! The analysis of a recording: all data of views and the report.
//!
//! Owns the data of a run from which all views are made: figures for each rank and each call site,
//! classes of threads with their structure. They are sums over the events, which are read once
//! ([`summary`]) and kept beside the recording.

pub mod arguments;
pub mod calls;
pub mod classes;
pub mod clusters;
pub mod convert;
pub mod course;
pub mod delays;
pub mod display;
mod estimates;
pub mod events;
pub mod findings;
pub mod flow;
pub mod folding;
pub mod graph;
pub mod groups;
pub mod hosts;
pub mod input;
mod iterations;
pub mod labels;
pub mod location;
pub mod matrix;
pub mod messages;
pub mod metrics;
pub mod phases;
pub mod procedures;
mod ranges;
pub mod rank;
pub mod report;
pub mod requests;
mod sends;
pub mod sites;
mod summary;
pub mod tracks;
mod traits;
pub mod tree;
pub mod values;
pub mod views;
pub mod walk;
pub mod watch;
pub mod words;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use talea_flow::iterations::Iteration;
use talea_flow::matrix::Matrix;
use talea_model::{Nanos, Rank};
use talea_run::live::layout::TimesMode;
use talea_run::recording::Process;

use calls::CallTable;
use classes::Class;
use delays::Delay;
use hosts::Host;
use location::ThreadAt;
use messages::Waits;
use rank::{RankStudy, part};
use sites::Places;
use summary::Summary;
pub use summary::Unusable;
use talea_run::load::Run;
use talea_run::trace::{self, TraceError};
use traits::KnownPath;
pub use walk::Collective;

/// Called with each step of long work, in words.
pub type Progress<'a> = &'a mut dyn FnMut(&str);

/// A run, analysed.
#[derive(Debug)]
pub struct Analysis<'a> {
    /// The analysed run.
    pub run: &'a Run,
    /// Call paths in the source.
    pub places: Places<'a>,
    /// For each call path its properties for trees.
    pub paths: Vec<KnownPath>,
    /// Call sites over all ranks.
    pub calls: CallTable,
    /// One entry for each process of the recording, in its order.
    pub ranks: Vec<RankStudy>,
    /// Threads that behave alike: the class with most of them first, or, where ranks have several,
    /// the one with most time in a loop.
    pub classes: Vec<Class>,
    /// Messages from one process to another.
    pub matrix: Matrix,
    /// Collective operations by procedure.
    pub collectives: BTreeMap<String, Collective>,
    /// Placement of processes, computed on request: it takes a file for each host.
    hosts: OnceLock<Vec<Host>>,
    /// Waiting times of ranks; absent where times of single calls were not kept.
    waits: Option<Waits>,
    /// The reason for which the file of the run's sums was not used, where it was not absent.
    pub unusable: Option<Unusable>,
    /// The reason for which mapped files were not packed; they say the same.
    pub not_packed: Option<TraceError>,
    /// Iterations of threads that were read again.
    iterations: Mutex<BTreeMap<ThreadAt, Arc<[Iteration]>>>,
    /// Start of the first rank.
    begin: Nanos,
    /// From the first rank's start to the last one's end.
    pub wall: Nanos,
}

impl<'a> Analysis<'a> {
    /// Analyses a run: by the sums that are kept beside its recording, or, where they are absent or
    /// unusable, by reading all events. The sums are then kept, if the recording is complete and
    /// its directory may be written. Mapped files that `talea run` left to a later command are
    /// packed.
    pub fn new(run: &'a Run, progress: Progress<'_>) -> Self {
        let mut analysis = Self::read(run, &mut *progress);
        if run.metadata.deferred && run.directory.live_files().is_ok_and(|live| !live.is_empty()) {
            progress("packing the recording");
            analysis.not_packed = analysis.pack().err();
        }
        analysis
    }

    /// Analyses a run as [`Self::new`] does, and packs nothing.
    pub fn read(run: &'a Run, progress: Progress<'_>) -> Self {
        let places = Places::new(run);
        let paths = places.known_paths();
        let (stored, unusable) = match summary::read(run) {
            Ok(stored) => (stored, None),
            Err(error) => (None, Some(error)),
        };
        let summary = stored.unwrap_or_else(|| {
            let made = Summary::new(run, &paths, progress);
            summary::write(run, made.kept());
            made
        });
        let (begin, wall) = summary::extent(&summary.ranks);
        let Summary { calls, ranks, classes, matrix, collectives, waits } = summary;
        let hosts = OnceLock::new();
        Self {
            run,
            places,
            paths,
            calls,
            ranks,
            classes,
            matrix,
            collectives,
            hosts,
            waits,
            unusable,
            not_packed: None,
            iterations: Mutex::default(),
            begin,
            wall,
        }
    }

    /// Packs the mapped files of a program that has ended, and keeps the sums beside the packed
    /// recording, which has the same ones; returns the number of files.
    ///
    /// # Errors
    /// If the trace cannot be written; the mapped files then stay.
    pub fn pack(&self) -> Result<usize, TraceError> {
        let directory = &self.run.directory;
        let files = trace::pack_left_behind(directory)?;
        if files > 0 {
            let Self { calls, ranks, classes, matrix, collectives, waits, .. } = self;
            let kept = summary::Kept { calls, ranks, classes, matrix, collectives, waits };
            summary::write_for(self.run, trace::identity(directory), kept);
        }
        Ok(files)
    }

    /// Placement of processes, by host.
    pub fn hosts(&self) -> &[Host] {
        self.hosts.get_or_init(|| hosts::hosts(self.run, &self.ranks))
    }

    /// Part of the run, from its begin, whose waiting is judged.
    pub fn judged_part(&self) -> f64 {
        let until = self.waits().map_or(Nanos(0), |waits| waits.until);
        part(until - self.begin, self.wall).min(1.0)
    }

    /// Waiting times of ranks; absent where times of single calls were not kept.
    pub fn waits(&self) -> Option<&Waits> {
        self.waits.as_ref()
    }

    /// Part of the time of all threads that is spent waiting for other ranks.
    pub fn waiting_share(&self) -> Option<f64> {
        let time = self.time_of_all().0 as f64 * self.judged_part();
        let waiting = self.waits()?.total().0 as f64;
        Some(if time > 0.0 { (waiting / time).min(1.0) } else { 0.0 })
    }

    /// True if threads wait for PUs, so that their times do not show the rank that causes waiting.
    pub fn is_crowded(&self) -> bool {
        self.hosts().iter().any(Host::is_crowded)
    }

    /// Time for which threads were ready without a PU; absent where it was not measured for all
    /// processes.
    pub fn delay(&self) -> Option<Delay> {
        self.hosts().iter().map(Host::delay).sum()
    }

    /// Times of single calls below this are unknown; 0 where they are exact.
    pub fn resolution(&self) -> Nanos {
        let recording = &self.run.recording;
        match recording.times {
            TimesMode::Bounded => recording.bound.absolute,
            TimesMode::Exact | TimesMode::Statistics => Nanos(0),
        }
    }

    /// The place of a rank in [`Self::ranks`].
    pub fn rank(&self, rank: Rank) -> Option<usize> {
        self.ranks.iter().position(|study| study.rank == rank)
    }

    /// The recorded process of a rank.
    pub fn process(&self, place: usize) -> &'a Process {
        &self.run.recording.processes[place]
    }

    /// Time of all threads together without beginning and ending MPI.
    pub fn time_of_all(&self) -> Nanos {
        self.ranks.iter().map(|rank| rank.run).sum()
    }

    /// Mean share of the dominant loop, where ranks have several threads that of the thread with
    /// most time in one; absent where no rank has one.
    pub fn dominant_share(&self) -> Option<f64> {
        let shares: Vec<f64> =
            self.ranks.iter().filter_map(|rank| Some(rank.lead()?.dominant()?.share)).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }
}

/// The displayed number of a process: its rank, where spawned worlds continue after the first one.
pub fn display_rank(run: &Run, process: &Process) -> Rank {
    if process.location.world == 0 {
        return process.location.rank;
    }
    let sizes: BTreeMap<u32, u32> =
        run.recording.processes.iter().map(|p| (p.location.world, p.world_size)).collect();
    let sizes = sizes.range(..process.location.world);
    let before = sizes.fold(0_u32, |sum, (_, size)| sum.saturating_add(*size));
    Rank(before.saturating_add(process.location.rank.0))
}

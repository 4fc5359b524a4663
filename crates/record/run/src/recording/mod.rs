//! A recording in the form of the analysis: tables, processes, threads, and their events one by
//! one.
//!
//! Owns the common form into which live files and packed traces are read. Ids in streams are ids in
//! this recording's tables, the same for all ranks. It refuses analysis: it returns events, and the
//! meaning of their numbers.

pub(crate) mod columns;
pub mod events;
pub(crate) mod holes;
pub(crate) mod restarts;

use std::sync::Arc;

use talea_flow::codec::times;
use talea_flow::history::Group;
use talea_flow::log::ThreadLog;
use talea_flow::times::{Bound, Quantiser};
use talea_model::{Bytes, Gaps, Location, Module, Nanos, PathId, ProcedureId, ProcedureSpec, Rank};

pub use events::{Event, Events};

use crate::clock::ClockMap;
use crate::lists::Lists;
use crate::live::layout::TimesMode;
use crate::live::read::NodeSums;
use crate::live::record::CommSymbol;
use crate::places::ThreadPlace;
use crate::pu_time::PuTime;
use holes::Hole;

/// One run of a parallel program.
#[derive(Debug)]
pub struct Recording {
    /// Processes, sorted by world and rank.
    pub processes: Vec<Process>,
    /// Procedures that were called; a `ProcedureId` is an index.
    pub procedures: Vec<ProcedureSpec>,
    /// Modules of calls.
    pub modules: Vec<Module>,
    /// Call paths, innermost frame first; a `PathId` is an index.
    pub paths: Vec<Vec<talea_model::Frame>>,
    /// Communicators; the values of `ArgKind::Comm` are indices.
    pub comms: Vec<CommSymbol>,
    /// Datatypes: size of an element, and name (empty for a derived type without one).
    pub datatypes: Vec<(u64, String)>,
    /// Reduction operations: name (empty for a user's).
    pub ops: Vec<String>,
    /// Lists; the values of list kinds are indices.
    pub lists: Lists,
    /// Mode of keeping times.
    pub times: TimesMode,
    /// Maximum errors of recorded times.
    pub bound: Bound,
    /// True if local calls and every poll are events.
    pub calls_all: bool,
    /// `CLOCK_REALTIME` at time 0, in nanoseconds since 1970.
    pub start_realtime: u64,
    /// Size of the recording on disk.
    pub sizes: Sizes,
    /// A number that two recordings share only if they are equal, or by chance; absent where a part
    /// is damaged, or comes from files that may still grow.
    pub identity: Option<u64>,
    /// Gaps.
    pub gaps: Gaps,
}

impl Recording {
    /// True if a part comes from mapped files that are not packed.
    pub fn is_mapped(&self) -> bool {
        let mut threads = self.processes.iter().flat_map(|process| &process.threads);
        threads.any(|thread| thread.times.coding == Coding::Mapped)
    }
}

/// Bytes of the recording's parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Total.
    pub total: Bytes,
    /// Graphs, sequences and arguments of all ranks.
    pub sequence: Bytes,
    /// Begin and duration of all events.
    pub times: Bytes,
    /// Names, modules, call paths and the like.
    pub tables: Bytes,
}

/// End of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It called `MPI_Finalize`.
    Finalized,
    /// It called `MPI_Abort` with this code.
    Aborted(i32),
    /// It left through `exit` without `MPI_Finalize`.
    Exited,
    /// It stopped without notice: killed, crashed, or its node was lost. Processes that are running
    /// on another host, or in a container with process ids of its own, count as killed too.
    Killed,
    /// It is running.
    Running,
}

/// One process.
#[derive(Debug)]
pub struct Process {
    /// World, and rank in it. The thread is 0.
    pub location: Location,
    /// Number of processes of its world.
    pub world_size: u32,
    /// Host name.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// Version of its MPI library.
    pub library: String,
    /// Its start, on the clocks of its own host.
    pub started: Started,
    /// Its end.
    pub ended: Ended,
    /// A call that had not returned when it ended, with the time it began; between polls that found
    /// nothing, the first of them.
    pub open: Option<Open>,
    /// The sites of the series of unsuccessful polls in which it ended, each with the time at which
    /// the series began.
    pub polling: Vec<Open>,
    /// Its threads that called MPI.
    pub threads: Vec<Thread>,
    /// PUs on which all its threads may run and ran.
    pub places: Vec<ThreadPlace>,
    /// From nominal nanoseconds since its own start to nanoseconds since the run's start.
    pub(crate) clock: ClockMap,
}

/// The start of a process, on three clocks: it converts times of the run to those of the process's
/// host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Started {
    /// Time since the start of the run.
    pub at: Nanos,
    /// `CLOCK_MONOTONIC` of its host; 0 where it is lost.
    pub monotonic: Nanos,
    /// `CLOCK_REALTIME` of its host some milliseconds before, in nanoseconds since 1970; 0 where it
    /// is lost.
    pub realtime: Nanos,
}

/// A call that never returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// Its procedure.
    pub procedure: ProcedureId,
    /// Its call path.
    pub path: PathId,
    /// Its begin.
    pub begin: Nanos,
    /// Number of unsuccessful polls of its series, for polls.
    pub polls: u64,
}

/// One thread of a process.
#[derive(Debug, Default)]
pub struct Thread {
    /// Its number in the process.
    pub number: u32,
    /// Graph and streams; values are ids of the recording.
    pub log: ThreadLog,
    /// Sums for each node where times were kept as statistics only; empty otherwise, see
    /// [`Thread::exact_sums`].
    pub sums: Vec<NodeSums>,
    /// Calls that were only counted.
    pub counts: Vec<(ProcedureId, u64)>,
    /// Running times, and waiting times for PUs, about once a second.
    pub pu_times: Vec<PuTime>,
    /// Times, packed.
    pub(crate) times: Times,
}

/// Coding of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Of a trace.
    Packed(times::Form),
    /// Of a mapped file: the recorder's own, [`crate::live::cells`].
    Mapped,
}

impl Default for Coding {
    fn default() -> Self {
        Self::Packed(times::Form::default())
    }
}

/// Times of a thread.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// Number of events that have times.
    pub(crate) kept: u64,
    /// Coding of the cells.
    pub(crate) coding: Coding,
    /// Events without times before the last one with times.
    pub(crate) holes: Vec<Hole>,
    /// See [`Thread::history`].
    pub(crate) history: Vec<Group>,
    /// Where there are holes, minimum and maximum duration of each node; empty for times of a
    /// mapped file.
    pub(crate) extremes: Vec<[u64; 2]>,
    /// Gap and duration of each event that has them.
    pub(crate) cells: Vec<u8>,
    /// Where reading the cells may begin, packed.
    pub(crate) restarts: Vec<u8>,
    /// For each node the differences of its exact sums from the sums of its restored times,
    /// wrapping; packed, and empty for those of a mapped file.
    pub(crate) corrections: Vec<u8>,
    /// Exact sums for each node of those of a mapped file; empty otherwise.
    pub(crate) sums: Vec<NodeSums>,
}

impl Thread {
    /// Number of its events that have times.
    pub fn timed(&self) -> u64 {
        self.times.kept
    }

    /// Size of its times: the cells, then the differences of exact sums from those of
    /// restored times.
    pub fn packed(&self) -> [Bytes; 2] {
        [&self.times.cells, &self.times.corrections].map(|part| Bytes(part.len() as u64))
    }
}

impl Thread {
    /// Exact sums for each node. Extremes are those of the restored times, or exact where times of
    /// some or all events were not kept.
    ///
    /// `restored` has the sums of the gaps and durations that [`Process::events`] returns, by node;
    /// the recording has the differences.
    pub fn exact_sums(&self, recording: &Recording, mut restored: Vec<NodeSums>) -> Vec<NodeSums> {
        if recording.times == TimesMode::Statistics {
            let mut sums = self.sums.clone();
            sums.resize(self.log.nodes.len(), NodeSums::default());
            return sums;
        }
        for (restored, exact) in restored.iter_mut().zip(&self.times.sums) {
            (restored.gap, restored.duration) = (exact.gap, exact.duration);
        }
        let bound = recording.quantiser().bound();
        let mut missing = times::sums::Decoder::new(&self.times.corrections);
        for (sums, node) in restored.iter_mut().zip(&self.log.nodes) {
            let expected = [sums.gap, sums.duration]
                .map(|sum| bound.tolerance_of_sum(Nanos(sum), node.visits).0);
            let Some([gap, duration]) = missing.next(expected) else { break };
            sums.gap = sums.gap.saturating_add_signed(gap);
            sums.duration = sums.duration.saturating_add_signed(duration);
        }
        let mapped = self.times.sums.iter().map(|exact| [exact.min, exact.max]);
        let extremes = self.times.extremes.iter().copied().chain(mapped);
        if self.has_holes() {
            for (sums, [min, max]) in restored.iter_mut().zip(extremes) {
                (sums.min, sums.max) = (min, max);
            }
        }
        restored
    }

    /// Durations of the iterations of its main loop, as they were noted while it ran, in groups of
    /// neighbours in the order of time; empty without smart collection.
    pub fn history(&self) -> &[Group] {
        &self.times.history
    }

    /// True if some events before the last one with times have none.
    pub fn has_holes(&self) -> bool {
        !self.times.holes.is_empty()
    }
}

impl Recording {
    /// The procedure's name and arguments.
    pub fn procedure(&self, id: ProcedureId) -> &ProcedureSpec {
        &self.procedures[usize::from(id.0)]
    }

    /// Number of events of all threads.
    pub fn events(&self) -> u64 {
        self.processes.iter().flat_map(|p| &p.threads).map(|t| t.log.events).sum()
    }

    /// A peer or root of a call on communicator `comm` as a rank of the world; `None` for
    /// `MPI_PROC_NULL`, wild cards, and processes of another world.
    pub fn world_rank(&self, process: &Process, comm: Option<i64>, peer: i64) -> Option<Rank> {
        let rank = match comm.and_then(|c| usize::try_from(c).ok()).and_then(|c| self.comms.get(c))
        {
            Some(comm) if comm.name == "self" && peer == 0 => {
                Some(i64::from(process.location.rank.0))
            }
            Some(comm) => comm.members.world_rank(peer),
            None => (peer >= 0).then_some(peer),
        };
        rank.and_then(|r| u32::try_from(r).ok()).map(Rank)
    }

    /// A quantiser that restores this recording's times.
    pub fn quantiser(&self) -> Arc<Quantiser> {
        Quantiser::shared(self.bound)
    }
}

impl Process {
    /// Events of one of its threads in order.
    pub fn events<'a>(&'a self, recording: &'a Recording, thread: &'a Thread) -> Events<'a> {
        Events::new(recording, self, thread)
    }
}

//! Findings in a recording: what holds the program back on this machine, as sentences with figures.
//!
//! Owns thresholds and wording. A finding has lasted (three frames and 2 % of the recording at least), names its objects and its time, and rests on well-known
//! counters only; where those are missing there is no finding, never a guess. What it looks for in the expressions of monitors:
//!
//! - how busy a PU is: `proc:busy` or `task-clock` (or a monitor named `busy`) at PUs, as a share, in %, or in seconds a frame;
//! - how much a PU or a core gets done: `instructions`, `PAPI_TOT_INS`, or a monitor named `ipc`;
//! - use of a shared cache: `PAPI_L2_*`, `PAPI_L3_*`, `LLC-*`, `cache-misses` or `cache-references` at caches of several cores;
//! - use of memory: a monitor in B or B/s at NUMA nodes (`imc:*`, `uncore_imc/*`, bandwidth), against the topology's memory attribute
//!   `Bandwidth` where it has one;
//! - remote memory: `numa:other` with `numa:local`, `numa:miss` or `numa:foreign` with `numa:hit`, at NUMA nodes; or one ratio of them.

mod balance;
mod inputs;
mod saturation;
mod spans;
#[cfg(test)]
mod tests;
mod threads;

use talea_model::Nanos;

use crate::cpuset::CpuSet;
use crate::monitors::MonitorInfo;
use crate::objects::{ObjectId, Topology};
use crate::values::Frame;

/// Which threads were where at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlacementSample {
    /// Since the recording began.
    pub at: Nanos,
    /// All threads that are watched.
    pub threads: Vec<ThreadAt>,
}

/// A thread at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadAt {
    /// Its process.
    pub pid: u32,
    /// Its own number.
    pub tid: u32,
    /// Program, rank, thread: `lmp r0 t1`.
    pub label: String,
    /// The operating system's number of the PU that it runs on or ran on last.
    pub pu: u32,
    /// PUs that it may run on.
    pub allowed: CpuSet,
    /// It runs or could run now, rather than waiting for something.
    pub running: bool,
}

/// Sorts of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HintKind {
    /// A shared cache is used about as much as it can be, and its users slow down.
    SaturatedCache,
    /// A NUMA node's memory is used about as much as it can be.
    SaturatedMemory,
    /// Much memory is on another node than who uses it.
    RemoteMemory,
    /// Several threads wait for one PU while others are idle.
    RunQueue,
    /// Threads of a process may only use one PU.
    BoundToOne,
    /// Hardware threads of a core share it while other cores are idle.
    SmtSiblings,
    /// Cores that may be used are not.
    UnusedCores,
    /// Objects of one level do unequal amounts.
    Imbalance,
}

impl HintKind {
    /// A stable word for files.
    pub fn word(self) -> &'static str {
        match self {
            Self::SaturatedCache => "saturated-cache",
            Self::SaturatedMemory => "saturated-memory",
            Self::RemoteMemory => "remote-memory",
            Self::RunQueue => "run-queue",
            Self::BoundToOne => "bound-to-one",
            Self::SmtSiblings => "smt-siblings",
            Self::UnusedCores => "unused-cores",
            Self::Imbalance => "imbalance",
        }
    }
}

/// A finding with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    /// Its sort.
    pub kind: HintKind,
    /// Where; in the order of the tree.
    pub objects: Vec<ObjectId>,
    /// The figure that it rests on, as text: `92.0 %`, `1.62`.
    pub figure: String,
    /// The same as a number; shares are from 0 to 1.
    pub value: f64,
    /// When the longest stretch began, since the recording began.
    pub from: Nanos,
    /// When that stretch ended.
    pub to: Nanos,
    /// The user's phase, if all of it lies in one: `phase 2`.
    pub region: Option<String>,
    /// One sentence for people.
    pub sentence: String,
    /// How much it matters: by how far a threshold is passed, times the share of the recording; hints are sorted by it.
    pub weight: f64,
}

/// All findings, the weightiest first. Nothing is found in less than three frames.
pub fn hints(
    topology: &Topology,
    monitors: &[MonitorInfo],
    frames: &[Frame],
    placement: &[PlacementSample],
) -> Vec<Hint> {
    let input = inputs::Input::new(topology, monitors, frames, placement);
    let mut out = saturation::saturated(&input);
    out.extend(saturation::remote(&input));
    out.extend(threads::siblings(&input));
    out.extend(threads::queues(&input));
    out.extend(threads::bound(&input));
    out.extend(threads::unused(&input));
    out.extend(balance::unequal(&input));
    let order = |hint: &Hint| (hint.kind, hint.objects.clone(), hint.from);
    out.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| order(a).cmp(&order(b))));
    out
}

//! Findings in a recording: limits of the program on this machine, as sentences with figures.
//!
//! Owns thresholds and wording. A finding has lasted (three frames and 2 % of the recording at
//! least), names its objects and its time, and rests on well-known counters only; where those are
//! missing there is no finding, never a guess. Recognised quantities in the expressions of
//! monitors:
//!
//! - utilisation of a PU: `proc:busy` or `task-clock` (or a monitor named `busy`) at PUs, as a
//!   share, in %, or in seconds a frame;
//! - throughput of a PU or a core: `instructions`, `PAPI_TOT_INS`, or a monitor named `ipc`;
//! - use of a shared cache: `PAPI_L2_*`, `PAPI_L3_*`, `LLC-*`, `cache-misses` or `cache-references`
//!   at caches of several cores;
//! - use of memory: a monitor in B or B/s at NUMA nodes (`imc:*`, `uncore_imc/*`, bandwidth),
//!   against the topology's memory attribute `Bandwidth` where it has one;
//! - remote memory: `numa:other` with `numa:local`, `numa:miss` or `numa:foreign` with `numa:hit`,
//!   at NUMA nodes; or one ratio of them.

mod balance;
mod extent;
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

/// PUs of threads at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlacementSample {
    /// Since the recording began.
    pub at: Nanos,
    /// All watched threads.
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
    /// The operating system's number of the PU on which it runs or ran last.
    pub pu: u32,
    /// PUs that it may run on.
    pub allowed: CpuSet,
    /// True if it runs or could run now, rather than waiting for something.
    pub running: bool,
}

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HintKind {
    /// A shared cache is used near its limit, and its users slow down.
    SaturatedCache,
    /// A NUMA node's memory is used near its limit.
    SaturatedMemory,
    /// Much memory is on another node than its user.
    RemoteMemory,
    /// Several threads wait for one PU while others are idle.
    RunQueue,
    /// Threads of a process may only use one PU.
    BoundToOne,
    /// Hardware threads of a core share it while other cores are idle.
    SmtSiblings,
    /// Usable cores are unused.
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
    /// Its kind.
    pub kind: HintKind,
    /// Its objects; in the order of the tree.
    pub objects: Vec<ObjectId>,
    /// The figure of its evidence, as text: `92.0 %`, `1.62`.
    pub figure: String,
    /// The same as a number; shares are from 0 to 1.
    pub value: f64,
    /// Begin of the longest stretch, since the recording began.
    pub from: Nanos,
    /// End of that stretch.
    pub to: Nanos,
    /// The user's phase, if all of it lies in one: `phase 2`.
    pub region: Option<String>,
    /// One sentence for people.
    pub sentence: String,
    /// Importance: the excess over a threshold, times the share of the recording; hints are sorted
    /// by it.
    pub weight: f64,
}

/// All findings, the most important first. None in less than three frames.
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

//! Times and page faults of the threads of processes, at the PU where each ran last.
//!
//! Owns the bookkeeping by thread. The kernel does not say where a thread spent its time, only how
//! much and where it was last; so that the place is an estimate, good when threads seldom move, and
//! the source says so. Threads that live between two readings only are missed.

use std::collections::BTreeMap;

use talea_model::{GapKind, Gaps};

use crate::family::{Family, Stat};
use crate::placement::ticks_per_second;
use crate::root::Root;
use crate::source::{Offered, Scope, gap};

/// Figure of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    User,
    System,
    Busy,
    MinorFaults,
    MajorFaults,
    /// Threads that run or wait for a PU.
    Running,
}

impl Figure {
    /// By the counter's name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name.strip_prefix("proc:")? {
            "user" => Self::User,
            "system" => Self::System,
            "busy" => Self::Busy,
            "minor-faults" => Self::MinorFaults,
            "major-faults" => Self::MajorFaults,
            "running" => Self::Running,
            _ => return None,
        })
    }

    pub(super) fn offered(self) -> Offered {
        match self {
            Self::User | Self::System | Self::Busy => Offered::growing(Scope::Pu, "s"),
            Self::MinorFaults | Self::MajorFaults => Offered::growing(Scope::Pu, ""),
            Self::Running => Offered::gauge(Scope::Pu, ""),
        }
    }

    /// How much it grew between two lines, in its unit.
    fn grown(self, before: &Stat, now: &Stat, ticks: f64) -> f64 {
        let by = |of: fn(&Stat) -> u64| of(now).saturating_sub(of(before)) as f64;
        match self {
            Self::User => by(|s| s.times[0]) / ticks,
            Self::System => by(|s| s.times[1]) / ticks,
            Self::Busy => (by(|s| s.times[0]) + by(|s| s.times[1])) / ticks,
            Self::MinorFaults => by(|s| s.faults[0]),
            Self::MajorFaults => by(|s| s.faults[1]),
            Self::Running => f64::from(u8::from(now.state == 'R')),
        }
    }
}

/// Threads and how they were last.
#[derive(Debug)]
pub(super) struct Tasks {
    family: Family,
    /// Figures and the counters that they are.
    figures: Vec<(usize, Figure)>,
    /// Of each PU, its place in readings.
    places: BTreeMap<u32, usize>,
    last: BTreeMap<(u32, u32), Stat>,
}

impl Tasks {
    pub(super) fn new(family: Family, figures: Vec<(usize, Figure)>, pus: &[u32]) -> Self {
        let places = pus.iter().copied().zip(0..).collect();
        Self { family, figures, places, last: BTreeMap::new() }
    }

    /// Takes all lines without counting: what was before is not growth.
    pub(super) fn begin(&mut self, root: &Root) {
        self.last = self.look(root);
    }

    fn look(&mut self, root: &Root) -> BTreeMap<(u32, u32), Stat> {
        let of = |(pid, tid)| Some(((pid, tid), Stat::of_thread(root, pid, tid)?));
        self.family.threads(root).into_iter().filter_map(of).collect()
    }

    /// Adds what each thread did to the PU where it ran last.
    pub(super) fn read(&mut self, root: &Root, numbers: &mut [Vec<f64>], gaps: &mut Gaps) {
        let ticks = ticks_per_second();
        let now = self.look(root);
        for &(counter, _) in &self.figures {
            numbers[counter].fill(if now.is_empty() { f64::NAN } else { 0.0 });
        }
        // A thread that is new began at zero, after the reading before.
        let newborn = Stat::default();
        for (thread, stat) in &now {
            let before = self.last.get(thread).filter(|last| last.start == stat.start);
            let Some(&place) = self.places.get(&stat.pu) else {
                let detail = format!("threads ran on PU {}, which came after the start", stat.pu);
                gaps.note(gap(GapKind::Missing, detail));
                continue;
            };
            for &(counter, figure) in &self.figures {
                let grown = figure.grown(before.unwrap_or(&newborn), stat, ticks);
                if let Some(number) = numbers[counter].get_mut(place) {
                    *number += grown;
                }
            }
        }
        self.last = now;
    }
}

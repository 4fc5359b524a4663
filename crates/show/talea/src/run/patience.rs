//! Time that `talea run` takes after the end of the program, and estimates of the work that may be
//! done then.
//!
//! Owns the rule: users who wait for a job's end wait a second and a twentieth of its run time
//! longer. Work that may take longer is left to the first command that needs it. Estimates are by
//! numbers of events and cores, not by the clock, so that a busy machine changes nothing about
//! the files of a run.

use std::num::NonZero;

use talea_analysis::report::Depth;
use talea_model::Nanos;
use talea_run::recording::Recording;

/// Time after any program.
const ALWAYS: Nanos = Nanos(1_000_000_000);
/// Part of the program's run time that is added.
const PART: u64 = 20;

/// Time on one core for reading, analysing and reporting an event, about that of `cargo xtask bench
/// scale`.
const ANALYSIS: Nanos = Nanos(1_500);
/// Time on one core for clustering an event's burst, with radii that are compared.
const CLUSTERING: Nanos = Nanos(27_000);
/// Time for folding the loops around an event; one core does it.
const FOLDING: Nanos = Nanos(5_000);
/// Time on one core for packing an event.
const PACKING: Nanos = Nanos(300);
/// Time on one core for packing a process without events.
const PROCESS: Nanos = Nanos(10_000_000);

/// Time for work after a program that ran for `wall`.
pub(super) fn patience(wall: Nanos) -> Nanos {
    ALWAYS + Nanos(wall.0 / PART)
}

/// Estimates of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    /// Sums of the recording, and a report without studies.
    pub(super) analysis: Nanos,
    /// Clusters and folded loops of the report.
    pub(super) studies: Nanos,
    /// Packing; none where the recording is packed.
    pub(super) packing: Nanos,
}

impl Work {
    /// Estimates for a recording with samples or without, on the cores of this process.
    pub(super) fn for_recording(recording: &Recording, sampled: bool) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let depth = Depth::for_recording(recording, sampled);
        let (ranks, events) = (recording.processes.len(), recording.events());
        Self::on(cores, ranks, events, depth, recording.is_mapped())
    }

    fn on(cores: usize, ranks: usize, events: u64, depth: Depth, is_mapped: bool) -> Self {
        // Ranks are read side by side.
        let side_by_side = cores.min(ranks).max(1) as u64;
        let all = |one: Nanos, cores| one.0.saturating_mul(events) / cores;
        let when = |needed, time| if needed { time } else { 0 };
        let studies = when(depth.clustered, all(CLUSTERING, cores as u64))
            .saturating_add(when(depth.folded, all(FOLDING, 1)));
        let processes = PROCESS.0.saturating_mul(ranks as u64) / side_by_side;
        let packing = when(is_mapped, all(PACKING, side_by_side).saturating_add(processes));
        Self {
            analysis: Nanos(all(ANALYSIS, side_by_side)),
            studies: Nanos(studies),
            packing: Nanos(packing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_grows_with_events_and_is_shared_by_cores() {
        let plain = Depth { folded: false, clustered: false };
        let work = Work::on(4, 2, 1_000_000, plain, true);
        let [analysis, studies, packing] = [750_000_000, 0, 160_000_000].map(Nanos);
        assert_eq!(work, Work { analysis, studies, packing });
        let nothing = Work { analysis: Nanos(0), studies: Nanos(0), packing: Nanos(0) };
        assert_eq!(Work::on(1, 0, 0, plain, false), nothing);
        assert_eq!(Work::on(1, 8, 1_000_000, plain, false).packing, Nanos(0));
        assert!(Work::on(2, 2, u64::MAX, plain, true).analysis > Nanos(u64::MAX / 3));
    }

    #[test]
    fn studies_of_the_report_are_work() {
        let studies = |cores, folded, clustered| {
            Work::on(cores, 1, 100_000, Depth { folded, clustered }, true).studies
        };
        assert_eq!(studies(2, false, true), Nanos(1_350_000_000));
        assert_eq!(studies(2, true, false), Nanos(500_000_000));
        assert_eq!(studies(1, true, true), Nanos(3_200_000_000));
        let all = Depth { folded: true, clustered: true };
        assert_eq!(Work::on(2, 2, u64::MAX, all, true).studies, Nanos(u64::MAX));
    }

    #[test]
    fn patience_grows_with_the_run() {
        assert_eq!(patience(Nanos(0)), Nanos(1_000_000_000));
        assert_eq!(patience(Nanos(60_000_000_000)), Nanos(4_000_000_000));
    }
}

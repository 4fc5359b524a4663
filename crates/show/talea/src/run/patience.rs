//! Time that `talea run` takes after the end of the program, and estimates of the work that may be
//! done then.
//!
//! Owns the rule: users who wait for a job's end wait a second and a twentieth of its run time
//! longer. Work that may take longer is left to the first command that needs it. Estimates are by
//! numbers of events and cores, not by the clock, so that a busy machine changes nothing about
//! the files of a run.

use std::num::NonZero;

use talea_model::Nanos;
use talea_run::recording::Recording;

/// Time after any program.
const ALWAYS: Nanos = Nanos(1_000_000_000);
/// Part of the program's run time that is added.
const PART: u64 = 20;

/// Time on one core for reading, analysing and reporting an event, about that of `cargo xtask bench
/// scale`. Clustering of the report is not in it.
const REPORT: Nanos = Nanos(1_500);
/// Time on one core for packing an event.
const PACKING: Nanos = Nanos(300);

/// Time for work after a program that ran for `wall`.
pub(super) fn patience(wall: Nanos) -> Nanos {
    ALWAYS + Nanos(wall.0 / PART)
}

/// Estimates of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    /// Analysis and report.
    pub(super) report: Nanos,
    /// Packing; none where the recording is packed.
    pub(super) packing: Nanos,
}

impl Work {
    /// Estimates for a recording, on the cores of this process.
    pub(super) fn for_recording(recording: &Recording) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self::on(cores, recording.processes.len(), recording.events(), recording.is_mapped())
    }

    fn on(cores: usize, ranks: usize, events: u64, is_mapped: bool) -> Self {
        // Ranks are read side by side.
        let side_by_side = cores.min(ranks).max(1) as u64;
        let all = |one: Nanos| Nanos(one.0.saturating_mul(events) / side_by_side);
        let packing = if is_mapped { all(PACKING) } else { Nanos(0) };
        Self { report: all(REPORT), packing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_grows_with_events_and_is_shared_by_cores() {
        let work = Work::on(4, 2, 1_000_000, true);
        assert_eq!(work, Work { report: Nanos(750_000_000), packing: Nanos(150_000_000) });
        assert_eq!(Work::on(1, 0, 0, false), Work { report: Nanos(0), packing: Nanos(0) });
        assert_eq!(Work::on(1, 8, 1_000_000, false).packing, Nanos(0));
        assert!(Work::on(2, 2, u64::MAX, true).report > Nanos(u64::MAX / 3));
    }

    #[test]
    fn patience_grows_with_the_run() {
        assert_eq!(patience(Nanos(0)), Nanos(1_000_000_000));
        assert_eq!(patience(Nanos(60_000_000_000)), Nanos(4_000_000_000));
    }
}

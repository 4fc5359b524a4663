//! Limits of claims in a recording that are not backed by its bytes.
//!
//! Owns the numbers. Repetition is free in a recording: a billion identical calls are as few bytes
//! as two, and stay one run in memory. Calls that alternate as predicted are free, too, and stay
//! one cycle of runs. Packing and unpacking take time for each run, however.
//! Equal threads and processes are not free in memory. Beyond these limits a claim is damage, not a
//! reason to run out of memory or time.

use talea_flow::codec::sequence::Bounds;

/// Maximum number of calls of a recording: a million processes with a call every microsecond for a
/// quarter of an hour. Sums of counts stay far from 64 bits.
pub const MOST_EVENTS: u64 = 1 << 50;
/// Maximum number of numbers in the packed tables of a recording: those of a hundred thousand
/// nodes, each with a few arguments, for each of a hundred classes of ranks.
pub const MOST_TABLE: u64 = 1 << 26;
/// Maximum number of frames of a call path, and of all paths of a recording together: paths share
/// frames in a file, but not in memory.
pub const MOST_FRAMES: usize = 64;
/// See [`MOST_FRAMES`].
pub const MOST_FRAMES_IN_ALL: usize = 1 << 24;
/// Maximum number of runs, of 16 bytes, that a recording may keep in memory, besides those for each
/// process.
const MOST_RUNS: u64 = 1 << 27;
/// The same for each process that has a section of its own.
const RUNS_OF_PROCESS: u64 = 1 << 20;
/// Maximum number of unfolded runs, besides those for each process: about a billion alternating
/// calls, or a minute of reading.
const MOST_STEPS: u64 = 1 << 33;

/// Limits of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of runs of equal values that streams may keep in memory, all together.
    pub runs: u64,
    /// Maximum number of runs that streams may unfold to, all together.
    pub steps: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { runs: MOST_RUNS, steps: MOST_STEPS }
    }
}

impl Limits {
    /// Limits for a recording of this many processes.
    #[must_use]
    pub fn of_processes(processes: usize) -> Self {
        let more = RUNS_OF_PROCESS.saturating_mul(processes as u64);
        Self { runs: MOST_RUNS.saturating_add(more), steps: MOST_STEPS.saturating_add(more) }
    }

    /// For the streams of one recording.
    pub(crate) const fn bounds(self) -> Bounds {
        Bounds { runs: self.runs, steps: self.steps }
    }
}

/// Maximum number of steps from list to list in comparing the lists of a recording, for lists of
/// this many numbers. Lists are in the order in which they are derived from each other, so that
/// each change is a step or two, and a full list that others are derived from as many as it has
/// entries.
pub(crate) const fn most_list_steps(numbers: usize) -> u64 {
    (1 << 24) + 256 * numbers as u64
}

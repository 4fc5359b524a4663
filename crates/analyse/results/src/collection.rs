//! Iterations that smart collection keeps: the JSON of `talea show RUN collection`.
//!
//! Owns the keys. Keys that end in `_ns` are nanoseconds: whole where measured, fractional where
//! estimated.

use schemars::JsonSchema;
use serde::Serialize;
use talea_model::{Nanos, Rank};

/// Iterations of a thread's main loop that smart collection kept or would keep, and the totals of
/// call sites.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CollectionData {
    /// The rank.
    pub rank: Rank,
    /// Number of its thread.
    pub thread: u32,
    /// True if the run was recorded with `--collect smart`: these iterations were kept, and totals
    /// are the recorder's exact sums. Otherwise they would be kept, and totals are estimated from
    /// them.
    pub smart: bool,
    /// Number of iterations of its main loop.
    pub iterations: u64,
    /// Number of iterations that are kept.
    pub kept: u64,
    /// Number of events of all iterations.
    pub events: u64,
    /// Number of events of the kept ones.
    pub kept_events: u64,
    /// Time of the look that made a steady structure of the thread known; null without one.
    pub steady_at_ns: Option<Nanos>,
    /// Iterations by the calls that they make and by their durations, in the order of first ones.
    pub phases: Vec<PhaseData>,
    /// Call sites in the iterations, by time.
    pub totals: Vec<TotalData>,
    /// Durations of neighbouring iterations in the order of time, in at most 1,024 groups. With
    /// smart collection they are those of iterations that the observer saw while their loop was the
    /// main loop, and whose calls had times then.
    pub history: Vec<GroupData>,
}

/// Neighbouring iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GroupData {
    /// Begin of the first one.
    pub begin_ns: Nanos,
    /// Number of iterations, at least 1.
    pub iterations: u64,
    /// Sum of their durations.
    pub time_ns: Nanos,
    /// Minimum.
    pub min_ns: Nanos,
    /// Maximum.
    pub max_ns: Nanos,
}

/// Iterations that make the same calls, in any order and number, and whose durations differ by less
/// than a factor of 1.42.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PhaseData {
    /// Number of the first iteration; they count from 0.
    pub first: u64,
    /// Number of the last one.
    pub last: u64,
    /// Number of iterations.
    pub iterations: u64,
    /// Time of all of them.
    pub time_ns: Nanos,
    /// Numbers of the kept ones.
    pub kept: Vec<u64>,
    /// True if further kinds of iterations are counted here: there were too many kinds.
    pub mixed: bool,
}

/// Time of a call site in the iterations; with smart collection in the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TotalData {
    /// Procedure and place.
    pub site: String,
    /// The recorded time.
    pub time_ns: Nanos,
    /// The time that follows from the kept iterations.
    pub estimate_ns: f64,
    /// Begin of its 95 % interval; null where too few iterations were chosen by chance.
    pub low_ns: f64,
    /// End of the interval; null likewise.
    pub high_ns: f64,
}

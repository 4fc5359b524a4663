//! Data of a report over time: representative iterations, and durations of iterations over the run.
//!
//! Owns the shape only. Lists that can be long are arrays of numbers in the JSON, in the order that
//! each type states.

use schemars::JsonSchema;
use serde::Serialize;
use talea_model::{Nanos, Rank};

use super::{ClassId, LoopId, SiteId};

/// One stretch of the run, normally one iteration of a loop: rows are locations, bars are calls.
/// The space between bars is computation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Timeline {
    /// Its loop; absent for a picture of the whole run.
    pub loop_id: Option<LoopId>,
    /// Number of the iteration, from 0.
    pub iteration: u64,
    /// Reason for its choice, one line (`median duration of 400`); may be empty.
    pub why: String,
    /// Start of the picture, since the start of the run.
    pub begin: Nanos,
    /// End of the picture, since the start of the run.
    pub end: Nanos,
    /// Iteration boundaries inside the picture, since the start of the run.
    pub bounds: Vec<Nanos>,
    /// Rows from top to bottom. With many ranks: at least each class's representative and the ranks
    /// that stand out.
    pub rows: Vec<Row>,
    /// Bars by row and begin.
    pub bars: Vec<Bar>,
    /// Arguments as text; bars point here, so that equal text is stored once.
    pub args: Vec<String>,
    /// Messages between rows; may be empty.
    pub messages: Vec<Message>,
}

/// One row of a timeline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Its rank.
    pub rank: Rank,
    /// Its thread; 0 is the one that initialised MPI.
    pub thread: u32,
    /// Class of the thread.
    pub class: ClassId,
    /// First moment of its record, since the start of the run.
    pub begin: Nanos,
    /// Last moment of its record; later parts of the picture are drawn as lost.
    pub end: Nanos,
}

/// One call; in JSON the array `[row, begin, duration, site, args]`, `args` -1 where there are
/// none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "(u32, u64, u64, u32, i64)")]
pub struct Bar {
    /// Index into the timeline's rows.
    pub row: u32,
    /// Begin, since the start of the run.
    pub begin: Nanos,
    /// Duration of the call.
    pub duration: Nanos,
    /// The call; determines procedure, place and category.
    pub site: SiteId,
    /// Index into the timeline's `args`.
    pub args: Option<u32>,
}

impl From<Bar> for (u32, u64, u64, u32, i64) {
    fn from(bar: Bar) -> Self {
        (bar.row, bar.begin.0, bar.duration.0, bar.site, bar.args.map_or(-1, i64::from))
    }
}

/// One message; in JSON the array `[from_row, sent, to_row, received, bytes]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "(u32, u64, u32, u64, u64)")]
pub struct Message {
    /// Row of the sender.
    pub from_row: u32,
    /// Begin of the send, since the start of the run.
    pub sent: Nanos,
    /// Row of the receiver.
    pub to_row: u32,
    /// End of the call that completed the receive, since the start of the run.
    pub received: Nanos,
    /// Its size.
    pub bytes: u64,
}

impl From<Message> for (u32, u64, u32, u64, u64) {
    fn from(message: Message) -> Self {
        (message.from_row, message.sent.0, message.to_row, message.received.0, message.bytes)
    }
}

/// Durations of a loop's iterations over the run. All lists have one entry a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct IterationSeries {
    /// The loop.
    pub loop_id: LoopId,
    /// The class whose ranks are summarised; absent for all ranks.
    pub class: Option<ClassId>,
    /// Number of iterations in one point: 1, or more where the sums of the run keep groups of them,
    /// or a thread has more than a series has points (then `min` and `max` are over these too).
    pub stride: u64,
    /// Duration of an iteration, one line: `12.6 µs (median of 1,200; mean 631 µs) on rank 0`.
    pub takes: String,
    /// Begin of the point's first iteration on the earliest rank, since the start of the run.
    pub begin: Vec<Nanos>,
    /// Shortest duration among the ranks.
    pub min: Vec<Nanos>,
    /// Median duration; of groups, the median of their means.
    pub median: Vec<Nanos>,
    /// Longest duration.
    pub max: Vec<Nanos>,
    /// Mean duration.
    pub mean: Vec<Nanos>,
    /// Single ranks, where they are few or stand out; may be empty.
    pub ranks: Vec<RankSeries>,
    /// Iterations that stand out, worst first.
    pub outliers: Vec<Outlier>,
}

/// Durations of one rank, or of one thread of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RankSeries {
    /// The rank.
    pub rank: Rank,
    /// Its thread; absent where the rank has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// One entry for each point of the series.
    pub durations: Vec<Nanos>,
}

/// An iteration that stands out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Outlier {
    /// Its number, from 0.
    pub iteration: u64,
    /// The slowest rank.
    pub rank: Rank,
    /// Its thread; absent where the rank has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// Its duration there.
    pub duration: Nanos,
}

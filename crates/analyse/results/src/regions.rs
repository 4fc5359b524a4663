//! Regions of traces that can be folded: the JSON of `talea fold --list`.

use schemars::JsonSchema;
use serde::Serialize;
use talea_model::Nanos;

/// Regions of one input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegionList {
    /// Path of the trace or run.
    pub input: String,
    /// Regions by falling time.
    pub regions: Vec<RegionRow>,
}

/// A region: intervals that events of one type and value begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegionRow {
    /// Argument of `--region`.
    pub region: String,
    /// Its name.
    pub name: String,
    /// Name of the event type.
    pub of: String,
    /// Number of executions on all threads.
    pub instances: u64,
    /// Time of all executions.
    pub time_ns: Nanos,
    /// Mean time of an execution.
    pub mean_ns: Nanos,
    /// Number of threads that have it.
    pub locations: u32,
}

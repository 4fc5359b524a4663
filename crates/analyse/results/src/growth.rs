//! Growth of the event flow graph: the JSON of `talea show RUN growth`.
//!
//! Owns the keys. Keys that end in `_ns` are whole nanoseconds.

use schemars::JsonSchema;
use serde::Serialize;
use talea_model::Nanos;

/// Growth of the event flow graph over a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GrowthData {
    /// Number of threads whose graphs are meant.
    pub threads: usize,
    /// Time between looks.
    pub interval_ns: Nanos,
    /// Looks in the order of time.
    pub looks: Vec<GrowthLook>,
    /// Times during which the structure was steady: from the first of three looks in a row with
    /// changes of at most .01, until the next larger change.
    pub steady: Vec<SteadyData>,
}

/// The graph as it is known at one look.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GrowthLook {
    /// Time of the look, since `MPI_Init`.
    pub until_ns: Nanos,
    /// Number of events since the look before.
    pub events: u64,
    /// Nodes known so far: procedures with their call paths, of any thread.
    pub nodes: usize,
    /// Edges known so far, of any thread.
    pub edges: usize,
    /// Part of the threads' time since the look before, on edges that were new to the thread; null
    /// where no event ended.
    pub change: Option<f64>,
}

/// A time during which the structure was steady.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SteadyData {
    /// Begin of the first look with little change.
    pub from_ns: Nanos,
    /// Time of the look that made it known.
    pub known_ns: Nanos,
    /// Time of the last look before the next change, or the end.
    pub until_ns: Nanos,
}

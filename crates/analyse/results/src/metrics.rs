//! Efficiency and derived metrics: the JSON of `talea metrics`.
//!
//! Owns the keys. Values are null where they could not be computed; `reason` says why.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;
use talea_model::{Gaps, Nanos};

/// Metrics of one run or trace.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricsData {
    /// Path of the run or trace.
    pub input: String,
    /// The measured part.
    pub span_ns: MetricsSpan,
    /// Number of threads.
    pub locations: usize,
    /// Ranks.
    pub ranks: Vec<MetricsRank>,
    /// Clusters of computation, where they were asked for.
    pub clusters: Vec<MetricsCluster>,
    /// Factors of the efficiency.
    pub efficiency: Efficiency,
    /// The table of metrics.
    pub metrics: Vec<MetricRow>,
    /// Trees of models, such as top-down analysis.
    pub models: Vec<ModelTree>,
    /// Sums of counters by name; null where they could not be summed.
    pub counters: BTreeMap<String, Option<f64>>,
    /// Gaps.
    pub gaps: Gaps,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MetricsSpan {
    /// Its begin.
    pub begin: Nanos,
    /// Its end.
    pub end: Nanos,
    /// The reason for it.
    pub chosen: SpanChoice,
}

/// Reason for a part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpanChoice {
    /// From the end of the last `MPI_Init` to the begin of the first `MPI_Finalize`.
    BetweenInitAndFinalize,
    /// All of the trace.
    Whole,
    /// The requested part.
    Asked,
}

/// A rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MetricsRank {
    /// Application, from 1.
    pub application: u32,
    /// Rank in it.
    pub rank: u32,
    /// Number of its threads.
    pub threads: usize,
}

/// A cluster of computation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricsCluster {
    /// Its number.
    pub id: u32,
    /// Number of its bursts.
    pub bursts: u64,
    /// Part of the computing time, 0 to 1.
    pub time_share: Option<f64>,
}

/// Factors of the efficiency as shares; each is the product of those that it is made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Efficiency {
    /// Computation at the first input's speed, per time of all threads.
    pub global: Option<f64>,
    /// Computing time per time of all threads.
    pub parallel: Option<f64>,
    /// Mean computing time per the longest.
    pub load_balance: Option<f64>,
    /// Longest computing time per elapsed time.
    pub communication: Option<f64>,
    /// Part of the communication efficiency that waiting for others takes.
    pub serialisation: Option<f64>,
    /// Part of it that transfers take.
    pub transfer: Option<f64>,
    /// Parallel efficiency of processes.
    pub mpi_parallel: Option<f64>,
    /// Load balance of processes.
    pub mpi_load_balance: Option<f64>,
    /// Communication efficiency of processes.
    pub mpi_communication: Option<f64>,
    /// Parallel efficiency of the threads of processes.
    pub thread_parallel: Option<f64>,
    /// Computing time of the first input per computing time.
    pub computation_scaling: Option<f64>,
    /// Instructions per cycle, per those of the first input.
    pub ipc_scaling: Option<f64>,
    /// Instructions of the first input per instructions.
    pub instruction_scaling: Option<f64>,
    /// Cycles per time, per those of the first input.
    pub frequency_scaling: Option<f64>,
    /// Reasons for factors without a value, by key.
    pub reasons: IndexMap<String, String>,
}

/// One metric of the table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricRow {
    /// Part of the table.
    pub category: MetricCategory,
    /// Its key.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Its value over all threads.
    pub value: Option<f64>,
    /// The expression that it was computed by.
    pub from: Option<String>,
    /// Reason for a missing value.
    pub reason: Option<String>,
    /// Values by rank, in the order of `ranks`.
    pub by_rank: Vec<Option<f64>>,
    /// Values by cluster, in the order of `clusters`.
    pub by_cluster: Vec<Option<f64>>,
}

/// Parts of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MetricCategory {
    /// Times and rates.
    Performance,
    /// Behaviour of caches and pipelines.
    Architecture,
    /// Kinds of instructions.
    InstructionMix,
}

/// A model: metrics in a tree.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModelTree {
    /// Its name.
    pub model: String,
    /// Its metrics, parents before children.
    pub metrics: Vec<ModelRow>,
    /// Problems of its file.
    pub problems: Vec<ModelProblem>,
}

/// One metric of a model.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModelRow {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its unit.
    pub unit: String,
    /// Its value in the unit.
    pub value: Option<f64>,
    /// Reason for a missing value.
    pub reason: Option<String>,
    /// Level set by the author.
    pub level: Option<u32>,
    /// The metric that it is a part of.
    pub parent: Option<String>,
    /// Depth in the tree.
    pub depth: usize,
    /// True if the author's threshold is exceeded; null without a threshold.
    pub exceeded: Option<bool>,
    /// Sum of its parts, in the unit.
    pub children_sum: Option<f64>,
}

/// A problem of a model's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModelProblem {
    /// Line of the file, from 1.
    pub line: u64,
    /// The problem, in a sentence.
    pub what: String,
}

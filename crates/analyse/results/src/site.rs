//! Use of a site's cores, from a store: the JSON of `talea usage`, `talea jobs`, and of the
//! server's routes of the same questions.
//!
//! Owns the keys. Rows carry one key for each dimension of `by`; shares are 0 to 1 with the
//! interval of sampling at 95 %; a figure that cannot be had is null with a gap.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use talea_model::{Gaps, Nanos};

/// A name or number of a dimension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Name {
    /// A name.
    Text(String),
    /// Number of a user or core.
    Number(u64),
}

/// Names of a row by dimension: `node`, `job`, `user`, `executable`, `library`, `function`,
/// `phase`, `core`, `activity`; null where it has none.
pub type Names = IndexMap<String, Option<Name>>;

/// Use of cores in a time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UsageData {
    /// Address of the store.
    pub store: String,
    /// Begin of the time with samples, since 1970; null without samples.
    pub begin_ns: Option<Nanos>,
    /// Its end.
    pub end_ns: Option<Nanos>,
    /// Samples of all that may be seen in the time.
    pub samples: u64,
    /// Time that they stand for.
    pub core_seconds: f64,
    /// Samples that the filters select.
    pub matched_samples: u64,
    /// Time that they stand for.
    pub matched_core_seconds: f64,
    /// Dimensions of rows.
    pub by: Vec<String>,
    /// Number of rows before the limit.
    pub groups: u64,
    /// Rows, most samples first.
    pub rows: Vec<UsageRow>,
    /// Gaps: missing or estimated data.
    pub gaps: Gaps,
}

/// A row of [`UsageData`].
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UsageRow {
    /// Its names.
    #[serde(flatten)]
    pub names: Names,
    /// Number of samples.
    pub samples: u64,
    /// Time that they stand for.
    pub core_seconds: f64,
    /// Share of all samples of the time.
    pub share: Option<f64>,
    /// Standard error of the share.
    pub standard_error: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
}

/// Rates of counters at samples.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RatesData {
    /// Address of the store.
    pub store: String,
    /// Begin of the time with samples, since 1970; null without samples.
    pub begin_ns: Option<Nanos>,
    /// Its end.
    pub end_ns: Option<Nanos>,
    /// Dimensions of rows.
    pub by: Vec<String>,
    /// Number of rows before the limit.
    pub groups: u64,
    /// Rows.
    pub rows: Vec<RateRow>,
    /// Spread of rates over the cores of jobs.
    pub spreads: Vec<SpreadRow>,
    /// Gaps: missing or estimated data.
    pub gaps: Gaps,
}

/// A counter at the samples of a row.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RateRow {
    /// Its names.
    #[serde(flatten)]
    pub names: Names,
    /// Name of the counter.
    pub counter: String,
    /// Unit of its count; `1` for plain counts.
    pub unit: String,
    /// Number of samples.
    pub samples: u64,
    /// Time in which it was counted, in nanoseconds.
    pub nanos: u64,
    /// Count in this time.
    pub count: u64,
    /// Count a second.
    pub per_second: Option<f64>,
    /// Count for each instruction; null without instructions.
    pub per_instruction: Option<f64>,
}

/// Spread of a counter's rate over cores.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SpreadRow {
    /// Name of the counter.
    pub counter: String,
    /// Unit of its count.
    pub unit: String,
    /// Number of cores and intervals.
    pub cores: u64,
    /// Rates that 0, 10, ... 100 % of them do not exceed.
    pub quantiles: Vec<f64>,
}

/// Jobs of a time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JobList {
    /// Address of the store.
    pub store: String,
    /// Jobs, most samples first.
    pub jobs: Vec<JobRow>,
    /// Gaps: jobs beyond the limit.
    pub gaps: Gaps,
}

/// A job of a list.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JobRow {
    /// Its name.
    pub job: String,
    /// Its owner; null where unknown.
    pub user: Option<u32>,
    /// First time with samples, since 1970.
    pub first_ns: Nanos,
    /// Last time with samples.
    pub last_ns: Nanos,
    /// Number of its nodes.
    pub nodes: u64,
    /// Number of samples.
    pub samples: u64,
    /// Time that they stand for.
    pub core_seconds: f64,
}

/// One job in detail: one object, or a list where several owners have a job of the name.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum JobDetails {
    /// One job.
    One(Box<JobDetail>),
    /// Several owners have a job of this name.
    Several(Vec<JobDetail>),
}

/// One job: its activities, parts, spreads and findings.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JobDetail {
    /// Its row of lists.
    #[serde(flatten)]
    pub job: JobRow,
    /// Samples by activity: `user`, `kernel`, `mpi`, `waiting`, `idle`.
    pub activities: Vec<PartRow>,
    /// Busy samples by executable.
    pub executables: Vec<PartRow>,
    /// Busy samples by library.
    pub libraries: Vec<PartRow>,
    /// Busy samples by function.
    pub functions: Vec<PartRow>,
    /// Busy samples by marked phase; empty without phases.
    pub phases: Vec<PartRow>,
    /// Spread of rates over its cores.
    pub spreads: Vec<SpreadRow>,
    /// Rates of counters at its samples, by library.
    pub rates: Vec<RateRow>,
    /// Rules that hold.
    pub findings: Vec<Finding>,
    /// Gaps: missing or estimated data.
    pub gaps: Gaps,
}

/// A part of a job's samples.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PartRow {
    /// Its name, by the dimension; null where it has none.
    #[serde(flatten)]
    pub names: Names,
    /// Number of samples.
    pub samples: u64,
    /// Time that they stand for.
    pub core_seconds: f64,
    /// Share of the job's samples.
    pub share: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
}

/// Severity of a finding.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Something is wasted.
    Warning,
    /// Most of the allocation is wasted, or something is broken.
    Critical,
}

/// A rule that holds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// Name of the rule.
    pub rule: String,
    /// The job, for rules of jobs.
    pub job: Option<String>,
    /// Owner of the job.
    pub user: Option<u32>,
    /// The node, for rules of nodes.
    pub node: Option<String>,
    /// Begin of the time in which the condition held.
    #[serde(rename = "begin_ns")]
    pub begin: Nanos,
    /// Its end.
    #[serde(rename = "end_ns")]
    pub end: Nanos,
    /// Severity.
    pub severity: Severity,
    /// One sentence with figures.
    pub title: String,
    /// Advice.
    pub hint: String,
    /// Metrics of the condition and of the texts; those that are absent are missing.
    pub values: BTreeMap<String, f64>,
    /// Names in the texts by dimension: `library`, `function`.
    pub names: BTreeMap<String, String>,
}

/// Findings of all rules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Findings {
    /// Most severe first, then by job, node and rule.
    pub findings: Vec<Finding>,
    /// Gaps: conditions that could not be evaluated.
    pub gaps: Gaps,
}

/// A removal of samples: `talea store forget` and `talea store forgotten`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Forgotten {
    /// Time of the removal, since 1970.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// Number of the user who removed them.
    pub user: u32,
    /// Name of the node.
    pub node: String,
    /// Begin of the first removed slice, or of the requested time where none was removed.
    #[serde(rename = "begin_ns")]
    pub begin: Nanos,
    /// End of the last removed slice.
    #[serde(rename = "end_ns")]
    pub end: Nanos,
    /// Number of removed slices.
    pub slices: u64,
    /// Number of samples in them.
    pub samples: u64,
}

/// A node of a store.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NodeRow {
    /// Its name.
    pub name: String,
    /// First time with samples, since 1970.
    pub first_ns: Nanos,
    /// Last time with samples.
    pub last_ns: Nanos,
    /// Number of cores.
    pub cores: u32,
    /// Mechanism of sampling: `bpf`, `rings`, `own-processes`.
    pub sampler: String,
    /// Interval between two samples of a core.
    pub interval_ns: Option<Nanos>,
}

/// Samples over time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SeriesData {
    /// Dimensions of keys.
    pub by: Vec<String>,
    /// Keys, one name for each dimension.
    pub keys: Vec<Vec<Option<Name>>>,
    /// Length of a step.
    pub step_ns: Nanos,
    /// Steps.
    pub points: Vec<SeriesPoint>,
    /// Gaps: missing or estimated data.
    pub gaps: Gaps,
}

/// One step of a series.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SeriesPoint {
    /// Its begin, since 1970.
    pub begin_ns: Nanos,
    /// Samples of all that may be seen.
    pub all_samples: u64,
    /// Samples that the filters select.
    pub samples: u64,
    /// Samples by key.
    pub by_key: Vec<u64>,
    /// Core seconds by key.
    pub core_seconds: Vec<f64>,
}

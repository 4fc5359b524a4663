//! Data of clusters of bursts: the public JSON of `talea cluster` and `talea track`, key by key.
//!
//! Owns the shape and the names; every field name is a key of the JSON, except for fields that only
//! pictures need, which are not written. Times are nanoseconds, shares 0 to 1, null is absent. It
//! computes nothing.

mod tracks;

use schemars::JsonSchema;
use serde::Serialize;
use talea_model::Gaps;

pub use tracks::{FrameData, ObjectData, ObjectFrame, TrackData};

/// The clusters of one input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ClusterData {
    /// The input as the user wrote it.
    pub input: String,
    /// Short name in titles.
    #[serde(skip)]
    pub name: String,
    /// Source of bursts: `states`, `calls`, `regions` or `table`.
    pub source: String,
    /// Number of bursts of the input.
    pub bursts: u64,
    /// The analysed part of it; null for a table.
    pub span_ns: Option<SpanData>,
    /// Number of those that were clustered.
    pub points: u64,
    /// Number of ranks (threads, where ranks have several) with bursts.
    pub ranks: u64,
    /// Time of all bursts in that part.
    pub time_ns: Option<f64>,
    /// Share of it in the points.
    pub points_time_share: Option<f64>,
    /// Bursts that are no points, by reason.
    pub left_out: Vec<LeftOutData>,
    /// Dimensions in which bursts are compared.
    pub dimensions: Vec<DimensionData>,
    /// Number of edges of the flow graph, of the calls at the two ends of a burst, that separate
    /// points; null where they were not used.
    pub edges: Option<u64>,
    /// The radius; null where each cluster has its own.
    pub eps: Option<f64>,
    /// Points with this many neighbours, themselves included, form a cluster.
    pub min_points: u64,
    /// Source of the radius: `given`, `knee`, `score`, `alike` or `refinement`.
    pub eps_from: String,
    /// Radii that were tried for it.
    pub tried: Vec<TriedData>,
    /// The clustered subset, if not all points.
    pub subset: Option<SubsetData>,
    /// Comparison of the clusters with those of all points.
    pub check: Option<CheckData>,
    /// Clusters by time, the longest first.
    pub clusters: Vec<ClusterRow>,
    /// Number of points in no cluster.
    pub noise: u64,
    /// Share of the points' time in noise.
    pub noise_time_share: Option<f64>,
    /// Similarity of the ranks' behaviour at the same time, 0 to 1.
    pub spmd_score: Option<f64>,
    /// Findings, a sentence each.
    pub findings: Vec<String>,
    /// Gaps.
    pub gaps: Gaps,
    /// Seconds of each stage.
    pub seconds: Stages,
    /// Points to draw.
    #[serde(skip)]
    pub scatter: ScatterData,
    /// Bursts to draw.
    #[serde(skip)]
    pub timeline: ClusterTimeline,
}

/// Seconds of each stage; those that were not needed are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Stages {
    /// Reading the input.
    pub read: f64,
    /// Finding bursts and their counters.
    pub bursts: f64,
    /// Filters and scales.
    pub prepare: f64,
    /// Choosing a radius and clustering.
    pub cluster: f64,
    /// Clustering all points for comparison.
    pub check: f64,
    /// Alignment of the ranks' sequences.
    pub score: f64,
    /// Figures of clusters.
    pub statistics: f64,
}

/// A part of an input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SpanData {
    /// From the start of the trace.
    pub begin: u64,
    /// After the begin.
    pub end: u64,
    /// `between-init-and-finalize`, `whole` or `asked`.
    pub chosen: String,
}

/// Bursts that were left out for one reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct LeftOutData {
    /// Text of the reason.
    pub reason: String,
    /// Number of bursts.
    pub bursts: u64,
    /// Their share of all time.
    pub time_share: Option<f64>,
}

/// One dimension.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DimensionData {
    /// Its name.
    pub name: String,
    /// Its expression.
    pub expression: String,
    /// `ns`, or empty for counts and ratios.
    pub unit: String,
    /// True if logarithms are compared.
    pub logarithmic: bool,
    /// Its weight.
    pub factor: f64,
    /// Minimum of the points.
    pub low: Option<f64>,
    /// Maximum of the points.
    pub high: Option<f64>,
}

/// A radius that was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TriedData {
    /// The radius.
    pub eps: f64,
    /// Number of clusters with it.
    pub clusters: u64,
    /// Number of points in none; null in refinement.
    pub noise: Option<u64>,
    /// Share of the time in clusters; null in refinement.
    pub time_share: Option<f64>,
    /// Their sequence score.
    pub spmd_score: Option<f64>,
}

/// The clustered subset of all points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SubsetData {
    /// The rule, as the user wrote it.
    pub rule: String,
    /// Number of points that were clustered; the others took the label of the nearest.
    pub points: u64,
    /// Their share of all points.
    pub share: f64,
}

/// Comparison of clusters of a subset with those of all points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CheckData {
    /// The radius with which all points were clustered; null where each cluster has its own.
    pub eps: Option<f64>,
    /// Adjusted Rand index: 1 for the same clusters.
    pub adjusted_rand: Option<f64>,
    /// Number of clusters of all points that were lost: less than half of their points are
    /// together.
    pub lost: u64,
    /// Recovery of each cluster of all points.
    pub clusters: Vec<KeptData>,
}

/// Recovery of one cluster of all points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct KeptData {
    /// Its number among those of all points.
    pub id: u32,
    /// Number of its points.
    pub points: u64,
    /// The cluster that has most of them; null if none has any.
    pub found: Option<u32>,
    /// The share of its points in that one.
    pub recall: f64,
    /// The share of that one's points that come from it.
    pub precision: f64,
}

/// One cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ClusterRow {
    /// From 1, by time.
    pub id: u32,
    /// Number of its bursts.
    pub points: u64,
    /// Number of ranks that have it.
    pub ranks: u64,
    /// The sum of their durations.
    pub time_ns: f64,
    /// Share of the time of all points.
    pub time_share: Option<f64>,
    /// Mean duration.
    pub mean_duration_ns: Option<f64>,
    /// Median duration.
    pub median_duration_ns: Option<f64>,
    /// Its middle, in the units of the dimensions and in their order: means, of logarithms where
    /// those are compared.
    pub centroid: Vec<f64>,
    /// Minimum of each dimension.
    pub low: Vec<f64>,
    /// Maximum of each dimension.
    pub high: Vec<f64>,
    /// The radius of its clustering.
    pub eps: f64,
    /// Similarity of the ranks' timing of it, 0 to 1.
    pub spmd_score: Option<f64>,
    /// Instructions per cycle: sums divided, not a mean of ratios.
    pub ipc: Option<f64>,
    /// Million instructions per second.
    pub mips: Option<f64>,
    /// Place in the source with most of its time.
    pub site: Option<ClusterSite>,
    /// Each counter, completed where sets take turns.
    pub counters: Vec<CounterData>,
}

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ClusterSite {
    /// The function.
    pub function: String,
    /// Its line, as in the trace; empty where unknown.
    pub line: String,
    /// Share of the cluster's time there.
    pub share: f64,
}

/// One counter of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CounterData {
    /// Its name.
    pub name: String,
    /// Number of bursts that have it; 0: it is absent here.
    pub measured: u64,
    /// Their mean.
    pub mean: Option<f64>,
    /// Its sum over all bursts of the cluster, if those without it are like those with it.
    pub extrapolated: Option<f64>,
}

/// Points of a scatter plot, of two dimensions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScatterData {
    /// The displayed dimensions; the second is missing where there is only one.
    pub axes: Vec<usize>,
    /// In the units of the dimensions.
    pub marks: Vec<ScatterMark>,
    /// Number of points that they represent.
    pub points: u64,
}

/// One mark: a point, or several at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScatterMark {
    /// To the right.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Number of points that it represents.
    pub points: u64,
    /// The cluster; 0 for noise.
    pub cluster: u32,
}

/// Bursts over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterTimeline {
    /// Begin, in nanoseconds since the start.
    pub from: u64,
    /// End.
    pub to: u64,
    /// From top to bottom.
    pub rows: Vec<ClusterRowTimeline>,
    /// Number of ranks that the rows represent.
    pub ranks: u64,
}

/// One row: a rank, or neighbours that are drawn as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterRowTimeline {
    /// Its rank or ranks.
    pub name: String,
    /// Stretches by time; gaps between them are not computation, or were left out.
    pub spans: Vec<ClusterSpan>,
}

/// A stretch of one cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClusterSpan {
    /// Nanoseconds since the start.
    pub begin: u64,
    /// Nanoseconds since the start.
    pub end: u64,
    /// The cluster; 0 for noise.
    pub cluster: u32,
    /// Number of bursts in it.
    pub bursts: u32,
}

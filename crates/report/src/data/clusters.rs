//! What clusters of bursts are shown with: the public JSON of `talea cluster` and `talea track`, key by key.
//!
//! Owns the shape and the names; every field name is a key of the JSON, but for what pictures alone need, which is not written. Times are
//! nanoseconds, shares 0 to 1, null is absent. It computes nothing.

use serde::Serialize;
use talea_model::Gaps;

/// The clusters of one input.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClusterData {
    /// The input as the user named it.
    pub input: String,
    /// What a reader knows it by, in titles.
    #[serde(skip)]
    pub name: String,
    /// What bursts are: `states`, `calls`, `regions` or `table`.
    pub source: String,
    /// Bursts of the input.
    pub bursts: u64,
    /// The part of it that is looked at; null for a table.
    pub span_ns: Option<SpanData>,
    /// Those that were clustered.
    pub points: u64,
    /// Ranks (threads, where ranks have several) with bursts.
    pub ranks: u64,
    /// Time of all bursts in that part.
    pub time_ns: Option<f64>,
    /// Share of it in the points.
    pub points_time_share: Option<f64>,
    /// Bursts that are no points, by reason.
    pub left_out: Vec<LeftOutData>,
    /// What bursts are compared by.
    pub dimensions: Vec<DimensionData>,
    /// Edges of the flow graph, of the calls at both ends of a burst, that tell points apart; null where they were not used.
    pub edges: Option<u64>,
    /// The radius; null where each cluster has its own.
    pub eps: Option<f64>,
    /// Points with this many neighbours, themselves included, make a cluster.
    pub min_points: u64,
    /// Where the radius is from: `given`, `knee`, `score`, `alike` or `refinement`.
    pub eps_from: String,
    /// Radii that were tried for it.
    pub tried: Vec<TriedData>,
    /// What was clustered, if not all points.
    pub subset: Option<SubsetData>,
    /// The clusters beside those of all points.
    pub check: Option<CheckData>,
    /// By time, the longest first.
    pub clusters: Vec<ClusterRow>,
    /// Points in no cluster.
    pub noise: u64,
    /// Share of the points' time in noise.
    pub noise_time_share: Option<f64>,
    /// How much the ranks do the same at the same time, 0 to 1.
    pub spmd_score: Option<f64>,
    /// What matters, a sentence each.
    pub findings: Vec<String>,
    /// What is missing.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SpanData {
    /// From the start of the trace.
    pub begin: u64,
    /// Behind the begin.
    pub end: u64,
    /// `between-init-and-finalize`, `whole` or `asked`.
    pub chosen: String,
}

/// Bursts that were left out for one reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LeftOutData {
    /// In words.
    pub reason: String,
    /// How many.
    pub bursts: u64,
    /// Their share of all time.
    pub time_share: Option<f64>,
}

/// One dimension.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DimensionData {
    /// What it is called.
    pub name: String,
    /// How it is computed.
    pub expression: String,
    /// `ns`, or empty for counts and ratios.
    pub unit: String,
    /// True if logarithms are compared.
    pub logarithmic: bool,
    /// How much it counts.
    pub factor: f64,
    /// The least of the points.
    pub low: Option<f64>,
    /// The most of the points.
    pub high: Option<f64>,
}

/// A radius that was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TriedData {
    /// The radius.
    pub eps: f64,
    /// Clusters with it.
    pub clusters: u64,
    /// Points in none; null in refinement.
    pub noise: Option<u64>,
    /// Share of the time in clusters; null in refinement.
    pub time_share: Option<f64>,
    /// Their sequence score.
    pub spmd_score: Option<f64>,
}

/// What was clustered of all points.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SubsetData {
    /// The rule, as the user wrote it.
    pub rule: String,
    /// Points that were clustered; the others took the label of the nearest.
    pub points: u64,
    /// Their share of all points.
    pub share: f64,
}

/// Clusters from a subset beside those of all points.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CheckData {
    /// The radius with which all points were clustered; null where each cluster has its own.
    pub eps: Option<f64>,
    /// Adjusted Rand index: 1 for the same clusters.
    pub adjusted_rand: Option<f64>,
    /// Clusters of all points that were lost: less than half of their points are together.
    pub lost: u64,
    /// What became of each cluster of all points.
    pub clusters: Vec<KeptData>,
}

/// What became of one cluster of all points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct KeptData {
    /// Its number among those of all points.
    pub id: u32,
    /// Its points.
    pub points: u64,
    /// The cluster that has most of them; null if none has any.
    pub found: Option<u32>,
    /// The share of its points in that one.
    pub recall: f64,
    /// The share of that one's points that come from it.
    pub precision: f64,
}

/// One cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClusterRow {
    /// From 1, by time.
    pub id: u32,
    /// Its bursts.
    pub points: u64,
    /// Ranks that have it.
    pub ranks: u64,
    /// The sum of their durations.
    pub time_ns: f64,
    /// Share of the time of all points.
    pub time_share: Option<f64>,
    /// Mean duration.
    pub mean_duration_ns: Option<f64>,
    /// Median duration.
    pub median_duration_ns: Option<f64>,
    /// Its middle, in the units of the dimensions and in their order: means, of logarithms where those are compared.
    pub centroid: Vec<f64>,
    /// The least of each dimension.
    pub low: Vec<f64>,
    /// The most of each dimension.
    pub high: Vec<f64>,
    /// The radius that made it.
    pub eps: f64,
    /// How much the ranks do it at the same time, 0 to 1.
    pub spmd_score: Option<f64>,
    /// Instructions per cycle: sums divided, not a mean of ratios.
    pub ipc: Option<f64>,
    /// Million instructions per second.
    pub mips: Option<f64>,
    /// Where in the source most of its time is.
    pub site: Option<ClusterSite>,
    /// Each counter, made whole where sets take turns.
    pub counters: Vec<CounterData>,
}

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClusterSite {
    /// The function.
    pub function: String,
    /// Its line, as the trace says it; empty where it does not.
    pub line: String,
    /// Share of the cluster's time there.
    pub share: f64,
}

/// One counter of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CounterData {
    /// Its name.
    pub name: String,
    /// Bursts that have it; 0: it is absent here.
    pub measured: u64,
    /// Their mean.
    pub mean: Option<f64>,
    /// Its sum over all bursts of the cluster, if those without it are like those with it.
    pub extrapolated: Option<f64>,
}

/// Points of a scatter plot, of two dimensions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScatterData {
    /// The dimensions that are drawn; the second is missing where there is only one.
    pub axes: Vec<usize>,
    /// In the units of the dimensions.
    pub marks: Vec<ScatterMark>,
    /// Points that they stand for.
    pub points: u64,
}

/// One mark: a point, or several at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScatterMark {
    /// To the right.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Points that it stands for.
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
    /// Ranks that the rows stand for.
    pub ranks: u64,
}

/// One row: a rank, or neighbours that are drawn as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterRowTimeline {
    /// Whose.
    pub name: String,
    /// Stretches by time; what is between is not computation, or was left out.
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
    /// Bursts in it.
    pub bursts: u32,
}

/// Clusters followed over runs or windows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TrackData {
    /// What frames are: `runs` or `windows`.
    pub of: String,
    /// True where counts were multiplied by the ranks of their frame, so that strong scaling keeps them.
    pub per_task: bool,
    /// What bursts are compared by, on one scale for all frames.
    pub dimensions: Vec<DimensionData>,
    /// Whether the calls at both ends of bursts tell them apart.
    pub edges: bool,
    /// In the order of the command line, or of time.
    pub frames: Vec<FrameData>,
    /// What was followed, by time in all frames.
    pub objects: Vec<ObjectData>,
    /// What matters, a sentence each.
    pub findings: Vec<String>,
    /// What is missing.
    pub gaps: Gaps,
}

/// One run, or one window.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FrameData {
    /// What it is called.
    pub name: String,
    /// Ranks with bursts.
    pub ranks: u64,
    /// Begin, in nanoseconds since the start of the trace.
    pub begin_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Bursts.
    pub bursts: u64,
    /// Those that were clustered.
    pub points: u64,
    /// The radius.
    pub eps: f64,
    /// Points with this many neighbours make a cluster.
    pub min_points: u64,
    /// Clusters.
    pub clusters: u64,
    /// Points in none.
    pub noise: u64,
    /// Time of all points.
    pub time_ns: f64,
    /// How much ranks do the same at the same time.
    pub spmd_score: Option<f64>,
    /// Share of the earlier frame's time, and of this one's, in clusters that match; null for the first.
    pub matched: Option<[Option<f64>; 2]>,
    /// True if both are enough.
    pub is_equivalent: Option<bool>,
    /// Equivalent frames in a row so far.
    pub in_a_row: u64,
    /// True if those are enough.
    pub is_stable: bool,
    /// How far requisites had been lowered when it was matched.
    pub lowered: u64,
    /// The requisites: margin, share, likeness.
    pub requisites: [f64; 3],
}

/// One kind of computation through all frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ObjectData {
    /// From 1, by time in all frames.
    pub id: u32,
    /// Where in the source most of its time is.
    pub site: Option<ClusterSite>,
    /// One for each frame; null where it is not there.
    pub frames: Vec<Option<ObjectFrame>>,
}

/// One object in one frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ObjectFrame {
    /// The frame's clusters that it is.
    pub clusters: Vec<u32>,
    /// Its bursts.
    pub points: u64,
    /// Time.
    pub time_ns: f64,
    /// Share of the time of the frame's points.
    pub time_share: Option<f64>,
    /// Mean duration of its bursts.
    pub mean_duration_ns: Option<f64>,
    /// Means of the dimensions in their units.
    pub centroid: Vec<f64>,
    /// Instructions per cycle.
    pub ipc: Option<f64>,
    /// Instructions of all its bursts.
    pub instructions: Option<f64>,
    /// How much the ranks do it at the same time.
    pub spmd_score: Option<f64>,
}

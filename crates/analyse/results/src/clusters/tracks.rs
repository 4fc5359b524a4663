//! Clusters tracked over runs or windows: frames, and objects through them.
//!
//! Owns the result of `talea track`; sites and dimensions are those of clusters.

use schemars::JsonSchema;
use serde::Serialize;
use talea_model::Gaps;

use super::{ClusterSite, DimensionData};

/// Clusters tracked over runs or windows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TrackData {
    /// Kind of frames: `runs` or `windows`.
    pub of: String,
    /// True where counts were multiplied by the ranks of their frame, so that strong scaling keeps
    /// them.
    pub per_task: bool,
    /// Dimensions in which bursts are compared, on one scale for all frames.
    pub dimensions: Vec<DimensionData>,
    /// True if the calls at the two ends of bursts separate them.
    pub edges: bool,
    /// Frames in the order of the command line, or of time.
    pub frames: Vec<FrameData>,
    /// Tracked objects, by time in all frames.
    pub objects: Vec<ObjectData>,
    /// Findings, a sentence each.
    pub findings: Vec<String>,
    /// Gaps.
    pub gaps: Gaps,
}

/// One run, or one window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FrameData {
    /// Its name.
    pub name: String,
    /// Number of ranks with bursts.
    pub ranks: u64,
    /// Begin, in nanoseconds since the start of the trace.
    pub begin_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Number of bursts.
    pub bursts: u64,
    /// Number of those that were clustered.
    pub points: u64,
    /// The radius.
    pub eps: f64,
    /// Points with this many neighbours form a cluster.
    pub min_points: u64,
    /// Number of clusters.
    pub clusters: u64,
    /// Number of points in none.
    pub noise: u64,
    /// Time of all points.
    pub time_ns: f64,
    /// Similarity of the ranks' behaviour at the same time.
    pub spmd_score: Option<f64>,
    /// Share of the earlier frame's time, and of this one's, in clusters that match; null for the
    /// first.
    pub matched: Option<[Option<f64>; 2]>,
    /// True if the two shares suffice.
    pub is_equivalent: Option<bool>,
    /// Number of equivalent frames in a row so far.
    pub in_a_row: u64,
    /// True if those suffice.
    pub is_stable: bool,
    /// Number of times that requisites had been lowered when it was matched.
    pub lowered: u64,
    /// The requisites: margin, share, likeness.
    pub requisites: [f64; 3],
}

/// One kind of computation through all frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ObjectData {
    /// From 1, by time in all frames.
    pub id: u32,
    /// Place in the source with most of its time.
    pub site: Option<ClusterSite>,
    /// One for each frame; null where it is absent.
    pub frames: Vec<Option<ObjectFrame>>,
    /// The object that its clusters become a part of in the frame after its last one; null where
    /// they do not.
    pub joins: Option<u32>,
}

/// One object in one frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ObjectFrame {
    /// Its clusters in the frame.
    pub clusters: Vec<u32>,
    /// Number of its bursts.
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
    /// Similarity of the ranks' timing of it.
    pub spmd_score: Option<f64>,
}

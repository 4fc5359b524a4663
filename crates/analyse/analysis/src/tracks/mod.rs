//! The same kinds of computation in runs of different scales, or in windows of one run.
//!
//! Owns the steps from inputs to tracked objects. [`frames`] reads, [`follow`] clusters each frame
//! on one scale and matches, [`radius`] finds the radius and the use of calls, [`sites`] finds the
//! same calls in other versions of a program, [`fill`] makes the data that text, JSON and pictures
//! show.

mod fill;
mod follow;
mod frames;
mod radius;
mod sites;

use std::path::PathBuf;

use talea_cluster::classify::ClassifyError;
use talea_cluster::dimension::DimensionError;
use talea_cluster::prepare::PrepareError;
use talea_metric::measure::Part;
use talea_model::{Nanos, Trace};
use talea_report::data::clusters::TrackData;

use crate::Progress;
use crate::clusters::{self, Source, SourceError, StudyError, source};

/// Inputs and options of tracking.
#[derive(Clone, Debug)]
pub struct Options {
    /// Traces, runs or tables: one, if there are windows.
    pub inputs: Vec<PathBuf>,
    /// Windows of one input.
    pub windows: Option<Windows>,
    /// Multiplication of counts by ranks.
    pub per_task: PerTask,
    /// Options of the clustering of each frame.
    pub clusters: clusters::Options,
}

/// Windows of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    /// This many of the same length.
    Count(u64),
    /// Of this length.
    Each(Nanos),
}

/// Multiplication of counts by the ranks of their frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PerTask {
    /// If frames have different numbers of ranks.
    #[default]
    Auto,
    /// The whole problem is the same: strong scaling.
    Yes,
    /// The part of a rank is the same: weak scaling.
    No,
}

/// Errors of tracking.
#[derive(Debug, thiserror::Error)]
pub enum TrackError {
    /// An input.
    #[error(transparent)]
    Input(#[from] SourceError),
    /// Too few frames.
    #[error("expected at least 2 inputs, or one with --windows, found {0}")]
    Few(usize),
    /// Windows of several inputs.
    #[error("expected one input with --windows, found {0}")]
    Many(usize),
    /// An impossible number of windows.
    #[error("expected 2 to {most} windows, found {found}", most = frames::MOST_WINDOWS)]
    Windows {
        /// Number of windows.
        found: u64,
    },
    /// No frame has a cluster.
    #[error("expected bursts to follow, found none that pass in any frame")]
    Empty,
    /// No times to make windows of.
    #[error("expected bursts with times for --windows, found a table without `begin` and `end`")]
    NoTimes,
    /// Dimensions.
    #[error("{source}: `{frame}`")]
    Dimension {
        /// The error of the dimension.
        source: DimensionError,
        /// The frame.
        frame: String,
    },
    /// Options that do not fit.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// Preparation.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// Clustering.
    #[error(transparent)]
    Cluster(#[from] ClassifyError),
}

/// The clusters of windows of a trace, with default options, for a report. `None` where there is
/// nothing to track.
pub fn of_windows(trace: &Trace, windows: u64) -> Option<TrackData> {
    let (bursts, part) = source::bursts_of(trace, None, Part::default()).ok()?;
    let source = Source { bursts, part, trace: None, has_records: false, seconds: 0.0 };
    let options = Options {
        inputs: Vec::new(),
        windows: Some(Windows::Count(windows)),
        per_task: PerTask::Auto,
        clusters: clusters::Options::default(),
    };
    let sources = [source];
    let mut frames = frames::frames(&sources, &options).ok()?;
    for frame in &mut frames {
        frame.trace = Some(trace);
    }
    let followed = follow::follow(&frames, &options).ok()?;
    Some(fill::data(&frames, &followed, &options))
}

/// Reads the inputs, clusters each frame, and tracks the clusters.
pub fn track(options: &Options, progress: Progress<'_>) -> Result<TrackData, TrackError> {
    let sources = frames::load(options, &mut *progress)?;
    let frames = frames::frames(&sources, options)?;
    progress("clustering");
    let followed = follow::follow(&frames, options)?;
    Ok(fill::data(&frames, &followed, options))
}

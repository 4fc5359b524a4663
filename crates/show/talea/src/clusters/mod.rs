//! `talea cluster`: groups of similar stretches of computation.
//!
//! Owns the output; clusters are `talea-analysis`'s.

mod outputs;
mod text;

use std::path::PathBuf;

use talea_analysis::clusters::{self, LabelledError, SourceError};
use talea_analysis::tracks::TrackError;

use crate::exit::{Exit, Expected};
use crate::terminal::Progress;

pub(crate) use outputs::{print, write_file};
pub(crate) use text::compared;

/// Options of `talea cluster`.
#[derive(Debug)]
pub(crate) struct Options {
    /// A trace, a run, or a table.
    pub(crate) input: PathBuf,
    /// Options of clustering.
    pub(crate) analysis: clusters::Options,
    /// Files to write.
    pub(crate) out: Out,
}

/// Files to write; without any, text on standard output.
#[derive(Debug, Default)]
pub(crate) struct Out {
    pub(crate) prv: Option<PathBuf>,
    pub(crate) svg: Option<PathBuf>,
    pub(crate) html: Option<PathBuf>,
    pub(crate) timeline: Option<PathBuf>,
    pub(crate) csv: Option<PathBuf>,
    pub(crate) labels: Option<PathBuf>,
    pub(crate) json: bool,
}

/// Errors of `talea cluster` and `talea track`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterError {
    /// An output that the input does not have.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The input, and options that do not fit it.
    #[error(transparent)]
    Cluster(#[from] clusters::ClusterError),
    /// Tracking.
    #[error(transparent)]
    Track(#[from] TrackError),
    /// A file.
    #[error("cannot write: {source}: `{}`", path.display())]
    Write {
        /// Error of the system.
        source: std::io::Error,
        /// The file.
        path: PathBuf,
    },
    /// A trace with clusters.
    #[error(transparent)]
    Labelled(#[from] LabelledError),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
}

impl Expected for ClusterError {
    fn exit(&self) -> Exit {
        match self {
            Self::Output(error) => Exit::of_output(error),
            Self::Source(error) | Self::Cluster(clusters::ClusterError::Source(error)) => {
                error.exit()
            }
            Self::Track(error) => error.exit(),
            Self::Labelled(LabelledError::Input(error)) => error.exit(),
            _ => Exit::Input,
        }
    }
}

/// Reads, clusters, writes.
pub(crate) fn cluster(options: &Options) -> Result<(), ClusterError> {
    let mut progress = Progress::new();
    let mut clustered =
        clusters::cluster(&options.input, &options.analysis, &mut progress.steps())?;
    progress.step("writing");
    outputs::write(options, &mut clustered, progress)
}

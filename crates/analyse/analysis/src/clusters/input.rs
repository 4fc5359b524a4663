//! From a path to clusters.
//!
//! Owns reading the input, its names and gaps in the result, and the seconds of each stage.

use std::path::{Path, PathBuf};
use std::time::Instant;

use talea_model::Trace;
use talea_results::clusters::ClusterData;

use super::{
    Names, Options, RestError, SourceError, Study, StudyError, complete, data, source, study,
};
use crate::{Progress, input};

/// Clusters of an input.
#[derive(Debug)]
pub struct Clustered {
    /// The trace; absent for a table.
    pub trace: Option<Trace>,
    /// True if the trace has all of its records; that of a run mostly has only those of samples.
    pub has_records: bool,
    /// Bursts and their clusters.
    pub study: Study,
    /// The result.
    pub data: ClusterData,
}

/// Errors of clustering an input.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The input.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Options that do not fit the input.
    #[error("{source}: `{}`", path.display())]
    Study {
        /// The error of the study.
        source: StudyError,
        /// The input.
        path: PathBuf,
    },
}

/// Reads a trace, a run or a table, and clusters its bursts.
pub fn cluster(
    path: &Path,
    options: &Options,
    progress: Progress<'_>,
) -> Result<Clustered, ClusterError> {
    let begin = Instant::now();
    let source = source::load(path, options, &mut *progress)?;
    let read = begin.elapsed().as_secs_f64() - source.seconds;
    progress("clustering");
    let failed = |source| ClusterError::Study { source, path: path.to_owned() };
    let mut study = study(source.bursts, source.part, options).map_err(failed)?;
    let from = (path, source.trace.as_ref());
    complete(&mut study, from, options, &mut *progress).map_err(|error| match error {
        RestError::Input(error) => SourceError::from(error).into(),
        RestError::Study(error) => failed(error),
    })?;
    let mut data =
        data(&study, &Names::from_trace(source.trace.as_ref()), &path.display().to_string());
    data.name = input::known_as(path);
    if let Some(trace) = &source.trace {
        data.gaps.merge(trace.gaps.clone());
    }
    data.seconds.read = read;
    data.seconds.bursts = source.seconds;
    Ok(Clustered { trace: source.trace, has_records: source.has_records, study, data })
}

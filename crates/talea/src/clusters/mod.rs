//! `talea cluster`: groups of similar stretches of computation.
//!
//! Owns the steps from an input to clusters, and the output. [`source`] finds bursts, [`points`] makes points of them, [`search`] clusters
//! those; [`study`] has the whole result. [`fill`] makes the data that text, JSON, pictures and pages show; the report calls [`data`].

mod drawn;
mod fill;
mod findings;
mod labelled;
mod options;
mod outputs;
mod points;
mod search;
pub(crate) mod source;
pub(crate) mod study;
mod text;

use std::path::PathBuf;
use std::time::Instant;

use talea_metric::measure::{MeasureError, Part};
use talea_model::Trace;
use talea_report::data::clusters::ClusterData;

use crate::convert::paraver::SaveError;
use crate::exit::{Exit, Expected};
use talea_analysis::input::{self, InputError};
use crate::terminal::Progress;

pub(crate) use fill::{Names, dimension_data, mean, place as site_of, sums};
pub(crate) use findings::{place as site_name, score};
pub(crate) use options::{Analysis, Edges, Eps, SubsetRule, subset};
pub(crate) use outputs::{print, write_file};
pub(crate) use points::{described, dimensions, may_use_edges};
pub(crate) use source::Source;
pub(crate) use study::{Study, StudyError};
pub(crate) use text::compared;

/// Options of `talea cluster`.
#[derive(Debug)]
pub(crate) struct Options {
    /// A trace, a run, or a table.
    pub(crate) input: PathBuf,
    /// Options of clustering.
    pub(crate) analysis: Analysis,
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

/// Errors of `talea cluster`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterError {
    /// The input.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A table.
    #[error("{source}: `{}`", path.display())]
    Table {
        /// The error of the table.
        source: talea_formats::table::TableError,
        /// The file.
        path: PathBuf,
    },
    /// An empty part.
    #[error("{source}: `{}`", path.display())]
    Part {
        /// The error of the part.
        source: MeasureError,
        /// The input.
        path: PathBuf,
    },
    /// Options that do not fit the input.
    #[error("{source}: `{}`", path.display())]
    Study {
        /// The error of the study.
        source: StudyError,
        /// The input.
        path: PathBuf,
    },
    /// An option for another kind of input.
    #[error("{option} needs a trace or a run, the input is a table: `{}`", path.display())]
    NoTrace {
        /// The option.
        option: &'static str,
        /// The input.
        path: PathBuf,
    },
    /// A file.
    #[error("cannot write: {source}: `{}`", path.display())]
    Write {
        /// Error of the system.
        source: std::io::Error,
        /// The file.
        path: PathBuf,
    },
    /// A labelled trace.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
}

impl Expected for ClusterError {
    fn exit(&self) -> Exit {
        match self {
            Self::Output(error) => Exit::of_output(error),
            Self::Input(error) => error.exit(),
            _ => Exit::Input,
        }
    }
}

/// Reads, clusters, writes.
pub(crate) fn cluster(options: &Options) -> Result<(), ClusterError> {
    let mut progress = Progress::new();
    let begin = Instant::now();
    let source = source::load(&options.input, &options.analysis, &mut progress)?;
    let read = begin.elapsed().as_secs_f64() - source.seconds;
    progress.step("clustering");
    let study = study::study(source.bursts, source.part, &options.analysis)
        .map_err(|source| ClusterError::Study { source, path: options.input.clone() })?;
    let path = options.input.display().to_string();
    let names = Names::of(source.trace.as_ref());
    let mut data = fill::data(&study, &names, &path);
    data.name = input::known_as(&options.input);
    if let Some(trace) = &source.trace {
        data.gaps.merge(trace.gaps.clone());
    }
    data.seconds.read = read;
    data.seconds.bursts = source.seconds;
    progress.step("writing");
    outputs::write(options, source.trace, &study, &data, progress)
}

/// The clusters of a part of a trace, with default options, for a report. `None` where there is nothing to cluster.
pub(crate) fn data(trace: &Trace, part: Part, name: &str) -> Option<ClusterData> {
    let (bursts, looked) = source::bursts_of(trace, part).ok()?;
    let study = study::study(bursts, looked, &Analysis::default()).ok()?;
    Some(fill::data(&study, &Names::of(Some(trace)), name))
}

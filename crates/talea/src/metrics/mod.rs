//! `talea metrics`: efficiency of a run, and metrics from its counters.
//!
//! Owns the steps from inputs to tables: each input is read and measured ([`study`]), then all are printed together as text, JSON or
//! CSV. The definitions of metrics are `talea_metric`'s; JSON keys are documented in the command's help and do not change.

mod clusters;
mod csv;
mod figure;
mod json;
mod models;
mod study;
mod text;
mod tree;

use std::io::{self, Write};
use std::path::PathBuf;

use talea_metric::Expression;
use talea_metric::efficiency::Scaling;
use talea_metric::measure::{MeasureError, Part};

use crate::exit::{Exit, Expected};
use crate::terminal::Progress;
use talea_analysis::input::{self, InputError};

/// Options of `talea metrics`.
#[derive(Debug)]
pub(crate) struct Options {
    /// Runs and traces; the first is the reference.
    pub(crate) inputs: Vec<PathBuf>,
    /// Rows of the comparison.
    pub(crate) rows: Rows,
    /// Files and folders of metrics.
    pub(crate) models: Vec<PathBuf>,
    /// Metrics of the user.
    pub(crate) expressions: Vec<Own>,
    /// Part of each input.
    pub(crate) part: Part,
    /// Scaling between inputs.
    pub(crate) scaling: Scaling,
    /// Form of the output.
    pub(crate) format: Format,
    /// True if the text lists metrics without a value.
    pub(crate) all: bool,
}

/// A metric that the user defines.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    /// Its name.
    pub(crate) name: String,
    /// Expression of counters and of other metrics.
    pub(crate) expression: Expression,
}

/// Subjects of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Whole runs.
    Run,
    /// Ranks.
    Rank,
    /// Clusters of bursts.
    Cluster,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For spreadsheets.
    Csv,
}

/// Errors of `talea metrics`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MetricsError {
    /// The input.
    #[error("{0}")]
    Input(#[from] InputError),
    /// The input has nothing to measure.
    #[error("{source}: `{}`", path.display())]
    Measure {
        /// The error of measurement.
        source: MeasureError,
        /// The input.
        path: PathBuf,
    },
    /// A file of metrics cannot be read.
    #[error("cannot read the model: {source}: `{}`", path.display())]
    Read {
        /// Error of the system.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// A file without metrics.
    #[error("{what}: `{}`", path.display())]
    Model {
        /// The expected content.
        what: String,
        /// The file.
        path: PathBuf,
    },
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Expected for MetricsError {
    fn exit(&self) -> Exit {
        match self {
            Self::Output(error) => Exit::of_output(error),
            _ => Exit::Input,
        }
    }
}

/// Computes and prints.
pub(crate) fn metrics(options: &Options) -> Result<(), MetricsError> {
    let mut progress = Progress::new();
    let models = models::load(options)?;
    let mut studies = Vec::with_capacity(options.inputs.len());
    for path in &options.inputs {
        let input = input::load(path, &mut progress.steps())?;
        progress.step("measuring");
        let study = study::Study::new(path, &input.trace, options.part, &models);
        let mut study =
            study.map_err(|source| MetricsError::Measure { source, path: path.clone() })?;
        study.note_crowding(&input.crowding);
        if options.rows == Rows::Cluster {
            study.clusters = clusters::of(&input.trace, options.part, &models, &mut study.gaps);
        }
        studies.push(study);
    }
    study::compare(&mut studies, options.scaling);
    drop(progress);
    let text = match options.format {
        Format::Text => text::text(&studies, options.rows, options.all),
        Format::Json => json::json(&studies),
        Format::Csv => csv::csv(&studies),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

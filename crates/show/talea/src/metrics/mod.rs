//! `talea metrics`: efficiency of a run, and metrics from its counters.
//!
//! Owns the forms of the output: text, JSON and CSV. Measuring is `talea-analysis`'s; JSON keys are
//! documented in the command's help and do not change.

mod csv;
mod figure;
mod heads;
mod text;
mod tree;

use std::io::{self, Write};
use std::path::Path;

use talea_analysis::metrics::{self, MetricsError};
use talea_report::data::metrics::MetricsData;

use crate::exit::{Exit, Expected};
use crate::terminal::Progress;

/// Options of `talea metrics`.
#[derive(Debug)]
pub(crate) struct Options {
    /// Inputs and options of measuring.
    pub(crate) how: metrics::Options,
    /// Rows of the comparison.
    pub(crate) rows: Rows,
    /// Form of the output.
    pub(crate) format: Format,
    /// True if the text lists metrics without a value.
    pub(crate) all: bool,
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
pub(crate) enum Error {
    /// Measuring.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Expected for Error {
    fn exit(&self) -> Exit {
        match self {
            Self::Output(error) => Exit::of_output(error),
            Self::Metrics(_) => Exit::Input,
        }
    }
}

/// Computes and prints.
pub(crate) fn metrics(options: &Options) -> Result<(), Error> {
    let mut progress = Progress::new();
    let mut studies = metrics::measure(&options.how, &mut progress.steps())?;
    drop(progress);
    let paths: Vec<&Path> = options.how.inputs.iter().map(AsRef::as_ref).collect();
    for (study, head) in studies.iter_mut().zip(heads::heads(&paths, heads::most_of_head())) {
        study.head = head;
    }
    let text = match options.format {
        Format::Text => text::text(&studies, options.rows, options.all),
        Format::Json => json(&studies.iter().map(metrics::data).collect::<Vec<_>>()),
        Format::Csv => csv::csv(&studies),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// One object, or an array of them for several inputs.
fn json(inputs: &[MetricsData]) -> String {
    let text = match inputs {
        [one] => serde_json::to_string_pretty(one),
        all => serde_json::to_string_pretty(all),
    };
    // Keys are texts and non-finite numbers become null, so that nothing can fail.
    text.unwrap_or_default() + "\n"
}

//! `talea show`: one view of a run in the terminal, or as JSON.
//!
//! Owns the way from a run to a view and how it is printed; each view is in a file of its name.
//! JSON keys are documented in the help of each view and do not change.

mod calls;
mod classes;
mod collection;
mod graph;
mod growth;
mod hosts;
mod matrix;
mod samples;
mod stats;
mod structure;

use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;
use talea_model::Rank;
use talea_run::directory::WriteError;

use crate::exit::{Exit, Expected};
use crate::terminal::{Progress, prose, wrapped};
use talea_analysis::Analysis;
use talea_analysis::views::{self, Plan, ViewError};
use talea_run::load;

/// View with its options.
#[derive(Debug)]
pub(crate) struct Options {
    /// Run directory, or a file in it.
    pub(crate) run: PathBuf,
    /// Which view.
    pub(crate) view: View,
}

/// The views.
#[derive(Debug)]
pub(crate) enum View {
    /// Loops and calls as a tree.
    Structure {
        /// This rank instead of one of each class.
        rank: Option<Rank>,
        /// Of its threads this one only.
        thread: Option<u32>,
        /// Text or JSON.
        format: Format,
    },
    /// The flow graph.
    Graph {
        /// This rank instead of the largest class.
        rank: Option<Rank>,
        /// Of its threads this one instead of the first.
        thread: Option<u32>,
        /// A picture.
        svg: Option<PathBuf>,
        /// Text, JSON or DOT.
        format: GraphFormat,
    },
    /// Counts and sizes.
    Stats {
        /// Text or JSON.
        format: Format,
    },
    /// Call sites.
    Calls {
        /// The unit of a row; without it the format decides.
        by: Option<CallsBy>,
        /// Text or JSON.
        format: Format,
    },
    /// Bytes and messages from rank to rank.
    Matrix {
        /// Text or JSON.
        format: Format,
    },
    /// Ranks that behave alike.
    Classes {
        /// Text or JSON.
        format: Format,
    },
    /// Iterations that smart collection would keep.
    Collection {
        /// This rank instead of the largest class.
        rank: Option<Rank>,
        /// Of its threads this one instead of the first.
        thread: Option<u32>,
        /// The choice.
        plan: Plan,
        /// Text or JSON.
        format: Format,
    },
    /// The graph over time.
    Growth {
        /// This rank instead of all.
        rank: Option<Rank>,
        /// Of its threads this one only.
        thread: Option<u32>,
        /// Text or JSON.
        format: Format,
    },
    /// Where ranks ran.
    Hosts {
        /// Text or JSON.
        format: Format,
    },
    /// Where threads were.
    Samples {
        /// This rank only.
        rank: Option<Rank>,
        /// Text or JSON.
        format: Format,
    },
}

/// The unit of a row of call sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CallsBy {
    /// Each call path
    Path,
    /// Each line of the source and procedure, all paths to it together
    Line,
    /// Each routine of the program, all its calls together
    Routine,
}

/// How a view is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// How the graph is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GraphFormat {
    /// The language of Graphviz.
    Dot,
    /// As the other views.
    Other(Format),
}

/// Why a view cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShowError {
    /// The view.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The picture.
    #[error("{0}")]
    Write(#[from] WriteError),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Expected for ShowError {
    fn exit(&self) -> Exit {
        match self {
            Self::Output(error) => Exit::of_output(error),
            _ => Exit::Input,
        }
    }
}

/// Shows a view.
pub(crate) fn show(options: &Options) -> Result<(), ShowError> {
    if let View::Samples { rank, format } = &options.view {
        let mut out = io::stdout().lock();
        out.write_all(samples::show(&options.run, *rank, *format)?.as_bytes())?;
        return Ok(out.flush()?);
    }
    let mut progress = Progress::new();
    progress.step("reading");
    let run = load::load(&options.run).map_err(ViewError::from)?;
    let analysis = Analysis::new(&run, &mut progress.steps());
    drop(progress);
    analysis.unusable.iter().for_each(|reason| crate::terminal::say(&reason.to_string()));
    analysis.not_packed.iter().for_each(|reason| crate::terminal::say(&reason.to_string()));
    if !matches!(options.view, View::Stats { .. }) {
        views::check(&analysis, &options.run)?;
    }
    let chosen = |rank: Option<Rank>, thread| views::choose(&analysis, &options.run, rank, thread);
    let text = match &options.view {
        View::Structure { rank, thread, format } => {
            structure::show(&analysis, &chosen(*rank, *thread)?, *format)
        }
        View::Graph { rank, thread, svg, format } => {
            let which = chosen(*rank, *thread)?;
            graph::show(&analysis, which.first().copied(), svg.as_deref(), *format)?
        }
        View::Stats { format } => stats::show(&analysis, *format),
        View::Calls { by, format } => calls::show(&analysis, *by, *format),
        View::Matrix { format } => matrix::show(&analysis, *format),
        View::Classes { format } => classes::show(&analysis, *format),
        View::Collection { rank, thread, plan, format } => {
            let which = chosen(*rank, *thread)?.first().copied();
            collection::show(&analysis, &options.run, (which, *plan), *format)?
        }
        View::Growth { rank, thread, format } => {
            growth::show(&analysis, &options.run, &chosen(*rank, *thread)?, *format)?
        }
        View::Hosts { format } => hosts::show(&analysis, *format),
        // Shown above: there need be no recording.
        View::Samples { .. } => String::new(),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    if !options.view.tells_gaps() {
        crate::terminal::say_gaps(&run.recording.gaps, None);
    }
    Ok(())
}

impl View {
    /// Where none is named.
    pub(crate) const DEFAULT: Self =
        Self::Structure { rank: None, thread: None, format: Format::Text };

    /// Whether what is missing stands in the view itself.
    fn tells_gaps(&self) -> bool {
        match self {
            Self::Stats { .. } => true,
            Self::Graph { .. } => false,
            Self::Structure { format, .. }
            | Self::Calls { format, .. }
            | Self::Matrix { format }
            | Self::Classes { format }
            | Self::Collection { format, .. }
            | Self::Growth { format, .. }
            | Self::Hosts { format }
            | Self::Samples { format, .. } => *format == Format::Text,
        }
    }
}

/// Indented JSON with a line feed.
fn json(value: &impl Serialize) -> String {
    // Keys are texts and numbers are finite, which is all that could fail.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// Lines of text as one.
fn joined(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Losses, one line each.
fn gaps(analysis: &Analysis<'_>) -> Vec<String> {
    const SHOWN: usize = 8;
    let gaps = &analysis.run.recording.gaps;
    let mut lines: Vec<String> = gaps
        .iter()
        .take(SHOWN)
        .flat_map(|gap| wrapped(&format!("gap: {}", gap.detail), prose()))
        .collect();
    let more = gaps.iter().count().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!("gap: and {more} more, see `talea show RUN stats --json`"));
    }
    lines
}

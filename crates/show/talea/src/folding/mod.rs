//! `talea fold`: the behaviour inside one execution of a region.
//!
//! Owns the order of the command: read, fold, print, write the requested files. Folding is
//! `talea-analysis`'s.

mod list;
mod tables;
mod text;

use std::io::{self, Write};
use std::path::PathBuf;

use talea_analysis::folding::{self, FoldOptions, Inputs, ListError, SaveFoldedError};
use talea_analysis::input::InputError;
use talea_report::{fold_html, fold_svg};
use talea_run::directory::{WriteError, replace};

use crate::exit::{Exit, Expected};
use crate::terminal::{Progress, say};

/// Options of `talea fold`.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Traces or run directories; at least one.
    pub(crate) inputs: Vec<PathBuf>,
    /// Options of the analysis.
    pub(crate) what: FoldOptions,
    /// Form of the output.
    pub(crate) print: Print,
    /// Picture.
    pub(crate) svg: Option<PathBuf>,
    /// Page.
    pub(crate) html: Option<PathBuf>,
    /// Table.
    pub(crate) csv: Option<PathBuf>,
    /// The first trace with the folded counters on one instance.
    pub(crate) out_prv: Option<PathBuf>,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Print {
    /// Findings and a table.
    Text,
    /// The public data.
    Json,
    /// The regions of the traces.
    List,
    /// The same as JSON.
    ListJson,
}

/// Errors of `talea fold`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FoldError {
    /// The input.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The analysis.
    #[error(transparent)]
    Fold(#[from] folding::FoldError),
    /// A list of regions.
    #[error(transparent)]
    List(#[from] ListError),
    /// A file.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The trace with folded counters.
    #[error(transparent)]
    Save(#[from] SaveFoldedError),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Expected for FoldError {
    fn exit(&self) -> Exit {
        match self {
            Self::Input(error)
            | Self::List(ListError::Input(error))
            | Self::Save(SaveFoldedError::Input(error)) => error.exit(),
            Self::Output(error) => Exit::of_output(error),
            _ => Exit::Input,
        }
    }
}

/// Folds.
pub(crate) fn fold(options: &Options) -> Result<(), FoldError> {
    let mut progress = Progress::new();
    let is_list = matches!(options.print, Print::List | Print::ListJson);
    if is_list {
        let listed = folding::list(&options.inputs, options.what.part, &mut progress.steps())?;
        drop(progress);
        return Ok(print(&list::list(listed, options.print))?);
    }
    let inputs = Inputs::load(&options.inputs, &options.what, &mut progress.steps())?;
    progress.step("folding");
    let folded = inputs.fold(&options.what)?;
    let data = &folded.data;
    if let Some(path) = &options.out_prv {
        let files = (options.inputs[0].as_path(), path.as_path());
        inputs.save_folded(&folded, &options.what, files, &mut progress.steps())?;
    }
    if let Some(path) = &options.svg {
        replace(path, fold_svg(data).as_bytes())?;
    }
    if let Some(path) = &options.html {
        replace(path, fold_html(data).as_bytes())?;
    }
    if let Some(path) = &options.csv {
        replace(path, tables::csv(data).as_bytes())?;
    }
    drop(progress);
    if options.print == Print::Json {
        // Writing to a string fails only for maps with keys that are not text; there are none.
        print(&(serde_json::to_string_pretty(data).unwrap_or_default() + "\n"))?;
    } else {
        print(&text::text(data))?;
    }
    let files = [&options.out_prv, &options.svg, &options.html, &options.csv];
    for path in files.into_iter().flatten() {
        say(&format!("wrote {}", path.display()));
    }
    Ok(())
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

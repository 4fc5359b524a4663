//! What the user names as INPUT: a trace of another tool, or a run.
//!
//! Owns telling them apart and reading them into one form, [`Trace`]. Damaged lines and missing side files are gaps, not errors.

pub(crate) mod paraver;
pub(crate) mod run;

use std::path::{Path, PathBuf};

use talea_model::Trace;

use crate::analysis::Analysis;
use crate::exit::{Exit, Expected};
use crate::load::{self, LoadError};
use crate::terminal::Progress;

/// What was read.
#[derive(Debug)]
pub(crate) struct Input {
    /// Everything that happened.
    pub(crate) trace: Trace,
}

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// The file cannot be read.
    #[error("cannot read the trace: {source}: `{}`", path.display())]
    Read {
        /// What the system said.
        source: std::io::Error,
        /// The file.
        path: PathBuf,
    },
    /// Its bytes are no trace.
    #[error("{source}: `{}`", path.display())]
    Paraver {
        /// What is wrong.
        source: talea_formats::paraver::Error,
        /// The file.
        path: PathBuf,
    },
    /// A folder that is no run, or whose files cannot be read.
    #[error("expected a trace (`.prv`, `.prv.gz`) or a run directory: {0}")]
    Run(#[from] LoadError),
    /// Neither trace nor run.
    #[error("expected a trace (`.prv`, `.prv.gz`) or a run directory, found a file of another kind: `{}`", .0.display())]
    Unknown(PathBuf),
}

impl Expected for InputError {
    fn exit(&self) -> Exit {
        Exit::Input
    }
}

/// Reads what the user named.
pub(crate) fn load(path: &Path, progress: &mut Progress) -> Result<Input, InputError> {
    progress.step("reading");
    let read = |source| InputError::Read { source, path: path.to_owned() };
    let trace = if std::fs::metadata(path).map_err(read)?.is_dir() {
        let run = load::load(path)?;
        run::trace(&Analysis::new(&run, progress))
    } else if paraver::is_trace(path).map_err(read)? {
        paraver::load(path)?
    } else if let Ok(run) = load::load(path) {
        // A file inside a run directory names the run, as everywhere.
        run::trace(&Analysis::new(&run, progress))
    } else {
        return Err(InputError::Unknown(path.to_owned()));
    };
    Ok(Input { trace })
}

//! What the user names as INPUT: a trace of another tool, or a run.
//!
//! Owns telling them apart and reading them into one form, [`Trace`], with the run beside it where there is one. Damaged lines
//! and missing side files are gaps, not errors.

mod paraver;

use std::path::{Path, PathBuf};

use talea_model::{Gap, GapKind, Gaps, Trace};

use crate::exit::{Exit, Expected};

/// A trace and where it came from.
#[derive(Debug)]
pub(crate) struct Input {
    /// As the user named it.
    pub(crate) path: PathBuf,
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
    /// Neither trace nor run.
    #[error(
        "expected a trace (`.prv`, `.prv.gz`) or a run directory, found {found}: `{}`", path.display()
    )]
    Unknown {
        /// What it is instead.
        found: &'static str,
        /// What the user named.
        path: PathBuf,
    },
}

impl Expected for InputError {
    fn exit(&self) -> Exit {
        Exit::Input
    }
}

/// Reads what the user named.
pub(crate) fn load(path: &Path) -> Result<Input, InputError> {
    let read = |source| InputError::Read { source, path: path.to_owned() };
    let unknown = |found| InputError::Unknown { found, path: path.to_owned() };
    let metadata = std::fs::metadata(path).map_err(read)?;
    if metadata.is_dir() {
        return Err(unknown("a folder"));
    }
    if !paraver::is_trace(path).map_err(read)? {
        return Err(unknown("a file of another kind"));
    }
    Ok(Input { path: path.to_owned(), trace: paraver::load(path)? })
}

/// What an analysis of a trace should tell besides what the trace itself lacks.
pub(crate) fn gap(gaps: &mut Gaps, kind: GapKind, detail: impl Into<String>) {
    gaps.note(Gap { kind, rank: None, detail: detail.into(), count: 0 });
}

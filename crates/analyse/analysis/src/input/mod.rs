//! Input of an analysis (INPUT): a trace of another tool, or a run.
//!
//! Owns telling them apart and reading them into one form, [`Trace`]. Damaged lines and missing
//! side files are gaps, not errors.

pub mod paraver;
pub mod run;

use std::path::{Path, PathBuf};

use talea_model::Trace;
pub use talea_run::directory::known_as;

use crate::hosts::Host;
use crate::{Analysis, Progress};
use talea_run::load::{self, LoadError};

/// The data that was read.
#[derive(Debug)]
pub struct Input {
    /// Everything that happened.
    pub trace: Trace,
    /// The command of a run that was recorded without samples.
    pub unsampled: Option<String>,
    /// Sentences on threads that waited for PUs, which makes times in MPI longer; none of a trace
    /// of another tool.
    pub crowding: Vec<String>,
}

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The file cannot be read.
    #[error("cannot read the trace: {source}: `{}`", path.display())]
    Read {
        /// Error of the system.
        source: std::io::Error,
        /// The file.
        path: PathBuf,
    },
    /// Its bytes are no trace.
    #[error("{source}: `{}`", path.display())]
    Paraver {
        /// The mistake.
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

/// Reads what the user named.
pub fn load(path: &Path, progress: Progress<'_>) -> Result<Input, InputError> {
    progress("reading");
    let read = |source| InputError::Read { source, path: path.to_owned() };
    let run = if std::fs::metadata(path).map_err(read)?.is_dir() {
        load::load(path)?
    } else if paraver::is_trace(path).map_err(read)? {
        return Ok(Input { trace: paraver::load(path)?, unsampled: None, crowding: Vec::new() });
    } else {
        // A file inside a run directory names the run, as everywhere.
        load::load(path).map_err(|_| InputError::Unknown(path.to_owned()))?
    };
    let is_sampled = run.metadata.options.contains_key("sample_counter");
    let analysis = Analysis::new(&run, progress);
    let trace = run::trace(&analysis);
    let many = analysis.hosts().len() > 1;
    let of = |host: &Host| {
        let on = if many { format!("on `{}`: ", host.name) } else { String::new() };
        host.crowding().into_iter().map(move |text| format!("{on}{text}"))
    };
    let crowding = analysis.hosts().iter().flat_map(of).collect();
    Ok(Input { trace, unsampled: (!is_sampled).then_some(run.metadata.command), crowding })
}

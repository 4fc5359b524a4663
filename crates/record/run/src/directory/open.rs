//! Opening a run directory by any path inside it.
//!
//! Owns the search: the directory itself, or a file inside it. Anything else is refused with the
//! expectation and, where run directories lie just below, with their names.

use std::io;
use std::path::{Path, PathBuf};

use super::{RunDirectory, entries};

/// Maximum number of run directories that are named where the user gave the folder above them.
const NAMED: usize = 3;

/// Errors of opening a run directory.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No such path.
    #[error("no such file or directory: `{}`", path.display())]
    Missing {
        /// The given path.
        path: PathBuf,
    },
    /// A directory without a run's files.
    #[error(
        "not a run directory, expected one with `run.json` or `trace.talea`{}: `{}`",
        hint(below),
        path.display()
    )]
    NotARun {
        /// Run directories in it.
        below: Vec<String>,
        /// The given path.
        path: PathBuf,
    },
    /// A file that belongs to no run directory.
    #[error("not a file of a run directory, expected a directory with `run.json` or a file inside it: `{}`", path.display())]
    NotInARun {
        /// The given path.
        path: PathBuf,
    },
    /// An error of the system.
    #[error("cannot open the run directory: {source}: `{}`", path.display())]
    Io {
        /// Error of the system.
        source: io::Error,
        /// The given path.
        path: PathBuf,
    },
}

fn hint(below: &[String]) -> String {
    match below {
        [] => String::new(),
        [one] => format!(" (it contains one: `{one}`)"),
        more => format!(" (it contains some: `{}`)", more.join("`, `")),
    }
}

impl RunDirectory {
    /// Opens the run directory at `path`, or the one that contains the file at `path`.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let owned = || path.to_owned();
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => OpenError::Missing { path: owned() },
            _ => OpenError::Io { source, path: owned() },
        };
        let is_folder = std::fs::metadata(path).map_err(failed)?.is_dir();
        let absolute = std::path::absolute(path).map_err(failed)?;
        // A file may lie in the directory itself or in `live/`, and `live/` itself may be given.
        let candidates = absolute.ancestors().skip(usize::from(!is_folder)).take(2);
        for candidate in candidates {
            let below = candidate != absolute && is_folder && !absolute.ends_with("live");
            if !below && is_run(candidate) {
                return Ok(Self { path: candidate.to_owned() });
            }
        }
        if is_folder {
            // Also distinguishes a directory that may not be read from one that contains something
            // else.
            let below = entries(path).map_err(failed)?.into_iter().filter(|p| is_run(p));
            let names = below.take(NAMED).filter_map(|p| Some(p.file_name()?.to_str()?.to_owned()));
            return Err(OpenError::NotARun { below: names.collect(), path: owned() });
        }
        Err(OpenError::NotInARun { path: owned() })
    }
}

/// A run killed in its first moment has no recording yet, and one copied from elsewhere may lack
/// `run.json`.
fn is_run(folder: &Path) -> bool {
    folder.join("run.json").is_file() || folder.join("trace.talea").is_file()
}

//! `talea fabric table`: what each link carried, from a recording of tiles; of a run its ports.
//!
//! Owns which of the two is asked for.

use std::path::PathBuf;

use super::{FabricError, of_run};

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Options {
    /// A recording, or the folder of a run.
    pub(crate) of: PathBuf,
    pub(crate) json: bool,
}

/// Prints the table.
pub(crate) fn table(options: &Options) -> Result<(), FabricError> {
    if options.of.is_dir() {
        return of_run::table(&options.of, options.json);
    }
    Err(FabricError::NoCounters { path: options.of.clone() })
}

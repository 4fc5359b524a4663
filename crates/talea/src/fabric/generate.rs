//! `talea fabric generate`: the list of tiles that a Gemini machine of any size would print.
//!
//! Owns where it goes. The machine is `talea-fabric`'s.

use std::io::{self, Write as _};
use std::path::PathBuf;

use talea_fabric::gemini;

use super::FabricError;

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Options {
    /// Lengths of the three axes.
    pub(crate) lengths: [u16; 3],
    /// Where the list goes; standard output if absent.
    pub(crate) out: Option<PathBuf>,
}

/// Writes the list.
pub(crate) fn generate(options: &Options) -> Result<(), FabricError> {
    let text = gemini::rtr(&gemini::machine(options.lengths)?);
    match &options.out {
        Some(path) => std::fs::write(path, text)
            .map_err(|source| FabricError::Write { source, path: path.clone() }),
        None => Ok(io::stdout().lock().write_all(text.as_bytes())?),
    }
}

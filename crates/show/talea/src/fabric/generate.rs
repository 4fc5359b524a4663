//! `talea fabric generate`: the list of tiles of a Gemini machine of any size.
//!
//! Owns the destination of the list. The machine is `talea-fabric`'s.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;

use talea_fabric::gemini;
use talea_network::NetworkError;

use super::FabricError;

/// Options of `talea fabric generate`.
#[derive(Debug)]
pub(crate) struct Options {
    /// Lengths of the three axes.
    pub(crate) lengths: [u16; 3],
    /// Output file; standard output if absent.
    pub(crate) out: Option<PathBuf>,
}

/// Writes the list.
pub(crate) fn generate(options: &Options) -> Result<(), FabricError> {
    let machine = gemini::machine(options.lengths).map_err(NetworkError::from)?;
    match &options.out {
        Some(path) => File::create(path)
            .and_then(|file| write(file, &machine))
            .map_err(|source| FabricError::Write { source, path: path.clone() }),
        None => Ok(write(io::stdout().lock(), &machine)?),
    }
}

/// Line by line: the list of a large machine is gigabytes.
fn write(to: impl io::Write, machine: &gemini::Machine) -> io::Result<()> {
    let mut to = BufWriter::new(to);
    gemini::rtr_lines(machine).try_for_each(|line| to.write_all(line.as_bytes()))?;
    to.flush()
}

//! `talea completions` and `talea man`: made from the one file of definitions.
//!
//! Owns writing them to standard output or a folder.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::cli;
use crate::exit::{Exit, Expected};

/// Where manual pages go.
#[derive(Debug)]
pub(crate) struct ManOptions {
    /// A folder for the pages of all commands; without it the first page goes to standard output.
    pub(crate) out: Option<PathBuf>,
}

/// Why a page or script could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// Standard output is closed or full.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
    /// The folder.
    #[error("cannot write manual pages: {source}: `{}`", path.display())]
    Folder {
        /// What the system said.
        source: io::Error,
        /// The folder.
        path: PathBuf,
    },
}

impl Expected for WriteError {
    fn exit(&self) -> Exit {
        match self {
            Self::Output(source) => Exit::of_output(source),
            Self::Folder { .. } => Exit::Input,
        }
    }
}

/// Prints a completion script.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), WriteError> {
    // Into memory first: the generator panics where its writer fails.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::command(), "talea", &mut script);
    Ok(io::stdout().write_all(&script)?)
}

/// Prints the manual page, or writes all of them.
pub(crate) fn man(options: &ManOptions) -> Result<(), WriteError> {
    let Some(path) = &options.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(cli::command()).render(&mut page)?;
        return Ok(io::stdout().write_all(&page)?);
    };
    let failed = |source| WriteError::Folder { source, path: path.clone() };
    std::fs::create_dir_all(path).map_err(failed)?;
    clap_mangen::generate_to(cli::command(), path).map_err(failed)
}

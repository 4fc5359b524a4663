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
        /// Error of the system.
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use clap::CommandFactory as _;

    /// The package of compute nodes has no program that could make them. `TALEA_UPDATE=1` writes
    /// them anew.
    #[test]
    fn the_manual_pages_of_the_package_are_those_of_the_options() {
        let made = tempfile::tempdir().unwrap();
        clap_mangen::generate_to(talea_node::args::Cli::command(), made.path()).unwrap();
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging/man");
        let names = |folder: &Path| {
            let entries = fs::read_dir(folder).into_iter().flatten();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        if std::env::var_os("TALEA_UPDATE").is_some() {
            fs::create_dir_all(&kept).unwrap();
            for name in names(made.path()) {
                fs::copy(made.path().join(&name), kept.join(&name)).unwrap();
            }
        }
        assert_eq!(names(&kept), names(made.path()));
        assert!(names(&kept).iter().any(|name| name == "talea-agent.1"));
        for name in names(&kept) {
            let [kept, made] = [&*kept, made.path()].map(|folder| folder.join(&name));
            let stale = fs::read_to_string(kept).unwrap() != fs::read_to_string(made).unwrap();
            assert!(!stale, "{name:?} is not what the options say: run this with TALEA_UPDATE=1");
        }
    }
}

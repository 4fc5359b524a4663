//! `talea report`: the file.
//!
//! The data of a report are `talea_analysis::report`'s, its page is `talea-report`'s.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use talea_analysis::Analysis;
use talea_analysis::report::data;
use talea_network::{NetworkError, report as network};
use talea_run::directory::{WriteError, replace};
use talea_run::load::{self, LoadError};

use crate::exit::{Exit, Expected};
use crate::terminal::{Progress, say};

/// Options of the command.
#[derive(Debug)]
pub(crate) struct Options {
    /// Run directory, or a file in it.
    pub(crate) run: PathBuf,
    /// Where to; `-` is standard output, without it `report.html` in the run directory.
    pub(crate) out: Option<PathBuf>,
    /// A network on which the run's messages are modelled.
    pub(crate) network: Option<network::Options>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReportError {
    /// The run.
    #[error("{0}")]
    Load(#[from] LoadError),
    /// The file.
    #[error("{0}")]
    Write(#[from] WriteError),
    /// The network.
    #[error("{0}")]
    Network(#[from] NetworkError),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Expected for ReportError {
    fn exit(&self) -> Exit {
        match self {
            Self::Load(error) => error.exit(),
            Self::Write(_) => Exit::Input,
            Self::Network(error) => error.exit(),
            Self::Output(error) => Exit::of_output(error),
        }
    }
}

/// Writes the report of a run.
pub(crate) fn report(options: &Options) -> Result<(), ReportError> {
    let mut progress = Progress::new();
    progress.step("reading");
    let run = load::load(&options.run)?;
    let analysis = Analysis::new(&run, &mut progress.steps());
    analysis.unusable.iter().for_each(|reason| say(&reason.to_string()));
    analysis.not_packed.iter().for_each(|reason| say(&reason.to_string()));
    let mut data = data(&analysis);
    if let Some(network) = &options.network {
        progress.step("modelling the network");
        data.network = Some(network::network(&analysis, network)?);
    }
    let page = talea_report::html(&data);
    if options.out.as_deref() == Some(Path::new("-")) {
        drop(progress);
        return Ok(io::stdout().write_all(page.as_bytes())?);
    }
    let path = options.out.clone().unwrap_or_else(|| run.directory.report());
    replace(&path, page.as_bytes())?;
    drop(progress);
    say(&format!("report   {}", path.display()));
    Ok(())
}

/// Writes the report of an analysed run to a file.
pub(crate) fn write(analysis: &Analysis<'_>, path: &Path) -> Result<(), WriteError> {
    replace(path, talea_report::html(&data(analysis)).as_bytes())
}

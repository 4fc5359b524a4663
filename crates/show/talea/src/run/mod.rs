//! `talea run`: starts a program so that it is recorded, and explains the run.
//!
//! Owns options after the end, exit codes and the printing of warnings. Starting and waiting is
//! `talea-launch`'s, the summary [`after`]'s. Whatever fails after the end does not change the
//! program's exit code.

mod after;
mod patience;
mod ports;

use talea_launch::{Ended, LaunchError, launch};
use talea_model::Nanos;
use talea_run::{Metadata, Outcome, RunDirectory};

use crate::exit::{Exit, Expected};
use crate::terminal::say;

/// Options of `talea run`.
#[derive(Debug)]
pub(crate) struct Options {
    /// Program, and options of its recording.
    pub(crate) launch: talea_launch::Options,
    /// Steps after the end.
    pub(crate) after: After,
    /// Maximum time for these steps; by the program's run time where absent.
    pub(crate) within: Option<Nanos>,
    /// Port of the page of the running program, if there is one; 0 for any.
    #[cfg(feature = "page")]
    pub(crate) page: Option<u16>,
}

/// Reasons for which the program was not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// The program, or its recording.
    #[error("{0}")]
    Launch(#[from] LaunchError),
    /// The page.
    #[cfg(feature = "page")]
    #[error("{0}")]
    Page(#[from] talea_page::PageError),
}

impl Expected for RunError {
    fn exit(&self) -> Exit {
        match self {
            Self::Launch(error) => error.exit(),
            #[cfg(feature = "page")]
            Self::Page(_) => Exit::Lacking,
        }
    }
}

/// Steps after the end of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Resolve call sites, write the report, print a summary.
    Report,
    /// Leave the record as it is.
    Nothing,
}

impl Expected for LaunchError {
    fn exit(&self) -> Exit {
        match self {
            Self::Create(error) => error.exit(),
            Self::Library(_) | Self::Write(_) => Exit::Lacking,
            _ => Exit::Input,
        }
    }
}

/// Runs and records the program. The exit code is the program's own, 128 + N where signal N ended
/// it; 3 where it succeeded and nothing was recorded.
pub(crate) fn run(options: &Options) -> Result<u8, RunError> {
    let mut warn = |warning: String| say(&format!("warning: {warning}"));
    #[cfg(feature = "page")]
    let mut page = crate::page::Background::new(options.page)?;
    let mut started = |directory: &RunDirectory, metadata: &Metadata| {
        #[cfg(feature = "page")]
        page.start(directory, metadata);
        #[cfg(not(feature = "page"))]
        let _ = (directory, metadata);
    };
    let ended = launch(&options.launch, &mut warn, &mut started);
    #[cfg(feature = "page")]
    page.finish();
    let Ended { directory, mut metadata, outcome } = ended?;
    // Neither an error nor a bug in what follows may hide how the program ended.
    let kept = std::panic::catch_unwind(|| ports::settle(&directory, options.launch.fabric));
    metadata.fabric = kept.ok().flatten();
    if metadata.fabric.is_some()
        && let Err(error) = directory.write_metadata(&metadata)
    {
        warn(error.to_string());
    }
    let recorded = std::panic::catch_unwind(|| after::explain(&directory, &metadata, options));
    Ok(match outcome {
        Outcome::ExitCode(0) if matches!(recorded, Ok(false)) => Exit::Lacking.code(),
        Outcome::ExitCode(code) => code.clamp(0, 255) as u8,
        Outcome::Signal(signal) => 128_u8.saturating_add(signal.clamp(0, 127) as u8),
    })
}

//! `talea track`: the same kinds of computation in runs of different scales, or in windows of one
//! run.
//!
//! Owns the output; tracking is `talea-analysis`'s.

mod text;

use std::path::PathBuf;

use talea_analysis::tracks::{self, TrackError};

use crate::clusters::{ClusterError, print, write_file};
use crate::exit::{Exit, Expected};
use crate::terminal::{Palette, Progress};

/// Options of `talea track`.
#[derive(Debug)]
pub(crate) struct Options {
    /// Inputs and options of tracking.
    pub(crate) how: tracks::Options,
    pub(crate) svg: Option<PathBuf>,
    pub(crate) html: Option<PathBuf>,
    pub(crate) json: bool,
}

impl Expected for TrackError {
    fn exit(&self) -> Exit {
        match self {
            Self::Input(error) => error.exit(),
            _ => Exit::Input,
        }
    }
}

/// Reads, clusters, tracks, writes.
pub(crate) fn track(options: &Options) -> Result<(), ClusterError> {
    let mut progress = Progress::new();
    let data = tracks::track(&options.how, &mut progress.steps())?;
    drop(progress);
    if let Some(path) = &options.svg {
        write_file(path, &talea_report::track_svg(&data))?;
    }
    if let Some(path) = &options.html {
        write_file(path, &talea_report::track_html(&data))?;
    }
    let files = [&options.svg, &options.html];
    Ok(print(options.json.then_some(&data), &files, || text::lines(&data, Palette::stdout()))?)
}

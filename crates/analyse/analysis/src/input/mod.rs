//! Input of an analysis (INPUT): a trace of another tool, or a run.
//!
//! Owns telling them apart and reading them into one form, [`Trace`]. Damaged lines and missing
//! side files are gaps, not errors.

pub mod paraver;
pub mod run;

use std::path::{Path, PathBuf};

use talea_metric::measure::{Activity, Span};
use talea_model::Trace;
pub use talea_run::directory::known_as;

use run::Visited;
pub use run::{Computation, Extent, Time};
pub(crate) use run::{Stretch, Visitor};

use crate::hosts::Host;
use crate::{Analysis, Progress};
use talea_run::load::{self, LoadError, Run};

/// The data that was read.
#[derive(Debug, Default)]
pub struct Input {
    /// Everything that happened; without most of its records where there is a computation.
    pub trace: Trace,
    /// Computation of a run's threads between their calls, in place of records.
    pub computation: Option<Computation>,
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

/// A trace of another tool, or a run.
#[derive(Debug)]
pub(crate) enum Opened {
    /// The whole trace.
    Trace(Box<Trace>),
    /// The run, which is not analysed yet.
    Run(Box<Run>),
}

/// Opens what the user named.
pub(crate) fn open(path: &Path, progress: Progress<'_>) -> Result<Opened, InputError> {
    progress("reading");
    let read = |source| InputError::Read { source, path: path.to_owned() };
    if std::fs::metadata(path).map_err(read)?.is_dir() {
        Ok(Opened::Run(Box::new(load::load(path)?)))
    } else if paraver::is_trace(path).map_err(read)? {
        Ok(Opened::Trace(Box::new(paraver::load(path)?)))
    } else {
        // A file inside a run directory names the run, as everywhere.
        let run = load::load(path).map_err(|_| InputError::Unknown(path.to_owned()))?;
        Ok(Opened::Run(Box::new(run)))
    }
}

/// Reads a trace or a run: of a run all records, or with a `time` its [`Computation`] in this
/// extent, and its samples.
pub fn load(
    path: &Path,
    time: Option<Time>,
    extent: Extent,
    progress: Progress<'_>,
) -> Result<Input, InputError> {
    load_run(path, progress, |analysis| {
        match time.and_then(|time| run::computation(analysis, time, extent)) {
            Some((trace, computation)) => (trace, Some(computation)),
            None => (run::trace(analysis), None),
        }
    })
}

/// Reads a trace or a run. A sampled run with more than `most` calls is read without them, if
/// `suffices` accepts that trace. Returns true if the calls were left out.
pub(crate) fn load_inside(
    path: &Path,
    most: u64,
    suffices: impl Fn(&Trace) -> bool,
    progress: Progress<'_>,
) -> Result<(Input, bool), InputError> {
    let mut lacks_calls = false;
    let input = load_run(path, progress, |analysis| {
        let has_samples = run::has_samples(analysis);
        let without_calls = (has_samples && analysis.run.recording.events() > most)
            .then(|| run::inside(analysis))
            .filter(|trace| suffices(trace));
        lacks_calls = without_calls.is_some();
        (without_calls.unwrap_or_else(|| run::trace(analysis)), None)
    })?;
    Ok((input, lacks_calls))
}

/// Reads a trace, or of a run what `records` makes.
fn load_run(
    path: &Path,
    progress: Progress<'_>,
    records: impl FnOnce(&Analysis<'_>) -> (Trace, Option<Computation>),
) -> Result<Input, InputError> {
    let run = match open(path, &mut *progress)? {
        Opened::Trace(trace) => return Ok(Input { trace: *trace, ..Input::default() }),
        Opened::Run(run) => run,
    };
    let is_sampled = run.metadata.options.contains_key("sample_counter");
    let analysis = Analysis::new(&run, progress);
    let (trace, computation) = records(&analysis);
    let many = analysis.hosts().len() > 1;
    let of = |host: &Host| {
        let on = if many { format!("on `{}`: ", host.name) } else { String::new() };
        host.crowding().into_iter().map(move |text| format!("{on}{text}"))
    };
    let crowding = analysis.hosts().iter().flat_map(of).collect();
    let unsampled = (!is_sampled).then_some(run.metadata.command);
    Ok(Input { trace, computation, unsampled, crowding })
}

/// Reads the [`Computation`] of a run once more: each thread meets a visitor of its own, made for
/// its location, which `done` takes. Nothing of a trace.
pub(crate) fn visit<V: Visitor + Send>(
    path: &Path,
    extent: Extent,
    progress: Progress<'_>,
    visitor: impl Fn(u32) -> V + Sync,
    done: impl FnMut(Visited<V>),
) -> Result<(), InputError> {
    if let Opened::Run(run) = open(path, &mut *progress)? {
        run::visit(&Analysis::new(&run, progress), extent, visitor, done);
    }
    Ok(())
}

/// Reads a run once more for the activity of each location in a part of it. `trace` comes from the
/// first reading.
pub(crate) fn activities(
    path: &Path,
    trace: &Trace,
    (extent, span): (Extent, Span),
    progress: Progress<'_>,
) -> Result<Vec<Activity>, InputError> {
    let Opened::Run(run) = open(path, &mut *progress)? else { return Ok(Vec::new()) };
    Ok(run::activities(&Analysis::new(&run, progress), trace, extent, span))
}

//! `talea topo`: the node, with performance values on its objects.
//!
//! Owns the choice of the action: the objects, measured or replayed, on a screen or into files.
//! Measuring is `talea-topo`'s, pictures are `talea-topology`'s and `talea-report`'s, the live map
//! in the terminal is `talea_screen::map`'s.

mod command;
mod counters;
mod measure;
mod outputs;
mod png;
mod text;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read as _};
use std::path::{Path, PathBuf};

use talea_analysis::phases::{PhasesError, add_run};
use talea_model::{Gaps, Nanos};
use talea_sampling::plugin::PluginError;
use talea_screen::{ScreenError, map};
use talea_simulated::node::Scenario;
use talea_topo::recording::{self, ReadError};
use talea_topo::selection::{Selection, SelectionError, Source, select};
use talea_topo::summary::SummaryError;
use talea_topo::{MachineError, SessionError};
use talea_topology::monitors::Mistakes;
use talea_topology::xml;

use crate::exit::{Exit, Expected};
use crate::terminal::{Progress, say};

/// Options of `talea topo`.
#[derive(Debug)]
pub(crate) struct Options {
    /// The objects.
    pub(crate) objects: Selection,
    /// Source of the monitors.
    pub(crate) monitors: Monitors,
    /// Processes to watch.
    pub(crate) pids: Vec<u32>,
    /// A simulated machine.
    pub(crate) simulate: Option<Scenario>,
    /// Commands of plug-ins.
    pub(crate) plugins: Vec<String>,
    /// Interval between two values.
    pub(crate) every: Nanos,
    /// Duration of the measurement.
    pub(crate) duration: Option<Nanos>,
    /// The recording to write.
    pub(crate) record: Option<PathBuf>,
    /// The recording to show.
    pub(crate) replay: Option<PathBuf>,
    /// The recording to compare it with.
    pub(crate) compare: Option<PathBuf>,
    /// The run to show with the recording.
    pub(crate) run: Option<PathBuf>,
    /// Rank whose iterations are shown.
    pub(crate) rank: Option<u32>,
    /// Time of pictures.
    pub(crate) at: Option<Nanos>,
    /// Speed of a replay.
    pub(crate) speed: f64,
    /// Files to write.
    pub(crate) out: Outputs,
    /// List counters.
    pub(crate) list: bool,
    /// A command to watch.
    pub(crate) command: Vec<OsString>,
}

/// Source of the monitors.
#[derive(Debug)]
pub(crate) enum Monitors {
    /// Those that work here.
    Default,
    /// A file.
    File(PathBuf),
    /// The command line.
    Text(String),
}

/// Files to write.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    /// A picture.
    pub(crate) svg: Option<PathBuf>,
    /// A page.
    pub(crate) html: Option<PathBuf>,
    /// A picture.
    pub(crate) png: Option<PathBuf>,
    /// The objects.
    pub(crate) xml: Option<PathBuf>,
    /// Version of the XML.
    pub(crate) xml_version: xml::Version,
    /// A recording as text.
    pub(crate) paje: Option<PathBuf>,
    /// JSON on standard output.
    pub(crate) json: bool,
    /// Size of pictures, in pixels.
    pub(crate) size: (f64, f64),
}

impl Outputs {
    fn is_any(&self) -> bool {
        let files = [&self.svg, &self.html, &self.png, &self.xml, &self.paje];
        self.json || files.iter().any(|file| file.is_some())
    }
}

/// Errors of `talea topo`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TopoError {
    /// The objects.
    #[error("{0}")]
    Objects(#[from] SelectionError),
    /// The monitors' text.
    #[error("{}", .0.to_string().trim_start_matches("error: "))]
    Mistakes(#[from] Mistakes),
    /// A file of monitors cannot be read.
    #[error("cannot read the monitors: {source}: `{}`", path.display())]
    Monitors {
        /// Error of the system.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// A text without a monitor.
    #[error(
        "expected a monitor such as `FAULTS{{ OBJ = PU; CTR = page-faults; }}`, found none; without --monitors the default ones run"
    )]
    NoMonitors,
    /// Values of this machine on another one's objects.
    #[error("{0}; --as-this-machine overrides this, --simulate and --replay work with any objects")]
    Elsewhere(MachineError),
    /// Measuring.
    #[error("{0}")]
    Session(SessionError),
    /// A plug-in.
    #[error("{0}")]
    Plugin(#[from] PluginError),
    /// A recording.
    #[error("{0}")]
    Recording(#[from] ReadError),
    /// The run beside it.
    #[error("{0}")]
    Run(#[from] PhasesError),
    /// Values of the recording at a time, or compared with another one.
    #[error("{0}")]
    Summary(#[from] SummaryError),
    /// A command cannot be started.
    #[error("{0}")]
    Command(#[from] talea_launch::LaunchError),
    /// A file cannot be written.
    #[error("cannot write: {source}: `{}`", path.display())]
    Write {
        /// Error of the system.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// No chromium, or an error of it.
    #[error("{0}")]
    Png(#[from] png::PngError),
    /// The terminal.
    #[error("{0}")]
    Screen(#[from] ScreenError),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl From<SessionError> for TopoError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Machine(error @ MachineError::Elsewhere { .. }) => Self::Elsewhere(error),
            error => Self::Session(error),
        }
    }
}

impl Expected for TopoError {
    fn exit(&self) -> Exit {
        match self {
            Self::Session(SessionError::Nothing(_) | SessionError::Record(_))
            | Self::Write { .. }
            | Self::Png(_)
            | Self::Objects(SelectionError::Machine(MachineError::Discover(_))) => Exit::Lacking,
            Self::Output(error) => Exit::of_output(error),
            _ => Exit::Input,
        }
    }
}

/// Shows the node. The exit code is 0, or that of the watched command.
pub(crate) fn topo(options: &Options) -> Result<u8, TopoError> {
    if options.list {
        return counters::list(options).map(|()| 0);
    }
    if let Some(path) = &options.replay {
        return replay(path, options).map(|()| 0);
    }
    let machine = select(&options.objects)?;
    let measures = options.duration.is_some()
        || options.record.is_some()
        || options.simulate.is_some()
        || !options.pids.is_empty()
        || !options.command.is_empty()
        || !options.plugins.is_empty()
        || !matches!(options.monitors, Monitors::Default);
    let is_screen = io::stdout().is_terminal() && io::stdin().is_terminal();
    // Objects from elsewhere have no values here.
    let is_here = matches!(options.objects.source, Source::Machine);
    if !measures && (options.out.is_any() || !is_screen || !is_here) {
        return outputs::objects(&machine, options).map(|()| 0);
    }
    let screen = is_screen && !options.out.is_any() && options.duration.is_none();
    measure::run(
        machine,
        options,
        if screen { measure::Where::Screen } else { measure::Where::Files },
    )
}

/// Gaps found before a failure explain it, and are printed with it.
fn replay(path: &Path, options: &Options) -> Result<(), TopoError> {
    let mut gaps = Gaps::default();
    replayed(path, options, &mut gaps).inspect_err(|_| say_gaps(&gaps))
}

fn replayed(path: &Path, options: &Options, gaps: &mut Gaps) -> Result<(), TopoError> {
    let topology = match options.objects.source {
        Source::Machine => None,
        _ => Some(select(&options.objects)?.topology),
    };
    let mut recording = recording::read(path, topology.clone(), gaps)?;
    if let Some(run) = &options.run {
        let mut progress = None;
        let mut step = |step: &str| progress.get_or_insert_with(Progress::new).step(step);
        add_run(&mut recording, run, options.rank, &mut step)?;
    }
    let other = options.compare.as_ref().map(|path| recording::read(path, topology, gaps));
    let other = other.transpose()?;
    if options.out.is_any() {
        return outputs::recording(&recording, other.as_ref(), options);
    }
    if io::stdout().is_terminal() && io::stdin().is_terminal() {
        let mut feed = map::replay(recording);
        return Ok(map::watch(&mut feed, map::Options::new(options.speed))?);
    }
    text::recording(&recording, other.as_ref(), options)
}

/// The text of the monitors; `None` for the default ones.
fn monitors_text(monitors: &Monitors) -> Result<Option<String>, TopoError> {
    // A text is at most a MiB; a longer one is refused when it is read.
    const MOST: u64 = (talea_topology::monitors::LONGEST_TEXT + 1) as u64;
    match monitors {
        Monitors::Default => Ok(None),
        Monitors::Text(text) => Ok(Some(text.clone())),
        Monitors::File(path) => {
            let mut bytes = Vec::new();
            let read = if path == Path::new("-") {
                io::stdin().lock().take(MOST).read_to_end(&mut bytes)
            } else {
                std::fs::File::open(path).and_then(|file| file.take(MOST).read_to_end(&mut bytes))
            };
            read.map_err(|source| TopoError::Monitors { source, path: path.clone() })?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
    }
}

/// Prints gaps for people.
fn say_gaps(gaps: &Gaps) {
    const MOST: usize = 8;
    for gap in gaps.iter().take(MOST) {
        say(&format!("{}: {}", word(gap.kind), gap.detail));
    }
    if let more @ 1.. = gaps.iter().count().saturating_sub(MOST) {
        say(&format!("and {more} more gaps: --json lists them"));
    }
}

/// The word for a kind of gap, as in JSON.
fn word(kind: talea_model::GapKind) -> String {
    let value = serde_json::to_value(kind).ok();
    value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

//! Starts a program so that it is recorded, and waits for it.
//!
//! Owns the order of steps: everything that can be wrong is found before the program starts, and
//! nothing that goes wrong afterwards changes its exit code. [`environment`] sets the variables of
//! the recording library, [`launcher`] passes them on, [`child`] waits and forwards signals, and
//! [`observer`] selects times and compares clocks meanwhile. It prints nothing: warnings go to the
//! caller. Analysis of the run is `talea-analysis`'.

mod child;
mod describe;
mod environment;
pub mod launcher;
pub mod library;
mod observer;
pub mod program;
mod records;
pub mod sampling;

pub use child::in_foreground;
pub use observer::{observe_host, server_addresses, this_host};
pub use sampling::Sampling;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use rustix::io::Errno;
use talea_flow::times::Bound;
use talea_model::{Bytes, Nanos};
use talea_run::directory::{CreateError, WriteError, replace};
use talea_run::{Metadata, Outcome, RunDirectory, counters, samples};
use talea_sampling::Discovered;
use talea_sampling::discover::Found;
use talea_topology::xml;

use observer::Beside;
use program::{default_name, find, may_launch, quoted};

/// Program to start, and options of its recording.
#[derive(Debug)]
pub struct Options {
    /// Run directory to create.
    pub out: Option<PathBuf>,
    /// Precision of times.
    pub times: Times,
    /// Maximum errors of times.
    pub bound: Bound,
    /// Calls whose times are kept.
    pub collect: Collect,
    /// Calls that are events.
    pub calls: Calls,
    /// Maximum number of frames of a call path.
    pub callers: u8,
    /// Maximum memory for the record of a process.
    pub memory: Bytes,
    /// Folder for the record while the program runs.
    pub live_dir: Option<PathBuf>,
    /// Where the records of ranks are merged.
    pub merge: Merge,
    /// Samples, if any.
    pub sampling: Option<Sampling>,
    /// Interval of reading the nodes' network counters, if they are read.
    pub fabric: Option<Nanos>,
    /// The program with its arguments; never empty.
    pub command: Vec<OsString>,
}

impl Options {
    /// How times are kept, after `collect`.
    pub(crate) fn kept_times(&self) -> Times {
        if self.collect == Collect::Statistics { Times::Statistics } else { self.times }
    }

    /// Refuses options that exclude each other.
    fn check(&self) -> Result<(), LaunchError> {
        if self.collect != Collect::Smart {
            return Ok(());
        }
        let other = match (self.times, self.merge) {
            (Times::Statistics, _) => "--times statistics",
            (_, Merge::Ranks) => "--merge ranks",
            _ => return Ok(()),
        };
        Err(LaunchError::Collect(other))
    }
}

/// How times are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Times {
    /// Begin and duration of every event within the stated bounds
    Bounded,
    /// Begin and duration of every event to the nanosecond
    Exact,
    /// Sum, minimum and maximum of each call site only
    Statistics,
}

/// Calls whose times are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Collect {
    /// Times of all calls
    Full,
    /// Times of some iterations of each kind; sums of all calls
    Smart,
    /// Sum, minimum and maximum of each call site only
    Statistics,
}

/// Where the records of ranks are merged.
#[allow(clippy::doc_markdown, reason = "help texts have no markup")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Merge {
    /// Talea; ranks where records are out of its reach
    Auto,
    /// Ranks, in MPI_Finalize
    Ranks,
}

/// Method of unwinding call stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Unwind {
    /// By the tables that compilers leave for exceptions; works for any program
    Dwarf,
    /// By frame pointers, in the kernel: cheaper, for programs compiled with
    /// -fno-omit-frame-pointer
    Fp,
}

/// Which calls are events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Calls {
    /// Calls that communicate
    Mpi,
    /// Every call
    All,
}

/// Time after which processes of a launcher other than the first one fail.
const AFTER_FIRST: Duration = Duration::from_millis(500);

/// Set by users who want a process of a launcher recorded by itself.
pub(crate) const ALONE: &str = "TALEA_ALONE";

/// Reason for which the program was not started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Not the name of a program.
    #[error(
        "no program of this name in the folders of PATH; give its path, such as ./{0}, or install it: `{0}`"
    )]
    NotInPath(String),
    /// A word that looks like an option where the program should stand.
    #[error(
        "expected a command, found an unknown option, see `--help`; a command comes after `--`: `{0}`"
    )]
    Option(String),
    /// Started once for each rank, by the launcher that it should start itself.
    #[error(
        "{started} started this as one of {size} processes; each would be a run of one rank. Put the launcher behind: `{right}`; {ALONE}=1 records each process alone"
    )]
    Inside {
        /// The launcher.
        started: &'static str,
        /// Number of processes.
        size: u32,
        /// The same in the order that records.
        right: String,
    },
    /// The same, in another process than the first.
    #[error(
        "{started} started this as one of {size} processes: `talea run` comes before {started}; {ALONE}=1 records each process alone"
    )]
    Another {
        /// The launcher.
        started: &'static str,
        /// Number of processes.
        size: u32,
    },
    /// No such file.
    #[error("the program does not exist: `{}`", .0.display())]
    NoProgram(PathBuf),
    /// A folder, or a file without permission to execute it.
    #[error("{why}: `{}`", path.display())]
    NotExecutable {
        /// The obstacle.
        why: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The system refused to start it.
    #[error("cannot start the program{}: {source}: `{}`", hint(source), path.display())]
    Start {
        /// Error of the system.
        source: std::io::Error,
        /// The file.
        path: PathBuf,
    },
    /// An option that excludes `--collect smart`.
    #[error(
        "{0} cannot be combined with --collect smart, which selects times while the program runs: omit one of them"
    )]
    Collect(&'static str),
    /// No recording library.
    #[error("{0}")]
    Library(#[from] library::LibraryError),
    /// No run directory.
    #[error("{0}")]
    Create(#[from] CreateError),
    /// No folder for live files.
    #[error("cannot create a folder for the record in the one that --live-dir names: {source}: `{}`", path.display())]
    LiveDir {
        /// Error of the system.
        source: std::io::Error,
        /// The folder.
        path: PathBuf,
    },
    /// run.json.
    #[error("{0}")]
    Write(#[from] WriteError),
    /// Samples cannot be taken like this.
    #[error("{0}")]
    Sampling(#[from] sampling::SamplingError),
}

/// Meaning of an error of the system, where its own text does not give it.
fn hint(source: &std::io::Error) -> &'static str {
    match Errno::from_io_error(source) {
        // The file itself is there.
        Some(Errno::NOENT) => ", what its first line or its header names to run it does not exist",
        Some(Errno::NOEXEC) => {
            ", it is none for this machine, or a script whose first line is no `#!`"
        }
        _ => "",
    }
}

/// A program that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Its run directory; records of ranks may be unmerged.
    pub directory: RunDirectory,
    /// Metadata of the run, as written.
    pub metadata: Metadata,
    /// Its exit code or signal.
    pub outcome: Outcome,
}

/// Starts and records a program, and waits for its end. `warn` gets each warning as a sentence;
/// `started` is called once the program runs.
///
/// # Errors
///
/// Everything that prevents the start: no program, no recording library, no run directory, samples
/// that cannot be taken.
pub fn launch(
    options: &Options,
    warn: &mut dyn FnMut(String),
    started: &mut dyn FnMut(&RunDirectory, &Metadata),
) -> Result<Ended, LaunchError> {
    options.check()?;
    let program = find(&options.command[0])?;
    let inside = launcher::inside(|name| std::env::var(name).ok());
    if let Some(inside) = inside.filter(|_| !may_launch(&program, &options.command)) {
        // Launchers may drop what processes say that fail at the same moment: the first one has
        // the remedy.
        if inside.rank != 0 {
            std::thread::sleep(AFTER_FIRST);
        }
        return Err(wrong_order(inside, options));
    }
    let library = library::find()?;
    let launcher = launcher::detect(&program);
    if let Some(sampling) = &options.sampling {
        sampling.check()?;
        if library::marks(&library).is_none() {
            warn(format!(
                "{} is not in the folder of {}: phases that the program marks are not recorded; `{}` builds it",
                library::MARK_NAME,
                library::NAME,
                library::MARK_REMEDY
            ));
        }
    }
    let directory = RunDirectory::create(options.out.as_deref(), &default_name(&options.command))?;
    let live = match &options.live_dir {
        Some(folder) => records::node_local(folder, &directory).map_err(|source| {
            let _ = std::fs::remove_dir_all(directory.path());
            LaunchError::LiveDir { source, path: folder.clone() }
        })?,
        None => directory.live(),
    };
    if options.live_dir.is_some()
        && let Err(error) = std::os::unix::fs::symlink(&live, directory.live_elsewhere())
    {
        let link = directory.live_elsewhere();
        warn(format!(
            "cannot link to the folder of --live-dir, so that `talea watch` does not find the record: {error}: `{}`",
            link.display()
        ));
    }
    let variables = environment::variables(options, &library, &live, directory.path());
    let path = directory.path();
    let folders = [
        options.sampling.as_ref().map(|_| samples::folder(path)),
        options.fabric.map(|_| counters::folder(path)),
    ];
    for folder in folders.into_iter().flatten() {
        if let Err(source) = std::fs::create_dir(&folder) {
            let _ = std::fs::remove_dir_all(directory.path());
            return Err(LaunchError::LiveDir { source, path: folder });
        }
    }
    let mut metadata = describe::describe(options);
    directory.write_metadata(&metadata)?;
    note_host(&directory, &metadata.host, warn);
    let begin = Instant::now();
    let command = launcher.with_exports(&options.command, &variables);
    let child = child::start(&program, &command, &variables);
    let rings = (options.collect == Collect::Smart).then(|| live.clone());
    let beside = child.is_ok().then(|| Beside::start(rings, &directory));
    let (outcome, interrupted) = match child {
        Ok(child) => {
            started(&directory, &metadata);
            child.wait()
        }
        Err(source) => {
            // Nothing was recorded: leave no empty run behind.
            let _ = std::fs::remove_dir_all(directory.path());
            return Err(LaunchError::Start { source, path: program });
        }
    };
    metadata.wall = Some(elapsed(begin, Instant::now()));
    for warning in beside.into_iter().flat_map(|one| one.finish(&directory)) {
        warn(warning);
    }
    metadata.outcome = Some(outcome);
    metadata.interrupted = interrupted.map(|(signal, _)| signal);
    metadata.interrupted_at = interrupted.map(|(_, at)| elapsed(begin, at));
    if let Some(folder) = &options.live_dir {
        match records::bring_back(&live, &directory) {
            Ok(()) => _ = std::fs::remove_file(directory.live_elsewhere()),
            Err(error) => {
                let folder = folder.display();
                warn(format!("cannot copy the record from --live-dir: {error}: `{folder}`"));
            }
        }
    }
    if let Err(error) = directory.write_metadata(&metadata) {
        warn(error.to_string());
    }
    Ok(Ended { directory, metadata, outcome })
}

fn elapsed(begin: Instant, end: Instant) -> Nanos {
    Nanos(u64::try_from(end.duration_since(begin).as_nanos()).unwrap_or(u64::MAX))
}

/// The launcher started talea, and not talea the launcher.
fn wrong_order(inside: launcher::Inside, options: &Options) -> LaunchError {
    if inside.rank != 0 {
        return LaunchError::Another { started: inside.launcher, size: inside.size };
    }
    let quoted = |words: &[OsString]| {
        words.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
    };
    let mut own: Vec<OsString> = std::env::args_os().skip(1).collect();
    own.truncate(own.len().saturating_sub(options.command.len()));
    own.retain(|word| word != "--");
    let launcher::Inside { launcher: started, size, .. } = inside;
    let (own, command) = (quoted(&own), quoted(&options.command));
    let right = format!("talea {own} -- {started} -n {size} {command}");
    LaunchError::Inside { started, size, right }
}

/// Keeps the objects of this host beside the record; ranks on other hosts do the same for theirs.
fn note_host(directory: &RunDirectory, host: &str, warn: &mut dyn FnMut(String)) {
    let path = directory.host(host);
    let objects = match talea_sampling::discover() {
        Ok(Discovered { found: Found::Xml(text), .. }) => text,
        Ok(Discovered { found: Found::Objects(topology), .. }) => {
            xml::write(&topology, xml::Version::Two)
        }
        // Views say that nothing is known of the host.
        Err(_) => return,
    };
    if let Some(folder) = path.parent()
        && std::fs::create_dir_all(folder).is_ok()
        && let Err(error) = replace(&path, objects.as_bytes())
    {
        warn(error.to_string());
    }
}

//! `talea run`: start a program so that it is recorded, wait for it, and explain it.
//!
//! Owns the order of things: everything that can be wrong is found before the program starts, and
//! nothing that goes wrong afterwards changes the program's exit code, but for a program that ends
//! well and of which nothing at all was recorded. What reaches the ranks is [`environment`]'s, how
//! the launcher is told is [`launcher`]'s, waiting and signals are [`child`]'s.

mod after;
mod child;
mod environment;
mod fabric;
pub(crate) mod launcher;
pub(crate) mod library;
mod sampling;

pub(crate) use child::in_foreground;
pub(crate) use sampling::Sampling;

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use jiff::Timestamp;
use rustix::io::Errno;
use serde_json::json;
use talea_flow::times::Bound;
use talea_model::{Bytes, Nanos};
use talea_run::directory::{CreateError, WriteError, is_of_interest, replace};
use talea_run::{Metadata, Outcome, RunDirectory, counters, samples};
use talea_sampling::Discovered;
use talea_sampling::discover::Found;
use talea_topology::xml;

use crate::cli::{Calls, Merge, Times};
use crate::exit::{Exit, Expected};
use crate::terminal::say;

/// What to run and how to record it.
#[derive(Debug)]
pub(crate) struct Options {
    /// Run directory to create.
    pub(crate) out: Option<PathBuf>,
    /// How times are kept.
    pub(crate) times: Times,
    /// How far they may be from the truth.
    pub(crate) bound: Bound,
    /// Which calls are events.
    pub(crate) calls: Calls,
    /// Frames of a call path.
    pub(crate) callers: u8,
    /// Most memory for the record of a process.
    pub(crate) memory: Bytes,
    /// Folder for the record while the program runs.
    pub(crate) live_dir: Option<PathBuf>,
    /// Who brings the records of ranks together.
    pub(crate) merge: Merge,
    /// What to sample.
    pub(crate) sampling: Option<Sampling>,
    /// How often to read the counters of the nodes' networks.
    pub(crate) fabric: Option<Nanos>,
    /// What to do when the program has ended.
    pub(crate) after: After,
    /// The program with its arguments; never empty.
    pub(crate) command: Vec<OsString>,
}

/// What to do when the program has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Resolve call sites, write the report, print a summary.
    Report,
    /// Leave the record as it is.
    Nothing,
}

/// Set by users who want a process of a launcher recorded by itself.
const ALONE: &str = "TALEA_ALONE";

/// Why the program was not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
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
        /// How many.
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
        /// How many.
        size: u32,
    },
    /// No such file.
    #[error("the program does not exist: `{}`", .0.display())]
    NoProgram(PathBuf),
    /// A folder, or a file without permission to execute it.
    #[error("{why}: `{}`", path.display())]
    NotExecutable {
        /// What is in the way.
        why: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The system refused to start it.
    #[error("cannot start the program{}: {source}: `{}`", hint(source), path.display())]
    Start {
        /// What the system said.
        source: std::io::Error,
        /// The file.
        path: PathBuf,
    },
    /// No recording library.
    #[error("{0}")]
    Library(#[from] library::LibraryError),
    /// No run directory.
    #[error("{0}")]
    Create(#[from] CreateError),
    /// No folder for live files.
    #[error("cannot create a folder for the record in the one that --live-dir names: {source}: `{}`", path.display())]
    LiveDir {
        /// What the system said.
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

/// What the system means where it does not say so.
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

impl Expected for RunError {
    fn exit(&self) -> Exit {
        match self {
            Self::Create(error) => error.exit(),
            Self::Library(_) | Self::Write(_) => Exit::Lacking,
            _ => Exit::Input,
        }
    }
}

/// Runs and records the program. The exit code is the program's own, 128 + N where signal N ended
/// it; 3 where it ended well and nothing of it was recorded.
pub(crate) fn run(options: &Options) -> Result<u8, RunError> {
    let program = find_program(&options.command[0])?;
    let inside = launcher::inside(|name| std::env::var(name).ok());
    if let Some(inside) = inside.filter(|_| !may_launch(&program, &options.command)) {
        return Err(wrong_order(inside, options));
    }
    let library = library::find()?;
    let launcher = launcher::detect(&program);
    if let Some(sampling) = &options.sampling {
        sampling.check()?;
        if library::marks(&library).is_none() {
            say(&format!(
                "warning: {} is not in the folder of {}: phases that the program marks are not recorded; `{}` builds it",
                library::MARK_NAME,
                library::NAME,
                library::MARK_REMEDY
            ));
        }
    }
    let directory = RunDirectory::create(options.out.as_deref(), &default_name(&options.command))?;
    let live = match &options.live_dir {
        Some(folder) => environment::node_local(folder, &directory).map_err(|source| {
            let _ = std::fs::remove_dir_all(directory.path());
            RunError::LiveDir { source, path: folder.clone() }
        })?,
        None => directory.live(),
    };
    let variables = environment::variables(options, &library, &live, directory.path());
    let path = directory.path();
    let folders = [
        options.sampling.as_ref().map(|_| samples::folder(path)),
        options.fabric.map(|_| counters::folder(path)),
    ];
    for folder in folders.into_iter().flatten() {
        if let Err(source) = std::fs::create_dir(&folder) {
            let _ = std::fs::remove_dir_all(directory.path());
            return Err(RunError::LiveDir { source, path: folder });
        }
    }
    let mut metadata = describe(options);
    directory.write_metadata(&metadata)?;
    note_host(&directory, &metadata.host);
    let begin = Instant::now();
    let command = launcher.with_exports(&options.command, &variables);
    let started = child::start(&program, &command, &variables);
    let (outcome, interrupted) = match started {
        Ok(child) => child.wait(),
        Err(source) => {
            // Nothing was recorded: leave no empty run behind.
            let _ = std::fs::remove_dir_all(directory.path());
            return Err(RunError::Start { source, path: program });
        }
    };
    metadata.wall = Some(elapsed(begin, Instant::now()));
    metadata.outcome = Some(outcome);
    metadata.interrupted = interrupted.map(|(signal, _)| signal);
    metadata.interrupted_at = interrupted.map(|(_, at)| elapsed(begin, at));
    if let Some(folder) = &options.live_dir
        && let Err(error) = environment::bring_back(&live, &directory)
    {
        say(&format!(
            "warning: cannot copy the record from --live-dir: {error}: `{}`",
            folder.display()
        ));
    }
    // Neither an error nor a bug in what follows may hide how the program ended.
    let kept = std::panic::catch_unwind(|| fabric::settle(&directory, options.fabric));
    metadata.fabric = kept.ok().flatten();
    if let Err(error) = directory.write_metadata(&metadata) {
        say(&format!("warning: {error}"));
    }
    let recorded = std::panic::catch_unwind(|| after::explain(&directory, &metadata, options));
    Ok(match outcome {
        Outcome::ExitCode(0) if matches!(recorded, Ok(false)) => Exit::Lacking.code(),
        Outcome::ExitCode(code) => code.clamp(0, 255) as u8,
        Outcome::Signal(signal) => 128_u8.saturating_add(signal.clamp(0, 127) as u8),
    })
}

fn elapsed(begin: Instant, end: Instant) -> Nanos {
    Nanos(u64::try_from(end.duration_since(begin).as_nanos()).unwrap_or(u64::MAX))
}

/// Whether a command may start a launcher itself, or is to be recorded alone all the same.
fn may_launch(program: &Path, command: &[OsString]) -> bool {
    let is_script = || {
        let mut begin = [0; 2];
        let read = std::fs::File::open(program).and_then(|mut file| file.read_exact(&mut begin));
        read.is_ok() && &begin == b"#!"
    };
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    command.iter().any(|word| launcher::is_launcher(Path::new(word)))
        || matches!(&*name, "sh" | "bash" | "dash" | "zsh" | "ksh" | "fish" | "make" | "perl")
        || std::env::var_os(ALONE).is_some()
        || is_script()
}

/// The launcher started talea, and not talea the launcher.
fn wrong_order(inside: launcher::Inside, options: &Options) -> RunError {
    if inside.rank != 0 {
        return RunError::Another { started: inside.launcher, size: inside.size };
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
    RunError::Inside { started, size, right }
}

/// Keeps the objects of this host beside the record; ranks on other hosts do the same for theirs.
fn note_host(directory: &RunDirectory, host: &str) {
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
        say(&format!("warning: {error}"));
    }
}

/// The file that a command's first word means, as a shell would find it.
pub(crate) fn find_program(word: &OsString) -> Result<PathBuf, RunError> {
    let path = Path::new(word);
    // Also `.` and the empty word, which are in no folder of PATH.
    if path.components().count() > 1 || path.is_absolute() || path.file_name().is_none() {
        return executable(path).map(|()| path.to_owned());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates = std::env::split_paths(&folders).map(|folder| folder.join(path));
    candidates.find(|candidate| executable(candidate).is_ok()).ok_or_else(|| {
        let word = word.to_string_lossy().into_owned();
        if word.starts_with('-') { RunError::Option(word) } else { RunError::NotInPath(word) }
    })
}

fn executable(path: &Path) -> Result<(), RunError> {
    let not = |why| RunError::NotExecutable { why, path: path.to_owned() };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(not("no permission to look at the program"))
        }
        Err(_) => Err(RunError::NoProgram(path.to_owned())),
        Ok(found) if found.is_dir() => Err(not("this is a folder, not a program")),
        Ok(_) => rustix::fs::access(path, rustix::fs::Access::EXEC_OK)
            .map_err(|_| not("the program may not be executed, try `chmod +x`")),
    }
}

/// `talea-PROGRAM`, by the program that a launcher starts.
fn default_name(command: &[OsString]) -> String {
    let name = Path::new(launched(command)).file_name().unwrap_or_default().to_string_lossy();
    let harmless = |c: char| if c.is_ascii_alphanumeric() || "._-+".contains(c) { c } else { '_' };
    format!("talea-{}", name.chars().map(harmless).take(60).collect::<String>())
}

/// The word that names the program, behind launchers and what else starts it; the first where none
/// is found.
fn launched(command: &[OsString]) -> &OsString {
    let program = |word: &&OsString| {
        let text = word.to_string_lossy();
        !text.starts_with('-') && !text.contains('=') && find_program(word).is_ok()
    };
    let first = &command[0];
    let wraps = launcher::is_launcher(Path::new(first)) || is_wrapper(Path::new(first));
    let wrapper = |word: &&OsString| is_wrapper(Path::new(word));
    let named =
        if wraps { command[1..].iter().filter(program).find(|word| !wrapper(word)) } else { None };
    named.unwrap_or(first)
}

/// Programs that only set something up for the one behind them.
fn is_wrapper(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    matches!(&*name, "env" | "time" | "nice" | "taskset" | "numactl" | "timeout" | "stdbuf")
}

fn describe(options: &Options) -> Metadata {
    let words: Vec<String> =
        options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Metadata {
        command: words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        argv: words,
        start: Some(Timestamp::now()),
        host,
        user: ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok()),
        environment: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| is_of_interest(name))
            .map(|(name, value)| (name, value.to_string_lossy().into_owned()))
            .collect(),
        options: [
            ("times", json!(environment::times(options.times))),
            ("bound_relative_ppm", json!(options.bound.relative_ppm)),
            ("bound_absolute_ns", json!(options.bound.absolute.0)),
            ("bound_drift_ns", json!(options.bound.drift.0)),
            ("calls", json!(if options.calls == Calls::All { "all" } else { "mpi" })),
            ("callers", json!(options.callers)),
            ("memory_bytes", json!(options.memory.0)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .chain(options.sampling.iter().flat_map(Sampling::described))
        .chain(options.fabric.map(|interval| ("fabric_interval_ns".to_owned(), json!(interval.0))))
        .collect(),
        ..Metadata::default()
    }
}

/// A word as one would type it into a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-+=./,:@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_after_what_the_launcher_starts() {
        let check = |words: &[&str], expected: &str| {
            let words: Vec<OsString> = words.iter().map(Into::into).collect();
            assert_eq!(default_name(&words), expected);
        };
        check(&["/bin/sh", "-c", "true"], "talea-sh");
        check(&["mpirun", "-n", "4", "--oversubscribe", "/bin/ls", "-l"], "talea-ls");
        check(&["mpirun", "-n", "4", "env", "A=1", "ls"], "talea-ls");
        check(&["mpirun", "nothing-that-exists"], "talea-mpirun");
    }

    #[test]
    fn programs_are_found_or_refused_with_a_reason() {
        let find = |word: &str| find_program(&word.into());
        assert!(find("sh").is_ok());
        assert!(find("/bin/sh").is_ok());
        assert!(matches!(find("no-such-program-here"), Err(RunError::NotInPath(_))));
        assert!(matches!(find("./no-such-program-here"), Err(RunError::NoProgram(_))));
        assert!(matches!(find("/usr"), Err(RunError::NotExecutable { .. })));
        assert!(matches!(find("."), Err(RunError::NotExecutable { .. })));
        assert!(matches!(find(""), Err(RunError::NoProgram(_))));
        assert!(matches!(find("--no-such-option"), Err(RunError::Option(_))));
        assert!(matches!(find("/etc/passwd"), Err(RunError::NotExecutable { .. })));
    }

    #[test]
    fn commands_can_be_typed_again() {
        assert_eq!(quoted("--mca=a/b,c"), "--mca=a/b,c");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}

//! `talea doctor`: what works on this machine, what does not, and the command that would make it
//! work.
//!
//! Owns the checks and their words. It changes nothing and asks only what is quick to answer.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use talea_model::Bytes;
use talea_report::data::machine::{Check, CheckState as State};
use talea_sampling::Sources;
#[cfg(feature = "site")]
use talea_sampling::system;
use talea_topo::Machine;

use crate::exit::{Exit, Expected};
use crate::terminal::{prose, wrapped};
use talea_launch::{launcher, library};

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DoctorError {
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Expected for DoctorError {
    fn exit(&self) -> Exit {
        let Self::Output(error) = self;
        Exit::of_output(error)
    }
}

/// Runs all checks. The code is 3 if one of them says that nothing can be recorded.
pub(crate) fn doctor(json: bool) -> Result<Exit, DoctorError> {
    let mut findings = vec![recording_library()];
    findings.extend(library::find().ok().map(|recorder| marking_library(&recorder)));
    findings.extend(launchers());
    findings.extend([
        clock(),
        shared_memory(),
        hardware_counters(),
        #[cfg(feature = "site")]
        cores(),
        topology(),
        debug_information(),
    ]);
    let mut out = io::stdout().lock();
    if json {
        let text = serde_json::to_string_pretty(&findings).unwrap_or_default();
        writeln!(out, "{text}")?;
    } else {
        for finding in &findings {
            let mark = match finding.state {
                State::Ok => "ok     ",
                State::Limited => "limited",
                State::Missing => "MISSING",
            };
            let check = format!("{mark}  {:<18}  ", finding.check);
            let lines = [&finding.found, &finding.remedy].map(|text| wrapped(text, prose() - 29));
            for (at, line) in lines.iter().flatten().enumerate() {
                writeln!(out, "{:29}{line}", if at == 0 { check.as_str() } else { "" })?;
            }
        }
    }
    let missing = findings.iter().any(|finding| finding.state == State::Missing);
    Ok(if missing { Exit::Lacking } else { Exit::Done })
}

fn found(
    check: &'static str,
    state: State,
    found: impl Into<String>,
    remedy: impl Into<String>,
) -> Check {
    Check { check, state, found: found.into(), remedy: remedy.into() }
}

fn recording_library() -> Check {
    match library::find() {
        Ok(path) => found("recording library", State::Ok, path.display().to_string(), ""),
        Err(error) => found(
            "recording library",
            State::Missing,
            format!("{} not found", library::NAME),
            match error {
                library::LibraryError::Named(_) => {
                    format!("unset {} or name an existing file in it", library::VARIABLE)
                }
                library::LibraryError::Missing(_) => {
                    "cargo build --release -p talea-mpi".to_owned()
                }
            },
        ),
    }
}

fn marking_library(recorder: &Path) -> Check {
    match library::marks(recorder) {
        Some(path) => found("phase markers", State::Ok, path.display().to_string(), ""),
        None => found(
            "phase markers",
            State::Limited,
            format!(
                "{} not found; `talea run --sample` records no marked phases",
                library::MARK_NAME
            ),
            library::MARK_REMEDY,
        ),
    }
}

/// All MPI launchers in PATH, each once.
fn launchers() -> Vec<Check> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut programs: Vec<PathBuf> = std::env::split_paths(&folders)
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| launcher::is_launcher(path))
        .collect();
    // Names that lead to the same file are one launcher, known by its shortest name.
    programs.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    let mut real: Vec<PathBuf> = Vec::new();
    programs.retain(|path| {
        let own = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let new = !real.contains(&own);
        if new {
            real.push(own);
        }
        new
    });
    if programs.is_empty() {
        let remedy = "apt-get install openmpi-bin libopenmpi-dev";
        return vec![found("MPI launcher", State::Missing, "none in PATH", remedy)];
    }
    programs.iter().map(|path| one_launcher(path)).collect()
}

fn one_launcher(path: &Path) -> Check {
    let Some(version) = launcher::version(path) else {
        let text = format!("{} does not answer --version", path.display());
        return found("MPI launcher", State::Limited, text, "");
    };
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = version.lines().map(words).find(|line| line.chars().any(|c| c.is_ascii_digit()));
    let line = line.as_deref();
    let kind = launcher::detect(path);
    let what = match kind {
        launcher::Launcher::Other => line.unwrap_or("unknown version").to_owned(),
        _ => format!("{}: {}", kind.name(), line.unwrap_or("unknown version")),
    };
    found("MPI launcher", State::Ok, format!("{}  {what}", path.display()), "")
}

fn clock() -> Check {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = std::fs::read_to_string(path).unwrap_or_default();
    let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let steady = flags.contains("constant_tsc") && flags.contains("nonstop_tsc");
    match source.trim() {
        "" => found("clock", State::Limited, "the kernel does not say which clock it uses", ""),
        "tsc" => found("clock", State::Ok, "tsc: a reading costs about 10 ns", ""),
        other if steady => found(
            "clock",
            State::Ok,
            format!("time stamp counter (the kernel itself uses {other})"),
            "",
        ),
        other => found(
            "clock",
            State::Limited,
            format!("{other}: every reading is slower than the time stamp counter"),
            "boot with `clocksource=tsc tsc=reliable` if the processor's counter is steady",
        ),
    }
}

fn shared_memory() -> Check {
    const ENOUGH: u64 = 256 << 20;
    match rustix::fs::statvfs("/dev/shm") {
        Ok(stats) => {
            let free = Bytes(stats.f_bavail.saturating_mul(stats.f_frsize));
            let text = format!("{free} free in /dev/shm");
            if free.0 >= ENOUGH {
                found("shared memory", State::Ok, text, "")
            } else {
                let remedy = "mount -o remount,size=1G /dev/shm (in a container: --shm-size=1g)";
                found("shared memory", State::Limited, text, remedy)
            }
        }
        Err(error) => found(
            "shared memory",
            State::Limited,
            format!("/dev/shm cannot be looked at: {error}"),
            "mount -t tmpfs tmpfs /dev/shm",
        ),
    }
}

fn hardware_counters() -> Check {
    const CHECK: &str = "hardware counters";
    let list = "talea topo --counters, for what can be counted here";
    if let Err(reason) = Sources::of_machine().offer("instructions") {
        return found(CHECK, State::Limited, reason, list);
    }
    let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    match text.trim().parse::<i32>() {
        Ok(level) if level > 0 && !rustix::process::geteuid().is_root() => found(
            CHECK,
            State::Limited,
            format!("perf_event_paranoid is {level}: only your own processes"),
            "sysctl kernel.perf_event_paranoid=0",
        ),
        _ => found(CHECK, State::Ok, "cycles and instructions can be counted", ""),
    }
}

/// Possible ways of `talea agent` to sample all cores: opens what the agent would open.
#[cfg(feature = "site")]
fn cores() -> Check {
    const CHECK: &str = "agent";
    let options = system::Options::default();
    let Err(reason) = system::open_bpf(&options) else {
        return found(CHECK, State::Ok, "cores can be sampled by BPF in the kernel", "");
    };
    match system::open_rings(&options, None) {
        Ok(_) => found(
            CHECK,
            State::Limited,
            "cores can be sampled by rings of perf events, which costs more than BPF",
            reason.to_string(),
        ),
        Err(reason) => {
            let what = "this user's processes only can be sampled, and no idle time";
            found(CHECK, State::Limited, what, reason.to_string())
        }
    }
}

fn topology() -> Check {
    const CHECK: &str = "topology";
    match Machine::here() {
        Ok(machine) if machine.how.starts_with("libhwloc") => {
            found(CHECK, State::Ok, machine.how, "")
        }
        Ok(machine) => found(
            CHECK,
            State::Limited,
            machine.how,
            "apt-get install libhwloc15, for devices and memory attributes",
        ),
        Err(error) => found(CHECK, State::Limited, error.to_string(), ""),
    }
}

fn debug_information() -> Check {
    let folder = Path::new("/usr/lib/debug/.build-id");
    if folder.is_dir() {
        return found("debug information", State::Ok, "separate debug files in /usr/lib/debug", "");
    }
    found(
        "debug information",
        State::Ok,
        "that of your programs is read (-g); none of the system's libraries is installed",
        "apt-get install libc6-dbg, for names inside the C library",
    )
}

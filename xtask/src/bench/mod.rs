//! Tables of ours against the reference, measured in one run: `cargo xtask bench NAME`.
//!
//! Owns what the tables share: running programs, medians with spreads, and the line that says where
//! and when. Figures in the documentation are printed by these commands.

pub(crate) mod agent;
pub(crate) mod build;
pub(crate) mod cluster;
pub(crate) mod fabric;
pub(crate) mod flow;
pub(crate) mod fold;
mod idle;
pub(crate) mod mark;
pub(crate) mod mpi;
pub(crate) mod online;
pub(crate) mod paraver;
mod peers;
mod programs;
pub(crate) mod ranks;
pub(crate) mod sample;
pub(crate) mod scale;
pub(crate) mod serve;
pub(crate) mod shares;
pub(crate) mod topo;
pub(crate) mod truth;
/// The integration tests compare it, too.
#[path = "../../../crates/show/talea/tests/truth/mod.rs"]
mod truth_form;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Begin of every table.
pub(crate) fn heading(title: &str) {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        cpu.lines().find_map(|l| l.strip_prefix("model name\t: ")).unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let day = Command::new("date").arg("+%Y-%m-%d").output();
    let day = day
        .map_or_else(|_| String::new(), |o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
    println!("\n## {title}\n\n{model}, {cores} cores, {day}\n");
}

/// Median of some figures; sorts them.
pub(crate) fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    match figures.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => figures[n / 2],
        n => f64::midpoint(figures[n / 2 - 1], figures[n / 2]),
    }
}

/// Median, smallest and largest in one cell.
fn spread(figures: &mut [f64], digits: usize) -> String {
    let middle = median(figures);
    match (figures.first(), figures.last()) {
        (Some(low), Some(high)) => format!("{middle:.digits$} ({low:.digits$} to {high:.digits$})"),
        _ => "-".to_owned(),
    }
}

/// A file that `cargo build --release` made.
pub(crate) fn built(name: &str) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let path = own.parent().unwrap_or(Path::new(".")).join(name);
    if path.exists() {
        return std::path::absolute(&path).map_err(|e| e.to_string());
    }
    Err(format!("not built: `{}`; run `cargo build --release` first", path.display()))
}

/// The folder of another version's build, named by `TALEA_BEFORE`: tables that know it have its
/// figures beside ours.
fn before() -> Option<PathBuf> {
    std::env::var_os("TALEA_BEFORE").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// A file of that build.
fn built_before(name: &str) -> Result<PathBuf, String> {
    let path = before().unwrap_or_default().join(name);
    std::path::absolute(&path)
        .ok()
        .filter(|path| path.exists())
        .ok_or_else(|| format!("TALEA_BEFORE: not a folder with `{name}`: `{}`", path.display()))
}

/// Megabytes of a process, by their name in its status (proc(5)), such as `VmHWM:`.
pub(crate) fn memory(process: u32, what: &str) -> Result<f64, String> {
    let text =
        std::fs::read_to_string(format!("/proc/{process}/status")).map_err(|e| e.to_string())?;
    let line = text.lines().find_map(|line| line.strip_prefix(what));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    Ok(kib.ok_or("no memory in status")? * 1024.0 / 1e6)
}

/// Whether a program is on the path.
fn found(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).exists())
}

/// Settings that let Open MPI run as root on few cores; MPICH takes no notice.
fn prepared(command: &mut Command) -> &mut Command {
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .env("OMPI_MCA_mpi_yield_when_idle", "1")
        .env("OMPI_MCA_btl", "self,vader")
        .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
}

/// Runs a command to its end and gives what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let done = command.output().map_err(|e| format!("{e}: {shown}"))?;
    if !done.status.success() {
        let errors = String::from_utf8_lossy(&done.stderr);
        return Err(format!("{}: {shown}\n{errors}", done.status));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Nanoseconds on processors, of all threads of a process as the scheduler counts them: ticks are
/// too coarse for a percent.
fn processor(process: u32) -> Result<u64, String> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).map_err(|e| e.to_string())?;
    let of = |task: std::fs::DirEntry| -> Option<u64> {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    Ok(tasks.flatten().filter_map(of).sum())
}

/// A folder of our own for what is made on the way.
pub(crate) fn scratch(name: &str) -> Result<PathBuf, String> {
    let path = std::env::temp_dir().join(format!("talea-bench-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&path).map_err(|e| format!("{e}: `{}`", path.display()))?;
    Ok(path)
}

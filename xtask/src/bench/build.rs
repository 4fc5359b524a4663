//! Time of builds in fresh clones, and sizes of installed programs.
//!
//! Owns the clones, in a temporary folder; each build has a target folder of its own. Refuses
//! changing the checkout. Packages of Debian and downloads of crates are no part of the figures
//! once they are there.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::{heading, output, scratch};

/// Ticks per second of times in `/proc`, on Linux.
const TICKS: f64 = 100.0;
/// Files of a release build that users install.
const INSTALLED: [&str; 4] = ["talea", "talea-agent", "libtalea_mpi.so", "libtalea_mark.so"];

/// Prints both tables, for this commit and for `before`, a revision.
pub(crate) fn run(before: Option<&str>) -> Result<(), String> {
    heading("Builds in a fresh clone");
    println!(
        "`make demo` records and shows a program too. CPU time is that of all processes. Sizes are in MB, without symbols.\n"
    );
    println!("| version | build | crates | time, s | CPU time, s |\n|---|---|---|---|---|");
    let folder = scratch("build")?;
    let done = versions(&folder, before);
    let _ = std::fs::remove_dir_all(&folder);
    let sizes = done?;
    println!("\n| version | {} |\n|---{}|", INSTALLED.map(quoted).join(" | "), "|---".repeat(4));
    for (version, sizes) in sizes {
        println!("| {version} | {} |", sizes.join(" | "));
    }
    Ok(())
}

fn quoted(name: &str) -> String {
    format!("`{name}`")
}

/// Builds each version; its name, and the sizes of its programs.
fn versions(folder: &Path, before: Option<&str>) -> Result<Vec<(String, Vec<String>)>, String> {
    let mut sizes = Vec::new();
    for (name, revision) in [("this", Some("HEAD")), ("before", before)] {
        let Some(revision) = revision else { continue };
        let clone = folder.join(name);
        output(Command::new("git").args(["clone", "--quiet", "."]).arg(&clone))?;
        let commit = output(Command::new("git").args(["rev-parse", "--short", revision]))?;
        let checkout = ["checkout", "--quiet", commit.trim()];
        output(Command::new("git").arg("-C").arg(&clone).args(checkout))?;
        let version = format!("{name} ({})", commit.trim());
        built(&version, &clone, &["make", "demo"])?;
        built(&version, &clone, &["cargo", "build", "--release"])?;
        let release = clone.join("target/release");
        sizes.push((version, INSTALLED.map(|file| size(&release.join(file))).to_vec()));
    }
    Ok(sizes)
}

/// Builds with an empty target folder, and prints the row.
fn built(version: &str, clone: &Path, words: &[&str]) -> Result<(), String> {
    let target = clone.join("target");
    if target.exists() {
        std::fs::remove_dir_all(&target).map_err(|e| format!("{e}: `{}`", target.display()))?;
    }
    eprintln!("{version}: {}", words.join(" "));
    let (begin, before) = (Instant::now(), children()?);
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(clone).stdin(Stdio::null());
    // Settings of the caller's own builds.
    for name in ["CARGO_TARGET_DIR", "CARGO_INCREMENTAL", "CARGO_PROFILE_RELEASE_LTO"] {
        command.env_remove(name);
    }
    let done = command.output().map_err(|e| format!("{e}: {}", words.join(" ")))?;
    let said = String::from_utf8_lossy(&done.stderr);
    if !done.status.success() {
        return Err(format!("{}: {}\n{said}", done.status, words.join(" ")));
    }
    let all = said.lines().chain(std::str::from_utf8(&done.stdout).unwrap_or("").lines());
    let crates = all.filter(|line| line.trim_start().starts_with("Compiling ")).count();
    println!(
        "| {version} | `{}` | {crates} | {:.0} | {:.0} |",
        words.join(" "),
        begin.elapsed().as_secs_f64(),
        children()? - before
    );
    Ok(())
}

/// CPU time of all ended children of this process, in seconds.
fn children() -> Result<f64, String> {
    let text = std::fs::read_to_string("/proc/self/stat").map_err(|e| e.to_string())?;
    // The name in parentheses may have spaces; the fields of proc(5) after it begin with the third.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3).and_then(|text| text.parse::<f64>().ok());
    let sum = ticks(16).zip(ticks(17)).map(|(user, system)| user + system);
    sum.map(|ticks| ticks / TICKS).ok_or_else(|| "/proc/self/stat: no times of children".to_owned())
}

/// Size of a file without symbols, in MB.
fn size(path: &Path) -> String {
    let stripped = path.with_extension("stripped");
    let done = Command::new("strip").arg("-o").arg(&stripped).arg(path).output();
    match (done.is_ok_and(|done| done.status.success()), std::fs::metadata(&stripped)) {
        (true, Ok(about)) => format!("{:.1}", about.len() as f64 / 1e6),
        _ => "-".to_owned(),
    }
}

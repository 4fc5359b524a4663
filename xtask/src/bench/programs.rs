//! The real programs that are measured: lammps, gromacs, hpcc, and our own halo exchange.
//!
//! Owns their sizes. Input is prepared by `scripts/workloads`; what is not installed is left out,
//! which is said.

use std::path::Path;
use std::process::Command;

use super::output;

/// A program with its arguments.
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) words: Vec<String>,
    pub(super) ranks: &'static str,
}

/// Ranks of a program where nothing else is said.
const RANKS: &str = "4";

/// Those that are installed, with input prepared below `folder`.
pub(super) fn programs(folder: &Path) -> Result<Vec<Program>, String> {
    let mut programs = Vec::new();
    let halo = std::path::absolute("apps/bin/openmpi/halo").map_err(|e| e.to_string())?;
    if halo.exists() {
        let words = vec![halo.display().to_string(), "--steps".into(), "400".into()];
        programs.push(Program { name: "halo", words, ranks: RANKS });
    }
    for (name, binary) in [("lammps", "lmp"), ("gromacs", "gmx_mpi"), ("hpcc", "hpcc")] {
        if !super::found(binary) {
            println!("{name} is not installed and is left out");
            continue;
        }
        let words = prepare(name, &folder.join(name), &[])?;
        programs.push(Program { name, words, ranks: RANKS });
    }
    Ok(programs)
}

/// hpcc on two ranks, which needs two cores: its ranks do not take turns on a core by polling.
pub(super) fn hpcc_on_two(folder: &Path) -> Result<Option<Program>, String> {
    if !super::found("hpcc") {
        return Ok(None);
    }
    let words = prepare("hpcc", &folder.join("hpcc-2"), &["1000", "1", "2"])?;
    Ok(Some(Program { name: "hpcc, 2 ranks", words, ranks: "2" }))
}

/// The words of the command that the program's script prints.
pub(super) fn prepare(
    name: &str,
    folder: &Path,
    parameters: &[&str],
) -> Result<Vec<String>, String> {
    let mut script = Command::new(format!("scripts/workloads/{name}.sh"));
    let text = output(script.arg("prepare").arg(folder).args(parameters))?;
    Ok(text.lines().last().unwrap_or_default().split_whitespace().map(str::to_owned).collect())
}

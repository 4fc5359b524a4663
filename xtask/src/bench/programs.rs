//! The real programs that are measured: lammps, gromacs, hpcc, and our own halo exchange.

use std::path::Path;
use std::process::Command;

use super::output;

/// A program with its arguments.
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) words: Vec<String>,
}

/// Those that are installed, with input prepared below `folder`.
pub(super) fn programs(folder: &Path) -> Result<Vec<Program>, String> {
    let mut programs = Vec::new();
    let halo = std::path::absolute("apps/bin/openmpi/halo").map_err(|e| e.to_string())?;
    if halo.exists() {
        let words = vec![halo.display().to_string(), "--steps".into(), "400".into()];
        programs.push(Program { name: "halo", words });
    }
    for (name, binary) in [("lammps", "lmp"), ("gromacs", "gmx_mpi"), ("hpcc", "hpcc")] {
        if !super::found(binary) {
            println!("{name} is not installed and is left out");
            continue;
        }
        let script = format!("scripts/workloads/{name}.sh");
        let text = output(Command::new(script).arg("prepare").arg(folder.join(name)))?;
        let words =
            text.lines().last().unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        programs.push(Program { name, words });
    }
    Ok(programs)
}

//! `talea run -- srun ...` in a cluster of one node that `scripts/slurm.sh` starts for the test.

use std::path::Path;
use std::process::{Command, Output};

use super::bench::{Bench, Mpi, checkout, missing, on_path, stderr};

/// Records two ranks of the halo exchange, with Slurm as their launcher.
fn record(bench: &Bench, mpi: Mpi, run: &str, words: &[&str]) -> Option<Output> {
    if !on_path("srun") || !Path::new("/usr/sbin/slurmctld").is_file() {
        return missing("Slurm is not installed: `scripts/setup.sh test`");
    }
    // What each library was built to find out its ranks with.
    let interface = if mpi.name == "mpich" { "--mpi=pmi2" } else { "--mpi=pmix" };
    let program = mpi.program("halo").display().to_string();
    let mut all = vec!["run", "--out", run, "--", "srun", interface, "-n", "2", &program];
    all.extend(words);
    let talea = bench.talea(&all);
    let mut command = Command::new(checkout().join("scripts/slurm.sh"));
    command
        .arg(talea.get_program())
        .args(talea.get_args())
        .envs(talea.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(bench.path(""));
    Some(command.output().unwrap())
}

#[test]
fn ranks_of_srun_are_one_world() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let words = ["--size", "4", "--steps", "10"];
        let Some(output) = record(&bench, mpi, mpi.name, &words) else { return };
        let text = stderr(&output);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("2 ranks") && !text.contains("warning"), "{text}");
        let stats = bench.json(&["show", mpi.name, "stats", "--json"]);
        assert_eq!(stats["ranks"], 2, "{stats}");
        assert_eq!(stats["gaps"].as_array().unwrap().len(), 0, "{stats}");
        let matrix = bench.json(&["show", mpi.name, "matrix", "--json"]);
        assert_eq!(matrix["ranks"], 2, "{matrix}");
        assert!(!matrix["cells"].as_array().unwrap().is_empty(), "{matrix}");
    }
}

#[test]
fn what_srun_kills_is_recorded_up_to_then() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let words = ["--size", "4", "--kill-rank", "1", "--kill-at-step", "20"];
        let run = format!("{}-killed", mpi.name);
        let Some(output) = record(&bench, mpi, &run, &words) else { return };
        assert!(!output.status.success(), "{}", stderr(&output));
        let stats = bench.json(&["show", &run, "stats", "--json"]);
        assert_eq!(stats["ranks"], 2, "{stats}");
        let gaps = stats["gaps"].as_array().unwrap();
        assert!(gaps.iter().any(|gap| gap["kind"] == "ended-early"), "{stats}");
        let events = bench.text(&["events", &run, "--rank", "1", "--json-lines"]);
        assert!(events.lines().filter(|line| line.contains("\"MPI_Waitall\"")).count() > 19);
    }
}

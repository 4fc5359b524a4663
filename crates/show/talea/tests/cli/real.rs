//! Real programs: lammps, gromacs and hpcc, on four ranks.
//!
//! What is asked of each is what holds for it however fast the machine is: its structure, and what
//! its record takes.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::bench::{Bench, Mpi};
use talea_testing::missing;

/// Records a program of `scripts/workloads`, prepared with `options`, and gives its statistics.
#[track_caller]
fn record(bench: &Bench, name: &str, program: &str, options: &[&str]) -> Option<Value> {
    let mpi = Mpi::all().into_iter().find(|mpi| mpi.name == "openmpi")?;
    let paths = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&paths).any(|folder| folder.join(program).is_file()) {
        return missing(&format!("{program} is not installed"));
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../scripts/workloads")
        .join(format!("{name}.sh"));
    let input = bench.path(&format!("{name}.input"));
    let output = Command::new(&script).arg("prepare").arg(&input).args(options).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let command = String::from_utf8(output.stdout).unwrap();
    let mut words = mpi.launch(4);
    words.extend(command.lines().last().unwrap().split_whitespace().map(str::to_owned));
    bench.record(name, &[], &words);
    assert!(bench.path(name).join("report.html").is_file());
    let stats = bench.json(&["show", name, "stats", "--json"]);
    assert_eq!(stats["ranks"], 4, "{stats}");
    let lost = |gap: &&Value| gap["kind"] != "unresolved";
    assert_eq!(stats["gaps"].as_array().unwrap().iter().filter(lost).count(), 0, "{stats}");
    Some(stats)
}

fn number(stats: &Value, key: &str) -> f64 {
    stats[key].as_f64().unwrap_or_else(|| panic!("no {key}: {stats}"))
}

#[test]
fn lammps_is_one_loop_of_its_time_steps() {
    let Some(bench) = Bench::new() else { return };
    let Some(stats) = record(&bench, "lammps", "lmp", &[]) else { return };
    assert!(number(&stats, "events") > 20_000.0, "{stats}");
    assert!(number(&stats, "bytes_sequence") < 15_000.0, "{stats}");
    assert!(number(&stats, "dominant_loop_share") > 0.5, "{stats}");
    let structure = bench.text(&["show", "lammps", "structure"]);
    // 250 steps; the last output stands alone.
    assert!(structure.contains("LOOP (251x)"), "{structure}");
}

#[test]
fn gromacs_is_small() {
    let Some(bench) = Bench::new() else { return };
    // 1,500 steps: 5 s alone, two minutes beside a busy loop on each core, where ranks that wait
    // yield to the loops.
    let Some(stats) = record(&bench, "gromacs", "gmx_mpi", &["1500"]) else { return };
    assert!(number(&stats, "events") > 50_000.0, "{stats}");
    assert!(number(&stats, "bytes_sequence") < 36_000.0, "{stats}");
    assert!(number(&stats, "nodes") < 500.0, "{stats}");
}

#[test]
fn polls_of_hpcc_are_series() {
    let Some(bench) = Bench::new() else { return };
    let Some(stats) = record(&bench, "hpcc", "hpcc", &[]) else { return };
    assert!(number(&stats, "calls") > 2.0 * number(&stats, "events"), "{stats}");
    assert!(number(&stats, "nodes") < 1_000.0, "{stats}");
}

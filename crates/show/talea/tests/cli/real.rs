//! Real programs: lammps, gromacs and hpcc, on four ranks.
//!
//! Each test asks for properties that hold at any speed of the machine and for any version of the
//! program: its structure, the size of its record, and the calls that the independent logger
//! (`apps/logger`) counts in the same run.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::bench::{Bench, Mpi, stderr};
use talea_testing::missing;

/// Records a program of `scripts/workloads`, prepared with `options`, and gives its statistics.
#[track_caller]
fn record(bench: &Bench, name: &str, program: &str, options: &[&str]) -> Option<Value> {
    record_as(bench, [name, name], program, options, &[])
}

/// Records a program of `scripts/workloads` as a run of a name, behind some words; its statistics.
#[track_caller]
fn record_as(
    bench: &Bench,
    [name, run]: [&str; 2],
    program: &str,
    options: &[&str],
    before: &[String],
) -> Option<Value> {
    let mpi = open_mpi()?;
    let paths = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&paths).any(|folder| folder.join(program).is_file()) {
        return missing(&format!("{program} is not installed"));
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../scripts/workloads")
        .join(format!("{name}.sh"));
    let input = bench.path(&format!("{run}.input"));
    let output = Command::new(&script).arg("prepare").arg(&input).args(options).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let command = String::from_utf8(output.stdout).unwrap();
    let mut words = mpi.launch(4);
    words.extend_from_slice(before);
    words.extend(command.lines().last().unwrap().split_whitespace().map(str::to_owned));
    let output = bench.record(run, &[], &words);
    let is_left = stderr(&output).contains("report   later");
    assert_eq!(!is_left, bench.path(run).join("report.html").exists());
    bench.reported(run);
    bench.same_without_sums(run);
    let stats = bench.json(&["show", run, "stats", "--json"]);
    assert_eq!(stats["ranks"], 4, "{stats}");
    let lost = |gap: &&Value| gap["kind"] != "unresolved";
    assert_eq!(stats["gaps"].as_array().unwrap().iter().filter(lost).count(), 0, "{stats}");
    Some(stats)
}

#[track_caller]
fn open_mpi() -> Option<Mpi> {
    Mpi::all().into_iter().find(|mpi| mpi.name == "openmpi")
}

/// Records a program as the run `logged`, under the logger, and compares the number of calls of
/// each procedure.
#[track_caller]
fn compare_with_logger(bench: &Bench, name: &str, program: &str, options: &[&str]) -> Option<()> {
    let (logs, mpi) = (bench.path("logs"), open_mpi()?);
    std::fs::create_dir(&logs).unwrap();
    let logger = mpi.program("liblogger.so");
    let before = [
        "env".to_owned(),
        format!("LD_PRELOAD={}:{}", logger.display(), bench.library().display()),
        format!("LOGGER_DIR={}", logs.display()),
        "LOGGER_FOLD=1".to_owned(),
    ];
    record_as(bench, [name, "logged"], program, options, &before)?;
    let mut calls: BTreeMap<String, u64> = BTreeMap::new();
    for row in bench.json(&["show", "logged", "calls", "--json"]).as_array().unwrap() {
        let procedure = row["procedure"].as_str().unwrap();
        *calls.entry(procedure.to_owned()).or_default() += row["count"].as_u64().unwrap();
    }
    assert!(calls.len() > 10, "{calls:?}");
    assert_eq!(calls, logged(&logs), "{name}");
    Some(())
}

/// Calls of each procedure in all files of the logger. A line may stand for several polls.
fn logged(folder: &Path) -> BTreeMap<String, u64> {
    let mut calls = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for line in text.lines() {
            let times = line.split(' ').find_map(|word| word.strip_prefix("times="));
            let procedure = line.split(' ').next().unwrap().to_owned();
            *calls.entry(procedure).or_default() += times.map_or(1, |times| times.parse().unwrap());
        }
    }
    calls
}

/// Iterations of the loop of a run that takes longest.
fn iterations(bench: &Bench, run: &str) -> u64 {
    let structure = bench.json(&["show", run, "structure", "--json"]);
    let parts = structure[0]["tree"]["children"].as_array().unwrap();
    let loops = parts.iter().filter(|part| part["kind"] == "loop");
    let main = loops.max_by_key(|part| part["time_ns"].as_u64()).unwrap();
    main["count"].as_u64().unwrap()
}

fn number(stats: &Value, key: &str) -> f64 {
    stats[key].as_f64().unwrap_or_else(|| panic!("no {key}: {stats}"))
}

#[test]
fn lammps_is_one_loop_of_its_time_steps() {
    let Some(bench) = Bench::new() else { return };
    let Some(()) = compare_with_logger(&bench, "lammps", "lmp", &["100"]) else { return };
    let Some(stats) = record(&bench, "lammps", "lmp", &["250"]) else { return };
    assert!(number(&stats, "bytes_sequence") < 15_000.0, "{stats}");
    assert!(number(&stats, "dominant_loop_share") > 0.5, "{stats}");
    // As many iterations more as there are steps more; what surrounds the steps may be like one.
    let [few, many] = ["logged", "lammps"].map(|run| iterations(&bench, run));
    assert!(many - few == 150 && (250..=251).contains(&many), "{few} and {many}");
    // The steps are most of the run, and like each other.
    let growth = bench.json(&["show", "lammps", "growth", "--json"]);
    let time = |one: &Value, key: &str| one[key].as_u64().unwrap();
    let steady = growth["steady"].as_array().unwrap();
    let all: u64 = steady.iter().map(|one| time(one, "until_ns") - time(one, "from_ns")).sum();
    let looks = growth["looks"].as_array().unwrap();
    assert!(2 * all > time(looks.last().unwrap(), "until_ns"), "{growth}");
    assert!(looks.is_sorted_by_key(|look| time(look, "nodes")), "{growth}");
    let structure = bench.text(&["show", "lammps", "structure"]);
    assert!(structure.contains(&format!("LOOP ({many}x)")), "{structure}");
}

#[test]
fn gromacs_is_small() {
    let Some(bench) = Bench::new() else { return };
    let Some(()) = compare_with_logger(&bench, "gromacs", "gmx_mpi", &["200"]) else { return };
    // 1,500 steps: 5 s alone, two minutes beside a busy loop on each core, where ranks that wait
    // yield to the loops.
    let Some(stats) = record(&bench, "gromacs", "gmx_mpi", &["1500"]) else { return };
    assert!(number(&stats, "bytes_sequence") < 36_000.0, "{stats}");
    assert!(number(&stats, "nodes") < 500.0, "{stats}");
}

#[test]
fn polls_of_hpcc_are_series() {
    let Some(bench) = Bench::new() else { return };
    let Some(()) = compare_with_logger(&bench, "hpcc", "hpcc", &["400"]) else { return };
    // A larger matrix polls millions of times, which beside other programs takes minutes.
    let Some(stats) = record(&bench, "hpcc", "hpcc", &["400"]) else { return };
    assert!(number(&stats, "calls") > 2.0 * number(&stats, "events"), "{stats}");
    assert!(number(&stats, "nodes") < 1_000.0, "{stats}");
}

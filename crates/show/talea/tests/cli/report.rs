//! The report against the other views of the same run: one share of time in MPI, one main loop,
//! iterations in detail.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::bench::{Bench, Mpi, on_path, stderr};
use talea_testing::skip;

fn all<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().unwrap().iter()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no {key}: {value}"))
}

/// Records the demonstration program on 4 ranks; standard error of `talea run`.
fn halo(bench: &Bench, options: &[&str]) -> Option<String> {
    let mut command = Mpi::any()?.launch(4);
    command.push(Mpi::any()?.program("halo").display().to_string());
    command.extend(options.iter().map(|&word| word.to_owned()));
    Some(stderr(&bench.record("run", &[], &command)))
}

/// Shares of text are rounded.
#[track_caller]
fn says(text: &str, before: &str, share: f64) {
    let rest = text.split(before).nth(1).unwrap_or_else(|| panic!("no `{before}` in: {text}"));
    let figure = rest.split(" %").next().unwrap().trim();
    let step = if figure.contains('.') { 0.1 } else { 1.0 };
    let said: f64 = figure.parse().unwrap_or_else(|_| panic!("`{figure}` after `{before}`"));
    assert!((said - share * 100.0).abs() <= step * 0.51, "{before}{figure} % is not {share}");
}

#[test]
fn the_share_of_time_in_mpi_is_the_same_everywhere() {
    let Some(bench) = Bench::new() else { return };
    let Some(terminal) = halo(&bench, &["--size", "48", "--imbalance", "0.5"]) else { return };
    let report = bench.report("run");
    let near = |found: f64, wanted: f64| {
        assert!((found - wanted).abs() < 1e-6, "{found} is not {wanted}");
    };
    // Trees add up single times, which are kept within a bound; sums of sites are exact.
    let about = |found: f64, wanted: f64| {
        assert!((found - wanted).abs() < 0.01, "{found} is not {wanted}");
    };
    // From the end of MPI_Init to the begin of MPI_Finalize, rank by rank: the truth of all others.
    let part = |row: &Value| number(row, "mpi") / (number(row, "mpi") + number(row, "compute"));
    let sum = |key: &str| all(&report, "ranks").map(|row| number(row, key)).sum::<f64>();
    let share = sum("mpi") / (sum("mpi") + sum("compute"));
    assert!(share > 0.01 && share < 0.99, "{share}");
    let mut by_rank: Vec<f64> = all(&report, "ranks").map(part).collect();
    let wall = all(&report, "ranks").map(|row| number(row, "wall")).sum::<f64>();
    assert!(wall > sum("mpi") + sum("compute"), "what begins and ends MPI is no part of it");

    for table in ["sites", "lines", "routines"] {
        near(all(&report, table).map(|row| number(row, "share")).sum(), share);
    }
    let class = &report["classes"][0];
    let shown = &report["ranks"][class["representative"].as_u64().unwrap() as usize];
    about(number(&class["tree"], "mpi_share"), part(shown));
    let findings: Vec<&str> =
        all(&report, "findings").map(|one| one["text"].as_str().unwrap()).collect();
    let spent = findings.iter().find(|text| text.contains("of the time is spent in MPI"));
    says(&format!("begin {}", spent.unwrap().trim_start_matches("Only ")), "begin ", share);

    by_rank.sort_by(f64::total_cmp);
    says(&terminal, "in MPI   ", share);
    says(&terminal, "(ranks ", by_rank[0]);
    let to = terminal.split("(ranks ").nth(1).unwrap();
    says(to, " to ", by_rank[3]);

    near(number(&bench.json(&["show", "run", "stats", "--json"]), "mpi_share"), share);
    let calls = bench.json(&["show", "run", "calls", "--json"]);
    near(calls.as_array().unwrap().iter().map(|row| number(row, "share")).sum(), share);
    let structure = bench.json(&["show", "run", "structure", "--json"]);
    about(number(&structure[0]["tree"], "mpi_share"), part(shown));
    near(number(&structure[0], "run_ns"), number(shown, "mpi") + number(shown, "compute"));

    // Ranks leave MPI_Init at slightly different times, and efficiency is of the time that all
    // have.
    let metrics = bench.json(&["metrics", "run", "--json"]);
    let begin = number(&metrics["span_ns"], "begin");
    let span = (number(&metrics["span_ns"], "end") - begin) * 4.0;
    assert!((span / (sum("mpi") + sum("compute")) - 1.0).abs() < 0.05, "{span}");
    about(1.0 - number(&metrics["efficiency"], "parallel"), share);
}

#[test]
fn the_report_folds_the_loop_that_fold_folds() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::all().into_iter().find(|mpi| mpi.name == "openmpi") else { return };
    if !on_path("lmp") {
        skip("lmp is not installed");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts/workloads/lammps.sh");
    let input = bench.path("input");
    let prepared =
        Command::new(script).arg("prepare").arg(input).args(["200", "14"]).output().unwrap();
    let mut command = mpi.launch(2);
    let words = String::from_utf8(prepared.stdout).unwrap();
    command.extend(words.split_whitespace().map(str::to_owned));
    bench.record("run", &["--sample", "100Hz"], &command);

    let report = bench.report("run");
    let inside: Vec<&Value> =
        all(&report, "studies").filter(|one| one["kind"] == "inside").collect();
    let Some(first) = inside.first() else {
        skip("perf_event_open takes no samples here");
        return;
    };
    let folded = bench.json(&["fold", "run", "--json"]);
    let (kept, found) = (number(&folded, "folded"), number(&folded, "found"));
    let note = first["note"].as_str().unwrap();
    assert!(note.starts_with(&format!("{kept} of {found} executions folded")), "{note}");
    // 200 steps on each of two ranks; what is done once stands around them.
    assert!((400.0..=402.0).contains(&found), "{found}");
    let dominant = &all(&report, "findings").find(|one| one["target"]["kind"] == "loop").unwrap();
    assert_eq!(first["loop_id"], dominant["target"]["id"], "{dominant}");
    let titles: BTreeSet<&str> = inside.iter().map(|one| one["title"].as_str().unwrap()).collect();
    assert_eq!(titles.len(), inside.len(), "{titles:?}");
    // Loops of one routine are loops of their own: no type has the iterations of two.
    let list = bench.json(&["fold", "run", "--list", "--json"]);
    let same = |one: &&Value| one["instances"] == folded["found"];
    assert!(all(&list[0], "regions").filter(same).count() >= 2, "{list}");
}

#[test]
fn slow_iterations_of_a_long_run_are_kept_in_detail() {
    let Some(bench) = Bench::new() else { return };
    // More calls than are drawn of a whole run.
    let Some(_) = halo(&bench, &["--size", "4", "--steps", "200"]) else { return };
    let report = bench.report("run");
    let timelines: Vec<&Value> = all(&report, "timelines").collect();
    assert!(timelines.len() > 1 && timelines.iter().all(|one| !one["loop_id"].is_null()));
    let series = &report["iterations"][0];
    let numbers: Vec<u64> =
        timelines.iter().map(|one| one["iteration"].as_u64().unwrap()).collect();
    let distinct: BTreeSet<u64> = numbers.iter().copied().skip(1).collect();
    assert_eq!(distinct.len(), numbers.len() - 1, "each once: {numbers:?}");
    // The one that a finding names, else the longest of the representative.
    let named = all(&report, "findings").find(|one| one["target"]["kind"] == "iteration");
    if let Some(named) = named {
        assert_eq!(named["target"]["iteration"], numbers[1], "{named}");
    }
    let slowest = all(series, "outliers").next().map(|one| one["iteration"].as_u64().unwrap());
    assert!(slowest.is_none_or(|slowest| numbers[1..].contains(&slowest)), "{numbers:?}");
    // What is said of one is what the plot says.
    for outlier in all(series, "outliers") {
        let same = |one: &&&Value| one["iteration"] == outlier["iteration"];
        if let Some(timeline) = timelines[1..].iter().find(same) {
            let why = timeline["why"].as_str().unwrap();
            assert!(why.contains(&format!(" on rank {},", outlier["rank"])), "{why}: {outlier}");
        }
    }
    for timeline in timelines {
        let (begin, end) = (number(timeline, "begin"), number(timeline, "end"));
        assert!(end > begin && !timeline["bars"].as_array().unwrap().is_empty());
        let ranks: BTreeSet<u64> =
            all(timeline, "bars").map(|bar| bar[0].as_u64().unwrap()).collect();
        assert_eq!(ranks.len(), 4, "every rank has its calls");
        for bar in all(timeline, "bars") {
            let from = bar[1].as_f64().unwrap();
            assert!(from <= end && from + bar[2].as_f64().unwrap() >= begin, "{bar}");
        }
        assert!(all(timeline, "messages").next().is_some());
    }
}

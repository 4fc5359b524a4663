//! The views of a run: JSON keys that stay what they are, and text that fits a terminal.

use serde_json::Value;

use super::bench::{Bench, Mpi};

/// A recorded run of the demonstration program on 4 ranks.
fn halo(bench: &Bench) -> Option<()> {
    let mpi = Mpi::any()?;
    let mut command = mpi.launch(4);
    command.push(mpi.program("halo").display().to_string());
    command.extend(["--size".to_owned(), "8".to_owned()]);
    bench.record("run", &[], &command);
    Some(())
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of keys")]
fn json_keys_are_stable() {
    let Some(bench) = Bench::new() else { return };
    let Some(()) = halo(&bench) else { return };
    let stats = bench.json(&["show", "run", "stats", "--json"]);
    assert_eq!(
        keys(&stats),
        [
            "ranks",
            "calls",
            "events",
            "nodes",
            "edges",
            "cardinality",
            "bytes_total",
            "bytes_sequence",
            "bytes_times",
            "classes",
            "dominant_loop_share",
            "mpi_share",
            "waiting_share",
            "waiting_judged",
            "threads_wait_for_pus",
            "running_share",
            "delayed_share",
            "gaps"
        ]
    );
    assert_eq!((&stats["ranks"], &stats["classes"]), (&4.into(), &1.into()));
    assert!(stats["calls"].as_u64() > stats["events"].as_u64());
    assert!((0.0..=1.0).contains(&stats["dominant_loop_share"].as_f64().unwrap()));
    assert!(stats["bytes_total"].as_u64().unwrap() > 100);

    let structure = bench.json(&["show", "run", "structure", "--json"]);
    assert_eq!(
        keys(&structure[0]),
        ["ranks", "locations", "representative", "thread", "run_ns", "tree"]
    );
    assert_eq!(
        keys(&structure[0]["tree"]),
        [
            "kind",
            "label",
            "count",
            "range",
            "iterations",
            "loop_id",
            "guard",
            "time_ns",
            "share",
            "mpi_share",
            "events",
            "site",
            "children"
        ]
    );
    let loops: Vec<&Value> = structure[0]["tree"]["children"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|child| child["kind"] == "loop")
        .collect();
    assert_eq!(loops[0]["count"], 60);

    let graph = bench.json(&["show", "run", "graph", "--json"]);
    assert_eq!(keys(&graph), ["rank", "thread", "stats", "graph"]);
    assert_eq!(keys(&graph["stats"]), ["nodes", "edges", "events", "cardinality"]);
    assert_eq!(graph["stats"]["events"].as_u64().map(|one| 4 * one), stats["events"].as_u64());

    let matrix = bench.json(&["show", "run", "matrix", "--json"]);
    assert_eq!(keys(&matrix), ["ranks", "what", "cells", "collectives"]);
    // 2 x 2 ranks, each with two neighbours: 60 steps, 6 variables, (8 + 2)^2 doubles.
    let cells = matrix["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 8);
    assert!(cells.iter().all(|cell| cell[2] == 60 * 6 * 100 * 8 && cell[3] == 60 * 6), "{cells:?}");

    let classes = bench.json(&["show", "run", "classes", "--json"]);
    assert_eq!(
        keys(&classes[0]),
        [
            "id",
            "name",
            "ranks",
            "locations",
            "count",
            "representative",
            "thread",
            "exact_classes",
            "events",
            "nodes",
            "edges"
        ]
    );
    let calls = bench.json(&["show", "run", "calls", "--json"]);
    assert_eq!(calls[0]["rank_times"].as_array().unwrap().len(), 4);
    let waits: Vec<&Value> = calls
        .as_array()
        .unwrap()
        .iter()
        .filter(|call| call["procedure"] == "MPI_Waitall")
        .collect();
    let count: u64 = waits.iter().map(|call| call["count"].as_u64().unwrap()).sum();
    assert_eq!(count, 4 * 60 * 6 * 3);
    assert!(waits[0]["file"].as_str().unwrap().ends_with("halo.c"));

    // The same calls by line and by routine.
    for by in ["line", "routine"] {
        let rows = bench.json(&["show", "run", "calls", "--by", by, "--json"]);
        let rows = rows.as_array().unwrap();
        let sum = |rows: &[Value], key: &str| -> u64 {
            rows.iter().map(|row| row[key].as_u64().unwrap()).sum()
        };
        let sites = calls.as_array().unwrap();
        assert_eq!(sum(rows, "paths"), sites.len() as u64);
        assert!(rows.len() < sites.len(), "{by}: {rows:?}");
        for key in ["count", "time"] {
            assert_eq!(sum(rows, key), sum(sites, key), "{by}: {key}");
        }
        let times: Vec<u64> = rows.iter().map(|row| row["time"].as_u64().unwrap()).collect();
        assert!(times.is_sorted_by(|a, b| a >= b), "{by}: {times:?}");
        assert!(rows[0]["time"].as_u64() >= sites[0]["time"].as_u64());
    }
    let lines = bench.text(&["show", "run", "calls"]);
    assert_eq!(lines, bench.text(&["show", "run", "calls", "--by", "line"]));
    assert!(lines.contains("paths"), "{lines}");

    let doctor = bench.json(&["doctor", "--json"]);
    assert_eq!(keys(&doctor[0]), ["check", "state", "found", "remedy"]);
}

#[test]
fn text_says_what_it_should() {
    let Some(bench) = Bench::new() else { return };
    let Some(()) = halo(&bench) else { return };
    let views: [&[&str]; 12] = [
        &["show", "run", "structure"],
        &["show", "run", "structure", "--rank", "2"],
        &["show", "run", "graph"],
        &["show", "run", "stats"],
        &["show", "run", "calls"],
        &["show", "run", "calls", "--by", "path"],
        &["show", "run", "calls", "--by", "routine"],
        &["show", "run", "matrix"],
        &["show", "run", "classes"],
        &["show", "run", "collection"],
        &["show", "run", "growth"],
        &["events", "run", "--rank", "1", "--from", "1ms"],
    ];
    for words in views {
        let text = bench.text(words);
        assert!(!text.contains('\x1b'), "colours outside a terminal: {words:?}");
    }
    let structure = bench.text(&["show", "run", "structure"]);
    for part in ["+ROOT", "+LOOP (60x)", "- MPI_Waitall halo.c:", "+SEQUENCE [", "- MPI_Finalize"] {
        assert!(structure.contains(part), "`{part}` is not in: {structure}");
    }
    assert!(bench.text(&["show", "run", "graph", "--dot"]).starts_with("digraph"));
    bench.text(&["show", "run", "graph", "--svg", "graph.svg"]);
    assert!(std::fs::read_to_string(bench.path("graph.svg")).unwrap().starts_with("<svg"));
    bench.text(&["report", "run", "--out", "again.html"]);
    assert!(bench.text(&["report", "run", "--out", "-"]).starts_with("<!doctype html>"));
    let (code, message) = bench.fails(&["show", "run", "structure", "--rank", "9"]);
    assert_eq!((code, message.contains("ranks 0-3")), (2, true), "{message}");
}

#[test]
fn a_window_of_time_and_every_way_to_keep_times() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let mut command = mpi.launch(2);
    command.push(mpi.program("halo").display().to_string());
    command.extend(["--size", "4", "--steps", "30"].map(str::to_owned));
    bench.record("exact", &["--times", "exact"], &command);
    bench.record("sums", &["--times", "statistics"], &command);
    let lines = |words: &[&str]| -> Vec<Value> {
        bench.text(words).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = lines(&["events", "exact", "--rank", "1", "--json-lines"]);
    let begin = |event: &Value| event["begin_ns"].as_u64().unwrap();
    assert!(all.windows(2).all(|pair| begin(&pair[0]) <= begin(&pair[1])));
    let (from, to) = (begin(&all[20]), begin(&all[40]));
    let (first, last) = (from.to_string(), format!("{to}ns"));
    let window =
        lines(&["events", "exact", "--rank", "1", "--json-lines", "--from", &first, "--to", &last]);
    let inside = all.iter().filter(|event| {
        begin(event) <= to && begin(event) + event["duration_ns"].as_u64().unwrap() >= from
    });
    assert_eq!(window, inside.cloned().collect::<Vec<_>>());

    let sums = lines(&["events", "sums", "--rank", "1", "--json-lines"]);
    assert_eq!(sums.len(), all.len());
    assert!(sums.iter().all(|event| event["begin_ns"].is_null()));
    assert_eq!(bench.fails(&["events", "sums", "--rank", "1", "--from", "1s"]).0, 2);
    bench.text(&["show", "sums", "structure"]);
    bench.text(&["report", "sums"]);
    for view in ["growth", "collection"] {
        let (code, message) = bench.fails(&["show", "sums", view]);
        assert_eq!((code, message.contains("--times statistics")), (2, true), "{message}");
    }
    check_collection(&bench, "exact");
}

/// Iterations that would be kept of a run, and their totals.
fn check_collection(bench: &Bench, run: &str) {
    let kept = |most: usize| {
        let keep = most.to_string();
        let words = ["show", run, "collection", "--json", "--rank", "1", "--keep", &keep];
        let found = bench.json(&words);
        let sums = |key: &str| -> u64 {
            let phases = found["phases"].as_array().unwrap();
            phases.iter().map(|phase| phase[key].as_u64().unwrap()).sum()
        };
        assert_eq!(found["iterations"], sums("iterations"), "{found}");
        let lists = found["phases"].as_array().unwrap().iter().map(|phase| {
            let kept: Vec<u64> =
                phase["kept"].as_array().unwrap().iter().map(|one| one.as_u64().unwrap()).collect();
            let value = |key: &str| phase[key].as_u64().unwrap();
            assert!(kept.is_sorted() && kept[0] == value("first"), "{phase}");
            assert!(*kept.last().unwrap() <= value("last"), "{phase}");
            // Those of two stretches at least, and one of them may be the first and the slowest.
            let fewest = value("iterations").min(2) as usize;
            assert!((fewest..=most).contains(&kept.len()), "{phase}");
            kept.len()
        });
        assert_eq!(found["kept"], lists.sum::<usize>(), "{found}");
        for total in found["totals"].as_array().unwrap() {
            let [low, estimate, high] =
                ["low_ns", "estimate_ns", "high_ns"].map(|key| total[key].as_f64());
            // Without samples that chance chose there is no interval.
            assert!(high.is_none() || low <= estimate && estimate <= high, "{total}");
        }
        found
    };
    let few = kept(5);
    assert_eq!(few["rank"], 1, "{few}");
    assert!(few["kept_events"].as_u64() <= few["events"].as_u64(), "{few}");
    // All are kept, so that nothing is estimated.
    let all = kept(100);
    assert_eq!((&all["kept"], &all["kept_events"]), (&all["iterations"], &all["events"]));
    for total in all["totals"].as_array().unwrap() {
        let exact = total["time_ns"].as_f64();
        assert_eq!([&total["estimate_ns"], &total["low_ns"]].map(Value::as_f64), [exact; 2]);
    }
}

#[test]
fn what_is_asked_in_another_way_is_answered_or_told_how() {
    let Some(bench) = Bench::new() else { return };
    let Some(()) = halo(&bench) else { return };
    assert_eq!(bench.text(&["show", "run"]), bench.text(&["show", "run", "structure"]));
    let check = |words: &[&str], message: &str| {
        let (code, text) = bench.fails(words);
        assert_eq!(code, 2, "{words:?}: {text}");
        assert!(text.contains(message), "{words:?}: {text}");
    };
    check(
        &["show", "structure", "run"],
        "the run comes before the view: `talea show run structure`",
    );
    check(
        &["events", "run", "--rank", "0", "--from", "5s", "--to", "1s"],
        "--from 5.00 s is after --to 1.00 s",
    );
    check(&["fold", "run"], "`talea run --sample 100Hz -- ");
    check(&["fold", "run", "--region", "mian"], "no region `mian`");
    check(
        &["usage", "--store", "sqlite:nosuch.db"],
        "no store `nosuch.db`; `talea agent --store sqlite:nosuch.db` makes one",
    );
    std::fs::write(bench.path("other.prv"), "#Paraver").unwrap();
    for command in ["show", "report"] {
        check(&[command, "other.prv"], "`talea metrics`");
    }
    check(&["events", "other.prv", "--rank", "0"], "`talea convert`");
}

#[test]
fn completions_and_manual_pages() {
    let Some(bench) = Bench::new() else { return };
    for shell in ["bash", "zsh", "fish"] {
        assert!(bench.text(&["completions", shell]).contains("talea"));
    }
    assert!(bench.text(&["man"]).starts_with(".ie"));
    bench.text(&["man", "--out", "man"]);
    assert!(bench.path("man/talea-run.1").is_file());
    assert!(bench.text(&["run", "--help"]).contains("Examples:"));
}

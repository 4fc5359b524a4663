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
            "gaps"
        ]
    );
    assert_eq!((&stats["ranks"], &stats["classes"]), (&4.into(), &1.into()));
    assert!(stats["calls"].as_u64() > stats["events"].as_u64());
    assert!((0.0..=1.0).contains(&stats["dominant_loop_share"].as_f64().unwrap()));
    assert!(stats["bytes_total"].as_u64().unwrap() > 100);

    let structure = bench.json(&["show", "run", "structure", "--json"]);
    assert_eq!(keys(&structure[0]), ["ranks", "representative", "run_ns", "tree"]);
    assert_eq!(
        keys(&structure[0]["tree"]),
        [
            "kind",
            "label",
            "count",
            "range",
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
    assert_eq!(keys(&graph), ["rank", "stats", "graph"]);
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
            "count",
            "representative",
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

    let doctor = bench.json(&["doctor", "--json"]);
    assert_eq!(keys(&doctor[0]), ["check", "state", "found", "remedy"]);
}

#[test]
fn text_fits_a_terminal_and_says_what_it_should() {
    let Some(bench) = Bench::new() else { return };
    let Some(()) = halo(&bench) else { return };
    let views: [&[&str]; 8] = [
        &["show", "run", "structure"],
        &["show", "run", "structure", "--rank", "2"],
        &["show", "run", "graph"],
        &["show", "run", "stats"],
        &["show", "run", "calls"],
        &["show", "run", "matrix"],
        &["show", "run", "classes"],
        &["events", "run", "--rank", "1", "--from", "1ms"],
    ];
    for words in views {
        let text = bench.text(words);
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{words:?}: {line}");
            assert!(!line.contains('\x1b'), "colours outside a terminal: {words:?}");
        }
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

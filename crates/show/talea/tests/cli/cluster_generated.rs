//! `talea cluster` and `talea track` on generated traces: each kind of burst is a cluster with the
//! numbers that the generator knows.

use std::path::Path;

use serde_json::Value;
use talea_testing::paraver::{beside, steps};

use super::cluster::{assert_keys, compare_with_scikit_learn, json, refused, talea, text};
use super::generated;

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no {key}: {value}"))
}

fn near(value: &Value, expected: f64, within: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{value}"));
    assert!((value / expected - 1.0).abs() < within, "{value}, expected {expected}");
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("no {key}: {value}"))
}

#[test]
fn each_kind_of_burst_is_a_cluster() {
    let folder = tempfile::tempdir().unwrap();
    for ranks in [1, 4, 16] {
        let (path, truth) = generated::steps(folder.path(), ranks);
        let all = truth.work();
        let found = json(folder.path(), &["cluster", &path, "--min-duration", "0"]);
        assert_keys(&found);
        assert_eq!(number(&found, "bursts"), truth.bursts());
        assert_eq!(number(&found, "ranks"), u64::from(ranks));
        assert_eq!((number(&found, "points"), &found["noise"]), (all.bursts, &0.into()));
        let clusters = list(&found, "clusters");
        assert_eq!(clusters.len(), steps::KINDS.len(), "{ranks} ranks: {}", found["tried"]);
        // Kinds are in the order of their time, as clusters are.
        for ((one, kind), work) in clusters.iter().zip(&steps::KINDS).zip(&truth.kinds) {
            assert_eq!(number(one, "points"), work.bursts);
            near(&one["time_ns"], work.nanos as f64, 1e-12);
            near(&one["time_share"], work.nanos as f64 / all.nanos as f64, 1e-9);
            near(&one["mean_duration_ns"], work.nanos as f64 / work.bursts as f64, 1e-9);
            near(&one["ipc"], work.instructions as f64 / work.cycles as f64, 1e-3);
            assert_eq!(one["site"]["line"], format!("{}:{}", kind.line.1, kind.line.0));
        }
        // All ranks do the same in the same order.
        near(&found["spmd_score"], 1.0, 1e-9);
        // Without options the shortest bursts are left out, and clusters are the same ones.
        let found = json(folder.path(), &["cluster", &path]);
        let left = list(&found, "left_out").iter().map(|one| number(one, "bursts")).sum::<u64>();
        assert_eq!(left + number(&found, "points"), truth.bursts());
        assert!(found["points_time_share"].as_f64().unwrap() >= 0.99, "{found}");
        assert_eq!((list(&found, "clusters").len(), &found["noise"]), (clusters.len(), &0.into()));
        let shown = text(&talea(folder.path(), &["cluster", &path]));
        assert!(!shown.contains('…'), "something is cut\n{shown}");
    }
}

#[test]
fn titles_have_the_name_of_a_generated_input() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = generated::steps(folder.path(), 4);
    let words = ["cluster", &path, "--html", "c.html", "--svg", "c.svg"];
    text(&talea(folder.path(), &words));
    let files = ["c.html", "c.svg"].map(|name| folder.path().join(name));
    let [page, picture] = files.map(|file| std::fs::read_to_string(file).unwrap());
    assert!(page.contains("<h1>clusters of steps_4.prv.gz</h1>"), "{page}");
    let folder = folder.path().to_str().unwrap();
    assert!(!page.contains(folder) && !picture.contains(folder), "{folder}");
}

#[test]
fn threads_beside_a_program_have_no_bursts() {
    let folder = tempfile::tempdir().unwrap();
    let (path, truth) = generated::beside(folder.path());
    let found = json(folder.path(), &["cluster", &path]);
    assert_eq!(number(&found, "bursts"), truth.bursts);
    assert_eq!(number(&found, "ranks"), u64::from(beside::RANKS));
    let clusters = list(&found, "clusters");
    assert_eq!(clusters.len(), beside::PARTS.len(), "{}", found["tried"]);
    for (one, part) in clusters.iter().zip(&beside::PARTS) {
        near(&one["ipc"], part.rate as f64 / 100.0, 1e-3);
        near(&one["mean_duration_ns"], part.nanos as f64, 0.01);
        assert_eq!(one["site"]["line"], format!("solve.c:{}", part.line));
    }
    let share = (clusters[0]["time_share"].as_f64().unwrap() * 100.0).round();
    let words = ["cluster", &path, "--svg", "a.svg", "--timeline", "b.svg", "--html", "c.html"];
    text(&talea(folder.path(), &words));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    for svg in ["a.svg", "b.svg"].map(read) {
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(svg.contains(&format!("Cluster 1: {share} %")), "{share}: {svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
    let page = read("c.html");
    let (others, all) = (beside::READERS, beside::RANKS + beside::READERS);
    assert!(page.contains("default-src 'none'") && !page.contains("<script"));
    assert!(page.contains(&format!("{others} of {all} threads have no burst")), "{page}");
}

#[test]
fn a_labelled_generated_trace_is_the_trace_with_labels() {
    let folder = tempfile::tempdir().unwrap();
    let (path, truth) = generated::beside(folder.path());
    let first = json(folder.path(), &["cluster", &path, "--out-prv", "labelled.prv"]);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let (written, original) = (read("labelled.prv"), read("beside.prv"));
    let (own, others): (Vec<&str>, Vec<&str>) =
        written.lines().partition(|line| line.contains(":90000001:"));
    // All other records are those of the trace, in their order.
    assert!(others.iter().copied().eq(original.lines()));
    // Begin and end of each burst, with the number of its cluster behind six others.
    assert_eq!(own.len() as u64, 2 * truth.bursts);
    let begun = |cluster: u64| {
        let end = format!(":90000001:{}", 5 + cluster);
        own.iter().filter(|line| line.ends_with(&end)).count() as u64
    };
    for one in list(&first, "clusters") {
        assert_eq!(begun(number(one, "id")), number(one, "points"));
    }
    let labels = read("labelled.pcf");
    assert!(labels.contains("90000001") && labels.contains("Cluster 3"));
    // Read again it says the same, and labelled again it is the same.
    let again = json(folder.path(), &["cluster", "labelled.prv", "--out-prv", "again.prv"]);
    assert_eq!((&first["clusters"], &first["noise"]), (&again["clusters"], &again["noise"]));
    assert!(written == read("again.prv"));
}

#[test]
fn labels_of_generated_bursts_are_those_of_scikit_learn() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = generated::steps(folder.path(), 8);
    compare_with_scikit_learn(Path::new(&path));
}

#[test]
fn parts_of_generated_bursts_say_what_all_bursts_say() {
    let folder = tempfile::tempdir().unwrap();
    let (path, truth) = generated::steps(folder.path(), 16);
    let words = ["cluster", &path, "--min-duration", "0"];
    let all = json(folder.path(), &words);
    let bursts = truth.work().bursts;
    let with = |more: &[&str]| json(folder.path(), &[&words[..], more, &["--check"]].concat());
    for rule in ["thin", "ranks=8,random=15%", "random=10%", "ranks=8"] {
        let found = with(&["--seed", "2", "--subset", rule]);
        let check = &found["check"];
        assert_eq!(found["subset"]["rule"], rule);
        assert_eq!(check["eps"], all["eps"], "{rule}");
        assert_eq!(list(check, "clusters").len(), steps::KINDS.len(), "{rule}");
        // Kinds lie apart, so that no part of them confuses any two.
        near(&check["adjusted_rand"], 1.0, 0.01);
        assert_eq!(check["lost"], 0, "{rule}");
        let share = found["subset"]["share"].as_f64().unwrap();
        let expected = match rule {
            "ranks=8" => 0.5,
            "random=10%" => 0.1,
            "ranks=8,random=15%" => 0.5 + 0.5 * 0.15,
            _ => {
                assert!(share < 1.0, "{share}");
                continue;
            }
        };
        let within = 3.0 / (bursts as f64).sqrt();
        assert!((share - expected).abs() < within, "{rule}: {share}, expected {expected}");
    }
}

#[test]
fn start_up_of_a_generated_trace_is_no_kind_of_computation() {
    let folder = tempfile::tempdir().unwrap();
    let (path, truth) = generated::steps(folder.path(), 16);
    let ipc = steps::SETUP_RATE as f64 / 100.0;
    let has_setup = |found: &Value| {
        let ipc = |one: &Value| (one["ipc"].as_f64().unwrap() / ipc - 1.0).abs() < 0.05;
        list(found, "clusters").iter().any(ipc)
    };
    let found = json(folder.path(), &["cluster", &path]);
    let ends = [truth.begin, truth.end];
    let span = |found: &Value| ["begin", "end"].map(|end| number(&found["span_ns"], end));
    assert_eq!(
        (&found["span_ns"]["chosen"], span(&found)),
        (&"between-init-and-finalize".into(), ends)
    );
    assert!(!has_setup(&found), "{}", found["clusters"]);
    let left = &found["left_out"][0];
    assert!(left["reason"].as_str().unwrap().contains("end of MPI_Init"), "{left}");
    assert_eq!(number(left, "bursts"), truth.setup.bursts);
    let whole = json(folder.path(), &["cluster", &path, "--with-init"]);
    assert_eq!(whole["span_ns"]["chosen"], "whole");
    assert!(has_setup(&whole), "{}", whole["clusters"]);
    assert_eq!(list(&whole, "clusters").len(), 1 + steps::KINDS.len());
    // The same part by its times is the same.
    let [from, to] = ends.map(|end| end.to_string());
    let asked = json(folder.path(), &["cluster", &path, "--from", &from, "--to", &to]);
    assert_eq!(asked["span_ns"]["chosen"], "asked");
    assert_eq!(asked["clusters"], found["clusters"]);
    // So does everything that follows clusters, or computes metrics of them.
    let bursts = |words: &[&str]| {
        let found = json(folder.path(), &[&["track", &path, "--windows", "4"], words].concat());
        list(&found, "frames").iter().map(|frame| number(frame, "bursts")).sum::<u64>()
    };
    // So do bursts of every length, which frames count before the shortest are left out.
    assert_eq!(bursts(&[]), truth.work().bursts);
    assert_eq!(bursts(&["--with-init"]), truth.bursts());
    let metrics = json(folder.path(), &["metrics", &path, "--by", "cluster"]);
    assert_eq!(list(&metrics, "clusters").len(), steps::KINDS.len());
}

#[test]
fn generated_runs_and_windows_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let made = [4, 8, 16].map(|ranks| generated::steps(folder.path(), ranks));
    let paths: Vec<&str> = made.iter().map(|(path, _)| path.as_str()).collect();
    let words =
        [&["track"][..], &paths, &["--min-duration", "0", "--svg", "t.svg", "--html", "t.html"]];
    let words = words.concat();
    let found = json(folder.path(), &words);
    assert_eq!((&found["of"], &found["per_task"]), (&"runs".into(), &true.into()));
    let objects = list(&found, "objects");
    assert_eq!(objects.len(), steps::KINDS.len(), "{objects:?}");
    for (number, object) in objects.iter().enumerate() {
        // Each kind of computation is in all runs, with its work divided by ranks.
        for (frame, (_, truth)) in list(object, "frames").iter().zip(&made) {
            let work = truth.kinds[number];
            near(&frame["mean_duration_ns"], work.nanos as f64 / work.bursts as f64, 1e-6);
            near(&frame["instructions"], work.instructions as f64, 1e-6);
        }
    }
    let svg = std::fs::read_to_string(folder.path().join("t.svg")).unwrap();
    assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN"));

    let windows = json(folder.path(), &["track", paths[2], "--windows", "10ms"]);
    let frames = list(&windows, "frames");
    let truth = &made[2].1;
    assert_eq!(frames.len() as u64, (truth.end - truth.begin).div_ceil(10_000_000));
    assert!(frames.iter().any(|frame| frame["is_stable"] == true), "{frames:?}");
    let shown = text(&talea(folder.path(), &["track", paths[2], "--windows", "5"]));
    assert!(!shown.contains('…'), "{shown}");
    assert!(refused(folder.path(), &["track", paths[2]]).contains("expected at least 2 inputs"));
    let said = refused(folder.path(), &["track", paths[2], "--windows", "1ns"]);
    assert!(said.contains("expected 2 to 1000 windows"), "{said}");
}

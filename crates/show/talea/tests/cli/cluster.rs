//! `talea cluster` and `talea track`: real traces of other tools, tables, and whatever else may be
//! given to them.
//!
//! Real traces lie beside the checkout, or in `TALEA_DATA`; tests without them say so, and fail in
//! CI. Clusters are compared with scikit-learn's. Generated traces are in
//! `cluster_generated`.

// Small inputs are put together by hand, and figures that are read again are the same.
#![allow(clippy::format_push_string, clippy::format_collect, clippy::float_cmp)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use talea_testing::{checkout, missing};

use serde_json::Value;

pub(super) fn data(name: &str) -> Option<PathBuf> {
    talea_testing::data(&format!("paraver/{name}"))
}

const EPOCH: &str = "epoch_16proc.prv.gz";
const LULESH: &str = "lulesh_4+4_with_uncores_sockets1+2.chop_5it.prv";

pub(super) fn talea<S: AsRef<std::ffi::OsStr>>(folder: &Path, words: &[S]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_talea")).args(words).current_dir(folder).output().unwrap()
}

pub(super) fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(super) fn json(folder: &Path, words: &[&str]) -> Value {
    let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    let found = serde_json::from_str(&text(&talea(folder, &words))).unwrap();
    super::schemas::check(&words, &found);
    found
}

/// What is said of input that cannot be used; its exit code is that of bad input.
pub(super) fn refused(folder: &Path, words: &[&str]) -> String {
    let output = talea(folder, words);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
    said
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn titles_have_the_name_of_the_input() {
    let Some(path) = data(EPOCH) else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = ["cluster", path.to_str().unwrap(), "--html", "c.html", "--svg", "c.svg"];
    text(&talea(folder.path(), &words));
    let files = ["c.html", "c.svg"].map(|name| folder.path().join(name));
    let [page, picture] = files.map(|file| std::fs::read_to_string(file).unwrap());
    assert!(page.contains("<h1>clusters of epoch_16proc.prv.gz</h1>"), "{page}");
    let folder = path.parent().unwrap().to_str().unwrap();
    assert!(!page.contains(folder) && !picture.contains(folder), "{folder}");
}

/// Keys of an answer and of its first cluster.
pub(super) fn assert_keys(found: &Value) {
    assert_eq!(
        keys(found).join(" "),
        "input source bursts span_ns points ranks time_ns points_time_share left_out dimensions edges eps min_points \
         eps_from tried subset check clusters noise noise_time_share spmd_score findings gaps seconds"
    );
    assert_eq!(
        keys(&found["clusters"][0]).join(" "),
        "id points ranks time_ns time_share mean_duration_ns median_duration_ns centroid low high eps spmd_score ipc mips \
         site counters"
    );
}

#[test]
fn clusters_of_a_real_program_are_those_that_are_known() {
    let Some(path) = data(EPOCH) else { return };
    let folder = tempfile::tempdir().unwrap();
    let found = json(folder.path(), &["cluster", path.to_str().unwrap()]);
    assert_keys(&found);
    assert_eq!((&found["bursts"], &found["ranks"]), (&30_712.into(), &16.into()));
    let clusters = found["clusters"].as_array().unwrap();
    let points: u64 = clusters.iter().map(|one| one["points"].as_u64().unwrap()).sum();
    assert_eq!(points + found["noise"].as_u64().unwrap(), found["points"].as_u64().unwrap());
    let share = |one: &Value| one["time_share"].as_f64().unwrap();
    assert!(clusters.windows(2).all(|pair| share(&pair[0]) >= share(&pair[1])));
    assert!(found["spmd_score"].as_f64().unwrap() > 0.9);
    // What the program does ten times, on every rank, and where.
    assert!((0.6..0.9).contains(&share(&clusters[0])), "{}", clusters[0]);
    assert_eq!(clusters[0]["site"]["line"], "partlist.F90:829");
}

#[test]
fn every_trace_has_sensible_clusters_without_options() {
    let folder = tempfile::tempdir().unwrap();
    for (name, clusters, held) in [
        (EPOCH, 5..40, 0.9),
        ("epoch_4proc.prv.gz", 3..30, 0.9),
        ("epoch_1proc.prv.gz", 2..20, 0.7),
        (LULESH, 4..10, 0.95),
        ("namd_24it.prv", 1..3, 0.95),
    ] {
        let Some(path) = data(name) else { return };
        let path = path.to_str().unwrap();
        let found = json(folder.path(), &["cluster", path]);
        let count = found["clusters"].as_array().unwrap().len();
        assert!(clusters.contains(&count), "{name}: {count} clusters");
        let noise = found["noise_time_share"].as_f64().unwrap();
        assert!(1.0 - noise > held, "{name}: {noise} of the time is noise");
        let shown = text(&talea(folder.path(), &["cluster", path]));
        assert!(!shown.contains('…'), "{name}: something is cut\n{shown}");
    }
}

#[test]
fn pictures_and_pages_are_whole() {
    let Some(path) = data(LULESH) else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = [
        "cluster",
        path.to_str().unwrap(),
        "--svg",
        "a.svg",
        "--timeline",
        "b.svg",
        "--html",
        "c.html",
    ];
    text(&talea(folder.path(), &words));
    for name in ["a.svg", "b.svg"] {
        let svg = std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(
            svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("Cluster 1: 51 %"),
            "{name}"
        );
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
    }
    let page = std::fs::read_to_string(folder.path().join("c.html")).unwrap();
    assert!(page.contains("default-src 'none'") && page.contains("12 of 20 threads have no burst"));
    assert!(!page.contains("<script"));
}

#[test]
fn a_labelled_trace_is_the_trace_with_labels() {
    let Some(path) = data(LULESH) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = path.to_str().unwrap();
    let first = json(folder.path(), &["cluster", path, "--out-prv", "labelled.prv"]);
    let written = std::fs::read_to_string(folder.path().join("labelled.prv")).unwrap();
    let (own, others): (Vec<&str>, Vec<&str>) =
        written.lines().partition(|line| line.contains(":90000001:"));
    let original = std::fs::read_to_string(path).unwrap();
    assert_eq!(others.len(), original.lines().count());
    // Begin and end of each burst.
    assert_eq!(own.len(), 2 * 2_140);
    assert!(own.iter().any(|line| line.ends_with(":90000001:6")), "Cluster 1");
    let labels = std::fs::read_to_string(folder.path().join("labelled.pcf")).unwrap();
    assert!(labels.contains("90000001") && labels.contains("Cluster 5"));
    // Read again it says the same, and labelled again it is the same.
    let again = json(folder.path(), &["cluster", "labelled.prv", "--out-prv", "again.prv"]);
    assert_eq!((&first["clusters"], &first["noise"]), (&again["clusters"], &again["noise"]));
    assert!(written == std::fs::read_to_string(folder.path().join("again.prv")).unwrap());
    let states = written.lines().filter(|line| line.starts_with("1:")).count();
    assert_eq!(states, original.lines().filter(|line| line.starts_with("1:")).count());
}

fn python() -> String {
    let built = checkout().join("target/python/bin/python3");
    let built = || built.exists().then(|| built.display().to_string());
    std::env::var("TALEA_PYTHON").ok().or_else(built).unwrap_or_else(|| "python3".into())
}

/// Labels (-1 is noise) and core flags that scikit-learn gives points of two dimensions.
fn reference(
    folder: &Path,
    rows: &[f64],
    eps: f64,
    min_points: u64,
) -> Option<(Vec<i64>, Vec<u8>)> {
    let bytes: Vec<u8> = rows.iter().flat_map(|value| value.to_ne_bytes()).collect();
    std::fs::write(folder.join("rows"), bytes).unwrap();
    let output = Command::new(python())
        .arg(checkout().join("crates/analyse/cluster/tests/reference.py"))
        .args([
            "scikit-learn",
            "rows",
            "2",
            &eps.to_string(),
            &min_points.to_string(),
            "1",
            "labels",
        ])
        .current_dir(folder)
        .output();
    if !output.as_ref().is_ok_and(|output| output.status.success()) {
        return missing(&format!(
            "`{}` with scikit-learn: scripts/setup.sh test: {output:?}",
            python()
        ));
    }
    let bytes = std::fs::read(folder.join("labels")).unwrap();
    let (labels, core) = bytes.split_at(4 * rows.len());
    let labels = labels.chunks_exact(8).map(|label| i64::from_ne_bytes(label.try_into().unwrap()));
    Some((labels.collect(), core.to_vec()))
}

#[test]
fn labels_of_real_bursts_are_those_of_scikit_learn() {
    let Some(path) = data(EPOCH) else { return };
    compare_with_scikit_learn(&path);
}

/// Compares the labels of a trace's bursts, and of the same points as a table.
pub(super) fn compare_with_scikit_learn(path: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let words = ["cluster", path.to_str().unwrap(), "--csv", "bursts.csv", "--min-duration", "5us"];
    let found = json(folder, &words);
    let table = std::fs::read_to_string(folder.join("bursts.csv")).unwrap();
    let mut lines = table.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| head.iter().position(|one| *one == name).unwrap();
    let (cluster, ins, ipc) = (at("cluster"), at("PAPI_TOT_INS"), at("IPC"));
    let mut ours = Vec::new();
    let mut points = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        if let Ok(label) = cells[cluster].parse::<i64>() {
            ours.push(label);
            points.push([cells[ins].parse::<f64>().unwrap().ln(), cells[ipc].parse().unwrap()]);
        }
    }
    assert_eq!(points.len() as u64, found["points"].as_u64().unwrap());
    // The scale of the preparation, written down once more.
    let ends = |axis: usize| {
        let values = points.iter().map(|point| point[axis]);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high): (f64, f64), v| {
            (low.min(v), high.max(v))
        })
    };
    let ends = [ends(0), ends(1)];
    let rows: Vec<f64> = points
        .iter()
        .flat_map(|point| {
            [0, 1].map(|axis| {
                (point[axis] / 2.0 - ends[axis].0 / 2.0) / (ends[axis].1 / 2.0 - ends[axis].0 / 2.0)
            })
        })
        .collect();
    let (eps, min_points) = (found["eps"].as_f64().unwrap(), found["min_points"].as_u64().unwrap());
    let Some((labels, core)) = reference(folder, &rows, eps, min_points) else { return };
    let check = |ours: &[i64]| {
        let mut theirs = std::collections::BTreeMap::new();
        let mut names = std::collections::BTreeSet::new();
        for (place, (&our, &their)) in ours.iter().zip(&labels).enumerate() {
            assert_eq!(our == 0, their < 0, "noise, burst {place}");
            if core[place] == 1 {
                let name = *theirs.entry(our).or_insert_with(|| {
                    assert!(names.insert(their), "one cluster of theirs is two of ours");
                    their
                });
                assert_eq!(name, their, "core point {place}");
            }
        }
        assert_eq!(theirs.len(), found["clusters"].as_array().unwrap().len());
    };
    check(&ours);
    // The same points as a table, without preparation.
    let mut table = String::from("x,y\n");
    for row in rows.chunks_exact(2) {
        table.push_str(&format!("{},{}\n", row[0], row[1]));
    }
    std::fs::write(folder.join("points.csv"), table).unwrap();
    let (eps, min_points) = (eps.to_string(), min_points.to_string());
    let words = [
        "cluster",
        "points.csv",
        "--columns",
        "x,y",
        "--eps",
        &eps,
        "--min-points",
        &min_points,
        "--no-prepare",
        "--labels",
        "own",
    ];
    text(&talea(folder, &words));
    let own = std::fs::read_to_string(folder.join("own")).unwrap();
    check(&own.lines().map(|line| line.parse().unwrap()).collect::<Vec<i64>>());
}

#[test]
fn a_thinned_part_says_what_all_bursts_say() {
    let folder = tempfile::tempdir().unwrap();
    for (name, more) in [
        (EPOCH, &["--min-duration", "0"][..]),
        (EPOCH, &["--min-duration", "0", "--eps", "0.0136"]),
        (EPOCH, &[]),
        ("epoch_4proc.prv.gz", &["--min-duration", "0"]),
        ("epoch_1proc.prv.gz", &["--min-duration", "0"]),
        ("epoch_1proc.prv.gz", &["--min-duration", "0", "--eps", "0.0136"]),
        (LULESH, &["--min-duration", "0"]),
    ] {
        let Some(path) = data(name) else { return };
        let words = [&["cluster", path.to_str().unwrap()], more].concat();
        let all = json(folder.path(), &words);
        for seed in ["1", "2", "3"] {
            let part = ["--seed", seed, "--check", "--subset"];
            let found = json(folder.path(), &[&words[..], &part].concat());
            assert_eq!(found["subset"]["rule"], "thin");
            assert!(found["subset"]["share"].as_f64().unwrap() < 1.0, "{name}");
            assert_eq!(
                (&found["eps"], &found["check"]["eps"]),
                (&all["eps"], &all["eps"]),
                "{name}"
            );
            let index = found["check"]["adjusted_rand"].as_f64().unwrap();
            assert!(index >= 0.99, "{name}, seed {seed}: {index}");
            assert_eq!(found["check"]["lost"], 0, "{name}, seed {seed}");
        }
    }
}

#[test]
fn a_part_by_chance_says_what_it_lost() {
    let Some(path) = data(EPOCH) else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = ["cluster", path.to_str().unwrap(), "--min-duration", "0"];
    let all = json(folder.path(), &words);
    for rule in ["ranks=8,random=15%", "random=10%", "ranks=8"] {
        let found = json(folder.path(), &[&words[..], &["--subset", rule, "--check"]].concat());
        assert_eq!(found["subset"]["rule"], rule);
        // The comparison is with what all bursts give by themselves, their radius included.
        let check = &found["check"];
        assert_eq!(check["eps"], all["eps"], "{rule}");
        assert_eq!(
            check["clusters"].as_array().unwrap().len(),
            all["clusters"].as_array().unwrap().len()
        );
        let index = check["adjusted_rand"].as_f64().unwrap();
        assert!((0.2..0.99).contains(&index), "{rule}: {index}");
    }
}

#[test]
fn start_up_is_no_kind_of_computation() {
    let Some(path) = data(EPOCH) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = path.to_str().unwrap();
    let low_ipc = |found: &Value| {
        let clusters = found["clusters"].as_array().unwrap();
        clusters.iter().any(|one| {
            one["time_share"].as_f64().unwrap() > 0.2 && one["ipc"].as_f64().unwrap() < 0.4
        })
    };
    let found = json(folder.path(), &["cluster", path]);
    assert_eq!(found["span_ns"]["chosen"], "between-init-and-finalize");
    assert!(!low_ipc(&found), "{}", found["clusters"]);
    let left = &found["left_out"][0];
    assert!(left["reason"].as_str().unwrap().contains("end of MPI_Init"), "{left}");
    assert!(left["bursts"].as_u64().unwrap() >= 16, "a burst of each rank at least: {left}");
    let count = |found: &Value| {
        let left = found["left_out"].as_array().unwrap().iter();
        left.map(|one| one["bursts"].as_u64().unwrap()).sum::<u64>()
            + found["points"].as_u64().unwrap()
    };
    assert_eq!(count(&found), 30_712);
    let whole = json(folder.path(), &["cluster", path, "--with-init"]);
    assert!(low_ipc(&whole), "{}", whole["clusters"]);
    assert_eq!(whole["span_ns"]["chosen"], "whole");
    // The same part by its times is the same.
    let ends = ["begin", "end"].map(|end| found["span_ns"][end].to_string());
    let words = ["cluster", path, "--from", &ends[0], "--to", &ends[1]];
    let asked = json(folder.path(), &words);
    assert_eq!(asked["span_ns"]["chosen"], "asked");
    assert_eq!((&asked["clusters"], count(&asked)), (&found["clusters"], 30_712));
    // So does everything that follows clusters, or computes metrics of them.
    let bursts = |words: &[&str]| {
        let found = json(folder.path(), &[&["track", path, "--windows", "4"], words].concat());
        let frames = found["frames"].as_array().unwrap().iter();
        frames.map(|frame| frame["bursts"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(bursts(&[]), 30_712 - left["bursts"].as_u64().unwrap());
    assert_eq!(bursts(&["--with-init"]), 30_712);
    let metrics = json(folder.path(), &["metrics", path, "--by", "cluster"]);
    let shares = |found: &Value, key: &str| -> Vec<f64> {
        found[key]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["time_share"].as_f64().unwrap())
            .collect()
    };
    assert_eq!(
        metrics["clusters"].as_array().unwrap().len(),
        found["clusters"].as_array().unwrap().len()
    );
    assert!(shares(&metrics, "clusters")[1] < 0.2, "{}", metrics["clusters"]);
}

#[test]
fn runs_and_windows_are_followed() {
    let names = ["epoch_1proc.prv.gz", "epoch_4proc.prv.gz", EPOCH];
    let Some(paths) = names.iter().map(|name| data(name)).collect::<Option<Vec<_>>>() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
    let words = [&["track"], &paths[..], &["--svg", "t.svg", "--html", "t.html"]].concat();
    let found = json(folder.path(), &words);
    assert_eq!(keys(&found).join(" "), "of per_task dimensions edges frames objects findings gaps");
    assert_eq!((&found["of"], &found["per_task"]), (&"runs".into(), &true.into()));
    let first = &found["objects"][0]["frames"];
    assert!(
        first.as_array().unwrap().iter().all(Value::is_object),
        "the main loop is in all runs: {first}"
    );
    let mean = |at: usize| first[at]["mean_duration_ns"].as_f64().unwrap();
    assert!(mean(0) > 3.0 * mean(1) && mean(1) > 3.0 * mean(2), "strong scaling: {first}");
    let instructions = |at: usize| first[at]["instructions"].as_f64().unwrap();
    // On 16 ranks the burst of the set-up, one of 11, is a cluster of its own.
    assert!((0.85..1.2).contains(&(instructions(0) / instructions(2))), "the same work: {first}");
    let svg = std::fs::read_to_string(folder.path().join("t.svg")).unwrap();
    assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN"));

    let windows = json(folder.path(), &["track", paths[2], "--windows", "300ms"]);
    let frames = windows["frames"].as_array().unwrap();
    assert!(
        frames.len() == 6 && frames.iter().any(|frame| frame["is_stable"] == true),
        "{frames:?}"
    );
    let shown = text(&talea(folder.path(), &["track", paths[2], "--windows", "5"]));
    assert!(!shown.contains('…'), "{shown}");
    assert!(refused(folder.path(), &["track", paths[2]]).contains("expected at least 2 inputs"));
    assert!(
        refused(folder.path(), &["track", paths[2], "--windows", "1ns"])
            .contains("expected 2 to 1000 windows")
    );
}

const HEAD: &str = "#Paraver (01/01/2026 at 10:00):100000_ns:1(2):1:2(1:1,1:1)\n";

/// Two ranks with four bursts each, with instructions and cycles.
fn small() -> String {
    let mut out = String::from(HEAD);
    for burst in 0..4 {
        for task in 1..=2 {
            let (begin, end) = (burst * 1_000, burst * 1_000 + 500 + task);
            let place = format!("{task}:1:{task}:1");
            out += &format!(
                "1:{place}:{begin}:{end}:1\n2:{place}:{end}:50000001:1:42000050:{}:42000059:2000\n",
                1_000 + burst
            );
            out += &format!("2:{place}:{}:50000001:0\n", begin + 900);
        }
    }
    out
}

/// Four ranks, durations alone: each step computes 40 us before the call on one line and 400 us
/// before that on the next. Where a rank loses its processor, in every third step, 40 us become
/// anything up to 400. Calls are `by` lines lower.
fn bands(by: u64) -> [String; 2] {
    let mut out =
        String::from("#Paraver (01/01/2026 at 10:00):900000000_ns:1(4):1:4(1:1,1:1,1:1,1:1)\n");
    for task in 1..=4_u64 {
        let place = format!("{task}:1:{task}:1");
        let mut time = 0;
        let mut burst = |length: u64, line: u64| {
            let end = time + length;
            out += &format!(
                "1:{place}:{time}:{end}:1\n2:{place}:{end}:50000001:6:70000001:3:80000001:{line}\n"
            );
            time = end + 500;
            out += &format!("2:{place}:{time}:50000001:0\n");
        };
        for step in 0..300_u64 {
            // By chance, but the same each time.
            let draw = (step * 7_919 + task * 104_729) % 9_973;
            let lost =
                if draw.is_multiple_of(3) { 10_f64.powf((draw % 997) as f64 / 997.0) } else { 1.0 };
            burst((40_000.0 * lost) as u64 + draw % 7_000, 1);
            burst(400_000 + draw * 7, 2);
        }
    }
    let labels = format!(
        "EVENT_TYPE\n9 50000001 MPI\nVALUES\n6 MPI_Waitall\n0 End\n\nEVENT_TYPE\n0 70000001 Caller\nVALUES\n3 exchange\n\n\
         EVENT_TYPE\n0 80000001 Line\nVALUES\n1 {} (halo.c, halo)\n2 {} (halo.c, halo)\n",
        10 + by,
        11 + by
    );
    [out, labels]
}

#[test]
fn bands_that_anyone_sees_are_not_one_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let [trace, labels] = bands(0);
    std::fs::write(folder.join("bands.prv"), &trace).unwrap();
    std::fs::write(folder.join("bands.pcf"), labels).unwrap();
    let found = json(folder, &["cluster", "bands.prv"]);
    let clusters = found["clusters"].as_array().unwrap();
    // The first burst of a rank follows no call.
    assert_eq!(found["edges"], 3, "{}", found["tried"]);
    assert!(found["spmd_score"].as_f64().unwrap() > 0.93, "{}", found["tried"]);
    let points: Vec<u64> = clusters.iter().map(|one| one["points"].as_u64().unwrap()).collect();
    assert!(points[0] == 1_200 && points.len() == 2, "{points:?}");
    let shown = text(&talea(folder, &["cluster", "bands.prv"]));
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains("and by the calls at both ends (3 edges)"), "{shown}");
    // Without calls at the ends the bands alone tell.
    let calls =
        trace.replace(":70000001:3", "").replace(":80000001:1", "").replace(":80000001:2", "");
    std::fs::write(folder.join("plain.prv"), calls).unwrap();
    for words in [&["cluster", "plain.prv"][..], &["cluster", "bands.prv", "--edges", "no"]] {
        let found = json(folder, words);
        let clusters = found["clusters"].as_array().unwrap();
        assert!(found["edges"].is_null(), "{words:?}");
        assert!(clusters.len() > 1, "{words:?}: {}", found["tried"]);
        assert!(
            clusters[0]["time_share"].as_f64().unwrap() < 0.99,
            "{words:?}: {}",
            found["tried"]
        );
    }
}

#[test]
fn calls_whose_lines_moved_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, by) in [("old", 0), ("new", 1)] {
        let [trace, labels] = bands(by);
        std::fs::write(folder.join(format!("{name}.prv")), trace).unwrap();
        std::fs::write(folder.join(format!("{name}.pcf")), labels).unwrap();
    }
    let found = json(folder, &["track", "old.prv", "new.prv"]);
    let matched = found["frames"][1]["matched"].as_array().unwrap();
    assert!(matched.iter().all(|share| share.as_f64().unwrap() > 0.95), "{matched:?}");
    assert_eq!(found["frames"][1]["requisites"][2], 0.15, "the calls are the same: {found}");
    // Each kind is followed to the one with the same calls, though its line is now that of the
    // other.
    let first = &found["objects"][0]["frames"];
    let mean = |at: usize| first[at]["mean_duration_ns"].as_f64().unwrap();
    assert!((mean(0) / mean(1) - 1.0).abs() < 1e-9, "{first}");
    let all = found["objects"].as_array().unwrap();
    assert!(
        all.iter().all(|one| one["frames"].as_array().unwrap().iter().all(Value::is_object)),
        "{all:?}"
    );
}

#[test]
fn bad_input_gives_an_error_or_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |name: &str, content: &str| std::fs::write(folder.join(name), content).unwrap();
    write("small.prv", &small());
    let found = json(folder, &["cluster", "small.prv"]);
    assert_eq!((&found["points"], &found["noise"]), (&8.into(), &0.into()), "{found}");
    assert!(found["gaps"][0]["detail"].as_str().unwrap().contains("no labels"), "{found}");

    write("empty.prv", "");
    assert!(refused(folder, &["cluster", "empty.prv"]).contains("empty.prv"));
    write("head.prv", HEAD);
    let said = refused(folder, &["cluster", "head.prv"]);
    assert!(said.contains("expected bursts to cluster, found none (no burst: "), "{said}");
    assert!(refused(folder, &["cluster", "absent.prv"]).contains("absent.prv"));

    // Without counters durations are compared; one burst alone is noise, or a cluster if one is
    // enough.
    write(
        "plain.prv",
        &format!("{HEAD}1:1:1:1:1:0:500:1\n1:1:1:1:1:600:1000:1\n1:2:1:2:1:0:450:1\n"),
    );
    assert_eq!(json(folder, &["cluster", "plain.prv"])["dimensions"][0]["name"], "duration");
    write("one.prv", &format!("{HEAD}1:1:1:1:1:0:500:1\n"));
    let one = json(folder, &["cluster", "one.prv"]);
    assert_eq!(
        (&one["points"], one["clusters"].as_array().unwrap().len()),
        (&1.into(), 1),
        "{one}"
    );
    // A burst without extent, and one that counts less than nothing.
    write(
        "odd.prv",
        &small().replace("0:501:1\n", "501:501:1\n").replace("42000050:1003", "42000050:-5"),
    );
    let odd = json(folder, &["cluster", "odd.prv"]);
    let gaps = odd["gaps"].to_string();
    assert!(gaps.contains("PAPI_TOT_INS: 2 values were left out, below zero"), "{gaps}");
    assert!(odd["points"].as_u64().unwrap() < 8);
    let same = small()
        .replace("42000050:1001", "42000050:1000")
        .replace("42000050:1002", "42000050:1000")
        .replace("42000050:1003", "42000050:1000");
    write("same.prv", &same);
    assert!(
        json(folder, &["cluster", "same.prv"])["gaps"]
            .to_string()
            .contains("all points are in one place")
    );
    // Cut in the middle of a line; types that nothing names; labels that contradict.
    write("cut.prv", &small()[..small().len() - 70]);
    assert!(json(folder, &["cluster", "cut.prv"])["bursts"].as_u64().unwrap() >= 7);
    write("unknown.prv", &small().replace("50000001", "77777777").replace("42000050", "42999999"));
    assert_eq!(json(folder, &["cluster", "unknown.prv"])["dimensions"][0]["name"], "duration");
    write(
        "small.pcf",
        "EVENT_TYPE\n7 42000050 (PAPI_TOT_CYC) Cycles\n7 42000059 (PAPI_TOT_INS) Instr\n7 42000050 (OTHER) x\n",
    );
    assert!(json(folder, &["cluster", "small.prv"])["points"] == 8);
    let many: String = (0..100_000).map(|n| format!("{n} function number {n}\n")).collect();
    write("small.pcf", &format!("EVENT_TYPE\n0 70000001 Caller\nVALUES\n{many}"));
    assert!(json(folder, &["cluster", "small.prv"])["points"] == 8);
}

#[test]
fn options_that_cannot_be_meant_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("small.prv"), small()).unwrap();
    for (words, expected) in [
        (
            &["--min-points", "9"][..],
            "expected --min-points of at most 8, the bursts that are left, found 9",
        ),
        (&["--min-points", "0"], "expected a number of at least 1"),
        (&["--eps=-1"], "expected auto, refine, or a number of at least 0"),
        (&["--eps", "1e200"], "expected eps of 0, or between"),
        (
            &["--dimensions", "PAPI_L9"],
            "expected a counter of the input (PAPI_TOT_INS, PAPI_TOT_CYC, duration), found `PAPI_L9`",
        ),
        (&["--dimensions", "PAPI_TOT_INS /"], "expected an expression as dimension 1"),
        (&["--factor", "1"], "expected a factor for each of 2 dimensions, found 1"),
        (&["--min-duration", "1s"], "(8 of 8: they are shorter than 1.00 s)"),
        (&["--range", "IPC=5:9"], "(8 of 8: their IPC is out of range)"),
        (
            &["--range", "IPC=0.5005:", "--range", "IPC=:0.5002"],
            "(8 of 8: their IPC is out of range)",
        ),
        (&["--range", "IPC"], "expected EXPRESSION=LOW:HIGH"),
        (&["--subset", "thin", "--eps", "refine"], "expected --eps auto or a number with --subset"),
        (&["--subset", "x"], "expected ranks=8"),
        (&["--from", "1s"], "expected a part of the trace, which lasts"),
        (&["--columns", "a"], "expected a counter of the input"),
    ] {
        let said = refused(folder, &[&["cluster", "small.prv"], words].concat());
        assert!(said.contains(expected), "{words:?}: {said}");
    }
    for (words, expected) in [
        (&["--factor", "1"][..], "expected a factor for each of 2 dimensions, found 1"),
        (&["--eps", "refine"], "expected --eps auto or a number with frames"),
        (&["--min-duration", "1s"], "found none that pass in any frame"),
    ] {
        let said = refused(folder, &[&["track", "small.prv", "small.prv"], words].concat());
        assert!(said.contains(expected), "{words:?}: {said}");
    }
    // A burst that two ranges leave out is left out once.
    let ranges = [
        "--range",
        "PAPI_TOT_CYC=1:",
        "--range",
        "duration + 0=502:",
        "--range",
        "duration * 1=502:",
    ];
    let left =
        json(folder, &[&["cluster", "small.prv", "--min-points", "2"], &ranges[..]].concat());
    let bursts =
        left["left_out"].as_array().unwrap().iter().map(|one| one["bursts"].as_u64().unwrap());
    assert_eq!((bursts.sum::<u64>(), &left["points"]), (4, &4.into()), "{left}");
    let zero = json(folder, &["cluster", "small.prv", "--eps", "0", "--min-points", "2"]);
    assert_eq!(
        zero["clusters"].as_array().unwrap().len(),
        4,
        "the same work on both ranks: {zero}"
    );
}

#[test]
fn tables_are_read_and_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |name: &str, content: &str| std::fs::write(folder.join(name), content).unwrap();
    write("t.csv", "name,x,y\na,0,0\nb,0,1\nc,,5\nd,9,NaN\ne,1,0\n");
    let words = [
        "cluster",
        "t.csv",
        "--columns",
        "x,y",
        "--eps",
        "1",
        "--min-points",
        "3",
        "--no-prepare",
        "--labels",
        "l",
    ];
    let found = json(folder, &words);
    assert_eq!((&found["points"], &found["noise"]), (&3.into(), &0.into()), "{found}");
    assert_eq!(found["left_out"].as_array().unwrap().len(), 2);
    assert_eq!(std::fs::read_to_string(folder.join("l")).unwrap(), "1\n1\n0\n0\n1\n");
    assert!(found["time_ns"].is_null() && found["clusters"][0]["time_share"].is_null());
    assert!(found["seconds"]["cluster"].as_f64().unwrap() >= 0.0);
    let said = refused(folder, &["cluster", "t.csv", "--columns", "x,name"]);
    assert!(
        said.contains("line 2, column 1 (name): expected a number, found `a`: `t.csv`"),
        "{said}"
    );
    assert!(
        refused(folder, &["cluster", "t.csv", "--columns", "z"])
            .contains("expected a column of the table (name, x, y), found `z`")
    );
    assert!(
        refused(
            folder,
            &["cluster", "t.csv", "--columns", "x", "--min-points", "2", "--out-prv", "o.prv"]
        )
        .contains("--out-prv needs a trace")
    );
    let said = refused(folder, &["cluster", "t.csv", "--columns", "x", "--from", "1ms"]);
    assert!(said.contains("--from needs a trace"), "{said}");
    write("empty.csv", "");
    assert!(refused(folder, &["cluster", "empty.csv"]).contains("expected names of columns"));
    write("nan.csv", "x,y\nNaN,NaN\n,\n");
    assert!(
        refused(folder, &["cluster", "nan.csv", "--columns", "x,y"])
            .contains("2 of 2: they lack x")
    );
    // Times that are not there are not zero.
    write("odd.csv", "rank,begin,end,duration,x\n0,0,9,9,1\n,5,4,,1\n1,7,9,2,1\n");
    let odd = json(folder, &["cluster", "odd.csv", "--dimensions", "x"]);
    let gaps = odd["gaps"].to_string();
    assert!(gaps.contains("column `rank` is not used: 1 of 3 rows"), "{gaps}");
    assert!(gaps.contains("1 rows end before they begin"), "{gaps}");
    assert_eq!((&odd["points"], &odd["ranks"]), (&2.into(), &1.into()), "{odd}");
    let words = ["cluster", "odd.csv", "--columns", "x", "--weight", "duration", "--no-prepare"];
    assert_eq!(json(folder, &words)["points"], 2);
    write("plain.csv", "x\n1\n1\n1\n");
    assert!(
        refused(folder, &["cluster", "plain.csv", "--min-duration", "1us"])
            .contains("expected durations for --min-duration")
    );
    // A file on standard output is all that is there.
    for (option, begin) in [("--svg", "<svg"), ("--html", "<!doctype"), ("--labels", "1\n1\n1\n")] {
        let shown = text(&talea(folder, &["cluster", "plain.csv", option, "-"]));
        assert!(
            shown.starts_with(begin) && !shown.contains("points to a core."),
            "{option}: {shown}"
        );
    }
    // What is written is read again.
    std::fs::write(folder.join("small.prv"), small()).unwrap();
    let first = json(folder, &["cluster", "small.prv", "--csv", "again.csv"]);
    let again = json(folder, &["cluster", "again.csv"]);
    assert_eq!((&first["points"], &first["spmd_score"]), (&again["points"], &again["spmd_score"]));
    let time = |value: &Value| value["clusters"][0]["time_ns"].as_f64().unwrap();
    assert_eq!(time(&first), time(&again));
}

//! `talea top` without a screen, and `talea jobs` with rules: a program of known shares, and a
//! store of known jobs.

use std::process::{Command, Stdio};

use talea_model::shares::{Activity, Batch, BatchId, Job, Sampler, Share};
use talea_model::{Module, Nanos};
use talea_store::Store;
use talea_store::sqlite::{Options, Sqlite};

use super::always::{of, plain, samples};
use super::bench::Bench;
use talea_testing::missing;

#[test]
fn top_answers_once_as_usage_does() {
    let (Some(bench), Some(program)) = (Bench::new(), plain("shares")) else { return };
    for way in ["bpf", "rings"] {
        let words = ["top", "--once", "--for", "4s", "--rate", "200Hz", "--sampler", way];
        let all =
            [&words[..], &["--by", "executable,function,activity", "--limit", "100000", "--json"]]
                .concat();
        let mut running = Command::new("nice")
            .args(["-n", "-15"])
            .arg(&program)
            .arg("30")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let output = bench.talea(all).output().unwrap();
        running.kill().unwrap();
        running.wait().unwrap();
        if output.status.code() == Some(3) {
            return missing("cores cannot be sampled").unwrap_or(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("% of a core for "), "{said}");
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let name = program.canonicalize().unwrap().display().to_string();
        assert!(of(&answer, "executable", &name) > 200.0, "{answer}");
        assert!(
            of(&answer, "function", "unit") > of(&answer, "executable", &name) * 0.8,
            "{answer}"
        );
        let seconds =
            (answer["end_ns"].as_f64().unwrap() - answer["begin_ns"].as_f64().unwrap()) / 1e9;
        let cores = std::thread::available_parallelism().unwrap().get() as f64;
        let (taken, due) = (samples(&answer) as f64, seconds * cores * 200.0);
        assert!((taken / due - 1.0).abs() < 0.15, "{taken} samples of {due}: {}", answer["gaps"]);
        // The keys are those of `talea usage`.
        bench_store(&bench, "keys.db");
        let usage = bench.json(&[
            "usage",
            "--store",
            "sqlite:keys.db",
            "--by",
            "executable,function,activity",
            "--json",
        ]);
        let keys = |value: &serde_json::Value| {
            value.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(keys(&answer), keys(&usage));
        assert_eq!(keys(&answer["rows"][0]), keys(&usage["rows"][0]));
        assert_eq!(answer["store"], "live");
    }
}

/// An hour that ends now of two jobs: one computes on one of its four cores, one does nothing any
/// more.
fn bench_store(bench: &Bench, name: &str) {
    const MINUTE: u64 = 60_000_000_000;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let options = Options { slice: Nanos(0), ..Options::default() };
    let mut store = Sqlite::open(&bench.path(name), &options).unwrap();
    let share = |core, activity, job, samples| {
        let busy = activity == Activity::User;
        Share {
            core,
            activity,
            job: Some(job),
            user: busy.then_some(1000 + job),
            executable: busy.then_some(0),
            library: busy.then_some(1),
            address: busy.then_some(0x1234),
            phase: None,
            samples,
        }
    };
    let module = |path: &str| Module { path: path.to_owned(), build_id: "ab".to_owned() };
    let batch = |number: u64| {
        let end = now.as_nanos() as u64 / MINUTE * MINUTE - number * MINUTE;
        let mut shares = vec![share(0, Activity::User, 0, 60)];
        shares.extend((1..4).map(|core| share(core, Activity::Waiting, 0, 60)));
        shares.push(share(4, Activity::User, 1, 1));
        shares.extend((4..8).map(|core| share(core, Activity::Waiting, 1, 59)));
        Batch {
            begin: Nanos(end - MINUTE),
            end: Nanos(end),
            period: Nanos(1_000_000_000),
            cores: 8,
            sampler: Sampler::Bpf,
            jobs: vec![
                Job { id: "4711".to_owned(), user: Some(1000) },
                Job { id: "*\u{1b}[2J".to_owned(), user: Some(1001) },
            ],
            modules: vec![module("/opt/bin/lmp"), module("/opt/lib/libforce.so")],
            shares,
            ..Batch::empty(BatchId { node: "n1".to_owned(), started: 1, number })
        }
    };
    let batches: Vec<Batch> = (0..60).map(batch).collect();
    store.put_all(&batches).unwrap();
}

#[test]
fn jobs_are_listed_and_explained() {
    let Some(bench) = Bench::new() else { return };
    bench_store(&bench, "j.db");
    let store = "sqlite:j.db";
    let list = bench.json(&["jobs", "--store", store, "--json"]);
    assert_eq!(list["jobs"].as_array().unwrap().len(), 2);
    assert_eq!(list["jobs"][0]["job"], "4711");
    assert_eq!(list["jobs"][0]["core_seconds"], 14_400.0);
    assert_eq!(list["gaps"], serde_json::json!([]));
    let first = bench.json(&["jobs", "--store", store, "--limit", "1", "--json"]);
    assert_eq!(first["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(first["gaps"][0]["detail"], "there are more jobs than the 1 asked for");
    let text = bench.text(&["jobs", "--store", store, "--limit", "1"]);
    assert!(text.contains("gap: there are more jobs"), "{text}");
    let text = bench.text(&["jobs", "--store", store, "--last", "24h"]);
    assert!(text.contains("4711") && text.contains("4.000") && !text.contains('\u{1b}'), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");

    let one = bench.json(&["jobs", "--store", store, "4711", "--json"]);
    assert_eq!(one["executables"][0]["executable"], "/opt/bin/lmp");
    assert_eq!(one["executables"][0]["share"], 0.25);
    assert_eq!(one["libraries"][0]["library"], "/opt/lib/libforce.so");
    let rules: Vec<&str> =
        one["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["idle-cores", "one-library"], "{one}");
    let text = bench.text(&["jobs", "--store", store, "4711"]);
    assert!(text.contains("warning: At least a fifth") && text.contains("waiting"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn rules_hold_and_own_ones_take_their_place() {
    let Some(bench) = Bench::new() else { return };
    bench_store(&bench, "r.db");
    let store = "sqlite:r.db";
    let found = bench.json(&["jobs", "--store", store, "--findings", "--json"]);
    let first = &found["findings"][0];
    assert_eq!(
        (&first["rule"], &first["job"]),
        (&"unused-allocation".into(), &"*\u{1b}[2J".into())
    );
    let text = bench.text(&["jobs", "--store", store, "--findings"]);
    assert!(text.contains("critical") && !text.contains('\u{1b}'), "{text}");
    std::fs::create_dir(bench.path("rules")).unwrap();
    let off = "[[rule]]\nname = \"unused-allocation\"\noff = true\n";
    std::fs::write(bench.path("rules/own.toml"), off).unwrap();
    let words = ["jobs", "--store", store, "--findings", "--rules", "rules", "--json"];
    assert!(!bench.text(&words).contains("unused-allocation"));
    std::fs::write(bench.path("rules/own.toml"), "[[rule]]\nname = 3\n").unwrap();
    let (code, said) = bench.fails(&words);
    assert!(code == 2 && said.contains("rules/own.toml:2: "), "{code} {said}");
}

#[test]
fn wrong_use_is_refused() {
    let Some(bench) = Bench::new() else { return };
    bench_store(&bench, "w.db");
    for (words, expected) in [
        (&["top", "--store", "sqlite:w.db"][..], "expected a terminal"),
        (&["top", "--json"], "--once"),
        (&["top", "--once", "--for", "2h"], "expected a time up to 1h"),
        (&["top", "--last", "11min"], "expected `--last` of at most 10min without `--store`"),
        (
            &["top", "--once", "--last", "1h"],
            "expected `--last` of at most 10min without `--store`",
        ),
        (&["top", "--every", "1us"], "expected a time from 100ms"),
        (&["top", "--store", "absent"], "expected `sqlite:PATH`"),
        (&["jobs", "--store", "sqlite:w.db", "nobody's"], "no samples of job `nobody's`"),
        (&["jobs", "--store", "sqlite:w.db", "--findings", "4711"], "cannot be used with"),
        (&["jobs", "--store", "sqlite:w.db", "--findings", "--rules", "none"], "`none`"),
    ] {
        let (code, said) = bench.fails(words);
        assert!(code == 2 && said.contains(expected), "{words:?}: {code} {said}");
    }
}

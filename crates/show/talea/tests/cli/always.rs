//! `talea agent` and `talea usage`: programs with known shares of time, as they are seen from
//! outside by each way to sample.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::bench::{Bench, on_path, stderr};
use talea_testing::{checkout, missing};

/// Samples a second that make shares sure within seconds.
pub(super) const RATE: &str = "200Hz";

/// A program of `apps` that needs no MPI.
#[track_caller]
pub(super) fn plain(name: &str) -> Option<PathBuf> {
    let program = checkout().join("apps/bin/plain").join(name);
    if program.is_file() {
        return Some(program);
    }
    missing(&format!("{name} is not built: `make -C apps`"))
}

pub(super) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Something that is killed when nobody needs it any more.
    pub(super) fn of(child: Child) -> Self {
        Self(child)
    }

    /// An agent that samples until it is told to stop, once more than so many samples are in the
    /// store; none where this user may not sample cores.
    #[track_caller]
    pub(super) fn agent(bench: &Bench, store: &str, options: &[&str], than: u64) -> Option<Self> {
        let words = ["agent", "--store", store, "--rate", RATE, "--interval", "500ms"];
        let mut command = bench.talea(words);
        // As a service: no terminal.
        let command = command.args(options).stdin(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let mut running = Self(child);
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_mins(1) {
            if let Some(status) = running.0.try_wait().unwrap() {
                assert_eq!(status.code(), Some(3), "{options:?}");
                return missing(&format!("cores cannot be sampled: {options:?}"));
            }
            let (code, _) = bench.fails(&["usage", "--store", store]);
            if code == 0 && samples(&bench.json(&["usage", "--store", store, "--json"])) > than {
                return Some(running);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("nothing was stored in a minute: {options:?}");
    }

    /// Tells it to stop as Ctrl-C does, which must leave good data; gives what it said.
    #[track_caller]
    pub(super) fn stopped(mut self) -> String {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        assert!(self.0.wait().unwrap().success());
        let mut said = String::new();
        std::io::Read::read_to_string(&mut self.0.stderr.take().unwrap(), &mut said).unwrap();
        said
    }
}

pub(super) fn samples(answer: &Value) -> u64 {
    answer["samples"].as_u64().unwrap()
}

/// Samples of rows by the value of a key.
pub(super) fn of(answer: &Value, key: &str, value: &str) -> f64 {
    let rows = answer["rows"].as_array().unwrap().iter().filter(|row| row[key] == value);
    rows.map(|row| row["samples"].as_f64().unwrap()).sum()
}

/// Two parts of one whole are as many samples as their share says, within four standard errors.
#[track_caller]
fn agrees(part: f64, rest: f64, share: f64) {
    let all = part + rest;
    assert!(all > 200.0, "{all} samples are too few");
    let bound = 4.0 * (share * (1.0 - share) / all).sqrt();
    assert!((part / all - share).abs() < bound, "{part} of {all} are not {share} within {bound}");
}

#[test]
fn functions_and_all_time_of_all_cores_are_seen() {
    let (Some(bench), Some(program)) = (Bench::new(), plain("shares")) else { return };
    for way in ["bpf", "rings"] {
        let store = format!("sqlite:{way}.db");
        let Some(agent) = Running::agent(&bench, &store, &["--sampler", way], 0) else { return };
        let output = Command::new(&program).arg("3").output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let said = agent.stopped();
        assert!(said.contains("sampling ") && said.contains("batches; the agent took"), "{said}");

        let all =
            bench.json(&["usage", "--store", &store, "--by", "executable,activity", "--json"]);
        let name = program.canonicalize().unwrap().display().to_string();
        assert!(of(&all, "executable", &name) > 200.0, "{all}");
        let rows = all["rows"].as_array().unwrap();
        let total: u64 = rows.iter().map(|row| row["samples"].as_u64().unwrap()).sum();
        assert!(total <= samples(&all) && total * 10 > samples(&all) * 9, "{all}");
        // Samples of all cores at the rate that was asked for.
        let seconds = (all["end_ns"].as_f64().unwrap() - all["begin_ns"].as_f64().unwrap()) / 1e9;
        let cores = std::thread::available_parallelism().unwrap().get() as f64;
        let due = seconds * cores * 200.0;
        let taken = samples(&all) as f64;
        assert!((taken / due - 1.0).abs() < 0.15, "{taken} samples of {due}: {}", all["gaps"]);

        // All of the work is in this one function; who called it is not seen.
        let words = ["usage", "--store", &store, "--by", "function,library", "--json"];
        let functions = bench.json(&[&words[..], &["--executable", "*/shares"]].concat());
        let unit = of(&functions, "function", "unit");
        let matched = functions["matched_samples"].as_f64().unwrap();
        assert!(unit > matched * 0.8, "{functions}");
        let text = bench.text(&["usage", "--store", &store, "--by", "core,activity"]);
        assert!(text.contains("core seconds, in slices") && text.contains("user"), "{text}");
    }
}

/// The start reads few types of the kernel, and releases the pages of the program's file that only
/// the start needs.
#[test]
fn the_agent_takes_little_memory_at_its_begin_and_afterwards() {
    let Some(bench) = Bench::new() else { return };
    let Some(agent) = Running::agent(&bench, "sqlite:t.db", &["--sampler", "bpf"], 0) else {
        return;
    };
    let status = std::fs::read_to_string(format!("/proc/{}/status", agent.0.id())).unwrap();
    let bytes = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let kibibytes: u64 = line.split_whitespace().next().unwrap().parse().unwrap();
        kibibytes * 1024
    };
    let (now, most) = (bytes("VmRSS:"), bytes("VmHWM:"));
    assert!(now <= 12 << 20 && most <= 14 << 20, "{status}");
    agent.stopped();
}

/// A program with its own processes' numbers and its own mounts, as a container has them, is seen
/// as it is; an agent inside one says what it cannot see.
#[test]
fn name_spaces_of_containers() {
    let (Some(bench), Some(program)) = (Bench::new(), plain("shares")) else { return };
    let enter = ["--pid", "--fork", "--kill-child", "--mount-proc"];
    if !Command::new("unshare").args(enter).arg("true").status().is_ok_and(|done| done.success()) {
        return missing("name spaces cannot be made").unwrap_or(());
    }
    // A file that only the container has. What other tests do meanwhile must not take its time.
    let inside = bench.path("inside");
    std::fs::create_dir(&inside).unwrap();
    let script = "mount -t tmpfs none $1 && cp $2 $1/contained && exec nice -n -15 $1/contained 60";
    let mut command = Command::new("unshare");
    command.args(enter).args(["sh", "-c", script, "sh"]).arg(&inside).arg(&program);
    let _contained = Running(command.stdout(Stdio::null()).spawn().unwrap());
    let Some(agent) = Running::agent(&bench, "sqlite:t.db", &[], 600) else { return };
    agent.stopped();
    let words = ["usage", "--store", "sqlite:t.db", "--by", "executable,function", "--json"];
    let answer = bench.json(&words);
    let path = inside.join("contained").display().to_string();
    assert!(of(&answer, "executable", &path) > 0.2 * samples(&answer) as f64, "{answer}");
    let mut command = Command::new("unshare");
    let agent = ["agent", "--store", "sqlite:i.db", "--interval", "300ms", "--for", "1s"];
    command.args(enter).arg(env!("CARGO_BIN_EXE_talea")).args(agent).current_dir(bench.path("."));
    let said = String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned();
    assert!(said.contains("a container's name space of processes"), "{said}");
}

#[test]
fn marked_phases_have_their_shares() {
    let (Some(bench), Some(program)) = (Bench::new(), plain("phases")) else { return };
    let library = bench.library().with_file_name("libtalea_mark.so");
    if !library.is_file() {
        return missing("libtalea_mark.so is not built: `cargo build -p talea-mark`").unwrap_or(());
    }
    for way in ["bpf", "rings"] {
        let store = format!("sqlite:{way}.db");
        let Some(agent) = Running::agent(&bench, &store, &["--sampler", way], 0) else { return };
        let mut command = Command::new(&program);
        let output = command.args(["6", "2"]).env("LD_PRELOAD", &library).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        agent.stopped();
        phases_are_as_2_to_1(&bench, &store);
    }
}

/// Shares of the phases of `phases`, which its program knows.
#[track_caller]
fn phases_are_as_2_to_1(bench: &Bench, store: &str) {
    let words = ["usage", "--store", store, "--by", "phase", "--executable", "*/phases", "--json"];
    let phases = bench.json(&words);
    let (long, short) = (of(&phases, "phase", "long"), of(&phases, "phase", "short"));
    agrees(long, short, 2.0 / 3.0);
    // What is in no phase: the program's begin, and what was hit before the agent had found where
    // phases are.
    let matched = phases["matched_samples"].as_f64().unwrap();
    assert!(long + short > matched * 0.6, "{phases}");
}

/// A second mapping of the library is not taken for the one that is loaded: a tool's, or that of a
/// run that is sampled itself.
#[test]
fn phases_are_found_where_their_library_is_mapped_twice() {
    let (Some(bench), Some(program)) = (Bench::new(), plain("phases")) else { return };
    let library = bench.library().with_file_name("libtalea_mark.so");
    if !library.is_file() {
        return missing("libtalea_mark.so is not built: `cargo build -p talea-mark`").unwrap_or(());
    }
    let name = program.display().to_string();
    for way in ["bpf", "rings"] {
        let store = format!("sqlite:{way}-mapped.db");
        let Some(agent) = Running::agent(&bench, &store, &["--sampler", way], 0) else { return };
        let mut command = Command::new(&program);
        command.args(["6", "2"]).arg(&library).env("LD_PRELOAD", &library);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        agent.stopped();
        phases_are_as_2_to_1(&bench, &store);

        let store = format!("sqlite:{way}-sampled.db");
        let Some(agent) = Running::agent(&bench, &store, &["--sampler", way], 0) else { return };
        let words = [name.clone(), "6".to_owned(), "2".to_owned()];
        bench.record(&format!("run-{way}"), &["--sample", "100Hz"], &words);
        agent.stopped();
        phases_are_as_2_to_1(&bench, &store);
    }
}

#[test]
fn what_a_killed_agent_has_delivered_stays_and_the_next_goes_on() {
    let Some(bench) = Bench::new() else { return };
    let store = "sqlite:k.db";
    let Some(mut agent) = Running::agent(&bench, store, &[], 0) else { return };
    agent.0.kill().unwrap();
    agent.0.wait().unwrap();
    let before = samples(&bench.json(&["usage", "--store", store, "--json"]));
    assert!(before > 0);
    // What was in the spool is delivered by the next one, and nothing twice: no more samples than
    // the time has.
    let Some(mut agent) = Running::agent(&bench, store, &[], before) else { return };
    // SIGHUP is no reason to end where there is no terminal: nobody would start it again. One that
    // ends has one more batch.
    let pid = agent.0.id().to_string();
    assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    let count = || samples(&bench.json(&["usage", "--store", store, "--json"]));
    for _ in 0..3 {
        let now = count();
        let grows = (0..600).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            count() > now
        });
        assert!(grows && agent.0.try_wait().unwrap().is_none(), "SIGHUP ended it");
    }
    agent.stopped();
    let all = bench.json(&["usage", "--store", store, "--json"]);
    assert!(samples(&all) > before);
    let seconds = (all["end_ns"].as_f64().unwrap() - all["begin_ns"].as_f64().unwrap()) / 1e9;
    let cores = std::thread::available_parallelism().unwrap().get() as f64;
    let most = seconds * cores * 200.0 * 1.15;
    assert!(samples(&all) as f64 <= most, "{} samples, at most {most}", samples(&all));
}

/// Of an agent that is killed again and again in the middle of its interval, nothing is lost that
/// no gap tells: samples and gaps are all of the time.
#[test]
fn killed_agents_lose_little_and_tell_it() {
    let Some(bench) = Bench::new() else { return };
    let store = "sqlite:k.db";
    let words = ["agent", "--store", store, "--rate", RATE, "--interval", "60s"];
    let progress = bench.path("k.db.spool").join("progress.0");
    let begin = Instant::now();
    for kill in 0..4 {
        let mut command = bench.talea(words);
        let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut agent = Running(child);
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(5000 + 700 * kill) {
            if let Some(status) = agent.0.try_wait().unwrap() {
                assert_eq!(status.code(), Some(3));
                return missing("cores cannot be sampled").unwrap_or(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(progress.is_file());
    }
    let agent = Running::agent(&bench, store, &[], 0).unwrap();
    agent.stopped();
    let lasted = begin.elapsed().as_secs_f64();
    let all = bench.json(&["usage", "--store", store, "--json"]);
    let gaps = all["gaps"].as_array().unwrap();
    let count = |what: &str| -> f64 {
        let told = gaps.iter().filter(|gap| gap["detail"].as_str().unwrap().contains(what));
        told.map(|gap| gap["count"].as_f64().unwrap()).sum()
    };
    assert!((count("killed in the middle") - 4.0).abs() < 0.5, "{gaps:?}");
    let cores = std::thread::available_parallelism().unwrap().get() as f64;
    let sampled = samples(&all) as f64 / (200.0 * cores);
    let told = count("milliseconds were not sampled") / 1000.0;
    // What passes before the first agent begins is nobody's.
    assert!(
        (sampled + told) / lasted > 0.9 && (sampled + told) / lasted < 1.1,
        "{sampled} s and {told} s of {lasted} s: {gaps:?}"
    );
    assert!(told < 0.55 * lasted, "{told} s of {lasted} s");
}

#[test]
fn the_store_may_be_a_server_of_prometheus() {
    let Some(bench) = Bench::new() else { return };
    if !on_path("prometheus") {
        return missing("prometheus is not installed: apt-get install prometheus").unwrap_or(());
    }
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    std::fs::write(bench.path("prometheus.yml"), "global: {}\n").unwrap();
    let server = Command::new("prometheus")
        .arg("--web.enable-remote-write-receiver")
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .arg(format!("--storage.tsdb.path={}", bench.path("data").display()))
        .arg(format!("--config.file={}", bench.path("prometheus.yml").display()))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = Running(server);
    // The agent need not wait for it: batches wait in the spool.
    let store = format!("prometheus:http://127.0.0.1:{port}");
    let spool = bench.path("spool").display().to_string();
    let also = format!("influx:{}", bench.path("lines").display());
    let options = ["--spool", &spool, "--also", &also];
    let Some(agent) = Running::agent(&bench, &store, &options, 0) else { return };
    agent.stopped();
    let all = bench.json(&["usage", "--store", &store, "--by", "node,activity", "--json"]);
    let lines = std::fs::read_to_string(bench.path("lines")).unwrap();
    let sent = lines.lines().filter_map(|line| line.split_once(" samples=")?.1.split_once('i'));
    let sent: u64 = sent.map(|(samples, _)| samples.parse::<u64>().unwrap()).sum();
    assert_eq!(samples(&all), sent, "{all}");
    drop(server);
    let (code, said) = bench.fails(&["usage", "--store", &store]);
    assert!(code == 3 && said.contains(&store["prometheus:".len()..]), "{code} {said}");
}

#[test]
fn wrong_addresses_and_rates_are_refused() {
    let Some(bench) = Bench::new() else { return };
    std::fs::write(bench.path("text"), "this is no database, but long enough to be read as one")
        .unwrap();
    for (words, expected) in [
        (&["agent", "--store", "text"][..], "expected `sqlite:PATH`"),
        (&["agent", "--store", "sqlite:text"], "expected an SQLite database that talea made"),
        (&["agent", "--store", "sqlite:none/t.db"], "none/t.db"),
        (
            &["agent", "--store", "sqlite:t.db", "--rate", "1MHz"],
            "expected 100 µs to 1000 s between samples",
        ),
        (&["agent", "--store", "sqlite:t.db", "--rate", "0Hz"], "expected a rate"),
        (
            &["agent", "--store", "sqlite:t.db", "--counters", "page-faults,cyclse"],
            "counter `cyclse` is not known",
        ),
        (&["agent", "--store", "prometheus:tsdb:8428"], "expected `prometheus:http://HOST:PORT"),
        (
            &["agent", "--store", "sqlite:t.db", "--also", "mqtt://broker/t"],
            "expected `influx:http://HOST:PORT/write?db=NAME`",
        ),
        (&["usage", "--store", "sqlite:absent.db"], "absent.db"),
        (
            &["serve", "--store", "sqlite:s.db", "--config", "absent"],
            "no folder of users and tokens; `talea serve user add NAME",
        ),
        (&["usage", "--store", "http://h:1"], "expected --token-file FILE"),
        (&["agent", "--store", "http://h:1"], "expected --token-file FILE"),
        (&["usage", "--store", "sqlite:t.db", "--token-file", "text"], "are for a server"),
        (&["jobs", "--store", "prometheus:http://h:1", "--ca", "text"], "are for a server"),
        (&["top", "--once", "--store", "sqlite:t.db", "--ca", "text"], "are for a server"),
        (&["agent", "--store", "sqlite:t.db", "--token-file", "text"], "are for a server"),
        (&["usage", "--store", "sqlite:t.db", "--by", "color"], "possible values"),
        (&["usage", "--store", "sqlite:t.db", "--limit", "0"], "expected a number from 1"),
    ] {
        let (code, said) = bench.fails(words);
        assert!(code == 2 && said.contains(expected), "{words:?}: {code} {said}");
    }
}

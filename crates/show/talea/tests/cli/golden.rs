//! The `--json` of every command on fixed input, as it was when the file beside it was written.
//!
//! Owns the list of commands. Their input never changes: a run of `halo`, runs of earlier versions,
//! traces that [`traces`] writes, described machines and networks. Output is compared as values:
//! order and names of keys and all texts are the same, numbers agree to nine digits, as functions
//! of the system's mathematical library round differently from machine to machine. `TALEA_UPDATE=1`
//! writes the files anew, for changes that the CHANGELOG names.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use talea_testing::paraver::{Records, Thread};

use super::bench::page_data;
use super::schemas::{errors, validator};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Copies the fixed input into a new folder, so that nothing is written beside it and no path is
/// absolute.
fn input() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy(&golden().join("halo"), &folder.path().join("halo"));
    let crates = talea_testing::checkout().join("crates");
    let samples = crates.join("record/run/tests/samples");
    for version in ["version-1", "version-2", "version-4", "version-5", "version-6"] {
        copy(&samples.join(version), &folder.path().join(version));
    }
    let machine = crates.join("machine/topology/tests/samples/version3.xml");
    fs::copy(machine, folder.path().join("version3.xml")).unwrap();
    traces(folder.path());
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &name);
        } else {
            fs::copy(entry.path(), name).unwrap();
        }
    }
}

const LABELS: &str = "EVENT_TYPE\n9 50000001 MPI Point-to-point\nVALUES\n1 MPI_Send\n2 MPI_Recv\n0 Outside MPI\n\n\
    EVENT_TYPE\n9 50000002 MPI Collective Comm\nVALUES\n10 MPI_Allreduce\n0 Outside MPI\n\n\
    EVENT_TYPE\n9 50000003 MPI Other\nVALUES\n31 MPI_Init\n32 MPI_Finalize\n0 Outside MPI\n\n\
    EVENT_TYPE\n9 60000019 User function\nVALUES\n5 relax\n0 End\n\n\
    EVENT_TYPE\n0 30000000 Sampled function\nVALUES\n7 relax\n8 exchange\n\n\
    EVENT_TYPE\n0 30000100 Sampled line\nVALUES\n9 12 (relax.c, relax.c)\n10 40 (relax.c, relax.c)\n\n\
    EVENT_TYPE\n7 42000050 PAPI_TOT_INS [Instr completed]\n7 42000059 PAPI_TOT_CYC [Total cycles]\n";

/// Writes `four.prv` and `eight.prv`: ranks in steps of a millisecond, in each a routine `relax`
/// with samples whose rate of instructions rises within it, a message to the next rank, and a sum
/// over all. Ranks differ by a few per cent, and each fourth step takes longer.
fn traces(folder: &Path) {
    for (name, ranks) in [("four", 4), ("eight", 8)] {
        fs::write(folder.join(format!("{name}.prv")), trace(ranks, 40)).unwrap();
        fs::write(folder.join(format!("{name}.pcf")), LABELS).unwrap();
    }
}

fn trace(ranks: u64, steps: u64) -> String {
    const STEP: u64 = 1_000_000;
    let end = STEP * (steps + 2);
    let mut records = Records::default();
    for number in 1..=ranks {
        let rank = Thread::of_task(number as u32);
        records.state(rank, 0, STEP, 15);
        let mut events = Records::default();
        let mut probed = 0;
        let mut event = |time: u64, pairs: &[(u32, u64)], rate: u64| {
            let cycles = 2 * (time - probed);
            probed = time;
            let counters = [(42_000_050, cycles * rate / 100), (42_000_059, cycles)];
            events.event(rank, time, &[pairs, &counters].concat());
        };
        event(0, &[(50_000_003, 31)], 100);
        event(STEP, &[(50_000_003, 0)], 100);
        for step in 1..=steps {
            let begin = step * STEP;
            let slow = if step % 4 == 0 { 150_000 } else { 0 };
            let computes = 500_000 + slow + number * 7_000 + step * 131 % 977;
            records.state(rank, begin, begin + computes, 1);
            event(begin, &[(60_000_019, 5)], 80);
            for sample in 0..5 {
                let at = begin
                    + (2 * sample + 1) * computes / 11
                    + (step * 7_919 + number * 101) % 9_973;
                let pairs = [(30_000_000, 7), (30_000_100, 9 + sample / 3)];
                event(at, &pairs, 100 + 30 * sample);
            }
            let call = begin + computes;
            event(call, &[(60_000_019, 0)], 250);
            records.state(rank, call, begin + STEP, 13);
            event(call + 1_000, &[(50_000_001, 1)], 60);
            event(call + 21_000, &[(50_000_001, 0)], 60);
            event(call + 22_000, &[(50_000_001, 2)], 60);
            event(call + 52_000, &[(50_000_001, 0)], 60);
            event(call + 60_000, &[(50_000_002, 10)], 60);
            event(begin + STEP - 1_000, &[(50_000_002, 0)], 60);
            let next = number % ranks + 1;
            let arrived = begin + 500_000 + slow + next * 7_000 + step * 131 % 977 + 52_000;
            let received = (Thread::of_task(next as u32), [arrived - 30_000, arrived]);
            records.message([(rank, [call + 1_000; 2]), received], 8192, 7);
        }
        event(end - STEP, &[(50_000_003, 32)], 100);
        event(end, &[(50_000_003, 0)], 100);
        records.state(rank, end - STEP, end, 15);
        records.append(events);
    }
    records.text(end, &[ranks as u32], &[])
}

/// Name of the file with the output, the command without its `--json`, and the view whose schema
/// the output, or each element of an array of outputs, keeps to.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("halo-structure", "show halo structure", "structure"),
    ("halo-graph", "show halo graph", "graph"),
    ("halo-stats", "show halo stats", "stats"),
    ("halo-calls", "show halo calls", "calls"),
    ("halo-calls-line", "show halo calls --by line", "call-groups"),
    ("halo-calls-routine", "show halo calls --by routine", "call-groups"),
    ("halo-matrix", "show halo matrix", "matrix"),
    ("halo-classes", "show halo classes", "classes"),
    ("halo-collection", "show halo collection", "collection"),
    ("halo-growth", "show halo growth", "growth"),
    ("halo-hosts", "show halo hosts", "hosts"),
    ("halo-samples", "show halo samples", "samples"),
    ("halo-metrics", "metrics halo", "metrics"),
    ("halo-fold-list", "fold halo --list", "fold-list"),
    ("halo-fold", "fold halo", "fold"),
    ("halo-cluster", "cluster halo", "cluster"),
    ("halo-track", "track halo --windows 4", "track"),
    ("version-1-structure", "show version-1/finished structure", "structure"),
    ("version-1-calls", "show version-1/finished calls", "calls"),
    ("version-1-killed", "show version-1/killed stats", "stats"),
    ("version-2-structure", "show version-2/finished structure", "structure"),
    ("version-2-calls", "show version-2/finished calls", "calls"),
    ("version-2-killed", "show version-2/killed stats", "stats"),
    ("version-4-structure", "show version-4/finished structure", "structure"),
    ("version-4-calls", "show version-4/finished calls", "calls"),
    ("version-4-collection", "show version-4/finished collection --rank 1", "collection"),
    ("version-4-killed", "show version-4/killed stats", "stats"),
    ("version-5-collection", "show version-5/finished collection --rank 1", "collection"),
    ("version-5-killed", "show version-5/killed stats", "stats"),
    ("version-6-collection", "show version-6/finished collection --rank 1", "collection"),
    ("version-6-killed", "show version-6/killed stats", "stats"),
    ("trace-metrics", "metrics four.prv", "metrics"),
    ("trace-metrics-two", "metrics four.prv eight.prv", "metrics"),
    ("trace-fold-list", "fold four.prv --list", "fold-list"),
    ("trace-fold", "fold four.prv --region relax", "fold"),
    ("trace-cluster", "cluster four.prv", "cluster"),
    ("trace-track", "track four.prv eight.prv", "track"),
    ("trace-track-windows", "track four.prv --windows 4", "track"),
    ("machine", "topo --topology version3.xml", "machine"),
    (
        "place",
        "fabric place --torus 4x4x4 --ranks 8x8x4 --stencil 7 --bytes 8192 --compare 1x1x4,2x2x1",
        "place",
    ),
];

#[test]
fn json_of_fixed_input_is_what_it_was() {
    let folder = input();
    let update = std::env::var_os("TALEA_UPDATE").is_some();
    let mut wrong = String::new();
    for (name, words, view) in COMMANDS {
        let output = Command::new(env!("CARGO_BIN_EXE_talea"))
            .args(words.split_whitespace())
            .arg("--json")
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "talea {words} --json: {said}");
        let found = String::from_utf8(output.stdout).unwrap();
        let file = golden().join(format!("{name}.json"));
        let mut found: Value = serde_json::from_str(&found).unwrap();
        for error in errors(view, &found) {
            writeln!(wrong, "talea {words} --json is not as `talea schema {view}` says: {error}")
                .unwrap();
        }
        // How long talea itself took.
        if let Some(Value::Object(seconds)) = found.get_mut("seconds") {
            seconds.values_mut().for_each(|value| *value = 0.into());
        }
        if update {
            fs::write(&file, found.to_string() + "\n").unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        let expected = serde_json::from_str(&expected).unwrap_or_default();
        if let Some(place) = difference(&expected, &found, "") {
            writeln!(wrong, "talea {words} --json differs from {}: {place}", file.display())
                .unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}TALEA_UPDATE=1 writes the files anew");
}

/// The first place at which two values differ.
fn difference(expected: &Value, found: &Value, at: &str) -> Option<String> {
    let differ = || Some(format!("{at}: expected {expected:.80}, found {found:.80}"));
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => {
            if !a.keys().eq(b.keys()) {
                let keys =
                    |map: &serde_json::Map<String, Value>| map.keys().cloned().collect::<Vec<_>>();
                return Some(format!("{at}: expected keys {:?}, found {:?}", keys(a), keys(b)));
            }
            a.iter().find_map(|(key, value)| difference(value, &b[key], &format!("{at}.{key}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut all = a.iter().zip(b).enumerate();
            all.find_map(|(number, (a, b))| difference(a, b, &format!("{at}[{number}]")))
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default());
            if (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) { None } else { differ() }
        }
        _ if expected == found => None,
        _ => differ(),
    }
}

#[test]
fn the_report_keeps_to_its_schema() {
    let folder = input();
    let words = ["report", "halo", "--out", "-"];
    let mut talea = Command::new(env!("CARGO_BIN_EXE_talea"));
    let output = talea.args(words).current_dir(folder.path()).output().unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    let report = page_data(&page)["report"].clone();
    let wrong: Vec<String> =
        validator("report").iter_errors(&report).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn events_keep_to_their_schema() {
    let folder = input();
    let mut talea = Command::new(env!("CARGO_BIN_EXE_talea"));
    talea.args(["events", "halo", "--rank", "1", "--json-lines"]).current_dir(folder.path());
    let lines = String::from_utf8(talea.output().unwrap().stdout).unwrap();
    let validator = validator("event");
    let wrong = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        let error = validator.validate(&event).err()?;
        Some(format!("{error}: {line}"))
    };
    assert!(lines.lines().count() > 100, "{lines}");
    assert_eq!(lines.lines().find_map(wrong), None);
}

#[test]
fn schemas_refuse_other_data() {
    let folder = golden();
    let stats: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("halo-stats.json")).unwrap()).unwrap();
    let validator = validator("stats");
    assert!(validator.is_valid(&stats));
    let with = |key: &str, value: Value| {
        let mut other = stats.clone();
        other[key] = value;
        other
    };
    assert!(!validator.is_valid(&with("ranks", "four".into())));
    assert!(!validator.is_valid(&with("unknown", 1.into())));
    let mut less = stats.clone();
    less.as_object_mut().unwrap().remove("calls");
    assert!(!validator.is_valid(&less));
}

#[test]
fn every_schema_is_used_by_a_command() {
    let output = Command::new(env!("CARGO_BIN_EXE_talea")).arg("schema").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let views: Vec<&str> =
        text.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(views.len() > 10, "{text}");
    for view in views.into_iter().filter(|view| *view != "report") {
        // Views of live machines and stores are checked where their tests read JSON.
        let elsewhere = [include_str!("schemas.rs"), include_str!("golden.rs")];
        let quoted = format!("\"{view}\"");
        assert!(
            COMMANDS.iter().any(|(_, _, used)| *used == view)
                || elsewhere.iter().any(|tests| tests.contains(&quoted)),
            "{view} is checked by no command"
        );
    }
}

#[test]
fn differences_are_found() {
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let check = |a: &str, b: &str, place: Option<&str>| {
        let found = difference(&value(a), &value(b), "");
        assert_eq!(found.is_none(), place.is_none(), "{found:?}");
        if let (Some(found), Some(place)) = (found, place) {
            assert!(found.starts_with(place), "{found}");
        }
    };
    check(r#"{"a":[1,2.0000000001]}"#, r#"{"a":[1,2]}"#, None);
    check(r#"{"a":[1,2.0001]}"#, r#"{"a":[1,2]}"#, Some(".a[1]: "));
    check(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, Some(": expected keys"));
    check(r#"{"a":"x"}"#, r#"{"a":"y"}"#, Some(".a: "));
    check("[1]", "[1,1]", Some(": "));
    check("[1]", "[null]", Some("[0]: "));
}

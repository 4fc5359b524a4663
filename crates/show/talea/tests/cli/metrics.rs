//! `talea metrics`: factors and metrics of a trace whose truth is known, and of one that Extrae
//! recorded, computed in another way. Larger generated traces are in `metrics_generated`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use talea_testing::paraver::{Records, Thread};

fn talea(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_talea"));
    command.arg("metrics").args(words).current_dir(folder).output().unwrap()
}

pub(super) fn text(folder: &Path, words: &[&str]) -> String {
    let output = talea(folder, words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    text
}

pub(super) fn json(folder: &Path, words: &[&str]) -> Value {
    let output = talea(folder, words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = serde_json::from_slice(&output.stdout).unwrap();
    super::schemas::check(words, &found);
    found
}

/// Two ranks in steps of 1 ms after an `MPI_Init` of 1 ms. Rank 0 computes 800 µs of each step,
/// rank 1 600 µs of it; the rest is an `MPI_Allreduce`. Computation has 3 instructions a cycle at 2
/// GHz; MPI has 1 at 1 GHz.
fn two_ranks(steps: u64) -> String {
    let end = 1_000_000 * (steps + 2);
    let mut records = Records::default();
    for (task, computes) in [(1, 800_000), (2, 600_000)] {
        let rank = Thread::of_task(task);
        let mut events = Records::default();
        let mut event = |time: u64, kind: u32, value: u64, length: u64, mpi: bool| {
            let cycles = if mpi { length } else { 2 * length };
            let instructions = if mpi { cycles } else { 3 * cycles };
            let pairs = [(kind, value), (42_000_050, instructions), (42_000_059, cycles)];
            events.event(rank, time, &pairs);
        };
        records.state(rank, 0, 1_000_000, 15);
        event(0, 50_000_003, 31, 0, true);
        event(1_000_000, 50_000_003, 0, 1_000_000, true);
        for step in 1..=steps {
            let begin = step * 1_000_000;
            records.state(rank, begin, begin + computes, 1);
            event(begin + computes, 50_000_002, 10, computes, false);
            records.state(rank, begin + computes, begin + 1_000_000, 13);
            event(begin + 1_000_000, 50_000_002, 0, 1_000_000 - computes, true);
        }
        records.state(rank, end - 1_000_000, end, 15);
        event(end - 1_000_000, 50_000_003, 32, 0, true);
        event(end, 50_000_003, 0, 1_000_000, true);
        records.append(events);
    }
    records.text(end, &[2], &[])
}

const LABELS: &str = "EVENT_TYPE\n9 50000002 MPI Collective Comm\nVALUES\n10 MPI_Allreduce\n0 Outside MPI\n\n\
    EVENT_TYPE\n9 50000003 MPI Other\nVALUES\n31 MPI_Init\n32 MPI_Finalize\n0 Outside MPI\n\n\
    EVENT_TYPE\n7 42000050 PAPI_TOT_INS [Instr completed]\n7 42000059 PAPI_TOT_CYC [Total cycles]\n";

fn generated() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, steps) in [("short", 5), ("long", 10)] {
        std::fs::write(folder.path().join(format!("{name}.prv")), two_ranks(steps)).unwrap();
        std::fs::write(folder.path().join(format!("{name}.pcf")), LABELS).unwrap();
        std::fs::write(folder.path().join(format!("{name}.row")), "LEVEL TASK SIZE 2\na\nb\n")
            .unwrap();
    }
    folder
}

#[test]
fn two_ranks_of_known_balance() {
    let folder = generated();
    let found = json(folder.path(), &["short.prv", "--json"]);
    let near = |value: &Value, expected: f64| {
        assert!(
            (value.as_f64().unwrap() - expected).abs() < 1e-12 * expected,
            "{value} {expected}"
        );
    };
    let efficiency = &found["efficiency"];
    near(&efficiency["parallel"], 0.7);
    near(&efficiency["load_balance"], 0.875);
    near(&efficiency["communication"], 0.8);
    assert_eq!(efficiency["transfer"], Value::Null);
    assert!(efficiency["reasons"]["transfer"].as_str().unwrap().contains("ideal network"));
    assert_eq!(found["span_ns"]["begin"], 1_000_000);
    assert_eq!(found["span_ns"]["end"], 6_000_000);
    assert_eq!(found["span_ns"]["chosen"], "between-init-and-finalize");
    let metric = |key: &str| {
        found["metrics"].as_array().unwrap().iter().find(|one| one["key"] == key).unwrap().clone()
    };
    near(&metric("ipc")["value"], 3.0);
    near(&metric("clock")["value"], 2e9);
    near(&metric("mips")["value"], 6e9);
    near(&metric("duration_share")["by_rank"][0], 80.0);
    near(&metric("duration_share")["by_rank"][1], 60.0);
    near(&metric("burst_duration")["value"], 0.7e-3);
    assert_eq!(metric("ipc")["from"], "PAPI_TOT_INS / PAPI_TOT_CYC");
    assert_eq!(metric("flop_rate")["value"], Value::Null);
    let keys: Vec<&str> = found.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "input",
        "span_ns",
        "locations",
        "ranks",
        "clusters",
        "efficiency",
        "metrics",
        "models",
        "counters",
        "gaps",
    ];
    assert_eq!(keys, expected);
    // What is given counts for ranks as for the whole.
    let given = ["short.prv", "--json", "--expr", "PAPI_L3_TCM = PAPI_TOT_INS"];
    let given = json(folder.path(), &[&given[..], &["--expr", "#cache_line = 128"]].concat());
    let metrics = given["metrics"].as_array().unwrap();
    let bytes = metrics.iter().find(|one| one["key"] == "memory_bandwidth").unwrap();
    near(&bytes["value"], 6e9 * 128.0);
    near(&bytes["by_rank"][1], 6e9 * 128.0);
    let whole = json(folder.path(), &["short.prv", "--json", "--with-init"]);
    near(&whole["efficiency"]["parallel"], 0.5);
    let part = json(folder.path(), &["short.prv", "--json", "--from", "1ms", "--to", "1600us"]);
    near(&part["efficiency"]["parallel"], 1.0);
}

#[test]
fn tables_for_people() {
    let folder = generated();
    let own = [
        "short.prv",
        "--expr",
        "both = PAPI_TOT_INS + PAPI_TOT_CYC",
        "--expr",
        "lost = both / zero",
    ];
    insta::assert_snapshot!("one", text(folder.path(), &own));
    insta::assert_snapshot!("two", text(folder.path(), &["short.prv", "long.prv"]));
    let ranks = text(folder.path(), &["short.prv", "--by", "rank"]);
    assert!(ranks.contains("\nIPC\n  0:3.00  1:3.00\n"), "{ranks}");
    let csv = String::from_utf8(talea(folder.path(), &["short.prv", "--csv"]).stdout).unwrap();
    assert!(csv.contains("\nshort.prv,ipc,IPC,,1,3,\n"), "{csv}");
}

#[test]
fn files_of_metrics() {
    let folder = generated();
    let group = "SHORT By hand\n\nEVENTSET\nFIXC0 INSTR_RETIRED_ANY\nFIXC1 CPU_CLK_UNHALTED_CORE\nPMC0 OTHER\n\nMETRICS\n\
                 CPI FIXC1/FIXC0\nRate [1/s] FIXC0/time\nOthers PMC0/FIXC0\nWrong PMC7/FIXC0\n\nLONG\n";
    std::fs::write(folder.path().join("CPI.txt"), group).unwrap();
    let intel = r#"[ { "MetricName": "ipc", "Events": [ { "Name": "INST_RETIRED.ANY", "Alias": "a" }, { "Name": "CPU_CLK_UNHALTED.THREAD", "Alias": "b" } ],
        "Constants": [ { "Name": "HYPERTHREADING_ON", "Alias": "smt" } ], "Formula": "( a / 2 if smt else a ) / b" } ]"#;
    std::fs::write(folder.path().join("intel.json"), intel).unwrap();
    let words = [
        "short.prv",
        "--json",
        "--model",
        "CPI.txt",
        "--model",
        "intel.json",
        "--expr",
        "#smt_on = 1",
    ];
    let found = json(folder.path(), &words);
    let models = found["models"].as_array().unwrap();
    let names: Vec<&str> = models.iter().map(|model| model["model"].as_str().unwrap()).collect();
    assert_eq!(names, ["--expr", "CPI", "intel"]);
    assert!((models[1]["metrics"][0]["value"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(models[1]["metrics"][2]["reason"], "no OTHER");
    assert_eq!(models[1]["problems"][0]["line"], 12);
    assert_eq!(models[2]["metrics"][0]["value"], 1.5);
    let shown =
        text(folder.path(), &words[..1].iter().chain(&words[2..]).copied().collect::<Vec<_>>());
    assert!(shown.contains("problem: line 12: `Wrong`: the formula uses `PMC7`"), "{shown}");
}

#[test]
fn wrong_use_says_what_was_expected() {
    let folder = generated();
    let said = |words: &[&str]| {
        let output = talea(folder.path(), words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(said(&["short.prv", "--expr", "x = a +"]).contains("after `a +`"));
    assert!(
        said(&["short.prv", "--from", "3s"])
            .contains("expected a part of the trace, which lasts 7.00 ms")
    );
    assert!(
        said(&["short.prv", "--model", "short.prv"])
            .contains("expected metrics of Intel's perfmon")
    );
    assert!(said(&["short.prv", "--model", "nothing.json"]).contains("cannot read the model"));
    assert!(said(&["nothing.prv"]).contains("cannot read the trace"));
}

#[test]
fn each_kind_of_computation_has_its_own_metrics() {
    // Two kinds of bursts: 800 us on rank 0, 600 us on rank 1, both with 3 instructions a cycle.
    let folder = generated();
    let found = json(folder.path(), &["long.prv", "--by", "cluster", "--json"]);
    let clusters = found["clusters"].as_array().unwrap();
    assert_eq!(clusters.len(), 2, "{clusters:?}");
    let metrics = found["metrics"].as_array().unwrap();
    let of = |key: &str, at: usize| {
        let metric = metrics.iter().find(|one| one["key"] == key).unwrap();
        metric["by_cluster"][at].as_f64().unwrap()
    };
    assert!((of("ipc", 0) - 3.0).abs() < 1e-9 && (of("ipc", 1) - 3.0).abs() < 1e-9);
    assert!((of("burst_duration", 0) - 800e-6).abs() < 1e-9);
    assert!((of("burst_duration", 1) - 600e-6).abs() < 1e-9);
    let shares = of("duration_share", 0) + of("duration_share", 1);
    assert!((shares - 100.0).abs() < 5.0, "{shares}");
    // Clusters are those of the selected part.
    let part = json(folder.path(), &["long.prv", "--by", "cluster", "--json", "--to", "8ms"]);
    let bursts = |found: &Value| {
        let clusters = found["clusters"].as_array().unwrap().iter();
        clusters.map(|one| one["bursts"].as_u64().unwrap()).sum::<u64>()
    };
    assert!((2..bursts(&found)).contains(&bursts(&part)), "{part}");
    let text = text(folder.path(), &["long.prv", "--by", "cluster"]);
    assert!(text.contains("Cluster 1") && text.contains("Cluster 2"), "{text}");
}

/// Eight threads of one process without MPI that compute for 100 units of 1 ms, each with its own
/// counters at the end of a unit.
fn threads(counters: impl Fn(u64, u64) -> Vec<(u32, i64)>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "#Paraver (01/01/2026 at 10:00):100000000_ns:1(8):1:1(8:1),0\n".to_owned();
    for thread in 1..=8 {
        writeln!(text, "1:{thread}:1:1:{thread}:0:100000000:1").unwrap();
    }
    for at in 0..=100_u64 {
        for thread in 1..=8 {
            write!(text, "2:{thread}:1:1:{thread}:{}", at * 1_000_000).unwrap();
            for (kind, value) in counters(thread, at) {
                write!(text, ":{kind}:{}", if at == 0 { 0 } else { value }).unwrap();
            }
            text.push('\n');
        }
    }
    std::fs::write(folder.path().join("n2.bad.prv"), text).unwrap();
    let labels = "EVENT_TYPE\n7 42000050 PAPI_TOT_INS [i]\n7 42000059 PAPI_TOT_CYC [c]\n\
                  7 42000055 PAPI_BR_INS [b]\n7 42000046 PAPI_BR_MSP [m]\n7 42000008 PAPI_L3_TCM [l]\n";
    std::fs::write(folder.path().join("n2.bad.pcf"), labels).unwrap();
    folder
}

pub(super) fn detail(found: &Value) -> Vec<&str> {
    found["gaps"].as_array().unwrap().iter().map(|gap| gap["detail"].as_str().unwrap()).collect()
}

pub(super) fn metric<'a>(found: &'a Value, key: &str) -> &'a Value {
    found["metrics"].as_array().unwrap().iter().find(|one| one["key"] == key).unwrap()
}

#[test]
fn broken_counters_give_no_figures_but_gaps_that_name_them() {
    // Branches of thread 3 are garbage, mispredicted ones of thread 5 are of another set, misses of
    // thread 7 wrapped at 2^62.
    let folder = threads(|thread, at| {
        let garbage = i64::try_from(at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1).unwrap();
        vec![
            (42_000_050, 2_000_000),
            (42_000_059, 1_000_000),
            (42_000_055, if thread == 3 { garbage } else { 200_000 }),
            (42_000_046, if thread == 5 { 30_000_000 } else { 4_000 }),
            (42_000_008, if thread == 7 { (1 << 62) + 5 } else { 10_000 }),
        ]
    });
    let found = json(folder.path(), &["n2.bad.prv", "--json"]);
    assert_eq!(metric(&found, "ipc")["value"], 2.0);
    assert!((metric(&found, "clock")["value"].as_f64().unwrap() - 1e9).abs() < 1.0);
    for key in ["memory_bandwidth", "l3_mpki", "mispredicted", "branch_mix"] {
        assert_eq!(metric(&found, key)["value"], Value::Null, "{key}");
    }
    let gaps = detail(&found).join("\n");
    for name in ["PAPI_BR_INS: 100 of 100 ", "PAPI_L3_TCM: 100 of 100 "] {
        assert!(gaps.contains(name), "no {name}: {gaps}");
    }
    // Of a thread whose readings are possible, but not together.
    let folder =
        threads(|_, _| vec![(42_000_055, 1_000), (42_000_046, 16_130), (42_000_050, 2_000)]);
    let found = json(folder.path(), &["n2.bad.prv", "--json"]);
    let impossible = "Mispredicted branches left out: 100 * PAPI_BR_MSP / PAPI_BR_INS is 1613, more than \
                      is possible (101)";
    assert!(detail(&found).contains(&impossible), "{:?}", detail(&found));
    assert_eq!(metric(&found, "branch_mix")["value"], 50.0);
    let text = text(folder.path(), &["n2.bad.prv"]);
    assert!(!text.contains("1613 %") && text.contains("PAPI_BR_MSP"), "{text}");
}

#[test]
fn what_has_no_value_is_one_line_and_all_on_request() {
    let folder = generated();
    let short = text(folder.path(), &["short.prv"]);
    let lines: Vec<&str> = short.lines().filter(|line| line.contains("--all")).collect();
    let [line] = lines[..] else { panic!("{short}") };
    assert!(line.contains(" metrics have no value; "), "{line}");
    assert!(!short.contains("not measured"), "{short}");
    let all = text(folder.path(), &["short.prv", "--all"]);
    assert!(all.contains("\nWithout a value\n") && all.contains("PAPI_FP_OPS"), "{all}");
    // As many as it says.
    let found = json(folder.path(), &["short.prv", "--json"]);
    let nulls = found["metrics"].as_array().unwrap().iter().filter(|one| one["value"].is_null());
    let reasons = found["efficiency"]["reasons"].as_object().unwrap();
    let count: usize = line.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(count, nulls.count() + reasons.len());
    // Heads keep what tells inputs apart.
    for name in ["n2.bad", "n2.fix"] {
        for end in ["prv", "pcf"] {
            let from = folder.path().join(format!("short.{end}"));
            std::fs::copy(from, folder.path().join(format!("{name}.{end}"))).unwrap();
        }
    }
    let two = text(folder.path(), &["n2.bad.prv", "n2.fix.prv"]);
    assert!(two.lines().any(|line| line.contains("n2.bad") && line.contains("n2.fix")), "{two}");
}

#[test]
fn counters_of_nodes_are_read_from_the_program_beside() {
    let Some(path) = data("lulesh_4+4_with_uncores_sockets1+2.chop_5it.prv") else { return };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.to_str().unwrap().to_owned();
    let text = std::fs::read_to_string(&path).unwrap();
    // All lines of the memory controllers, but what each counted before its first reading.
    let (mut sum, mut seen) = (0.0, std::collections::BTreeSet::new());
    for line in text.lines().filter(|line| line.starts_with("2:")) {
        let fields: Vec<u64> = line.split(':').filter_map(|field| field.parse().ok()).collect();
        for pair in fields[6..].chunks(2) {
            if (46_000_000..47_000_000).contains(&pair[0]) && !seen.insert(pair[0]) {
                sum += pair[1] as f64;
            }
        }
    }
    let all = "lines = \"skx_unc_imc*::UNC_M_CAS_COUNT*\"";
    let one = "one = skx_unc_imc5::UNC_M_CAS_COUNT:WR:cpu=16";
    let intel = "misses = LONGEST_LAT_CACHE.MISS";
    let words =
        [path.as_str(), "--json", "--with-init", "--expr", all, "--expr", one, "--expr", intel];
    let found = json(here, &words);
    let near = |value: &Value, expected: f64, within: f64| {
        let value = value.as_f64().unwrap();
        assert!((value / expected - 1.0).abs() < within, "{value}, expected {expected}");
    };
    // The controllers were read for all but the first 10 ms of 1.6 s.
    let own = found["models"][0]["metrics"].as_array().unwrap();
    near(&own[0]["value"], sum, 0.01);
    assert!(own[1]["value"].as_f64().unwrap() > 1e7, "{own:?}");
    near(&own[2]["value"], found["counters"]["LONGEST_LAT_CACHE:MISS"].as_f64().unwrap(), 1e-12);
    let node = metric(&found, "node_bandwidth");
    near(&node["value"], sum * 64.0 / 1.616_378_951, 0.01);
    near(&node["value"], 24.1e9, 0.02);
    let [read, written] = ["node_read_bandwidth", "node_write_bandwidth"]
        .map(|key| metric(&found, key)["value"].as_f64().unwrap());
    near(&node["value"], read + written, 1e-9);
    // The misses are those of the cores.
    assert!(metric(&found, "l3_mpki")["value"].as_f64().unwrap() > 1.0);
    assert_eq!(metric(&found, "l3_mpki")["from"], "1000 * LONGEST_LAT_CACHE:MISS / PAPI_TOT_INS");
    assert_eq!(found["ranks"].as_array().unwrap().len(), 8, "the readers compute nothing");
    let gaps = detail(&found).join("\n");
    assert!(
        gaps.contains("application 2 with 12 tasks has no event of MPI: it counts for the"),
        "{gaps}"
    );
}

#[test]
fn misses_that_probes_cause_are_no_bandwidth_of_a_real_trace() {
    let Some(path) = data("namd_24it.prv") else { return };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = json(here, &[path.to_str().unwrap(), "--json"]);
    assert_eq!(metric(&found, "memory_bandwidth")["value"], Value::Null);
    let gaps = detail(&found).join("\n");
    assert!(gaps.contains("LLC_MISSES counts 247 misses for each time"), "{gaps}");
    assert!(gaps.contains("counted 25 % of the computation"), "{gaps}");
    // Counters of one set have their metrics.
    let ipc = metric(&found, "ipc")["value"].as_f64().unwrap();
    assert!((ipc - 360_505_469_966.0 / 210_800_621_811.0).abs() < 1e-3, "{ipc}");
    assert!(metric(&found, "l2_mpki")["value"].is_f64());
}

/// The file, or nothing where the data are not there.
fn data(name: &str) -> Option<PathBuf> {
    talea_testing::data(&format!("paraver/{name}"))
}

/// What a scan over the lines of a trace finds.
struct Scan {
    begin: f64,
    end: f64,
    /// By task.
    useful: BTreeMap<u64, f64>,
    instructions: f64,
    cycles: f64,
    bursts: u64,
}

/// Bursts as Paraver's tools define them: a state Running with the counters of the event at its
/// end.
fn scan(path: &Path) -> Scan {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    // The first reading at a time: what follows at the same time grew elsewhere.
    let mut counters: BTreeMap<(u64, u64, u64), f64> = BTreeMap::new();
    let (mut init, mut begin, mut end) = (BTreeMap::new(), 0, u64::MAX);
    let fields = |line: &str| -> Vec<u64> {
        line.split(':').filter_map(|field| field.parse().ok()).collect()
    };
    for line in text.lines().filter(|line| line.starts_with("2:")) {
        let fields = fields(line);
        let (task, time) = (fields[3], fields[5]);
        for pair in fields[6..].chunks(2) {
            match pair {
                [50_000_003, 31] => {
                    init.insert(task, true);
                }
                [50_000_003, 0] if init.insert(task, false) == Some(true) => {
                    begin = begin.max(time);
                }
                [50_000_003, 32] => end = end.min(time),
                [kind @ (42_000_050 | 42_000_059), value] => {
                    counters.entry((task, time, *kind)).or_insert(*value as f64);
                }
                _ => {}
            }
        }
    }
    let mut found = Scan {
        begin: begin as f64,
        end: end as f64,
        useful: BTreeMap::new(),
        instructions: 0.0,
        cycles: 0.0,
        bursts: 0,
    };
    for line in text.lines().filter(|line| line.starts_with("1:") && line.ends_with(":1")) {
        let fields = fields(line);
        let (task, from, to) = (fields[3], fields[5], fields[6]);
        let inside = to.min(end).saturating_sub(from.max(begin)) as f64;
        if inside > 0.0 {
            *found.useful.entry(task).or_default() += inside;
            let counted = |kind| counters.get(&(task, to, kind)).copied().unwrap_or_default();
            found.instructions += counted(42_000_050) * inside / (to - from) as f64;
            found.cycles += counted(42_000_059) * inside / (to - from) as f64;
            found.bursts += 1;
        }
    }
    found
}

#[test]
fn a_real_trace_is_what_its_lines_say() {
    let (Some(path), Some(four)) = (data("epoch_16proc.prv.gz"), data("epoch_4proc.prv.gz")) else {
        return;
    };
    compare_with_lines(four.to_str().unwrap(), path.to_str().unwrap());
}

/// Compares factors and metrics of two compressed traces, and the scaling from one to the other,
/// with what a scan over their lines finds.
pub(super) fn compare_with_lines(four: &str, path: &str) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = json(here, &[four, path, "--json"]);
    let near = |value: &Value, expected: f64| {
        let value = value.as_f64().unwrap();
        assert!((value / expected - 1.0).abs() < 1e-9, "{value}, expected {expected}");
    };
    let mut totals = Vec::new();
    for (found, path) in found.as_array().unwrap().iter().zip([four, path]) {
        let scan = scan(Path::new(path));
        let elapsed = scan.end - scan.begin;
        let sum: f64 = scan.useful.values().sum();
        let most = scan.useful.values().copied().fold(0.0, f64::max);
        let mean = sum / scan.useful.len() as f64;
        assert_eq!(found["span_ns"]["begin"].as_f64(), Some(scan.begin));
        assert_eq!(found["span_ns"]["end"].as_f64(), Some(scan.end));
        near(&found["efficiency"]["parallel"], mean / elapsed);
        near(&found["efficiency"]["load_balance"], mean / most);
        near(&found["efficiency"]["communication"], most / elapsed);
        near(&found["counters"]["PAPI_TOT_INS"], scan.instructions);
        near(&found["counters"]["PAPI_TOT_CYC"], scan.cycles);
        let metrics = found["metrics"].as_array().unwrap();
        let metric = |key: &str| &metrics.iter().find(|one| one["key"] == key).unwrap()["value"];
        near(metric("ipc"), scan.instructions / scan.cycles);
        near(metric("burst_duration"), sum / 1e9 / scan.bursts as f64);
        totals.push((sum, scan.instructions, scan.cycles));
        eprintln!("{path}: {}", found["efficiency"]);
    }
    let (reference, own) = (totals[0], totals[1]);
    let scaling = &found[1]["efficiency"];
    near(&scaling["computation_scaling"], reference.0 / own.0);
    near(&scaling["instruction_scaling"], reference.1 / own.1);
    near(&scaling["ipc_scaling"], (own.1 / own.2) / (reference.1 / reference.2));
    near(&scaling["frequency_scaling"], (own.2 / own.0) / (reference.2 / reference.0));
}

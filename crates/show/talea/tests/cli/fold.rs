//! `talea fold`: figures on real traces, and hand-made ones that lack or contradict something.
//! Larger generated traces are in `fold_generated`.
//!
//! What is asked of real traces is what the documentation says of them, with a margin for rounding
//! and none for luck.

use std::fmt::Write;
use std::process::{Command, Output};
use talea_testing::data;

use serde_json::Value;

fn talea(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_talea")).arg("fold").args(args).output().unwrap()
}

#[track_caller]
pub(super) fn text(args: &[&str]) -> String {
    let output = talea(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
pub(super) fn json(args: &[&str]) -> Value {
    let words = [args, &["--json"]].concat();
    let found = serde_json::from_str(&text(&words)).unwrap();
    super::schemas::check(&words, &found);
    found
}

/// What is said where the command refuses with code 2.
#[track_caller]
pub(super) fn refused(args: &[&str]) -> String {
    let output = talea(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    said
}

/// A trace of other people's, where they are.
fn real(name: &str) -> Option<String> {
    data(&format!("paraver/{name}")).map(|path| path.display().to_string())
}

pub(super) fn counter<'a>(folded: &'a Value, name: &str) -> &'a Value {
    let all = folded["counters"].as_array().unwrap();
    all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name}: {folded}"))
}

pub(super) fn gaps(folded: &Value) -> String {
    let all = folded["gaps"].as_array().unwrap();
    all.iter().map(|gap| gap["detail"].as_str().unwrap()).collect::<Vec<_>>().join("; ")
}

#[test]
fn namd_is_foretold_within_the_stated_errors() {
    let Some(namd) = real("namd_24it.prv") else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let args = [
        namd.as_str(),
        "--region",
        "User function",
        "--score",
        "--counter",
        "PAPI_TOT_INS,PAPI_L1_DCM,PAPI_BR_INS,42001010",
        "--svg",
        &at("f.svg"),
        "--html",
        &at("f.html"),
        "--csv",
        &at("f.csv"),
        "--out-prv",
        &at("f.prv"),
    ];
    let folded = json(&args);
    for (name, limit) in [("PAPI_TOT_INS", 0.002), ("PAPI_L1_DCM", 0.004), ("PAPI_BR_INS", 0.005)] {
        let one = counter(&folded, name);
        let error = one["error_held_out"].as_f64().unwrap();
        assert!(error <= limit, "{name}: {error}");
        assert!(one["band_coverage"].as_f64().unwrap() >= 0.9, "{one}");
        assert_eq!((&one["samples"], &one["instances"]), (&4393.into(), &6.into()));
        assert!(one["smoothing"].as_f64().unwrap() > 0.0 && one["jumps"].is_array());
    }
    assert_eq!((&folded["folded"], &folded["region"]["name"]), (&24.into(), &"main".into()));
    assert!(folded["stack"].as_array().unwrap().len() > 3);
    assert_eq!(folded["coverage"]["empty"], 0.0);
    // Files are whole, and the trace can be folded again: sums have not changed.
    let read = |name: &str| std::fs::read_to_string(at(name)).unwrap();
    assert!(read("f.svg").starts_with("<svg") && read("f.svg").trim_end().ends_with("</svg>"));
    assert!(read("f.html").contains("<svg") && !read("f.html").contains("<script"));
    assert_eq!(read("f.csv").lines().count(), 1 + 501 * (4 + 2));
    let again = json(&[&at("f.prv"), "--value", "main", "--counter", "PAPI_TOT_INS"]);
    let (before, after) = (counter(&folded, "PAPI_TOT_INS"), counter(&again, "PAPI_TOT_INS"));
    assert_eq!(after["instances"].as_u64().unwrap() / 6, 1);
    let change = after["mean_total"].as_f64().unwrap() / before["mean_total"].as_f64().unwrap();
    assert!((change - 1.0).abs() < 1e-3, "{change}");
    let labels = read("f.pcf");
    assert!(
        labels.contains("600000001    Folded group") && labels.contains("folded main"),
        "{labels}"
    );
}

#[test]
fn lulesh_has_iterations_that_nobody_marked() {
    let Some(lulesh) = real("lulesh_4+4_with_uncores_sockets1+2.chop_5it.prv") else { return };
    let folded = json(&[&lulesh, "--overlay"]);
    assert_eq!(folded["region"]["argument"], "between:50000002=10");
    assert_eq!((&folded["folded"], &folded["locations"]), (&32.into(), &8.into()));
    assert_eq!(folded["parts"].as_array().unwrap().len(), 8);
    let ipc = folded["models"].as_array().unwrap().iter().find(|one| one["name"] == "IPC").unwrap();
    assert!((2.0..3.5).contains(&ipc["mean"].as_f64().unwrap()), "{ipc}");
    assert!(gaps(&folded).contains("no sample lies between"), "{}", gaps(&folded));
    let said = text(&[&lulesh, "--rank", "3", "--without-mpi"]);
    assert!(
        said.starts_with("4 instances of MPI_Allreduce to MPI_Allreduce without MPI"),
        "{said}"
    );
    assert!(!said.contains('…'), "{said}");
    assert!(refused(&[&lulesh, "--rank", "77"]).contains("the trace has 0-7"));
    assert!(
        refused(&[&lulesh, "--region", "MPI_Alreduce"]).contains("did you mean `MPI_Allreduce`?")
    );
    let listed = text(&[&lulesh, "--list"]);
    assert!(listed.contains("between:50000002=10"), "{listed}");
}

const HEAD: &str = "#Paraver (01/02/2024 at 10:00):100000_ns:1(1):1:1(1:1)\n";
const LABELS: &str = "EVENT_TYPE\n0 60000019 User function\nVALUES\n0 End\n5 solve\n6 check\n\n\n\
    EVENT_TYPE\n7 42000050 PAPI_TOT_INS (Instr completed)\n\n";

/// A trace in a folder of its own.
struct Made {
    folder: tempfile::TempDir,
}

impl Made {
    fn new(records: &str) -> Self {
        let made = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::write(made.path("t.prv"), format!("{HEAD}{records}")).unwrap();
        std::fs::write(made.path("t.pcf"), LABELS).unwrap();
        made
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn trace(&self) -> String {
        self.path("t.prv")
    }
}

fn event(out: &mut String, time: u64, pairs: &[(u32, i64)]) {
    let _ = write!(out, "2:1:1:1:1:{time}");
    for (event_type, value) in pairs {
        let _ = write!(out, ":{event_type}:{value}");
    }
    out.push('\n');
}

/// `count` instances of 1,000 ns with readings at these places.
fn instances(count: u64, places: impl Fn(u64) -> Vec<u64>) -> String {
    const C: u32 = 42_000_050;
    let mut out = String::new();
    for at in 0..count {
        let begin = 2_000 * at;
        event(&mut out, begin, &[(60_000_019, 5), (C, 1)]);
        let mut last = 0;
        for place in places(at) {
            event(
                &mut out,
                begin + place,
                &[(C, (10 * (place - last)) as i64), (30_000_000, 7), (30_000_100, 9)],
            );
            last = place;
        }
        event(&mut out, begin + 1_000, &[(60_000_019, 0), (C, (10 * (1_000 - last)) as i64)]);
    }
    out
}

fn even(at: u64) -> Vec<u64> {
    (0..20).map(|i| 50 * i + 2 * at + 3).collect()
}

#[test]
fn start_up_is_folded_where_it_is_asked_for() {
    let Some(trace) = real("epoch_16proc.prv.gz") else { return };
    let said = refused(&[&trace, "--region", "MPI_Init"]);
    assert!(said.contains("(--with-init has the others), the trace has 16 others"), "{said}");
    let said = refused(&[&trace, "--region", "MPI_Init", "--with-init"]);
    assert!(said.contains("inside `MPI_Init`, the trace has none"), "{said}");
}

#[test]
fn an_even_rate_is_told_as_such() {
    let made = Made::new(&instances(20, even));
    let said = text(&[&made.trace()]);
    assert!(said.starts_with("20 instances of solve, mean 1.00 µs (spread 0.00 %)."), "{said}");
    assert!(said.contains("PAPI_TOT_INS is even: 10.0 G/s"), "{said}");
    let model = json(&[&made.trace(), "--model", "twice = 2 * PAPI_TOT_INS"]);
    assert_eq!(model["models"][0]["name"], "twice");
    assert!((model["models"][0]["mean"].as_f64().unwrap() / 2e10 - 1.0).abs() < 1e-6);
    assert!(
        refused(&[&made.trace(), "--model", "x = PAPI_TOT_IN"])
            .contains("did you mean `PAPI_TOT_INS`?")
    );
    assert!(refused(&[&made.trace(), "--model", "x = ("]).contains("at character 2"));
    assert!(refused(&[&made.trace(), "--counter", "PAPI_TOT_CYC"]).contains("expected a counter"));
    assert!(refused(&[&made.trace(), "--region", "solv"]).contains("did you mean `solve`?"));
    assert!(refused(&[&made.trace(), "--from", "1s"]).contains("expected a part of the trace"));
    assert!(
        refused(&[&made.trace(), "--from", "0", "--to", "1ns"])
            .contains("between the times asked for")
    );
    // Two inputs are laid over each other.
    let both = json(&[&made.trace(), &made.trace()]);
    assert_eq!((&both["folded"], both["parts"].as_array().unwrap().len()), (&40.into(), 2));
    assert_eq!(both["differences"].as_array().unwrap().len(), 0);
}

#[test]
fn counters_of_nodes_are_folded_and_notes_of_the_recorder_are_no_regions() {
    let Some(lulesh) = real("lulesh_4+4_with_uncores_sockets1+2.chop_5it.prv") else { return };
    let folded = json(&[&lulesh]);
    let mut rates = 0.0;
    for name in ["skx_unc_imc*::UNC_M_CAS_COUNT:RD", "skx_unc_imc*::UNC_M_CAS_COUNT:WR"] {
        let one = counter(&folded, name);
        assert!(one["samples"].as_u64().unwrap() > 100, "{one}");
        rates += one["mean_rate"].as_f64().unwrap();
    }
    // Lines of 64 bytes: what the whole trace says, within what iterations differ from all of it.
    assert!((rates * 64.0 / 24.1e9 - 1.0).abs() < 0.1, "{rates}");
    let intel = json(&[&lulesh, "--counter", "longest_lat_cache.miss"]);
    assert_eq!(intel["counters"].as_array().unwrap().len(), 1);
    let Some(epoch) = real("epoch_4proc.prv.gz") else { return };
    let whole = json(&[&epoch, "--list", "--with-init"]).to_string();
    let listed = json(&[&epoch, "--list"]).to_string();
    assert!(whole.contains("\"MPI_Init\"") && !listed.contains("\"MPI_Init\""), "{listed}");
    assert!(listed.contains("MPI_Allreduce") || listed.contains("Running"), "{listed}");
    for kind in
        ["RAW clock", "Process IDentifier", "fork() depth", "Executing CPU", "sampling interval"]
    {
        assert!(!listed.contains(kind), "{kind}: {listed}");
    }
}

#[test]
fn traces_that_lack_something_give_a_result_with_its_gap() {
    let one = json(&[&Made::new(&instances(1, even)).trace()]);
    assert!(gaps(&one).contains("one instance, no band"), "{}", gaps(&one));
    assert!(counter(&one, "PAPI_TOT_INS")["error_held_out"].is_null());
    // All samples at the same place.
    let same = json(&[&Made::new(&instances(40, |_| vec![400])).trace()]);
    assert!(gaps(&same).contains("no sample lies between 40.0 % and 100.0 %"), "{}", gaps(&same));
    // A counter that fell in one instance of several.
    let mut records = instances(6, even);
    event(&mut records, 50_000, &[(60_000_019, 5), (42_000_050, 0)]);
    event(&mut records, 50_500, &[(42_000_050, -7)]);
    event(&mut records, 51_000, &[(60_000_019, 0), (42_000_050, 9)]);
    let fell = json(&[&Made::new(&records).trace()]);
    assert!(
        gaps(&fell).contains("PAPI_TOT_INS: 1 instances have a counter that fell"),
        "{}",
        gaps(&fell)
    );
    assert_eq!(counter(&fell, "PAPI_TOT_INS")["instances"], 6);
    // An instance of length zero, and one that never ends.
    let mut records = instances(6, even);
    event(&mut records, 60_000, &[(60_000_019, 5)]);
    event(&mut records, 60_000, &[(60_000_019, 0)]);
    event(&mut records, 70_000, &[(60_000_019, 5)]);
    let empty = json(&[&Made::new(&records).trace()]);
    assert!(gaps(&empty).contains("1 instances of length zero"), "{}", gaps(&empty));
    // Stacks without any counter.
    let records: String = instances(20, even).replace(":42000050:", ":77:");
    let stacks = json(&[&Made::new(&records).trace(), "--value", "solve"]);
    assert_eq!(stacks["counters"].as_array().unwrap().len(), 0);
    assert_eq!(stacks["stack"][0]["routine"], "#7");
}

#[test]
fn a_counter_is_the_same_alone_and_among_others() {
    const C: u32 = 42_000_050;
    let mut records = instances(6, even);
    // In two of eight instances another set of counters is read for a while.
    for begin in [20_000, 22_000] {
        event(&mut records, begin, &[(60_000_019, 5), (C, 0)]);
        event(&mut records, begin + 400, &[(C, 4_000)]);
        event(&mut records, begin + 500, &[(42_000_059, 0)]);
        event(&mut records, begin + 600, &[(42_000_059, 9)]);
        event(&mut records, begin + 1_000, &[(60_000_019, 0), (C, 4_000)]);
    }
    let made = Made::new(&records);
    let all = json(&[&made.trace()]);
    let alone = json(&[&made.trace(), "--counter", "papi_tot_ins"]);
    assert_eq!(counter(&all, "PAPI_TOT_INS")["instances"], 6);
    assert_eq!(counter(&all, "PAPI_TOT_INS"), counter(&alone, "PAPI_TOT_INS"));
    assert_eq!(alone["counters"].as_array().unwrap().len(), 1);
}

#[test]
fn parts_that_cannot_be_compared_are_not_called_alike() {
    let made = Made::new(&instances(20, even));
    let twice = [&made.trace()[..], &made.trace()];
    assert!(text(&twice).contains("The 2 parts do not differ by more than chance."));
    // One part that lacks a model's counter does not take it from the other.
    let more = Made::new(&instances(20, even).replace(":42000050:", ":42000059:1:42000050:"));
    let model = ["--model", "ratio = PAPI_TOT_CYC / PAPI_TOT_INS"];
    let both = json(&[&[&more.trace()[..], &made.trace()], &model[..]].concat());
    let has = |part: usize| both["parts"][part]["models"].as_array().unwrap()[0]["name"] == "ratio";
    assert!(has(0) && !has(1), "{}", both["parts"]);
}

#[test]
fn wide_bands_are_told_where_nothing_can_be_held_out() {
    const C: u32 = 42_000_050;
    let mut records = String::new();
    for at in 0..6 {
        let (begin, first) = (2_000 * at, [9_500, 1_000, 9_000, 2_000, 9_800, 9_700][at as usize]);
        event(&mut records, begin, &[(60_000_019, 5), (C, 0)]);
        event(&mut records, begin + 450 + 20 * at, &[(C, first)]);
        event(&mut records, begin + 1_000, &[(60_000_019, 0), (C, 10_000 - first)]);
    }
    let made = Made::new(&records);
    assert!(counter(&json(&[&made.trace()]), "PAPI_TOT_INS")["error_held_out"].is_null());
    let said = text(&[&made.trace()]);
    assert!(said.contains("Not to be relied on in detail"), "{said}");
}

#[test]
fn traces_that_cannot_be_folded_are_refused_with_a_reason() {
    let nothing = refused(&[&Made::new("").trace()]);
    assert!(
        nothing
            .contains("expected iterations, routines, clusters, states or MPI calls with an end"),
        "{nothing}"
    );
    let mut plain = String::new();
    for at in 0..5 {
        event(&mut plain, 100 * at, &[(60_000_019, 5)]);
        event(&mut plain, 100 * at + 50, &[(60_000_019, 0)]);
    }
    let none = refused(&[&Made::new(&plain).trace()]);
    assert!(none.contains("expected readings of counters, or samples with call stacks"), "{none}");
    let made = Made::new(&plain);
    assert!(
        refused(&[&made.trace(), "--region", "99999999"])
            .contains("no region `99999999`; `talea fold INPUT --list` has all")
    );
    assert!(refused(&[&made.trace(), "--outliers", "some"]).contains("expected mad"));
    std::fs::write(made.path("e.prv"), "").unwrap();
    assert!(refused(&[&made.path("e.prv")]).contains("no Paraver trace"));
    assert!(refused(&[&made.path("absent.prv")]).contains("cannot read the trace"));
    // Cut in the middle of a line: what stands before is folded, and said.
    let whole = format!("{HEAD}{}", instances(8, even));
    std::fs::write(made.path("c.prv"), &whole[..whole.len() - 12]).unwrap();
    let cut = json(&[&made.path("c.prv"), "--value", "5"]);
    assert_eq!(counter(&cut, "PAPI_TOT_INS")["instances"], 7);
    assert!(gaps(&cut).contains("no labels"), "{}", gaps(&cut));
}

#[test]
fn many_labels_and_contradictions_do_no_harm() {
    let made = Made::new(&instances(10, even));
    let mut labels = LABELS.to_owned();
    labels.push_str("EVENT_TYPE\n0 60000019 Something else\nVALUES\n5 other\n\n\nEVENT_TYPE\n0 30000000 Sampled\nVALUES\n");
    for value in 0..100_000 {
        let _ = writeln!(labels, "{value} routine_{value}");
    }
    std::fs::write(made.path("t.pcf"), labels).unwrap();
    let folded = json(&[&made.trace()]);
    assert_eq!(folded["region"]["name"], "solve");
    assert_eq!(folded["stack"][0]["routine"], "routine_7");
    assert!(!gaps(&folded).is_empty());
}

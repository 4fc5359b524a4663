//! `talea convert`: what other tools are given, and that messages are matched as they were sent.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use super::bench::{Bench, Mpi, on_path};
use talea_testing::skip;

/// Messages and bytes between ranks, counted from the lines of a Paraver file.
fn lines(text: &str) -> BTreeMap<(u64, u64), (u64, u64)> {
    let mut sums = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("3:")) {
        let fields: Vec<u64> = line.split(':').map(|field| field.parse().unwrap()).collect();
        let sum: &mut (u64, u64) = sums.entry((fields[3] - 1, fields[9] - 1)).or_default();
        *sum = (sum.0 + 1, sum.1 + fields[13]);
        assert!(fields[5] <= fields[12], "received before it was sent: {line}");
    }
    sums
}

/// The same from the matrix, which counts sent messages.
fn cells(bench: &Bench, run: &str) -> BTreeMap<(u64, u64), (u64, u64)> {
    let matrix = bench.json(&["show", run, "matrix", "--json"]);
    let number = |cell: &serde_json::Value, at: usize| cell[at].as_u64().unwrap();
    let cells = matrix["cells"].as_array().unwrap().iter();
    // From, to, bytes, messages.
    cells
        .map(|cell| ((number(cell, 0), number(cell, 1)), (number(cell, 3), number(cell, 2))))
        .collect()
}

#[test]
fn every_message_has_both_its_ends() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let programs: [&[&str]; 4] = [
            &["halo", "--size", "4", "--steps", "20"],
            &["random", "--seed", "1"],
            &["random", "--seed", "2"],
            &["random", "--seed", "3"],
        ];
        for words in programs {
            let run = format!("{}-{}", mpi.name, words.join(""));
            let mut command = mpi.launch(4);
            command.push(mpi.program(words[0]).display().to_string());
            command.extend(words[1..].iter().map(|word| (*word).to_owned()));
            bench.record(&run, &["--no-report", "--times", "exact"], &command);
            let out = format!("{run}.prv");
            let said = bench.talea(["convert", &run, &out]).output().unwrap();
            let said = String::from_utf8_lossy(&said.stderr).into_owned();
            assert!(!said.contains("gap"), "{run}: {said}");
            let text = std::fs::read_to_string(bench.path(&out)).unwrap();
            let (lines, cells) = (lines(&text), cells(&bench, &run));
            // The matrix has one-sided transfers as well.
            let all = |(key, sent): (&(u64, u64), &(u64, u64))| {
                cells.get(key).is_some_and(|cell| cell.0 >= sent.0 && cell.1 >= sent.1)
            };
            assert!(lines.len() > 4 && lines.iter().all(all), "{run}: {lines:?} {cells:?}");
            assert!(words[0] == "random" || lines == cells, "{run}: {lines:?} {cells:?}");
        }
    }
}

#[test]
fn receives_that_do_not_end_as_they_began_keep_their_order() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let mut command = mpi.launch(2);
        command.extend([mpi.program("special").display().to_string(), "messages".to_owned()]);
        bench.record(mpi.name, &["--no-report"], &command);
        let out = format!("{}.prv", mpi.name);
        let said = bench.talea(["convert", mpi.name, &out]).output().unwrap();
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        // Nobody learns when a receive that was given away is complete; it still has the first of
        // its messages.
        assert!(said.contains("gap: 2 sends or receives whose other end"), "{said}");
        let text = std::fs::read_to_string(bench.path(&out)).unwrap();
        let mut found: Vec<(u64, u64)> = Vec::new();
        for line in text.lines().filter(|line| line.starts_with("3:")) {
            let fields: Vec<u64> = line.split(':').map(|field| field.parse().unwrap()).collect();
            assert_eq!((fields[3], fields[9]), (1, 2), "{line}");
            found.push((fields[14], fields[13]));
        }
        found.sort_unstable();
        assert_eq!(found, [(7, 4), (8, 8), (10, 4), (11, 4), (11, 8)], "{}", mpi.name);
    }
}

#[test]
fn a_run_becomes_what_other_tools_read() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let mut command = mpi.launch(3);
    command.push(mpi.program("halo").display().to_string());
    command.extend(["--size".to_owned(), "4".to_owned()]);
    bench.record("run", &["--no-report"], &command);
    // Read and written again, nothing changes.
    bench.text(&["convert", "run", "a.prv"]);
    bench.text(&["convert", "a.prv", "b.prv.gz"]);
    bench.text(&["convert", "b.prv.gz", "c.prv"]);
    let file = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap();
    for ending in ["prv", "pcf", "row"] {
        assert_eq!(file(&format!("a.{ending}")), file(&format!("c.{ending}")), "{ending}");
    }
    // What is said is what the files hold.
    let said = |out: &str| {
        let output = bench.talea(["convert", "run", out]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        said.split_once(&format!("wrote {out}: ")).unwrap().1.trim().to_owned()
    };
    let of = |kind: &str| file("a.prv").lines().filter(|line| line.starts_with(kind)).count();
    let [states, events, messages] = ["1:", "2:", "3:"].map(of);
    assert_eq!(said("a.prv"), format!("{states} states, {events} events, {messages} messages"));
    let rows = |name: &str| file(name).lines().count() - 1;
    let said = said("t.csv");
    let [values, states, messages] = ["t.csv", "t.states.csv", "t.messages.csv"].map(rows);
    assert_eq!(said, format!("{values} values of events, {states} states, {messages} messages"));
    assert!(values > events && messages == of("3:") && states == of("1:"), "{said}");
    // Cells with commas are quoted: of those of a line there are as many as heads.
    let waits = file("t.csv").lines().filter(|line| line.ends_with(",MPI_Waitall")).count();
    let is_quoted =
        |line: &str| line.contains(",\"") && line.contains(" (halo.c, ") && line.ends_with(")\"");
    assert!(waits > 3 * 10 && file("t.csv").lines().any(is_quoted), "{waits}");
    assert!(file("a.pcf").contains("MPI_Waitall") && file("a.pcf").contains("(halo.c,"));
    // Every iteration of the time loop on every rank.
    let iterations = file("a.prv").matches(":600000003:").count();
    assert!(iterations > 3 * 10, "{iterations}");
    bench.text(&["convert", "run", "run.json"]);
    let chrome: serde_json::Value = serde_json::from_str(&file("run.json")).unwrap();
    let events = chrome["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|event| event["name"] == "MPI_Waitall" && event["ph"] == "X"));
    bench.text(&["convert", "run", "run.speedscope.json"]);
    let scope: serde_json::Value = serde_json::from_str(&file("run.speedscope.json")).unwrap();
    assert_eq!(scope["profiles"].as_array().unwrap().len(), 3);
    bench.text(&["convert", "run", "run.folded"]);
    assert!(file("run.folded").lines().any(|line| line.starts_with("main;exchange")));
    bench.text(&["convert", "run", "run.pprof"]);
    assert!(!std::fs::read(bench.path("run.pprof")).unwrap().is_empty());
}

#[test]
fn calls_without_lines_are_told_apart_in_every_view() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    if !on_path("objcopy") {
        skip("objcopy is not installed: `scripts/setup.sh test`");
        return;
    }
    // Symbols stay, lines go.
    let program = bench.path("halo").display().to_string();
    let mut strip = Command::new("objcopy");
    strip.arg("--strip-debug").arg(mpi.program("halo")).arg(&program);
    assert!(strip.status().unwrap().success());
    let mut command = mpi.launch(2);
    command.extend([program, "--size".to_owned(), "4".to_owned()]);
    bench.record("run", &[], &command);
    let sites = bench.json(&["show", "run", "calls", "--json"]);
    let text = |site: &Value, key: &str| site[key].as_str().unwrap().to_owned();
    let all = || sites.as_array().unwrap().iter();
    let places: BTreeSet<String> = all().map(|site| text(site, "place")).collect();
    let addresses: BTreeSet<String> = all().map(|site| text(site, "address")).collect();
    assert_eq!(places.len(), addresses.len(), "{places:?} {addresses:?}");
    // Several calls of one function are what this is about.
    let of_one: Vec<&String> = places.iter().filter(|one| one.starts_with("main+0x")).collect();
    assert!(of_one.len() > 2, "{places:?}");
    bench.text(&["convert", "run", "run.prv"]);
    bench.text(&["convert", "run", "run.json"]);
    let file = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap();
    let views = [
        bench.text(&["show", "run", "calls"]),
        bench.text(&["show", "run", "calls", "--by", "path"]),
        bench.text(&["show", "run", "structure"]),
        bench.text(&["events", "run", "--rank", "0"]),
        file("run.pcf"),
        file("run.json"),
    ];
    for place in of_one {
        for (number, view) in views.iter().enumerate() {
            assert!(view.contains(place.as_str()), "view {number} lacks {place}: {view}");
        }
    }
}

#[test]
fn what_cannot_be_converted_is_said() {
    let Some(bench) = Bench::new() else { return };
    let check = |words: &[&str], message: &str| {
        let (code, text) = bench.fails(words);
        assert_eq!(code, 2, "{text}");
        assert!(text.contains(message), "{words:?}: {text}");
    };
    std::fs::write(bench.path("notes.txt"), "nothing").unwrap();
    std::fs::write(bench.path("empty.prv"), "").unwrap();
    std::fs::write(bench.path("cut.prv"), "#Paraver (01/01/").unwrap();
    check(&["convert", "missing.prv", "out.prv"], "No such file");
    check(&["convert", "notes.txt", "out.prv"], "file of another kind");
    check(&["convert", "empty.prv", "out.prv"], "no Paraver trace");
    check(&["convert", "cut.prv", "out.prv"], "line 1");
    check(&["convert", ".", "out.prv"], "run directory");
    check(&["convert", "empty.prv", "out.doc"], "--format");
    let trace = "#Paraver (01/01/2026 at 00:00):10_ns:1(1):1:1(1:1),0\n1:1:1:1:1:0:10:1\n";
    std::fs::write(bench.path("small.prv"), trace).unwrap();
    check(&["convert", "small.prv", "out.folded"], "neither samples nor calls");
    check(&["convert", "small.prv", "no/such/out.prv"], "No such file");
    // A device stays one, and nothing is put beside it.
    std::os::unix::fs::symlink("/dev/null", bench.path("null.prv")).unwrap();
    bench.text(&["convert", "small.prv", "null.prv"]);
    assert!(bench.path("null.prv").is_symlink() && !bench.path("null.prv").is_file());
    assert!(!bench.path("null.pcf").exists());
    let piped = bench.text(&["convert", "small.prv", "/dev/stdout", "--format", "paraver"]);
    assert!(piped.starts_with("#Paraver") && piped.contains("1:1:1:1:1:0:10:1"), "{piped}");
    assert_eq!(bench.text(&["convert", "small.prv", "-", "--format", "paraver"]), piped);
    assert!(!bench.path("-").exists());
    // A damaged line is left out and said.
    std::fs::write(bench.path("damaged.prv"), format!("{trace}2:1:1:1:1:5:nonsense\n")).unwrap();
    let said = bench.talea(["convert", "damaged.prv", "out.prv"]).output().unwrap();
    assert!(said.status.success());
    assert!(String::from_utf8_lossy(&said.stderr).contains("gap: "));
}

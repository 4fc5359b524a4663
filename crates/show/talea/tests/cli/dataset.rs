//! `talea convert RUN x.parquet`: calls of random programs, as a reader of Parquet sees them,
//! beside the views of the run.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;

use super::bench::{Bench, Mpi, stderr};

type Row = BTreeMap<String, Field>;

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.collect();
    paths.sort();
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    paths.into_iter().flat_map(below).collect()
}

fn rows(folder: &Path) -> Vec<Row> {
    let mut all = Vec::new();
    for path in files(folder) {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let cells = row.get_column_iter();
            all.push(cells.map(|(name, field)| (name.clone(), field.clone())).collect());
        }
    }
    all
}

fn number(row: &Row, name: &str) -> Option<i64> {
    match &row[name] {
        Field::Long(value) => Some(*value),
        Field::Null => None,
        other => panic!("{name}: {other:?}"),
    }
}

fn text<'a>(row: &'a Row, name: &str) -> &'a str {
    let Field::Str(text) = &row[name] else { panic!("{name}: {row:?}") };
    text
}

/// The calls of a rank's thread, as `talea events` prints them.
fn events(bench: &Bench, run: &str, rank: i64, thread: i64) -> Vec<Value> {
    let (rank, thread) = (rank.to_string(), thread.to_string());
    let words = ["events", run, "--rank", &rank, "--thread", &thread, "--json-lines"];
    bench.text(&words).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn random_calls_are_those_of_events_and_their_sums_those_of_show() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    for seed in ["1", "2", "3"] {
        let run = format!("random-{seed}");
        let mut command = mpi.launch(4);
        command.push(mpi.program("random").display().to_string());
        command.extend(["--seed", seed].map(str::to_owned));
        bench.record(&run, &["--no-report", "--times", "exact"], &command);
        let out = format!("{run}.parquet");
        bench.text(&["convert", &run, &out]);
        // Again, in the place of the first.
        let said = stderr(&bench.talea(["convert", &run, &out]).output().unwrap());
        let mut by_thread: BTreeMap<(i64, i64), Vec<Row>> = BTreeMap::new();
        let mut times: BTreeMap<(i64, i64), i64> = BTreeMap::new();
        let mut bytes: BTreeMap<i64, i64> = BTreeMap::new();
        let calls = rows(&bench.path(&out).join("calls"));
        assert!(said.contains(&format!("wrote {out}: {} calls", calls.len())), "{said}");
        for row in calls {
            let [rank, thread, site] =
                ["rank", "thread", "site_id"].map(|name| number(&row, name).unwrap());
            *times.entry((site, rank)).or_default() += number(&row, "duration_ns").unwrap();
            if let Some(sent) = number(&row, "bytes") {
                *bytes.entry(site).or_default() += sent;
            }
            by_thread.entry((rank, thread)).or_default().push(row);
        }
        for ((rank, thread), rows) in by_thread {
            let lines = events(&bench, &run, rank, thread);
            assert_eq!(rows.len(), lines.len(), "{run}: rank {rank}, thread {thread}");
            for (row, line) in rows.iter().zip(&lines) {
                assert_eq!(text(row, "procedure"), line["call"].as_str().unwrap());
                assert_eq!(text(row, "site"), line["site"].as_str().unwrap());
                for name in ["begin_ns", "duration_ns"] {
                    assert_eq!(number(row, name), line[name].as_i64(), "{run}: {line}");
                }
                // Sends on the world name their peer as they are called.
                if line["args"]["comm"] == "world" && text(row, "procedure") == "MPI_Send" {
                    assert_eq!(number(row, "peer"), line["args"]["dest"].as_i64(), "{line}");
                }
            }
        }
        for site in
            bench.json(&["show", &run, "calls", "--by", "path", "--json"]).as_array().unwrap()
        {
            let id = site["id"].as_i64().unwrap();
            assert_eq!(bytes.get(&id).copied(), site["bytes"].as_i64(), "{run}: {site}");
            for (rank, time) in (0..).zip(site["rank_times"].as_array().unwrap()) {
                let own = times.get(&(id, rank)).copied().unwrap_or(0);
                assert_eq!(own, time.as_i64().unwrap(), "{run}: rank {rank} of {site}");
            }
        }
        let messages = rows(&bench.path(&out).join("messages"));
        bench.text(&["convert", &run, "lines.prv"]);
        let lines = std::fs::read_to_string(bench.path("lines.prv")).unwrap();
        assert_eq!(messages.len(), lines.lines().filter(|line| line.starts_with("3:")).count());
    }
}

#[test]
fn calls_without_times_have_none_and_that_is_said() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let mut command = mpi.launch(2);
    command.push(mpi.program("halo").display().to_string());
    command.extend(["--size", "4", "--steps", "5"].map(str::to_owned));
    bench.record("sums", &["--no-report", "--times", "statistics"], &command);
    let said = stderr(&bench.talea(["convert", "sums", "sums.parquet"]).output().unwrap());
    let table = |name: &str| rows(&bench.path("sums.parquet").join(name));
    let calls = table("calls");
    assert!(said.contains(&format!("gap: {} calls have no times", calls.len())), "{said}");
    assert!(!calls.is_empty());
    for row in &calls {
        assert_eq!(
            ["begin_ns", "duration_ns", "iteration"].map(|name| number(row, name)),
            [None; 3]
        );
    }
    assert!(table("messages").is_empty() && table("iterations").is_empty());
    let time: i64 = table("sums").iter().map(|row| number(row, "time_ns").unwrap()).sum();
    let shown = bench.json(&["show", "sums", "calls", "--json"]);
    let shown = shown.as_array().unwrap().iter().map(|site| site["time"].as_i64().unwrap());
    assert_eq!(time, shown.sum::<i64>());
    assert!(time > 0);
}

#[test]
fn names_that_are_taken_and_pipes_are_refused() {
    let Some(bench) = Bench::new() else { return };
    let check = |words: &[&str], message: &str| {
        let (code, text) = bench.fails(words);
        assert_eq!(code, 2, "{text}");
        assert!(text.contains(message), "{words:?}: {text}");
    };
    let trace = "#Paraver (01/01/2026 at 00:00):10_ns:1(1):1:1(1:1),0\n1:1:1:1:1:0:10:1\n";
    std::fs::write(bench.path("small.prv"), trace).unwrap();
    std::fs::write(bench.path("old.parquet"), "PAR1").unwrap();
    std::fs::create_dir(bench.path("own.parquet")).unwrap();
    check(&["convert", "small.prv", "old.parquet"], "found a file; remove it");
    check(&["convert", "small.prv", "own.parquet"], "found a folder without `_talea.json`");
    check(&["convert", "small.prv", "-", "--format", "parquet"], "give a name");
    check(&["convert", "missing.prv", "new.parquet"], "No such file");
    assert_eq!(std::fs::read_to_string(bench.path("old.parquet")).unwrap(), "PAR1");
    bench.text(&["convert", "small.prv", "new.parquet"]);
    assert_eq!(rows(&bench.path("new.parquet").join("states")).len(), 1);
    assert!(rows(&bench.path("new.parquet").join("events")).is_empty());
    let entries = std::fs::read_dir(bench.path("")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.starts_with('.')).count(), 0);
}

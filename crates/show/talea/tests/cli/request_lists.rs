//! Lists of requests as programs keep them: very long, moved, of several threads, and in a program
//! that is killed.
//!
//! Owns what must hold of each: the program is right, no call is lost, and the record is small.
//! That each list is the program's is compared in `super::agrees`.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::bench::{Bench, Mpi};
use super::survive::{ended, pids};

/// Records `request_lists` with these words; the statistics of the run.
#[track_caller]
fn record(bench: &Bench, mpi: Mpi, words: &[&str]) -> serde_json::Value {
    let name = format!("{}-{}", mpi.name, words[0]);
    let mut command = mpi.launch(1);
    command.push(mpi.program("request_lists").display().to_string());
    command.extend(words.iter().map(|&word| word.to_owned()));
    bench.record(&name, &["--no-report"], &command);
    let stats = bench.json(&["show", &name, "stats", "--json"]);
    assert_eq!(stats["gaps"].as_array().map(Vec::len), Some(0), "{stats}");
    stats
}

#[test]
fn a_million_requests_in_one_call() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        // MPICH has no room for more.
        let live: u64 = if mpi.name.starts_with("mpich") { 250_000 } else { 1_000_000 };
        let stats = record(&bench, mpi, &["million", "1000000", &live.to_string()]);
        // MPI_Init, receives, sends, MPI_Waitall and MPI_Finalize.
        assert_eq!(stats["events"], 3 + 2 * live, "{stats}");
        // A byte for each entry of the list, less for each call.
        assert!(stats["bytes_total"].as_f64().unwrap() < 2e6, "{stats}");
    }
}

#[test]
fn threads_have_lists_of_their_own() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let stats = record(&bench, mpi, &["threads", "300"]);
        // Four times 300 receives, their sends and what completes them.
        assert!(stats["events"].as_u64().unwrap() > 4 * 2 * 300 + 300, "{stats}");
    }
}

#[test]
fn a_program_that_is_killed_while_it_completes_lists_leaves_them() {
    let Some(bench) = Bench::new() else { return };
    for (attempt, mpi) in Mpi::all().into_iter().cycle().take(6).enumerate() {
        let name = format!("killed-{attempt}");
        let live = bench.path(&name).join("live");
        let mut words: Vec<String> =
            ["run", "--no-report", "--out", &name, "--"].map(str::to_owned).to_vec();
        words.extend(mpi.launch(1));
        words.extend([
            mpi.program("request_lists").display().to_string(),
            "forever".into(),
            "300".into(),
        ]);
        let mut child =
            bench.talea(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        assert!(lines.any(|line| line == "lists: first turn"), "{name} ended");
        // Anywhere in a turn.
        std::thread::sleep(Duration::from_millis(20 + 13 * attempt as u64));
        Command::new("kill").args(["-9", &pids(&live)[0].to_string()]).status().unwrap();
        assert!(!ended(child).success());
        let events = bench.text(&["events", &name, "--rank", "0", "--json-lines"]);
        // Within each turn a list is shorter by one than the one before.
        let lengths: Vec<usize> = events
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .filter(|event| event["call"] == "MPI_Waitany")
            .map(|event| event["args"]["array_of_requests"].as_array().unwrap().len())
            .collect();
        assert!(lengths.len() > 300, "{}", lengths.len());
        for (number, length) in lengths.iter().enumerate() {
            assert_eq!(*length, 300 - number % 300, "{name}, call {number}");
        }
    }
}

//! What MPI 4 and 5 added: large counts, sessions, partitioned and repeated communication, the
//! standard ABI.
//!
//! Every implementation that has it must give the same events; what these are stands in snapshots.

use std::fmt::Write as _;

use serde_json::Value;

use super::bench::{Bench, Mpi};

fn record(bench: &Bench, mpi: Mpi, what: &str) -> String {
    let mut words = mpi.launch(4);
    words.extend([mpi.program("modern").display().to_string(), what.to_owned()]);
    let run = format!("{}-{what}", mpi.name);
    if what == "again" {
        // MPICH 5.0.2 by itself waits for ever or aborts in `MPI_Comm_create_from_group`, about
        // once in five hundred, when ranks open the third session at different times: so it does
        // without Talea, where each sleeps up to 3 ms before.
        let ended = (0..5).any(|_| {
            let _ = std::fs::remove_dir_all(bench.path(&run));
            bench
                .record_within(20, &run, &["--no-report"], &words)
                .is_some_and(|output| output.status.success())
        });
        assert!(ended, "{words:?} does not end well in five attempts");
    } else {
        bench.record(&run, &["--no-report"], &words);
    }
    let stats = bench.json(&["show", &run, "stats", "--json"]);
    assert_eq!(stats["ranks"], 4, "{run}: {stats}");
    assert_eq!(stats["gaps"].as_array().unwrap().len(), 0, "{run}: {stats}");
    run
}

/// The calls of a rank, one a line. How often polls fail depends on the weather, so that these are
/// left out.
fn calls(bench: &Bench, run: &str, rank: &str) -> String {
    let events = bench.text(&["events", run, "--rank", rank, "--json-lines"]);
    let mut lines = String::new();
    for event in events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        if event["polls"].as_u64().unwrap() > 0 {
            continue;
        }
        lines.push_str(event["call"].as_str().unwrap());
        for (name, value) in event["args"].as_object().unwrap() {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            write!(lines, " {name}={text}").unwrap();
        }
        lines.push('\n');
    }
    lines
}

/// Checks ranks 0 and 1 against the snapshots of `what`.
#[track_caller]
fn check(bench: &Bench, mpis: &[Mpi], what: &str) {
    for &mpi in mpis {
        let run = record(bench, mpi, what);
        for rank in ["0", "1"] {
            insta::assert_snapshot!(format!("{what}-{rank}"), calls(bench, &run, rank));
        }
    }
}

#[test]
fn large_counts() {
    let Some(bench) = Bench::new() else { return };
    check(&bench, &Mpi::with_mpi_4(), "large");
}

#[test]
fn requests_that_are_started_again() {
    let Some(bench) = Bench::new() else { return };
    let mut all = Mpi::all();
    all.extend(Mpi::newer());
    check(&bench, &all, "persistent");
    check(&bench, &Mpi::with_sessions(), "repeated");
}

#[test]
fn messages_in_parts() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::with_sessions() {
        check(&bench, &[mpi], "partitioned");
        let run = format!("{}-partitioned", mpi.name);
        let matrix = bench.json(&["show", &run, "matrix", "--json"]);
        // Three turns of four parts of eight ints.
        let bytes = 3 * 4 * 8 * 4;
        assert_eq!(matrix["cells"], serde_json::json!([[0, 1, bytes, 3], [2, 3, bytes, 3]]));
        // Polls of a part are one event a series: at most one in each turn.
        let events = bench.text(&["events", &run, "--rank", "1", "--json-lines"]);
        let polls = events.lines().filter(|line| line.contains("\"MPI_Parrived\"")).count();
        assert!((3..=6).contains(&polls), "{polls}: {events}");
    }
}

#[test]
fn sessions_without_a_world() {
    let Some(bench) = Bench::new() else { return };
    check(&bench, &Mpi::with_sessions(), "sessions");
    for mpi in Mpi::with_sessions() {
        // Nothing is left behind: the files of the ranks were brought together.
        let live = bench.path(&format!("{}-sessions", mpi.name)).join("live");
        assert_eq!(std::fs::read_dir(live).unwrap().count(), 0, "{}", mpi.name);
    }
    // Open MPI 5.0 and MPICH 4.0 crash in it by themselves.
    let again: Vec<Mpi> = Mpi::newer().into_iter().filter(|mpi| mpi.name != "openmpi5").collect();
    check(&bench, &again, "again");
}

#[test]
fn a_session_beside_a_world() {
    let Some(bench) = Bench::new() else { return };
    check(&bench, &Mpi::with_sessions(), "both");
}

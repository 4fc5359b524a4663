//! Threads that all communicate: each has a tree, a class and a share of its own, and is nowhere
//! when it is not there.

use serde_json::Value;

use super::bench::{Bench, Mpi};

/// Before the threads come and after they are gone, in milliseconds.
const ALONE: u64 = 200;
/// The same in recorded times, which are rounded.
const ALONE_NS: u64 = (ALONE - 1) * 1_000_000;

/// Two ranks with the main thread, two threads that exchange 100 times and one that reduces 10
/// times.
#[track_caller]
fn record(bench: &Bench, mpi: Mpi) {
    let mut words = mpi.launch(2);
    words.push(mpi.program("workers").display().to_string());
    words.extend(["100".to_owned(), ALONE.to_string()]);
    bench.record(mpi.name, &[], &words);
}

fn child<'a>(tree: &'a Value, kind: &str) -> &'a Value {
    tree["children"].as_array().unwrap().iter().find(|child| child["kind"] == kind).unwrap()
}

#[test]
fn threads_have_trees_and_classes_of_their_own() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        record(&bench, mpi);
        let trees = bench.json(&["show", mpi.name, "structure", "--json"]);
        let trees = trees.as_array().unwrap();
        let locations: Vec<&str> =
            trees.iter().map(|tree| tree["locations"].as_str().unwrap()).collect();
        assert_eq!(locations, ["0-1.1-2", "0-1.3", "0-1.0"], "{}", mpi.name);
        let (exchange, reduce, main) = (&trees[0], &trees[1], &trees[2]);
        assert_eq!((&exchange["ranks"], &exchange["thread"]), (&"0-1".into(), &1.into()));
        assert_eq!(child(&exchange["tree"], "loop")["count"], 100);
        assert_eq!(child(&reduce["tree"], "loop")["count"], 10);
        // Threads are there for a part of the time that the main thread is.
        let run = |tree: &Value| tree["run_ns"].as_u64().unwrap();
        assert!(run(main) >= run(exchange) + 2 * ALONE_NS, "{trees:?}");
        assert!(run(main) >= run(reduce) + 2 * ALONE_NS, "{trees:?}");
        assert!(child(&exchange["tree"], "loop")["share"].as_f64().unwrap() > 0.99);

        let one =
            bench.json(&["show", mpi.name, "structure", "--rank", "1", "--thread", "2", "--json"]);
        assert_eq!(one.as_array().unwrap().len(), 1);
        assert_eq!((&one[0]["locations"], &one[0]["representative"]), (&"1.2".into(), &1.into()));
        let all = bench.json(&["show", mpi.name, "structure", "--rank", "1", "--json"]);
        assert_eq!(all.as_array().unwrap().len(), 4);
        let graph =
            bench.json(&["show", mpi.name, "graph", "--rank", "0", "--thread", "3", "--json"]);
        assert_eq!((&graph["thread"], &graph["stats"]["events"]), (&3.into(), &10.into()));
        let classes = bench.json(&["show", mpi.name, "classes", "--json"]);
        assert_eq!(classes[0]["count"], 4);
        assert_eq!(classes[0]["events"], 300);
    }
}

#[test]
fn shares_are_of_the_time_in_which_threads_are_there() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    record(&bench, mpi);
    let calls = bench.json(&["show", mpi.name, "calls", "--json"]);
    let shares: f64 = calls.as_array().unwrap().iter().map(|c| c["share"].as_f64().unwrap()).sum();
    assert!(shares > 0.0 && shares < 1.0, "{calls}");
    let text = bench.text(&["show", mpi.name, "structure"]);
    let text = text.replace('\n', " ");
    for part in [
        "of the time of threads 0-1.1-2 is one loop of 100 iterations, from MPI_Irecv workers.c:",
        "An iteration takes",
        "(median of 100",
        "of the time of all threads is spent in MPI",
        "threads 0-1.1-2, shown: rank 0, thread 1",
        "threads 0-1.0, shown: rank 0, thread 0",
    ] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    let classes = bench.text(&["show", mpi.name, "classes"]);
    assert!(classes.contains("0-1.1-2"), "{classes}");
}

#[test]
fn a_thread_computes_neither_before_its_first_nor_after_its_last_call() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    record(&bench, mpi);
    bench.text(&["convert", mpi.name, "out.prv"]);
    let trace = std::fs::read_to_string(bench.path("out.prv")).unwrap();
    // 1:cpu:application:task:thread:begin:end:state
    let states = trace.lines().filter_map(|line| line.strip_prefix("1:"));
    let states: Vec<Vec<u64>> =
        states.map(|line| line.split(':').map(|n| n.parse().unwrap()).collect()).collect();
    for thread in [2, 3, 4] {
        let own: Vec<&Vec<u64>> =
            states.iter().filter(|state| state[2] == 1 && state[3] == thread).collect();
        let (first, last) = (own[0], own[own.len() - 1]);
        // Not created.
        assert_eq!((first[6], last[6]), (2, 2), "thread {thread}: {first:?}, {last:?}");
        assert!(first[5] - first[4] >= ALONE_NS && last[5] - last[4] >= ALONE_NS, "{own:?}");
        assert!(own[1..own.len() - 1].iter().all(|state| state[6] != 2), "{own:?}");
    }
    let main = states.iter().filter(|state| state[2] == 1 && state[3] == 1);
    assert!(main.clone().count() > 0 && main.clone().all(|state| state[6] != 2));
}

#[test]
fn a_thread_that_is_not_there_is_refused() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    record(&bench, mpi);
    let words = ["show", mpi.name, "structure", "--rank", "1", "--thread", "9"];
    let (code, said) = bench.fails(&words);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("no record of thread 9 of rank 1, which has threads 0-3"), "{said}");
}

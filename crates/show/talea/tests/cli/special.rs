//! What programs do that recorders trip over: pauses, threads, children, further worlds, clocks
//! that differ, too little room.

use super::bench::{Bench, Mpi};

fn words(mpi: Mpi, ranks: u32, what: &[&str]) -> Vec<String> {
    let mut words = mpi.launch(ranks);
    words.push(mpi.program("special").display().to_string());
    words.extend(what.iter().map(|word| (*word).to_owned()));
    words
}

#[test]
fn a_pause_is_a_gap() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        bench.record(mpi.name, &["--no-report"], &words(mpi, 2, &["pause"]));
        let stats = bench.json(&["show", mpi.name, "stats", "--json"]);
        // MPI_Init_thread, the last barrier and MPI_Finalize, on two ranks.
        assert_eq!(stats["events"], 6, "{stats}");
        let gaps = stats["gaps"].as_array().unwrap();
        let paused: Vec<u64> = gaps
            .iter()
            .filter(|gap| gap["kind"] == "paused")
            .map(|gap| gap["count"].as_u64().unwrap())
            .collect();
        assert_eq!(paused, [2, 2], "{stats}");
    }
}

#[test]
fn children_write_nothing_into_the_record() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        bench.record(mpi.name, &["--no-report"], &words(mpi, 2, &["fork"]));
        let stats = bench.json(&["show", mpi.name, "stats", "--json"]);
        assert_eq!(stats["events"], 6, "{stats}");
        assert_eq!(stats["gaps"].as_array().unwrap().len(), 0, "{stats}");
    }
}

#[test]
fn threads_are_recorded_each_for_itself() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all().into_iter().chain(Mpi::newer()) {
        bench.record(mpi.name, &["--no-report"], &words(mpi, 2, &["threads"]));
        for thread in ["1", "2", "3"] {
            let events = bench.text(&[
                "events",
                mpi.name,
                "--rank",
                "1",
                "--thread",
                thread,
                "--json-lines",
            ]);
            let calls = events.lines().filter(|line| line.contains("\"MPI_Sendrecv\"")).count();
            assert_eq!(calls, 500, "{} thread {thread}", mpi.name);
        }
    }
}

#[test]
fn spawned_processes_are_a_world_of_their_own() {
    let Some(bench) = Bench::new() else { return };
    // MPICH's spawn needs a launcher service that Debian's build lacks on one host.
    let Some(mpi) = Mpi::all().into_iter().find(|mpi| mpi.name == "openmpi") else { return };
    bench.record("spawn", &["--no-report"], &words(mpi, 2, &["spawn"]));
    let stats = bench.json(&["show", "spawn", "stats", "--json"]);
    assert_eq!(stats["ranks"], 4, "{stats}");
    assert!(bench.path("spawn").join("trace.1.talea").is_file());
    let own = bench.text(&["events", "spawn", "--rank", "0", "--json-lines"]);
    assert!(own.contains("\"MPI_Comm_spawn\""), "{own}");
    let other = bench.text(&["events", "spawn", "--world", "1", "--rank", "0", "--json-lines"]);
    assert!(
        !other.contains("\"MPI_Comm_spawn\"") && other.contains("\"MPI_Allreduce\""),
        "{other}"
    );
    // All four have a host, so that a network has a place for each.
    let run = bench.json(&["show", "spawn", "hosts", "--json"]);
    let host = run[0]["name"].as_str().unwrap();
    let called = format!("{host}=c0-0c0s0n0");
    let page =
        bench.text(&["report", "spawn", "--out", "-", "--torus", "1x1x2", "--called", &called]);
    assert!(page.contains("messages on the network"));
    assert!(!page.contains("their messages are not in the picture"));
}

#[test]
fn clocks_of_other_hosts_are_brought_together() {
    let Some(bench) = Bench::new() else { return };
    // A time namespace stands for another host: its CLOCK_MONOTONIC is 1000 s ahead.
    let ahead = ["unshare", "-T", "--monotonic", "1000"];
    if !std::process::Command::new(ahead[0])
        .args(&ahead[1..])
        .arg("true")
        .status()
        .is_ok_and(|s| s.success())
    {
        eprintln!("skipped: unshare cannot make a time namespace here");
        return;
    }
    for mpi in Mpi::all() {
        let mut command = words(mpi, 2, &["many", "10"]);
        let program = mpi.program("special").display().to_string();
        command.extend([":", "-n", "2"].map(str::to_owned));
        command.extend(ahead.map(str::to_owned));
        command.extend([program, "many".to_owned(), "10".to_owned()]);
        bench.record(mpi.name, &["--no-report"], &command);
        let stats = bench.json(&["show", mpi.name, "stats", "--json"]);
        let gaps = stats["gaps"].as_array().unwrap();
        let estimated: Vec<u64> = gaps
            .iter()
            .filter(|gap| gap["kind"] == "estimated")
            .map(|gap| known_to(gap["detail"].as_str().unwrap()))
            .collect();
        assert_eq!(estimated.len(), 2, "{stats}");
        // All leave the barrier at nearly the same time, though not before the last has entered it.
        let barrier = |rank: &str| {
            let events = bench.text(&["events", mpi.name, "--rank", rank, "--json-lines"]);
            let line =
                events.lines().rfind(|line| line.contains("\"MPI_Barrier\"")).unwrap().to_owned();
            let event: serde_json::Value = serde_json::from_str(&line).unwrap();
            let begin = event["begin_ns"].as_u64().unwrap();
            (begin, begin + event["duration_ns"].as_u64().unwrap())
        };
        let all = ["0", "1", "2", "3"].map(barrier);
        let last_in = all.iter().map(|b| b.0).max().unwrap();
        let first_out = all.iter().map(|b| b.1).min().unwrap();
        // The printed distance of the clocks must hold, however late the ranks answered each other:
        // microseconds as a rule, milliseconds where others take their cores. The rest are bounds
        // of recorded times, generously.
        let told = estimated.into_iter().max().unwrap().max(100_000);
        assert!(first_out + told + 100_000 > last_in, "{}: {all:?}, {stats}", mpi.name);
    }
}

/// Nanoseconds of a gap that ends with `known to 1.73 µs`.
fn known_to(detail: &str) -> u64 {
    let (_, time) = detail.rsplit_once("known to ").unwrap();
    let (number, unit) = time.split_once(' ').unwrap();
    let units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (_, nanos) = units.into_iter().find(|(name, _)| *name == unit).unwrap();
    (number.parse::<f64>().unwrap() * nanos).ceil() as u64
}

#[test]
fn each_host_leaves_its_objects_and_each_rank_its_place() {
    let Some(bench) = Bench::new() else { return };
    // A namespace with a name of its own stands for another host.
    let renamed = ["unshare", "-u", "sh", "-c", "hostname other && exec \"$0\" \"$@\""];
    if !std::process::Command::new(renamed[0])
        .args(&renamed[1..])
        .arg("true")
        .status()
        .is_ok_and(|s| s.success())
    {
        eprintln!("skipped: unshare cannot make a namespace for a host name here");
        return;
    }
    for mpi in Mpi::all() {
        let program = mpi.program("special").display().to_string();
        let mut command = words(mpi, 2, &["many", "10"]);
        command.extend([":", "-n", "2"].map(str::to_owned));
        command.extend(renamed.map(str::to_owned));
        command.extend(["taskset", "-c", "0"].map(str::to_owned));
        command.extend([program, "many".to_owned(), "10".to_owned()]);
        bench.record(mpi.name, &["--no-report"], &command);
        let hosts = bench.json(&["show", mpi.name, "hosts", "--json"]);
        let hosts = hosts.as_array().unwrap();
        assert_eq!(hosts.len(), 2, "{hosts:?}");
        assert_eq!(hosts[1]["name"], "other");
        let pus = std::thread::available_parallelism().unwrap().get();
        for (host, first) in hosts.iter().zip([0, 2]) {
            assert!(host["gaps"].as_array().unwrap().is_empty(), "{host}");
            assert!(host["machine"].as_str().unwrap().contains(&format!("{pus} PUs")), "{host}");
            for (row, rank) in host["ranks"].as_array().unwrap().iter().zip(first..) {
                assert_eq!(row["rank"], rank);
                assert!(row["threads"].as_u64().unwrap() > 0, "{row}");
            }
        }
        let there = hosts[1]["ranks"].as_array().unwrap();
        assert_eq!(there.iter().filter(|row| row["allowed"] == "0").count(), 2, "{there:?}");
        assert!(bench.text(&["show", mpi.name, "hosts"]).contains("other: "));
    }
}

#[test]
fn threads_without_a_place_take_none_from_the_others() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    bench.record("crowd", &["--no-report"], &words(mpi, 1, &["crowd"]));
    let stats = bench.json(&["show", "crowd", "stats", "--json"]);
    let calls = bench.json(&["show", "crowd", "calls", "--json"]);
    let barriers = calls
        .as_array()
        .unwrap()
        .iter()
        .filter(|site| site["procedure"] == "MPI_Barrier")
        .map(|site| site["count"].as_u64().unwrap())
        .sum::<u64>();
    assert_eq!(barriers, 1001, "{stats}");
    let gaps = stats["gaps"].as_array().unwrap();
    assert!(gaps.iter().any(|gap| gap["count"] == 20_000), "{stats}");
}

#[test]
fn too_little_memory_is_a_gap_and_the_program_goes_on() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let many = words(mpi, 1, &["many", "400000"]);
    bench.record("small", &["--no-report", "--memory", "2M"], &many);
    let stats = bench.json(&["show", "small", "stats", "--json"]);
    let gaps = stats["gaps"].as_array().unwrap();
    assert!(gaps.iter().any(|gap| gap["kind"] == "memory-bound"), "{stats}");
    let kept = stats["events"].as_u64().unwrap();
    assert!(kept > 50_000 && kept < 400_000, "{stats}");
    bench.record("enough", &["--no-report"], &many);
    let stats = bench.json(&["show", "enough", "stats", "--json"]);
    assert_eq!(stats["events"], 400_003);
    // Sizes and tags that do not repeat, but are regular: a kilobyte for a million calls.
    assert!(stats["bytes_sequence"].as_u64().unwrap() < 1024, "{stats}");
}

#[test]
fn a_call_that_an_error_handler_jumped_out_of_is_over() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        bench.record(mpi.name, &["--no-report"], &words(mpi, 2, &["jump", "100"]));
        for rank in ["0", "1"] {
            let events = bench.text(&["events", mpi.name, "--rank", rank, "--json-lines"]);
            let count = |call: &str| {
                let quoted = format!("\"{call}\"");
                events.lines().filter(|line| line.contains(&quoted)).count()
            };
            // Each send is an event although it never returned, and so is each barrier after it.
            assert_eq!(count("MPI_Send"), 100, "{} {events}", mpi.name);
            assert_eq!(count("MPI_Barrier"), 101, "{} {events}", mpi.name);
            assert_eq!(count("MPI_Finalize"), 1, "{} {events}", mpi.name);
            let send = events.lines().find(|line| line.contains("\"MPI_Send\"")).unwrap();
            assert!(send.contains("\"tag\":7"), "{send}");
        }
    }
}

/// Events of a rank of `apps/special/progress.c`: calls with their polls.
fn polls(bench: &Bench, run: &str, rank: usize) -> Vec<(String, u64, u64)> {
    let rank = rank.to_string();
    let events = bench.text(&["events", run, "--rank", &rank, "--json-lines"]);
    let event = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        let call = event["call"].as_str().unwrap().to_owned();
        let polls = event["polls"].as_u64().unwrap_or(0);
        (call, polls, event["duration_ns"].as_u64().unwrap())
    };
    events.lines().map(event).collect()
}

#[test]
fn polls_that_alternate_are_an_event_a_site_however_long_they_take() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let mut all = Vec::new();
        for (run, late) in [("fast", "0"), ("slow", "5000")] {
            let run = format!("{}-{run}", mpi.name);
            let mut command = mpi.launch(2);
            command.push(mpi.program("progress").display().to_string());
            command.extend(["10", late].map(str::to_owned));
            let output = bench.record(&run, &["--no-report", "--times", "exact"], &command);
            let said = String::from_utf8(output.stdout).unwrap();
            for rank in 0..2 {
                let events = polls(&bench, &run, rank);
                let line = said.lines().find(|line| line.starts_with(&format!("{rank}\t")));
                let counts: Vec<u64> =
                    line.unwrap().split('\t').skip(1).map(|n| n.parse().unwrap()).collect();
                // The program's own counts.
                for (call, count) in ["MPI_Testall", "MPI_Iprobe", "MPI_Testany"].iter().zip(counts)
                {
                    let of_call = events.iter().filter(|event| event.0 == *call);
                    assert_eq!(of_call.map(|event| event.1).sum::<u64>(), count, "{run} {call}");
                }
                // The time in polls is not more than there was, nor next to nothing.
                let inside: u64 = events.iter().filter(|e| e.1 > 0).map(|e| e.2).sum();
                assert!(late == "0" || inside > 1_000_000, "{run}: {inside} ns");
                let calls: Vec<String> = events.into_iter().map(|event| event.0).collect();
                // Four receives, a series at three sites, the one that found all, four sends.
                let rounds = calls.iter().filter(|call| *call == "MPI_Testany").count();
                assert_eq!(rounds, 10, "{run} {calls:?}");
                all.push((rank, calls));
            }
        }
        // Partners that are late change no event but for its times and its number of polls.
        assert!(all[0] == all[2] && all[1] == all[3], "{}: {all:?}", mpi.name);
    }
}

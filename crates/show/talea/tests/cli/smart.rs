//! `talea run --collect smart` beside a full recording of the same program, and its faults.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use serde_json::Value;

use super::bench::{Bench, Mpi, stderr};
use super::survive::{ended, pids};
use super::watch::{Ranks, kill_ranks, looks, started, until};

/// The collection of rank 0.
fn collection(bench: &Bench, run: &str) -> Value {
    bench.json(&["show", run, "collection", "--rank", "0", "--json"])
}

/// Texts of a view's gaps.
fn gaps(view: &Value) -> Vec<String> {
    let gaps = view["gaps"].as_array().into_iter().flatten();
    gaps.map(|gap| gap["detail"].as_str().unwrap().to_owned()).collect()
}

/// Call sites with what does not depend on the moment.
fn sites(bench: &Bench, run: &str) -> Vec<[Value; 4]> {
    let rows = bench.json(&["show", run, "calls", "--by", "path", "--json"]);
    let keys = ["procedure", "path", "count", "bytes"];
    let mut rows: Vec<[Value; 4]> =
        rows.as_array().unwrap().iter().map(|row| keys.map(|key| row[key].clone())).collect();
    // Calls without a buffer have no bytes.
    assert!(rows.iter().all(|row| row[..3].iter().all(|value| !value.is_null())), "{rows:?}");
    rows.sort_by_key(|row| format!("{row:?}"));
    rows
}

/// End of the last call of rank 0.
fn end(bench: &Bench, run: &str) -> u64 {
    let events = bench.text(&["events", run, "--rank", "0", "--json-lines"]);
    let last: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    last["begin_ns"].as_u64().unwrap()
}

fn bytes(folder: &Path) -> u64 {
    let traces = fs::read_dir(folder).unwrap().flatten();
    let traces = traces.filter(|one| one.file_name().to_string_lossy().starts_with("trace"));
    traces.map(|one| one.metadata().unwrap().len()).sum()
}

#[test]
fn some_iterations_and_all_sums_are_kept() {
    const STEPS: [&str; 2] = ["4000", "40000"];
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let [few, many] = STEPS.map(|steps| format!("{}-{steps}", mpi.name));
        for (name, steps) in [(&few, STEPS[0]), (&many, STEPS[1])] {
            let child = started(&bench, mpi, name, &["--collect", "smart"], steps);
            let looks = looks(&bench, name, || ());
            assert!(child.wait_with_output().unwrap().status.success());
            // Another reader of the ring finds the same.
            let last = looks.last().unwrap();
            assert_eq!(last["left_events"], 0, "{last}");
            assert_eq!(last["main_loop"]["iterations"].to_string(), steps, "{last}");
        }
        let full = format!("{}-full", mpi.name);
        assert!(started(&bench, mpi, &full, &["--no-report"], STEPS[0]).wait().unwrap().success());
        assert_eq!(sites(&bench, &few), sites(&bench, &full));
        let matrix = |run: &str| bench.json(&["show", run, "matrix", "--json"]);
        assert_eq!(matrix(&few), matrix(&full));

        let found = collection(&bench, &many);
        assert_eq!((&found["smart"], &found["iterations"]), (&true.into(), &40_000.into()));
        let phases = found["phases"].as_array().unwrap();
        let kept: usize = phases.iter().map(|one| one["kept"].as_array().unwrap().len()).sum();
        assert_eq!(found["kept"], kept);
        assert!((10..4_000).contains(&kept), "{found}");
        // The iterations of a kind are those of the observer or of its estimate.
        let of = |phase: &Value, key: &str| phase[key].as_u64().unwrap();
        let count: u64 = phases.iter().map(|phase| of(phase, "iterations")).sum();
        assert_eq!(count, 40_000);
        // The history has all iterations but those before the loop was known, and the last one.
        let history = found["history"].as_array().unwrap();
        let of = |key: &str| -> Vec<u64> {
            history.iter().map(|one| one[key].as_u64().unwrap()).collect()
        };
        assert!(history.len() > 500 && history.len() <= 1024, "{}", history.len());
        let counted: u64 = of("iterations").iter().sum();
        assert!((30_000..40_000).contains(&counted), "{counted}");
        assert!(of("begin_ns").is_sorted());
        assert!(history.iter().all(|one| {
            let [count, time, min, max] =
                ["iterations", "time_ns", "min_ns", "max_ns"].map(|key| one[key].as_u64().unwrap());
            count * min <= time && time <= count * max
        }));
        assert!(of("time_ns").iter().sum::<u64>() <= end(&bench, &many));
        let text = bench.text(&["show", &many, "collection", "--rank", "0"]);
        assert!(text.contains("\nmax  "), "{text}");
        // Sums of sites are the recorder's.
        let calls = bench.json(&["show", &many, "calls", "--by", "path", "--json"]);
        let time = |rows: &Value, key: &str| -> u64 {
            rows.as_array().unwrap().iter().map(|row| row[key].as_u64().unwrap()).sum()
        };
        let (totals, all) = (time(&found["totals"], "time_ns"), time(&calls, "time"));
        assert!(totals > 0 && totals < all, "{totals} of {all} on both ranks");
        let said = gaps(&bench.report(&many));
        assert!(
            said.iter().any(|gap| gap.contains("calls were kept, of the others only sums")),
            "{said:?}"
        );

        let [small, large] = [&few, &many].map(|name| bytes(&bench.path(name)));
        assert!(small > 0 && large < 2 * small, "{small} and {large} bytes");
        bench.same_without_sums(&few);
    }
}

#[test]
fn a_killed_program_keeps_what_was_chosen() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let live = bench.path(mpi.name).join("live");
        let _ranks = Ranks(live.clone());
        let options = ["--collect", "smart", "--no-report"];
        let child = started(&bench, mpi, mpi.name, &options, "100000000");
        // On busy cores ranks need seconds for a hundred steps.
        until(|| {
            let look = bench.json(&["watch", mpi.name, "--once", "--json"]);
            (look["main_loop"]["iterations"].as_u64()? > 150).then_some(())
        });
        std::thread::sleep(Duration::from_millis(1500));
        kill_ranks(&live);
        assert!(!ended(child).success());
        let found = collection(&bench, mpi.name);
        let number = |key: &str| found[key].as_u64().unwrap();
        assert!(number("iterations") > 100, "{found}");
        assert!(number("kept") >= 10 && number("kept") < number("iterations"), "{found}");
        let said = gaps(&bench.report(mpi.name));
        assert!(!said.iter().any(|gap| gap.contains("have no times")), "{said:?}");
        assert!(!fs::exists(&live).unwrap() || fs::read_dir(&live).unwrap().next().is_none());
    }
}

/// Starts a program, and kills what observes it.
fn unobserved(bench: &Bench, mpi: Mpi, name: &str) -> Child {
    let options = ["--collect", "smart", "--no-report"];
    let mut child = started(bench, mpi, name, &options, "100000000");
    let live = bench.path(name).join("live");
    let is_kept = || {
        let files = fs::read_dir(&live).into_iter().flatten().flatten();
        files.filter(|one| one.path().extension().is_some_and(|ending| ending == "kept")).count()
            == 2
    };
    while !is_kept() {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child
}

#[test]
fn a_killed_observer_leaves_what_it_kept() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let live = bench.path("run").join("live");
    let _ranks = Ranks(live.clone());
    assert!(!ended(unobserved(&bench, mpi, "run")).success());
    // Ranks go on without it.
    std::thread::sleep(Duration::from_millis(500));
    kill_ranks(&live);
    let copied =
        Command::new("cp").args(["-r", "run", "damaged"]).current_dir(bench.path("")).status();
    assert!(copied.unwrap().success());
    let found = collection(&bench, "run");
    let number = |key: &str| found[key].as_u64().unwrap();
    assert!(number("kept") > 10 && number("iterations") >= number("kept"), "{found}");
    let said = gaps(&bench.report("run"));
    assert!(!said.iter().any(|gap| gap.contains("kept times")), "{said:?}");

    let files = fs::read_dir(bench.path("damaged/live")).unwrap().flatten().map(|one| one.path());
    for path in files.filter(|path| path.extension().is_some_and(|ending| ending == "kept")) {
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
    }
    let said = gaps(&bench.report("damaged"));
    let damaged =
        |gap: &String| gap.contains("kept times are damaged, expected the checksum of its bytes");
    assert!(said.iter().any(damaged), "{said:?}");
}

/// A rank, the observer or both are killed at moments of the first 1.5 s; `TALEA_KILLS` is the
/// number of runs.
#[test]
fn the_last_segment_has_times_whatever_is_killed() {
    let Some(bench) = Bench::new() else { return };
    let mpis = Mpi::all();
    if mpis.is_empty() {
        return;
    }
    let kills = std::env::var("TALEA_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    for attempt in 0..kills {
        let mpi = mpis[attempt % mpis.len()];
        let name = format!("run-{attempt}");
        let live = bench.path(&name).join("live");
        let _ranks = Ranks(live.clone());
        let options = ["--collect", "smart", "--no-report"];
        let mut child = started(&bench, mpi, &name, &options, "100000000");
        // Ranks have records before they have left MPI_Init.
        until(|| {
            let look = bench.json(&["watch", &name, "--once", "--json", "--every", "100ms"]);
            let has_events = |rank: &Value| rank["events"].as_u64().is_some_and(|n| n > 1);
            look["ranks"].as_array()?.iter().all(has_events).then_some(())
        });
        std::thread::sleep(Duration::from_millis(attempt as u64 * 373 % 1501));
        let records = pids(&live);
        assert!(!records.is_empty(), "{name}");
        let victim = attempt / mpis.len() % 3;
        if victim > 0 {
            child.kill().unwrap();
        }
        if victim == 0 {
            let rank = records[attempt % records.len()].to_string();
            Command::new("kill").args(["-9", &rank]).status().unwrap();
        } else if victim == 2 {
            kill_ranks(&live);
        } else {
            std::thread::sleep(Duration::from_millis(100));
            kill_ranks(&live);
        }
        assert!(!ended(child).success(), "{name}");
        let found = collection(&bench, &name);
        assert_eq!(found["smart"], true, "{name}: {found}");
        let said = gaps(&bench.report(&name));
        assert!(!said.iter().any(|gap| gap.contains("damaged")), "{name}: {said:?}");
        // The last segment has times.
        for rank in ["0", "1"] {
            let events = bench.text(&["events", &name, "--rank", rank, "--json-lines"]);
            let last = events.lines().last();
            let last = last.unwrap_or_else(|| panic!("{name}: no event of rank {rank}"));
            let last: Value = serde_json::from_str(last).unwrap();
            assert!(last["begin_ns"].is_u64(), "{name}: {last}");
        }
    }
}

#[test]
fn exact_times_of_some_iterations_are_parts_of_the_sums() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let options = ["--collect", "smart", "--times", "exact", "--no-report"];
    assert!(started(&bench, mpi, "run", &options, "40000").wait().unwrap().success());
    let found = collection(&bench, "run");
    assert_eq!((&found["smart"], &found["iterations"]), (&true.into(), &40_000.into()));
    let kept = found["kept"].as_u64().unwrap();
    assert!((10..4_000).contains(&kept), "{found}");
    // Sums are exact, and those of kept calls are a part of them.
    let events = bench.text(&["events", "run", "--rank", "0", "--json-lines"]);
    let mut timed: HashMap<String, u64> = HashMap::new();
    for line in events.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        if let Some(duration) = event["duration_ns"].as_u64() {
            *timed.entry(event["call"].as_str().unwrap().to_owned()).or_default() += duration;
        }
    }
    let rows = bench.json(&["show", "run", "calls", "--by", "path", "--json"]);
    let mut sums: HashMap<String, u64> = HashMap::new();
    for row in rows.as_array().unwrap() {
        let call = row["procedure"].as_str().unwrap().to_owned();
        *sums.entry(call).or_default() += row["time"].as_u64().unwrap();
    }
    assert!(timed.contains_key("MPI_Waitall"), "{timed:?}");
    for (call, part) in &timed {
        assert!(sums.get(call).is_some_and(|all| part <= all), "{call}: {part} of {sums:?}");
    }
}

#[test]
fn options_that_leave_no_choice_are_refused() {
    let Some(bench) = Bench::new() else { return };
    for other in [["--merge", "ranks"], ["--times", "statistics"]] {
        let words = ["run", "--collect", "smart", other[0], other[1], "--", "true"];
        let output = bench.talea(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = stderr(&output);
        assert!(
            said.contains(&format!(
                "{} {} cannot be combined with --collect smart",
                other[0], other[1]
            )),
            "{said}"
        );
    }
}

//! What was recorded survives the program: a rank is killed with SIGKILL at twenty different
//! moments.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use talea_run::live::LiveProcess;
use talea_run::mapped::{live_records, read_live};
use talea_run::recording::Open;
use talea_run::{RunDirectory, trace};

use super::bench::{Bench, Mpi};

/// The records of processes in a folder of live files.
pub(super) fn records(live: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(live).into_iter().flatten().flatten();
    let records = entries.flat_map(|entry| live_records(&entry.path()).unwrap_or_default());
    let records = records.filter(|record| record.has_head);
    records.filter_map(|record| read_live(&record).ok()).collect()
}

/// The process ids of the records in a folder of live files.
pub(super) fn pids(live: &Path) -> Vec<u32> {
    let pid = |bytes: Vec<u8>| LiveProcess::read(&bytes).ok().map(|process| process.header.pid);
    let mut pids: Vec<u32> = records(live).into_iter().filter_map(pid).collect();
    pids.sort_unstable();
    pids
}

/// Patience with a launcher one of whose ranks was killed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until `talea run` has ended. Open MPI 4's launcher by itself may wait for ever for a lock
/// in `PMIx` when a rank is gone early; then it is ended, as a user would.
pub(super) fn ended(mut child: Child) -> ExitStatus {
    let mut begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begin.elapsed() > PATIENCE {
            let id = child.id();
            let tasks = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten();
            for task in tasks.flatten() {
                let children = std::fs::read_to_string(task.path().join("children"));
                for launcher in children.unwrap_or_default().split_whitespace() {
                    Command::new("kill").args(["-9", launcher]).status().unwrap();
                }
            }
            begin = Instant::now();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_killed_rank_leaves_its_record() {
    let Some(bench) = Bench::new() else { return };
    let mpis = Mpi::all();
    if mpis.is_empty() {
        return;
    }
    for attempt in 0..20_usize {
        let mpi = mpis[attempt % mpis.len()];
        let name = format!("run-{attempt}");
        let live = bench.path(&name).join("live");
        let mut words: Vec<String> = vec!["run".into(), "--out".into(), name.clone(), "--".into()];
        words.extend(mpi.launch(3));
        words.push(mpi.program("halo").display().to_string());
        words.extend(["--size", "4", "--steps", "100000000"].map(str::to_owned));
        let mut child =
            bench.talea(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while pids(&live).len() < 3 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Some are still inside MPI_Init, others well inside the loop.
        std::thread::sleep(Duration::from_millis((attempt as u64 * 37) % 301));
        let victims = pids(&live);
        let victim = victims[attempt % victims.len()];
        Command::new("kill").args(["-9", &victim.to_string()]).status().unwrap();
        let status = ended(child);
        assert!(!status.success(), "{name}: {status}");

        let stats = bench.json(&["show", &name, "stats", "--json"]);
        assert_eq!(stats["ranks"], 3, "{name}: {stats}");
        let early = |gap: &&Value| gap["kind"] == "ended-early";
        assert!(
            stats["gaps"].as_array().unwrap().iter().filter(early).count() >= 1,
            "{name}: {stats}"
        );
        bench.text(&["show", &name, "structure"]);
        bench.reported(&name);
        if attempt % 4 == 0 {
            bench.same_without_sums(&name);
        }
    }
}

/// Views show a running program as running, and its ranks as killed once they are.
#[test]
fn a_running_program_is_shown_as_running() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let live = bench.path(mpi.name).join("live");
        let mut words: Vec<String> =
            vec!["run".into(), "--out".into(), mpi.name.into(), "--".into()];
        words.extend(mpi.launch(2));
        words.push(mpi.program("halo").display().to_string());
        words.extend(["--size", "4", "--steps", "100000000"].map(str::to_owned));
        let mut child =
            bench.talea(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while pids(&live).len() < 2 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let shown = bench.text(&["show", mpi.name]);
        assert!(shown.contains("2 of 2 ranks are running; "), "{shown}");
        assert!(!shown.contains("killed") && !shown.contains("without MPI_Finalize"), "{shown}");
        let page = bench.text(&["report", mpi.name, "--out", "-"]);
        assert!(page.contains("running, "));
        assert!(pids(&live).len() == 2, "readers leave the records where they are");
        for pid in pids(&live) {
            Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
        }
        assert!(!ended(child).success());
        let shown = bench.text(&["show", mpi.name]);
        assert!(shown.contains("killed or crashed after"), "{shown}");
        assert!(!shown.contains("running"), "{shown}");
    }
}

#[test]
fn a_rank_that_kills_itself_is_recorded_up_to_that_step() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let mut words: Vec<String> =
            vec!["run".into(), "--out".into(), mpi.name.into(), "--".into()];
        words.extend(mpi.launch(4));
        words.push(mpi.program("halo").display().to_string());
        words
            .extend(["--size", "4", "--kill-rank", "2", "--kill-at-step", "41"].map(str::to_owned));
        let child = bench.talea(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        assert!(!ended(child.unwrap()).success());
        let events = bench.text(&["events", mpi.name, "--rank", "2", "--json-lines"]);
        // 41 whole steps of 18 exchanges each.
        let exchanges = events.lines().filter(|line| line.contains("\"MPI_Waitall\"")).count();
        assert_eq!(exchanges, 41 * 18, "{}", mpi.name);
    }
}

#[test]
fn a_rank_that_is_killed_while_it_polls_says_where() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let mut words: Vec<String> =
            vec!["run".into(), "--out".into(), mpi.name.into(), "--".into()];
        words.extend(mpi.launch(2));
        words.push(mpi.program("progress").display().to_string());
        // Partners are so late that the third turn of polls is in vain too.
        words.extend(["3", "300000", "kill"].map(str::to_owned));
        let child = bench.talea(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        assert!(!ended(child.unwrap()).success());
        let run = RunDirectory::open(&bench.path(mpi.name)).unwrap();
        let recording = trace::load(&run).unwrap();
        let process = &recording.processes[0];
        let polled = |open: &Open| (recording.procedure(open.procedure).name.as_str(), open.polls);
        let sites: Vec<(&str, u64)> = process.polling.iter().map(polled).collect();
        assert_eq!(
            sites,
            [("MPI_Testall", 3), ("MPI_Iprobe", 3), ("MPI_Testany", 3)],
            "{}",
            mpi.name
        );
        assert_eq!(process.open.map(|open| open.procedure), Some(process.polling[0].procedure));
        assert!(bench.path(mpi.name).join("report.html").is_file());
    }
}

//! Communication of the recorder. A library behind it counts its calls of MPI: there are none after
//! the initialisation. Clocks of hosts are compared without MPI.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use talea_run::live::LiveProcess;
use talea_run::live::layout::Header;
use talea_run::mapped::{live_records, read_live};

use super::bench::{Bench, Mpi, stderr};
use super::fabric_run::Pair;
use super::hosts::{Disk, bench, other};
use super::watch::Ranks;

/// Words that set the libraries of a process: the recorder, and behind it one that counts the calls
/// which the recorder makes by itself.
fn counted(bench: &Bench, mpi: Mpi, file: &str) -> Vec<String> {
    let (recorder, beneath) = (bench.library(), mpi.program("libbeneath.so"));
    vec![
        "env".to_owned(),
        format!("LD_PRELOAD={}:{}", recorder.display(), beneath.display()),
        format!("BENEATH_FILE={}", bench.path(file).display()),
    ]
}

/// Calls of each rank that the recorder made by itself: until the program's first call, and later.
fn own_calls(bench: &Bench, file: &str) -> Vec<[u64; 2]> {
    let text = fs::read_to_string(bench.path(file)).unwrap();
    let numbers = |line: &str| {
        let all: Vec<u64> = line.split(' ').map(|one| one.parse().unwrap()).collect();
        assert!(all[2] > 2000, "calls of the program: {line}");
        [all[0], all[1]]
    };
    text.lines().map(numbers).collect()
}

#[test]
fn after_the_first_call_of_the_program_no_call_is_the_recorders() {
    let Some(bench) = bench() else { return };
    for mpi in Mpi::all() {
        let cases = [
            (None, &["--collect", "full"][..]),
            (None, &["--collect", "smart"]),
            (None, &["--fabric"]),
            (Some(Disk::Shared), &["--collect", "full"]),
            (Some(Disk::Shared), &["--collect", "statistics", "--fabric"]),
            (Some(Disk::Shared), &["--merge", "ranks"]),
            (Some(Disk::Own), &["--collect", "full", "--fabric"]),
            (Some(Disk::Own), &["--collect", "smart"]),
        ];
        for (number, (other_host, options)) in cases.into_iter().enumerate() {
            let name = format!("{}-{number}", mpi.name);
            let file = format!("{name}.calls");
            let disk = other_host.unwrap_or(Disk::Shared);
            let program = mpi.program("halo").display().to_string();
            let program = [&*program, "--size", "4", "--steps", "500"].map(str::to_owned);
            let mut words = mpi.launch(1);
            words.extend(counted(&bench, mpi, &file));
            words.extend(program.clone());
            words.extend([":", "-n", "1"].map(str::to_owned));
            words.extend(other_host.map_or(Vec::new(), |disk| other(&bench, disk)));
            words.extend(counted(&bench, mpi, &file));
            words.extend(program);
            let own = disk.options(&bench);
            let all: Vec<&str> =
                options.iter().copied().chain(own.iter().map(String::as_str)).collect();
            let said = stderr(&bench.record(&name, &all, &words));
            assert!(!said.contains("warning: "), "{said}");
            let calls = own_calls(&bench, &file);
            assert_eq!(calls.len(), 2, "{name}");
            let is_merged_by_ranks = options.contains(&"ranks");
            for [before, after] in calls {
                assert!(before > 1, "{name}: the ranks compare their clocks at the begin");
                assert_eq!(after > 0, is_merged_by_ranks, "{name}: {after} calls");
            }
            let stats = bench.json(&["show", &name, "stats", "--json"]);
            assert_eq!(stats["ranks"], 2, "{name}: {stats}");
            let left = |folder: &str| {
                fs::read_dir(bench.path(&name).join(folder)).into_iter().flatten().count()
            };
            assert_eq!((left("live"), left("live-dir")), (0, 0), "{name}");
            assert_eq!(fs::read_dir(bench.path("disk")).unwrap().count(), 0, "{name}");
        }
    }
}

/// The head of the second rank's record.
fn second(live: &Path) -> Option<Header> {
    let files = fs::read_dir(live).into_iter().flatten().flatten().map(|one| one.path());
    let records = files.flat_map(|path| live_records(&path).unwrap_or_default());
    let records = records.filter_map(|record| LiveProcess::read(&read_live(&record).ok()?).ok());
    records.map(|one| *one.header).find(|header| header.rank == 1)
}

/// Two hosts with a network of their own: the observer of the second asks `talea run` on the first.
#[test]
fn clocks_are_compared_while_the_program_runs() {
    let Some(pair) = Pair::new() else { return };
    for mpi in Mpi::all() {
        let live = pair.bench.path(mpi.name).join("live");
        let words = ["--size", "4", "--steps", "100000000"];
        let (said, found) = std::thread::scope(|scope| {
            let recorded = scope.spawn(|| pair.record_whatever(mpi, &["--no-report"], &words));
            let ranks = Ranks(live.clone());
            let begin = Instant::now();
            let found = loop {
                assert!(!recorded.is_finished(), "{}", mpi.name);
                assert!(begin.elapsed() < Duration::from_mins(1), "{}", mpi.name);
                // Without an answer the drift is 0.
                if let Some(found) = second(&live).filter(|header| header.drift() != 0) {
                    break found;
                }
                std::thread::sleep(Duration::from_millis(50));
            };
            drop(ranks);
            (stderr(&recorded.join().unwrap()), found)
        });
        // Both hosts have this machine's clock.
        assert!(found.drift().unsigned_abs() <= found.offset_error, "{found:?}");
        let stats = pair.bench.json(&["show", mpi.name, "stats", "--json"]);
        assert_eq!(stats["ranks"], 2, "{stats} {said}");
    }
}

/// Sessions have no exchange of messages of ours, not even at their begin.
#[test]
fn clocks_of_sessions_are_known() {
    let Some(bench) = bench() else { return };
    for (mpi, disk) in
        Mpi::with_sessions().into_iter().zip([Disk::Own, Disk::Shared].iter().cycle())
    {
        let program = mpi.program("modern").display().to_string();
        let program = [&*program, "sessions", "3"].map(str::to_owned);
        let mut command = mpi.launch(1);
        command.extend(program.clone());
        command.extend([":", "-n", "1"].map(str::to_owned));
        command.extend(other(&bench, *disk));
        command.extend(program);
        let options = disk.options(&bench);
        let options = ["--no-report"].into_iter().chain(options.iter().map(String::as_str));
        let options: Vec<&str> = options.collect();
        let said = stderr(&bench.record(mpi.name, &options, &command));
        assert!(!said.contains("warning: "), "{said}");
        let stats = bench.json(&["show", mpi.name, "stats", "--json"]);
        assert_eq!(stats["ranks"], 2, "{stats}");
        let gaps = stats["gaps"].to_string();
        assert!(gaps.contains("known to") && !gaps.contains("nobody knows"), "{stats}");
    }
}

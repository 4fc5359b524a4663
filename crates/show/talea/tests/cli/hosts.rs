//! `--collect smart` of jobs on several hosts. A namespace with a host name, and where it matters a
//! disk, of its own stands for another host.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use talea_run::observers::is_running;
use talea_testing::missing;

use super::bench::{Bench, Mpi, stderr};
use super::fabric_run::{NAMES, Pair};
use super::survive::{ended, pids};
use super::watch::{Ranks, looks, until};

/// Where ranks of the other host have their records: in the run directory, or on a disk of its own,
/// which only one rank can have, as each has a namespace of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disk {
    Shared,
    Own,
}

impl Disk {
    /// Number of ranks on the other host, which is the number of the last one. MPICH's would not
    /// share cores.
    fn ranks(self, mpi: Mpi) -> u32 {
        if self == Self::Shared && mpi.name == "openmpi" { 2 } else { 1 }
    }

    /// Options of `talea run`.
    pub(super) fn options(self, bench: &Bench) -> Vec<String> {
        let disk = bench.path("disk").display().to_string();
        if self == Self::Shared { vec![] } else { vec!["--live-dir".to_owned(), disk] }
    }
}

/// A shell on the other host.
pub(super) fn other(bench: &Bench, disk: Disk) -> Vec<String> {
    let script = match disk {
        Disk::Shared => "hostname other && exec \"$@\"",
        Disk::Own => "hostname other && mount -t tmpfs tmpfs \"$0\" && exec \"$@\"",
    };
    let words = ["unshare", "-u", "-m", "sh", "-c", script];
    let folder = bench.path("disk").display().to_string();
    words.map(str::to_owned).into_iter().chain([folder]).collect()
}

/// A bench with a folder `disk`, if there can be another host.
#[track_caller]
pub(super) fn bench() -> Option<Bench> {
    let bench = Bench::new()?;
    fs::create_dir(bench.path("disk")).unwrap();
    let words = other(&bench, Disk::Own);
    let tried = Command::new(&words[0]).args(&words[1..]).arg("true").output();
    if !tried.is_ok_and(|output| output.status.success()) {
        return missing("no namespace can be made for the name and the disk of another host");
    }
    Some(bench)
}

/// A rank of halo here and others on the other host, with words before it there.
fn halo_behind(
    bench: &Bench,
    mpi: Mpi,
    (disk, there): (Disk, &[&str]),
    steps: &str,
) -> Vec<String> {
    let program = mpi.program("halo").display().to_string();
    let program = [&*program, "--size", "4", "--steps", steps].map(str::to_owned);
    let mut words = mpi.launch(1);
    words.extend(program.clone());
    words.extend([":", "-n"].map(str::to_owned));
    words.push(disk.ranks(mpi).to_string());
    words.extend(other(bench, disk));
    words.extend(there.iter().map(|&word| word.to_owned()));
    words.extend(program);
    words
}

fn halo(bench: &Bench, mpi: Mpi, disk: Disk, steps: &str) -> Vec<String> {
    halo_behind(bench, mpi, (disk, &[]), steps)
}

fn collection(bench: &Bench, run: &str, rank: &str) -> Value {
    bench.json(&["show", run, "collection", "--rank", rank, "--json"])
}

/// Numbers of the iterations that a rank kept.
fn kept(found: &Value) -> Vec<u64> {
    let phases = found["phases"].as_array().unwrap();
    let all = phases.iter().flat_map(|phase| phase["kept"].as_array().unwrap());
    let mut all: Vec<u64> = all.map(|one| one.as_u64().unwrap()).collect();
    all.sort_unstable();
    all
}

/// Files of observers in a run.
fn observers(run: &Path) -> Vec<String> {
    let files = fs::read_dir(run.join("live")).into_iter().flatten().flatten();
    let names = files.map(|one| one.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".observer")).collect()
}

/// Number and bytes of the calls at each site, which do not depend on the moment.
fn counts(bench: &Bench, run: &str) -> Vec<[String; 3]> {
    let rows = bench.json(&["show", run, "calls", "--by", "path", "--json"]);
    let keys = ["path", "count", "bytes"];
    let rows = rows.as_array().unwrap().iter();
    let mut rows: Vec<[String; 3]> = rows.map(|row| keys.map(|key| row[key].to_string())).collect();
    rows.sort();
    rows
}

/// Records with smart collection; what the command printed.
fn smart(bench: &Bench, name: &str, disk: Disk, command: &[String]) -> String {
    let options = ["--collect", "smart"].map(str::to_owned).into_iter();
    let options: Vec<String> = options.chain(disk.options(bench)).collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    stderr(&bench.record(name, &options, command))
}

/// A command that the user ends leaves no address, to which hosts would go on sending.
#[cfg(feature = "page")]
fn watch_until_interrupted(bench: &Bench, name: &str) {
    let live = bench.path(name).join("live");
    let addresses = || {
        let files = fs::read_dir(&live).into_iter().flatten().flatten();
        let names = files.map(|one| one.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("watch-")).count()
    };
    let words = ["watch", name, "--json"];
    let child = bench.talea(words).stdout(Stdio::piped()).spawn().unwrap();
    until(|| {
        std::thread::sleep(Duration::from_millis(20));
        (addresses() > 0).then_some(())
    });
    let pid = child.id().to_string();
    // It takes the signal from its first look on.
    std::thread::sleep(Duration::from_secs(1));
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    assert!(String::from_utf8(output.stdout).unwrap().ends_with("}\n"), "whole lines");
    assert_eq!(addresses(), 0);
}

/// Each host reports to the command that watches, also where no file can be read from here.
#[test]
#[cfg(feature = "page")]
fn a_job_on_two_hosts_is_watched_as_one() {
    let Some(bench) = bench() else { return };
    for mpi in Mpi::all() {
        for disk in [Disk::Shared, Disk::Own] {
            let name = format!("{}-{disk:?}", mpi.name);
            let run = bench.path(&name);
            let mut words: Vec<String> = vec!["run".into(), "--out".into(), name.clone()];
            words.extend(disk.options(&bench));
            words.push("--".into());
            // One look takes some seconds.
            let looks_once = mpi.name == "openmpi" && disk == Disk::Own;
            let steps = if looks_once { 60_000 } else { 15_000 };
            words.extend(halo(&bench, mpi, disk, &steps.to_string()));
            let null = || Stdio::null();
            let child = bench.talea(&words).stdout(null()).stderr(null()).spawn().unwrap();
            until(|| {
                std::thread::sleep(Duration::from_millis(20));
                (!observers(&run).is_empty()).then_some(())
            });
            let once = ["watch", &name, "--once", "--json"];
            let first = looks_once.then(|| {
                until(|| {
                    let look = bench.json(&once);
                    (look["main_loop"] != Value::Null).then_some(look)
                })
            });
            if looks_once {
                watch_until_interrupted(&bench, &name);
            }
            let looks = looks(&bench, &name, || ());
            assert!(child.wait_with_output().unwrap().status.success());
            let last = looks.last().unwrap();
            for look in first.iter().chain([last]) {
                let ranks = look["ranks"].as_array().unwrap();
                assert_eq!(ranks.len() as u32, disk.ranks(mpi) + 1, "{look}");
                for (number, rank) in (0..).zip(ranks) {
                    assert_eq!(rank["rank"], number);
                    assert_eq!(rank["host"] == "other", number > 0, "{rank}");
                    assert!(rank["iterations"].as_u64().is_some_and(|all| all > 10), "{rank}");
                }
                assert_eq!(look["gaps"], Value::Array(vec![]), "{name}");
            }
            let stats = bench.json(&["show", &name, "stats", "--json"]);
            assert_eq!((&last["running"], &last["events"]), (&false.into(), &stats["events"]));
            let ranks = last["ranks"].as_array().unwrap();
            for rank in ranks {
                assert_eq!(
                    (&rank["state"], &rank["iterations"]),
                    (&"finalized".into(), &steps.into())
                );
            }
            let calls = bench.json(&["show", &name, "calls", "--by", "path", "--json"]);
            let sum = |rows: &Value, key: &str| -> u64 {
                rows.as_array().unwrap().iter().map(|row| row[key].as_u64().unwrap()).sum()
            };
            assert_eq!(sum(&last["sites"], "time_ns"), sum(&calls, "time"), "sums are exact");
            let clusters = last["clusters"]["clusters"].as_array().unwrap();
            let all = &clusters[0]["threads"];
            assert_eq!(*all, ranks.len(), "the computation of all ranks: {clusters:?}");
            assert_eq!(fs::read_dir(run.join("live")).into_iter().flatten().count(), 0);
        }
    }
}

#[test]
fn each_host_selects_the_times_of_its_ranks() {
    let Some(bench) = bench() else { return };
    for mpi in Mpi::all() {
        for disk in [Disk::Shared, Disk::Own] {
            let command = halo(&bench, mpi, disk, "4000");
            let full = format!("{}-{disk:?}-full", mpi.name);
            bench.record(&full, &["--no-report"], &command);
            let name = format!("{}-{disk:?}", mpi.name);
            let said = smart(&bench, &name, disk, &command);
            assert!(!said.contains("warning: "), "{said}");
            for rank in 0..=disk.ranks(mpi) {
                let found = collection(&bench, &name, &rank.to_string());
                assert_eq!((&found["smart"], &found["iterations"]), (&true.into(), &4000.into()));
                let kept = kept(&found);
                assert!((10..2000).contains(&kept.len()), "rank {rank}: {}", kept.len());
            }
            assert_eq!(counts(&bench, &name), counts(&bench, &full));
            let hosts = bench.json(&["show", &name, "hosts", "--json"]);
            assert_eq!(hosts.as_array().unwrap().len(), 2, "{hosts}");
            let run = bench.path(&name);
            let left = |folder: &str| fs::read_dir(run.join(folder)).into_iter().flatten().count();
            assert_eq!((left("live"), left("live-dir")), (0, 0), "{name}");
            assert_eq!(fs::read_dir(bench.path("disk")).unwrap().count(), 0);
        }
    }
}

#[test]
fn without_an_observer_on_each_host_all_times_are_kept() {
    let Some(bench) = bench() else { return };
    for mpi in Mpi::all() {
        for disk in [Disk::Shared, Disk::Own] {
            let name = format!("{}-{disk:?}", mpi.name);
            let there = (disk, &["env", "TALEA_OBSERVER=/nowhere"][..]);
            let said = smart(&bench, &name, disk, &halo_behind(&bench, mpi, there, "500"));
            assert!(said.contains("warning: a host of the program has no observer"), "{said}");
            let stats = bench.json(&["show", &name, "stats", "--json"]);
            assert_eq!(stats["ranks"], 1 + disk.ranks(mpi), "{stats}");
            assert!(!stats["gaps"].to_string().contains("only sums"), "{stats}");
            let found = collection(&bench, &name, "1");
            assert_eq!((&found["kept"], &found["iterations"]), (&500.into(), &500.into()));
            assert_eq!(found["history"].as_array().unwrap().len(), 500);
            let hosts = bench.json(&["show", &name, "hosts", "--json"]);
            assert_eq!(hosts.as_array().unwrap().len(), 2, "{hosts}");
        }
    }
}

#[test]
fn programs_one_after_the_other_have_observers() {
    let Some(bench) = bench() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let quoted = |words: Vec<String>| {
        let words: Vec<String> =
            words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
        words.join(" ")
    };
    let halo = |steps| quoted(halo(&bench, mpi, Disk::Own, steps));
    let command = ["sh", "-c", &format!("{} && {}", halo("500"), halo("700"))].map(str::to_owned);
    let said = smart(&bench, "run", Disk::Own, &command);
    assert!(!said.contains("warning: "), "{said}");
    for (world, steps) in [("0", 500), ("1", 700)] {
        let words = ["events", "run", "--world", world, "--rank", "1", "--json-lines"];
        let events = bench.text(&words);
        let bcasts = events.lines().filter(|line| line.contains("\"MPI_Bcast\"")).count();
        assert_eq!(bcasts, 2 * steps + 1);
    }
}

/// Starts a job whose ranks on the other host may use one PU, and waits until these are observed.
/// The job and the observer's process id.
fn started(bench: &Bench, mpi: Mpi, disk: Disk, steps: &str) -> (Child, String) {
    let name = mpi.name;
    let mut words: Vec<String> =
        ["run", "--out", name, "--collect", "smart", "--no-report"].map(Into::into).into();
    words.extend(disk.options(bench));
    words.push("--".to_owned());
    words.extend(halo_behind(bench, mpi, (disk, &["taskset", "-c", "0"]), steps));
    let mut child =
        bench.talea(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let live = bench.path(name).join("live");
    let pid = || {
        let files = observers(&bench.path(name));
        let text = fs::read_to_string(live.join(files.first()?)).ok()?;
        Some(text.split_whitespace().next()?.to_owned())
    };
    let pid = loop {
        assert!(child.try_wait().unwrap().is_none(), "{}", mpi.name);
        if let Some(pid) = pid() {
            break pid;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let files = observers(&bench.path(name));
    assert!(files.len() == 1 && files[0].starts_with("other-"), "{files:?}");
    (child, pid)
}

/// Waits until kept times of all ranks were written.
fn await_kept(child: &mut Child, mpi: Mpi, live: &Path) {
    let kept = || {
        let files = fs::read_dir(live).into_iter().flatten().flatten().map(|one| one.path());
        files.filter(|path| path.extension().is_some_and(|ending| ending == "kept")).count()
    };
    while kept() < 1 + Disk::Shared.ranks(mpi) as usize {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn kill(pid: &str) {
    assert!(Command::new("kill").args(["-9", pid]).status().unwrap().success());
    while is_running(pid.parse().unwrap()) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_killed_observer_of_another_host_leaves_what_it_kept() {
    let Some(bench) = bench() else { return };
    for mpi in Mpi::all() {
        let live = bench.path(mpi.name).join("live");
        let ranks = Ranks(live.clone());
        let (mut child, pid) = started(&bench, mpi, Disk::Shared, "100000000");
        await_kept(&mut child, mpi, &live);
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
        let environment = String::from_utf8_lossy(&environment).into_owned();
        let variables = environment.split('\0').filter_map(|one| Some(one.split_once('=')?.0));
        assert!(variables.clone().all(|one| one == "PATH" || one == "LD_LIBRARY_PATH"));
        let allowed = |process: &str| {
            let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
            text.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap().to_owned()
        };
        assert_eq!(allowed(&pid), allowed("self"), "it shares no PU that ranks are bound to");
        kill(&pid);
        drop(ranks);
        assert!(!ended(child).success());
        for rank in ["0", "1"] {
            let found = collection(&bench, mpi.name, rank);
            let number = |key: &str| found[key].as_u64().unwrap();
            assert!(number("kept") > 1 && number("iterations") >= number("kept"), "{found}");
        }
        let gaps = bench.report(mpi.name)["gaps"].to_string();
        assert!(!gaps.contains("kept times"), "{gaps}");
    }
}

/// The records of the other host are on its own disk, and only a process there can copy them.
#[test]
fn records_of_a_host_whose_observer_was_killed_are_copied() {
    let Some(bench) = bench() else { return };
    for mpi in Mpi::all() {
        let (mut child, pid) = started(&bench, mpi, Disk::Own, "3000");
        kill(&pid);
        assert!(child.try_wait().unwrap().is_none(), "the job ended before");
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let stats = bench.json(&["show", mpi.name, "stats", "--json"]);
        assert_eq!(stats["ranks"], 2, "{stats}: {}", stderr(&output));
        for rank in ["0", "1"] {
            assert_eq!(collection(&bench, mpi.name, rank)["iterations"], 3000);
        }
    }
}

#[test]
fn observers_end_with_their_processes() {
    let Some(bench) = bench() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let live = bench.path(mpi.name).join("live");
    let ranks = Ranks(live.clone());
    let (mut child, pid) = started(&bench, mpi, Disk::Shared, "100000000");
    await_kept(&mut child, mpi, &live);
    // Nobody is there to wait for it.
    child.kill().unwrap();
    child.wait().unwrap();
    drop(ranks);
    let begin = Instant::now();
    while is_running(pid.parse().unwrap()) {
        assert!(begin.elapsed() < Duration::from_secs(20), "{pid}");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(observers(&bench.path(mpi.name)).is_empty());
    let found = collection(&bench, mpi.name, "1");
    assert!(found["kept"].as_u64().unwrap() > 1, "{found}");
}

/// The hosts are namespaces with a network between them, over which the ranks exchange messages.
#[test]
fn jobs_on_two_hosts_are_watched() {
    let Some(pair) = Pair::new() else { return };
    let bench = &pair.bench;
    for mpi in Mpi::all() {
        let options = ["--collect", "smart", "--no-report"];
        // All iterations are kept until the structure is steady, which takes some looks.
        let words = ["--size", "4", "--steps", "6000"];
        let looks = std::thread::scope(|scope| {
            let recorded = scope.spawn(|| pair.record(mpi, &options, &words));
            let live = bench.path(mpi.name).join("live");
            while pids(&live).len() < 2 && !recorded.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            let looks = looks(bench, mpi.name, || ());
            let said = stderr(&recorded.join().unwrap());
            assert!(!said.contains("warning: "), "{said}");
            looks
        });
        let last = looks.last().unwrap();
        let ranks = last["ranks"].as_array().unwrap();
        let hosts: Vec<&str> = ranks.iter().map(|rank| rank["host"].as_str().unwrap()).collect();
        assert_eq!(hosts, NAMES, "{last}");
        assert_eq!(last["main_loop"]["iterations"], 6000, "{last}");
        let stats = bench.json(&["show", mpi.name, "stats", "--json"]);
        assert_eq!(last["events"], stats["events"], "{stats}");
        for rank in ["0", "1"] {
            let found = collection(bench, mpi.name, rank);
            assert_eq!((&found["smart"], &found["iterations"]), (&true.into(), &6000.into()));
            let kept = kept(&found).len();
            assert!((10..3000).contains(&kept), "{kept}");
        }
    }
}

/// A process that cannot record takes part in what the others do together.
#[test]
fn a_rank_without_a_record_does_not_hold_the_others() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        for options in [&["--no-report"][..], &["--no-report", "--collect", "smart"]] {
            let name = format!("{}-{}", mpi.name, options.len());
            let program = mpi.program("halo").display().to_string();
            let halo = [&*program, "--size", "4", "--steps", "50"].map(str::to_owned);
            let mut words = mpi.launch(1);
            words.extend(halo.clone());
            words.extend([":", "-n", "1", "env", "-u", "TALEA_LIVE"].map(str::to_owned));
            words.extend(halo);
            let output = bench.record_within(60, &name, options, &words);
            let output = output.unwrap_or_else(|| panic!("{name} does not end"));
            assert!(output.status.success(), "{}", stderr(&output));
            let stats = bench.json(&["show", &name, "stats", "--json"]);
            assert!(stats["events"].as_u64().unwrap() > 200, "{stats}");
            assert!(stats["gaps"].to_string().contains("missing"), "{stats}");
        }
    }
}

//! The time that views and analyses of a large run take, from a recording of millions of calls.
//!
//! Owns the recorded program, a halo exchange of many variables on tiny blocks, which calls MPI
//! nearly all the time. Each command reads the same run, and so does a reader of parts of it; where
//! `TALEA_BEFORE` names another build, it reads the same recording in turns with ours.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use talea_model::Nanos;
use talea_run::{Recording, RunDirectory, trace};

use super::{before, built, built_before, heading, median, output, peers, prepared, scratch};

/// Steps of the program; at 614 calls a step and rank some seven million calls.
const STEPS: u32 = 3000;
/// Ranks of the program, unless said otherwise.
const RANKS: u32 = 4;
/// Counted runs of each command.
const ROUNDS: usize = 3;

/// A command by name, with the words around the run.
type Timed = (&'static str, &'static [&'static str], &'static [&'static str]);

const COMMANDS: [Timed; 12] = [
    ("show structure", &["show"], &["structure"]),
    ("show calls", &["show"], &["calls"]),
    ("show classes", &["show"], &["classes"]),
    ("show matrix", &["show"], &["matrix"]),
    ("show stats", &["show"], &["stats"]),
    ("report", &["report", "--out", "-"], &[]),
    ("metrics", &["metrics"], &[]),
    ("cluster", &["cluster"], &[]),
    ("convert to Paraver", &["convert"], &["-", "--format", "paraver"]),
    ("convert to Perfetto", &["convert"], &["-", "--format", "perfetto"]),
    ("cluster --out-prv", &["cluster"], &["--out-prv", "/dev/null"]),
    ("fold --list", &["fold"], &["--list"]),
];

/// Ranks and steps of the program whose end is timed.
const ENDS: [(u32, u32); 6] = [
    (4, STEPS / 100),
    (4, STEPS / 30),
    (4, STEPS / 10),
    (4, STEPS / 3),
    (4, STEPS),
    (64, STEPS / 100),
];

/// Commands that read what happens inside and between calls.
const OF_SAMPLES: [Timed; 6] = [
    ("fold", &["fold"], &[]),
    ("fold --out-prv", &["fold"], &["--out-prv", "/dev/null"]),
    ("convert to Paraver", &["convert"], &["-", "--format", "paraver"]),
    ("cluster", &["cluster"], &[]),
    ("metrics", &["metrics"], &[]),
    ("report", &["report", "--out", "-"], &[]),
];

/// Prints all tables.
pub(crate) fn run() -> Result<(), String> {
    ends()?;
    views()?;
    sampled()?;
    peers()
}

/// Prints the time of commands and exports.
pub(crate) fn views() -> Result<(), String> {
    in_folder(tables)
}

/// Prints the time of analyses of a run that was sampled.
pub(crate) fn sampled() -> Result<(), String> {
    in_folder(|folder| {
        let ours = built("talea")?;
        let theirs = before().map(|_| built_before("talea")).transpose()?;
        let [run, earlier] = ["run", "before"].map(|name| folder.join(name));
        heading("Analyses of millions of calls with samples, 4 ranks, Open MPI");
        let how = ["--sample", "100Hz", "--no-report"];
        record(&ours, &run, RANKS, STEPS, &how)?;
        // The first reader does the work that the command left.
        timed(&ours, &["show"], &run, &["structure"])?;
        println!("{} events.\n", events(&ours, &run)?);
        if let Some(theirs) = &theirs {
            record(theirs, &earlier, RANKS, STEPS, &how)?;
            timed(theirs, &["show"], &earlier, &["structure"])?;
        }
        let before = theirs.as_deref().map(|theirs| (theirs, earlier.as_path()));
        compare(before, (&ours, &run), &OF_SAMPLES)
    })
}

/// Prints the time that `talea run` takes after the end of programs, by number of calls.
pub(crate) fn ends() -> Result<(), String> {
    in_folder(|folder| print_ends(&built("talea")?, folder))
}

/// Prints the comparison with programs that read exports.
pub(crate) fn peers() -> Result<(), String> {
    in_folder(|folder| {
        let (talea, run) = (built("talea")?, folder.join("run"));
        record(&talea, &run, RANKS, STEPS / 10, &[])?;
        peers::compare(&talea, &run)
    })
}

fn in_folder(print: impl Fn(&Path) -> Result<(), String>) -> Result<(), String> {
    let folder = scratch("scale")?;
    let done = print(&folder);
    let _ = std::fs::remove_dir_all(&folder);
    done
}

fn tables(folder: &Path) -> Result<(), String> {
    let ours = built("talea")?;
    let theirs = before().map(|_| built_before("talea")).transpose()?;
    let run = folder.join("run");
    heading("Views of millions of calls, 4 ranks, Open MPI");
    let (program, whole) = record(&ours, &run, RANKS, STEPS, &[])?;
    // The first reader does the work that the command left.
    let (reading, memory) = timed(&ours, &["show"], &run, &["structure"])?;
    let events = events(&ours, &run)?;
    let size = |name: &str| std::fs::metadata(run.join(name)).map_or(0, |file| file.len());
    println!(
        "{events} events in {} bytes, sums of them in {} bytes. The program took {program:.1} s, `talea run` {whole:.1} s, the first view {reading:.1} s ({memory} MB).\n",
        size("trace.talea"),
        size("summary.talea")
    );
    // Each build reads what it recorded: an earlier one may not read our form.
    let earlier = folder.join("before");
    if let Some(theirs) = &theirs {
        let (program, whole) = record(theirs, &earlier, RANKS, STEPS, &[])?;
        println!("Before: the program took {program:.1} s, `talea run` {whole:.1} s.\n");
    }
    let before = theirs.as_deref().map(|theirs| (theirs, earlier.as_path()));
    compare(before, (&ours, &run), &COMMANDS)?;
    let mut first: Vec<f64> = Vec::new();
    for _ in 0..ROUNDS {
        let _ = std::fs::remove_file(run.join("summary.talea"));
        first.push(timed(&ours, &["show"], &run, &["structure"])?.0);
    }
    println!("| `show structure`, without sums | | {:.2} | |", median(&mut first));
    pipes(&ours, &run)?;
    parts(&run)
}

/// Prints the rate at which exports come out of a pipe, on one core and on all.
fn pipes(talea: &Path, run: &Path) -> Result<(), String> {
    println!("\nExports through a pipe; rates of whole commands, median of {ROUNDS} runs.\n");
    println!("| form | MB | one core, MB/s | all cores, MB/s |\n|---|---|---|---|");
    for form in ["paraver", "perfetto", "chrome"] {
        let mut rates = Vec::new();
        let mut size = 0;
        for threads in ["1", "0"] {
            let mut seconds = Vec::new();
            for _ in 0..ROUNDS {
                let mut command = Command::new(talea);
                command.env("RAYON_NUM_THREADS", threads).arg("convert").arg(run);
                let found = measured(command.args(["-", "--format", form]))?;
                seconds.push(found.seconds);
                size = found.bytes;
            }
            rates.push(size as f64 / median(&mut seconds) / 1e6);
        }
        println!("| {form} | {} | {:.0} | {:.0} |", size / 1_000_000, rates[0], rates[1]);
    }
    Ok(())
}

/// Prints a table of commands of one or two builds, each with its run.
fn compare(
    theirs: Option<(&Path, &Path)>,
    (ours, run): (&Path, &Path),
    commands: &[Timed],
) -> Result<(), String> {
    println!("Median of {ROUNDS} runs; in brackets the peak of memory in MB.\n");
    println!("| command | before, s | now, s | before / now |\n|---|---|---|---|");
    for (name, first, last) in commands {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        let (mut old_memory, mut new_memory) = (0, 0);
        for _ in 0..ROUNDS {
            if let Some((theirs, earlier)) = theirs {
                let (seconds, memory) = timed(theirs, first, earlier, last)?;
                old.push(seconds);
                old_memory = old_memory.max(memory);
            }
            let (seconds, memory) = timed(ours, first, run, last)?;
            new.push(seconds);
            new_memory = new_memory.max(memory);
        }
        let (old, new) = (median(&mut old), median(&mut new));
        let known = theirs.is_some();
        let before = if known { format!("{old:.2} ({old_memory})") } else { String::new() };
        let ratio = if known { format!("{:.1}", old / new) } else { String::new() };
        println!("| `{name}` | {before} | {new:.2} ({new_memory}) | {ratio} |");
    }
    Ok(())
}

/// Time of reading all events, and those of a hundredth of the run at several places, on one core
/// from a recording in memory.
fn parts(run: &Path) -> Result<(), String> {
    let directory = RunDirectory::open(run).map_err(|e| e.to_string())?;
    let recording = trace::load(&directory).map_err(|e| e.to_string())?;
    let (mut whole, mut end, mut all) = (Vec::new(), Nanos(0), 0);
    for _ in 0..ROUNDS {
        let (seconds, events, last) = read(&recording, Nanos(0), Nanos(u64::MAX));
        whole.push(seconds);
        (end, all) = (last, events);
    }
    let whole = median(&mut whole);
    println!(
        "\nEvents of a hundredth of the run's time, of all ranks, read with times and arguments on one core.\n"
    );
    println!("| from, % of the run | events | ms | % of the time of all |\n|---|---|---|---|");
    println!(
        "| all | {all} | {:.0} ({:.1} million a second) | 100 |",
        whole * 1e3,
        all as f64 / whole / 1e6
    );
    let hundredth = end.0 / 100;
    for percent in [5, 20, 35, 50, 65, 80, 95] {
        let from = Nanos(hundredth * percent);
        let part = || read(&recording, from, Nanos(from.0 + hundredth));
        let mut seconds: Vec<f64> = (0..ROUNDS).map(|_| part().0).collect();
        let (seconds, events) = (median(&mut seconds), part().1);
        println!(
            "| {percent} | {events} | {:.1} | {:.1} |",
            seconds * 1e3,
            seconds / whole * 100.0
        );
    }
    Ok(())
}

/// Seconds that events between two times take, their number, and the begin of the last one.
fn read(recording: &Recording, from: Nanos, to: Nanos) -> (f64, u64, Nanos) {
    let begin = Instant::now();
    let (mut count, mut last) = (0, Nanos(0));
    for process in &recording.processes {
        for thread in &process.threads {
            let mut events = process.events(recording, thread);
            events.skip_to(from);
            while let Some(event) = events.next_event() {
                let (Some(begin), Some(duration)) = (event.begin, event.duration) else { break };
                if begin > to {
                    break;
                }
                if begin + duration >= from {
                    std::hint::black_box(event.args);
                    count += 1;
                    last = last.max(begin);
                }
            }
        }
    }
    (begin.elapsed().as_secs_f64(), count, last)
}

fn print_ends(talea: &Path, folder: &Path) -> Result<(), String> {
    heading("`talea run` after the program's end, Open MPI");
    println!(
        "Medians of {ROUNDS} runs. *May take*: a second and a twentieth of the program's time. *First view*: `talea show RUN structure` afterwards.\n"
    );
    println!(
        "| ranks | events | program, s | afterwards, s | may take, s | report | first view, s |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (ranks, steps) in ENDS {
        let (mut programs, mut after, mut views) = (Vec::new(), Vec::new(), Vec::new());
        let (mut count, mut report) = (0, "");
        for _ in 0..ROUNDS {
            let run = folder.join("end");
            let (program, whole) = record(talea, &run, ranks, steps, &[])?;
            programs.push(program);
            after.push(whole - program);
            report = if run.join("report.html").exists() { "made" } else { "left" };
            views.push(timed(talea, &["show"], &run, &["structure"])?.0);
            count = events(talea, &run)?;
            std::fs::remove_dir_all(&run).map_err(|e| e.to_string())?;
        }
        let (program, after) = (median(&mut programs), median(&mut after));
        println!(
            "| {ranks} | {count} | {program:.2} | {after:.2} | {:.2} | {report} | {:.2} |",
            1.0 + program / 20.0,
            median(&mut views)
        );
    }
    Ok(())
}

/// Records the program; seconds of the program, and of the whole command.
fn record(
    talea: &Path,
    run: &Path,
    ranks: u32,
    steps: u32,
    how: &[&str],
) -> Result<(f64, f64), String> {
    let mut command = Command::new(talea);
    prepared(&mut command).arg("run").args(how).arg("--out").arg(run);
    command.args(["--", "mpirun.openmpi", "-n", &ranks.to_string()]);
    command.args(["apps/bin/openmpi/halo", "--size", "2"]);
    command.args(["--vars", "40", "--periodic", "--steps", &steps.to_string()]);
    let begin = Instant::now();
    output(&mut command)?;
    let whole = begin.elapsed().as_secs_f64();
    let text = std::fs::read_to_string(run.join("run.json")).map_err(|e| e.to_string())?;
    let known: serde_json::Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    Ok((known["wall_seconds"].as_f64().unwrap_or(f64::NAN), whole))
}

fn events(talea: &Path, run: &Path) -> Result<u64, String> {
    let text = output(Command::new(talea).arg("show").arg(run).args(["stats", "--json"]))?;
    let known: serde_json::Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    known["events"].as_u64().ok_or_else(|| "no number of events in `show stats`".to_owned())
}

/// Seconds and peak memory in MB of one command.
pub(super) fn timed(
    talea: &Path,
    first: &[&str],
    run: &Path,
    last: &[&str],
) -> Result<(f64, u64), String> {
    let mut command = Command::new(talea);
    // The view stands behind the run, options of a report before it.
    command.args(&first[..1]).arg(run).args(&first[1..]).args(last);
    let found = measured(&mut command)?;
    Ok((found.seconds, found.memory))
}

/// A command that has ended.
pub(super) struct Measured {
    pub(super) seconds: f64,
    /// Peak of memory in MB.
    pub(super) memory: u64,
    /// Bytes on standard output.
    bytes: u64,
}

/// Measures a command, and reads its output.
pub(super) fn measured(command: &mut Command) -> Result<Measured, String> {
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let begin = Instant::now();
    let mut child = command.spawn().map_err(|e| format!("{e}: {command:?}"))?;
    let out = child.stdout.take().ok_or("no standard output")?;
    let reader = std::thread::spawn(move || std::io::copy(&mut { out }, &mut std::io::sink()));
    let mut memory = 0;
    let status = loop {
        memory = memory.max(peak(child.id()));
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let seconds = begin.elapsed().as_secs_f64();
    let bytes = reader.join().ok().and_then(Result::ok).unwrap_or_default();
    if status.success() {
        Ok(Measured { seconds, memory, bytes })
    } else {
        Err(format!("{status}: {command:?}"))
    }
}

/// Peak memory of a process in MB; 0 where it has ended already.
fn peak(process: u32) -> u64 {
    let mut text = String::new();
    let read = File::open(format!("/proc/{process}/status"))
        .and_then(|mut file| file.read_to_string(&mut text));
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).filter(|_| read.is_ok());
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1000
}

//! Smart collection of ever longer runs: what grows with the number of iterations, and what does
//! not.
//!
//! Owns the table. Disk space of the records and private memory of the ranks are measured from
//! outside while the program runs. The size of a Paraver trace of the same calls follows from that
//! of the shortest run.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use talea_run::live::LiveProcess;
use talea_run::mapped::{live_records, read_live};

use super::{Program, json, number, record, run_time, talea, timed_calls, trace_bytes};
use crate::bench::{heading, output};

/// Steps of the runs; the last makes 100 million calls on each rank.
const STEPS: [u64; 4] = [10_000, 100_000, 500_000, 1_030_000];
/// Parts of the run time at which disk space and memory are shown.
const PARTS: [f64; 3] = [0.1, 0.5, 1.0];
/// Time between two measurements.
const EVERY: Duration = Duration::from_millis(50);

/// Resources of a run at a moment.
struct Moment {
    seconds: f64,
    /// Kilobytes of both ranks on the disk.
    disk: f64,
    /// Megabytes of private memory of one rank.
    memory: f64,
}

/// Prints the table.
pub(super) fn long(folder: &Path) -> Result<(), String> {
    heading("Smart collection of long runs, halo on 2 ranks, Open MPI");
    println!(
        "*On disk*: records and kept times of both ranks at 10, 50 and 100 % of the run. *Memory*: private memory of the rank with more, at the same times. *Groups*: of the durations of iterations. *.prv*: size of a Paraver trace of all calls; of the shortest run as written, of the others by the number of calls.\n"
    );
    println!(
        "| steps | calls of rank 0 | with times | run time, s | on disk, kB | memory, MB | trace, kB | groups | .prv, MB | trace of .prv, % |\n|---|---|---|---|---|---|---|---|---|---|"
    );
    let mut bytes_per_call = None;
    for steps in STEPS {
        let program = program(steps)?;
        let out = folder.join("long");
        if bytes_per_call.is_none() {
            bytes_per_call = Some(paraver(&out, &program)?);
        }
        let moments = watched(&out, &program)?;
        let last = moments.last().map_or(f64::NAN, |last| last.seconds);
        let at = |of: fn(&Moment) -> f64, digits: usize| {
            let texts = PARTS.map(|part| {
                let then = moments.iter().find(|one| one.seconds >= part * last);
                format!("{:.digits$}", then.map_or(f64::NAN, of))
            });
            texts.join(", ")
        };
        let trace = trace_bytes(&out)? as f64;
        let calls = timed_calls(&out)?;
        let run = out.display().to_string();
        let found = json(&["show", &run, "collection", "--rank", "0", "--json"])?;
        let prv = bytes_per_call.unwrap_or(f64::NAN) * 2.0 * calls[0];
        println!(
            "| {steps} | {:.0} | {:.0} | {:.1} | {} | {} | {:.0} | {} | {:.0} | {:.4} |",
            calls[0],
            calls[1],
            run_time(&out)?,
            at(|one| one.disk, 0),
            at(|one| one.memory, 1),
            trace / 1e3,
            found["history"].as_array().map_or(0, Vec::len),
            prv / 1e6,
            100.0 * trace / prv
        );
    }
    Ok(())
}

fn program(steps: u64) -> Result<Program, String> {
    let halo = std::path::absolute("apps/bin/openmpi/halo").map_err(|e| e.to_string())?;
    let steps = steps.to_string();
    let words = [&*halo.display().to_string(), "--size", "4", "--steps", &steps];
    Ok(Program { name: "halo", words: words.map(str::to_owned).to_vec(), ranks: "2" })
}

/// Bytes of a Paraver trace for each call of a full recording.
fn paraver(out: &Path, program: &Program) -> Result<f64, String> {
    output(&mut record(out, program, "full")?)?;
    let (run, prv) = (out.display().to_string(), out.join("run.prv"));
    output(talea(&["convert", &run])?.arg(&prv))?;
    let bytes = std::fs::metadata(&prv).map_err(|e| e.to_string())?.len();
    let stats = json(&["show", &run, "stats", "--json"])?;
    Ok(bytes as f64 / number(&stats, "events"))
}

/// Records a program with smart collection; what it took at each moment.
fn watched(out: &Path, program: &Program) -> Result<Vec<Moment>, String> {
    let mut command = record(out, program, "smart")?;
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(|e| e.to_string())?;
    let (begin, live) = (Instant::now(), out.join("live"));
    let (mut moments, mut ranks) = (Vec::new(), Vec::new());
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            break status;
        }
        if ranks.len() < 2 {
            ranks = processes(&live);
        }
        let memory = ranks.iter().filter_map(|&rank| private_memory(rank)).fold(0.0, f64::max);
        let disk = disk(&live);
        if memory > 0.0 && disk > 0.0 {
            moments.push(Moment { seconds: begin.elapsed().as_secs_f64(), disk, memory });
        }
        std::thread::sleep(EVERY);
    };
    if status.success() { Ok(moments) } else { Err(format!("{status}: {command:?}")) }
}

/// Kilobytes of a folder's files on the disk.
fn disk(folder: &Path) -> f64 {
    use std::os::unix::fs::MetadataExt;
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let blocks = files.filter_map(|file| Some(file.metadata().ok()?.blocks()));
    blocks.sum::<u64>() as f64 * 512.0 / 1e3
}

/// Process ids of the records in a folder.
fn processes(live: &Path) -> Vec<u32> {
    let files = std::fs::read_dir(live).into_iter().flatten().flatten();
    let records = files.flat_map(|file| live_records(&file.path()).unwrap_or_default());
    let read = records.filter(|record| record.has_head).filter_map(|one| read_live(&one).ok());
    read.filter_map(|bytes| Some(LiveProcess::read(&bytes).ok()?.header.pid)).collect()
}

/// Megabytes of memory that a process has for itself.
fn private_memory(process: u32) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0 / 1e6)
}

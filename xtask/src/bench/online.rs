//! Decisions while a program runs: the size and cost of smart collection, also of long runs, the
//! errors of totals that follow from kept iterations, the cost of watching, and clusters of a
//! running program beside those of the finished run. `cargo xtask bench online [PART]`.
//!
//! Owns the tables. Errors come from whole recordings, where the true times are known. They
//! therefore contain no differences between runs.

mod long;
mod looks;

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::programs::{Program, prepare, programs};
use super::{built, heading, median, output, prepared, scratch, spread};

/// Seeds of the choice for each rank.
const SEEDS: u32 = 50;
/// Minimum share of a call site that is counted.
const COUNTS: f64 = 0.01;
/// Pairs of runs, without and with somebody who watches.
const PAIRS: usize = 7;
/// Pairs of whole recordings and smart ones.
const SMART_PAIRS: usize = 5;
/// Steps of the short and of the long run of the halo program.
const STEPS: [&str; 2] = ["10000", "100000"];

pub(crate) fn run(part: Option<&str>) -> Result<(), String> {
    let folder = scratch("online")?;
    for (name, table) in [
        ("smart", smart as fn(&Path) -> _),
        ("long", long::long),
        ("totals", totals),
        ("watch", watching),
        ("looks", looks::looks),
        ("clusters", clusters),
    ] {
        if part.is_none_or(|part| part == name) {
            table(&folder)?;
        }
    }
    Ok(())
}

fn talea(words: &[&str]) -> Result<Command, String> {
    let mut command = Command::new(built("talea")?);
    prepared(&mut command).env("TALEA_MPI_LIBRARY", built("libtalea_mpi.so")?).args(words);
    Ok(command)
}

fn record(out: &Path, program: &Program, collect: &str) -> Result<Command, String> {
    let _ = std::fs::remove_dir_all(out);
    let mut command = talea(&["run", "--no-report", "--collect", collect, "--out"])?;
    command.arg(out).args(["--", "mpirun.openmpi", "-n", program.ranks]).args(&program.words);
    Ok(command)
}

fn json(words: &[&str]) -> Result<Value, String> {
    serde_json::from_str(&output(&mut talea(words)?)?).map_err(|e| e.to_string())
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or(f64::NAN)
}

/// Bytes of a run's trace, after it is packed.
fn trace_bytes(out: &Path) -> Result<u64, String> {
    // A view packs what `talea run` left.
    output(&mut talea(&["show", &out.display().to_string(), "stats"])?)?;
    let files = std::fs::read_dir(out).map_err(|e| e.to_string())?.flatten();
    let traces = files.filter(|one| one.path().extension().is_some_and(|e| e == "talea"));
    let traces = traces.filter(|one| one.file_name().to_string_lossy().starts_with("trace"));
    Ok(traces.filter_map(|one| one.metadata().ok()).map(|about| about.len()).sum())
}

fn smart(folder: &Path) -> Result<(), String> {
    heading("Smart collection, Open MPI");
    println!(
        "Run time with `--collect smart` to that with `--collect full`, pairs in turn (one of the long run); median (smallest to largest). *With times*: calls of rank 0 that have times. *Trace*: its size when packed.\n"
    );
    println!(
        "| program | ranks | full, s | ratio | calls of rank 0 | with times | trace, full, kB | trace, smart, kB |\n|---|---|---|---|---|---|---|---|"
    );
    let mut all = programs(&folder.join("programs"))?;
    let halo = std::path::absolute("apps/bin/openmpi/halo").map_err(|e| e.to_string())?;
    for (name, steps) in ["halo, 10^4 steps", "halo, 10^5 steps"].into_iter().zip(STEPS) {
        let words = [&*halo.display().to_string(), "--size", "4", "--steps", steps];
        all.push(Program { name, words: words.map(str::to_owned).to_vec(), ranks: "2" });
    }
    for program in all {
        let is_long = program.words.iter().any(|word| word == STEPS[1]);
        let (mut times, mut ratios, mut bytes, mut calls) = (vec![], vec![], [0; 2], [0.0; 2]);
        for pair in 0..if is_long { 1 } else { SMART_PAIRS } {
            let mut seconds = [0.0; 2];
            for which in if pair % 2 == 0 { [0, 1] } else { [1, 0] } {
                let out = folder.join("smart");
                let how = ["full", "smart"][which];
                seconds[which] = timed(&out, &program, how, false, &mut Vec::new())?;
                if pair == 0 {
                    bytes[which] = trace_bytes(&out)?;
                }
                if pair == 0 && which == 1 {
                    calls = timed_calls(&out)?;
                }
            }
            times.push(seconds[0]);
            ratios.push(seconds[1] / seconds[0]);
        }
        println!(
            "| {} | {} | {} | {} | {:.0} | {:.0} | {} | {} |",
            program.name,
            program.ranks,
            spread(&mut times, 2),
            spread(&mut ratios, 3),
            calls[0],
            calls[1],
            bytes[0] / 1000,
            bytes[1] / 1000
        );
    }
    Ok(())
}

/// Numbers of calls of rank 0, and of those with times, by the gap that views show.
fn timed_calls(out: &Path) -> Result<[f64; 2], String> {
    let text = output(&mut talea(&["show", &out.display().to_string(), "stats"])?)?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let gap = text.split_once("rank 0: times of ").map(|gap| gap.1);
    let numbers: Vec<f64> = gap
        .unwrap_or_default()
        .split(" of ")
        .filter_map(|one| one.split(' ').next()?.parse().ok())
        .collect();
    match numbers[..] {
        [timed, calls, ..] => Ok([calls, timed]),
        _ => Ok([f64::NAN; 2]),
    }
}

/// Errors of the estimates of one program.
#[derive(Default)]
struct Cases {
    inside: usize,
    errors: Vec<f64>,
}

fn totals(folder: &Path) -> Result<(), String> {
    heading("Totals that follow from kept iterations, 4 ranks, Open MPI");
    println!(
        "At most ten iterations of a kind are kept. A case is a call site with at least {} % of the iterations' time, of one rank, with one of {SEEDS} seeds. *Error*: of the estimated total.\n",
        COUNTS * 100.0
    );
    println!(
        "| program | iterations | kinds | kept | calls of kept ones, % | cases | in their 95 % interval, % | median error, % | 95 % of errors below, % |\n|---|---|---|---|---|---|---|---|---|"
    );
    let mut pooled = Cases::default();
    for program in programs(&folder.join("programs"))? {
        let out = folder.join(program.name);
        output(&mut record(&out, &program, "full")?)?;
        let run = out.display().to_string();
        let mut cases = Cases::default();
        let mut shown = String::new();
        for rank in 0..program.ranks.parse::<u32>().map_err(|e| e.to_string())? {
            for seed in 1..=SEEDS {
                let (rank, seed) = (rank.to_string(), seed.to_string());
                let words =
                    ["show", &run, "collection", "--json", "--rank", &rank, "--seed", &seed];
                let found = json(&words)?;
                add(&mut cases, &found);
                if shown.is_empty() {
                    shown = format!(
                        "{} | {} | {} | {:.2}",
                        found["iterations"],
                        found["phases"].as_array().map_or(0, Vec::len),
                        found["kept"],
                        100.0 * number(&found, "kept_events") / number(&found, "events")
                    );
                }
            }
        }
        row(program.name, &shown, &mut cases);
        pooled.inside += cases.inside;
        pooled.errors.append(&mut cases.errors);
    }
    row("all", "- | - | - | -", &mut pooled);
    Ok(())
}

/// Adds the call sites of one output of `talea show RUN collection`.
fn add(cases: &mut Cases, found: &Value) {
    let phases = found["phases"].as_array().into_iter().flatten();
    let time: f64 = phases.map(|phase| number(phase, "time_ns")).sum();
    for total in found["totals"].as_array().into_iter().flatten() {
        let (truth, low, high) =
            (number(total, "time_ns"), number(total, "low_ns"), number(total, "high_ns"));
        // Without an estimate, or with all iterations, there is no interval.
        if truth >= COUNTS * time && high > low {
            cases.inside += usize::from((low..=high).contains(&truth));
            cases.errors.push((number(total, "estimate_ns") / truth - 1.0).abs());
        }
    }
}

fn row(name: &str, shown: &str, cases: &mut Cases) {
    let all = cases.errors.len();
    if all == 0 {
        println!("| {name} | {shown} | 0 | - | - | - |");
        return;
    }
    let inside = 100.0 * cases.inside as f64 / all as f64;
    let middle = median(&mut cases.errors);
    let most = cases.errors[(all - 1) * 19 / 20];
    println!(
        "| {name} | {shown} | {all} | {inside:.1} | {:.2} | {:.1} |",
        100.0 * middle,
        100.0 * most
    );
}

fn watching(folder: &Path) -> Result<(), String> {
    heading("Watching, 2 ranks, Open MPI");
    println!(
        "Ratio of the run time with recording and watching (`talea watch --json`, a look a second) to the run time with recording only, {PAIRS} pairs in turn; median (smallest to largest). *A look*: median, and the longest but for the first one, which also reads names.\n"
    );
    println!(
        "| program | run time, s | ratio | looks | events a look | a look, ms | longest, ms |\n|---|---|---|---|---|---|---|"
    );
    let mut all = Vec::new();
    let halo = std::path::absolute("apps/bin/openmpi/halo").map_err(|e| e.to_string())?;
    let words = |steps: &str, size: &str| {
        [&*halo.display().to_string(), "--size", size, "--steps", steps].map(str::to_owned).to_vec()
    };
    all.push(Program { name: "halo", words: words("3000", "24"), ranks: "2" });
    all.push(Program { name: "halo, many calls", words: words("60000", "4"), ranks: "2" });
    if super::found("lmp") {
        let words = prepare("lammps", &folder.join("programs/lammps"), &[])?;
        all.push(Program { name: "lammps", words, ranks: "2" });
    }
    for program in all {
        let (mut times, mut ratios) = (Vec::new(), Vec::new());
        let mut looks: Vec<[f64; 2]> = Vec::new();
        for pair in 0..PAIRS {
            // The order alternates, so that neither is always first.
            let mut seconds = [0.0; 2];
            for watched in if pair % 2 == 0 { [0, 1] } else { [1, 0] } {
                let out = folder.join("watched");
                seconds[watched] = timed(&out, &program, "full", watched == 1, &mut looks)?;
            }
            times.push(seconds[0]);
            ratios.push(seconds[1] / seconds[0]);
        }
        let mut took: Vec<f64> = looks.iter().map(|look| look[0]).collect();
        let mut events: Vec<f64> = looks.iter().map(|look| look[1]).collect();
        let middle = median(&mut took);
        println!(
            "| {} | {} | {} | {} | {:.0} | {middle:.1} | {:.1} |",
            program.name,
            spread(&mut times, 2),
            spread(&mut ratios, 3),
            took.len(),
            median(&mut events),
            took.last().copied().unwrap_or(f64::NAN)
        );
    }
    Ok(())
}

/// Largest clusters that are compared.
const LARGEST: usize = 3;

fn clusters(folder: &Path) -> Result<(), String> {
    heading("Clusters of running programs, Open MPI");
    println!(
        "Clusters of the last look (`talea watch --json`) beside those of the finished run (`talea cluster`). *Largest*: shares of the time of all bursts but the shortest, of the {LARGEST} largest clusters. *By calls*: whether the calls at both ends of bursts separate clusters. A look lists at most 32 clusters. *Stable*: part of the run after which the clusters of the last look were stable.\n"
    );
    println!(
        "| program | ranks | bursts | by calls, look | by calls, run | clusters, look | clusters, run | largest, look, % | largest, run, % | stable after, % |\n|---|---|---|---|---|---|---|---|---|---|"
    );
    for program in programs(&folder.join("programs"))? {
        let out = folder.join("clustered");
        let mut child = record(&out, &program, "full")?
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| e.to_string())?;
        let lines = watched(&out, &mut child)?;
        child.wait().map_err(|e| e.to_string())?;
        let last = lines.last().ok_or("no look")?;
        let live = &last["clusters"];
        let run = out.display().to_string();
        let whole = json(&["cluster", &run, "--json"])?;
        let long = 1.0 - number(live, "short_share");
        let [live_shares, whole_shares] =
            [(live, "share", long), (&whole, "time_share", 1.0)].map(|(of, key, all)| {
                let shares = of["clusters"].as_array().into_iter().flatten();
                let mut shares: Vec<f64> =
                    shares.map(|one| 100.0 * number(one, key) / all).collect();
                shares.sort_by(|a, b| b.total_cmp(a));
                shares
            });
        let largest = |shares: &[f64]| {
            let texts: Vec<String> =
                shares.iter().take(LARGEST).map(|share| format!("{share:.1}")).collect();
            texts.join(", ")
        };
        let stable = number(live, "stable_since_ns") / number(last, "time_ns");
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            program.name,
            program.ranks,
            live["bursts"],
            yes(live["by_calls"] == true),
            yes(!whole["edges"].is_null()),
            live_shares.len(),
            whole_shares.len(),
            largest(&live_shares),
            largest(&whole_shares),
            if stable.is_nan() { "-".to_owned() } else { format!("{:.0}", 100.0 * stable) }
        );
    }
    Ok(())
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

/// All looks at a run that has just been started.
fn watched(out: &Path, child: &mut Child) -> Result<Vec<Value>, String> {
    while !out.join("run.json").exists() && child.try_wait().is_ok_and(|done| done.is_none()) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let run = out.display().to_string();
    let lines = output(&mut talea(&["watch", &run, "--json"])?)?;
    lines.lines().map(|line| serde_json::from_str(line).map_err(|e| e.to_string())).collect()
}

/// Run time of a recorded program in seconds; adds what looks took in milliseconds, with their
/// numbers of events.
fn timed(
    out: &Path,
    program: &Program,
    collect: &str,
    is_watched: bool,
    looks: &mut Vec<[f64; 2]>,
) -> Result<f64, String> {
    let mut child = record(out, program, collect)?
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    if is_watched {
        for look in watched(out, &mut child)?.iter().skip(1) {
            looks.push([number(look, "took_ns") / 1e6, number(look, "new_events")]);
        }
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    if !status.success() {
        return Err(format!("{}: {status}", program.name));
    }
    run_time(out)
}

/// Seconds of the recorded program.
fn run_time(out: &Path) -> Result<f64, String> {
    let text = std::fs::read_to_string(out.join("run.json")).map_err(|e| e.to_string())?;
    let metadata = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    Ok(number(&metadata, "wall_seconds"))
}

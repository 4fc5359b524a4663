//! Prints what clustering costs, ours beside the Python packages `dbscan` and scikit-learn, in one
//! run on the same made data.
//!
//!     cargo run --release -p talea-cluster --example cluster_bench [-- POINTS DIMENSIONS|hard]
//!
//! References run in Python: that of `TALEA_PYTHON`, of `target/python`, or `python3`; what is not
//! there is `-`.
#![allow(clippy::print_stdout, reason = "a command-line program")]

use std::path::PathBuf;
use std::process::Command;

use rustix::time::{ClockId, clock_gettime};
use talea_cluster::workload::Measured;
use talea_cluster::{Dbscan, Points, workload};

const SEED: u64 = 7;
/// scikit-learn keeps the neighbours of every point: beyond this it needs more memory than machines
/// have.
const MOST_FOR_SCIKIT: usize = 20_000;

struct Case {
    points: usize,
    dimensions: usize,
    how: Dbscan,
}

fn python() -> String {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../target/python/bin/python3");
    let built = || std::fs::exists(built).unwrap_or(false).then(|| built.to_owned());
    std::env::var("TALEA_PYTHON").ok().or_else(built).unwrap_or_else(|| "python3".into())
}

/// CPU and wall seconds, clusters and noise, of a reference on one CPU.
fn reference(which: &str, case: &Case, file: &std::path::Path, rounds: usize) -> Option<[f64; 4]> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference.py");
    let numbers = [case.dimensions.to_string(), case.how.eps.to_string()];
    let output = Command::new("taskset")
        .args(["-c", "0", &python(), script, which])
        .arg(file)
        .args(numbers)
        .args([case.how.min_points.to_string(), rounds.to_string()])
        .env("OMP_NUM_THREADS", "1")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    figures.try_into().ok()
}

/// Seconds of a clock: those of the CPU are of the whole process, as references measure theirs, and
/// exact however short.
fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The fastest round on some threads by a clock.
fn ours(
    points: &Points,
    how: &Dbscan,
    threads: usize,
    rounds: usize,
    clock: ClockId,
) -> Option<Measured> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()?;
    pool.install(|| workload::measure(points, how, rounds, || seconds(clock))).ok()
}

/// Lets the kernel count the most memory anew (proc(5), `clear_refs`), so that a row has its own.
fn forget_peak() -> bool {
    std::fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// Most memory of this process since [`forget_peak`], in MiB; nothing where `/proc` does not say.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

fn row(case: &Case, file: &std::path::Path) {
    let rounds = if case.points > 2_000_000 { 3 } else { 9 };
    let own_peak = forget_peak();
    let (points, _) = workload::blobs(case.points, case.dimensions, SEED);
    let by = |threads, clock| ours(&points, &case.how, threads, rounds, clock);
    let Some(Measured { time: one, clusters, noise }) = by(1, ClockId::ProcessCPUTime) else {
        return;
    };
    let wall = |threads| by(threads, ClockId::Monotonic).map_or(f64::NAN, |measured| measured.time);
    let (alone, two) = (wall(1), wall(2));
    let memory = peak().filter(|_| own_peak).map_or_else(|| "-".into(), |mib| mib.to_string());
    let bytes: Vec<u8> = points.rows().iter().flat_map(|value| value.to_ne_bytes()).collect();
    let written = std::fs::write(file, bytes).is_ok();
    drop(points);
    let beside = |which: &str, most: usize| {
        let figures = (written && case.points <= most).then(|| reference(which, case, file, 3));
        figures.flatten().map_or_else(
            || "- |".to_owned(),
            |[cpu, _, its_clusters, its_noise]| {
                let same = its_clusters as usize == clusters && its_noise as usize == noise;
                let same = if same { "" } else { ", other clusters" };
                format!("{:.1}x | {cpu:.4}{same}", cpu / one)
            },
        )
    };
    println!(
        "| {} | {} | {} | {} | {one:.4} | {two:.4} ({:.2}x) | {memory} | {clusters}, {noise} |",
        case.points,
        case.dimensions,
        beside("dbscan", 10_000_000),
        beside("scikit-learn", MOST_FOR_SCIKIT),
        alone / two,
    );
}

/// What there is little to prune in.
fn hard() {
    println!("| points | dims | data | CPU s | clusters, noise |\n|---|---|---|---|---|");
    let show = |what: &str, points: &Points, how: Dbscan| {
        if let Some(Measured { time, clusters, noise }) =
            ours(points, &how, 1, 3, ClockId::ProcessCPUTime)
        {
            let (n, dims) = (points.len(), points.dimensions());
            println!("| {n} | {dims} | {what} | {time:.4} | {clusters}, {noise} |");
        }
    };
    for (n, dims, eps) in [
        (1_000_000, 2, 0.001),
        (1_000_000, 2, 0.002),
        (1_000_000, 3, 0.01),
        (200_000, 4, 0.04),
        (50_000, 8, 0.2),
    ] {
        show(
            &format!("uniform, eps {eps}"),
            &workload::uniform(n, dims, SEED),
            Dbscan { eps, min_points: 10 },
        );
    }
    for (n, dims, eps) in [(100_000, 8, 0.03), (50_000, 16, 0.05), (20_000, 32, 0.08)] {
        show(
            &format!("kinds, eps {eps}"),
            &workload::blobs(n, dims, SEED).0,
            Dbscan { eps, min_points: 10 },
        );
    }
    // Dense cells whose edges face each other across the radius.
    let strips = workload::uniform(1_000_000, 2, SEED)
        .rows()
        .chunks_exact(2)
        .flat_map(|row| [(row[0] * 100.0).floor() / 50.0 + row[0] * 0.0095, row[1]])
        .collect();
    if let Ok(strips) = Points::new(2, strips) {
        show("strips, eps .0105", &strips, Dbscan { eps: 0.0105, min_points: 10 });
    }
    if let Ok(equal) = Points::new(2, vec![1.0; 2_000_000]) {
        show("all equal, eps 0", &equal, Dbscan { eps: 0.0, min_points: 10 });
    }
}

fn main() {
    let words: Vec<usize> = std::env::args().skip(1).filter_map(|w| w.parse().ok()).collect();
    let how = |dimensions| Dbscan { eps: [0.01, 0.01, 0.01, 0.02][dimensions - 1], min_points: 10 };
    let all = [
        (10_000, 2),
        (100_000, 2),
        (1_000_000, 2),
        (10_000_000, 2),
        (100_000, 3),
        (1_000_000, 3),
        (100_000, 4),
        (1_000_000, 4),
    ];
    let chosen = match words[..] {
        [points, dimensions] => vec![(points, dimensions.clamp(1, 4))],
        _ => all.to_vec(),
    };
    if std::env::args().nth(1).is_some_and(|word| word == "hard") {
        hard();
        return;
    }
    let file = std::env::temp_dir().join(format!("cluster-{}.f64", std::process::id()));
    println!(
        "CPU seconds of the process on one thread, fastest round, ours and references' by the same clock; ratios are reference to ours. Two threads by the \
         wall clock, and how many times faster than one thread by it. Memory is the most of each row.\n"
    );
    println!(
        "| points | dims | dbscan / ours | dbscan s | scikit / ours | scikit s | ours s | two threads s | peak MiB | clusters, noise |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (points, dimensions) in chosen {
        row(&Case { points, dimensions, how: how(dimensions) }, &file);
    }
    let _: Result<(), std::io::Error> = std::fs::remove_file::<PathBuf>(file);
}

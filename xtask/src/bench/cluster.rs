//! Cost of clustering: the library beside the Python packages `dbscan` and scikit-learn, and whole
//! `talea cluster TABLE`.
//!
//! Owns the tables of whole programs. Those of the library are printed by its own example, which is
//! built here.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use talea_cluster::workload;

use super::{built, heading, output, scratch};

/// Points and dimensions of tables.
const TABLES: [(usize, usize); 4] = [(100_000, 2), (1_000_000, 2), (1_000_000, 3), (10_000_000, 2)];
const SEED: u64 = 7;

pub(crate) fn run() -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = ["build", "--release", "-p", "talea-cluster", "--example", "cluster_bench"];
    output(Command::new(cargo).args(build))?;
    let example = built("examples/cluster_bench")?;
    for (title, words) in [
        ("Clustering points of 20 kinds", &[][..]),
        ("Clustering where there is little to prune", &["hard"]),
    ] {
        heading(title);
        print!("{}", output(Command::new(&example).args(words))?);
    }
    subsets()?;
    tables()
}

/// Parts of a trace, as users name them.
const RULES: [&str; 6] =
    ["thin", "ranks=8,random=15%", "ranks=8", "random=25%", "random=15%", "random=10%"];
/// Real traces.
const TRACES: [&str; 4] = [
    "epoch_16proc.prv.gz",
    "epoch_4proc.prv.gz",
    "epoch_1proc.prv.gz",
    "lulesh_4+4_with_uncores_sockets1+2.chop_5it.prv",
];
/// A radius for a trace whose clusters are small.
const SMALL: &str = "0.0136";

/// Agreement of a part of a real trace with all of it.
pub(crate) fn subsets() -> Result<(), String> {
    let talea = built("talea")?;
    heading(
        "Agreement of a part with the whole: `talea cluster TRACE --min-duration 0 --subset RULE --check`",
    );
    println!(
        "Adjusted Rand index against clustering all bursts, the least of seeds 1 to 3; clusters lost, the most of them. With `auto` both choose their radius: \
         those of the part, and in brackets that of all bursts.\n"
    );
    println!(
        "| trace | bursts | part | share, auto | ARI, auto | eps, auto | lost | share, eps {SMALL} | ARI, eps {SMALL} | lost |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    );
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = std::env::var_os("TALEA_DATA").map_or(beside, Into::into).join("paraver");
    for name in TRACES {
        let trace = folder.join(name);
        if !trace.is_file() {
            println!("| {name} | not there |");
            continue;
        }
        for rule in RULES {
            let auto = seeds(&talea, &trace, rule, "auto")?;
            // Few ranks: the part is all.
            if auto.share >= 1.0 {
                continue;
            }
            let small = seeds(&talea, &trace, rule, SMALL)?;
            let short = name.split('.').next().unwrap_or(name);
            println!(
                "| {} | {} | {rule} | {:.0} % | {:.5} | {} ({}) | {} | {:.0} % | {:.5} | {} |",
                short.trim_end_matches("_with_uncores_sockets1+2"),
                auto.points,
                auto.share * 100.0,
                auto.agreement,
                auto.eps.join(" "),
                auto.all,
                auto.lost,
                small.share * 100.0,
                small.agreement,
                small.lost
            );
        }
    }
    Ok(())
}

/// Results of some seeds for a part.
struct Worth {
    points: u64,
    share: f64,
    /// The least.
    agreement: f64,
    /// The most.
    lost: u64,
    /// Different radii, rising.
    eps: Vec<String>,
    /// The radius of all bursts.
    all: String,
}

fn seeds(talea: &Path, trace: &Path, rule: &str, eps: &str) -> Result<Worth, String> {
    let mut worth = Worth {
        points: 0,
        share: 0.0,
        agreement: f64::INFINITY,
        lost: 0,
        eps: Vec::new(),
        all: String::new(),
    };
    for seed in ["1", "2", "3"] {
        let words = ["--min-duration", "0", "--check", "--json", "--eps", eps, "--seed", seed];
        let text = output(
            Command::new(talea).arg("cluster").arg(trace).args(words).args(["--subset", rule]),
        )?;
        let found: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let radius = |value: &Value| format!("{:.4}", value.as_f64().unwrap_or(f64::NAN));
        worth.points = found["points"].as_u64().unwrap_or_default();
        worth.share = found["subset"]["share"].as_f64().unwrap_or(f64::NAN);
        let agreement = found["check"]["adjusted_rand"].as_f64().unwrap_or(f64::NAN);
        worth.agreement = worth.agreement.min(agreement);
        worth.lost = worth.lost.max(found["check"]["lost"].as_u64().unwrap_or_default());
        worth.eps.push(radius(&found["eps"]));
        worth.all = radius(&found["check"]["eps"]);
    }
    worth.eps.sort();
    worth.eps.dedup();
    Ok(worth)
}

/// Whole `talea cluster`, from a table to labels.
fn tables() -> Result<(), String> {
    let talea = built("talea")?;
    heading("From a table to labels: `talea cluster TABLE --no-prepare --labels FILE --json`");
    println!(
        "Seconds of one run on all cores; memory is the most that the process had, looked at every 2 ms.\n"
    );
    println!(
        "| points | dims | table | whole s | reading s | clustering s | peak MiB | bytes a point | clusters, noise |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let folder = scratch("cluster")?;
    for (points, dimensions) in TABLES {
        let file = folder.join("points.csv");
        let bytes = write(&file, points, dimensions)?;
        let (whole, peak, found) = one(&talea, &file, dimensions, &folder)?;
        let second = |key: &str| found["seconds"][key].as_f64().unwrap_or(f64::NAN);
        println!(
            "| {points} | {dimensions} | {} MB | {whole:.2} | {:.2} | {:.2} | {} | {:.0} | {}, {} |",
            bytes / 1_000_000,
            second("read"),
            second("cluster"),
            peak >> 10,
            (peak << 10) as f64 / points as f64,
            found["clusters"].as_array().map_or(0, Vec::len),
            found["noise"]
        );
    }
    std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())
}

fn write(file: &Path, points: usize, dimensions: usize) -> Result<u64, String> {
    let failed = |error: std::io::Error| error.to_string();
    let (points, _) = workload::blobs(points, dimensions, SEED);
    let mut out = std::io::BufWriter::new(std::fs::File::create(file).map_err(failed)?);
    let names: Vec<String> = (0..dimensions).map(|at| format!("c{at}")).collect();
    writeln!(out, "{}", names.join(",")).map_err(failed)?;
    let mut line = String::new();
    for row in points.rows().chunks_exact(dimensions) {
        line.clear();
        for (at, value) in row.iter().enumerate() {
            let _ = write!(line, "{}{value:.9}", if at > 0 { "," } else { "" });
        }
        line.push('\n');
        out.write_all(line.as_bytes()).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    Ok(std::fs::metadata(file).map_err(failed)?.len())
}

/// Seconds, most KiB, and what it said.
fn one(
    talea: &Path,
    file: &Path,
    dimensions: usize,
    folder: &Path,
) -> Result<(f64, u64, Value), String> {
    let columns: Vec<String> = (0..dimensions).map(|at| format!("c{at}")).collect();
    let begin = Instant::now();
    let mut child = Command::new(talea)
        .arg("cluster")
        .arg(file)
        .args([
            "--columns",
            &columns.join(","),
            "--eps",
            "0.01",
            "--min-points",
            "10",
            "--no-prepare",
            "--json",
        ])
        .arg("--labels")
        .arg(folder.join("labels"))
        .stdout(
            std::fs::File::create(folder.join("found.json")).map_err(|error| error.to_string())?,
        )
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let done = loop {
        if let Some(done) = child.try_wait().map_err(|error| error.to_string())? {
            break done;
        }
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("VmHWM"));
        peak = peak
            .max(line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    };
    let whole = begin.elapsed().as_secs_f64();
    if !done.success() {
        return Err(format!("{done}: talea cluster"));
    }
    let text =
        std::fs::read_to_string(folder.join("found.json")).map_err(|error| error.to_string())?;
    let found = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok((whole, peak, found))
}

//! The shares that `talea agent` sees beside those of `perf record -a` of the same minute, while
//! lammps runs and a compiler comes and goes.
//!
//! Both sample; their difference is judged by the error that two samples of these sizes have.
//! perf's rate is odd and ours jittered, so that neither runs in step with what it measures. Where
//! a library has no names of functions both give addresses, which are not compared. Idle time
//! beside the kernel's account follows (`idle`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{built, found, heading, output, programs, scratch};

const MINUTE: Duration = Duration::from_mins(1);
/// perf's samples a second.
const PERF: &str = "197";
/// The compiler works and rests about so long, for some idle time.
const REST: Duration = Duration::from_millis(700);
/// Shares from which on both are compared.
const LEAST: f64 = 0.01;

/// Samples below which an error is not one of a normal distribution.
const FEW: f64 = 5.0;

/// Samples by name, and of all.
struct Seen {
    by: BTreeMap<String, f64>,
    all: f64,
}

impl Seen {
    fn share(&self, name: &str) -> f64 {
        self.by.get(name).copied().unwrap_or(0.0) / self.all
    }
}

/// A program that ends with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The second table alone.
pub(crate) fn idle() -> Result<(), String> {
    let folder = scratch("shares")?;
    super::idle::run(&built("talea")?, &folder)?;
    fs::remove_dir_all(&folder).map_err(|e| e.to_string())
}

pub(crate) fn run() -> Result<(), String> {
    for program in ["perf", "lmp", "gcc"] {
        if !found(program) {
            return Err(format!("`{program}` is not installed: scripts/setup.sh test"));
        }
    }
    let talea = built("talea")?;
    let folder = scratch("shares")?;
    let lammps = programs::prepare("lammps", &folder.join("lammps"), &["1000000"])?;
    let source = folder.join("many.c");
    fs::write(&source, many_functions()).map_err(|e| e.to_string())?;
    heading("Shares of a minute, beside perf");
    println!(
        "`talea agent` and `perf record -a -F {PERF}` at once, lammps on one core and a compiler now and then. Names with {:.0} % at least and {FEW:.0} samples expected of each; σ is what two samples of these sizes differ by at random.\n",
        LEAST * 100.0
    );
    println!("| agent | what | agent, % | perf, % | difference, σ |\n|---|---|---|---|---|");
    let mut largest = Vec::new();
    for rate in ["1Hz", "50Hz"] {
        let (agent, perf) = minute(&talea, &folder, &lammps, &source, rate)?;
        for (what, agent, perf) in [("library", &agent.0, &perf.0), ("function", &agent.1, &perf.1)]
        {
            let rows = rows(agent, perf);
            for (name, own, other, sigma) in &rows {
                println!(
                    "| {rate} | {what} `{name}` | {:.2} | {:.2} | {sigma:+.1} |",
                    own * 100.0,
                    other * 100.0
                );
            }
            let most = rows.iter().map(|row| row.3.abs()).fold(0.0, f64::max);
            largest.push(format!(
                "{rate}, {what}: {} of {:.0} and {:.0} samples, largest {most:.1} σ",
                rows.len(),
                agent.all,
                perf.all
            ));
        }
    }
    println!("\n{}.", largest.join("; "));
    super::idle::run(&talea, &folder)?;
    fs::remove_dir_all(&folder).map_err(|e| e.to_string())
}

/// By library and by function, of the agent and of perf.
type Both = ((Seen, Seen), (Seen, Seen));

fn minute(
    talea: &Path,
    folder: &Path,
    lammps: &[String],
    source: &Path,
    rate: &str,
) -> Result<Both, String> {
    let store = format!("sqlite:{}", folder.join(format!("{rate}.db")).display());
    let data = folder.join(format!("{rate}.data"));
    let quiet = |command: &mut Command| -> Result<Running, String> {
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(Running).map_err(|e| format!("{e}: {command:?}"))
    };
    let _lammps = quiet(
        super::prepared(Command::new(&lammps[0]).args(&lammps[1..])).env("OMP_NUM_THREADS", "1"),
    )?;
    let seconds = MINUTE.as_secs().to_string();
    let mut perf = quiet(
        Command::new("perf")
            .args(["record", "-a", "-e", "cpu-clock", "-F", PERF, "-o"])
            .arg(&data)
            .args(["--", "sleep", &seconds]),
    )?;
    let mut agent = quiet(
        Command::new(talea)
            .args([
                "agent",
                "--store",
                &store,
                "--rate",
                rate,
                "--for",
                &format!("{seconds}s"),
                "--run-dir",
            ])
            .arg(folder.join("run")),
    )?;
    let begin = Instant::now();
    while begin.elapsed() < MINUTE {
        output(Command::new("gcc").args(["-O2", "-c", "-o", "/dev/null"]).arg(source))?;
        std::thread::sleep(REST);
    }
    for child in [&mut agent.0, &mut perf.0] {
        child.wait().map_err(|e| e.to_string())?;
    }
    let ask = |by: &str| usage(talea, &store, by);
    let report = output(
        Command::new("perf")
            .args(["report", "--stdio", "--sort", "comm,dso,sym", "-n", "-t", "|", "-i"])
            .arg(&data),
    )?;
    let perf = of_perf(&report);
    if perf.0.by.is_empty() {
        return Err("`perf report` shows no samples".to_owned());
    }
    Ok(((ask("library")?, ask("function")?), perf))
}

/// Answer of the store. Idle time is a name of its own.
fn usage(talea: &Path, store: &str, by: &str) -> Result<Seen, String> {
    let text = output(Command::new(talea).args([
        "usage",
        "--json",
        "--limit",
        "100000",
        "--store",
        store,
        "--by",
        &format!("{by},activity"),
    ]))?;
    let answer: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let all = answer["samples"].as_f64().filter(|&all| all > 0.0);
    let mut seen = Seen { by: BTreeMap::new(), all: all.ok_or("the agent has no samples")? };
    for row in answer["rows"].as_array().into_iter().flatten() {
        let name = match row["activity"].as_str() {
            Some("idle" | "waiting") => "(idle)".to_owned(),
            _ => short(row[by].as_str().unwrap_or("?")),
        };
        *seen.by.entry(name).or_default() += row["samples"].as_f64().unwrap_or(0.0);
    }
    Ok(seen)
}

/// By library and by function of the lines `share|samples|command|file|[k] function`.
fn of_perf(report: &str) -> (Seen, Seen) {
    let none = || Seen { by: BTreeMap::new(), all: 0.0 };
    let mut both = (none(), none());
    for line in report.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.splitn(5, '|').map(str::trim).collect();
        let [_, samples, command, file, function] = cells[..] else { continue };
        let Ok(samples) = samples.parse::<f64>() else { continue };
        let function = function.get(3..).unwrap_or(function).trim();
        let kernel = file.starts_with('[') && file != "[vdso]";
        let (library, function) = match command {
            "swapper" => ("(idle)".to_owned(), "(idle)".to_owned()),
            _ if kernel => ("[kernel]".to_owned(), short(function)),
            _ => (short(file), short(function)),
        };
        for (seen, name) in [(&mut both.0, library), (&mut both.1, function)] {
            *seen.by.entry(name).or_default() += samples;
            seen.all += samples;
        }
    }
    both
}

/// The name without folders, and without the arguments of a function.
fn short(name: &str) -> String {
    let named = |before: char| before.is_alphanumeric() || matches!(before, '_' | '>');
    let arguments = name.match_indices('(').find(|(at, _)| name[..*at].ends_with(named));
    let name = arguments.map_or(name, |(at, _)| &name[..at]).trim();
    let is_path = name.starts_with('/');
    if is_path { name.rsplit('/').next().unwrap_or(name).to_owned() } else { name.to_owned() }
}

/// Name, both shares, and their difference in standard errors, most first.
fn rows(agent: &Seen, perf: &Seen) -> Vec<(String, f64, f64, f64)> {
    let names: BTreeSet<&String> = agent.by.keys().chain(perf.by.keys()).collect();
    let mut rows = Vec::new();
    for name in names {
        let (own, other) = (agent.share(name), perf.share(name));
        let both = (own * agent.all + other * perf.all) / (agent.all + perf.all);
        let expected = both * agent.all.min(perf.all);
        // A place without a name is an address to one and `None` to the other.
        let is_name = name == "(idle)" || !name.contains("0x") && !name.starts_with('(');
        if own.max(other) < LEAST || expected < FEW || !is_name {
            continue;
        }
        let error = (both * (1.0 - both) * (1.0 / agent.all + 1.0 / perf.all)).sqrt();
        rows.push((name.clone(), own, other, (own - other) / error));
    }
    rows.sort_by(|a, b| b.2.total_cmp(&a.2));
    rows
}

/// A program that takes a compiler some tenths of a second.
fn many_functions() -> String {
    (0..600).fold(String::new(), |mut text, at| {
        let _ = writeln!(
            text,
            "double f{at}(const double *a, int n) {{ double s = {at}; for (int i = 0; i < n; i++) {{ s += a[i] * a[(i * {at}) % n]; if (s > 1e9) s /= a[i]; }} return s; }}"
        );
        text
    })
}

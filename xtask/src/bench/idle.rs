//! Shares of idle time and of a load that `talea agent` reports, beside `/proc/stat` and the
//! scheduler's account, while each core computes for a part of its time.
//!
//! Owns the load, which is this process, and the comparison in standard errors. Clocks of idle
//! virtual cores may stand still: the agent counts the missing samples of idle cores.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{heading, output, processor};

/// Parts of a core's time in percent, and samples a second.
const LOADS: [u32; 5] = [0, 5, 15, 50, 100];
const RATES: [f64; 3] = [1.0, 10.0, 97.0];
const LONG: Duration = Duration::from_secs(40);

/// Counts of the kernel, in seconds of cores.
#[derive(Clone, Copy, Debug)]
struct Account {
    idle: f64,
    all: f64,
    /// Of this process.
    own: f64,
    /// Resolution of the first two.
    tick: f64,
}

/// An agent that samples.
struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Prints the table.
pub(super) fn run(talea: &Path, folder: &Path) -> Result<(), String> {
    heading("Idle time beside `/proc/stat`");
    println!(
        "Each core computes for a part of its time, in pieces of milliseconds, for {} s; three agents sample at once. Shares of idle time beside `/proc/stat` (idle and waiting for disks, without steal time), and of the load beside the scheduler's account (`schedstat`). σ is the standard error of the samples, with half a sample and a tick of the account.\n",
        LONG.as_secs()
    );
    println!(
        "| load, % | agent | samples | idle, % | `/proc/stat`, % | difference, σ | load, % | `schedstat`, % | difference, σ |\n|---|---|---|---|---|---|---|---|---|"
    );
    let mut largest = 0.0_f64;
    for load in LOADS {
        for (rate, seen, account) in measured(talea, folder, load)? {
            let Seen { samples, idle, own } = seen;
            let cells = |found: f64, expected: f64| {
                let (found, expected) = (found / samples, expected / account.all);
                let chance = (expected * (1.0 - expected).max(0.0) / samples).sqrt();
                let error = chance + 0.5 / samples + account.tick / account.all;
                let (difference, percent) = ((found - expected) / error, 100.0);
                let text = format!(
                    "{:.2} | {:.2} | {difference:+.1}",
                    found * percent,
                    expected * percent
                );
                (text, difference.abs())
            };
            let (of_idle, idle_error) = cells(idle, account.idle);
            let (of_own, own_error) = cells(own, account.own);
            largest = largest.max(idle_error).max(own_error);
            println!("| {load} | {rate} Hz | {samples} | {of_idle} | {of_own} |");
        }
    }
    println!("\nLargest difference: {largest:.1} σ.");
    Ok(())
}

/// Samples of an agent: all, of idle cores, and of this program.
#[derive(Clone, Copy, Debug)]
struct Seen {
    samples: f64,
    idle: f64,
    own: f64,
}

fn measured(talea: &Path, folder: &Path, load: u32) -> Result<Vec<(f64, Seen, Account)>, String> {
    let stop = AtomicBool::new(false);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for core in 0..cores {
            let stop = &stop;
            scope.spawn(move || compute(f64::from(load) / 100.0, core as u64, stop));
        }
        let measured = watched(talea, folder, load);
        stop.store(true, Ordering::Relaxed);
        measured
    })
}

fn watched(talea: &Path, folder: &Path, load: u32) -> Result<Vec<(f64, Seen, Account)>, String> {
    let mut agents = Vec::new();
    for rate in RATES {
        let store = format!("sqlite:{}", folder.join(format!("idle-{load}-{rate}.db")).display());
        let seconds = format!("{}s", LONG.as_secs());
        let mut command = Command::new(talea);
        command.args([
            "agent",
            "--store",
            &store,
            "--rate",
            &format!("{rate}Hz"),
            "--for",
            &seconds,
        ]);
        command.arg("--run-dir").arg(folder.join("run")).stderr(Stdio::piped());
        let mut agent = Agent(command.spawn().map_err(|e| format!("{e}: {command:?}"))?);
        // It prints when it samples.
        let mut said = BufReader::new(agent.0.stderr.take().ok_or("the agent says nothing")?);
        let mut line = String::new();
        while !line.contains("sampling") {
            line.clear();
            if said.read_line(&mut line).map_err(|e| e.to_string())? == 0 {
                return Err("`talea agent` cannot sample cores here".to_owned());
            }
        }
        agents.push((rate, store, agent, said, account()?));
    }
    let begin = Instant::now();
    while begin.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(100));
    }
    let end = account()?;
    let mut measured = Vec::new();
    for (rate, store, mut agent, mut said, begin) in agents {
        let mut rest = String::new();
        let _ = std::io::Read::read_to_string(&mut said, &mut rest);
        agent.0.wait().map_err(|e| e.to_string())?;
        let account = Account {
            idle: end.idle - begin.idle,
            all: end.all - begin.all,
            own: end.own - begin.own,
            tick: end.tick,
        };
        measured.push((rate, seen(talea, &store)?, account));
    }
    Ok(measured)
}

/// Time of all cores since the start, without steal time, and processor time of this process.
fn account() -> Result<Account, String> {
    let text = fs::read_to_string("/proc/stat").map_err(|e| e.to_string())?;
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<f64> =
        line.split_whitespace().skip(1).take(7).filter_map(|word| word.parse().ok()).collect();
    let [user, nice, system, idle, waiting, interrupts, soft] = ticks[..] else {
        return Err(format!("expected seven times in /proc/stat, found `{line}`"));
    };
    let second = rustix::param::clock_ticks_per_second() as f64;
    Ok(Account {
        idle: (idle + waiting) / second,
        all: (user + nice + system + idle + waiting + interrupts + soft) / second,
        own: processor(std::process::id())? as f64 / 1e9,
        tick: 1.0 / second,
    })
}

fn seen(talea: &Path, store: &str) -> Result<Seen, String> {
    let words = ["usage", "--json", "--limit", "100000", "--by", "executable,activity", "--store"];
    let text = output(Command::new(talea).args(words).arg(store))?;
    let answer: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let own = own.to_string_lossy();
    let rows = answer["rows"].as_array().cloned().unwrap_or_default();
    let sum = |which: &dyn Fn(&Value) -> bool| -> f64 {
        rows.iter().filter(|row| which(row)).filter_map(|row| row["samples"].as_f64()).sum()
    };
    let samples = answer["samples"].as_f64().filter(|&all| all > 0.0);
    Ok(Seen {
        samples: samples.ok_or("the agent has no samples")?,
        idle: sum(&|row| matches!(row["activity"].as_str(), Some("idle" | "waiting"))),
        own: sum(&|row| row["executable"].as_str() == Some(&*own)),
    })
}

/// Computes for a part of the time until `stop`, in pieces of random length, so that it keeps step
/// with nothing.
fn compute(part: f64, seed: u64, stop: &AtomicBool) {
    let mut random = seed;
    while !stop.load(Ordering::Relaxed) {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let whole = 0.010 + 0.020 * (random >> 11) as f64 / (1_u64 << 53) as f64;
        let begin = Instant::now();
        while begin.elapsed().as_secs_f64() < part * whole {
            std::hint::spin_loop();
        }
        let rest = (1.0 - part) * whole;
        if rest > 0.0 {
            std::thread::sleep(Duration::from_secs_f64(rest));
        }
    }
}

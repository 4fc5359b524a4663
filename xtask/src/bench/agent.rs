//! Cost of `talea agent`: slowdown of a program that is busy on every core, memory, and its own
//! share of a core, beside `perf record -a`.
//!
//! All ways take turns in each round, in the other order in every other one; a slowdown is the mean
//! of rounds' ratios to no tool, in logarithms, with its 95 % interval (Student); what interrupts
//! take is seen by looking at the clock too, which varies less. The work is a fixed number of turns
//! of a loop on each core, in this process. Processor time is that of the scheduler (schedstat), in
//! nanoseconds: ticks of 10 ms are a minute's budget at 1 Hz.

mod load;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use self::load::{GAP, LOOKS, away, calibrated, work};
use super::{built, found, heading, memory, processor, scratch, spread};

const ROUNDS: usize = 24;
/// How long memory and processor time are watched.
const WATCHED: Duration = Duration::from_mins(1);
const EXECS: u32 = 200;
/// Rounds of reading the clock, and the time until a tool has settled.
const QUANTA: usize = 15;
const SETTLED: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Nothing,
    /// The agent, at so many samples a second.
    Agent(u32),
    /// `perf record -a`, at so many samples a second.
    Perf(u32),
}

const WAYS: [Way; 6] =
    [Way::Nothing, Way::Agent(1), Way::Agent(100), Way::Agent(1000), Way::Perf(1), Way::Perf(1000)];

impl Way {
    fn name(self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Agent(rate) => format!("agent, {}", shown(rate)),
            Self::Perf(rate) => format!("`perf record -a -F {rate}`"),
        }
    }

    /// Samples a second on each core.
    fn rate(self) -> f64 {
        match self {
            Self::Nothing => 0.0,
            Self::Agent(rate) | Self::Perf(rate) => rate.into(),
        }
    }
}

/// As options say it: `100Hz`, `1kHz`.
fn shown(rate: u32) -> String {
    if rate.is_multiple_of(1000) { format!("{}kHz", rate / 1000) } else { format!("{rate}Hz") }
}

/// A tool that runs.
struct Tool(Option<Child>);

impl Drop for Tool {
    fn drop(&mut self) {
        let Some(child) = &mut self.0 else { return };
        let pid = child.id().to_string();
        let _ = Command::new("kill").args(["-INT", &pid]).status();
        let _ = child.wait();
    }
}

/// How long the agent has sampled when its memory is read.
const STARTED: Duration = Duration::from_secs(10);
/// Starts of each program.
const STARTS: usize = 5;

/// The last two tables alone.
pub(crate) fn memories() -> Result<(), String> {
    let folder = scratch("agent")?;
    of_itself(&ways(), &program()?, &folder)?;
    of_programs(&folder)?;
    fs::remove_dir_all(&folder).map_err(|e| e.to_string())
}

/// Memory of both programs that have the agent, after its start and at most.
fn of_programs(folder: &Path) -> Result<(), String> {
    heading("Memory of the agent after its start");
    println!(
        "Resident memory {} s after the agent began to sample every core by BPF at 1 Hz, its parts, and its maximum until then. Medians of {STARTS} starts (smallest to largest). *File* is memory of the program's and libraries' files, which processes share; *own* is the rest.\n",
        STARTED.as_secs()
    );
    println!(
        "| program | resident, MB | file, MB | own, MB | at most, MB |\n|---|---|---|---|---|"
    );
    let talea = built("talea")?;
    for (name, program, words) in
        [("talea agent", talea, &["agent"][..]), ("talea-agent", program()?, &[])]
    {
        let parts = ["VmRSS:", "RssFile:", "RssAnon:", "VmHWM:"];
        let mut figures = parts.map(|_| Vec::new());
        for _ in 0..STARTS {
            let mut command = Command::new(&program);
            let tool = sampling(command.args(words).args(["--sampler", "bpf"]), 1, folder)?;
            std::thread::sleep(STARTED);
            let process = tool.0.as_ref().ok_or("nothing to watch")?.id();
            for (figures, part) in figures.iter_mut().zip(parts) {
                figures.push(memory(process, part)?);
            }
        }
        let cells = figures.map(|mut figures| spread(&mut figures, 1));
        println!("| `{name}` | {} |", cells.join(" | "));
    }
    Ok(())
}

/// Time on cores and memory of the agent, beside perf.
fn of_itself(ways: &[Way], agent: &Path, folder: &Path) -> Result<(), String> {
    heading("Resources of the agent itself");
    println!(
        "Share of one core over {} s, resident memory at the end and at most. Quiet, and while {EXECS} programs a second are started.\n",
        WATCHED.as_secs()
    );
    println!("| tool | machine | programs/s | of a core, % | memory, MB | at most, MB |");
    println!("|---|---|---|---|---|---|");
    for way in ways.iter().filter(|way| matches!(way, Way::Agent(1) | Way::Perf(1))) {
        for (state, execs) in [("quiet", 0), ("busy with starting programs", EXECS)] {
            let tool = started(*way, agent, folder)?;
            let cells = watched(&tool, execs)?;
            println!("| {} | {state} | {cells} |", way.name());
        }
    }
    Ok(())
}

/// The second table alone.
pub(crate) fn interrupts() -> Result<(), String> {
    let folder = scratch("agent")?;
    taken_away(&ways(), &program()?, &folder)?;
    fs::remove_dir_all(&folder).map_err(|e| e.to_string())
}

pub(crate) fn run() -> Result<(), String> {
    let agent = program()?;
    let folder = scratch("agent")?;
    let size = fs::metadata(&agent).map_err(|e| e.to_string())?.len() as f64 / 1e6;
    let ways = ways();
    heading("Slowdown of a program that is busy on every core");
    println!(
        "Run time against no tool, mean and 95 % interval of {ROUNDS} rounds. The program: {size:.2} MB (`target/small/talea-agent`).\n"
    );
    println!("| tool | slowdown, % |\n|---|---|");
    let turns = calibrated();
    let mut rounds: Vec<Vec<f64>> = Vec::new();
    for round in 0..=ROUNDS {
        let mut took = vec![0.0; ways.len()];
        for turn in 0..ways.len() {
            let at = if round % 2 == 0 { turn } else { ways.len() - 1 - turn };
            let _tool = started(ways[at], &agent, &folder)?;
            took[at] = work(turns);
        }
        // The first round warms caches up.
        if round > 0 {
            rounds.push(took);
        }
    }
    for (at, way) in ways.iter().enumerate().skip(1) {
        let ratios: Vec<f64> = rounds.iter().map(|took| (took[at] / took[0]).ln()).collect();
        let (mean, half) = interval(&ratios);
        let percent = |log: f64| (log.exp() - 1.0) * 100.0;
        println!(
            "| {} | {:.3} ({:.3} to {:.3}) |",
            way.name(),
            percent(mean),
            percent(mean - half),
            percent(mean + half)
        );
    }
    taken_away(&ways, &agent, &folder)?;
    of_itself(&ways, &agent, &folder)?;
    of_programs(&folder)?;
    fs::remove_dir_all(&folder).map_err(|e| e.to_string())
}

/// Those that this machine has.
fn ways() -> Vec<Way> {
    let mut ways = WAYS.to_vec();
    if !found("perf") {
        println!("perf is not installed: its rows are left out.");
        ways.retain(|way| !matches!(way, Way::Perf(_)));
    }
    ways
}

/// The small program of nodes.
fn program() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let target = own.parent().and_then(Path::parent).unwrap_or(Path::new("target"));
    let path = target.join("small/talea-agent");
    if path.is_file() {
        return Ok(path);
    }
    Err(format!(
        "not built: `{}`; run `cargo build --profile small -p talea-node` first",
        path.display()
    ))
}

/// Starts a tool and waits until it samples.
fn started(way: Way, agent: &Path, folder: &Path) -> Result<Tool, String> {
    match way {
        Way::Nothing => Ok(Tool(None)),
        Way::Agent(rate) => sampling(&mut Command::new(agent), rate, folder),
        Way::Perf(rate) => {
            let mut command = Command::new("perf");
            command
                .args(["record", "-a", "-F", &rate.to_string(), "-o"])
                .arg(folder.join("perf.data"));
            let command = command.stdout(Stdio::null()).stderr(Stdio::null());
            let child = command.spawn().map_err(|e| format!("perf: {e}"))?;
            // It says nothing when it begins.
            std::thread::sleep(Duration::from_millis(500));
            Ok(Tool(Some(child)))
        }
    }
}

/// Starts an agent at a rate, and waits until it samples.
fn sampling(command: &mut Command, rate: u32, folder: &Path) -> Result<Tool, String> {
    let store = format!("sqlite:{}", folder.join("bench.db").display());
    command.args(["--store", &store, "--rate", &shown(rate), "--run-dir"]).arg(folder.join("run"));
    let mut child =
        command.stderr(Stdio::piped()).spawn().map_err(|e| format!("the agent: {e}"))?;
    let said = child.stderr.take().ok_or("no standard error")?;
    let tool = Tool(Some(child));
    let mut said = BufReader::new(said);
    let mut all = String::new();
    while !all.lines().any(|line| line.contains("sampling")) {
        if said.read_line(&mut all).map_err(|e| e.to_string())? == 0 {
            return Err(format!("the agent does not sample: {all}"));
        }
    }
    // Later messages must not fill the pipe.
    std::thread::spawn(move || said.read_to_end(&mut Vec::new()));
    Ok(tool)
}

/// How long a program that does nothing but look at the clock is away from its core: gaps between
/// two looks, as benchmarks of noise measure them (fixed time quanta,
/// <https://asc.llnl.gov/sequoia/benchmarks>). It sees interrupts to the microsecond, but not what
/// they push out of caches.
fn taken_away(ways: &[Way], agent: &Path, folder: &Path) -> Result<(), String> {
    // Once a second is far below what rounds differ by.
    let ways: Vec<Way> =
        ways.iter().copied().filter(|way| !(1.0..100.0).contains(&way.rate())).collect();
    let _counted = Counted::new();
    let mut shares: Vec<Vec<f64>> = vec![Vec::new(); ways.len()];
    let mut programs: Vec<Vec<f64>> = vec![Vec::new(); ways.len()];
    for round in 0..QUANTA {
        for turn in 0..ways.len() {
            let at = if round % 2 == 0 { turn } else { ways.len() - 1 - turn };
            let tool = started(ways[at], agent, folder)?;
            // Its begin, such as reading files that it sees first, is no part of it.
            std::thread::sleep(SETTLED);
            shares[at].push(away());
            programs[at].extend(tool.0.as_ref().and_then(|child| in_kernel(child.id())));
        }
    }
    heading("Interrupts of a program that reads the clock");
    println!(
        "Time between two looks beyond {} ns, of each core's {} s; medians of {QUANTA} rounds and their quartiles. *More* is against no tool in the same round, *a sample* the same for each of them, *BPF* what the kernel counts for the agent's program (`kernel.bpf_stats_enabled`).\n",
        GAP.as_nanos(),
        LOOKS.as_secs()
    );
    println!("| tool | away, % | more, % | a sample, µs | BPF, µs |\n|---|---|---|---|---|");
    let at = |sorted: &[f64], part: f64| sorted[((sorted.len() - 1) as f64 * part) as usize];
    let quartiles = |mut values: Vec<f64>, digits: usize| {
        values.sort_by(f64::total_cmp);
        let [low, middle, high] = [0.25, 0.5, 0.75].map(|part| at(&values, part));
        format!("{middle:.digits$} ({low:.digits$} to {high:.digits$})")
    };
    for ((way, own), program) in ways.iter().zip(&shares).zip(programs) {
        let percent: Vec<f64> = own.iter().map(|share| share * 100.0).collect();
        let more: Vec<f64> =
            percent.iter().zip(&shares[0]).map(|(own, no)| own - no * 100.0).collect();
        if *way == Way::Nothing {
            println!("| {} | {} | - | - | - |", way.name(), quartiles(percent, 3));
            continue;
        }
        let a_sample = more.iter().map(|more| more / 100.0 / way.rate() * 1e6).collect();
        let (more, a_sample) = (quartiles(more, 3), quartiles(a_sample, 1));
        let program = if program.is_empty() { "-".to_owned() } else { quartiles(program, 2) };
        println!(
            "| {} | {} | {more} | {a_sample} | {program} |",
            way.name(),
            quartiles(percent, 3)
        );
    }
    Ok(())
}

/// The kernel counts what BPF programs take while this is there.
struct Counted(Option<String>);

const COUNTS: &str = "/proc/sys/kernel/bpf_stats_enabled";

impl Counted {
    fn new() -> Self {
        let before = fs::read_to_string(COUNTS).ok();
        Self(before.filter(|_| fs::write(COUNTS, "1").is_ok()))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = fs::write(COUNTS, before);
        }
    }
}

/// Microseconds that the BPF program of a process took each time.
fn in_kernel(process: u32) -> Option<f64> {
    let of = |text: &str, key: &str| -> Option<f64> {
        text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
    };
    let files = fs::read_dir(format!("/proc/{process}/fdinfo")).ok()?.flatten();
    let mut texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    texts.find_map(|text| {
        let (time, runs) = (of(&text, "run_time_ns:")?, of(&text, "run_cnt:")?);
        (runs > 0.0).then(|| time / runs / 1e3)
    })
}

/// Mean, and half of its 95 % interval.
fn interval(values: &[f64]) -> (f64, f64) {
    // Student's factor for 23 degrees of freedom.
    const FACTOR: f64 = 2.069;
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, FACTOR * (variance / n).sqrt())
}

/// Programs a second, share of a core, memory, as cells of the table.
fn watched(tool: &Tool, execs: u32) -> Result<String, String> {
    let process = tool.0.as_ref().ok_or("nothing to watch")?.id();
    let stop = AtomicBool::new(false);
    let count = AtomicU64::new(0);
    std::thread::scope(|scope| {
        if execs > 0 {
            scope.spawn(|| start_programs(execs, &stop, &count));
        }
        // The begin is no part of it.
        std::thread::sleep(Duration::from_secs(5));
        let (begin, before) = (Instant::now(), (processor(process), count.load(Ordering::Relaxed)));
        std::thread::sleep(WATCHED);
        let seconds = begin.elapsed().as_secs_f64();
        let after = (processor(process), count.load(Ordering::Relaxed));
        stop.store(true, Ordering::Relaxed);
        let share = (after.0? - before.0?) as f64 / 1e9 / seconds * 100.0;
        let a_second = (after.1 - before.1) as f64 / seconds;
        let (now, most) = (memory(process, "VmRSS:")?, memory(process, "VmHWM:")?);
        Ok(format!("{a_second:.0} | {share:.4} | {now:.1} | {most:.1}"))
    })
}

fn start_programs(rate: u32, stop: &AtomicBool, count: &AtomicU64) {
    let step = Duration::from_secs(1) / rate;
    let mut next = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        if Command::new("/bin/true").status().is_ok() {
            count.fetch_add(1, Ordering::Relaxed);
        }
        next += step;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

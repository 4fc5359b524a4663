//! A watched job of many ranks, on one machine: the tree of its hosts with generated ranks.
//!
//! Owns the order of work. Hosts are those of `generate-run`: calls and times are computed,
//! recorder and mapped files are real. Each host's files are read, its state merged with those of
//! the hosts below it and made into bytes by the code that observers and `talea watch` run; the
//! network between them is left out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use talea_analysis::watch::{Guide, MAX_BYTES, Processes, Snapshot, View};
use talea_page::hosts::{FANOUT, parent_of};
use talea_run::{Metadata, RunDirectory};

use crate::bench::{heading, median, memory, output, scratch};

/// Ranks of a host of `generate-run`.
const OF_HOST: usize = 64;
/// Hosts whose files exist at once.
const TOGETHER: usize = 16;
/// Kinds of ranks.
const BEHAVIOURS: &str = "5";
/// Maximum time of one reading.
const WITHIN: Duration = Duration::from_secs(10);

/// Costs of the hosts of one level.
#[derive(Default)]
struct Level {
    hosts: usize,
    bytes: Vec<f64>,
    /// Milliseconds.
    look: Vec<f64>,
    merge: Vec<f64>,
    /// Megabytes that merging adds at most.
    memory: Vec<f64>,
}

/// Prints the table, for so many ranks of so many events each.
pub(crate) fn run(ranks: usize, events: &str) -> Result<(), String> {
    let folder = scratch("simulate")?;
    let done = simulate(&folder, ranks, events);
    let _ = std::fs::remove_dir_all(&folder);
    done
}

fn simulate(folder: &Path, ranks: usize, events: &str) -> Result<(), String> {
    let generator = generator()?;
    let directory = RunDirectory::create(Some(&folder.join("run")), "generated");
    let directory = directory.map_err(|error| error.to_string())?;
    directory.write_metadata(&Metadata::default()).map_err(|error| error.to_string())?;
    let hosts = ranks.div_ceil(OF_HOST);
    let mut levels: BTreeMap<usize, Level> = BTreeMap::new();
    // Messages to hosts that come later here, as those below come first.
    let mut waiting: HashMap<Option<usize>, Vec<Vec<u8>>> = HashMap::new();
    let (mut events_of_all, mut begin) = (0, Instant::now());
    for first in (0..hosts).step_by(TOGETHER).collect::<Vec<_>>().into_iter().rev() {
        let count = TOGETHER.min(hosts - first);
        let path = directory.path().to_string_lossy().into_owned();
        let words = [&path, "--ranks", &ranks.to_string(), "--events", events];
        let some = format!("{first}:{count}");
        let words = words.into_iter().chain(["--behaviours", BEHAVIOURS, "--hosts", &some]);
        output(Command::new(&generator).args(words))?;
        for host in (first..first + count).rev() {
            let level = levels.entry(level_of(host)).or_default();
            level.hosts += 1;
            let now = Instant::now();
            let own = look(&directory, host);
            level.look.push(now.elapsed().as_secs_f64() * 1e3);
            events_of_all += own.events();
            let below = waiting.remove(&Some(host)).unwrap_or_default();
            let bytes = merged(own, &below, level)?.to_bytes(MAX_BYTES, &Guide::default());
            level.bytes.push(bytes.len() as f64 / 1024.0);
            waiting.entry(parent_of(host)).or_default().push(bytes);
        }
        std::fs::remove_dir_all(directory.live()).map_err(|error| error.to_string())?;
        if begin.elapsed() > Duration::from_secs(10) {
            eprintln!("{} of {hosts} hosts", hosts - first);
            begin = Instant::now();
        }
    }
    let top = waiting.remove(&None).unwrap_or_default();
    let level = levels.entry(0).or_default();
    level.hosts = 1;
    let all = merged(Snapshot::default(), &top, level)?;
    let mut view = View::default();
    let now = Instant::now();
    let shown = view.look(all, true, (now, now));
    level.look.push(now.elapsed().as_secs_f64() * 1e3);
    heading("A watched job of many ranks, generated");
    println!(
        "{ranks} ranks of {events} events on {hosts} hosts; at most {FANOUT} hosts send to one. Medians, maxima in brackets. A look reads {OF_HOST} ranks from their first event on; that of the root makes clusters and tables. Merging takes the states of the hosts below. Memory is what it adds to the process.\n"
    );
    println!(
        "| level | hosts | sent, KiB | look, ms | merging, ms | memory, MB |\n|---{}|",
        "|---".repeat(5)
    );
    for (depth, level) in &mut levels {
        let name = match depth {
            0 => "0 (`talea watch`)".to_owned(),
            _ => depth.to_string(),
        };
        let cells = [&mut level.bytes, &mut level.look, &mut level.merge, &mut level.memory]
            .map(|figures| cell(figures));
        println!("| {name} | {} | {} |", level.hosts, cells.join(" | "));
    }
    let main = shown.main_loop.as_ref().ok_or("no main loop was found")?;
    let clusters = shown.clusters.as_ref().map_or(0, |clusters| clusters.clusters.len());
    println!(
        "\nThe root shows {} of {ranks} ranks, which stand out, all {} events ({} were read), iterations {} to {}, {} call sites and {clusters} clusters.",
        shown.ranks.len(),
        shown.events,
        events_of_all,
        main.min_iterations,
        main.max_iterations,
        shown.sites.len(),
    );
    let numbers: BTreeSet<Option<u32>> = shown.ranks.iter().map(|rank| rank.rank).collect();
    if shown.events != events_of_all || numbers.len() != shown.ranks.len() {
        return Err("the root does not have the events of all ranks once".to_owned());
    }
    Ok(())
}

/// Builds the generator.
fn generator() -> Result<PathBuf, String> {
    let mut command = Command::new("cargo");
    command.args(["build", "--quiet", "--release", "--package", "talea-mpi"]);
    output(command.args(["--example", "generate_run"]))?;
    crate::bench::built("examples/generate_run")
}

/// Depth of a host below the root.
fn level_of(host: usize) -> usize {
    1 + parent_of(host).map_or(0, level_of)
}

/// The state of the processes of a host.
fn look(directory: &RunDirectory, host: usize) -> Snapshot {
    let mut processes = Processes::new(directory.clone(), Some(format!("generated{host:05}")));
    processes.read(WITHIN);
    processes.snapshot(&Guide::default(), true)
}

/// Adds the states of the hosts below.
fn merged(mut own: Snapshot, below: &[Vec<u8>], level: &mut Level) -> Result<Snapshot, String> {
    if below.is_empty() {
        return Ok(own);
    }
    // Makes the peak of memory that of now.
    std::fs::write("/proc/self/clear_refs", "5").map_err(|error| error.to_string())?;
    let process = std::process::id();
    let before = memory(process, "VmRSS:")?;
    let now = Instant::now();
    for bytes in below {
        own.merge(Snapshot::from_bytes(bytes).map_err(|error| error.to_string())?);
    }
    level.merge.push(now.elapsed().as_secs_f64() * 1e3);
    level.memory.push((memory(process, "VmHWM:")? - before).max(0.0));
    Ok(own)
}

fn cell(figures: &mut [f64]) -> String {
    if figures.is_empty() {
        return "-".to_owned();
    }
    let middle = median(figures);
    let most = figures.last().copied().unwrap_or_default();
    format!("{middle:.1} ({most:.1})")
}

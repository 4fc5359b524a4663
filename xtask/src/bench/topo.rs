//! Cost of the view of a node: reading objects, drawing, measuring and showing live, replaying.
//!
//! References are the limits that the project sets itself, and hwloc's `lstopo` where it is
//! installed, which reads and draws the same file.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use talea_model::Nanos;
use talea_sampling::{Sources, Target};
use talea_simulated::node::{Scenario, Simulated};
use talea_topo::{About, Machine, Recording, Session, recording};
use talea_topology::layout::Options;
use talea_topology::scale::Scale;
use talea_topology::svg::{Shown, ShownMonitor, picture};
use talea_topology::{MonitorInfo, Topology, xml};

use super::{built, found, heading, median, processor, scratch, spread};

const ROUNDS: usize = 11;
/// 384 PUs, as two processors of 96 cores have.
const LARGE: &str = "pack:2 die:12 l3:1(size=32MB) l2:8(size=1MB) l1d:1(size=32kB) core:1 pu:2";
/// 256 PUs.
const WATCHED: &str = "pack:2 [numa] l3:16(size=32MB) l2:4(size=1MB) l1d:1(size=32kB) core:1 pu:2";
const MONITORS: &str = "L1{ OBJ = PU; CTR = PAPI_L1_DCM; } L2{ OBJ = PU; CTR = PAPI_L2_TCM; } \
                        L3{ OBJ = PU; CTR = PAPI_L3_TCM; } IPC{ OBJ = PU; CTR = PAPI_TOT_INS; }";
const VALUES: u64 = 10_000_000;
const SECONDS: u64 = 10;
const LIVE_ROUNDS: usize = 5;

pub(crate) fn run() -> Result<(), String> {
    heading("The view of a node");
    println!(
        "Median (smallest to largest) of {ROUNDS} rounds; of live views {LIVE_ROUNDS}, each of {SECONDS} s after the first second.\n"
    );
    println!("| what | ours | limit | lstopo |\n|---|---|---|---|");
    objects()?;
    replay()?;
    live()
}

fn row(what: &str, ours: &str, limit: &str, reference: Option<String>) {
    println!("| {what} | {ours} | {limit} | {} |", reference.unwrap_or_else(|| "-".to_owned()));
}

/// Milliseconds of some rounds.
fn rounds(mut work: impl FnMut()) -> Vec<f64> {
    let mut one = || {
        let begin = Instant::now();
        work();
        begin.elapsed().as_secs_f64() * 1e3
    };
    one();
    (0..ROUNDS).map(|_| one()).collect()
}

/// The same of a whole process.
fn process_rounds(program: &str, words: &[&str]) -> Option<String> {
    if !found(program) {
        return None;
    }
    let mut figures = rounds(|| {
        let _ =
            Command::new(program).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
    });
    Some(format!("{} ms, whole process", spread(&mut figures, 1)))
}

/// A file of objects: the largest of those beside the checkout, or one of the same size.
fn largest_file(folder: &Path, large: &Topology) -> Result<PathBuf, String> {
    let data =
        std::env::var_os("TALEA_DATA").map_or_else(|| "../shared/data".into(), PathBuf::from);
    let versions = ["v1", "v2", "v3"].map(|version| data.join("hwloc").join(version));
    let files =
        versions.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let sized = files.filter_map(|file| Some((file.metadata().ok()?.len(), file.path())));
    if let Some((_, path)) = sized.max() {
        return Ok(path);
    }
    let path = folder.join("large.xml");
    std::fs::write(&path, xml::write(large, xml::Version::Two)).map_err(|e| e.to_string())?;
    Ok(path)
}

fn objects() -> Result<(), String> {
    let folder = scratch("topo")?;
    let large = Machine::synthetic(LARGE).map_err(|e| e.to_string())?.topology;
    let file = largest_file(&folder, &large)?;
    let bytes = std::fs::read(&file).map_err(|e| e.to_string())?;
    let mut read = rounds(|| drop(std::hint::black_box(xml::read(&bytes))));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let path = file.display().to_string();
    row(
        &format!("read `{name}`, {} kB", bytes.len() / 1000),
        &format!("{} ms", spread(&mut read, 2)),
        "20 ms",
        process_rounds("lstopo-no-graphics", &["-i", &path, "--of", "console"]),
    );
    let pus = large.pus();
    let shown = Shown {
        title: "benchmark".to_owned(),
        monitors: vec![ShownMonitor {
            values: (0..pus.len()).map(|at| Some((at * 37 % 101) as f64)).collect(),
            info: MonitorInfo {
                name: "MISSES".to_owned(),
                level: "PU".to_owned(),
                objects: pus,
                ..MonitorInfo::default()
            },
            scale: Scale { high: 100.0, ..Scale::default() },
            ..ShownMonitor::default()
        }],
        ..Shown::default()
    };
    let options = Options::default();
    let mut draw = rounds(|| drop(std::hint::black_box(picture(&large, &shown, &options))));
    row(
        "SVG of 384 PUs with values",
        &format!("{} ms", spread(&mut draw, 2)),
        "50 ms",
        process_rounds(
            "lstopo-no-graphics",
            &["-i", &path, "--of", "nativesvg", "-f", "/dev/null"],
        ),
    );
    Ok(())
}

/// A session on a simulated machine.
fn session(machine: &str) -> Result<Session, String> {
    let machine = Machine::synthetic(machine).map_err(|e| e.to_string())?;
    let mut sources = Sources::new();
    sources.add(Box::new(Simulated::new(&machine.topology, Scenario::Mixed, 1)));
    Session::open(machine, sources, Some(MONITORS), &Target::Machine).map_err(|e| e.to_string())
}

fn replay() -> Result<(), String> {
    let file = scratch("topo")?.join("values.talea");
    let mut session = session(LARGE)?;
    session.record_to(&file, &About::default()).map_err(|e| e.to_string())?;
    let width = 4 * session.objects(0).len() as u64;
    let begin = Instant::now();
    let frames = VALUES.div_ceil(width);
    for frame in 1..=frames {
        session.update_at(Nanos(100_000_000 * frame)).map_err(|e| e.to_string())?;
    }
    session.finish().map_err(|e| e.to_string())?;
    let wrote = begin.elapsed().as_secs_f64();
    let size = std::fs::metadata(&file).map_err(|e| e.to_string())?.len();
    let walk = |recording: &Recording| -> f64 {
        recording.frames.iter().flat_map(|frame| frame.values.iter().flatten()).sum()
    };
    let mut times: Vec<f64> = (0..3)
        .map(|_| {
            let begin = Instant::now();
            let read = recording::read(&file, None, &mut talea_model::Gaps::default())
                .map_err(|e| e.to_string())?;
            std::hint::black_box(walk(&read));
            Ok(begin.elapsed().as_secs_f64())
        })
        .collect::<Result<_, String>>()?;
    let count = frames * width;
    row(&format!("replay {count} values"), &format!("{} s", spread(&mut times, 2)), "2 s", None);
    row(
        &format!("simulate and record {count} values"),
        &format!("{wrote:.2} s, {:.2} B a value", size as f64 / count as f64),
        "-",
        None,
    );
    Ok(())
}

/// Percent of a core that the live view takes in one round; nothing where it ended early.
fn watch(topo: &str, pid: &Path) -> Result<Option<f64>, String> {
    let _ = std::fs::remove_file(pid);
    // Ended by `timeout`, whatever becomes of this process.
    let limit = SECONDS + 10;
    let line = format!(
        "stty rows 30 cols 100; timeout --foreground {limit} sh -c \"echo \\$\\$ > '{}'; {topo}\"",
        pid.display()
    );
    let mut child = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    std::thread::sleep(Duration::from_secs(1));
    let process: Option<u32> =
        std::fs::read_to_string(pid).ok().and_then(|text| text.trim().parse().ok());
    let share = process.and_then(|process| {
        let (begin, before) = (Instant::now(), processor(process).ok()?);
        std::thread::sleep(Duration::from_secs(SECONDS));
        let took = processor(process).ok()?.saturating_sub(before);
        Some(took as f64 / 1e9 / begin.elapsed().as_secs_f64() * 100.0)
    });
    if let Some(process) = process.and_then(|p| rustix::process::Pid::from_raw(p.cast_signed())) {
        let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
    }
    child.wait().map_err(|e| e.to_string())?;
    Ok(share)
}

/// The whole program for a while; `script` is its terminal.
fn live() -> Result<(), String> {
    let talea = built("talea")?.display().to_string();
    let mut updates = {
        let mut session = session(WATCHED)?;
        let mut at = 0;
        rounds(|| {
            for _ in 0..100 {
                at += 100_000_000;
                let _ = session.update_at(Nanos(at));
            }
        })
    };
    let per_update = median(&mut updates) * 10.0;
    row(
        "one update, 256 PUs x 4 counters",
        &format!("{per_update:.0} us ({:.2} % of a core at 10 Hz)", per_update / 1e3),
        "1 %",
        None,
    );
    let topo = format!(
        "exec '{talea}' topo --synthetic '{WATCHED}' --simulate mixed --every 100ms --monitor '{MONITORS}'"
    );
    let what = "live view, 256 PUs x 4 counters at 10 Hz";
    if !found("script") {
        row(what, "- (no `script`)", "1 %", None);
        return Ok(());
    }
    let pid = scratch("topo")?.join("live.pid");
    let mut shares: Vec<f64> = Vec::with_capacity(LIVE_ROUNDS);
    for _ in 0..LIVE_ROUNDS {
        shares.extend(watch(&topo, &pid)?);
    }
    let ended_early = shares.len() < LIVE_ROUNDS;
    let ours = format!("{} % of a core", spread(&mut shares, 2));
    row(what, if ended_early { "ended early" } else { &ours }, "1 %", None);
    Ok(())
}

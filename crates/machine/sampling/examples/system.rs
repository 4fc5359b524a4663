//! Samples the machine and prints what was hit, and what that cost.
//!
//! `cargo run --release -p talea-sampling --example system -- [bpf|rings|own|auto] [HZ] [SECONDS]
//! [INTERVAL]`: collects every INTERVAL seconds (1), and whenever a ring says so. With `raw` as
//! fifth word it prints a line for each file: samples, state, name of the file.
#![expect(clippy::print_stdout, reason = "a program that prints")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use talea_model::{Gaps, Nanos};
use talea_sampling::system::{self, Hit, Options, State, SystemSampler};

/// Lines of the table.
const LINES: usize = 25;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |at: usize, usual: f64| words.get(at).map_or(Ok(usual), |word| word.parse::<f64>());
    let (rate, seconds, interval) = (number(1, 1.0)?, number(2, 10.0)?, number(3, 1.0)?);
    let options = Options { period: Nanos((1e9 / rate) as u64), seed: 1, ..Options::default() };
    let mut gaps = Gaps::default();
    let before = cpu();
    let mut sampler = match words.first().map(String::as_str) {
        Some("bpf") => system::open_bpf(&options)?,
        Some("rings") => system::open_rings(&options, None)?,
        Some("own") => system::open_own(&options)?,
        _ => system::open(&options, None, &mut gaps)?,
    };
    let (opened, begin) = (cpu(), Instant::now());
    let mut hits = Vec::new();
    let mut totals: BTreeMap<(State, String, String), u64> = BTreeMap::new();
    let mut samples = 0;
    let mut cores = BTreeMap::<u32, u64>::new();
    let mut collections = 0_u64;
    while begin.elapsed().as_secs_f64() < seconds {
        let until = Instant::now() + Duration::from_secs_f64(interval);
        wait(&*sampler, until)?;
        sampler.collect(&mut hits, &mut gaps)?;
        collections += 1;
        for hit in hits.drain(..) {
            samples += hit.count;
            *cores.entry(hit.core).or_default() += hit.count;
            let (name, file) = names(&*sampler, &hit);
            *totals.entry((hit.state, name, file)).or_default() += hit.count;
        }
    }
    let elapsed = begin.elapsed().as_secs_f64();
    let running = cpu() - opened;
    let mut lines: Vec<_> = totals.into_iter().collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.1));
    if words.get(4).is_some_and(|word| word == "raw") {
        let mut files = BTreeMap::<(State, String), u64>::new();
        for ((state, _, file), count) in lines {
            *files.entry((state, file)).or_default() += count;
        }
        for ((state, file), count) in files {
            println!("{count}\t{state:?}\t{file}");
        }
    } else {
        println!("{:>8} {:>7}  {:<7} {:<16} file", "samples", "%", "state", "process");
        for ((state, name, file), count) in lines.iter().take(LINES) {
            let share = *count as f64 / samples as f64 * 100.0;
            let state = format!("{state:?}");
            println!("{count:>8} {share:>7.3}  {state:<7} {name:<16} {file}");
        }
    }
    println!(
        "# {:?}: {samples} samples of {cores:?} in {elapsed:.2} s, {collections} collections",
        sampler.name()
    );
    println!(
        "# own CPU time: {:.3} ms to open, {:.3} ms afterwards: {:.4} % of one core, {:.2} µs a sample",
        (opened - before) * 1e3,
        running * 1e3,
        running / elapsed * 100.0,
        running / samples as f64 * 1e6
    );
    let status = std::fs::read_to_string("/proc/self/status")?;
    for name in ["VmRSS:", "VmHWM:", "RssAnon:", "RssFile:", "RssShmem:"] {
        if let Some(line) = status.lines().find(|line| line.starts_with(name)) {
            println!("# {line}");
        }
    }
    for gap in &gaps {
        println!("# gap: {} ({})", gap.detail, gap.count);
    }
    Ok(())
}

/// Sleeps until a time, or until something must be collected.
fn wait(sampler: &dyn SystemSampler, until: Instant) -> Result<(), Error> {
    let descriptors = sampler.descriptors();
    let mut polled: Vec<PollFd<'_>> =
        descriptors.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let left = until.saturating_duration_since(Instant::now());
    poll(&mut polled, Some(&Timespec::try_from(left)?))?;
    Ok(())
}

fn names(sampler: &dyn SystemSampler, hit: &Hit) -> (String, String) {
    let end = hit.name.iter().position(|&byte| byte == 0).unwrap_or(16);
    let name = String::from_utf8_lossy(&hit.name[..end]).into_owned();
    let last = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let file = match (hit.state, hit.file) {
        (State::Idle, _) => return (String::new(), "[idle]".to_owned()),
        (State::Kernel, _) => "[kernel]".to_owned(),
        (State::User, Some(file)) => {
            sampler.path(file).and_then(|path| last(&path)).unwrap_or_else(|| format!("{file:?}"))
        }
        (State::User, None) => "[no file]".to_owned(),
    };
    (name, file)
}

/// CPU time of this process in seconds.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

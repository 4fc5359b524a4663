//! What a reading costs: prints a table of CPU time a reading, for each source.
//!
//! `cargo run --release -p talea-sampling --example costs`
#![expect(clippy::print_stdout, reason = "a program that prints")]

use std::fmt::Write as _;
use std::process::id;

use rustix::time::{ClockId, clock_gettime};
use talea_model::{Gaps, Nanos};
use talea_sampling::{
    CounterSource, PerfSource, ProcSource, Root, Target, discover, family, placement,
};

const TURNS: u64 = 2000;

fn main() {
    println!("{:<44} {:>7} {:>12} {:>12}", "source", "numbers", "us/reading", "ns/number");
    let own = Target::Processes { pids: vec![id()], children: false };
    let software = ["page-faults", "context-switches", "cpu-migrations", "task-clock"];
    let proc = ["proc:user", "proc:system", "proc:idle", "proc:iowait"];
    let perf = || Box::new(PerfSource::new(Root::machine()));
    let files = || Box::new(ProcSource::new(Root::machine()));
    measure("perf_event, 4 software events, machine", perf(), &software, &Target::Machine);
    measure("perf_event, 1 software event, machine", perf(), &software[..1], &Target::Machine);
    measure("perf_event, 4 software events, own process", perf(), &software, &own);
    measure("proc, 4 times of PUs", files(), &proc, &Target::Machine);
    let recorded = tempfile::tempdir().expect("a folder for a recorded text");
    let mut stat = String::from("cpu  1 2 3 4 5 6 7 8 0 0\n");
    for pu in 0..256 {
        let _ = writeln!(stat, "cpu{pu} 1234567 2 345678 91234567 5 6 7890 8 0 0");
    }
    let _ = writeln!(stat, "intr 1{}\nctxt 5", " 0".repeat(4000));
    std::fs::create_dir(recorded.path().join("proc")).expect("a folder");
    std::fs::write(recorded.path().join("proc/stat"), stat).expect("a file");
    let source = Box::new(ProcSource::new(Root::at(recorded.path())));
    measure("proc, 4 times of 256 PUs (recorded text)", source, &proc, &Target::Machine);
    measure("proc, interrupts", files(), &["proc:interrupts"], &Target::Machine);
    measure(
        "proc, 2 counters of devices",
        files(),
        &["net:*:rx_bytes", "net:*:tx_bytes"],
        &Target::Machine,
    );
    measure("proc, own process", files(), &["proc:user", "proc:system"], &own);
    let mut family = family::Family::new(&[id()], true);
    let root = Root::machine();
    let time = cpu(|| _ = placement(&root, &mut family));
    println!("{:<44} {:>7} {time:>12.2}", "placement, own process", 1);
    let begin = clock();
    let found = discover();
    let took = (clock() - begin) as f64 / 1e3;
    println!("{:<44} {:>7} {took:>12.0}", found.map_or("nothing".to_owned(), |d| d.how), 1);
}

fn measure(name: &str, mut source: Box<dyn CounterSource>, counters: &[&str], target: &Target) {
    let counters: Vec<String> = counters.iter().map(|name| (*name).to_owned()).collect();
    let mut gaps = Gaps::default();
    let opened = match source.open(&counters, target, &mut gaps) {
        Ok(opened) => opened,
        Err(error) => return println!("{name:<44} {error}"),
    };
    let mut numbers: Vec<Vec<f64>> = opened.iter().map(|o| vec![0.0; o.places.len()]).collect();
    let count: usize = numbers.iter().map(Vec::len).sum();
    let mut at = 0;
    let time = cpu(|| {
        at += 100_000_000;
        source.read(Nanos(at), &mut numbers, &mut gaps);
    });
    println!("{name:<44} {count:>7} {time:>12.2} {:>12.1}", time * 1e3 / count.max(1) as f64);
}

/// CPU time of one turn in µs, the least of five rounds.
fn cpu(mut turn: impl FnMut()) -> f64 {
    let mut round = || {
        let begin = clock();
        (0..TURNS).for_each(|_| turn());
        (clock() - begin) as f64 / 1e3 / TURNS as f64
    };
    (0..5).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn clock() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

//! Speed of reading and writing a trace of Paraver: a synthetic gigabyte, and the real traces of
//! `TALEA_DATA`.
//!
//! The reference is `pandas`, where Python has it, splitting the same lines. Rates are per second
//! of processor time, as the machine may be busy; the floor is counting line ends.

use std::path::PathBuf;
use std::process::Command;

use talea_formats::paraver::bench::{Measure, measure, synthetic};
use talea_model::Nanos;

use super::{heading, median, spread};

/// Size of the synthetic trace.
const BYTES: usize = 1 << 30;
const ROUNDS: usize = 5;

/// Processor time of this process.
fn now() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

pub(crate) fn run() -> Result<(), String> {
    heading("Traces of Paraver, on one core");
    let text = synthetic(BYTES);
    println!(
        "A synthetic trace of {} MB; median (smallest to largest) of {ROUNDS} rounds, per second of processor time.\n",
        text.len() / 1_000_000
    );
    println!("| what | GB/s |");
    println!("|---|---|");
    let rounds: Vec<Vec<Measure>> = (0..ROUNDS).map(|_| measure(&text, now)).collect();
    for at in 0..rounds.first().map_or(0, Vec::len) {
        let mut rates: Vec<f64> = rounds.iter().map(|round| round[at].rate()).collect();
        println!("| {} | {} |", rounds[0][at].what, spread(&mut rates, 2));
    }
    let sample = &text[..text.len() / 16];
    if let Some(mut rates) = pandas(sample)? {
        println!("| pandas, one sixteenth of it, split at colons | {:.3} |", median(&mut rates));
    }
    Ok(())
}

/// GB/s of pandas on the records of a text; none without it.
fn pandas(text: &[u8]) -> Result<Option<Vec<f64>>, String> {
    const PROGRAM: &str = "\
import sys, time
try:
    import pandas
except ImportError:
    sys.exit(3)
path = sys.argv[1]
size = len(open(path, 'rb').read())
for _ in range(3):
    begin = time.process_time()
    pandas.read_csv(path, sep=':', header=None, names=range(40), comment='#', low_memory=True)
    print(size / (time.process_time() - begin) / 1e9)
";
    let python = PathBuf::from("target/python/bin/python");
    if !python.exists() {
        return Ok(None);
    }
    let path = super::scratch("paraver")?.join("lines.prv");
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    std::fs::write(&path, &text[..whole]).map_err(|error| error.to_string())?;
    let output = Command::new(python).args(["-c", PROGRAM]).arg(&path).output();
    let output = output.map_err(|error| error.to_string())?;
    let _ = std::fs::remove_file(&path);
    let text = String::from_utf8_lossy(&output.stdout);
    let rates: Vec<f64> = text.lines().filter_map(|line| line.parse().ok()).collect();
    Ok((!rates.is_empty()).then_some(rates))
}

//! What samples cost: run time of whole programs with recording, without and with samples at 100 Hz.
//!
//! Both take turns, each first in every other pair, so that a machine which changes its speed changes it for both. The reference is
//! recording without samples, so that the ratio is that of samples alone. Two ranks, so that each has a core of its own on the smallest
//! machine: the helper's share is then taken from the program, not from ranks that poll in turns.

use std::process::Command;
use std::time::Instant;

use super::programs::{Program, hpcc_on_two, programs};
use super::{built, heading, output, prepared, scratch, spread};

/// Pairs of runs.
const PAIRS: usize = 9;
const RATE: &str = "task-clock=10000000";

pub(crate) fn run() -> Result<(), String> {
    heading("Run time with samples of every thread at 100 Hz, 2 ranks, Open MPI");
    println!(
        "Seconds with recording alone and with samples, the ratios of {PAIRS} pairs and those of their processor time; bytes of samples are those of all ranks.\n"
    );
    println!("| program | recorded, s | with samples, s | ratio | processor time | samples |");
    println!("|---|---|---|---|---|---|");
    let folder = scratch("sample-programs")?;
    let mut chosen = programs(&folder)?;
    chosen.retain(|program| program.name != "hpcc");
    chosen.extend(hpcc_on_two(&folder)?);
    for Program { name, words, .. } in chosen {
        let mut seconds: [Vec<f64>; 2] = Default::default();
        let mut processor: [Vec<f64>; 2] = Default::default();
        let mut bytes = 0;
        for pair in 0..=PAIRS {
            for turn in 0..2 {
                let sampled = (pair + turn) % 2;
                let before = processor_seconds()?;
                let took = timed(&words, sampled == 1, &mut bytes)?;
                // The first pair warms caches up.
                if pair > 0 {
                    seconds[sampled].push(took);
                    processor[sampled].push(processor_seconds()? - before);
                }
            }
        }
        let mut ratios = ratios_of_pairs(&seconds);
        let [without, with] = &mut seconds;
        println!(
            "| {name} | {} | {} | {} | {} | {:.1} kB |",
            spread(without, 2),
            spread(with, 2),
            spread(&mut ratios, 3),
            spread(&mut ratios_of_pairs(&processor), 3),
            bytes as f64 / 1e3,
        );
    }
    Ok(())
}

/// With samples by without, for each pair.
fn ratios_of_pairs([without, with]: &[Vec<f64>; 2]) -> Vec<f64> {
    with.iter().zip(without).map(|(with, without)| with / without).collect()
}

/// Processor time of all processes that were started and have ended: `cutime` and `cstime` of proc(5), in hundredths of a second.
fn processor_seconds() -> Result<f64, String> {
    let text = std::fs::read_to_string("/proc/self/stat").map_err(|e| e.to_string())?;
    // The name in parentheses may hold anything; what follows it begins with field 3.
    let (_, fields) = text.rsplit_once(')').ok_or("no name in `/proc/self/stat`")?;
    let ticks = fields.split_whitespace().skip(13).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>().map_err(|e| format!("{e}: `/proc/self/stat`"))? / 100.0)
}

/// Seconds of one run; `bytes` becomes the size of its files of samples, if there are any.
fn timed(words: &[String], sampled: bool, bytes: &mut u64) -> Result<f64, String> {
    let folder = scratch("sample")?;
    let samples = folder.join("samples");
    for part in [&folder.join("live"), &samples] {
        let _ = std::fs::remove_dir_all(part);
        std::fs::create_dir_all(part).map_err(|e| format!("{e}: `{}`", part.display()))?;
    }
    let mut command = Command::new("mpirun.openmpi");
    prepared(&mut command).current_dir(&folder).args(["-n", "2", "env"]);
    command.arg(format!("TALEA_LIVE={}", folder.join("live").display()));
    command.arg(format!("LD_PRELOAD={}", built("libtalea_mpi.so")?.display()));
    if sampled {
        command.arg(format!("TALEA_SAMPLES={}", samples.display()));
        command.arg(format!("TALEA_SAMPLE={RATE}"));
    }
    command.args(words);
    let begin = Instant::now();
    output(&mut command)?;
    let took = begin.elapsed().as_secs_f64();
    if sampled {
        let files = std::fs::read_dir(&samples).map_err(|e| e.to_string())?.flatten();
        *bytes = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    }
    Ok(took)
}

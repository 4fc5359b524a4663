//! What samples cost: run time of whole programs with recording, without and with samples at 100 Hz.
//!
//! Both take turns, each first in every other pair, so that a machine which changes its speed changes it for both. The reference is
//! recording without samples, so that the ratio is that of samples alone.

use std::process::Command;
use std::time::Instant;

use super::programs::{Program, programs};
use super::{built, heading, output, prepared, scratch, spread};

/// Pairs of runs.
const PAIRS: usize = 9;
const RATE: &str = "task-clock=10000000";

pub(crate) fn run() -> Result<(), String> {
    heading("Run time with samples of every thread at 100 Hz, 4 ranks, Open MPI");
    println!(
        "Seconds with recording alone and with samples, and the ratios of {PAIRS} pairs; bytes of samples are those of all ranks.\n"
    );
    println!("| program | recorded, s | with samples, s | ratio | samples |");
    println!("|---|---|---|---|---|");
    let folder = scratch("sample-programs")?;
    for Program { name, words, ranks } in programs(&folder)? {
        let mut seconds: [Vec<f64>; 2] = Default::default();
        let mut bytes = 0;
        for pair in 0..=PAIRS {
            for turn in 0..2 {
                let sampled = (pair + turn) % 2;
                let took = timed(ranks, &words, sampled == 1, &mut bytes)?;
                // The first pair warms caches up.
                if pair > 0 {
                    seconds[sampled].push(took);
                }
            }
        }
        let [without, with] = &mut seconds;
        let mut ratios: Vec<f64> =
            with.iter().zip(without.iter()).map(|(with, without)| with / without).collect();
        println!(
            "| {name} | {} | {} | {} | {:.1} kB |",
            spread(without, 2),
            spread(with, 2),
            spread(&mut ratios, 3),
            bytes as f64 / 1e3,
        );
    }
    Ok(())
}

/// Seconds of one run; `bytes` becomes the size of its files of samples, if there are any.
fn timed(ranks: &str, words: &[String], sampled: bool, bytes: &mut u64) -> Result<f64, String> {
    let folder = scratch("sample")?;
    let samples = folder.join("samples");
    for part in [&folder.join("live"), &samples] {
        let _ = std::fs::remove_dir_all(part);
        std::fs::create_dir_all(part).map_err(|e| format!("{e}: `{}`", part.display()))?;
    }
    let mut command = Command::new("mpirun.openmpi");
    prepared(&mut command).current_dir(&folder).args(["-n", ranks, "env"]);
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

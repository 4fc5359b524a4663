//! Cost of samples: run time of whole programs with recording, without samples, at 1 Hz, and at 100
//! Hz.
//!
//! All take turns, in the other order in every other round, so that a machine which changes its
//! speed changes it for all. At 1 Hz nearly nothing is sampled: what that takes more is what it
//! takes to begin (unwind tables, buffers, a thread), once for each process however long it runs;
//! the ratio of 100 Hz to 1 Hz is that of samples. Two ranks, so that each has a core of its own on
//! the smallest machine: the helper's share is then taken from the program, not from ranks that
//! poll in turns.

use std::process::Command;
use std::time::Instant;

use super::programs::{Program, hpcc_on_two, programs};
use super::{built, heading, output, prepared, scratch, spread};

const ROUNDS: usize = 9;
/// Periods of the thread's own time: none, 1 s, 10 ms.
const WAYS: [Option<&str>; 3] = [None, Some("task-clock=1000000000"), Some("task-clock=10000000")];

/// Of one run.
#[derive(Clone, Copy, Default)]
struct Took {
    seconds: f64,
    processor: f64,
    /// Of all files of samples.
    bytes: u64,
}

pub(crate) fn run() -> Result<(), String> {
    heading("Run time with samples of every thread, 2 ranks, Open MPI");
    println!(
        "Seconds with recording alone; what samples at 1 Hz take more, which is what it takes to begin; ratios of 100 Hz to 1 Hz in run time and in \
         processor time. Median (smallest to largest) of {ROUNDS} rounds; bytes of samples at 100 Hz are those of all ranks.\n"
    );
    println!(
        "| program | recorded, s | to begin, ms | 100 Hz, run time | 100 Hz, processor time | samples |"
    );
    println!("|---|---|---|---|---|---|");
    let folder = scratch("sample-programs")?;
    let mut chosen = programs(&folder)?;
    chosen.retain(|program| program.name != "hpcc");
    chosen.extend(hpcc_on_two(&folder)?);
    for Program { name, words, .. } in chosen {
        let mut rounds: Vec<[Took; WAYS.len()]> = Vec::new();
        for round in 0..=ROUNDS {
            let mut took = [Took::default(); WAYS.len()];
            for turn in 0..WAYS.len() {
                let way = if round % 2 == 0 { turn } else { WAYS.len() - 1 - turn };
                took[way] = timed(&words, WAYS[way])?;
            }
            // The first round warms caches up.
            if round > 0 {
                rounds.push(took);
            }
        }
        let of = |value: fn(&[Took; WAYS.len()]) -> f64| -> Vec<f64> {
            rounds.iter().map(value).collect()
        };
        println!(
            "| {name} | {} | {} | {} | {} | {:.1} kB |",
            spread(&mut of(|[without, ..]| without.seconds), 2),
            spread(&mut of(|[without, few, _]| (few.seconds - without.seconds) * 1e3), 0),
            spread(&mut of(|[_, few, many]| many.seconds / few.seconds), 3),
            spread(&mut of(|[_, few, many]| many.processor / few.processor), 3),
            rounds.last().map_or(0, |[_, _, many]| many.bytes) as f64 / 1e3,
        );
    }
    Ok(())
}

/// Processor time of all processes that were started and have ended: `cutime` and `cstime` of
/// proc(5), in hundredths of a second.
fn processor_seconds() -> Result<f64, String> {
    let text = std::fs::read_to_string("/proc/self/stat").map_err(|e| e.to_string())?;
    // The name in parentheses may hold anything; what follows it begins with field 3.
    let (_, fields) = text.rsplit_once(')').ok_or("no name in `/proc/self/stat`")?;
    let ticks = fields.split_whitespace().skip(13).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>().map_err(|e| format!("{e}: `/proc/self/stat`"))? / 100.0)
}

fn timed(words: &[String], period: Option<&str>) -> Result<Took, String> {
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
    if let Some(period) = period {
        command.arg(format!("TALEA_SAMPLES={}", samples.display()));
        command.arg(format!("TALEA_SAMPLE={period}"));
    }
    command.args(words);
    let (begin, before) = (Instant::now(), processor_seconds()?);
    output(&mut command)?;
    let (seconds, processor) = (begin.elapsed().as_secs_f64(), processor_seconds()? - before);
    let files = std::fs::read_dir(&samples).map_err(|e| e.to_string())?.flatten();
    let bytes = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    Ok(Took { seconds, processor, bytes })
}

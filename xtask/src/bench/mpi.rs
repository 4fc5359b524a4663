//! What recording costs: nanoseconds added to a call, and run time added to real programs.
//!
//! The reference is `EZTrace` where it is installed (Debian package `eztrace`), and no tool at all. Rounds of all
//! candidates take turns, so that a machine which changes its speed changes it for all.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use talea_run::RunDirectory;
use talea_run::trace::pack_left_behind;

use super::programs::{Program, hpcc_on_two, programs};
use super::{built, found, heading, median, output, prepared, scratch, spread};

const ROUNDS: usize = 5;
/// Rounds of whole programs, which differ more from run to run.
const PROGRAM_ROUNDS: usize = 7;

pub(crate) fn run() -> Result<(), String> {
    calls()?;
    whole_programs()
}

#[derive(Clone, Copy, PartialEq)]
enum Tool {
    None,
    Talea,
    /// Ranks bring their records together in `MPI_Finalize`.
    TaleaRanks,
    EzTrace,
}

fn command(mpi: &str, ranks: &str, tool: Tool, words: &[String]) -> Result<Command, String> {
    let mut command = Command::new(format!("mpirun.{mpi}"));
    prepared(&mut command).args(["-n", ranks]);
    if ranks == "1" {
        // A rank that has its core alone need not give it to others whenever it finds nothing.
        command.env("OMPI_MCA_mpi_yield_when_idle", "0");
    }
    let folder = scratch("calls")?;
    command.current_dir(&folder);
    match tool {
        Tool::None => {}
        Tool::Talea | Tool::TaleaRanks => {
            let out = folder.join("out");
            let live = out.join("live");
            let _ = std::fs::remove_dir_all(&out);
            std::fs::create_dir_all(&live).map_err(|e| e.to_string())?;
            // What tells a run directory.
            std::fs::write(out.join("run.json"), "{}").map_err(|e| e.to_string())?;
            command.arg("env");
            let library = built("libtalea_mpi.so")?;
            command.arg(format!("TALEA_LIVE={}", live.display()));
            command.arg(format!("LD_PRELOAD={}", library.display()));
            command.arg(format!("TALEA_OUT={}", out.display()));
            let merge = if tool == Tool::Talea { "auto" } else { "ranks" };
            command.arg(format!("TALEA_MERGE={merge}"));
        }
        Tool::EzTrace => {
            command.args(["eztrace", "-t", mpi]);
        }
    }
    command.args(words);
    Ok(command)
}

/// Nanoseconds of two readings of the clock, which no tool that keeps begin and end can do without.
fn clock_floor() -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            let mut sum = 0_u64;
            for _ in 0..2_000_000 {
                // SAFETY: every x86-64 processor has the instruction.
                let (begin, end) =
                    unsafe { (std::arch::x86_64::_rdtsc(), std::arch::x86_64::_rdtsc()) };
                sum = sum.wrapping_add(begin ^ end);
            }
            std::hint::black_box(sum);
            begin.elapsed().as_nanos() as f64 / 2e6
        })
        .collect();
    median(&mut rounds)
}

fn calls() -> Result<(), String> {
    heading("Nanoseconds that recording adds to a call");
    println!(
        "Two readings of the clock alone: {:.1} ns. Median (smallest to largest) of {ROUNDS} rounds.\n",
        clock_floor()
    );
    println!("| MPI | call | without | talea adds | eztrace adds |\n|---|---|---|---|---|");
    for mpi in ["openmpi", "mpich"] {
        if !found(&format!("mpirun.{mpi}")) {
            continue;
        }
        let mut figures: BTreeMap<(String, u8), Vec<f64>> = BTreeMap::new();
        let tools: &[Tool] = if found("eztrace") {
            &[Tool::None, Tool::Talea, Tool::EzTrace]
        } else {
            &[Tool::None, Tool::Talea]
        };
        for _ in 0..ROUNDS {
            for program in [&["calls"][..], &["signatures"], &["signatures", "--same-site"]] {
                let path = std::path::absolute(format!("apps/bin/{mpi}/{}", program[0]))
                    .map_err(|e| e.to_string())?;
                let mut words = vec![path.display().to_string()];
                words.extend(program[1..].iter().map(|&w| w.to_owned()));
                for &tool in tools {
                    let text = output(&mut command(mpi, "1", tool, &words)?)?;
                    for line in text.lines() {
                        let mut fields = line.split('\t');
                        if let (Some(name), Some(Ok(value))) =
                            (fields.next(), fields.next().map(str::parse))
                        {
                            figures.entry((name.to_owned(), tool as u8)).or_default().push(value);
                        }
                    }
                }
            }
        }
        let names: Vec<String> =
            figures.keys().filter(|(_, t)| *t == 0).map(|(n, _)| n.clone()).collect();
        for name in names {
            let mut without = figures[&(name.clone(), 0)].clone();
            let base = median(&mut without);
            let added = |tool: Tool| {
                let mut with =
                    figures.get(&(name.clone(), tool as u8)).cloned().unwrap_or_default();
                for figure in &mut with {
                    *figure -= base;
                }
                spread(&mut with, 1)
            };
            let (talea, eztrace) = (added(Tool::Talea), added(Tool::EzTrace));
            println!("| {mpi} | {name} | {} | {talea} | {eztrace} |", spread(&mut without, 1));
        }
    }
    Ok(())
}

/// Seconds that bringing the records of a run together takes.
fn bring_together(out: &Path) -> Result<f64, String> {
    let directory = RunDirectory::open(out).map_err(|error| error.to_string())?;
    let begin = Instant::now();
    pack_left_behind(&directory).map_err(|error| error.to_string())?;
    Ok(begin.elapsed().as_secs_f64())
}

fn whole_programs() -> Result<(), String> {
    heading("Run time of whole programs, 4 ranks unless said otherwise, Open MPI");
    println!(
        "Seconds without and with recording, and ratios round by round; median (smallest to largest) of {PROGRAM_ROUNDS} rounds. *Afterwards* is what `talea run` then takes to bring the ranks' \
         records together; with `--merge ranks`, and always on several hosts, ranks do it in `MPI_Finalize`.\n"
    );
    println!(
        "| program | without, s | with talea, s | ratio | afterwards, s | ratio with `--merge ranks` |"
    );
    println!("|---|---|---|---|---|---|");
    let folder = scratch("programs")?;
    for Program { name, words, ranks } in
        programs(&folder)?.into_iter().chain(hpcc_on_two(&folder)?)
    {
        let tools = [Tool::None, Tool::Talea, Tool::TaleaRanks];
        let mut seconds: [Vec<f64>; 3] = Default::default();
        let mut after = Vec::new();
        for round in 0..=PROGRAM_ROUNDS {
            for (seconds, tool) in seconds.iter_mut().zip(tools) {
                let mut command = command("openmpi", ranks, tool, &words)?;
                let begin = Instant::now();
                output(&mut command)?;
                // The first round warms caches up.
                if round > 0 {
                    seconds.push(begin.elapsed().as_secs_f64());
                }
                if round > 0 && tool == Tool::Talea {
                    after.push(bring_together(&scratch("calls")?.join("out"))?);
                }
            }
        }
        let ratios = |with: &[f64]| -> Vec<f64> {
            with.iter().zip(&seconds[0]).map(|(with, without)| with / without).collect()
        };
        let (mut all, mut ranks) = (ratios(&seconds[1]), ratios(&seconds[2]));
        println!(
            "| {name} | {} | {} | {} | {} | {} |",
            spread(&mut seconds[0].clone(), 2),
            spread(&mut seconds[1].clone(), 2),
            spread(&mut all, 3),
            spread(&mut after, 3),
            spread(&mut ranks, 3),
        );
    }
    Ok(())
}

//! Cost of recording: nanoseconds added to a call, and run time added to real programs.
//!
//! The reference is `EZTrace` where it is installed (Debian package `eztrace`), and no tool at all.
//! Rounds of all candidates take turns, so that a machine which changes its speed changes it for
//! all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use talea_run::RunDirectory;
use talea_run::trace::pack_left_behind;

use super::programs::{Program, hpcc_on_two, programs};
use super::{
    before, built, built_before, found, heading, median, output, prepared, scratch, spread,
};

const ROUNDS: usize = 5;
/// Rounds of whole programs, which differ more from run to run.
const PROGRAM_ROUNDS: usize = 7;

pub(crate) fn run() -> Result<(), String> {
    calls()?;
    requests()?;
    whole_programs()
}

/// The tool beside a program.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Tool {
    None,
    Talea,
    /// Times are kept to the nanosecond.
    TaleaExact,
    /// Ranks bring their records together in `MPI_Finalize`.
    TaleaRanks,
    /// The build of [`super::before`].
    Before,
    EzTrace,
}

/// Starts a program under a tool, without what `talea run` does before and after it.
pub(super) fn command(
    mpi: &str,
    ranks: &str,
    tool: Tool,
    words: &[String],
) -> Result<Command, String> {
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
        Tool::Talea | Tool::TaleaExact | Tool::TaleaRanks | Tool::Before => {
            let out = folder.join("out");
            let live = out.join("live");
            let _ = std::fs::remove_dir_all(&out);
            std::fs::create_dir_all(&live).map_err(|e| e.to_string())?;
            // File that identifies a run directory.
            std::fs::write(out.join("run.json"), "{}").map_err(|e| e.to_string())?;
            command.arg("env");
            let built = if tool == Tool::Before { built_before } else { built };
            let library = built("libtalea_mpi.so")?;
            command.arg(format!("TALEA_LIVE={}", live.display()));
            command.arg(format!("LD_PRELOAD={}", library.display()));
            command.arg(format!("TALEA_OUT={}", out.display()));
            if tool == Tool::TaleaExact {
                command.arg("TALEA_TIMES=exact");
            }
            let merge = if tool == Tool::TaleaRanks { "ranks" } else { "auto" };
            command.arg(format!("TALEA_MERGE={merge}"));
        }
        Tool::EzTrace => {
            command.args(["eztrace", "-t", mpi]);
        }
    }
    command.args(words);
    Ok(command)
}

/// Nanoseconds a call with a tool: those of each round, by name of the call and tool.
type Figures = BTreeMap<(String, u8), Vec<f64>>;

/// The row that is no call: two readings of the clock and 16 stored bytes.
const FLOOR: &str = "floor";

pub(crate) fn calls() -> Result<(), String> {
    heading("Nanoseconds that recording adds to a call");
    println!(
        "Median (smallest to largest) of {ROUNDS} rounds; with times within bounds, as by default, and with `--times exact`. The floor is what \
         two readings of the time stamp counter and 16 stored bytes take in a loop of the same program: no tool that keeps begin and end of \
         each call can do without. Calls whose names end in `_deep` are made below ten functions.{}\n",
        if before().is_some() { " *Before* is the version that `TALEA_BEFORE` names." } else { "" }
    );
    println!(
        "| MPI | call | without | before adds | talea adds | of the floor | exact times add | eztrace adds |\n|---|---|---|---|---|---|---|---|"
    );
    for mpi in ["openmpi", "mpich"] {
        if !found(&format!("mpirun.{mpi}")) {
            continue;
        }
        let figures = figures(mpi)?;
        let of = |name: &str, tool: Tool| {
            figures.get(&(name.to_owned(), tool as u8)).cloned().unwrap_or_default()
        };
        let floor = median(&mut of(FLOOR, Tool::None));
        for (name, _) in figures.keys().filter(|(_, tool)| *tool == Tool::None as u8) {
            let mut without = of(name, Tool::None);
            if name == FLOOR {
                println!("| {mpi} | {name} | {} | | | 1.00 | | |", spread(&mut without, 1));
                continue;
            }
            let base = median(&mut without);
            let added = |tool: Tool| -> Vec<f64> {
                of(name, tool).into_iter().map(|figure| figure - base).collect()
            };
            let ratio = median(&mut added(Tool::Talea)) / floor;
            let [before, talea, exact, eztrace] =
                [Tool::Before, Tool::Talea, Tool::TaleaExact, Tool::EzTrace]
                    .map(|tool| spread(&mut added(tool), 1));
            println!(
                "| {mpi} | {name} | {} | {before} | {talea} | {ratio:.2} | {exact} | {eztrace} |",
                spread(&mut without, 1)
            );
        }
    }
    Ok(())
}

fn figures(mpi: &str) -> Result<Figures, String> {
    let mut figures = Figures::new();
    let mut tools = vec![Tool::None, Tool::Talea, Tool::TaleaExact];
    tools.extend(found("eztrace").then_some(Tool::EzTrace));
    tools.extend(before().map(|_| Tool::Before));
    for _ in 0..ROUNDS {
        for program in [&["calls"][..], &["signatures"], &["signatures", "--same-site"]] {
            let path = std::path::absolute(format!("apps/bin/{mpi}/{}", program[0]))
                .map_err(|e| e.to_string())?;
            let mut words = vec![path.display().to_string()];
            words.extend(program[1..].iter().map(|&w| w.to_owned()));
            for &tool in &tools {
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
    Ok(figures)
}

/// Long lists of requests; each call completes one or some.
pub(crate) fn requests() -> Result<(), String> {
    heading("Receives that calls about all of them complete in random order, 1 rank, Open MPI");
    println!(
        "Receives are posted in lists. Seconds are those of sends and of the calls that complete them; median of {ROUNDS} rounds. Bytes are those of \
         the trace, for each of its events.\n"
    );
    println!(
        "| calls | list | requests | without, s | before, s | with talea, s | before added to a request, ns | added, ns | ratio before | ratio | bytes an \
         event before | bytes an event |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let program = std::path::absolute("apps/bin/openmpi/requests").map_err(|e| e.to_string())?;
    // With more the library itself takes minutes to match messages with receives.
    let sizes = [(100_u32, 100_000_u32), (2000, 100_000), (6000, 18_000), (20_000, 20_000)];
    for (way, (list, count)) in
        ["any", "some", "testsome"].into_iter().flat_map(|way| sizes.map(|size| (way, size)))
    {
        let words =
            [program.display().to_string(), way.to_owned(), count.to_string(), list.to_string()];
        let drained = |tool: Tool| -> Result<f64, String> {
            let text = output(&mut command("openmpi", "1", tool, &words)?)?;
            let value = text.trim().rsplit('\t').next().and_then(|last| last.parse().ok());
            value.ok_or_else(|| format!("requests prints `{}`", text.trim()))
        };
        let (mut without, mut earlier, mut with) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            without.push(drained(Tool::None)?);
            if before().is_some() {
                earlier.push(drained(Tool::Before)?);
            }
            with.push(drained(Tool::Talea)?);
        }
        let bytes = bytes_of_an_event(built, &words)?;
        let bytes_before = before().map(|_| bytes_of_an_event(built_before, &words)).transpose()?;
        let [without, earlier, with] = [without, earlier, with].map(|mut all| median(&mut all));
        let added = |with: f64| (with - without) * 1e9 / f64::from(count);
        let cell = |value: f64, digits: usize| {
            if value.is_finite() { format!("{value:.digits$}") } else { "-".to_owned() }
        };
        println!(
            "| {way} | {list} | {count} | {without:.4} | {} | {with:.4} | {} | {:.0} | {} | {:.2} | {} | {} |",
            cell(earlier, 4),
            cell(added(earlier), 0),
            added(with),
            cell(earlier / without, 2),
            with / without,
            cell(bytes_before.unwrap_or(f64::NAN), 1),
            cell(bytes, 1),
        );
    }
    Ok(())
}

/// Bytes of the trace for each of its events, as that version's `talea show RUN stats` counts them.
fn bytes_of_an_event(
    built: fn(&str) -> Result<PathBuf, String>,
    words: &[String],
) -> Result<f64, String> {
    let run = scratch("requests")?.join("run");
    let _ = std::fs::remove_dir_all(&run);
    let mut record = Command::new(built("talea")?);
    prepared(&mut record).env("TALEA_MPI_LIBRARY", built("libtalea_mpi.so")?);
    record.args(["run", "--no-report", "--out"]).arg(&run).args([
        "--",
        "mpirun.openmpi",
        "-n",
        "1",
    ]);
    output(record.args(words))?;
    let mut show = Command::new(built("talea")?);
    let text = output(show.arg("show").arg(&run).args(["stats", "--json"]))?;
    let stats: serde_json::Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let of = |key: &str| stats[key].as_f64().unwrap_or(f64::NAN);
    Ok(of("bytes_total") / of("events").max(1.0))
}

/// Seconds that bringing the records of a run together takes.
fn bring_together(out: &Path) -> Result<f64, String> {
    let directory = RunDirectory::open(out).map_err(|error| error.to_string())?;
    let begin = Instant::now();
    pack_left_behind(&directory).map_err(|error| error.to_string())?;
    Ok(begin.elapsed().as_secs_f64())
}

pub(crate) fn whole_programs() -> Result<(), String> {
    heading("Run time of whole programs, 4 ranks unless said otherwise, Open MPI");
    println!(
        "Seconds without and with recording, and ratios round by round; median (smallest to largest) of {PROGRAM_ROUNDS} rounds. *Afterwards* is what `talea run` then takes to bring the ranks' \
         records together; with `--merge ranks`, and on several hosts without observers, ranks do it in `MPI_Finalize`.\n"
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

//! Programs whose loops are known, beside what Talea prints of them: `cargo xtask bench truth`.
//!
//! Owns the table. The truth is what a program notes of itself (`apps/truth`), and both sides have
//! the form in which the integration tests compare them.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::mpi::{Tool, command};
use super::truth_form::programs::{PROGRAMS, Program};
use super::truth_form::{build, log, main_iterations, printed, text};
use super::{built, found, heading, median, output, prepared, scratch};

/// Pairs of runs, without and with recording.
const PAIRS: usize = 3;
const RANKS: u32 = 4;

/// The output for each program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// A row.
    Rows,
    /// A row, and behind the table both trees beside each other.
    Trees,
}

pub(crate) fn run(wanted: Output) -> Result<(), String> {
    heading("Loops of programs as they are and as they are printed");
    println!(
        "{RANKS} ranks, rank 0; of `threads` the second thread. *Ratio*: run time with recording by run time without, \
         median of {PAIRS} pairs.\n"
    );
    println!(
        "| program | MPI | ranks | main loop, truth | main loop, printed | tree equal | nodes printed | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut trees = String::new();
    for mpi in ["openmpi", "mpich"] {
        if !found(&format!("mpirun.{mpi}")) {
            continue;
        }
        for Program { name, words, few, threads, .. } in PROGRAMS {
            let path = Path::new("apps/bin").join(mpi).join("truth").join(name);
            if !path.exists() {
                println!("| {name} | {mpi} | - | not built | - | - | - | - |");
                continue;
            }
            let path = std::path::absolute(path).map_err(|e| e.to_string())?;
            let words = if mpi == "mpich" { few } else { words };
            let row = measure(mpi, &path, words, u32::from(threads > 1))?;
            let main =
                |count: Option<u64>| count.map_or_else(|| "none".to_owned(), |n| n.to_string());
            let equal = if row.truth == row.printed { "yes" } else { "no" };
            println!(
                "| {name} | {mpi} | {RANKS} | {} | {} | {equal} | {} | {:.3} |",
                main(row.main_truth),
                main(row.main_printed),
                row.nodes,
                row.ratio
            );
            // Writing to a string cannot fail.
            let _ = write!(trees, "\n{name}, {mpi}\n\n{}", beside(&row.truth, &row.printed));
        }
    }
    if wanted == Output::Trees {
        println!("{trees}");
    }
    Ok(())
}

struct Row {
    truth: String,
    printed: String,
    main_truth: Option<u64>,
    main_printed: Option<u64>,
    nodes: usize,
    ratio: f64,
}

fn measure(mpi: &str, program: &Path, words: &[&str], thread: u32) -> Result<Row, String> {
    let folder = scratch("truth")?;
    let out = folder.join("out");
    let all: Vec<String> = [program.display().to_string()]
        .into_iter()
        .chain(words.iter().map(|&w| w.to_owned()))
        .collect();
    let seconds = |tool| -> Result<f64, String> {
        let mut command = command(mpi, &RANKS.to_string(), tool, &all)?;
        let begin = Instant::now();
        output(&mut command)?;
        Ok(begin.elapsed().as_secs_f64())
    };
    let mut ratios = Vec::new();
    for _ in 0..PAIRS {
        let without = seconds(Tool::None)?;
        ratios.push(seconds(Tool::Talea)? / without);
    }
    let notes = folder.join("notes");
    let _ = std::fs::remove_dir_all(&notes);
    std::fs::create_dir_all(&notes).map_err(|e| e.to_string())?;
    record(mpi, &all, &out, &notes)?;
    let noted = std::fs::read_to_string(notes.join(format!("0.{thread}.truth")));
    let truth = build::tree(&log::read(&noted.map_err(|e| e.to_string())?)?)?;
    let run = out.display().to_string();
    let view = output(Command::new(built("talea")?).args(printed::command(&run, 0, thread)))?;
    let document = serde_json::from_str(&view).map_err(|e| e.to_string())?;
    let prv = folder.join("trace.prv");
    output(Command::new(built("talea")?).args(["convert", &run]).arg(&prv))?;
    let trace = std::fs::read_to_string(&prv).map_err(|e| e.to_string())?;
    Ok(Row {
        truth: text(&truth),
        printed: text(&printed::tree(&document)?),
        main_truth: main_iterations(&truth),
        main_printed: printed::main_iterations(&trace, 0, thread),
        nodes: nodes(&document[0]["tree"]),
        ratio: median(&mut ratios),
    })
}

/// Records a program that notes what it does.
fn record(mpi: &str, words: &[String], out: &Path, notes: &Path) -> Result<(), String> {
    let _ = std::fs::remove_dir_all(out);
    let mut command = Command::new(built("talea")?);
    prepared(&mut command).env("TALEA_MPI_LIBRARY", built("libtalea_mpi.so")?);
    command.args(["run", "--no-report", "--out"]).arg(out).arg("--");
    command.args([&format!("mpirun.{mpi}"), "-n", &RANKS.to_string()]);
    command.arg("env").arg(format!("TRUTH_DIR={}", notes.display())).args(words);
    output(&mut command).map(drop)
}

/// Nodes of a printed tree, sequences included.
fn nodes(tree: &serde_json::Value) -> usize {
    1 + tree["children"].as_array().map_or(0, |list| list.iter().map(nodes).sum())
}

/// Two trees beside each other; what stands in neither the same line is marked.
fn beside(truth: &str, printed: &str) -> String {
    let (left, right): (Vec<&str>, Vec<&str>) =
        (truth.lines().collect(), printed.lines().collect());
    let width = left.iter().map(|line| line.len()).max().unwrap_or(0).max("truth".len());
    let row = |a: &str, sign: char, b: &str| {
        format!("{a:width$} {sign} {b}").trim_end().to_owned() + "\n"
    };
    let mut text = row("truth", ' ', "printed");
    for at in 0..left.len().max(right.len()) {
        let (a, b) = (left.get(at).copied().unwrap_or(""), right.get(at).copied().unwrap_or(""));
        text += &row(a, if a == b { ' ' } else { '|' }, b);
    }
    text
}

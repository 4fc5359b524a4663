//! Programs whose loops are known, beside what Talea prints of them: `cargo xtask bench truth`.
//!
//! Owns the table. The truth is what a program notes of itself (`apps/truth`), and both sides have
//! the form in which the integration tests compare them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::mpi::{Tool, command};
use super::truth_form::programs::{PROGRAMS, Program};
use super::truth_form::{build, log, main_iterations, printed, text};
use super::{before, built, built_before, found, heading, median, output, prepared, scratch};

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
         median of {PAIRS} pairs.{}\n",
        if before().is_some() { " *Before* is the version that `TALEA_BEFORE` names." } else { "" }
    );
    println!(
        "| program | MPI | ranks | main loop, truth | printed before | printed | tree equal before | tree equal | nodes printed | ratio before | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let mut trees = String::new();
    for mpi in ["openmpi", "mpich"] {
        if !found(&format!("mpirun.{mpi}")) {
            continue;
        }
        for Program { name, words, few, threads, .. } in PROGRAMS {
            let path = Path::new("apps/bin").join(mpi).join("truth").join(name);
            if !path.exists() {
                println!("| {name} | {mpi} | - | not built | - | - | - | - | - | - | - |");
                continue;
            }
            let path = std::path::absolute(path).map_err(|e| e.to_string())?;
            let words = if mpi == "mpich" { few } else { words };
            let row = measure(mpi, &path, words, u32::from(threads > 1))?;
            let main =
                |count: Option<u64>| count.map_or_else(|| "none".to_owned(), |n| n.to_string());
            let equal = |seen: &Seen| if row.truth == seen.printed { "yes" } else { "no" };
            let (earlier, own) = (row.before.as_ref(), &row.own);
            println!(
                "| {name} | {mpi} | {RANKS} | {} | {} | {} | {} | {} | {} | {} | {:.3} |",
                main(row.main_truth),
                earlier.map_or_else(|| "-".to_owned(), |seen| main(seen.main)),
                main(own.main),
                earlier.map_or("-", equal),
                equal(own),
                own.nodes,
                earlier.map_or_else(|| "-".to_owned(), |seen| format!("{:.3}", seen.ratio)),
                own.ratio
            );
            // Writing to a string cannot fail.
            let _ = write!(trees, "\n{name}, {mpi}\n\n{}", beside(&row.truth, &row.own.printed));
        }
    }
    if wanted == Output::Trees {
        println!("{trees}");
    }
    Ok(())
}

struct Row {
    truth: String,
    main_truth: Option<u64>,
    own: Seen,
    before: Option<Seen>,
}

/// A program as one version prints it, and the run time with its recording by that without.
struct Seen {
    printed: String,
    main: Option<u64>,
    nodes: usize,
    ratio: f64,
}

fn measure(mpi: &str, program: &Path, words: &[&str], thread: u32) -> Result<Row, String> {
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
    let (mut ratios, mut ratios_before) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let without = seconds(Tool::None)?;
        ratios.push(seconds(Tool::Talea)? / without);
        if before().is_some() {
            ratios_before.push(seconds(Tool::Before)? / without);
        }
    }
    let notes = scratch("truth")?.join("notes");
    let mut own = seen(built, mpi, &all, thread, &notes)?;
    own.ratio = median(&mut ratios);
    let noted = std::fs::read_to_string(notes.join(format!("0.{thread}.truth")));
    let truth = build::tree(&log::read(&noted.map_err(|e| e.to_string())?)?)?;
    let before = before().map(|_| seen(built_before, mpi, &all, thread, &notes)).transpose()?;
    let ratio = median(&mut ratios_before);
    Ok(Row {
        truth: text(&truth),
        main_truth: main_iterations(&truth),
        own,
        before: before.map(|seen| Seen { ratio, ..seen }),
    })
}

type Built = fn(&str) -> Result<PathBuf, String>;

/// Records a program that notes its loops, with the files of one version, and reads what that
/// prints of it.
fn seen(
    built: Built,
    mpi: &str,
    words: &[String],
    thread: u32,
    notes: &Path,
) -> Result<Seen, String> {
    let folder = scratch("truth")?;
    let (out, prv) = (folder.join("out"), folder.join("trace.prv"));
    for path in [&out, notes] {
        let _ = std::fs::remove_dir_all(path);
    }
    std::fs::create_dir_all(notes).map_err(|e| e.to_string())?;
    let talea = built("talea")?;
    let mut record = Command::new(&talea);
    prepared(&mut record).env("TALEA_MPI_LIBRARY", built("libtalea_mpi.so")?);
    record.args(["run", "--no-report", "--out"]).arg(&out).arg("--");
    record.args([&format!("mpirun.{mpi}"), "-n", &RANKS.to_string()]);
    record.arg("env").arg(format!("TRUTH_DIR={}", notes.display())).args(words);
    output(&mut record)?;
    let run = out.display().to_string();
    let all_words = printed::command(&run, 0, thread);
    let view = output(Command::new(&talea).args(&all_words)).or_else(|error| {
        // Older versions know no threads but the first.
        let asked = all_words.iter().take_while(|word| *word != "--thread");
        let first: Vec<&str> = asked.map(String::as_str).chain(["--json"]).collect();
        if thread == 0 { output(Command::new(&talea).args(first)) } else { Err(error) }
    });
    let document: serde_json::Value = match view {
        Ok(view) => serde_json::from_str(&view).map_err(|e| e.to_string())?,
        Err(_) => serde_json::Value::Null,
    };
    output(Command::new(&talea).args(["convert", &run]).arg(&prv))?;
    let trace = std::fs::read_to_string(&prv).map_err(|e| e.to_string())?;
    Ok(Seen {
        printed: printed::tree(&document).map_or_else(|error| error, |tree| text(&tree)),
        main: printed::main_iterations(&trace, 0, thread),
        nodes: nodes(&document[0]["tree"]),
        ratio: f64::NAN,
    })
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

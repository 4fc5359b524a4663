//! The time that views and analyses take of recordings of many ranks, which are generated.
//!
//! Owns the sizes. Recordings come from `generate-run`: calls and times are computed, recorder,
//! merge and files are real.

use std::path::Path;
use std::process::Command;

use super::scale::timed;
use super::{built, heading, output, scratch};

/// Ranks, and events of each.
const SIZES: [(u32, &str); 4] = [(1_000, "1e4"), (512, "2e6"), (16_384, "1e4"), (131_072, "1e3")];
/// Commands by name, with the words before and after the run.
const COMMANDS: [(&str, &[&str], &[&str]); 7] = [
    ("show structure", &["show"], &["structure"]),
    ("show calls", &["show"], &["calls"]),
    ("show classes", &["show"], &["classes"]),
    ("show matrix", &["show"], &["matrix"]),
    ("report", &["report", "--out", "-"], &[]),
    ("metrics", &["metrics"], &[]),
    ("cluster", &["cluster"], &[]),
];

/// Files whose sizes are printed.
const FILES: [&str; 3] = ["report.html", "trace.talea", "summary.talea"];

/// Prints the table.
pub(crate) fn run() -> Result<(), String> {
    let folder = scratch("ranks")?;
    let done = columns(&folder);
    let _ = std::fs::remove_dir_all(&folder);
    let columns = done?;
    heading("Views of many ranks, generated recordings");
    println!(
        "The first row reads all events and keeps the sums, the views and the report read the sums, `metrics` and `cluster` all events. In brackets the peak of memory in MB. Chromium: median of five fresh pages, to the second frame with findings.\n"
    );
    let names = SIZES.map(|(ranks, events)| format!("{ranks} ranks x {events} events"));
    println!("| command | {} |\n|---{}|", names.join(" | "), "|---".repeat(SIZES.len()));
    for row in rows(&columns) {
        println!("{row}");
    }
    Ok(())
}

/// Seconds and memory of each command, for each size; then the sizes of the files.
fn columns(folder: &Path) -> Result<Vec<Vec<String>>, String> {
    let talea = built("talea")?;
    let mut columns = Vec::new();
    for (ranks, events) in SIZES {
        let run = folder.join(ranks.to_string());
        let words = run.to_string_lossy();
        crate::generate_run(&[&words, "--ranks", &ranks.to_string(), "--events", events])?;
        let mut column = Vec::new();
        for (_, first, last) in [COMMANDS[0]].iter().chain(&COMMANDS) {
            let (seconds, memory) = timed(&talea, first, &run, last)?;
            column.push(format!("{seconds:.2} s ({memory})"));
        }
        output(Command::new(&talea).arg("report").arg(&run))?;
        column.push(opening(&run.join("report.html"))?);
        for name in FILES {
            let length = std::fs::metadata(run.join(name)).map_or(0, |file| file.len());
            column.push(format!("{:.1} MB", length as f64 / 1e6));
        }
        let _ = std::fs::remove_dir_all(&run);
        columns.push(column);
    }
    Ok(columns)
}

fn rows(columns: &[Vec<String>]) -> Vec<String> {
    let first = "show structure, without sums";
    let commands = COMMANDS.iter().map(|(name, ..)| *name);
    let names = [first].into_iter().chain(commands);
    let names = names.chain(["report.html in Chromium"]).chain(FILES);
    let row = |(at, name): (usize, &str)| {
        let cells: Vec<&str> = columns.iter().map(|column| column[at].as_str()).collect();
        format!("| `{name}` | {} |", cells.join(" | "))
    };
    names.enumerate().map(row).collect()
}

/// Time to open a report; `-` where there is no browser.
fn opening(report: &Path) -> Result<String, String> {
    if !Path::new("web/node_modules").is_dir() {
        return Ok("-".to_owned());
    }
    let time = output(Command::new("node").arg("web/opening.mjs").arg(report).arg(".findings li"))?;
    Ok(format!("{} ms", time.trim()))
}

//! Development tasks of the project: generated tables, bundles, benchmark tables.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod bench;
mod procedures;

use std::process::ExitCode;

const HELP: &str = "cargo xtask TASK

  procedures APIS.json   write crates/mpi/procedures.tsv from the MPI standard's description
  bench mpi              nanoseconds and run time that recording adds
  bench flow             size of recordings, speed of reading and of bringing ranks together
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["procedures", file] => std::fs::read_to_string(file)
            .map_err(|e| format!("{e}: `{file}`"))
            .and_then(|json| procedures::table(&json))
            .and_then(|table| {
                std::fs::write("crates/mpi/procedures.tsv", table).map_err(|e| e.to_string())
            }),
        ["bench", "mpi"] => bench::mpi::run(),
        ["bench", "flow"] => bench::flow::run(),
        _ => Err(HELP.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

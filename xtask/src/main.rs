//! Development tasks of the project: generated tables, damaged files, attacks, benchmark tables.
//!
//! Owns the words of the command line and the exit code; each task is in the file of its name. Run
//! from the top of the checkout.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod attack;
mod bench;
mod fuzz;
mod procedures;
mod simulate;
mod site;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

use talea_run::pages::Pages;

/// As `talea` has it.
#[global_allocator]
static ALLOCATOR: Pages = Pages;

/// The table of MPI procedures, written by `procedures`.
const TABLE: &str = "crates/record/mpi/procedures.tsv";

const HELP: &str = "cargo xtask TASK

  procedures APIS.json   write crates/record/mpi/procedures.tsv from the MPI standard's description
  fuzz --minutes N       damaged files through every reader; --from CASE to begin elsewhere
  attack                 attacks on real servers, agents and stores of this machine, as a table; --fast for those of some seconds;
                         exit code 1 if a limit is broken
  generate-run OUT       a recording of a program with many ranks that was never run, by the real recorder: --ranks N, --events E of each rank,
                         --behaviours B kinds of ranks (1 to 8)
  simulate-ranks [RANKS [EVENTS]]
                         bytes, time and memory of each level of a watched job's tree of hosts; 100000 ranks of 1000 events
  tidy                   rules of ARCHITECTURE.md and of style on this checkout, with a table; exit code 1 if a bound does not hold
  bench agent            what the agent of a node takes, beside perf record -a; needs cargo build --profile small -p talea-node;
                         `agent interrupts` or `agent memory` for one table
  bench build [REVISION] time of `make demo` and of a release build in fresh clones of this commit and of REVISION
  bench mpi              nanoseconds and run time that recording adds; `mpi calls`, `mpi requests` or `mpi programs` for one table
  bench flow             size of recordings, speed of reading and of bringing ranks together; `flow forms` for the forms of times alone
  bench fabric           counters of a large network to its links, and placements of 131,072 ranks
  bench fold             folding a real trace and a million samples, beside a spline and kriging
  bench cluster          clustering, beside Python packages, parts of real traces, and whole tables; `cluster subsets` for the
                         parts alone
  bench mark             what markers of phases take, in C and Rust
  bench online [smart|long|totals|watch|looks|clusters]   size and run time of smart collection, errors of totals that follow from kept
                         iterations, run time and looks of `talea watch`, clusters of running programs
  bench paraver          reading and writing traces, per second of processor time
  bench sample           run time that samples at 100 Hz add
  bench scale            views, report and metrics of a run of seven million calls; parts: `scale views` (commands and exports),
                         `scale ends` (after the program's end), `scale sampled` (a run with samples), `scale peers` (programs that
                         read exports); `scale ranks` for generated runs of 512 to 131,072 ranks
  bench serve            batches of a thousand agents, and the questions of a job's page over thirty days
  bench shares           the shares that the agent sees, beside perf record -a of the same minute, and its idle time beside /proc/stat;
                         `shares idle` for the second table
  bench topo             reading, drawing, measuring and replaying the view of a node
  bench truth            loops of programs as they are and as they are printed; --trees for both trees beside each other

With TALEA_BEFORE=FOLDER, the target/release of another version, the tables of mpi, scale and truth have its figures too.
";

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|error| format!("expected a number ({error}): `{word}`"))
}

fn fuzz_for(minutes: &str, from: &str) -> Result<(), String> {
    fuzz::run(number(minutes)?, number(from)?)
}

/// Builds and runs the generator, which is an example of the recorder's library.
pub(crate) fn generate_run(words: &[&str]) -> Result<(), String> {
    let mut command = std::process::Command::new("cargo");
    command.args(["run", "--quiet", "--release", "--package", "talea-mpi"]);
    command.args(["--example", "generate_run", "--"]).args(words);
    let status = command.status().map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("generate-run: see above".to_owned()) }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let made = |held: bool| if held { ExitCode::SUCCESS } else { ExitCode::from(1) };
    let done = |()| ExitCode::SUCCESS;
    let result = match words[..] {
        ["attack"] => attack::run(attack::Extent::Full).map(made),
        ["attack", "--fast"] => attack::run(attack::Extent::Fast).map(made),
        ["tidy"] => tidy::run(Path::new(".")).map(made),
        _ => task(&words).map(done),
    };
    match result {
        Ok(code) => code,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

/// Tasks that succeed or not.
fn task(words: &[&str]) -> Result<(), String> {
    match words[..] {
        ["procedures", file] => std::fs::read_to_string(file)
            .map_err(|e| format!("{e}: `{file}`"))
            .and_then(|json| procedures::table(&json))
            .and_then(|table| std::fs::write(TABLE, table).map_err(|e| format!("{e}: `{TABLE}`"))),
        ["generate-run", ref words @ ..] => generate_run(words),
        ["simulate-ranks"] => simulate::run(100_000, "1000"),
        ["simulate-ranks", ranks] => simulate::run(number(ranks)? as usize, "1000"),
        ["simulate-ranks", ranks, events] => simulate::run(number(ranks)? as usize, events),
        ["fuzz", "--minutes", minutes] => fuzz_for(minutes, "0"),
        ["fuzz", "--minutes", minutes, "--from", case] => fuzz_for(minutes, case),
        ["fuzz-case", target, first, count] => {
            number(first).and_then(|first| fuzz::cases(target, first, number(count)?))
        }
        ["bench", "agent"] => bench::agent::run(),
        ["bench", "agent", "interrupts"] => bench::agent::interrupts(),
        ["bench", "agent", "memory"] => bench::agent::memories(),
        ["bench", "build"] => bench::build::run(None),
        ["bench", "build", revision] => bench::build::run(Some(revision)),
        ["bench", "mpi"] => bench::mpi::run(),
        ["bench", "mpi", "calls"] => bench::mpi::calls(),
        ["bench", "mpi", "requests"] => bench::mpi::requests(),
        ["bench", "mpi", "programs"] => bench::mpi::whole_programs(),
        ["bench", "fabric"] => bench::fabric::run(),
        ["bench", "flow"] => bench::flow::run(),
        ["bench", "flow", "forms"] => bench::flow::forms(),
        ["bench", "fold"] => bench::fold::run(),
        ["bench", "cluster"] => bench::cluster::run(),
        ["bench", "cluster", "subsets"] => bench::cluster::subsets(),
        ["bench", "mark"] => bench::mark::run(),
        ["bench", "online"] => bench::online::run(None),
        [
            "bench",
            "online",
            part @ ("smart" | "long" | "totals" | "watch" | "looks" | "clusters"),
        ] => bench::online::run(Some(part)),
        ["bench", "paraver"] => bench::paraver::run(),
        ["bench", "sample"] => bench::sample::run(),
        ["bench", "serve"] => bench::serve::run(),
        ["bench", "shares"] => bench::shares::run(),
        ["bench", "shares", "idle"] => bench::shares::idle(),
        ["bench", "topo"] => bench::topo::run(),
        ["bench", "scale"] => bench::scale::run(),
        ["bench", "scale", "views"] => bench::scale::views(),
        ["bench", "scale", "ends"] => bench::scale::ends(),
        ["bench", "scale", "peers"] => bench::scale::peers(),
        ["bench", "scale", "sampled"] => bench::scale::sampled(),
        ["bench", "scale", "ranks"] => bench::ranks::run(),
        ["bench", "truth"] => bench::truth::run(bench::truth::Output::Rows),
        ["bench", "truth", "--trees"] => bench::truth::run(bench::truth::Output::Trees),
        _ => Err(HELP.to_owned()),
    }
}

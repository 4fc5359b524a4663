//! The structure that is printed is the structure that programs have: `apps/truth` notes its own
//! loops and calls.
//!
//! Owns the list of programs and how they are run. Each is recorded with its notes on, and both
//! trees are compared as text (`crate::truth`), on rank 0 and on one other rank.

use std::fmt::Write as _;
use std::path::Path;

use super::bench::{Bench, Mpi};
use crate::truth::programs::{PROGRAMS, Program};
use crate::truth::{build, log, main_iterations, printed, text};
use talea_testing::missing;

/// Compares what a thread noted with what is printed of it.
fn compare(
    bench: &Bench,
    run: &str,
    notes: &Path,
    (rank, thread): (u32, u32),
    prv: &str,
) -> Result<(), String> {
    let file = notes.join(format!("{rank}.{thread}.truth"));
    let noted = std::fs::read_to_string(&file).map_err(|e| format!("{e}: `{}`", file.display()))?;
    let truth = build::tree(&log::read(&noted)?)?;
    let words = printed::command(run, rank, thread);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let document = bench.json(&words);
    let printed = printed::tree(&document)?;
    let (expected, found) = (text(&truth), text(&printed));
    if expected != found {
        let lines = difference(&expected, &found);
        return Err(format!("- is the truth, + is printed\n{lines}"));
    }
    // Some threads have no loop.
    let expected = main_iterations(&truth);
    if expected.is_none() {
        return Ok(());
    }
    let found = printed::main_iterations(prv, rank, thread);
    if expected != found {
        return Err(format!("the main loop has {expected:?} iterations, printed are {found:?}"));
    }
    Ok(())
}

/// Records a program and compares rank 0 and the last but one, each with its first threads.
#[track_caller]
fn check(bench: &Bench, (mpi, ranks): (Mpi, u32), program: &Program) -> Vec<String> {
    let run = format!("{}-{ranks}", mpi.name);
    let notes = bench.path(&format!("{run}.notes"));
    std::fs::create_dir(&notes).unwrap();
    let mut command = mpi.launch(ranks);
    command.extend(["env".to_owned(), format!("TRUTH_DIR={}", notes.display())]);
    command.push(mpi.program(&format!("truth/{}", program.name)).display().to_string());
    command.extend(program.words.iter().map(|&word| word.to_owned()));
    bench.record(&run, &["--no-report"], &command);
    if ranks == 4 {
        bench.same_without_sums(&run);
    }
    let converted = bench.path(&format!("{run}.prv"));
    bench.text(&["convert", &run, &converted.display().to_string()]);
    let prv = std::fs::read_to_string(converted).unwrap();
    let mut failures = Vec::new();
    for rank in [0, ranks.saturating_sub(2).max(1)] {
        for thread in 0..program.threads {
            if let Err(error) = compare(bench, &run, &notes, (rank, thread), &prv) {
                failures.push(format!(
                    "{} {:?}, {}, {ranks} ranks, rank {rank}, thread {thread}: {error}",
                    program.name, program.words, mpi.name
                ));
            }
        }
    }
    failures
}

/// Runs a program with 2, 4 and 8 ranks; under MPICH with 4 and 8 in few steps, because its ranks
/// do not yield to each other.
#[track_caller]
fn program(name: &str) {
    let Some(bench) = Bench::new() else { return };
    let program = PROGRAMS.iter().find(|program| program.name == name).unwrap();
    let mut failures = Vec::new();
    for mpi in Mpi::all() {
        if !mpi.program(&format!("truth/{name}")).is_file() {
            let what = format!("truth/{name} of {} is not built", mpi.name);
            let _: Option<()> = missing(&what);
            continue;
        }
        let few = Program { words: program.few, ..*program };
        for ranks in [2, 4, 8] {
            let program = if mpi.name == "mpich" && ranks > 2 { &few } else { program };
            failures.extend(check(&bench, (mpi, ranks), program));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The differences between two texts, line by line: ` ` in both, `-` in the first, `+` in the
/// second.
fn difference(first: &str, second: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (first.lines().collect(), second.lines().collect());
    // Length of the longest common part of what follows two lines.
    let mut common = vec![vec![0_usize; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for k in (0..b.len()).rev() {
            common[i][k] = if a[i] == b[k] {
                common[i + 1][k + 1] + 1
            } else {
                common[i + 1][k].max(common[i][k + 1])
            };
        }
    }
    let (mut i, mut k, mut lines) = (0, 0, String::new());
    while i < a.len() || k < b.len() {
        let (sign, line) = if i < a.len() && k < b.len() && a[i] == b[k] {
            (i, k) = (i + 1, k + 1);
            (' ', a[i - 1])
        } else if k == b.len() || i < a.len() && common[i + 1][k] >= common[i][k + 1] {
            i += 1;
            ('-', a[i - 1])
        } else {
            k += 1;
            ('+', b[k - 1])
        };
        let _ = writeln!(lines, "{sign} {line}");
    }
    lines
}

macro_rules! programs {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            program(stringify!($name));
        })*

        #[test]
        fn no_program_is_left_out() {
            let tested = [$(stringify!($name)),*];
            assert_eq!(PROGRAMS.map(|program| program.name), tested);
        }
    };
}

programs! {
    callback cg f08 farm leapfrog library modules multigrid neighbours phases pipeline printrate
    progress recursion redblack refine setup shared sizes solvers templates threads
}

//! What was recorded is what the program did: compared call by call with the independent logger, in
//! the same run.
//!
//! The logger is preloaded in front of the recording library, so that both see the same calls.

use super::bench::{Bench, Mpi};
use crate::compare::{InRow, compare};

/// Records a program under the logger, and compares every rank. The number of calls compared.
#[track_caller]
fn check(bench: &Bench, mpi: Mpi, ranks: u32, options: &[&str], words: &[&str]) -> usize {
    let run = format!("{}-{}", mpi.name, words.join("").replace(['/', '-'], "_"));
    let logs = bench.path(&format!("{run}.logs"));
    std::fs::create_dir(&logs).unwrap();
    let mut command = mpi.launch(ranks);
    command.extend([
        "env".to_owned(),
        format!(
            "LD_PRELOAD={}:{}",
            mpi.program("liblogger.so").display(),
            bench.library().display()
        ),
        format!("LOGGER_DIR={}", logs.display()),
        mpi.program(words[0]).display().to_string(),
    ]);
    command.extend(words[1..].iter().map(|word| (*word).to_owned()));
    let mut all = vec!["--no-report"];
    all.extend(options);
    bench.record(&run, &all, &command);
    let run = bench.path(&run).display().to_string();
    let kept = options.windows(2).any(|pair| pair == ["--calls", "all"]);
    let in_row = if kept { InRow::Kept } else { InRow::Folded };
    (0..ranks)
        .map(|rank| {
            let events = bench.text(&["events", &run, "--rank", &rank.to_string(), "--json-lines"]);
            let log = logs.join(format!("rank-{rank}.log"));
            compare(&log, &events, in_row)
                .unwrap_or_else(|error| panic!("{} {words:?}, rank {rank}: {error}", mpi.name))
        })
        .sum()
}

#[test]
fn halo_in_c_and_in_three_fortran_bindings() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        let calls = check(&bench, mpi, 4, &[], &["halo", "--size", "6", "--steps", "20"]);
        assert!(calls > 1_000, "{calls}");
        for program in ["halo_mpif", "halo_use_mpi", "halo_f08"] {
            assert!(check(&bench, mpi, 4, &[], &[program]) > 100);
        }
    }
}

#[test]
fn times_and_call_paths_change_no_call() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let sets: [&[&str]; 3] =
        [&["--times", "exact"], &["--times", "statistics"], &["--callers", "4", "--calls", "all"]];
    for (steps, options) in ["5", "6", "7"].iter().zip(sets) {
        check(&bench, mpi, 3, options, &["halo", "--size", "4", "--steps", steps]);
    }
}

/// A few seeds, or for a longer hunt those of `TALEA_TEST_SEEDS=FIRST-LAST`.
fn seeds() -> std::ops::RangeInclusive<u32> {
    let wanted = std::env::var("TALEA_TEST_SEEDS").ok();
    let range = wanted.as_deref().and_then(|text| text.split_once('-'));
    range.and_then(|(first, last)| Some(first.parse().ok()?..=last.parse().ok()?)).unwrap_or(1..=5)
}

#[test]
fn random_programs() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        for seed in seeds() {
            // Brought together afterwards, or by the ranks themselves.
            let merge: &[&str] = if seed % 2 == 0 { &["--merge", "ranks"] } else { &[] };
            check(&bench, mpi, 4, merge, &["random", "--seed", &seed.to_string()]);
        }
        check(&bench, mpi, 5, &["--merge", "ranks"], &["random", "--seed", "77"]);
    }
    for mpi in Mpi::newer() {
        for (seed, merge) in [("1", "auto"), ("2", "ranks"), ("3", "ranks")] {
            check(&bench, mpi, 4, &["--merge", merge], &["random", "--seed", seed]);
        }
    }
}

#[test]
fn polls_of_several_kinds_in_turn() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        // Two ranks wait in turn, ten times each for four messages, and ask at least once in vain
        // in three ways.
        assert!(check(&bench, mpi, 2, &[], &["progress", "10", "2000"]) > 2 * 10 * (4 + 3 + 1));
        assert!(check(&bench, mpi, 2, &["--calls", "all"], &["progress", "5"]) > 2 * 5 * 8);
    }
}

#[test]
fn lists_that_move_and_shrink() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        for way in ["sliding", "compact"] {
            assert!(check(&bench, mpi, 1, &[], &["request_lists", way, "300"]) > 3 * 300);
        }
    }
}

#[test]
fn positions_in_lists_count_from_zero_whatever_the_language() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::all() {
        for program in ["positions_mpi", "positions_f08"] {
            // Four messages and their requests in each of four turns, and at least one call that
            // completes some.
            assert!(check(&bench, mpi, 2, &[], &[program]) > 2 * 4 * 10);
        }
    }
}

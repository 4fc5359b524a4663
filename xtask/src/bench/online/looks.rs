//! Calls of a program while somebody looks at it, beside its other calls.
//!
//! Owns the table. The program has one rank, so that the looks have the other core; all of its
//! calls are recorded with exact times, and each belongs to a look or to none by its begin.

use std::path::Path;
use std::process::Stdio;

use talea_model::Nanos;
use talea_run::{RunDirectory, trace};

use super::{number, talea, watched};
use crate::bench::{heading, spread};

/// The program and its words: 19 million calls.
const PROGRAM: [&str; 6] = ["halo", "--size", "8", "--periodic", "--steps", "200000"];
/// Runs of it.
const ROUNDS: usize = 3;
/// Longer calls were interrupted by something.
const LONG: Nanos = Nanos(1_000_000);

/// The time of the last reading of a look, and what it took, in nanoseconds.
struct Look {
    time: f64,
    took: f64,
}

/// Calls during looks or between them.
#[derive(Default)]
struct Side {
    durations: Vec<u32>,
    long: usize,
}

impl Side {
    fn add(&mut self, duration: Nanos) {
        self.durations.push(u32::try_from(duration.0).unwrap_or(u32::MAX));
        self.long += usize::from(duration > LONG);
    }

    fn median(&mut self) -> f64 {
        let middle = self.durations.len() / 2;
        if self.durations.is_empty() {
            return f64::NAN;
        }
        f64::from(*self.durations.select_nth_unstable(middle).1)
    }
}

/// Prints the table.
pub(super) fn looks(folder: &Path) -> Result<(), String> {
    heading("Calls during looks, halo on 1 rank, Open MPI");
    println!(
        "{ROUNDS} runs with `talea watch --json` (a look a second). A call is *during* a look if it begins in it. Medians and their difference are those of a run; shown are the median and the range over the runs. *Long*: calls of more than {LONG}, all runs together.\n"
    );
    println!("| | calls | median, ns | long | long, in a million calls |\n|---|---|---|---|---|");
    let (mut medians, mut differences) = ([vec![], vec![]], Vec::new());
    let (mut calls, mut long) = ([0_usize; 2], [0_usize; 2]);
    for _ in 0..ROUNDS {
        let mut sides = round(folder)?;
        let found = sides.each_mut().map(Side::median);
        differences.push(found[0] - found[1]);
        for (at, side) in sides.iter().enumerate() {
            medians[at].push(found[at]);
            calls[at] += side.durations.len();
            long[at] += side.long;
        }
    }
    for (at, name) in ["during", "between"].into_iter().enumerate() {
        let share = 1e6 * long[at] as f64 / calls[at].max(1) as f64;
        let shown = spread(&mut medians[at], 0);
        println!("| {name} | {} | {shown} | {} | {share:.2} |", calls[at], long[at]);
    }
    println!("\nDifference of the medians of a run: {} ns.", spread(&mut differences, 0));
    Ok(())
}

/// Calls of one run during looks and between them.
fn round(folder: &Path) -> Result<[Side; 2], String> {
    let out = folder.join("looks");
    let _ = std::fs::remove_dir_all(&out);
    let program = Path::new("apps/bin/openmpi").join(PROGRAM[0]);
    let program = std::path::absolute(program).map_err(|e| e.to_string())?;
    let mut command =
        talea(&["run", "--no-report", "--times", "exact", "--memory", "1G", "--out"])?;
    command.arg(&out).args(["--", "mpirun.openmpi", "-n", "1"]).arg(program);
    command.args(&PROGRAM[1..]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    let looks = watched(&out, &mut child)?;
    let status = child.wait().map_err(|e| e.to_string())?;
    if !status.success() {
        return Err(format!("{status}: {command:?}"));
    }
    // The last look comes after the end.
    let looks = looks.iter().filter(|look| look["running"] == true);
    let look = |look| Look { time: number(look, "time_ns"), took: number(look, "took_ns") };
    let times: Vec<Look> = looks.map(look).collect();
    let directory = RunDirectory::open(&out).map_err(|e| e.to_string())?;
    let recording = trace::load(&directory).map_err(|e| e.to_string())?;
    let mut sides = [Side::default(), Side::default()];
    let threads =
        recording.processes.iter().flat_map(|one| one.threads.iter().map(move |t| (one, t)));
    for (process, thread) in threads {
        let mut events = process.events(&recording, thread).without_arguments();
        // MPI_Init.
        events.next_event();
        let mut next = times.iter().peekable();
        while let Some(event) = events.next_event() {
            let (Some(begin), Some(duration)) = (event.begin, event.duration) else { break };
            let begin = begin.0 as f64;
            // The end of a look is known to what it took: its time is that of the last reading.
            while next.next_if(|look| look.time + look.took < begin).is_some() {}
            // Calls after the last look are left out: nobody looks any more.
            let Some(look) = next.peek() else { break };
            if (look.time - look.took..=look.time).contains(&begin) {
                sides[0].add(duration);
            } else if begin < look.time - look.took {
                sides[1].add(duration);
            }
        }
    }
    Ok(sides)
}

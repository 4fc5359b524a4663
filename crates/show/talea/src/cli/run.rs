//! The command line of `talea run`.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Args, ValueHint};
use talea_flow::times::Bound;
use talea_launch::{Calls, Collect, Merge, Times, Unwind};
use talea_model::{Bytes, Nanos};

use super::values;
use crate::run;

/// Run an MPI program and record it
#[derive(Debug, Args)]
#[command(long_about = "\
Run an MPI program and record it.

Put `talea run --` before the command as you would start it, with its launcher. The program needs no change and \
no recompilation; C and Fortran, Open MPI and MPICH work alike. Input, output and signals pass through, and \
talea exits with the program's own code (3 where that is 0 and nothing was recorded). The record survives a crash and a `kill -9`.")]
#[command(after_long_help = "\
Examples:
  talea run -- mpirun -n 4 ./app input.dat
  talea run --out runs/first -- srun -n 128 ./app
  talea run --times exact -- mpirun -n 4 ./app       every time to the nanosecond; more bytes
  talea run --collect smart -- mpirun -n 4 ./app     long runs: times of some iterations only
  talea run --live-dir /dev/shm -- mpirun -n 4 ./app     record into one node's memory, then copy
  talea run --sample 100Hz -- mpirun -n 4 ./app      where every thread is, 100 times a second
  talea run --sample 100Hz -- ./openmp-program       also programs without MPI
  talea run --sample-counter instructions=50M --counters cycles,cache-misses \
            --counters branches,branch-misses -- mpirun -n 4 ./app
  talea run --page -- mpirun -n 4 ./app              prints the address of a page that shows the
                                                     program while it runs, as `talea watch` does
  talea run --fabric -- mpirun -n 4 ./app            what the nodes' network ports carried;
                                                     --fabric=100ms reads more often. Then:
                                                     talea fabric table talea-app

Samples: `talea show RUN samples` tells where threads were. Each sample has the call stack and the
counters; counters are also read at begin and end of MPI calls, at most every 50 us and for half a
percent of the time where reading them takes a system call. Without hardware counters (PMU) what
exists is counted: task-clock, page faults, context switches; missing ones are listed at the end.

The run directory is `talea-PROGRAM`, then `talea-PROGRAM.1` and so on; it holds run.json,
report.html, sites.json and the record itself. All ranks must see it, unless --live-dir is given
without --collect smart.")]
#[command(group(clap::ArgGroup::new("sampling").args(["sample", "sample_counter"])))]
pub(super) struct RunArgs {
    /// Run directory to create; if it exists, DIR.1, DIR.2 ... is used
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// How times are kept
    #[arg(long, value_enum, default_value_t = Times::Bounded)]
    times: Times,
    /// Calls whose times are kept
    #[arg(long, value_enum, default_value_t = Collect::Full)]
    collect: Collect,
    /// Largest relative error of a recorded time: 2%, 0.5% [with --times bounded]
    #[arg(long, value_name = "PERCENT", value_parser = values::percent, default_value = "2%")]
    bound_relative: u32,
    /// Maximum error of times where the relative bound is smaller: 100ns, 1us
    #[arg(long, value_name = "TIME", value_parser = values::time, default_value = "100ns")]
    bound_absolute: Nanos,
    /// Maximum error of an absolute time, however long the run: 10us
    #[arg(long, value_name = "TIME", value_parser = values::time, default_value = "10us")]
    bound_drift: Nanos,
    /// Calls that are events; `mpi` folds unsuccessful polls and counts local calls
    #[arg(long, value_enum, default_value_t = Calls::Mpi)]
    calls: Calls,
    /// Maximum frames of a call path; 1 is the direct caller
    #[arg(
        long,
        value_name = "N",
        default_value_t = 48,
        value_parser = clap::value_parser!(u8).range(1..=48)
    )]
    callers: u8,
    /// Maximum memory of one process's record, 1M to 16G: 64M, 1G
    #[arg(long, value_name = "SIZE", value_parser = values::size, default_value = "64M")]
    memory: Bytes,
    /// Node-local folder for the record while the program runs
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    live_dir: Option<PathBuf>,
    /// Where records of ranks are merged
    #[arg(long, value_enum, default_value_t = Merge::Auto)]
    merge: Merge,
    /// Sample every thread at this rate of its CPU time: 100Hz, 1kHz
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    sample: Option<f64>,
    /// Sample a thread each time that a counter grows by this: instructions=50M
    #[arg(long, value_name = "COUNTER=PERIOD", value_parser = values::growth)]
    sample_counter: Option<(String, u64)>,
    /// Counters of each sample; repeated sets take turns [default: available hardware counters]
    #[arg(long, value_name = "A,B[,..]", requires = "sampling")]
    counters: Vec<String>,
    /// How call stacks of samples are found
    #[arg(long, value_enum, default_value_t = Unwind::Dwarf, requires = "sampling")]
    unwind: Unwind,
    /// Read counters of all network ports at this interval [default: 1s]
    #[arg(
        long,
        value_name = "TIME",
        value_parser = values::interval,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1s"
    )]
    fabric: Option<Nanos>,
    /// Serve a page of the running program to browsers of this machine [default: any free port]
    #[cfg(feature = "page")]
    #[arg(
        long,
        value_name = "PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0"
    )]
    page: Option<u16>,
    /// Only record: no analysis, no report
    #[arg(long)]
    no_report: bool,
    /// Maximum time for the report [default: 1s and 5% of the run]
    #[arg(long, value_name = "TIME", value_parser = values::time, conflicts_with = "no_report")]
    report_within: Option<Nanos>,
    /// The program with its launcher and arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND",
          value_hint = ValueHint::CommandWithArguments)]
    command: Vec<std::ffi::OsString>,
}

impl From<RunArgs> for run::Options {
    fn from(args: RunArgs) -> Self {
        let launch = talea_launch::Options {
            out: args.out,
            times: args.times,
            collect: args.collect,
            bound: Bound {
                relative_ppm: args.bound_relative,
                absolute: args.bound_absolute,
                drift: args.bound_drift,
            },
            calls: args.calls,
            callers: args.callers,
            memory: args.memory,
            live_dir: args.live_dir,
            merge: args.merge,
            sampling: sampling(args.sample, args.sample_counter, &args.counters, args.unwind),
            fabric: args.fabric,
            command: args.command,
        };
        let after = if args.no_report { run::After::Nothing } else { run::After::Report };
        Self {
            launch,
            after,
            within: args.report_within,
            #[cfg(feature = "page")]
            page: args.page,
        }
    }
}

/// Samples, if any were requested.
fn sampling(
    rate: Option<f64>,
    growth: Option<(String, u64)>,
    counters: &[String],
    unwind: Unwind,
) -> Option<talea_launch::Sampling> {
    let rated = rate.map(|rate| ("task-clock".to_owned(), (1e9 / rate).round().max(1.0) as u64));
    let (trigger, period) = growth.or(rated)?;
    let names = |set: &String| -> Vec<String> {
        // Commas also stand between the terms of a PMU's event.
        let mut inside = false;
        let comma = |c: char| {
            inside ^= c == '/';
            c == ',' && !inside
        };
        set.split(comma).map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let sets = counters.iter().map(names).filter(|set| !set.is_empty()).collect();
    Some(talea_launch::Sampling { trigger, period, rate, sets, unwind })
}

//! The command line of `talea watch`.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Args, ValueHint};
use talea_model::Nanos;

use super::values;
use crate::watch::{Options, Output};

/// Watch a running program
#[derive(Debug, Args)]
#[command(long_about = "\
Watch a running program: its main loop and the durations of its iterations, call sites, clusters of the computation, ranks and the calls they are in.

The processes are not stopped and do not wait: their records are read from outside, on the machine where they run. Each look reads new \
events, and the sums of each call.")]
#[command(after_long_help = "\
Examples:
  talea run --out runs/first -- mpirun -n 4 ./app &
  talea watch runs/first
  talea watch runs/first --once               one look as text
  talea watch runs/first --json | jq .main_loop.iterations
  talea watch runs/first --page               a page for browsers of this machine; from elsewhere
                                              by a tunnel: ssh -L 8080:127.0.0.1:8080 HOST with
                                              --page=8080

Keys: s sorts ranks by their time in MPI, space pauses, ? shows help, q quits; the program
continues.

The main loop is that of the first rank that has one. Its iterations are the visits of the call that
recurs most regularly; the structure of the finished run also uses the loops of the source. Runs
with `--times statistics` have no iterations and no clusters.

JSON: one object per look, each on a line; keys: `talea schema watch`.")]
pub(super) struct WatchArgs {
    /// Run directory, or a file in it
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    run: PathBuf,
    /// Interval between looks, such as 500ms or 5s
    #[arg(long, value_name = "TIME", value_parser = every, default_value = "1s")]
    every: Nanos,
    /// Print one look instead of a screen
    #[arg(long)]
    once: bool,
    /// Print each look as a line of JSON
    #[arg(long)]
    json: bool,
    /// Serve a page to browsers of this machine [default: any free port]
    #[cfg(feature = "page")]
    #[arg(
        long,
        value_name = "PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0",
        conflicts_with_all = ["once", "json"]
    )]
    page: Option<u16>,
}

/// A time between looks.
fn every(text: &str) -> Result<Nanos, String> {
    let expected = || "expected a time from 100ms to 1h".to_owned();
    values::step(text)
        .ok()
        .filter(|time| (100_000_000..=3_600_000_000_000).contains(&time.0))
        .ok_or_else(expected)
}

impl From<WatchArgs> for Options {
    fn from(args: WatchArgs) -> Self {
        #[cfg(feature = "page")]
        if let Some(port) = args.page {
            return Self { run: args.run, every: args.every, output: Output::Page { port } };
        }
        let output = match (args.json, args.once) {
            (true, once) => Output::Json { once },
            (false, true) => Output::Text,
            (false, false) => Output::Screen,
        };
        Self { run: args.run, every: args.every, output }
    }
}

//! The command line of `talea convert`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use talea_analysis::convert::Format;

use crate::convert::Options;

/// Convert a run or a trace into the files of other tools
#[derive(Debug, Args)]
#[command(long_about = "\
Convert a run or a trace into the files of other tools.

A run becomes what a tracing tool would have written: states, MPI calls with their callers, messages from send to \
receive, iterations of the main loop. Times are as exact as they were recorded.")]
#[command(after_long_help = "\
Examples:
  talea convert talea-app app.prv              for Paraver; writes app.pcf and app.row too
  talea convert talea-app app.json             for ui.perfetto.dev and chrome://tracing
  talea convert talea-app app.pftrace          the same in a smaller file, of any size
  talea convert talea-app app.speedscope.json  stacks of samples, or of MPI calls by time
  talea convert trace.prv.gz trace.folded      for flamegraph.pl and inferno
  talea convert talea-app app.csv              tables of events, states and messages
  talea convert talea-app app.parquet          calls and messages for DuckDB, Polars, Spark, Arrow

The ending of OUT tells the form: .prv, .prv.gz, .json, .pftrace, .speedscope.json, .pprof, .pb,
.folded, .collapsed, .csv, .parquet. A pipe, a device or standard output (-, with --format) as OUT
gets that one file alone. A .parquet is a folder with a folder for each table, which no pipe can be;
one that talea wrote is replaced. docs/parquet.md has its tables.

A .json or .pftrace has a slice for each call, phase, iteration and loop, an arrow for each message,
rates of counters, and names of ranks, hosts and threads. Calls have arguments: site, bytes_sent and
to, bytes_received and from, communicator, is_root. Slices that overlap without nesting stand in
rows of their own, \"beside\" their thread. A message to a call that began before it was sent arrives
at an instant, as Perfetto's arrows lead to what begins later. A rate is that since the thread's
last probe, and holds until the next one.

Event types in Paraver files are those of Extrae; 600000003 is the
iteration, from 1, of the main loop that talea found, 600000100 to 600000199 those of each loop
(beyond a hundred they are left out, with a gap), 600000004 the phase that the program marks.")]
pub(super) struct ConvertArgs {
    /// Run directory, or a trace: .prv, .prv.gz
    #[arg(value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    input: PathBuf,
    /// File to write, or folder for .parquet; - is standard output
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// Form of OUT, where its name does not tell
    #[arg(long, value_enum)]
    format: Option<FormatArg>,
}

impl From<ConvertArgs> for Options {
    fn from(args: ConvertArgs) -> Self {
        Self { input: args.input, out: args.out, format: args.format.map(Format::from) }
    }
}

/// Forms of a trace.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FormatArg {
    /// Paraver: .prv or .prv.gz, with .pcf and .row beside it
    Paraver,
    /// Trace events of Chrome and Perfetto: .json
    Chrome,
    /// Packets of Perfetto, for traces of any size: .pftrace
    Perfetto,
    /// Stacks for speedscope.app: .speedscope.json
    Speedscope,
    /// Stacks for pprof: .pprof, .pb
    Pprof,
    /// One stack a line, for flame graphs: .folded, .collapsed
    Collapsed,
    /// Tables as text: .csv with events, .states.csv and .messages.csv beside it
    Csv,
    #[cfg_attr(
        feature = "parquet",
        doc = "A data set of Apache Parquet: the folder .parquet with a folder for each table"
    )]
    #[cfg_attr(
        not(feature = "parquet"),
        doc = "A data set of Apache Parquet: not in this build, built without `--features talea/parquet`; use csv"
    )]
    Parquet,
}

impl From<FormatArg> for Format {
    fn from(form: FormatArg) -> Self {
        match form {
            FormatArg::Paraver => Self::Paraver,
            FormatArg::Chrome => Self::Chrome,
            FormatArg::Perfetto => Self::Perfetto,
            FormatArg::Speedscope => Self::Speedscope,
            FormatArg::Pprof => Self::Pprof,
            FormatArg::Collapsed => Self::Collapsed,
            FormatArg::Csv => Self::Csv,
            FormatArg::Parquet => Self::Parquet,
        }
    }
}

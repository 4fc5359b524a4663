//! The command line of `talea metrics`.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use talea_metric::efficiency::Scaling;

use talea_analysis::metrics::{Options as Measuring, Own};

use super::part::PartArgs;
use crate::metrics::{Format, Options, Rows};

/// Compute efficiency and derived metrics of a run or a trace
#[derive(Debug, Args)]
#[command(long_about = "\
Compute efficiency and derived metrics of a run or a trace.

Factors of parallel efficiency, as POP defines them, come from the time that each rank computes. Rates, ratios and the mix of \
instructions come from the counters of the trace, of the time of computation alone; what cannot be computed says which counters it \
needs. Several INPUTs are compared with the first.")]
#[command(after_long_help = "\
Examples:
  talea metrics trace.prv.gz
  talea metrics ranks1.prv ranks4.prv ranks16.prv           scaling, relative to the first
  talea metrics trace.prv --from 1.2s --to 1.4s --by rank
  talea metrics trace.prv --by cluster          each kind of computation
  talea metrics trace.prv --expr 'stalls = RESOURCE_STALLS / PAPI_TOT_CYC'
  talea metrics trace.prv --expr 'lines = \"*imc*::UNC_M_CAS_COUNT*\" / elapsed_time'
  talea metrics trace.prv --model /usr/share/likwid/perfgroups/skylakeX/L3.txt
  talea metrics trace.prv --model perfmon/SPR/metrics/spr_metrics.json --expr '#smt_on = 1'

The time from the end of the last MPI_Init to the begin of the first MPI_Finalize is analysed,
where the trace has them; --with-init, --from and --to change that. Computation is the state
Running, or time outside MPI in a trace without states. Rates are by the time of computation,
summed over ranks: those of one rank on average. Counters that took turns are made whole by time.

Models (--model) are files of Intel's perfmon (PROCESSOR/metrics/*.json), of Linux' pmu-events, or
groups of LIKWID; a folder means all of them in it. Errors in them have their line, the
rest is used. CPI stacks of POWER5, top-down analysis with perf's topdown events and the pipeline
of Zen 4 are built in and shown where a trace has their counters.

Expressions (--expr, and inside models): + - * / % min max abs sqrt log2, `a if c else b`, < > <=
>= == != & | ^, d_ratio(a, b), has_event(c). Names are those of the trace's counters
(PAPI_TOT_INS), with other names for the same (instructions, INST_RETIRED.ANY); \"...\" around
names with other signs, and around those with * for any signs, which mean the sum of all that fit.
Counters of nodes, such as those of memory controllers, are those of the time that passed. Beside
counters: duration_time (seconds of computation), total_time, elapsed_time, bursts, probes,
#cache_line (64), and the names of other --expr.

Values that no machine gives are left out, which is a gap that names the counters; the limits are in
docs/metrics.md.

JSON: one object for one INPUT, an array of them for several. Keys: `talea schema metrics`.

CSV: input,key,name,unit,rank,value,reason; rank is empty for all of it, `cluster 1` for a cluster;
efficiency, metrics and models.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct MetricsArgs {
    /// Run directories, or traces: .prv, .prv.gz
    #[arg(required = true, value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    inputs: Vec<PathBuf>,
    /// Rows or columns of the table
    #[arg(long, value_enum, default_value_t = By::Run)]
    by: By,
    /// File or folder of metrics: Intel's perfmon, Linux' pmu-events, LIKWID's groups
    #[arg(long = "model", value_name = "FILE", value_hint = ValueHint::AnyPath)]
    models: Vec<PathBuf>,
    /// A metric of your own: 'name = EXPRESSION'
    #[arg(long = "expr", value_name = "NAME = EXPR", value_parser = Own::parse)]
    expressions: Vec<Own>,
    #[command(flatten)]
    part: PartArgs,
    /// Weak scaling: the work of INPUTs grows with their ranks
    #[arg(long)]
    weak: bool,
    /// List metrics without a value, with reasons
    #[arg(long)]
    all: bool,
    /// JSON with stable keys instead of text
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Lines of comma-separated values instead of text
    #[arg(long)]
    csv: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// The whole run, with minimum, median and maximum of the ranks
    Run,
    /// Each rank
    Rank,
    /// Each cluster of bursts, as `talea cluster` finds them without options
    Cluster,
}

impl From<MetricsArgs> for Options {
    fn from(args: MetricsArgs) -> Self {
        let rows = match args.by {
            By::Run => Rows::Run,
            By::Rank => Rows::Rank,
            By::Cluster => Rows::Cluster,
        };
        let how = Measuring {
            inputs: args.inputs,
            models: args.models,
            expressions: args.expressions,
            part: args.part.into(),
            scaling: if args.weak { Scaling::Weak } else { Scaling::Strong },
            clusters: rows == Rows::Cluster,
            most: None,
        };
        let format = if args.json {
            Format::Json
        } else if args.csv {
            Format::Csv
        } else {
            Format::Text
        };
        Self { how, rows, format, all: args.all }
    }
}

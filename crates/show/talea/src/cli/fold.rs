//! The command line of `talea fold`.
//!
//! Owns its definitions and help texts, and the conversion of arguments for [`crate::folding`].

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Args, ValueHint};
use talea_fold::Outliers;
use talea_model::Rank;

use super::part::PartArgs;
use super::values;
use talea_analysis::folding::{Extent, FoldOptions, Groups, Ranks, Trial, outliers};

use crate::folding::{Options, Print};

/// Fold a region: what happens inside one execution of it, from samples of many
#[derive(Debug, Args)]
#[command(long_about = "\
Fold a region: what happens inside one execution of it, from samples of many.

Each execution of a loop, routine or cluster has few samples; together they show how counters and the call stack develop \
inside, as if one had been sampled densely. Every curve comes with a 95 % band and with its error against executions that it \
was not fitted to.")]
#[command(after_long_help = "\
Examples:
  talea fold trace.prv --list                       which regions there are
  talea fold trace.prv                              iterations, else the routine with the most time
  talea fold trace.prv --region solve --html solve.html
  talea fold trace.prv --region 'User function' --value main --without-mpi
  talea fold trace.prv --region cluster:1 --counter PAPI_TOT_INS,PAPI_L1_DCM
  talea fold trace.prv --overlay --svg ranks.svg    each rank, and where they differ
  talea fold before.prv after.prv --region solve    two runs beside each other
  talea fold trace.prv --model 'BPI = PAPI_BR_INS / PAPI_TOT_INS'
  talea fold trace.prv --out-prv folded.prv         the curves inside one instance, for Paraver

Regions: iteration; cluster, cluster:N; state, state:NAME; between:CALL (from one call to the next);
the label or number of an event type; TYPE=VALUE; the name of a routine or of any other value.
Without --region: iterations, else the routine with the most time, else the largest cluster, else
the marked phase with the most time, else from one call of a collective operation to the next, else
the state with the most time.

Models are expressions of counters, which stand for their rates a second. Where their counters are
there: MIPS, IPC, clock, misses per 1000 instructions.

held-out (error_held_out): the instances are put into two halves in turns; the curve fitted on one
half is compared with what the other half counted directly between its samples, on average, in 100
equal parts of the region (fewer where there are few samples), as a root mean square in mean rates.
The noise of the second half is in it. With --score: the mean over all choices of half of six
groups of instances, smoothing and jumps chosen anew in each; and `in band` (band_coverage), the
share of parts in which what the other half counted lies in the 95 % band, given the error of its
mean.

Keys of the JSON: `talea schema fold`; with --list: `talea schema fold-list`.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct FoldArgs {
    /// Traces (.prv, .prv.gz) or run directories; several are folded together
    #[arg(value_name = "INPUT", required = true, value_hint = ValueHint::AnyPath)]
    inputs: Vec<PathBuf>,
    /// Region to fold, see below
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
    /// Value of the region's event type [default: that with most time]
    #[arg(long, value_name = "NAME|NUMBER", allow_hyphen_values = true)]
    value: Option<String>,
    /// Leave out the time and the counts in MPI
    #[arg(long)]
    without_mpi: bool,
    /// Only instances of this rank, counted from 0
    #[arg(long, value_name = "N", value_parser = values::rank, conflicts_with = "overlay")]
    rank: Option<Rank>,
    /// Fold each rank too, curves in one picture
    #[arg(long)]
    overlay: bool,
    /// Counters to fold, by name or number [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    counter: Vec<String>,
    /// Model of counters: 'NAME = EXPRESSION'; may be repeated
    #[arg(long, value_name = "MODEL")]
    model: Vec<String>,
    /// Instances to leave out by duration: mad, sigma=N, none
    #[arg(long, value_name = "RULE", value_parser = outliers, default_value = "mad")]
    outliers: Outliers,
    /// Fold each kind of duration separately [default: only the largest]
    #[arg(long, conflicts_with = "overlay")]
    groups: bool,
    #[command(flatten)]
    part: PartArgs,
    /// Score each curve and band on instances that were not fitted
    #[arg(long)]
    score: bool,
    /// Points of each curve
    #[arg(
        long,
        value_name = "N",
        default_value_t = 501,
        value_parser = clap::value_parser!(u32).range(11..=20_001)
    )]
    points: u32,
    /// Write a picture
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    svg: Option<PathBuf>,
    /// Write a page with pictures and tables
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
    /// Write all curves as comma-separated values
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    csv: Option<PathBuf>,
    /// Write the first trace with folded counters inside one instance
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out_prv: Option<PathBuf>,
    /// Only list the regions
    #[arg(long)]
    list: bool,
    /// JSON with stable keys instead of text
    #[arg(long)]
    json: bool,
}

impl From<FoldArgs> for Options {
    fn from(args: FoldArgs) -> Self {
        let ranks = match args.rank {
            Some(rank) => Ranks::One(rank),
            None if args.overlay => Ranks::Overlaid,
            None => Ranks::Together,
        };
        Self {
            inputs: args.inputs,
            what: FoldOptions {
                region: args.region,
                value: args.value,
                extent: if args.without_mpi { Extent::WithoutMpi } else { Extent::Whole },
                ranks,
                counters: args.counter,
                models: args.model,
                outliers: args.outliers,
                groups: if args.groups { Groups::Each } else { Groups::Largest },
                part: args.part.into(),
                trial: if args.score { Trial::Whole } else { Trial::Quick },
                points: args.points as usize,
            },
            print: match (args.list, args.json) {
                (true, true) => Print::ListJson,
                (true, false) => Print::List,
                (false, true) => Print::Json,
                (false, false) => Print::Text,
            },
            svg: args.svg,
            html: args.html,
            csv: args.csv,
            out_prv: args.out_prv,
        }
    }
}

//! The command lines of `talea cluster` and `talea track`.
//!
//! Owns their definitions, the reading of their values, and the help texts; `talea schema` prints
//! the keys of the JSON.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Args, ValueHint};
use talea_cluster::prepare::Range;
use talea_model::Nanos;

use super::part::PartArgs;
use super::values;
use talea_analysis::clusters::{
    Edges, Eps, Labels, Options as Clustering, SubsetRule, subset as rule_of,
};

use crate::clusters;
use crate::tracks;
use talea_analysis::tracks::{Options as Tracking, PerTask, Windows};

/// Group similar stretches of computation
#[derive(Debug, Args)]
#[command(long_about = "\
Group similar stretches of computation.

A burst is the computation between two MPI calls (or one instance of an instrumented function). Bursts become points, \
by instructions and instructions per cycle unless --dimensions says otherwise; clusters are what lies densely together \
(DBSCAN, exact). Cluster 1 takes the most time. What lies alone is noise.

Without options the shortest bursts, which together hold 1 % of the time, are left out, and the radius is chosen: the \
smallest one with which clusters hold nearly all of the time and all ranks go through them in the same order.")]
#[command(after_long_help = "\
Examples:
  talea cluster trace.prv.gz                          findings and a table
  talea cluster trace.prv --html clusters.html        pictures and tables to look at and pass on
  talea cluster trace.prv --out-prv labelled.prv      for Paraver: events 90000001 say the cluster
  talea cluster trace.prv --dimensions 'log(PAPI_TOT_INS), PAPI_L3_TCM / PAPI_TOT_INS'
  talea cluster trace.prv --eps 0.02 --min-points 10 --min-duration 10us
  talea cluster trace.prv --subset --check            is a part enough?
  talea cluster trace.prv --from 1.2s --to 3s         a part of the time
  talea cluster points.csv --columns x,y --eps 0.01 --min-points 10 --no-prepare --labels out.txt

INPUT is a run directory, a trace (.prv, .prv.gz with .pcf and .row beside it), or a table (.csv,
.tsv, also .gz) whose first line names columns; of those rank, begin, end and duration (nanoseconds)
have a meaning. A table takes 16 bytes a value while it is read; with clustering about 100 bytes
a point of two dimensions in all.

Dimensions are expressions of counters, by name (PAPI_TOT_INS) or event type (42000050), and of
`duration`, separated by commas; log(...) around a whole one compares magnitudes. The order of
preparation: --min-duration, --range, logarithm, each dimension scaled to 0 to 1, --factor.
A burst that lacks a counter of a dimension is left out, and counted.

--eps auto tries ten radii (the knee of distances decides beyond 300,000 points); --eps refine
starts with small ones and merges clusters while the ranks' sequences get more alike, so that each
cluster has a radius of its own. --subset clusters a part and gives each other point the label of
the nearest clustered one within eps; thin=N keeps N points of each crowded cell, by default as many
as make a core, so that rare kinds stay; ranks=N and random=P% take ranks and bursts by chance and
lose rare kinds. --check clusters all points as well, with the radius that they give.

The analysed part is that from the end of the last MPI_Init to the begin of the first
MPI_Finalize, where the trace has them; --with-init, --from and --to change that. A burst belongs to
the part that its middle lies in.

--edges auto: where durations alone are compared, bursts between different calls (edges of the flow
graph) are different if that makes the ranks' sequences more alike than chance does.

SPMD score: the ranks' sequences of clusters are aligned; of each column the share of the ranks
that have it, averaged; 1 where all ranks do the same at the same place. It is computed for given
eps too.

Keys of the JSON: `talea schema cluster`.")]
pub(super) struct ClusterArgs {
    /// Run directory, trace (.prv, .prv.gz) or table (.csv)
    #[arg(value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    input: PathBuf,
    #[command(flatten)]
    how: How,
    /// Leave out bursts with EXPRESSION outside LOW:HIGH: 'IPC=0.1:4'; repeatable
    #[arg(long = "range", value_name = "EXPRESSION=LOW:HIGH", value_parser = range, help_heading = "Preparation")]
    ranges: Vec<(String, Range)>,
    /// Values are points as they are: no filter, no logarithm, no scaling
    #[arg(long, conflicts_with_all = ["min_duration", "factor", "ranges"], help_heading = "Preparation")]
    no_prepare: bool,
    /// Cluster a part: thin[=N], ranks=N, random=P%, or ranks=N,random=P%
    #[arg(
        long,
        value_name = "RULE",
        value_parser = subset,
        num_args = 0..=1,
        default_missing_value = "thin",
        help_heading = "Clusters"
    )]
    subset: Option<(SubsetRule, String)>,
    /// Seed of the random choice made by --subset
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Clusters")]
    seed: u64,
    /// Cluster all points as well, and say what the subset lost
    #[arg(long, requires = "subset", help_heading = "Clusters")]
    check: bool,
    /// Write the trace with clusters as events 90000001
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    out_prv: Option<PathBuf>,
    /// Write the scatter plot as SVG; `-` is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    svg: Option<PathBuf>,
    /// Write a page with scatter plot, timeline and tables
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    html: Option<PathBuf>,
    /// Write clusters over time as SVG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    timeline: Option<PathBuf>,
    /// Write one row a burst: rank, begin, end, duration, cluster, dimensions, counters
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    csv: Option<PathBuf>,
    /// Write the cluster of each burst, one a line; 0 is noise
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    labels: Option<PathBuf>,
    /// JSON with stable keys instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Options of both commands.
#[derive(Debug, Args)]
struct How {
    /// Dimensions in which bursts are compared [default: log(instructions) and IPC, or
    /// log(duration)]
    #[arg(long, value_name = "LIST", conflicts_with = "columns", help_heading = "Preparation")]
    dimensions: Option<String>,
    /// Columns of a table, by the names in its first line: a,b
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Preparation")]
    columns: Option<Vec<String>>,
    /// Column with the weight of each row [default: duration in nanoseconds]
    #[arg(long, value_name = "NAME", help_heading = "Preparation")]
    weight: Option<String>,
    /// Minimum duration of bursts: 10us [default: leaves out 1 % of time]
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = "Preparation")]
    min_duration: Option<Nanos>,
    /// Weight of each dimension: 1,0.5
    #[arg(
        long,
        value_name = "NUMBERS",
        value_delimiter = ',',
        value_parser = factor,
        help_heading = "Preparation"
    )]
    factor: Vec<f64>,
    /// Compare values, not magnitudes, whatever the dimensions say
    #[arg(long, help_heading = "Preparation")]
    no_log: bool,
    /// Separate bursts by the calls at both ends
    #[arg(long, value_enum, default_value_t = EdgesArg::Auto, help_heading = "Clusters")]
    edges: EdgesArg,
    #[command(flatten)]
    part: PartArgs,
    /// Radius of neighbours in the unit cube: auto, refine, or a number
    #[arg(long, value_name = "EPS", value_parser = eps, default_value = "auto", help_heading = "Clusters")]
    eps: Eps,
    /// Minimum neighbours of a core point [default: number of ranks, 3 to 10]
    #[arg(long, value_name = "N", value_parser = min_points, help_heading = "Clusters")]
    min_points: Option<usize>,
}

/// Follow clusters over runs of different scales, or over one run
#[derive(Debug, Args)]
#[command(long_about = "\
Follow clusters over runs of different scales, or over windows of one run.

Each frame (a run, or a window) is clustered by itself, on one scale for all. Clusters of neighbouring frames are the \
same kind of computation if their rectangles, grown by half the radius and 5 % on each side, overlap, and the calls that end \
their bursts are alike, alone and with the call before, at least 15 % both ways. If those hold 85 % of the time of both frames, the frames are equivalent; three in a row \
are stable. Where frames are not equivalent, requisites are lowered step by step, to 20 % on each side, half of the time and 5 % of likeness, and the summary names the steps.")]
#[command(after_long_help = "\
Examples:
  talea track run1.prv.gz run4.prv.gz run16.prv.gz             what scales, and what does not
  talea track run1.prv run4.prv run16.prv --html scaling.html
  talea track trace.prv --windows 10                           does the behaviour change over time?
  talea track trace.prv --windows 500ms --json

With different numbers of ranks counts such as instructions are compared times ranks, so that a
problem that is spread over more ranks stays where it is (--per-task no for weak scaling). Figures
that are printed are those of the ranks.

Calls are the same in another version of the program if a routine of the same name has them in the
same order: lines may have moved. --from, --to, --with-init and --edges are those of talea cluster.

Keys of the JSON: `talea schema track`.")]
pub(super) struct TrackArgs {
    /// Runs, traces or tables in the order of their scale
    #[arg(value_name = "INPUT", required = true, value_hint = ValueHint::AnyPath)]
    inputs: Vec<PathBuf>,
    /// Cut one input into this many windows, or windows this long: 10, 500ms
    #[arg(long, value_name = "N|TIME", value_parser = windows)]
    windows: Option<Windows>,
    /// Compare counts times the ranks of their frame
    #[arg(long, value_enum, default_value_t = PerTaskArg::Auto, help_heading = "Preparation")]
    per_task: PerTaskArg,
    #[command(flatten)]
    how: How,
    /// Write trajectories as SVG; `-` is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    svg: Option<PathBuf>,
    /// Write a page with trajectories and tables
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    html: Option<PathBuf>,
    /// JSON with stable keys instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
}

fn eps(text: &str) -> Result<Eps, String> {
    match text {
        "auto" => Ok(Eps::Auto),
        "refine" => Ok(Eps::Refine),
        _ => text
            .parse()
            .ok()
            .filter(|eps: &f64| *eps >= 0.0 && eps.is_finite())
            .map(Eps::Given)
            .ok_or_else(|| "expected auto, refine, or a number of at least 0".to_owned()),
    }
}

/// Choices of `--edges`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum EdgesArg {
    /// Where durations alone are compared, and the ranks' sequences gain by it
    #[default]
    Auto,
    /// Always
    Yes,
    /// Never
    No,
}

impl From<EdgesArg> for Edges {
    fn from(choice: EdgesArg) -> Self {
        match choice {
            EdgesArg::Auto => Self::Auto,
            EdgesArg::Yes => Self::Yes,
            EdgesArg::No => Self::No,
        }
    }
}

/// Choices of `--per-task`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum PerTaskArg {
    /// If frames have different numbers of ranks
    #[default]
    Auto,
    /// The whole problem is the same: strong scaling
    Yes,
    /// The part of a rank is the same: weak scaling
    No,
}

impl From<PerTaskArg> for PerTask {
    fn from(choice: PerTaskArg) -> Self {
        match choice {
            PerTaskArg::Auto => Self::Auto,
            PerTaskArg::Yes => Self::Yes,
            PerTaskArg::No => Self::No,
        }
    }
}

fn min_points(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| "expected a number of at least 1".to_owned())
}

fn factor(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|f: &f64| *f >= 0.0 && f.is_finite());
    number.ok_or_else(|| "expected numbers of at least 0, such as 1,0.5".to_owned())
}

fn subset(text: &str) -> Result<(SubsetRule, String), String> {
    rule_of(text).map(|rule| (rule, text.to_owned()))
}

fn windows(text: &str) -> Result<Windows, String> {
    let count = text.parse::<u64>().ok().map(Windows::Count);
    count
        .or_else(|| values::step(text).ok().map(Windows::Each))
        .ok_or_else(|| "expected how many windows, or how long one is: 10, 500ms".to_owned())
}

/// `NAME=LOW:HIGH`; either end may be missing. The name is an expression and may have `=` in it.
fn range(text: &str) -> Result<(String, Range), String> {
    let wrong =
        || "expected EXPRESSION=LOW:HIGH, such as IPC=0.1:4 or PAPI_TOT_INS=1000:".to_owned();
    let (name, ends) = text.rsplit_once('=').ok_or_else(wrong)?;
    let (low, high) = ends.split_once(':').ok_or_else(wrong)?;
    let end = |text: &str, open: f64| match text.trim() {
        "" => Some(open),
        text => text.parse::<f64>().ok().filter(|value| !value.is_nan()),
    };
    let low = end(low, f64::NEG_INFINITY).ok_or_else(wrong)?;
    let high = end(high, f64::INFINITY).ok_or_else(wrong)?;
    if low > high || name.trim().is_empty() {
        return Err(wrong());
    }
    Ok((name.trim().to_owned(), Range { low, high }))
}

impl From<How> for Clustering {
    fn from(how: How) -> Self {
        Self {
            dimensions: how.dimensions,
            columns: how.columns,
            weight: how.weight,
            min_duration: how.min_duration.map(|time| time.0 as f64),
            factors: how.factor,
            no_log: how.no_log,
            part: how.part.into(),
            edges: how.edges.into(),
            eps: how.eps,
            min_points: how.min_points,
            seed: 1,
            ..Self::default()
        }
    }
}

impl From<ClusterArgs> for clusters::Options {
    fn from(args: ClusterArgs) -> Self {
        let analysis = Clustering {
            labels: if args.out_prv.is_some() { Labels::Kept } else { Labels::Counted },
            ranges: args.ranges,
            no_prepare: args.no_prepare,
            subset: args.subset,
            seed: args.seed,
            check: args.check,
            ..args.how.into()
        };
        let out = clusters::Out {
            prv: args.out_prv,
            svg: args.svg,
            html: args.html,
            timeline: args.timeline,
            csv: args.csv,
            labels: args.labels,
            json: args.json,
        };
        Self { input: args.input, analysis, out }
    }
}

impl From<TrackArgs> for tracks::Options {
    fn from(args: TrackArgs) -> Self {
        Self {
            how: Tracking {
                inputs: args.inputs,
                windows: args.windows,
                per_task: args.per_task.into(),
                clusters: args.how.into(),
            },
            svg: args.svg,
            html: args.html,
            json: args.json,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_people_write_them() {
        assert_eq!(range("a=1:2"), Ok(("a".into(), Range { low: 1.0, high: 2.0 })));
        assert_eq!(
            range("x:u=1=:2e3"),
            Ok(("x:u=1".into(), Range { low: f64::NEG_INFINITY, high: 2e3 }))
        );
        assert!(
            ["a", "a=1", "=1:2", "a=2:1", "a=x:1", "a=nan:1"]
                .iter()
                .all(|text| range(text).is_err())
        );
        assert_eq!((eps("0"), eps("refine")), (Ok(Eps::Given(0.0)), Ok(Eps::Refine)));
        assert!(["-1", "nan", "inf", ""].iter().all(|text| eps(text).is_err()));
        assert_eq!(windows("500ms"), Ok(Windows::Each(Nanos(500_000_000))));
        assert_eq!((windows("7"), windows("x").is_err()), (Ok(Windows::Count(7)), true));
        assert!(min_points("0").is_err() && factor("-1").is_err());
    }
}

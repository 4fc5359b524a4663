//! The arguments of `talea show` and of its views.
//!
//! Owns their definitions and help texts; `talea schema` prints the keys of each view's JSON.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use talea_model::Rank;

use super::values;
use crate::show::CallsBy;

/// Print one view of a run
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, subcommand_value_name = "VIEW")]
#[command(override_usage = "talea show RUN [VIEW] [OPTIONS]")]
#[command(long_about = "\
Print one view of a run, its structure where none is named. Every view has --json, whose keys are listed in its own help \
(`talea show RUN stats --help`).")]
#[command(after_long_help = "\
Examples:
  talea show talea-app                         the same as structure
  talea show talea-app structure               loops and calls as a tree, with times
  talea show talea-app calls                   call sites by time, summed by line
  talea show talea-app calls --by path         the same with every call path
  talea show talea-app graph --svg graph.svg   the event flow graph as a picture
  talea show talea-app stats --json            sizes and counts for scripts
  talea show talea-app matrix                  messages between ranks
  talea show talea-app samples                 functions and lines by time on PUs")]
pub(super) struct ShowArgs {
    /// Run directory, or a file in it
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(super) run: PathBuf,
    #[command(subcommand)]
    pub(super) view: Option<View>,
}

impl ShowArgs {
    /// The mistake where the words after `show` are `VIEW RUN`.
    pub(super) fn wrong_order(words: &[String]) -> Option<String> {
        let views = View::augment_subcommands(clap::Command::new("show"));
        let is_view = |word: &String| views.get_subcommands().any(|one| one.get_name() == word);
        let [view, run, ..] = words else { return None };
        let swapped = is_view(view) && !is_view(run) && !run.starts_with('-');
        swapped.then(|| format!("the run comes before the view: `talea show {run} {view}`"))
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum View {
    /// Loops, sequences and calls as a tree, with times
    #[command(after_long_help = "\
Times are those of the rank that is shown; shares are of its run without MPI_Init and MPI_Finalize.
Where ranks have several threads that call MPI, each thread has a tree; shares are of the time from
its first to its last call. In lists, 0-3.1-2 stands for threads 1 and 2 of each of ranks 0 to 3.
A guard in brackets says on which iterations something runs, counted from 0: [4-59 every 5], or
[0-11 2 of every 5] for blocks of two. In JSON it is `first,last,stride,blocksize`, parts joined
by |.

JSON has one of each class, or of each thread of the chosen rank. Keys: `talea schema structure`.")]
    Structure(StructureArgs),
    /// The event flow graph
    #[command(after_long_help = "\
Without --dot, --svg and --json: nodes and edges as text, chains of three or more calls drawn as
one.

Keys of the JSON: `talea schema graph`.")]
    Graph(GraphArgs),
    /// Counts and sizes of the recording
    #[command(after_long_help = "\
Keys of the JSON: `talea schema stats`.")]
    Stats(JsonArgs),
    /// Call sites over all ranks, by time
    #[command(after_long_help = "\
A line with many callers has a call path for each of them; by line and by routine these are summed.
Shares are of the time of all ranks (of all their threads) without MPI_Init and MPI_Finalize.

The median is within 0.8 %, and within the bound that times were kept with. Keys of the JSON:
`talea schema calls`; with --by line or routine `talea schema call-groups`.")]
    Calls(CallsArgs),
    /// Communication matrix: bytes and messages from rank to rank
    #[command(after_long_help = "\
Bytes of collectives are the contribution of each rank, by its arguments. Keys of the JSON:
`talea schema matrix`.")]
    Matrix(JsonArgs),
    /// Ranks that behave alike, or threads where ranks have several
    #[command(after_long_help = "\
Threads of a class have structure trees of the same shape; those of an exact class make the same
calls in the same order. In lists, 0-3.1-2 stands for threads 1 and 2 of each of ranks 0 to 3; a
rank with one thread that calls MPI stands there by its number alone.

Keys of the JSON: `talea schema classes`.")]
    Classes(JsonArgs),
    /// Iterations to keep in detail, and totals estimated from them
    #[command(after_long_help = "\
Iterations of one kind make the same calls and take about as long. Of each kind smart collection
keeps the first, the slowest (two from --keep 8 on), and a random one from each stretch of the run.

Of a run that was recorded with `--collect smart` these are the kept iterations, with the exact
times of call sites. Of any other run they are those that --keep and --seed would keep: times of
call sites are estimated from them, with 95 % intervals, beside the recorded times.

Without --rank: a rank of the largest class. Keys of the JSON: `talea schema collection`.")]
    Collection(CollectionArgs),
    /// Growth of the event flow graph over time, and when its structure was steady
    #[command(after_long_help = "\
A look at each hundredth of the run. Change is the part of the time since the look before that was
spent on edges of the graph which no look had found. The structure is steady after three looks in a
row with changes of at most 1 %. MPI_Init and MPI_Finalize are left out.

Without --rank: all threads together. Keys of the JSON: `talea schema growth`.")]
    Growth(StructureArgs),
    /// Where ranks ran: hosts, their objects, and the PUs on which threads may run
    #[command(after_long_help = "\
A thread works if it was on PUs for at least a tenth of the run; PUs have the operating system's
numbers. The objects of each host lie in RUN/hosts as hwloc's XML, which `talea topo --topology
FILE` draws.

Keys of the JSON: `talea schema hosts`.")]
    Hosts(JsonArgs),
    /// Where threads were, by samples: functions and lines [recorded with `talea run --sample`]
    #[command(after_long_help = "\
Samples in a function itself, and in it or what it calls. Inlined functions count as functions. Time
is each thread's own time on PUs: a thread that waits without computing has no samples.

Keys of the JSON: `talea schema samples`.")]
    Samples(OneRankArgs),
}

#[derive(Debug, Args)]
pub(super) struct JsonArgs {
    /// JSON with stable keys instead of text
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct CallsArgs {
    /// JSON with stable keys instead of text
    #[arg(long)]
    pub(super) json: bool,
    /// Sum call sites [default: line; path with --json]
    #[arg(long, value_name = "WHAT")]
    pub(super) by: Option<CallsBy>,
}

#[derive(Debug, Args)]
pub(super) struct OneRankArgs {
    /// JSON with stable keys instead of text
    #[arg(long)]
    pub(super) json: bool,
    /// Show this rank instead of one of each class
    #[arg(long, value_name = "N", value_parser = values::rank)]
    pub(super) rank: Option<Rank>,
}

#[derive(Debug, Args)]
pub(super) struct StructureArgs {
    #[command(flatten)]
    pub(super) rank: OneRankArgs,
    /// Of the threads of --rank, show this one only
    #[arg(long, value_name = "N", requires = "rank")]
    pub(super) thread: Option<u32>,
}

#[derive(Debug, Args)]
pub(super) struct CollectionArgs {
    #[command(flatten)]
    pub(super) thread: StructureArgs,
    /// Maximum number of kept iterations of a kind
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        value_parser = clap::value_parser!(u16).range(5..=1000)
    )]
    pub(super) keep: u16,
    /// Seed of the random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
}

#[derive(Debug, Args)]
pub(super) struct GraphArgs {
    /// JSON with stable keys instead of text
    #[arg(long, conflicts_with = "dot")]
    pub(super) json: bool,
    /// Graphviz's language: `talea show RUN graph --dot | dot -Tpdf -o graph.pdf`
    #[arg(long)]
    pub(super) dot: bool,
    /// Draw it into this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) svg: Option<PathBuf>,
    /// The graph of this rank instead of that of the largest class
    #[arg(long, value_name = "N", value_parser = values::rank)]
    pub(super) rank: Option<Rank>,
    /// Of the threads of --rank, this one [default: the first]
    #[arg(long, value_name = "N", requires = "rank")]
    pub(super) thread: Option<u32>,
}

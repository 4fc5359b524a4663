//! The arguments of `talea show` and of its views.
//!
//! Owns their definitions and help texts, in which the public keys of each view's JSON are listed.

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
  talea show talea-app matrix                  who sends to whom
  talea show talea-app samples                 functions and lines by time on PUs")]
pub(super) struct ShowArgs {
    /// Run directory, or a file in it
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(super) run: PathBuf,
    #[command(subcommand)]
    pub(super) view: Option<View>,
}

impl ShowArgs {
    /// What is wrong where the words after `show` are `VIEW RUN`.
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

JSON: [{ranks, locations, representative, thread, run_ns, tree}], one of each class, or of each
thread of the rank that is chosen; locations is as ranks, with threads where a rank has several,
thread the one that is shown; a node of the tree is {kind: root|sequence|loop|call|mixed, label,
count, range, guard, time_ns, share, mpi_share, events, site, children}.")]
    Structure(StructureArgs),
    /// The event flow graph
    #[command(after_long_help = "\
Without --dot, --svg and --json: nodes and edges as text, chains of three or more calls drawn as
one.

JSON: {rank, thread, stats: {nodes, edges, events, cardinality}, graph: {nodes, edges, loops}};
the graph is that of the report: nodes {id, label, procedure, site, visits, time, loop_id,
category, calls}, edges {from, to, transitions, gap, label, back}, loops {id, parent, iterations,
label}; times in ns.")]
    Graph(GraphArgs),
    /// Counts and sizes of the recording
    #[command(after_long_help = "\
JSON keys:
  ranks                 processes that left a record
  calls                 all MPI calls, local ones and each single poll included
  events                events of the graphs: local calls left out, unsuccessful polls in a row are
                        one
  nodes, edges          of a thread's graph, mean over the threads (with a fraction; null without
                        ranks)
  cardinality           events for each node, mean over the threads
  bytes_total           of the record on disk
  bytes_sequence        of these: graphs, order and arguments of all calls
  bytes_times           of these: begin and duration of all calls
  classes               groups of threads with the same structure: ranks, where each has one
  dominant_loop_share   part of the run's time in the outermost loop with most time, 0 to 1, mean
                        over the ranks (of each the thread with most time in a loop); null where there is none or times were not kept
  mpi_share             part of the time of all ranks, from the end of MPI_Init to the begin of
                        MPI_Finalize, that is spent in MPI, 0 to 1; null without times
  waiting_share         part of the same time that calls wait for partners that have not entered
                        theirs yet; null without times of single calls
  waiting_judged        part of the run, from its begin, that waiting_share is computed from: less
                        than 1 for runs of many calls; 0 without times of single calls
  threads_wait_for_pus  true if threads were ready without a PU for 5 % of the time or more:
                        waiting_share is not reliable then
  running_share         part of the time that threads were on PUs, 0 to 1, between the readings of
                        their CPU clocks (about one a second); null where it was not measured
  delayed_share         the same for time ready to run while other threads had the PUs
  gaps                  what is missing: [{kind, rank, detail, count}]; no rank where it concerns
                        the whole run")]
    Stats(JsonArgs),
    /// Call sites over all ranks, by time
    #[command(after_long_help = "\
A line with many callers has a call path for each of them; by line and by routine these are summed.
Shares are of the time of all ranks (of all their threads) without MPI_Init and MPI_Finalize.

JSON: [{id, procedure, category, function, file, line, address, place, path, count, time, share,
bytes, min, median, max, imbalance, rank_min, rank_max, rank_times, rank_counts}]; times in ns. The
place is file:line, function+0xoffset or module+0xoffset. The median is within 0.8 %, and within
the bound that times were kept with. With --by line or routine: without id, procedure, address,
place, path, rank_times and rank_counts, but with procedures, label, sites (ids) and paths (their
number).")]
    Calls(CallsArgs),
    /// Communication matrix: bytes and messages from rank to rank
    #[command(after_long_help = "\
JSON: {ranks, what, cells: [[from, to, bytes, messages]], collectives: [{procedure, calls, bytes}]};
bytes of collectives are what each rank contributes as its arguments say.")]
    Matrix(JsonArgs),
    /// Ranks that behave alike, or threads where ranks have several
    #[command(after_long_help = "\
Threads of a class have structure trees of the same shape; those of an exact class make the same
calls in the same order. In lists, 0-3.1-2 stands for threads 1 and 2 of each of ranks 0 to 3; a
rank with one thread that calls MPI stands there by its number alone.

JSON: [{id, name, ranks, locations, count, representative, thread, exact_classes, events, nodes,
edges}]; locations is as ranks, with threads where a rank has several, count the number of threads,
representative and thread the one whose events, nodes and edges these are.")]
    Classes(JsonArgs),
    /// Where ranks ran: hosts, their objects, and the PUs on which threads may run
    #[command(after_long_help = "\
A thread works if it was on PUs for at least a tenth of the run; PUs have the operating system's
numbers. The objects of each host lie in RUN/hosts as hwloc's XML, which `talea topo --topology
FILE` draws.

JSON: [{name, machine, pus, notes, gaps, ranks: [{rank, pid, allowed, inside, last, threads,
working}]}]; pus, allowed and last are lists of PUs such as 0-3,8, inside is the smallest object
that has all allowed ones.")]
    Hosts(JsonArgs),
    /// Where threads were, by samples: functions and lines [recorded with `talea run --sample`]
    #[command(after_long_help = "\
Samples in a function itself, and in it or what it calls. Inlined functions count as functions. Time
is each thread's own time on PUs: who waits without computing has no samples.

JSON: [{rank, world, host, pid, command, trigger, period, unwinding, seconds, complete, counters,
sets, samples, lost_samples, probes, lost_probes, phases: [{phase, entered, left, counted}],
lost_phases, threads: [{tid, name, number, samples, probes, lost_samples, lost_probes, phases,
lost_phases}], functions: [{function, self, self_share, total, total_share}], lines: [{function,
file, line, samples, share}], gaps: [{kind, detail, count}]}]; phases are those that the program
marks, counted the instances with counters at both ends, phases of a thread begins and ends,
lost_phases instances that were not recorded: too fast, or no room; rank and world are null without
MPI, number is the thread's in the recording of MPI calls, shares are from 0 to 1 of the process's
samples; period in units of the trigger, ns for task-clock.")]
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

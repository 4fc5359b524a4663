//! Views of a run: the JSON of `talea show RUN VIEW`.
//!
//! Owns the keys. Call sites are [`crate::SiteRow`] and [`crate::SiteGroup`], hosts
//! [`crate::HostData`]. Keys that end in `_ns` are whole nanoseconds; shares are 0 to 1.

use schemars::JsonSchema;
use serde::Serialize;
use talea_model::{Bytes, Gaps, Nanos, Rank};

use crate::{GraphData, LoopId, SiteId};

/// Structure of one class of threads, or of one thread.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StructureData {
    /// Ranks of the class, as a list: `0-3,8`, `0-12:4` for every fourth of 0 to 12.
    pub ranks: String,
    /// Ranks and threads of the class: `0-3.1-2` is threads 1 and 2 of ranks 0 to 3.
    pub locations: String,
    /// The rank whose figures stand in the tree.
    pub representative: Rank,
    /// Its thread, in the order of first recorded calls.
    pub thread: u32,
    /// Time of this thread between `MPI_Init` and `MPI_Finalize`.
    pub run_ns: Nanos,
    /// The whole run, as a tree of loops, sequences and calls.
    pub tree: StructureNode,
}

/// Kind of a node of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StructureKind {
    /// The whole run.
    Root,
    /// Children one after the other.
    Sequence,
    /// Children repeatedly.
    Loop,
    /// One call.
    Call,
    /// Calls in changing order, summed.
    Mixed,
}

/// A node of a structure. Figures are totals of the representative thread over the run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StructureNode {
    /// Its kind.
    pub kind: StructureKind,
    /// A procedure, the place of a loop (`verlet.cpp:291`), or a name for a sequence.
    pub label: String,
    /// Iterations each time a loop is entered; null where that varies and on other kinds.
    pub count: Option<u64>,
    /// Iterations as text where they vary, `4-7`; empty otherwise.
    pub range: String,
    /// Iterations of all executions of a loop together; null on other kinds.
    pub iterations: Option<u64>,
    /// Number of a loop: `id` of the same loop in `talea show RUN graph` of the representative
    /// thread. Loops that this graph does not have are numbered after those; null on other kinds.
    pub loop_id: Option<LoopId>,
    /// The iterations on which it runs, as `0,2,2,1|4,5,0,2`; empty for all.
    pub guard: String,
    /// Time inside it, children and computation between calls included.
    pub time_ns: Nanos,
    /// Part of the root's time.
    pub share: f64,
    /// Part of its time in MPI.
    pub mpi_share: f64,
    /// Number of calls inside it.
    pub events: u64,
    /// Call site of a call: `id` of `talea show RUN calls --by path`; null on other kinds.
    pub site: Option<SiteId>,
    /// Children in the order of execution.
    pub children: Vec<StructureNode>,
}

/// An event: one line of `talea events RUN --json-lines`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EventLine<'a> {
    /// Its begin, since `MPI_Init`; null where times were not recorded.
    pub begin_ns: Option<u64>,
    /// Its duration.
    pub duration_ns: Option<u64>,
    /// The procedure.
    pub call: &'a str,
    /// Its arguments by name; kinds of values differ by argument.
    pub args: serde_json::Map<String, serde_json::Value>,
    /// Number of unsuccessful polls that it stands for; 0 for other calls.
    pub polls: u64,
    /// Its call site.
    pub site: &'a str,
}

/// The event flow graph of one thread.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GraphView {
    /// The rank.
    pub rank: Rank,
    /// The thread, in the order of first recorded calls.
    pub thread: u32,
    /// Sizes of the whole graph.
    pub stats: GraphSizes,
    /// The graph as it is drawn: chains of calls are one node.
    pub graph: GraphData,
}

/// Sizes of an event flow graph.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GraphSizes {
    /// Number of nodes; the synthetic start and end are not counted.
    pub nodes: usize,
    /// Number of edges.
    pub edges: usize,
    /// Number of events.
    pub events: u64,
    /// Events per node; 0 for an empty graph.
    pub cardinality: f64,
}

/// Counts and sizes of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StatsData {
    /// Processes with a record.
    pub ranks: usize,
    /// All calls of MPI, local ones and each single poll included.
    pub calls: u64,
    /// Events of the graphs: without local calls; unsuccessful polls in a row are one.
    pub events: u64,
    /// Nodes of a thread's flow graph, mean over the threads; null without ranks.
    pub nodes: Option<f64>,
    /// Edges of a thread's flow graph, mean over the threads.
    pub edges: Option<f64>,
    /// Events for each node, mean over the threads.
    pub cardinality: Option<f64>,
    /// Size of the recording on disk in bytes.
    pub bytes_total: Bytes,
    /// Part of it in bytes: graphs, order and arguments of all calls.
    pub bytes_sequence: Bytes,
    /// Part of it in bytes: begin and duration of all calls.
    pub bytes_times: Bytes,
    /// Classes of threads that behave alike.
    pub classes: usize,
    /// Share of the run's time in the outermost loop with most time, mean over the ranks; null
    /// without loops or times.
    pub dominant_loop_share: Option<f64>,
    /// Share of the time of all ranks from the end of `MPI_Init` to the begin of `MPI_Finalize` in
    /// MPI; null without times.
    pub mpi_share: Option<f64>,
    /// Share of the same time in which calls wait for partners that have not entered theirs; null
    /// without times of single calls.
    pub waiting_share: Option<f64>,
    /// Part of the run, from its begin, that `waiting_share` is computed from; 0 without times of
    /// single calls.
    pub waiting_judged: f64,
    /// True if threads were ready without a PU for 5 % of the time or more: `waiting_share` is not
    /// reliable then.
    pub threads_wait_for_pus: bool,
    /// Share of the time that threads were on PUs, between readings of their CPU clocks; null where
    /// not measured.
    pub running_share: Option<f64>,
    /// Share of the time that threads were ready to run without a PU; null where not measured.
    pub delayed_share: Option<f64>,
    /// Gaps of the recording.
    pub gaps: Gaps,
}

/// Communication from rank to rank.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MatrixData {
    /// Number of ranks.
    pub ranks: u32,
    /// Contents of the cells in words.
    pub what: String,
    /// Sender, receiver, bytes, messages; pairs without a message are left out.
    pub cells: Vec<(Rank, Rank, Bytes, u64)>,
    /// Collective operations, by procedure.
    pub collectives: Vec<CollectiveData>,
}

/// Totals of the collective operations of one procedure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CollectiveData {
    /// The procedure.
    pub procedure: String,
    /// Calls on all ranks.
    pub calls: u64,
    /// The ranks' contributions, by their arguments.
    pub bytes: Bytes,
}

/// A class of threads that behave alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClassData {
    /// Its number, from 0.
    pub id: usize,
    /// Its name: `A`, `B` and so on.
    pub name: String,
    /// Ranks of the class, as a list: `0-3,8`.
    pub ranks: String,
    /// Ranks and threads of the class.
    pub locations: String,
    /// Number of threads.
    pub count: usize,
    /// The rank that stands for the class.
    pub representative: Rank,
    /// Its thread.
    pub thread: u32,
    /// Groups of identical threads in the class.
    pub exact_classes: usize,
    /// Events of the representative.
    pub events: u64,
    /// Nodes of its flow graph.
    pub nodes: usize,
    /// Edges of its flow graph.
    pub edges: usize,
}

/// Samples of one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SamplesData {
    /// Rank in its world; null if MPI was not initialised.
    pub rank: Option<Rank>,
    /// Number that the processes of one world share; null if MPI was not initialised.
    pub world: Option<u64>,
    /// Host name.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// Words of the command line.
    pub command: Vec<String>,
    /// Counter whose overflow takes a sample.
    pub trigger: String,
    /// Its increase from sample to sample; nanoseconds of a clock.
    pub period: u64,
    /// Method of finding call stacks: `dwarf` or `fp`.
    pub unwinding: &'static str,
    /// Length of sampling.
    pub seconds: f64,
    /// True if the process ended normally.
    pub complete: bool,
    /// Names of counters.
    pub counters: Vec<String>,
    /// Sets in which they are counted, one set at a time: places in `counters`.
    pub sets: Vec<Vec<u32>>,
    /// Number of samples.
    pub samples: u64,
    /// Samples that found no room in the kernel's buffer.
    pub lost_samples: u64,
    /// Number of readings of counters at calls.
    pub probes: u64,
    /// Readings that found no room.
    pub lost_probes: u64,
    /// Phases that the program marks, most entered first.
    pub phases: Vec<PhaseCounts>,
    /// Instances of phases that were not recorded.
    pub lost_phases: u64,
    /// Threads, in the order in which they were first seen.
    pub threads: Vec<SampledThread>,
    /// Functions by number of samples.
    pub functions: Vec<FunctionSamples>,
    /// Lines by number of samples.
    pub lines: Vec<LineSamples>,
    /// Gaps.
    pub gaps: Gaps,
}

/// Counts of one marked phase in all threads of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PhaseCounts {
    /// Its name.
    pub phase: String,
    /// Begins.
    pub entered: u64,
    /// Ends.
    pub left: u64,
    /// Ends with values of counters.
    pub counted: u64,
}

/// Counts of one sampled thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SampledThread {
    /// The operating system's number.
    pub tid: u32,
    /// Its name, as the program or a library set it.
    pub name: String,
    /// Its number in the recording of calls; null if it made none.
    pub number: Option<u32>,
    /// Number of samples.
    pub samples: usize,
    /// Number of readings of counters at calls.
    pub probes: usize,
    /// Samples that found no room in the kernel's buffer.
    pub lost_samples: u64,
    /// Readings that found no room.
    pub lost_probes: u64,
    /// Begins and ends of phases.
    pub phases: usize,
    /// Instances of phases that were not recorded.
    pub lost_phases: u64,
}

/// Samples in one function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FunctionSamples {
    /// Its name, or an address.
    pub function: String,
    /// Samples in itself.
    #[serde(rename = "self")]
    pub own: u64,
    /// Part of all samples of the process.
    pub self_share: f64,
    /// Samples in itself or in functions that it called.
    pub total: u64,
    /// Part of all samples of the process.
    pub total_share: f64,
}

/// Samples at one line.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LineSamples {
    /// The function, or an address.
    pub function: String,
    /// Its file; null where unknown.
    pub file: Option<String>,
    /// Its line; null where unknown.
    pub line: Option<u32>,
    /// Samples at it.
    pub samples: u64,
    /// Part of all samples of the process.
    pub share: f64,
}

/// One iteration of a loop on one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IterationRow {
    /// The rank.
    pub rank: Rank,
    /// Its thread, in the order of first recorded calls.
    pub thread: u32,
    /// Number of the iteration on this thread, from 0, over all executions of the loop.
    pub iteration: u64,
    /// Its begin, since `MPI_Init`.
    pub begin_ns: Nanos,
    /// Time until the begin of the next iteration, or the end of the loop.
    pub duration_ns: Nanos,
    /// Number of calls in it.
    pub events: u64,
}

/// One sample of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SampleRow {
    /// Rank in its world; null if MPI was not initialised.
    pub rank: Option<Rank>,
    /// Host name.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// The operating system's number of the thread.
    pub tid: u32,
    /// Its number in the recording of calls; null if it made none.
    pub thread: Option<u32>,
    /// `CLOCK_MONOTONIC` of the host.
    pub time_ns: u64,
    /// The function, or an address; null without a stack.
    pub function: Option<String>,
    /// Its file; null where unknown.
    pub file: Option<String>,
    /// Its line; null where unknown.
    pub line: Option<u32>,
    /// Functions from the innermost outwards.
    pub stack: Vec<String>,
}

//! Data of a report: the public JSON of a run, key by key.
//!
//! Owns the shape and the names; every field name is a key of the JSON. Times are whole nanoseconds
//! and amounts whole bytes. It computes nothing: the analysis of the run fills it in.
//!
//! Ids ([`LoopId`], [`SiteId`], [`ClassId`], those of tree nodes) are each unique in one report,
//! across all classes. Text may hold anything that a program can put into a path or an argument:
//! drawing makes it harmless.

pub mod clusters;
pub mod collection;
pub mod folded;
mod graph;
pub mod growth;
pub mod links;
pub mod machine;
mod matrix;
pub mod metrics;
pub mod network;
pub mod ports;
pub mod regions;
pub mod schema;
pub mod site;
mod study;
mod time;
mod tree;
pub mod views;
pub mod watch;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use talea_model::{Bytes, Gaps, Nanos, Rank};

pub use graph::{ChainCall, GraphData, GraphEdge, GraphLoop, GraphNode};
pub use matrix::{Cell, Matrix};
pub use network::NetworkData;
pub use study::{Picture, Study, StudyColumn, StudyKind, StudyValue};
pub use time::{Bar, IterationSeries, Message, Outlier, RankSeries, Row, Timeline};
pub use tree::{TreeKind, TreeNode};

/// A loop, the same in tree, graph, timelines and iteration series.
pub type LoopId = u32;
/// A call site: the index into [`ReportData::sites`].
pub type SiteId = u32;
/// A class of threads: the index into [`ReportData::classes`].
pub type ClassId = u32;

/// All data of one report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ReportData {
    /// Command, place and mode of the recording.
    pub run: RunInfo,
    /// Gaps: missing, estimated or unsupported data; shown in a strip under the title.
    pub gaps: Gaps,
    /// Findings, most important first.
    pub findings: Vec<Finding>,
    /// Classes of threads that behave alike, largest first, or, where ranks have several threads,
    /// most time in a loop first; at least one where there is any rank.
    pub classes: Vec<RankClass>,
    /// Call sites, `sites[i].id == i`.
    pub sites: Vec<SiteRow>,
    /// The same summed by line and procedure, most time first.
    pub lines: Vec<SiteGroup>,
    /// The same summed by the calling function, most time first.
    pub routines: Vec<SiteGroup>,
    /// One row a rank, in the order of ranks.
    pub ranks: Vec<RankRow>,
    /// The run in detail: of each loop first a typical iteration, then slow ones; without a loop
    /// the whole run.
    pub timelines: Vec<Timeline>,
    /// Durations of iterations over the run: at most one for each loop and class.
    pub iterations: Vec<IterationSeries>,
    /// Bytes by sender and receiver: the whole run, and where known single loops and sites.
    pub matrices: Vec<Matrix>,
    /// Placement of ranks.
    pub hosts: Vec<HostData>,
    /// Computation between calls, where the run was sampled.
    pub studies: Vec<Study>,
    /// The network between nodes and the loads of its links, made by [``talea-report``]; absent
    /// where unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkData>,
}

/// A host and its ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct HostData {
    /// Its name.
    pub name: String,
    /// Its objects in words.
    pub machine: String,
    /// Its PUs, as a list; empty where unknown.
    pub pus: String,
    /// Oddities of the placement of ranks, one sentence each.
    pub notes: Vec<String>,
    /// Gaps of its description.
    pub gaps: Vec<String>,
    /// Its ranks.
    pub ranks: Vec<PlaceRow>,
    /// Its objects with the ranks on them, as an SVG element; absent where unknown or drawn for a
    /// host before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
}

/// Placement of a rank.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlaceRow {
    /// The rank.
    pub rank: Rank,
    /// The operating system's number of the process.
    pub pid: u32,
    /// PUs on which its working threads may run, as a list `0-3,8`; empty where unknown.
    pub allowed: String,
    /// The smallest object around these, `Core 3`; empty where unknown.
    pub inside: String,
    /// PUs on which they ran last.
    pub last: String,
    /// Threads of the process at its end.
    pub threads: u64,
    /// Number of those that were on PUs for at least a tenth of the run.
    pub working: u64,
}

/// The title of the report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RunInfo {
    /// The command line as a person would type it.
    pub command: String,
    /// Names of the nodes, in the order of the ranks on them.
    pub hosts: Vec<String>,
    /// Number of processes that left a record, of all worlds.
    pub ranks: u32,
    /// From the first rank's start to the last one's end.
    pub wall: Nanos,
    /// Start in RFC 3339, with the UTC offset of the host.
    pub started: String,
    /// The MPI library's own name, one line.
    pub mpi: String,
    /// Version of the Talea that recorded the run.
    pub talea: String,
    /// Mode of the times (`exact`, `bounded`, `sums`).
    pub times_mode: String,
    /// The stated bound of the times' error (`at most 100 ns or 2 %, absolute times 10.0 µs`);
    /// empty where they are exact.
    pub times_bound: String,
    /// Times of single calls below this are unknown; 0 where they are exact or not kept.
    pub times_resolution: Nanos,
    /// End of the program (`exit code 0`, `signal 9`), `running`, or `unknown`.
    pub exit: String,
    /// True when the program ended normally, or is running.
    pub ok: bool,
}

/// One sentence with figures, and the place of its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// A plain sentence. Text between back-ticks is shown as code, figures are emphasised
    /// automatically.
    pub text: String,
    /// Destination of a click.
    pub target: Target,
}

/// Evidence of a finding: `{"kind": "loop", "id": 3}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Target {
    /// The whole run.
    Run,
    /// A loop: its tree node, timeline, iterations and graph.
    Loop {
        /// The loop.
        id: LoopId,
    },
    /// One iteration in the plot of durations.
    Iteration {
        /// Its loop.
        id: LoopId,
        /// Its number, from 0.
        iteration: u64,
    },
    /// A call site: its row, its bars, its node.
    Site {
        /// The call site.
        id: SiteId,
    },
    /// A rank: its row in the timeline and the table.
    Rank {
        /// The rank.
        rank: Rank,
    },
    /// A class of ranks: its tree, graph and rows.
    Class {
        /// The class.
        id: ClassId,
    },
    /// The communication matrix.
    Matrix,
    /// Placement of ranks.
    Hosts,
    /// Loads of the network's links.
    Network,
}

/// Threads that execute the same structure: ranks, where each has one recorded thread.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RankClass {
    /// Index in the report's list.
    pub id: ClassId,
    /// Short name, `A`, `B` and so on.
    pub name: String,
    /// Its ranks as text, `0-3,8`.
    pub ranks: String,
    /// Its threads as text: as `ranks` where a rank has one recorded thread, otherwise with the
    /// threads of each, `0-3.1-2,8.1`.
    pub locations: String,
    /// Number of its threads: ranks, where each has one.
    pub count: u32,
    /// The rank whose events the tree and the graph show.
    pub representative: Rank,
    /// The one of its threads whose events these are.
    pub thread: u32,
    /// Structure of the representative; the root has kind [`TreeKind::Root`].
    pub tree: TreeNode,
    /// Flow graph of the representative, chains already merged.
    pub graph: GraphData,
}

/// Category of time; the colour of all its calls.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// The program's own work.
    Computation,
    /// Completion calls and blocking receives: `MPI_Wait*`, `MPI_Recv`, `MPI_Probe`.
    Waiting,
    /// Sends, posted receives, one-sided transfers.
    Transfer,
    /// Collective operations and synchronisation.
    Collective,
    /// MPI-IO.
    Io,
    /// Set-up, and calls that only query or create something.
    Setup,
}

/// One call site over all ranks: a row of the table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SiteRow {
    /// Index in the report's list.
    pub id: SiteId,
    /// `MPI_Waitall`.
    pub procedure: String,
    /// Its colour.
    pub category: Category,
    /// Calling function; empty where unknown.
    pub function: String,
    /// File, as the line table names it; empty where unknown.
    pub file: String,
    /// Line in `file`, from 1; 0 where unknown.
    pub line: u32,
    /// Address, which is always known, `module+0xoffset`.
    pub address: String,
    /// Short text of the place: `file:line`, `function+0xoffset` or `module+0xoffset`.
    pub place: String,
    /// Call path from the direct caller outwards, each frame as one line of text.
    pub path: Vec<String>,
    /// Number of calls on all ranks.
    pub count: u64,
    /// Time on all ranks.
    pub time: Nanos,
    /// `time` as a part of the time of all ranks from the end of `MPI_Init` to the begin of
    /// `MPI_Finalize`, 0 to 1; 0 for these two.
    pub share: f64,
    /// Bytes sent by these calls; absent for a procedure that moves none.
    pub bytes: Option<Bytes>,
    /// Shortest call.
    pub min: Nanos,
    /// Median call (of the bounded times where they are bounded).
    pub median: Nanos,
    /// Longest call.
    pub max: Nanos,
    /// Largest rank's time divided by the mean of the ranks that call it; 1 is even.
    pub imbalance: f64,
    /// Rank with the minimum time here, among those that call it.
    pub rank_min: Rank,
    /// Rank with the maximum time here.
    pub rank_max: Rank,
    /// Time of each rank, in the order of [`ReportData::ranks`]; empty where it is not kept.
    pub rank_times: Vec<Nanos>,
    /// Events of each rank, as `rank_times`: a series of unsuccessful polls counts once, unlike in
    /// `count`.
    pub rank_counts: Vec<u64>,
}

/// Group of call sites: those of one procedure at one line, or all of one function.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SiteGroup {
    /// Procedures, most time first; one for a line.
    pub procedures: Vec<String>,
    /// The category with the largest part of its time.
    pub category: Category,
    /// Calling function; empty where unknown.
    pub function: String,
    /// File, as the line table names it; empty where unknown.
    pub file: String,
    /// Line in `file`, from 1; 0 where unknown, and for a function.
    pub line: u32,
    /// `MPI_Waitall halo.c:120`, or the function.
    pub label: String,
    /// Its call sites, most time first.
    pub sites: Vec<SiteId>,
    /// Number of these: call paths that end here.
    pub paths: u64,
    /// Number of calls on all ranks.
    pub count: u64,
    /// Time on all ranks.
    pub time: Nanos,
    /// `time` as a part of the time of all ranks, 0 to 1.
    pub share: f64,
    /// Bytes sent by these calls; absent for procedures that move none.
    pub bytes: Option<Bytes>,
    /// Shortest call.
    pub min: Nanos,
    /// Median call (of the bounded times where they are bounded).
    pub median: Nanos,
    /// Longest call.
    pub max: Nanos,
    /// Largest rank's time divided by the mean of the ranks that call; 1 is even.
    pub imbalance: f64,
    /// Rank with the minimum time here, among those that call.
    pub rank_min: Rank,
    /// Rank with the maximum time here.
    pub rank_max: Rank,
}

/// One rank: a row of the table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RankRow {
    /// The rank.
    pub rank: Rank,
    /// Its node.
    pub host: String,
    /// Class of its first thread.
    pub class: ClassId,
    /// Time from its first to its last recorded moment.
    pub wall: Nanos,
    /// Time in MPI, all threads together.
    pub mpi: Nanos,
    /// Time between MPI calls, all threads together.
    pub compute: Nanos,
    /// Bytes it sent.
    pub bytes: Bytes,
    /// Number of recorded calls.
    pub events: u64,
    /// Text of its end: `finished`, `MPI_Abort(3) after 41.2 s`, `killed or crashed after 41.2 s`,
    /// `running, 41.2 s so far`.
    pub end: String,
    /// True when it ended normally, or is running.
    pub ok: bool,
    /// Its threads, where it has several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadRow>,
}

/// One thread of a rank that has several.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ThreadRow {
    /// Its number in the rank; 0 is the one that began MPI.
    pub thread: u32,
    /// Its class.
    pub class: ClassId,
    /// Begin of its first call, since the start of the run.
    pub begin: Nanos,
    /// End of its last call.
    pub end: Nanos,
    /// Time in MPI.
    pub mpi: Nanos,
    /// Time between MPI calls, from its first to its last.
    pub compute: Nanos,
    /// Number of recorded calls.
    pub events: u64,
}

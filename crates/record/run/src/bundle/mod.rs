//! The form in which ranks merge recordings: recordings of one or more processes in which equal
//! parts occur once.
//!
//! Owns the mergeable form. Tables (modules, call paths, procedures, communicators ...) are unified
//! by value. A thread's graph and the streams of its arguments are unified too, so that ranks with
//! the same behaviour share all of it: streams hold the process's own ids and numbers of peers in
//! the order of first use, and small lists beside them give their meaning. Merging two bundles
//! costs time in the size of the smaller tables, not in the number of events.

mod bytes;
mod clock;
mod decoded;
mod gaps;
mod lists;
mod merge;
mod pack;
mod peers;
mod series;
mod source;
mod table;
mod times;
mod type_lists;
mod unpack;

use talea_flow::times::Bound;
use talea_model::{Module, ProcedureSpec};

pub use bytes::{BundleError, VERSION};
use clock::Clock;
use lists::ListTable;
pub use source::{MappedTimes, ProcessTimes};
use table::Table;

use crate::live::LiveProcess;
use crate::live::record::CommSymbol;

/// Options that are common to all processes of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// [`crate::live::layout::TimesMode`] as a number.
    pub times: u32,
    /// Maximum errors of times.
    pub bound: Bound,
    /// True if local calls and each poll are events.
    pub calls_all: bool,
    /// Maximum number of callers in a call path.
    pub callers: u32,
}

/// Recordings of some processes.
#[derive(Clone, Debug)]
pub struct Bundle {
    settings: Settings,
    modules: Table<Module>,
    paths: Table<Vec<(u32, u64)>>,
    procedures: Table<ProcedureSpec>,
    comms: Table<CommSymbol>,
    datatypes: Table<(u64, String)>,
    ops: Table<String>,
    lists: ListTable,
    /// Lists whose entries are datatypes of this bundle.
    type_lists: Table<Vec<i64>>,
    texts: Table<String>,
    /// Packed streams.
    streams: Table<Vec<u8>>,
    /// Small lists of numbers: id maps, peers, counters.
    numbers: Table<Vec<i64>>,
    graphs: Table<Graph>,
    bodies: Table<Body>,
    processes: Vec<Process>,
}

/// Structure of a thread's events: the part that ranks of a class share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Graph {
    events: u64,
    /// Node of the last event.
    last: u32,
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    procedure: u32,
    path: u32,
    visits: u64,
    successors: Vec<u32>,
    /// Stream of choices; 0 where there is no choice, else its number + 1.
    choices: u32,
}

/// Arguments of a thread's events.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Body {
    graph: u32,
    /// All columns of all nodes in order.
    columns: Vec<Column>,
    /// For each node the stream of its polls: number + 1, or 0 where each visit is one call.
    polls: Vec<u32>,
}

/// One argument of a node: `base + step * number` for each number of a stream. Sent counts and
/// bytes received elsewhere then share a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Column {
    stream: u32,
    base: i64,
    step: u64,
}

/// Tells processes of a run apart: world, rank and process id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessKey(u64, i32, u32);

impl ProcessKey {
    /// That of a process with a mapped file.
    pub(crate) fn from_live(live: &LiveProcess) -> Self {
        Self(live.header.world, live.header.rank, live.header.pid)
    }

    /// That of the process whose mapped file has these bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        LiveProcess::read(bytes).ok().as_ref().map(Self::from_live)
    }
}

impl Bundle {
    /// Those of its processes.
    pub fn keys(&self) -> impl Iterator<Item = ProcessKey> {
        self.processes.iter().map(|process| ProcessKey(process.world, process.rank, process.pid))
    }
}

#[derive(Clone, Debug)]
struct Process {
    world: u64,
    rank: i32,
    size: u32,
    pid: u32,
    state: u32,
    abort_code: i32,
    host: u32,
    library: u32,
    comm_map: u32,
    datatype_map: u32,
    op_map: u32,
    list_map: u32,
    /// Number among `type_lists` and number in the process, in turn.
    type_list_map: u32,
    /// Procedure, path, begin (nominal nanoseconds), polls: of the call that had not returned, then
    /// of each site of the series of polls that had not ended.
    open: Vec<[u64; 4]>,
    /// Numbers of calls: lost to the memory bound, lost to a full disk, paused, of too many
    /// threads.
    lost: [u64; 4],
    /// Number of call sites that are identified by their direct caller only.
    shortened_paths: u64,
    damage: Vec<String>,
    threads: Vec<Thread>,
    places: Vec<Place>,
    /// Clock, times and exact sums of all threads, packed; kept apart from the rest in files.
    times: Vec<u8>,
    /// Version of the bundle that `times` come from: their form.
    version: u64,
}

/// A [`crate::places::ThreadPlace`] whose texts are in `texts`.
#[derive(Clone, Copy, Debug)]
struct Place {
    tid: u32,
    name: u32,
    allowed: u32,
    last: u32,
    /// Hundredths of a second.
    busy: u64,
}

#[derive(Clone, Debug)]
struct Thread {
    body: u32,
    /// Meaning of the numbers in columns of peers; index into `numbers`.
    peers: u32,
    /// Procedure and count of calls that were only counted, in turn; index into `numbers`.
    counts: u32,
}

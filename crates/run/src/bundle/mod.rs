//! What ranks bring together: recordings of one or more processes in which everything alike stands once.
//!
//! Owns the mergeable form. Tables (modules, call paths, procedures, communicators ...) are unified by value. A thread's graph
//! and the streams of its arguments are unified too, so that ranks which behave alike share all of it: streams hold
//! the process's own ids and numbers of peers in the order of first use, and small lists beside them say what these stand for.
//! Merging two bundles costs time in the size of the smaller tables, not in the number of events.

mod bytes;
mod merge;
mod pack;
mod table;
mod unpack;

use talea_flow::times::Bound;
use talea_model::{Module, ProcedureSpec};

pub use bytes::{BundleError, VERSION};
use table::Table;

use crate::live::record::CommSymbol;

/// Options that every process of a run was recorded with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// [`crate::live::layout::TimesMode`] as a number.
    pub times: u32,
    /// How far times may be from the truth.
    pub bound: Bound,
    /// Local calls and each poll are events.
    pub calls_all: bool,
    /// Callers in a call path.
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
    lists: Table<Vec<i64>>,
    texts: Table<String>,
    /// Packed streams.
    streams: Table<Vec<u8>>,
    /// Small lists of numbers: id maps, peers, counters.
    numbers: Table<Vec<i64>>,
    graphs: Table<Graph>,
    bodies: Table<Body>,
    processes: Vec<Process>,
}

/// Structure of a thread's events: what ranks of a class share.
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
    /// Stream of choices; 0 where there is nothing to choose, else its number + 1.
    choices: u32,
}

/// Arguments of a thread's events.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Body {
    graph: u32,
    /// Streams of all columns of all nodes in order, then of the polls of all nodes (number + 1; 0 where each visit is one
    /// call).
    streams: Vec<u32>,
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
    /// Procedure, path, begin (nominal nanoseconds), polls.
    open: Option<[u64; 4]>,
    /// Lost to the memory bound, lost to a full disk, paused, of too many threads.
    lost: [u64; 4],
    damage: Vec<String>,
    threads: Vec<Thread>,
    /// Clock, times and exact sums of all threads, packed; kept apart from the rest in files.
    times: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Thread {
    body: u32,
    /// What the numbers in columns of peers stand for; index into `numbers`.
    peers: u32,
    /// Procedure and count of calls that were only counted, in turn; index into `numbers`.
    counts: u32,
}

/// The clock of a process, as it stands before its times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Clock {
    /// `CLOCK_REALTIME` at the start, in nanoseconds since 1970.
    start_realtime: u64,
    /// `CLOCK_MONOTONIC` at the start.
    start_nanos: u64,
    /// What to add to this host's clock to get rank 0's, at start and end, and its uncertainty, in nanoseconds.
    offset: [i64; 3],
    /// Nominal nanoseconds and `CLOCK_MONOTONIC`, both since the start, of each clock reading in turn.
    readings: Vec<i64>,
}

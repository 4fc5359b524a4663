//! The mapped file of one process, in its memory layout while the program runs.
//!
//! Owns the structures that the recorder inside the program writes and that [`super::read`] parses,
//! also after a crash. All references are offsets from the start of the file; 0 means none.
//! Little-endian, 64-bit. Memory after the header is allocated by a bump allocator whose mark is
//! [`Header::used`]; nothing is freed, but chunks of a ring are used again.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// First bytes of every live file.
pub const MAGIC: [u8; 8] = *b"TALEALIV";
/// Version of this layout. Structures only ever grow at their ends: [`super::streams`] has the
/// lengths of those of earlier versions. 2: lists are records of [`crate::lists::record`], paths
/// may be longer, polls in a row may be of several sites, threads have readings of their PU time.
/// 3: the times of a thread may be a ring of chunks.
pub const VERSION: u32 = 3;
/// Number of frames of a call path in the node itself.
pub const INLINE_FRAMES: usize = 8;
/// Maximum number of threads of a process that are recorded.
pub const MAX_THREADS: usize = 256;
/// Maximum number of sites of one series of polls in a row.
pub const MAX_POLL_SITES: usize = 8;
/// Maximum number of clock readings kept; when they are full every other one is dropped.
pub const MAX_SYNCS: usize = 128;
/// Maximum difference between the rates of two clocks that nobody compares, in millionths:
/// oscillators of computers differ by less.
pub const CLOCK_RATES_PPM: u64 = 100;
/// Maximum number of readings of a thread's PU time kept; when they are full every other one is
/// dropped.
pub const MAX_PU_TIMES: usize = 32;

/// An append-only stream of bytes in chunks.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Stream {
    /// First chunk.
    pub head: u64,
    /// Chunk that is being filled.
    pub tail: u64,
    /// Bytes in use in the tail chunk; written after the bytes themselves.
    pub tail_len: u32,
    /// Capacity of the tail chunk in bytes.
    pub tail_cap: u32,
}

/// Header of a chunk.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Chunk {
    /// The next chunk.
    pub next: u64,
    /// Its capacity in bytes.
    pub cap: u32,
    /// Bytes in use; final once there is a next chunk.
    pub used: u32,
}

/// Begin of the content of a chunk of a ring. All times of its first event come after it;
/// no event has its times in two chunks.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
pub struct RingHead {
    /// Number of events of the thread before its first one.
    pub first: u64,
    /// End of the event before, in nominal nanoseconds since the start.
    pub end: u64,
}

/// Capacity of a chunk of a ring in bytes.
pub const RING_CHUNK: u32 = 1 << 14;

/// Mode of keeping times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum TimesMode {
    /// Cells of [`talea_flow::times::Quantiser`].
    Bounded = 0,
    /// Nanoseconds.
    Exact = 1,
    /// Sums and extremes for each node only.
    Statistics = 2,
}

impl TimesMode {
    /// The mode with a number in a file.
    pub fn from_number(number: u32) -> Option<Self> {
        [Self::Bounded, Self::Exact, Self::Statistics].into_iter().find(|m| *m as u32 == number)
    }
}

/// Progress of the process.
pub mod state {
    /// The program is running, or ended without notice.
    pub const RECORDING: u32 = 1;
    /// `MPI_Finalize` was reached.
    pub const FINALIZED: u32 = 2;
    /// `MPI_Abort` was called.
    pub const ABORTED: u32 = 3;
    /// The process left through `exit` without `MPI_Finalize`.
    pub const EXITED: u32 = 4;
    /// The process is running: set by a reader, never stored in a file.
    pub const RUNNING: u32 = 5;
}

/// A pair of readings of the tick counter and of `CLOCK_MONOTONIC`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Sync {
    /// Ticks.
    pub ticks: u64,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    pub nanos: u64,
}

/// The head of the file.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// Size of this structure.
    pub header_bytes: u32,
    /// Process id.
    pub pid: u32,
    /// One of [`state`].
    pub state: u32,
    /// Rank in `MPI_COMM_WORLD`; -1 until it is known.
    pub rank: i32,
    /// Size of `MPI_COMM_WORLD`.
    pub size: u32,
    /// Identity of a world of one run: a hash of the world's first process and its start.
    pub world: u64,
    /// Exit code given to `MPI_Abort`, if any.
    pub abort_code: i32,
    /// The MPI: 0 unknown, 1 Open MPI, 2 MPICH, 3 the standard ABI.
    pub abi: u32,
    /// Host name, ended by a zero byte.
    pub host: [u8; 64],
    /// Version of the MPI library in words, ended by a zero byte.
    pub library: [u8; 128],
    /// Offset of the first unused byte.
    pub used: u64,
    /// Size of the file.
    pub max: u64,
    /// Nanoseconds a tick, times 2^32; the factor of every recorded time.
    pub tick_mult: u64,
    /// 0 the processor's time stamp counter, 1 `CLOCK_MONOTONIC`.
    pub tick_source: u32,
    /// Maximum number of callers kept for each call path.
    pub callers: u32,
    /// Ticks at the start, the zero of all recorded times.
    pub start_ticks: u64,
    /// `CLOCK_MONOTONIC` at the start.
    pub start_nanos: u64,
    /// `CLOCK_REALTIME` at the start.
    pub start_realtime: u64,
    /// One of [`TimesMode`].
    pub times: u32,
    /// 1 when local calls and each poll are events too.
    pub calls_all: u32,
    /// [`talea_flow::times::Bound::relative_ppm`].
    pub bound_relative: u32,
    /// [`talea_flow::times::Bound::absolute`].
    pub bound_absolute: u32,
    /// [`talea_flow::times::Bound::drift`].
    pub bound_drift: u32,
    /// Number of `syncs` in use.
    pub sync_count: u32,
    /// Readings of the two clocks in order.
    pub syncs: [Sync; MAX_SYNCS],
    /// Offset of this host's `CLOCK_MONOTONIC` to that of rank 0's host, at the start, in
    /// nanoseconds.
    pub offset_start: i64,
    /// The same at the last of `syncs`.
    pub offset_end: i64,
    /// Uncertainty of the two, in nanoseconds; 0 where the host is that of rank 0 and of `talea
    /// run`.
    pub offset_error: u64,
    /// Number of threads in use.
    pub thread_count: u32,
    /// Number of counters of local calls.
    pub procedure_count: u32,
    /// Offset of each [`Thread`].
    pub threads: [u64; MAX_THREADS],
    /// Modules: for each its path, build id and load bias.
    pub modules: Stream,
    /// Communicators, datatypes, operations in the order of their ids.
    pub symbols: Stream,
    /// Lists of integers in the order of their ids: [`crate::lists::record`].
    pub lists: Stream,
    /// Procedure table: a copy, so that the file can be read without the library that wrote it.
    pub procedures: Stream,
    /// Places of threads, at begin and end: [`crate::places::ThreadPlace`].
    pub places: Stream,
    /// Number of events that were not kept because the memory bound was reached.
    pub lost_memory: u64,
    /// Number of events that were not kept because the disk was full.
    pub lost_disk: u64,
    /// Number of calls made while the recording was paused.
    pub paused: u64,
    /// Number of calls of threads beyond [`MAX_THREADS`].
    pub lost_threads: u64,
    /// Number of call sites that are identified by their direct caller only, as there were too many
    /// paths. From version 2 on.
    pub shortened_paths: u64,
    /// 1 if times are kept in rings: a reader releases chunks by [`Thread::times_read`]. From
    /// version 3 on.
    pub ring: u32,
    /// Bits of [`observed`].
    pub observed: u32,
}

/// Bits of [`Header::observed`].
pub mod observed {
    /// Each host of the world has an observer, which releases chunks of rings and writes the
    /// offsets of clocks; set before `world`.
    pub const BY_ALL: u32 = 1;
    /// The process is about to end, and opens no further session.
    pub const EXITING: u32 = 2;
}

/// One recorded thread.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Thread {
    /// Number of completely recorded events; written as the last of an event's stores.
    pub events: u64,
    /// First node; the others are linked.
    pub first_node: u64,
    /// Newest node.
    pub last_node: u64,
    /// Number of nodes.
    pub node_count: u32,
    /// 1 + index of the node of a call that has not returned; 0 between calls.
    pub open_node: u32,
    /// Ticks when that call began.
    pub open_begin: u64,
    /// Version 1: 1 + index of the node of a series of unsuccessful polls that has not ended; 0
    /// without, and in later versions.
    pub poll_node: u32,
    /// Operating system's thread id.
    pub tid: u32,
    /// Version 1: polls in that series.
    pub poll_count: u64,
    /// Ticks at the begin of the first poll of a series of unsuccessful ones.
    pub poll_begin: u64,
    /// Ticks at the end of its last.
    pub poll_end: u64,
    /// Ticks at the end of the last event.
    pub end_ticks: u64,
    /// Number of requests that this thread created.
    pub requests: u64,
    /// Gap and duration of every event.
    pub times: Stream,
    /// Array of counters, one for each procedure: calls that are counted only.
    pub counts: u64,
    /// From version 2 on: the sites of a series of unsuccessful polls that has not ended, in the
    /// order of their first polls.
    pub polls: [Polls; MAX_POLL_SITES],
    /// Number of `pu_times` in use. From version 2 on.
    pub pu_time_count: u64,
    /// Readings of the thread's PU time in order. From version 2 on.
    pub pu_times: [PuTime; MAX_PU_TIMES],
    /// The chunk of `times` that a reader has reached; the recorder may use those before it again.
    /// 0 as long as there is no reader. Written by the reader. From version 3 on.
    pub times_read: u64,
}

/// Time for which a thread ran, and for which it was ready to run and did not, at some moment.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
pub struct PuTime {
    /// Ticks.
    pub ticks: u64,
    /// Nanoseconds on PUs since the thread began.
    pub ran: u64,
    /// Nanoseconds in the kernel's queue of threads that are ready to run; [`UNKNOWN_DELAY`] where
    /// the kernel has no reading.
    pub delayed: u64,
}

/// See [`PuTime::delayed`].
pub const UNKNOWN_DELAY: u64 = u64::MAX;

/// Unsuccessful polls at one site, of a series that has not ended.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
pub struct Polls {
    /// 1 + index of the site's node; 0 without. Written after the rest when a site is added, before
    /// it when the series ends.
    pub node: u32,
    /// Padding.
    pub zero: u32,
    /// Number of polls.
    pub count: u64,
    /// Ticks inside them.
    pub inside: u64,
    /// Ticks between them and the polls of the series before each.
    pub before: u64,
}

/// A frame of a call path.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct PathFrame {
    /// Index in the stream of modules; `u32::MAX` for none.
    pub module: u32,
    /// Padding.
    pub zero: u32,
    /// Virtual address in the module.
    pub offset: u64,
}

/// A sequence of small symbols as runs, where a correctly predicted run costs nothing.
///
/// Tokens: `hits << 1`, or `run << 1 | 1` followed by `symbol + 1` of the next run (0 for a symbol
/// never seen).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Symbols {
    /// Written tokens.
    pub tokens: Stream,
    /// Number of correctly predicted runs since the last token.
    pub hits: u64,
    /// Length so far of the current run.
    pub run: u64,
    /// Symbol of the current run.
    pub current: u32,
    /// Number of different symbols so far (of slots in use, where they are reused).
    pub count: u32,
}

/// A node of a thread's graph.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Node {
    /// The next node in the order of first visit.
    pub next: u64,
    /// Its number in that order.
    pub index: u32,
    /// Procedure.
    pub procedure: u16,
    /// Number of frames in use of `path`.
    pub path_len: u16,
    /// Sum of all durations in nanoseconds, exact.
    pub duration_sum: u64,
    /// Sum of all gaps before, in nanoseconds, exact.
    pub gap_sum: u64,
    /// Shortest duration.
    pub duration_min: u64,
    /// Longest duration.
    pub duration_max: u64,
    /// The successors taken, as indices into `successors`.
    pub choices: Symbols,
    /// Array of node indices in the order of first use.
    pub successors: u64,
    /// Capacity of the array in entries.
    pub successor_cap: u32,
    /// Number of recorded arguments.
    pub columns: u32,
    /// The tuples of arguments, as slot numbers.
    pub tuples: Symbols,
    /// New tuples: a mask of the columns that differ from the tuple before, then their differences.
    pub values: Stream,
    /// Numbers of calls of visits with more than one: the number of visits of one call before it,
    /// then the number.
    pub polls: Stream,
    /// Number of visits of one call since then.
    pub single: u64,
    /// Call path, innermost frame first.
    pub path: [PathFrame; INLINE_FRAMES],
    /// Array of the frames beyond these. From version 2 on.
    pub outer_path: u64,
}

/// Maximum number of slots for tuples of a node; then the oldest is reused.
pub const TUPLE_SLOTS: u32 = 1024;

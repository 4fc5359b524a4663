//! The recording of this process: its begin, its setup, and its end.
//!
//! Owns the mapped file's header and everything that threads share. Set up at the first
//! initialisation of MPI from the environment of `talea run`; without that environment all calls
//! pass through unchanged.

pub mod handles;
mod observer;
mod places;
pub mod requests;
pub mod shared;
mod start;
mod tables;

use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

pub use start::start;
use tables::Slow;
use talea_flow::times::Quantiser;
use talea_model::Rank;
use talea_run::live::layout::{Header, MAX_SYNCS, Sync, TimesMode, observed, state};
use talea_run::samples::World;

use crate::abi::abi;
use crate::abi::pmpi;
use crate::end::gather::gather;
use crate::end::offsets::{self, Observer, Offset};
use crate::end::world::World as Ranks;
use crate::fabric;
use crate::process::handles::Handles;
use crate::process::requests::Requests;
use crate::process::shared::{Shared, set_multiple};
use crate::record::memory::Memory;
use crate::sampler;
use crate::sys::clock;
use crate::sys::host::host_name;

/// Everything that the threads of the process share.
#[derive(Debug)]
pub struct Process {
    /// The mapped file.
    pub memory: &'static Memory,
    /// Cells for times.
    pub quantiser: Arc<Quantiser>,
    /// Mode of keeping times.
    pub mode: TimesMode,
    /// Maximum number of callers in a call path.
    pub callers: usize,
    /// True if local calls and every poll are events.
    pub calls_all: bool,
    /// Nanoseconds a tick, times 2^32.
    pub mult: u64,
    /// Ticks at the start.
    pub start: u64,
    /// Symbolic handles.
    pub handles: Shared<Handles>,
    /// Live requests.
    pub requests: Shared<Requests>,
    /// Number of open sessions.
    sessions: AtomicU32,
    /// Whether this host has an observer.
    observer: Observer,
    slow: Mutex<Slow>,
}

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
/// Reasons not to record: bits of [`stop`].
pub static STOP: AtomicU32 = AtomicU32::new(stop::NOT_STARTED);

/// Reasons not to record.
pub mod stop {
    /// MPI is not initialised yet, or no recording is requested.
    pub const NOT_STARTED: u32 = 1;
    /// `MPI_Pcontrol(0)`.
    pub const PAUSED: u32 = 2;
    /// The recording is complete, or this is a forked child.
    pub const ENDED: u32 = 4;
}

/// The recording, once it has begun.
#[inline(always)]
pub fn process() -> Option<&'static Process> {
    // SAFETY: the pointer is null or a leaked box.
    unsafe { PROCESS.load(Ordering::Acquire).as_ref() }
}

fn put_words(place: &mut [u8], words: &str) {
    let length = words.len().min(place.len() - 1);
    place[..length].copy_from_slice(&words.as_bytes()[..length]);
}

/// Facts that the ranks agreed on at the initialisation of MPI: bits of [`agreed`].
static AGREED: AtomicU32 = AtomicU32::new(0);

/// Facts that the ranks agreed on, and steps that were made.
mod agreed {
    /// Each host has an observer.
    pub(super) const OBSERVED: u32 = 1;
    /// The exchange at the begin was made, or is being made; it is made once.
    pub(super) const BEGUN: u32 = 2;
    /// The same at the end.
    pub(super) const ENDED: u32 = 4;
}

/// The identity of a world, and this host's clock, as all ranks determine them together.
struct Together {
    /// A name of this world that its processes share and other worlds do not.
    world: u64,
    offset: Offset,
}

impl Together {
    /// All ranks of the world call it after the initialisation of MPI, those without a record too.
    /// `own` identifies the process that calls it.
    fn new(own: [u64; 2], observer: Observer) -> Self {
        let mut world = own;
        // SAFETY: MPI is initialised; the pointer is valid.
        unsafe {
            let size = size_of_val(&world);
            pmpi::bcast(world.as_mut_ptr() as usize, size, abi().byte, 0, abi().comm_world);
        }
        let offset = offsets::measure(&host_name(), observer);
        if offset.observed {
            AGREED.fetch_or(agreed::OBSERVED, Ordering::AcqRel);
        }
        Self { world: world[0].rotate_left(40) ^ world[1], offset }
    }
}

/// True the first time for each bit.
fn is_first(bit: u32) -> bool {
    AGREED.fetch_or(bit, Ordering::AcqRel) & bit == 0
}

/// True if the environment is that of a recording.
fn is_asked() -> bool {
    ["TALEA_OUT", "TALEA_LIVE"].iter().any(|name| std::env::var_os(name).is_some())
}

/// Takes part in what the ranks do together at the initialisation of MPI, in a process without a
/// record of its own. Nothing of it could be missed by an observer. The library's own call of
/// another binding is not distinguished from the program's, so that the second one does nothing.
pub fn initialised_without() {
    if is_asked() && is_first(agreed::BEGUN) {
        Together::new([u64::from(std::process::id()), clock::realtime()], Observer::Present);
    }
}

/// Takes part in the end of a recording to which this process does not contribute, because its file
/// could not be created.
pub fn end_without() {
    if !is_asked() || !is_first(agreed::ENDED) {
        return;
    }
    if let Some(directory) = merged_by_ranks() {
        end_counters();
        offsets::measure(&host_name(), Observer::Absent);
        fabric::gather(&directory);
        gather(None, &directory);
    }
}

/// The last reading of counters that ranks bring together, if there are any: when all ranks have
/// completed all their messages, and before any of ours.
fn end_counters() {
    if fabric::is_asked() {
        Ranks::of_program().all(0);
        fabric::end("MPI_Finalize");
    }
}

/// `MPI_Finalize` has returned, as it does when all ranks have completed all their messages.
pub fn finalized() {
    fabric::end("MPI_Finalize");
}

/// File of the merged trace, if ranks write it: if the user asks for it, and where nobody else
/// could bring records from the nodes' own disks. Otherwise ranks exchange no message at the end:
/// their files are merged after the program has ended, which then costs it no time.
fn merged_by_ranks() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name);
    let is_auto = variable("TALEA_MERGE").is_some_and(|found| found == "auto");
    let is_observed = AGREED.load(Ordering::Acquire) & agreed::OBSERVED != 0;
    let is_in_run = || variable("TALEA_LIVE").is_some_and(|live| start::is_of_run(live.as_ref()));
    if is_auto && (is_observed || is_in_run()) {
        return None;
    }
    variable("TALEA_OUT").map(PathBuf::from)
}

impl Process {
    #[expect(clippy::mut_from_ref, reason = "the header lies in mapped memory, behind a pointer")]
    fn header(&self) -> &mut Header {
        // SAFETY: fields written here are written by one thread at a time: at initialisation, at
        // the end, or under `slow`.
        unsafe { &mut *self.memory.header() }
    }

    /// After the initialisation of MPI: identity of this process.
    pub fn initialised(&self) {
        if !is_first(agreed::BEGUN) {
            return;
        }
        self.note_library();
        let abi = abi();
        let header = self.header();
        let (mut level, mut rank, mut size): (c_int, c_int, c_int) = (0, -1, 0);
        // SAFETY: these calls are allowed at any time after initialisation; pointers are valid.
        unsafe {
            pmpi::query_thread((&raw mut level) as usize);
            pmpi::comm_rank(abi.comm_world, (&raw mut rank) as usize);
            pmpi::comm_size(abi.comm_world, (&raw mut size) as usize);
        }
        // A session has a level of its own.
        set_multiple(level >= abi.thread_multiple || self.sessions.load(Ordering::Relaxed) > 0);
        header.size = size as u32;
        self.handles.with(|h| h.start(self.memory));
        let own = [u64::from(header.pid), header.start_realtime];
        let Together { world, offset } = Together::new(own, self.observer);
        (header.offset_start, header.offset_error) = (offset.nanos, offset.error);
        header.offset_end = header.offset_start;
        header.rank = rank;
        header.observed |= if offset.observed { observed::BY_ALL } else { 0 };
        if rank == 0 && !offset.observed {
            let is_drift_unknown = !offset.one_host && merged_by_ranks().is_none();
            observer::warn_without(header.ring != 0, is_drift_unknown);
        }
        // It was closed with a session.
        header.state = state::RECORDING;
        // A reader that finds the world finds the rest.
        std::sync::atomic::fence(Ordering::Release);
        header.world = world;
        self.tell_sampler();
    }

    /// Samples are assigned to their rank.
    fn tell_sampler(&self) {
        let header = self.header();
        if let Ok(rank) = u32::try_from(header.rank) {
            sampler::initialised(World { rank: Rank(rank), size: header.size, id: header.world });
        }
    }

    /// Notes the implementation.
    fn note_library(&self) {
        let header = self.header();
        header.abi = abi().number;
        let mut version = vec![0_u8; 1 << 14];
        let mut length: c_int = 0;
        // SAFETY: allowed at any time; the buffer is longer than any implementation's text.
        unsafe {
            pmpi::get_library_version(version.as_mut_ptr() as usize, (&raw mut length) as usize);
        }
        let length = usize::try_from(length).unwrap_or(0).min(version.len());
        put_words(
            &mut header.library,
            &library_words(&String::from_utf8_lossy(&version[..length])),
        );
    }

    /// The program opened a session. Without `MPI_Init` its world is the processes of the session:
    /// ranks are those of `mpi://WORLD`.
    ///
    /// Such a program never signals that it has finished with MPI, and need not do anything
    /// together: its ranks do not gather, their files are merged when all have ended.
    pub fn session_opened(&self, session: usize) {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        set_multiple(true);
        let header = self.header();
        header.state = state::RECORDING;
        if header.world != 0 {
            return;
        }
        self.note_library();
        let (mut group, mut rank, mut size): (usize, c_int, c_int) = (0, -1, 0);
        let name = c"mpi://WORLD".as_ptr() as usize;
        // SAFETY: the session is open, pointers are valid, and the group is freed before the
        // session can be closed.
        unsafe {
            if pmpi::group_from_session_pset(session, name, (&raw mut group) as usize) == 0 {
                pmpi::group_rank(group, (&raw mut rank) as usize);
                pmpi::group_size(group, (&raw mut size) as usize);
                pmpi::group_free((&raw mut group) as usize);
            }
        }
        if rank >= 0 {
            (header.rank, header.size) = (rank, size as u32);
        }
        header.rank = header.rank.max(0);
        let rank = header.rank as u32;
        self.handles.with(|h| h.rank = rank);
        self.tell_sampler();
    }

    /// The program closed a session. The record stays open for the next; with the last it is
    /// complete as it is.
    pub fn session_closed(&self) {
        if self.sessions.fetch_sub(1, Ordering::Relaxed) == 1 && self.header().world == 0 {
            self.end(state::FINALIZED);
        }
    }

    /// The recording ends here.
    pub fn end(&self, how: u32) {
        self.note_places();
        self.sync();
        self.header().state = how;
    }

    /// The recording ends with a call of `MPI_Finalize`, which every rank of the world makes. Ranks
    /// that merge their records compare their clocks before.
    pub fn complete(&self) {
        let directory = merged_by_ranks();
        if directory.is_some() {
            end_counters();
            // The offset belongs to the last reading.
            self.sync();
            let offset = offsets::measure(&host_name(), Observer::Absent);
            let header = self.header();
            header.offset_end = offset.nanos;
            header.offset_error = header.offset_error.max(offset.error);
        }
        self.end(state::FINALIZED);
        STOP.fetch_or(stop::ENDED, Ordering::SeqCst);
        if let Some(directory) = directory {
            fabric::gather(&directory);
            gather(Some(self.memory), &directory);
        }
    }

    /// The program called `MPI_Abort`.
    pub fn aborted(&self, code: i32) {
        self.header().abort_code = code;
        self.end(state::ABORTED);
        sampler::flush();
        fabric::end("MPI_Abort");
    }

    /// Notes calls that were made while the recording was paused.
    pub fn paused(&self) {
        self.header().paused += 1;
    }

    /// A thread could not be recorded.
    pub fn lost_thread(&self) {
        self.header().lost_threads += 1;
    }

    /// The process is about to end. A forked child that does so changes nothing.
    fn exits(&self) {
        let header = self.header();
        if header.pid == std::process::id() {
            header.observed |= observed::EXITING;
        }
    }

    /// Keeps a pair of readings of the two clocks.
    pub fn sync(&self) {
        let _guard = self.slow.lock();
        let header = self.header();
        let mut count = header.sync_count as usize;
        if count == MAX_SYNCS {
            // Every other one is dropped; the first stays, and the newest is about to be added.
            for kept in 1..MAX_SYNCS / 2 {
                header.syncs[kept] = header.syncs[kept * 2];
            }
            count = MAX_SYNCS / 2;
        }
        let (ticks, nanos) = clock::pair();
        // The observer has written the drift up to the reading before, and soon does so again.
        let before = header.syncs[count.saturating_sub(1)].nanos;
        let [whole, more] = [before, nanos].map(|at| at.saturating_sub(header.start_nanos));
        header.offset_end =
            header.offset_start.saturating_add(drift_over(header.drift(), whole, more));
        header.syncs[count] = Sync { ticks, nanos };
        header.sync_count = count as u32 + 1;
    }
}

/// Change of an offset in a time of `more` nanoseconds that has changed by `drift` in `whole`.
fn drift_over(drift: i64, whole: u64, more: u64) -> i64 {
    let scaled = i128::from(drift) * i128::from(more) / i128::from(whole.max(1));
    i64::try_from(scaled).unwrap_or(drift)
}

/// The first line of the library's version, short.
fn library_words(version: &str) -> String {
    let line = version.lines().next().unwrap_or_default().trim_end_matches('\0');
    if line.starts_with("MPICH") {
        return line
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .replace("MPICH Version: ", "MPICH ");
    }
    line.split(',').next().unwrap_or(line).trim().to_owned()
}

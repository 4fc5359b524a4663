//! The recording of this process: its begin, its setup, and its end.
//!
//! Owns the mapped file's header and everything that threads share. Set up at the first
//! initialisation of MPI from the environment of `talea run`; without that environment all calls
//! pass through unchanged.

mod clock_drift;
pub mod handles;
mod observer;
mod places;
pub mod requests;
pub mod shared;
mod start;
mod tables;
mod together;

use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

pub use start::start;
use tables::Slow;
use talea_flow::times::Quantiser;
use talea_model::Rank;
use talea_run::live::layout::{Header, MAX_SYNCS, Sync, TimesMode, observed, state};
use talea_run::samples::World;
use together::{Together, agreed, end_counters, is_first, merged_by_ranks};
pub use together::{end_without, initialised_without};

use crate::abi::abi;
use crate::abi::pmpi;
use crate::end::gather::gather;
use crate::end::offsets::{self, Observer};
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
    /// Uncertainty of the clock's offset when MPI was initialised, in nanoseconds.
    offset_error: AtomicU64,
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

/// `MPI_Finalize` has returned, as it does when the messages of this rank are complete.
pub fn finalized() {
    fabric::end("MPI_Finalize");
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
        self.offset_error.store(offset.error, Ordering::Relaxed);
        header.offset_end = header.offset_start;
        header.rank = rank;
        header.observed |= if offset.observed { observed::BY_ALL } else { 0 };
        if rank == 0 && !offset.observed {
            if header.ring != 0 {
                observer::warn_without("times of all calls are kept, while --memory lasts");
            } else if !offset.one_host && merged_by_ranks().is_none() {
                observer::warn_without("clocks of hosts are compared at the start only");
            }
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
        let offset = directory.is_some().then(|| {
            end_counters();
            offsets::measure(&host_name(), Observer::Absent)
        });
        self.end(state::FINALIZED);
        // It belongs to the last reading, which has just been made.
        if let Some(offset) = offset {
            let header = self.header();
            header.offset_end = offset.nanos;
            header.offset_error = self.offset_error.load(Ordering::Relaxed).max(offset.error);
        }
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
        let before = header.syncs[count.saturating_sub(1).min(MAX_SYNCS - 1)].nanos;
        if count == MAX_SYNCS {
            // Every other one is dropped; the first stays, and the newest is about to be added.
            for kept in 1..MAX_SYNCS / 2 {
                header.syncs[kept] = header.syncs[kept * 2];
            }
            count = MAX_SYNCS / 2;
        }
        let (ticks, nanos) = clock::pair();
        clock_drift::extend(header, before, nanos);
        header.syncs[count] = Sync { ticks, nanos };
        header.sync_count = count as u32 + 1;
    }
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

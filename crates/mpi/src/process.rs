//! The recording of this process: when it begins, what it is set up with, and how it ends.
//!
//! Owns the mapped file's header and everything that threads share. Set up at the first initialisation of MPI from the
//! environment that `talea run` gives; without that environment all calls pass through untouched.

use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use talea_flow::times::{Bound, Quantiser};
use talea_model::{Module, Nanos};
use talea_run::live::layout::{self, Header, MAX_SYNCS, PathFrame, Sync, TimesMode, state};
use talea_run::live::record::{put_module, put_procedure};
use talea_run::modules::{self, LoadedModule};
use talea_run::{MappedRegion, mapped};

use crate::abi::{self, abi};
use crate::clock;
use crate::gather::gather;
use crate::handles::Handles;
use crate::memory::Memory;
use crate::offsets;
use crate::paths::Path;
use crate::plan::Plan;
use crate::requests::Requests;
use crate::shared::{Shared, set_multiple};
use crate::table::PROCEDURES;

/// Everything that the threads of the process share.
#[derive(Debug)]
pub struct Process {
    /// The mapped file.
    pub memory: &'static Memory,
    /// Cells for times.
    pub quantiser: Arc<Quantiser>,
    /// How times are kept.
    pub mode: TimesMode,
    /// Callers in a call path.
    pub callers: usize,
    /// Local calls and every poll are events.
    pub calls_all: bool,
    /// Nanoseconds a tick, times 2^32.
    pub mult: u64,
    /// Ticks at the start.
    pub start: u64,
    /// Symbolic handles.
    pub handles: Shared<Handles>,
    /// Requests that are alive.
    pub requests: Shared<Requests>,
    slow: Mutex<Slow>,
}

/// Tables that only grow when something is seen for the first time.
#[derive(Debug, Default)]
struct Slow {
    loaded: Vec<LoadedModule>,
    /// Modules in the file, in its order.
    modules: Vec<Module>,
    /// Procedures that are in the file.
    procedures: Vec<u16>,
}

static PROCESS: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
/// Reasons not to record: bits of [`stop`].
pub static STOP: AtomicU32 = AtomicU32::new(stop::NOT_STARTED);

/// Reasons not to record.
pub mod stop {
    /// MPI is not initialised yet, or nobody asked for a recording.
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

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn put_words(place: &mut [u8], words: &str) {
    let length = words.len().min(place.len() - 1);
    place[..length].copy_from_slice(&words.as_bytes()[..length]);
}

/// Begins the recording if the environment asks for one; before the program's MPI is initialised.
pub fn start() {
    if process().is_some() {
        return;
    }
    let Some(dir) = std::env::var_os("TALEA_LIVE").map(PathBuf::from) else { return };
    let mode = match std::env::var("TALEA_TIMES").as_deref() {
        Ok("exact") => TimesMode::Exact,
        Ok("statistics") => TimesMode::Statistics,
        _ => TimesMode::Bounded,
    };
    let bound = Bound {
        relative_ppm: number("TALEA_BOUND_RELATIVE", 20_000) as u32,
        absolute: Nanos(number("TALEA_BOUND_ABSOLUTE", 100)),
        drift: Nanos(number("TALEA_BOUND_DRIFT", 10_000)),
    };
    let quantiser = Arc::new(Quantiser::new(bound));
    let bound = quantiser.bound();
    let callers = number("TALEA_CALLERS", 3).clamp(1, layout::MAX_CALLERS as u64) as usize;
    let calls_all = std::env::var("TALEA_CALLS").is_ok_and(|v| v == "all");
    let max = number("TALEA_MEMORY", 64 << 20).max(1 << 20) as usize;
    let host = host_name();
    let start_realtime = clock::realtime();
    let name = mapped::live_name(&host, std::process::id(), Nanos(start_realtime));
    // Where the file cannot be made the program must still run; talea finds no file and says which rank has none.
    let mult = clock::rate();
    let new = format!("{name}.new");
    let Ok(region) = MappedRegion::create(&dir, &new, max) else { return };
    let Some(mut memory) = Memory::new(region) else { return };
    let (start_ticks, start_nanos) = clock::pair();
    // SAFETY: the header lies at the start of reserved zero memory, and no other thread knows of it yet.
    let header: &mut Header = unsafe { &mut *memory.header() };
    header.version = layout::VERSION;
    header.header_bytes = size_of::<Header>() as u32;
    header.pid = std::process::id();
    // What the launcher says holds for a process that ends before MPI is initialised.
    (header.rank, header.size) = launched();
    put_words(&mut header.host, &host);
    header.used = memory.used();
    header.max = memory.max();
    header.tick_mult = mult;
    header.tick_source = u32::from(!clock::is_tsc());
    header.callers = callers as u32;
    header.start_ticks = start_ticks;
    header.start_nanos = start_nanos;
    header.start_realtime = start_realtime;
    header.times = mode as u32;
    header.calls_all = u32::from(calls_all);
    header.bound_relative = bound.relative_ppm;
    header.bound_absolute = bound.absolute.0 as u32;
    header.bound_drift = bound.drift.0 as u32;
    header.procedure_count = PROCEDURES.len() as u32;
    header.state = state::RECORDING;
    header.syncs[0] = Sync { ticks: start_ticks, nanos: start_nanos };
    header.sync_count = 1;
    header.magic = layout::MAGIC;
    // Only now, so that nobody meets half a header.
    if memory.publish(&name).is_err() {
        return;
    }
    let memory: &'static Memory = Box::leak(Box::new(memory));
    let process = Process {
        memory,
        quantiser,
        mode,
        callers,
        calls_all,
        mult,
        start: start_ticks,
        handles: Shared::default(),
        requests: Shared::default(),
        slow: Mutex::default(),
    };
    let process = Box::into_raw(Box::new(process));
    if PROCESS
        .compare_exchange(std::ptr::null_mut(), process, Ordering::AcqRel, Ordering::Relaxed)
        .is_ok()
    {
        STOP.fetch_and(!stop::NOT_STARTED, Ordering::Release);
        // SAFETY: the handlers are functions of this library, which is never unloaded.
        unsafe {
            libc::pthread_atfork(None, None, Some(forked));
            libc::atexit(exiting);
        }
    }
}

/// Takes part in the end of a recording that this process has no part of, because its file could not be made.
pub fn gather_without() {
    offsets::measure(&host_name());
    if let Some(directory) = std::env::var_os("TALEA_OUT") {
        gather(None, std::path::Path::new(&directory));
    }
}

/// A forked child shares the mapped file with its parent: it must not write.
extern "C" fn forked() {
    STOP.fetch_or(stop::ENDED, Ordering::SeqCst);
}

extern "C" fn exiting() {
    if STOP.load(Ordering::Relaxed) & stop::ENDED == 0
        && let Some(process) = process()
    {
        process.end(state::EXITED);
    }
}

/// Rank and size of the world as the launcher says them; -1 and 1 where it does not.
fn launched() -> (i32, u32) {
    let say =
        |names: &[&str]| names.iter().find_map(|n| std::env::var(n).ok()?.parse::<i32>().ok());
    let rank =
        say(&["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"]).unwrap_or(-1);
    let size = say(&["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"]).unwrap_or(1);
    (rank, size.max(1) as u32)
}

fn host_name() -> String {
    let mut name = [0_u8; 64];
    // SAFETY: the buffer is as long as said; its last byte stays zero.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|&b| b == 0).unwrap_or(0);
    String::from_utf8_lossy(&name[..end]).into_owned()
}

impl Process {
    #[expect(clippy::mut_from_ref, reason = "the header lies in mapped memory, behind a pointer")]
    fn header(&self) -> &mut Header {
        // SAFETY: fields written here are written by one thread at a time: at initialisation, at the end, or under `slow`.
        unsafe { &mut *self.memory.header() }
    }

    /// MPI is initialised: who this process is.
    pub fn initialised(&self) {
        let abi = abi();
        let header = self.header();
        header.abi = abi.number;
        let (mut flag, mut level, mut rank, mut size): (c_int, c_int, c_int, c_int) = (0, 0, -1, 0);
        // SAFETY: these calls are allowed at any time after initialisation; pointers are valid.
        unsafe {
            abi::initialized((&raw mut flag) as usize);
            let mut version = vec![0_u8; 1 << 14];
            let mut length: c_int = 0;
            abi::get_library_version(version.as_mut_ptr() as usize, (&raw mut length) as usize);
            let words =
                String::from_utf8_lossy(&version[..(length.max(0) as usize).min(version.len())])
                    .into_owned();
            put_words(&mut header.library, &library_words(&words));
            if flag == 0 {
                // Only sessions: there is no world to have a rank in.
                (header.rank, header.size) = launched();
                header.rank = header.rank.max(0);
                return;
            }
            abi::query_thread((&raw mut level) as usize);
            abi::comm_rank(abi.comm_world, (&raw mut rank) as usize);
            abi::comm_size(abi.comm_world, (&raw mut size) as usize);
            // A name of this world that its processes share and other worlds do not.
            let mut world = [u64::from(header.pid), header.start_realtime];
            abi::bcast(
                world.as_mut_ptr() as usize,
                size_of_val(&world),
                abi.byte,
                0,
                abi.comm_world,
            );
            header.world = world[0].rotate_left(40) ^ world[1];
        }
        // MPI_THREAD_MULTIPLE is the highest of the four levels in every implementation.
        set_multiple(level >= 3);
        header.size = size as u32;
        self.handles.with(|h| h.start(self.memory));
        (header.offset_start, header.offset_error) = offsets::measure(&host_name());
        header.offset_end = header.offset_start;
        header.rank = rank;
    }

    /// The recording ends here.
    pub fn end(&self, how: u32) {
        self.sync();
        self.header().state = how;
    }

    /// Brings the recordings of all ranks together; every rank of the world comes here from `MPI_Finalize`.
    pub fn gather(&self) {
        let header = self.header();
        if header.rank >= 0 {
            let (offset, error) = offsets::measure(&host_name());
            header.offset_end = offset;
            header.offset_error = header.offset_error.max(error);
        }
        if let Some(directory) = std::env::var_os("TALEA_OUT") {
            gather(Some(self), std::path::Path::new(&directory));
        }
    }

    /// The program called `MPI_Abort`.
    pub fn aborted(&self, code: i32) {
        self.header().abort_code = code;
        self.end(state::ABORTED);
    }

    /// Notes calls that were made while the recording was paused.
    pub fn paused(&self) {
        self.header().paused += 1;
    }

    /// A thread could not be recorded.
    pub fn lost_thread(&self) {
        self.header().lost_threads += 1;
    }

    /// Keeps a pair of readings of both clocks.
    pub fn sync(&self) {
        let _guard = self.slow.lock();
        let header = self.header();
        let mut count = header.sync_count as usize;
        if count == MAX_SYNCS {
            // Every other one goes; the first stays, and the newest is about to be added.
            for kept in 1..MAX_SYNCS / 2 {
                header.syncs[kept] = header.syncs[kept * 2];
            }
            count = MAX_SYNCS / 2;
        }
        let (ticks, nanos) = clock::pair();
        header.syncs[count] = Sync { ticks, nanos };
        header.sync_count = count as u32 + 1;
    }

    /// The frames of a path as places in modules, which are put into the file when they are new.
    pub fn frames(&self, path: &Path) -> Vec<PathFrame> {
        let Ok(mut slow) = self.slow.lock() else { return Vec::new() };
        path.addresses[..path.len]
            .iter()
            .map(|&address| self.frame(&mut slow, address as u64))
            .collect()
    }

    fn frame(&self, slow: &mut Slow, address: u64) -> PathFrame {
        let mut found = modules::find(&slow.loaded, address);
        if found.is_none() {
            slow.loaded = modules::loaded();
            found = modules::find(&slow.loaded, address);
        }
        let Some(frame) = found else {
            return PathFrame { module: u32::MAX, zero: 0, offset: address };
        };
        let module = &slow.loaded[frame.module as usize].module;
        let place = slow.modules.iter().position(|m| m == module).unwrap_or_else(|| {
            let mut bytes = Vec::new();
            put_module(&mut bytes, module);
            // SAFETY: this stream is only written under `slow`. Without room the module is missing, which the reader says.
            let _ = unsafe { self.memory.append(&raw mut (*self.memory.header()).modules, &bytes) };
            slow.modules.push(module.clone());
            slow.modules.len() - 1
        });
        PathFrame { module: place as u32, zero: 0, offset: frame.offset }
    }

    /// Puts a procedure into the file's table if it is not there.
    pub fn procedure(&self, plan: &Plan) {
        let Ok(mut slow) = self.slow.lock() else { return };
        if !slow.procedures.contains(&plan.procedure) {
            let mut bytes = Vec::new();
            put_procedure(&mut bytes, plan.procedure, &plan.spec);
            // SAFETY: this stream is only written under `slow`.
            let _ =
                unsafe { self.memory.append(&raw mut (*self.memory.header()).procedures, &bytes) };
            slow.procedures.push(plan.procedure);
        }
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

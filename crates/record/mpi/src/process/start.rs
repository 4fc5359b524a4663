//! Begin of a process's recording.
//!
//! Owns reading the environment of `talea run`, and the header of the mapped record before it is
//! visible to others.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use talea_flow::times::{Bound, Quantiser};
use talea_model::Nanos;
use talea_run::live::layout::{self, Header, Sync, TimesMode, state};
use talea_run::{MappedRegion, mapped};

use super::places::note_host;
use super::{PROCESS, Process, STOP, observer, process, put_words, stop};
use crate::abi::table::PROCEDURES;
use crate::end::offsets::Observer;
use crate::fabric;
use crate::process::shared::Shared;
use crate::record::memory::Memory;
use crate::sys::clock;
use crate::sys::host::host_name;
use crate::sys::stack::DEEPEST;

/// Begins the recording if the environment requests one; before the program's MPI is initialised.
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
    let callers = number("TALEA_CALLERS", DEEPEST as u64).clamp(1, DEEPEST as u64) as usize;
    let calls_all = std::env::var("TALEA_CALLS").is_ok_and(|v| v == "all");
    let max = number("TALEA_MEMORY", 64 << 20).max(1 << 20) as usize;
    let host = host_name();
    let start_realtime = clock::realtime();
    // Of this process's own file, where the host can have no file for all.
    let name = mapped::live_name(&host, std::process::id(), Nanos(start_realtime));
    let mult = clock::rate();
    if !is_of_run(&dir) {
        // On the disk of another node only this process creates the folder of this run.
        let _ = std::fs::create_dir(&dir);
    }
    // Where there can be no file the program must still run; talea finds no record and reports the
    // rank without one.
    let region = MappedRegion::claim(&dir, &host, max)
        .or_else(|_| MappedRegion::create(&dir, &format!("{name}.new"), max));
    let Ok(region) = region else { return };
    let Some(mut memory) = Memory::new(region) else { return };
    let (start_ticks, start_nanos) = clock::pair();
    // SAFETY: the header lies at the start of reserved zero memory, and no other thread knows of it
    // yet.
    let header: &mut Header = unsafe { &mut *memory.header() };
    header.version = layout::VERSION;
    header.header_bytes = size_of::<Header>() as u32;
    header.pid = std::process::id();
    // The launcher's values hold for a process that ends before MPI is initialised.
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
    header.ring = u32::from(std::env::var("TALEA_COLLECT").is_ok_and(|v| v == "smart"));
    header.state = state::RECORDING;
    header.syncs[0] = Sync { ticks: start_ticks, nanos: start_nanos };
    header.sync_count = 1;
    header.magic = layout::MAGIC;
    // Only now, so that no reader meets half a header.
    if memory.publish(&name).is_err() {
        return;
    }
    let memory: &'static Memory = Box::leak(Box::new(memory));
    let is_merged_by_ranks = std::env::var("TALEA_MERGE").is_ok_and(|v| v == "ranks");
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
        sessions: AtomicU32::new(0),
        // Ranks that merge their records need none.
        observer: if !is_merged_by_ranks && observer::start(&dir, &host) {
            Observer::Present
        } else {
            Observer::Absent
        },
        offset_error: AtomicU64::new(0),
        slow: Mutex::default(),
    };
    let process = Box::into_raw(Box::new(process));
    if PROCESS
        .compare_exchange(std::ptr::null_mut(), process, Ordering::AcqRel, Ordering::Relaxed)
        .is_ok()
    {
        // SAFETY: the process was published above and lives as long as the program.
        unsafe { &*process }.note_places();
        note_host(&host);
        fabric::start(&host);
        STOP.fetch_and(!stop::NOT_STARTED, Ordering::Release);
        // SAFETY: the handlers are functions of this library, which is never unloaded.
        unsafe {
            libc::pthread_atfork(None, None, Some(forked));
            libc::atexit(exiting);
        }
    }
}

/// True if a folder of live files is the run directory's own, which is not created again when it
/// was removed.
pub(super) fn is_of_run(live: &Path) -> bool {
    live.parent().map(Path::as_os_str) == std::env::var_os("TALEA_OUT").as_deref()
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// Rank and size of the world by the launcher; -1 and 1 where it has none.
fn launched() -> (i32, u32) {
    let say =
        |names: &[&str]| names.iter().find_map(|n| std::env::var(n).ok()?.parse::<i32>().ok());
    let rank =
        say(&["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"]).unwrap_or(-1);
    let size = say(&["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"]).unwrap_or(1);
    (rank, size.max(1) as u32)
}

/// A forked child shares the mapped file with its parent: it must not write.
extern "C" fn forked() {
    STOP.fetch_or(stop::ENDED, Ordering::SeqCst);
}

extern "C" fn exiting() {
    // Before the observer copies the node's counters.
    fabric::end("exit");
    if STOP.load(Ordering::Relaxed) & stop::ENDED == 0
        && let Some(process) = process()
        && process.header().state == state::RECORDING
    {
        process.end(state::EXITED);
    }
    if let Some(process) = process() {
        process.exits();
        observer::await_end(process.header().ring != 0);
    }
}

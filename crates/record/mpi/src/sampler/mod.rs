//! Samples of every thread of this process, taken by the kernel and collected by a thread of our
//! own.
//!
//! Owns that thread's begin and end. It begins when the library is loaded, so that programs without
//! MPI are sampled too, and only if the environment of `talea run` requests it; nothing of it is on
//! the event path except [`probes`]. No signal is used, and all are blocked in it: the program
//! notices nothing of it except one more thread.

mod helper;
mod pace;
mod phases;
pub(crate) mod probes;
mod ring;
mod stacks;
mod thread;
mod thread_phases;

use std::ffi::{CStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use talea_run::samples::World;
use talea_sampling::threads::Request;

use crate::sys::own_threads::spawn;

/// Bytes of the stack that a sample copies.
const STACK: u32 = 16 << 10;
/// Maximum wait at the end of the process for the last samples to be written.
const PATIENCE: Duration = Duration::from_millis(500);
/// The helper's own stack.
const OWN_STACK: usize = 512 << 10;

/// Options from the environment.
#[derive(Debug)]
struct Options {
    /// Folder of the files of samples.
    folder: PathBuf,
    request: Request,
    /// Rank by the launcher: it determines the first set of counters.
    rank: u32,
}

/// State shared by the helper and the program's threads.
#[derive(Debug, Default)]
struct Control {
    /// True when the process ends.
    stop: bool,
    /// Number of requests to write everything, and of those done.
    wanted: u64,
    done: u64,
    /// The rank.
    world: Option<World>,
}

static CONTROL: Mutex<Control> =
    Mutex::new(Control { stop: false, wanted: 0, done: 0, world: None });
static CHANGED: Condvar = Condvar::new();
/// The process that contains the helper; 0 if there is none. A forked child has none.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// True if this process is sampled.
#[inline]
pub(crate) fn is_on() -> bool {
    let pid = PROCESS.load(Ordering::Relaxed);
    pid != 0 && pid == std::process::id()
}

/// Begins if the environment requests it.
///
/// # Safety
/// `environment` is null, or a list of C strings that ends with a null pointer, as the loader
/// passes it to initialisers: they run before the C library has its own.
pub(crate) unsafe fn start(environment: *const *const c_char) {
    // SAFETY: see above.
    let Some(options) = (unsafe { Options::of(environment) }) else { return };
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    if spawn("talea-sample", OWN_STACK, move || helper::run(&options)).is_err() {
        PROCESS.store(0, Ordering::Relaxed);
    }
}

/// The process ends: all samples are written.
pub(crate) fn finish() {
    if !is_on() {
        return;
    }
    let Ok(mut control) = CONTROL.lock() else { return };
    control.stop = true;
    wait(control);
}

/// All samples are written, as the process may end without further notice.
pub(crate) fn flush() {
    if !is_on() {
        return;
    }
    if let Ok(control) = CONTROL.lock() {
        wait(control);
    }
}

fn wait(mut control: std::sync::MutexGuard<'_, Control>) {
    control.wanted += 1;
    let wanted = control.wanted;
    CHANGED.notify_all();
    let _ = CHANGED.wait_timeout_while(control, PATIENCE, |control| control.done < wanted);
}

/// After the initialisation of MPI: identity of this process.
pub(crate) fn initialised(world: World) {
    if is_on()
        && let Ok(mut control) = CONTROL.lock()
    {
        control.world = Some(world);
    }
}

impl Options {
    /// # Safety
    /// See [`start`].
    unsafe fn of(environment: *const *const c_char) -> Option<Self> {
        let value = |name: &str| {
            let mut at = environment;
            if at.is_null() {
                return None;
            }
            loop {
                // SAFETY: the list ends with a null pointer.
                let word = unsafe { *at };
                if word.is_null() {
                    return None;
                }
                // SAFETY: entries are C strings that live as long as the process.
                let bytes: &'static [u8] = unsafe { CStr::from_ptr(word) }.to_bytes();
                let value = bytes.strip_prefix(name.as_bytes()).and_then(|b| b.strip_prefix(b"="));
                if value.is_some() {
                    return value;
                }
                // SAFETY: this was not the last.
                at = unsafe { at.add(1) };
            }
        };
        let text = |name: &str| value(name).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let (trigger, period) = text("TALEA_SAMPLE")?.rsplit_once('=')?;
        let folder = std::ffi::OsStr::from_bytes(value("TALEA_SAMPLES")?);
        let sets = text("TALEA_SAMPLE_COUNTERS").unwrap_or_default();
        let names = |set: &str| set.split(',').map(str::to_owned).collect();
        let rank = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"]
            .iter()
            .find_map(|name| text(name)?.parse().ok());
        Some(Self {
            folder: folder.into(),
            request: Request {
                trigger: trigger.to_owned(),
                period: period.parse().ok()?,
                sets: sets.split(';').filter(|set| !set.is_empty()).map(names).collect(),
                stack: (text("TALEA_SAMPLE_UNWIND") != Some("fp")).then_some(STACK),
            },
            rank: rank.unwrap_or(0),
        })
    }
}

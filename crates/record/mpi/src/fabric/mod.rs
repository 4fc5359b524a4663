//! Counters of this node's network, read by one process of the node while the program runs, if
//! requested by `talea run --fabric`.
//!
//! Owns the choice of the reader: the first process of a node that can create the node's file. It
//! reads before its MPI is initialised, then at each interval in a thread of our own, and a last
//! time when `MPI_Finalize` has returned, or when the process ends. Nothing of it is on the event
//! path, and no signal is used. Each reading is written at once, so that it survives `kill -9`.
//! [`gather`] brings files of other hosts to rank 0 where ranks merge their records.

mod gather;
mod reader;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use talea_model::Nanos;
use talea_run::counters;

pub(crate) use gather::gather;
use reader::Reader;

use crate::sys::clock;
use crate::sys::own_threads::spawn;

/// The thread's own stack.
const STACK: usize = 256 << 10;
/// Number of tries to lock the reader at the end, a millisecond apart: a reading under way takes
/// less.
const PATIENCE: u32 = 500;

/// The reader, until the last reading was made.
static READER: Mutex<Option<Reader>> = Mutex::new(None);
static CHANGED: Condvar = Condvar::new();
/// The process that reads; 0 if this one does not. A forked child has no such thread.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// The node's file, once this process has created it.
static CLAIM: Mutex<Option<Claim>> = Mutex::new(None);

/// The file that this process created for its node.
#[derive(Clone, Debug)]
struct Claim {
    host: String,
    path: PathBuf,
    /// Its unique beginning: it contains the process and the time.
    head: String,
}

/// True if the environment requests counters; it is the same for all ranks of a job.
pub(crate) fn is_asked() -> bool {
    interval().is_some()
}

fn interval() -> Option<Nanos> {
    let text = std::env::var("TALEA_FABRIC").ok()?;
    text.parse().ok().filter(|&nanos| nanos > 0).map(Nanos)
}

/// Begins to read, unless another process of this node does so already. The first reading is made
/// before this returns.
pub(crate) fn start(host: &str) {
    let Some(interval) = interval() else { return };
    let Some(folder) = std::env::var_os("TALEA_FABRIC_DIR").map(PathBuf::from) else { return };
    let path = counters::file(&folder, host);
    if path.exists() || PROCESS.load(Ordering::Relaxed) != 0 {
        return;
    }
    let Ok((reader, head)) = Reader::create(path.clone(), host, interval) else { return };
    if let Ok(mut claim) = CLAIM.lock() {
        *claim = Some(Claim { host: host.to_owned(), path, head });
    }
    if let Ok(mut place) = READER.lock() {
        *place = Some(reader);
    }
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    // Without the thread there is still the first and the last reading.
    let _ = spawn("talea-fabric", STACK, move || work(interval));
}

/// Reads at each interval until the last reading has been made.
fn work(interval: Nanos) {
    // A bug here must cost the counters, not the program.
    let whole = std::panic::AssertUnwindSafe(|| {
        let mut due = clock::monotonic() + interval.0;
        let Ok(mut reader) = READER.lock() else { return };
        while reader.is_some() {
            let pause = Duration::from_nanos(due.saturating_sub(clock::monotonic()));
            let Ok((woken, _)) = CHANGED.wait_timeout(reader, pause) else { return };
            reader = woken;
            let now = clock::monotonic();
            if let Some(reader) = reader.as_mut().filter(|_| now >= due) {
                reader.read();
                // Missed readings are not made up for.
                let interval = reader.interval().0.max(1);
                due += interval * ((now - due) / interval + 1);
            }
        }
    });
    let _ = std::panic::catch_unwind(whole);
}

/// Makes the last reading and records the reason.
pub(crate) fn end(why: &str) {
    let pid = PROCESS.load(Ordering::Relaxed);
    if pid == 0 || pid != std::process::id() {
        return;
    }
    if let Some(reader) = patient().and_then(|mut reader| reader.take()) {
        reader.end(why);
    }
    CHANGED.notify_all();
}

/// The reader, unless it is locked for ever: by this thread itself, if a signal's handler ended the
/// process in the middle of the last reading.
fn patient() -> Option<MutexGuard<'static, Option<Reader>>> {
    for _ in 0..PATIENCE {
        match READER.try_lock() {
            Ok(reader) => return Some(reader),
            Err(TryLockError::Poisoned(_)) => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    None
}

//! Threads of our own inside a program that does not know of them.
//!
//! Owns their start: all signals are blocked in them, since signals are for the program's threads,
//! and their stacks are small. They must not be able to end the program; a panic in one ends that
//! thread alone.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// The system's numbers of these threads.
static OURS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];

/// True if a thread is ours, by the system's number.
pub(crate) fn is_ours(thread: u32) -> bool {
    OURS.iter().any(|ours| ours.load(Ordering::Relaxed) == thread)
}

/// Notes the calling thread; without room it would be counted as one of the program's.
fn note() -> Option<&'static AtomicU32> {
    // SAFETY: the call has no precondition.
    let own = unsafe { libc::gettid() } as u32;
    OURS.iter()
        .find(|ours| ours.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed).is_ok())
}

/// Starts a thread with a stack of this many bytes.
pub(crate) fn spawn(
    name: &str,
    stack: usize,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    // SAFETY: both sets are plain memory that the calls fill.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
        // The new thread inherits the mask of its creator.
        let made =
            std::thread::Builder::new().name(name.to_owned()).stack_size(stack).spawn(move || {
                let noted = note();
                work();
                if let Some(noted) = noted {
                    noted.store(0, Ordering::Relaxed);
                }
            });
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        made.map(drop)
    }
}

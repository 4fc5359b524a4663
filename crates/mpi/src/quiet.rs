//! Threads of our own inside a program that does not know of them.
//!
//! Owns their begin: all signals are blocked in them, since signals are for the program's threads, and their stacks are small. What they do must not be able to end the
//! program; a panic in one ends that thread alone.

use std::io;

/// Starts a thread with a stack of so many bytes.
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
        // The new thread has the mask of the one that makes it.
        let made = std::thread::Builder::new().name(name.to_owned()).stack_size(stack).spawn(work);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        made.map(drop)
    }
}

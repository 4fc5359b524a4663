//! The end of threads: what the C library calls when one of them ends.
//!
//! Owns the key that a thread's state is kept under. Refuses what happens then (`process`).

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) static KEY: AtomicU32 = AtomicU32::new(0);

/// The calling thread's state goes to `end_of_thread`.
pub(crate) fn at_end_of_thread(state: *const c_void) {
    // SAFETY: the key was made before any thread has a state.
    unsafe { libc::pthread_setspecific(KEY.load(Ordering::Acquire), state) };
}

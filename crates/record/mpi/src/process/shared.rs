//! A value that all threads of the process share, with a lock that is only taken where several
//! threads may call MPI.
//!
//! Owns the one rule of locking: with `MPI_THREAD_MULTIPLE` a spin lock, else nothing, as the
//! program itself promises to make one call at a time.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

static MULTIPLE: AtomicBool = AtomicBool::new(true);

/// Sets whether more than one thread may call MPI at a time.
pub fn set_multiple(multiple: bool) {
    MULTIPLE.store(multiple, Ordering::SeqCst);
}

/// A shared value.
#[derive(Debug, Default)]
pub struct Shared<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `with` lets one thread at a time reach the value, or the program promised that there is
// only one.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Gives `work` exclusive access to the value. It must not call `with` on the same value again.
    #[inline(always)]
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let multiple = MULTIPLE.load(Ordering::Relaxed);
        if multiple {
            while self
                .taken
                .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_err()
            {
                std::hint::spin_loop();
            }
        }
        // SAFETY: see above.
        let result = work(unsafe { &mut *self.value.get() });
        if multiple {
            self.taken.store(false, Ordering::Release);
        }
        result
    }
}

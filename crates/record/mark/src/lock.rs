//! One lock for all that is rare: first uses, threads that come and go, forks.
//!
//! Owns waiting. It is no `std::sync::Mutex`, because a fork takes it in one function and gives it
//! back in another.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// A value that one thread at a time may use.
pub(crate) struct Lock<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `taken` lets one thread at a time reach the value.
unsafe impl<T: Send> Sync for Lock<T> {}

/// Gives the lock back when it goes.
pub(crate) struct Held<'a, T>(&'a Lock<T>);

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Lock { taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    pub(crate) fn hold(&self) -> Held<'_, T> {
        while self.taken.swap(true, Ordering::Acquire) {
            // Work under the lock takes microseconds; the holder may need this core.
            std::thread::yield_now();
        }
        Held(self)
    }

    /// Takes over what `std::mem::forget` of a `Held` left taken.
    ///
    /// # Safety
    /// The calling thread, or the thread of the parent process that it is a copy of, must have
    /// taken the lock.
    pub(crate) unsafe fn held(&self) -> Held<'_, T> {
        Held(self)
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the lock is taken as long as this lives.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is taken as long as this lives, and this is borrowed mutably.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        self.0.taken.store(false, Ordering::Release);
    }
}

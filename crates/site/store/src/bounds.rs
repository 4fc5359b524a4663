//! Limits of one query over all reads of a store for it.
//!
//! Owns its deadline, its memory as its holders count it, and its end when its client has
//! disconnected.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use talea_model::Bytes;

use crate::error::StoreError;

/// The bounds of a running query.
#[derive(Debug)]
pub struct Bounds {
    until: Option<Instant>,
    longest: Duration,
    most: u64,
    taken: AtomicU64,
    given_up: AtomicBool,
}

impl Bounds {
    /// Bounds from now on: maximum time and memory.
    pub fn new(longest: Duration, most: Bytes) -> Self {
        Self {
            until: Instant::now().checked_add(longest),
            longest,
            most: most.0,
            taken: AtomicU64::new(0),
            given_up: AtomicBool::new(false),
        }
    }

    /// Cancels it: its client has disconnected.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Its deadline; none where the clock cannot say it.
    pub fn deadline(&self) -> Option<Instant> {
        self.until
    }

    /// The time that it may take in all.
    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// True if it must end.
    pub fn is_over(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
            || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// An error where it must end.
    ///
    /// # Errors
    /// Its deadline has passed, or its client has disconnected.
    pub fn check(&self) -> Result<(), StoreError> {
        if self.is_over() { Err(StoreError::TooLong { longest: self.longest }) } else { Ok(()) }
    }

    /// Counts memory that is held until [`Bounds::give_back`], or the end.
    ///
    /// # Errors
    /// More than its limit.
    pub fn take(&self, bytes: usize) -> Result<(), StoreError> {
        let before = self.taken.fetch_add(bytes as u64, Ordering::Relaxed);
        if before.saturating_add(bytes as u64) > self.most {
            return Err(StoreError::TooLarge { most: Bytes(self.most) });
        }
        Ok(())
    }

    /// Memory that is free again.
    pub fn give_back(&self, bytes: usize) {
        self.taken.fetch_sub(bytes as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_memory_end() {
        let bounds = Bounds::new(Duration::from_hours(1), Bytes(100));
        assert!(bounds.check().is_ok() && bounds.take(60).is_ok());
        assert!(matches!(bounds.take(60), Err(StoreError::TooLarge { most: Bytes(100) })));
        bounds.give_back(60);
        assert!(bounds.take(40).is_ok());
        bounds.give_up();
        assert!(matches!(bounds.check(), Err(StoreError::TooLong { .. })));
        assert!(Bounds::new(Duration::ZERO, Bytes(0)).is_over());
    }
}

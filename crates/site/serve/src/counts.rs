//! Counts of `/metrics`, and the lines of the log that clients can cause.
//!
//! Owns their form. It refuses writing them out.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::log::Seldom;
use crate::refusal::Refusal;

/// Counts of `/metrics`.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) batches: AtomicU64,
    pub(crate) already: AtomicU64,
    pub(crate) rows: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Requests with batches that were refused.
    pub(crate) refused: AtomicU64,
    /// Requests with batches that must come again.
    pub(crate) later: AtomicU64,
    pub(crate) questions: AtomicU64,
    pub(crate) question_nanos: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) commit_nanos: AtomicU64,
    /// Requests for which the store failed.
    pub(crate) store_failures: AtomicU64,
}

impl Counts {
    pub(crate) fn add(count: &AtomicU64, more: u64) {
        count.fetch_add(more, Ordering::Relaxed);
    }
}

/// Lines of the log that clients can cause, limited.
#[derive(Debug)]
pub(crate) struct Logs {
    /// Failures of the store, by reason.
    pub(crate) store: Seldom,
    /// Refused batches, by node.
    pub(crate) batches: Seldom,
}

impl Default for Logs {
    fn default() -> Self {
        let hour = Duration::from_hours(1);
        Self { store: Seldom::new(1, hour), batches: Seldom::new(5, hour) }
    }
}

impl Logs {
    /// Logs the failure of the store, if it is the reason of a refusal.
    pub(crate) fn note(&self, refusal: &Refusal, counts: &Counts) {
        if let Some(cause) = &refusal.cause {
            Counts::add(&counts.store_failures, 1);
            self.store.line(cause, "the store fails", &[("error", cause)]);
        }
    }
}

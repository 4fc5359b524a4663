//! Evaluations of rules under way.
//!
//! Owns which of them are equal, and how many run at a time. It refuses running them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use talea_model::Nanos;
use tokio::sync::Semaphore;

/// Maximum number of evaluations at a time: fewer than queries.
const AT_ONCE: usize = 2;

pub(crate) type Question = (Option<u32>, Option<(Nanos, Nanos)>, Option<(String, Option<u32>)>);

/// Evaluations under way.
pub(crate) struct Asking {
    under_way: Mutex<HashMap<Question, Weak<tokio::sync::Mutex<()>>>>,
    pub(crate) permits: Arc<Semaphore>,
}

impl Default for Asking {
    fn default() -> Self {
        Self { under_way: Mutex::default(), permits: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Asking {
    /// The place of equal queries; places without queries are removed.
    pub(crate) fn place(&self, question: Question) -> Arc<tokio::sync::Mutex<()>> {
        let mut all = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = all.get(&question).and_then(Weak::upgrade) {
            return place;
        }
        all.retain(|_, place| place.strong_count() > 0);
        let place = Arc::default();
        all.insert(question, Arc::downgrade(&place));
        place
    }
}

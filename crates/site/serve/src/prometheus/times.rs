//! Times of evaluation of a query, and errors of its answer.
//!
//! Owns what the store's rows and the values made of them share. It refuses both.

use talea_model::Nanos;
use talea_store::StoreError;

/// Times of evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) begin: Nanos,
    pub(super) end: Nanos,
    /// None for one time.
    pub(super) step: Option<Nanos>,
}

impl Times {
    pub(super) fn each(self) -> impl Iterator<Item = Nanos> {
        let count = self.step.map_or(0, |step| (self.end - self.begin).0 / step.0.max(1));
        let step = self.step.unwrap_or_default().0;
        (0..=count).map(move |n| Nanos(self.begin.0 + n * step))
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum AnswerError {
    Store(StoreError),
    Query(String),
}

impl From<StoreError> for AnswerError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

pub(super) fn refused<T>(why: impl Into<String>) -> Result<T, AnswerError> {
    Err(AnswerError::Query(why.into()))
}

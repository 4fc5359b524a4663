//! Outcome of a delivery of a batch.
//!
//! Owns its cases: callers that deliver give one, and the queue acts on it.

/// Outcome of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The receiver has it.
    Taken,
    /// The receiver had it already: an earlier answer was lost.
    Known,
    /// Not now, for this reason: it waits.
    Later(String),
    /// Never, for this reason: it is lost, which is counted.
    Refused(String),
}

//! Keeps the batches that agents make of their nodes, and answers the few questions that are asked
//! of them.
//!
//! Owns `trait Store`, its questions and answers, the file of `SQLite` and the server of
//! Prometheus' API behind it, the form that batches travel in (`wire`) and the queue on disk where
//! they wait until a store has them (`spool`). It refuses clocks (who calls says what time it is),
//! to resolve functions, and to know where batches come from. Everything named in a batch or a
//! question is bytes from outside: it is bound, never written into SQL, and cut at
//! [`LONGEST_NAME`].
//!
//! ```text
//! agent --- spool --- wire ---> Store::put_all ---> slices of time and node
//!                                                     retain: minutes -> hours -> days
//!                                                   ---> usage, series, nodes, jobs
//! ```

pub mod access;
pub mod address;
mod answer;
mod arrival;
mod bounds;
mod error;
pub mod export;
mod glob;
#[cfg(test)]
mod oracle;
mod place;
mod plausible;
mod private;
pub mod prometheus;
mod proportion;
pub mod public;
mod question;
mod rates;
mod recent_batches;
pub mod remote;
pub mod spool;
pub mod sqlite;
#[cfg(test)]
mod tests;
pub mod wire;

use std::sync::Arc;

use talea_model::Nanos;
use talea_model::shares::Batch;

pub use answer::{Answer, JobSeen, NodeSeen, Point, Row, Series, Totals, Value};
pub use arrival::{LONGEST_INTERVAL, LONGEST_NAME, MOST_COUNTERS, check};
pub use bounds::Bounds;
pub use error::StoreError;
pub use place::Place;
pub use plausible::{MOST_CORES, plausible};
pub use proportion::{Proportion, Z};
pub use question::{Dimension, MOST_FIGURES, MOST_POINTS, MOST_ROWS, Question, Text, Visible};
pub use rates::{QUANTILES, RateRow, Rates, SpreadSeen, rank};
pub use recent_batches::Recent;

/// Outcome of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It counts now.
    New,
    /// It counted already; nothing changed.
    Already,
}

/// Result of one call of [`Store::retain`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// Slices of time that went into longer ones.
    pub merged: u64,
    /// True when there is more to do: call again.
    pub more: bool,
}

/// Where batches are kept. Every implementation answers the same.
pub trait Store: Send {
    /// Takes batches in one step: all of them count, or none. A batch counts once however often and
    /// in whatever order it comes.
    ///
    /// # Errors
    /// A batch that [`check`] refuses (nothing is stored then), and what the system refuses.
    fn put_all(&mut self, batches: &[Batch]) -> Result<Vec<Put>, StoreError>;

    /// Takes one batch.
    ///
    /// # Errors
    /// As [`Store::put_all`].
    fn put(&mut self, batch: &Batch) -> Result<Put, StoreError> {
        let put = self.put_all(std::slice::from_ref(batch))?;
        Ok(put.first().copied().unwrap_or(Put::Already))
    }

    /// Use of cores, by the query's dimensions; rows with the most samples first, then by key.
    ///
    /// # Errors
    /// A question that cannot be meant, and what the system refuses.
    fn usage(&self, question: &Question) -> Result<Answer, StoreError>;

    /// The same keys as [`Store::usage`], over time in steps of `step`.
    ///
    /// # Errors
    /// As [`Store::usage`]; a step of 0 or more than [`MOST_POINTS`] of them.
    fn series(&self, question: &Question, step: Nanos) -> Result<Series, StoreError>;

    /// The nodes that were ever heard of (for a user: where own work ran), by name.
    ///
    /// # Errors
    /// What the system refuses.
    fn nodes(&self, visible: Visible) -> Result<Vec<NodeSeen>, StoreError>;

    /// The jobs with samples that the question asks for, most samples first; its dimensions do not
    /// matter.
    ///
    /// # Errors
    /// As [`Store::usage`].
    fn jobs(&self, question: &Question) -> Result<Vec<JobSeen>, StoreError>;

    /// Growth of counters around samples, by the query's dimensions. Each row of a batch's `rates`
    /// that passes the query's filters adds its samples, nanoseconds and count to the row of its
    /// counter (name and unit) and key. Visible are rows that belong to the user: the owner of the
    /// job, else of the process, as for shares; a row needs no share beside it. Rates stay when
    /// times become coarser.
    ///
    /// # Errors
    /// As [`Store::usage`]; dimensions and filters that rates are kept without
    /// ([`Question::check_rates`]).
    fn rates(&self, question: &Question) -> Result<Rates, StoreError>;

    /// How the rates of each counter were spread over the cores of the jobs that the question asks
    /// for, all of them together; by counter, at most `limit` of them. Buckets of batches are added
    /// up ([`SpreadSeen::from_buckets`]); counters without any are missing. Visible is what belongs
    /// to the job's owner: that of a job without owner only operators see. The question's
    /// dimensions do not matter.
    ///
    /// # Errors
    /// As [`Store::usage`]; filters by what cores were at ([`Question::check_spreads`]).
    fn spreads(&self, question: &Question) -> Result<Vec<SpreadSeen>, StoreError>;

    /// Maximum permission of answers, whatever the query: all samples, but of a server those of its
    /// token's owner.
    ///
    /// # Errors
    /// What the system refuses.
    fn sees(&self) -> Result<Visible, StoreError> {
        Ok(Visible::All)
    }

    /// Bounds what is asked from now on, all of it together; nothing where a store cannot be
    /// stopped, or for ever by `None`.
    fn bound(&mut self, _bounds: Option<Arc<Bounds>>) {}

    /// False where a handle is of no more use, as its file was removed or replaced: another one
    /// must be opened to ask again.
    fn is_current(&self) -> bool {
        true
    }

    /// Makes old times coarser, in at most `steps` steps; each survives on its own. `now` is
    /// nanoseconds since 1970.
    ///
    /// # Errors
    /// What the system refuses; steps done before stay done.
    fn retain(&mut self, now: Nanos, steps: usize) -> Result<Retained, StoreError>;
}

//! Threads that are sampled: perf events on one thread each, with a buffer that the kernel fills.
//!
//! Owns which events that takes ([`select`]), opening them on a thread ([`Sampled`]), the samples
//! in the buffer, and reading the counts in between ([`Reader`]). It starts no threads, walks no
//! stacks (that is [`crate::unwind`]'s), and decides nothing about time: who calls drains the
//! buffers often enough, changes periods, and has the sets of counters take turns.

mod events;
mod record;
mod select;
#[cfg(test)]
mod tests;

pub use events::{OpenThreadError, Reader, Sampled};
pub use record::{Registers, Sample, Stack};
pub use select::{DEFAULT_COUNTERS, Request, Selected, SelectedCounter, select};

/// In place of a count that is not there.
pub const ABSENT: u64 = u64::MAX;

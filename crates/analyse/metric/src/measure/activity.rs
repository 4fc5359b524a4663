//! Activity of a location whose records were not kept.
//!
//! Owns its intervals of computation and those outside MPI.

use super::span::{Interval, Span};

/// Computation of a location, and its time outside MPI.
#[derive(Clone, Copy, Debug)]
pub struct Activity<'a> {
    /// Begin of each stretch of computation, ascending; nanoseconds.
    pub begins: &'a [u64],
    /// Their ends.
    pub ends: &'a [u64],
    /// Begin and end of each interval outside MPI, ascending.
    pub outside: &'a [(u64, u64)],
}

impl Activity<'_> {
    /// Stretches of computation.
    pub(super) fn running(&self) -> impl Iterator<Item = Interval> + '_ {
        self.begins.iter().copied().zip(self.ends.iter().copied())
    }

    /// Intervals outside MPI in a part of the trace.
    pub(super) fn outside(&self, span: Span) -> Vec<Interval> {
        self.outside.iter().filter_map(|&(begin, end)| span.clip(begin, end)).collect()
    }
}

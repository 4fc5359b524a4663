//! Activity of a location whose records were not kept.
//!
//! Owns the sums of its intervals in a part of the trace.

use talea_model::Nanos;

use super::span::{Interval, Span};

/// Number and length of intervals in a part of a trace, which are given in the order of their
/// begins; where they overlap, time counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Intervals {
    last: u64,
    /// Their length together.
    pub length: Nanos,
    /// Number of those with a length.
    pub count: u64,
}

impl Intervals {
    /// Adds the part of an interval that is in `span`.
    pub fn add(&mut self, span: Span, begin: u64, end: u64) {
        if let Some((begin, end)) = span.clip(begin, end) {
            self.add_clipped((begin, end));
        }
    }

    fn add_clipped(&mut self, (begin, end): Interval) {
        let begin = begin.max(self.last);
        self.last = self.last.max(end);
        if begin < end {
            self.length += Nanos(end - begin);
            self.count += 1;
        }
    }

    /// Those of intervals in a part of the trace, in the order of their begins.
    pub(super) fn from_intervals(intervals: &[Interval]) -> Self {
        let mut sums = Self::default();
        for &interval in intervals {
            sums.add_clipped(interval);
        }
        sums
    }
}

/// Computation of a location in a part of a trace, and its time outside MPI there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Stretches of computation.
    pub running: Intervals,
    /// Time outside MPI.
    pub outside: Intervals,
}

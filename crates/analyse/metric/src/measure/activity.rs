//! Activity of locations whose records were not kept.
//!
//! Owns the sums of a location's intervals in a part of the trace.

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

/// All stretches of a location, whatever part is analysed, in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretches {
    /// Begin and end of those of computation, in nanoseconds.
    pub running: Vec<(u64, u64)>,
    /// Begin and end of those outside MPI, in nanoseconds.
    pub outside: Vec<(u64, u64)>,
}

/// Activity of all locations, in place of most records.
#[derive(Clone, Copy)]
pub enum Activities<'a> {
    /// Sums in the analysed part, by location; there are no counters to attribute.
    Sums(&'a [Activity]),
    /// The stretches of a location.
    Stretches(&'a dyn Fn(u32) -> Stretches),
}

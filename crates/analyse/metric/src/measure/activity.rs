//! Activity of locations whose records were not kept.
//!
//! Owns the sums of a location's intervals in a part of the trace, and their parts between readings
//! of its counters.

use talea_model::Nanos;

use super::span::{Interval, Span};

/// Number and length of intervals in a part of a trace, which are given in the order of their
/// begins; where they overlap, time counts once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals {
    last: u64,
    /// Their length together.
    pub length: Nanos,
    /// Number of those with a length.
    pub count: u64,
    /// Length of the intervals between each reading and the one before; empty without intervals.
    since: Vec<u64>,
    /// Number of readings up to the begin of the last interval.
    passed: usize,
}

impl Intervals {
    /// Adds the part of an interval that is in `span`. `readings` are the rising times at which the
    /// location's counters were read, the same for all of its intervals: see [`super::Readings`].
    pub fn add(&mut self, span: Span, readings: &[u64], begin: u64, end: u64) {
        if let Some(clipped) = span.clip(begin, end) {
            self.add_clipped(readings, clipped);
        }
    }

    fn add_clipped(&mut self, readings: &[u64], (begin, end): Interval) {
        let begin = begin.max(self.last);
        self.last = self.last.max(end);
        if begin >= end {
            return;
        }
        self.length += Nanos(end - begin);
        self.count += 1;
        self.since.resize(readings.len(), 0);
        while readings.get(self.passed).is_some_and(|&time| time <= begin) {
            self.passed += 1;
        }
        let mut from = begin;
        let since = self.since.iter_mut().skip(self.passed);
        for (&time, since) in readings.iter().skip(self.passed).zip(since) {
            *since += time.min(end) - from;
            if time >= end {
                break;
            }
            from = time;
        }
    }

    /// The length of the intervals between the reading of this number and the one before.
    pub(super) fn since_before(&self, reading: usize) -> u64 {
        self.since.get(reading).copied().unwrap_or_default()
    }

    /// Those of intervals in a part of the trace, in the order of their begins.
    pub(super) fn from_intervals(intervals: &[Interval]) -> Self {
        let mut sums = Self::default();
        for &interval in intervals {
            sums.add_clipped(&[], interval);
        }
        sums
    }
}

/// Computation of a location in a part of a trace, and its time outside MPI there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// Sums in the analysed part, by location.
    Sums(&'a [Activity]),
    /// The stretches of a location.
    Stretches(&'a dyn Fn(u32) -> Stretches),
}

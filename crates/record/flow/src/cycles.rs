//! A long sequence of values in the memory that its pattern takes: runs of equal values, and cycles
//! of runs that repeat.
//!
//! Owns the form of a thread's streams in memory, one value for each visit of a node, and positions
//! in it. A loop of calls with alternating arguments
//! is one cycle, however often it runs. A cycle that a longer one contains is written again in each
//! of its laps.

use std::fmt::{self, Debug};
use std::hash::{Hash, Hasher};
use std::slice;
use std::sync::Arc;

mod builder;

pub use builder::CyclesBuilder;

/// A value of a stream.
pub trait Value: Copy + Eq + Debug {
    /// Different for different values.
    fn bits(self) -> u64;
}

impl Value for u32 {
    fn bits(self) -> u64 {
        u64::from(self)
    }
}

impl Value for u64 {
    fn bits(self) -> u64 {
        self
    }
}

impl Value for i64 {
    fn bits(self) -> u64 {
        self.cast_unsigned()
    }
}

/// A sequence of values. Copies share their memory, so that ranks with equal streams hold one.
#[derive(Clone)]
pub struct Cycles<T>(
    /// Absent without values.
    Option<Arc<Content<T>>>,
);

#[derive(Clone)]
struct Content<T> {
    /// The runs that parts refer to, in the order of their first use.
    runs: Vec<(T, u64)>,
    parts: Vec<Part>,
    /// Number of values; stays at the largest number.
    values: u64,
    /// Number of runs in the sequence.
    count: u64,
}

/// A part of a sequence: a cycle of runs, again and again from its first.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Part {
    /// Values of the sequence before it.
    before: u64,
    /// Number of runs.
    runs: u64,
    /// The first run of the cycle among those of the content.
    from: usize,
    /// Runs of the cycle, at most `runs`.
    period: usize,
}

impl<T> Content<T> {
    fn cycle(&self, part: &Part) -> &[(T, u64)] {
        &self.runs[part.from..part.from + part.period]
    }
}

impl<T: Value> Content<T> {
    fn neighbours_differ(&self) -> bool {
        let pairs = self.runs.windows(2).enumerate();
        let equal: Vec<usize> =
            pairs.filter(|(_, pair)| pair[0].0 == pair[1].0).map(|(at, _)| at).collect();
        let mut before = None;
        self.parts.iter().all(|part| {
            let cycle = self.cycle(part);
            let (first, end) = (cycle[0].0, cycle[part.period - 1].0);
            let last = cycle[((part.runs - 1) % part.period as u64) as usize].0;
            let next = equal.partition_point(|&at| at < part.from);
            let inside = equal.get(next).is_none_or(|&at| at + 1 >= part.from + part.period);
            let around = part.runs == part.period as u64 || first != end;
            inside && around && before.replace(last) != Some(first)
        })
    }
}

impl<T: Value> Cycles<T> {
    /// An empty sequence.
    pub const fn new() -> Self {
        Self(None)
    }

    /// From runs; neighbours of equal value become one.
    pub fn from_runs(runs: impl IntoIterator<Item = (T, u64)>) -> Self {
        let mut all = CyclesBuilder::new();
        runs.into_iter().for_each(|(value, count)| all.push(value, count));
        all.into()
    }

    /// The sequence of other values; `other` is asked in the order of first use, and may be asked
    /// several times for a value.
    #[must_use]
    pub fn map<U: Value>(&self, mut other: impl FnMut(T) -> U) -> Cycles<U> {
        let Some(content) = &self.0 else { return Cycles::new() };
        let runs: Vec<_> = content.runs.iter().map(|&(value, run)| (other(value), run)).collect();
        let &Content { ref parts, values, count, .. } = &**content;
        let mapped = Content { runs, parts: parts.clone(), values, count };
        if mapped.neighbours_differ() {
            return Cycles(Some(Arc::new(mapped)));
        }
        let mut joined = CyclesBuilder::new();
        for part in parts {
            let (cycle, period) = (mapped.cycle(part), part.period as u64);
            joined.repeat(cycle, part.runs / period);
            joined.repeat(&cycle[..(part.runs % period) as usize], 1);
        }
        joined.into()
    }

    /// Removes the last value.
    pub fn pop(&mut self) -> Option<T> {
        let mut content = Arc::unwrap_or_clone(self.0.take()?);
        let part = content.parts.last_mut()?;
        part.runs -= 1;
        let place = part.from + (part.runs % part.period as u64) as usize;
        let (value, count) = *content.runs.get(place)?;
        let (before, runs) = (part.before, part.runs);
        if runs == 0 {
            content.parts.pop();
        }
        if let Some(part) = content.parts.last_mut() {
            part.period = part.period.min(part.runs.try_into().unwrap_or(usize::MAX));
        }
        // Removes runs without a part: `map` would pass them on.
        let ends = content.parts.iter().map(|part| part.from + part.period);
        content.runs.truncate(ends.max().unwrap_or(0));
        content.count -= 1;
        if count > 1 {
            let before = match runs {
                0 => before,
                _ => content.values.saturating_sub(count),
            };
            let from = content.runs.len();
            content.runs.push((value, count - 1));
            content.parts.push(Part { before, runs: 1, from, period: 1 });
            content.count += 1;
        }
        content.values -= 1;
        self.0 = (content.count > 0).then(|| Arc::new(content));
        Some(value)
    }
}

impl<T> Cycles<T> {
    /// Number of values; stays at the largest number.
    pub fn len(&self) -> u64 {
        self.0.as_ref().map_or(0, |content| content.values)
    }

    /// True without any value.
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Number of runs in the sequence.
    pub fn run_count(&self) -> u64 {
        self.0.as_ref().map_or(0, |content| content.count)
    }

    /// Number of runs in the cycles of all parts, which [`Self::map`] and [`Self::totals`] may
    /// visit.
    pub fn visited(&self) -> u64 {
        let parts = self.0.iter().flat_map(|content| &content.parts);
        parts.map(|part| part.period as u64).sum()
    }

    /// Memory of the sequence, in runs.
    pub fn kept(&self) -> u64 {
        self.0
            .as_ref()
            .map_or(0, |content| (content.runs.len() + PART_RUNS * content.parts.len()) as u64)
    }
}

/// Runs that are hashed one by one.
const FIRST_RUNS: usize = 64;
/// Memory of a part, in runs.
const PART_RUNS: usize = 2;

impl<T: Copy> Cycles<T> {
    /// The runs in order, each different from its neighbours.
    pub fn runs(&self) -> Iter<'_, T> {
        let (runs, parts) = match &self.0 {
            Some(content) => (&content.runs[..], &content.parts[..]),
            None => (&[][..], &[][..]),
        };
        Iter { runs, parts: parts.iter(), at: 0, from: 0, end: 0, left: 0 }
    }

    /// Every value in order.
    pub fn values(&self) -> impl Iterator<Item = T> + '_ {
        self.runs().flat_map(|(value, count)| (0..count).map(move |_| value))
    }

    /// Every value with a number of its repetitions, in the order of first use: a value may come
    /// several times. Takes the time of what is kept.
    pub fn totals(&self) -> impl Iterator<Item = (T, u64)> + '_ {
        self.counts().map(|((value, count), times)| (value, count.saturating_mul(times)))
    }

    /// Every run with a number of its repetitions; see [`Self::totals`].
    fn counts(&self) -> impl Iterator<Item = ((T, u64), u64)> + '_ {
        self.0.iter().flat_map(|content| {
            content.parts.iter().flat_map(|part| {
                let period = part.period as u64;
                let (laps, rest) = (part.runs / period, part.runs % period);
                let times = move |at| laps + u64::from(at < rest);
                (0..).zip(content.cycle(part)).map(move |(at, &run)| (run, times(at)))
            })
        })
    }

    /// The runs from the value after `passed` others on, and the number of values before it in the
    /// first of these runs.
    pub fn position(&self, passed: u64) -> (Iter<'_, T>, u64) {
        let mut iter = self.runs();
        let Some(content) = self.0.as_ref().filter(|content| passed < content.values) else {
            iter.parts = [].iter();
            return (iter, 0);
        };
        let number = content.parts.partition_point(|part| part.before <= passed).saturating_sub(1);
        let part = &content.parts[number];
        let cycle = content.cycle(part);
        let mut left = passed - part.before;
        let mut done = 0;
        if part.runs > part.period as u64 {
            let lap = cycle.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
            done = (left / lap).saturating_mul(part.period as u64);
            left %= lap;
        }
        let mut place = 0;
        while let Some(&(_, count)) = cycle.get(place).filter(|&&(_, count)| count <= left) {
            left -= count;
            place += 1;
        }
        // Saturated sums give wrong places; the number of runs stays right.
        done = done.saturating_add(place as u64);
        iter.parts = content.parts[number + 1..].iter();
        (iter.from, iter.end) = (part.from, part.from + part.period);
        iter.at = part.from + place % part.period;
        iter.left = part.runs.saturating_sub(done);
        (iter, left)
    }
}

/// The runs of a sequence in order; see [`Cycles::runs`].
#[derive(Clone, Debug)]
pub struct Iter<'a, T> {
    runs: &'a [(T, u64)],
    parts: slice::Iter<'a, Part>,
    /// The next run.
    at: usize,
    /// The cycle.
    from: usize,
    end: usize,
    /// Runs left of the part.
    left: u64,
}

impl<T: Copy> Iterator for Iter<'_, T> {
    type Item = (T, u64);

    #[inline]
    fn next(&mut self) -> Option<(T, u64)> {
        if self.left == 0 {
            let part = self.parts.next()?;
            (self.at, self.from, self.end) = (part.from, part.from, part.from + part.period);
            self.left = part.runs;
        }
        let run = *self.runs.get(self.at)?;
        self.left -= 1;
        self.at += 1;
        if self.at == self.end {
            self.at = self.from;
        }
        Some(run)
    }
}

impl<T> Default for Cycles<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Value> FromIterator<T> for Cycles<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::from_runs(values.into_iter().map(|value| (value, 1)))
    }
}

/// Equal sequences are equal, whatever their parts.
impl<T: Value> PartialEq for Cycles<T> {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(two)) => {
                Arc::ptr_eq(one, two)
                    || (one.values, one.count) == (two.values, two.count)
                        && (one.parts == two.parts && one.runs == two.runs
                            || self.runs().eq(other.runs()))
            }
            _ => false,
        }
    }
}

impl<T: Value> Eq for Cycles<T> {}

impl<T: Value> Hash for Cycles<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The sum over visits does not depend on the division into parts.
        let sum = self.counts().fold(0_u64, |sum, ((value, count), times)| {
            let one = value.bits().wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            sum.wrapping_add((one ^ one >> 32).wrapping_mul(count).wrapping_mul(times))
        });
        (self.len(), self.run_count(), sum).hash(state);
        for (value, count) in self.runs().take(FIRST_RUNS) {
            (value.bits(), count).hash(state);
        }
    }
}

impl<T: Value> Debug for Cycles<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.runs()).finish()
    }
}

impl Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} runs, every {} from {}", self.runs, self.period, self.from)
    }
}

#[cfg(test)]
mod tests;

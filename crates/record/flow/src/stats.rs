//! Figures of one call site: counts, durations, bytes, and their balance over the ranks.
//!
//! Owns accumulators only; the caller walks through the events. Quantiles come from counters with
//! 64 steps to the octave, so that a median is within 1/128 (0.8 %) of the true one, and exact
//! below 128 ns; sums, counts and extremes are exact. Merging is exact and does not depend on the
//! order. Source of the idea: Masson, Rim, Lee, "`DDSketch`" (VLDB 2019), here with steps that need
//! no logarithm.

use serde::{Deserialize, Serialize};
use talea_model::{Bytes, Nanos, Rank};

/// Steps in an octave.
const STEPS: u64 = 64;

/// Durations of calls, in bounded memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durations {
    /// Number of the bucket that `counts[0]` counts.
    first: usize,
    counts: Vec<u64>,
    count: u64,
    sum: Nanos,
    min: Nanos,
    max: Nanos,
}

/// The calls of one rank at one site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankSum {
    /// Number of events.
    pub events: u64,
    /// Time inside them.
    pub time: Nanos,
}

/// One call site over all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStats {
    /// Durations of its events. Without times this has no quantiles, but sums and extremes if they
    /// were kept.
    pub durations: Durations,
    /// Number of calls; more than events where a series of polls is one event.
    pub calls: u64,
    /// Time inside all events.
    pub time: Nanos,
    /// Bytes that its calls sent; absent where none of them moves any.
    pub bytes: Option<Bytes>,
    /// Ranks that called it, ascending, with their sums.
    pub ranks: Vec<(Rank, RankSum)>,
}

impl Durations {
    /// Maximum relative error of a quantile.
    pub const RELATIVE_ERROR: f64 = 1.0 / (2.0 * STEPS as f64);

    /// Counts one duration.
    pub fn add(&mut self, duration: Nanos) {
        let bucket = bucket(duration.0);
        *self.at(bucket) += 1;
        self.extend(1, duration, duration, duration);
    }

    /// Adds durations whose sums alone are known: they do not enter quantiles.
    pub fn add_summed(&mut self, count: u64, sum: Nanos, min: Nanos, max: Nanos) {
        if count > 0 {
            self.extend(count, sum, min, max);
        }
    }

    /// Replaces number and sum by exact values where the durations counted so far are rounded or
    /// incomplete.
    pub fn correct(&mut self, count: u64, sum: Nanos) {
        (self.count, self.sum) = (count, sum);
    }

    /// Replaces the extremes by exact values.
    pub fn correct_extremes(&mut self, min: Nanos, max: Nanos) {
        (self.min, self.max) = (min, max.max(min));
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (place, &count) in other.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            *self.at(other.first + place) += count;
        }
        if other.count > 0 {
            self.extend(other.count, other.sum, other.min, other.max);
        }
    }

    /// Number of durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn sum(&self) -> Nanos {
        self.sum
    }

    /// The shortest; zero without any.
    pub fn min(&self) -> Nanos {
        self.min
    }

    /// The longest.
    pub fn max(&self) -> Nanos {
        self.max
    }

    /// The median, of an even number the lower one; absent where no single duration is known.
    pub fn median(&self) -> Option<Nanos> {
        self.quantile(0.5)
    }

    /// The smallest duration that is not exceeded by at least the part `part` (0 to 1) of all.
    pub fn quantile(&self, part: f64) -> Option<Nanos> {
        let known: u64 = self.counts.iter().sum();
        let wanted = ((known as f64 * part).ceil() as u64).clamp(1, known.max(1));
        let mut seen = 0;
        let place = self.counts.iter().position(|&count| {
            seen += count;
            seen >= wanted
        })?;
        let value = middle(self.first + place);
        Some(Nanos(value.clamp(self.min.0, self.max.0)))
    }

    /// True if durations can have been counted so; what a file holds need not be.
    pub fn is_valid(&self) -> bool {
        self.first.checked_add(self.counts.len()).is_some_and(|end| end <= bucket(u64::MAX) + 1)
            && self.min <= self.max
            && self.counts.iter().try_fold(0_u64, |sum, &count| sum.checked_add(count)).is_some()
    }

    fn extend(&mut self, count: u64, sum: Nanos, min: Nanos, max: Nanos) {
        self.min = if self.count == 0 { min } else { self.min.min(min) };
        self.max = self.max.max(max);
        self.count += count;
        self.sum += sum;
    }

    fn at(&mut self, bucket: usize) -> &mut u64 {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let missing = self.first - bucket;
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = bucket;
        }
        let place = bucket - self.first;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        &mut self.counts[place]
    }
}

/// The bucket of a value: itself below 128, then 64 for each octave.
fn bucket(value: u64) -> usize {
    if value < 2 * STEPS {
        return value as usize;
    }
    let shift = u64::from(value.ilog2()) - u64::from(STEPS.trailing_zeros());
    (STEPS * shift + (value >> shift)) as usize
}

/// The value in the middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * STEPS {
        return bucket;
    }
    let shift = bucket / STEPS - 1;
    ((bucket - STEPS * shift) << shift) + (1 << (shift - 1))
}

impl CallStats {
    /// Adds the calls that `rank` made at this site; ranks may come in any order and more than
    /// once.
    pub fn add(&mut self, rank: Rank, calls: u64, bytes: Option<Bytes>, durations: &Durations) {
        let sum = RankSum { events: durations.count(), time: durations.sum() };
        match self.ranks.binary_search_by_key(&rank, |(rank, _)| *rank) {
            Ok(place) => {
                let known = &mut self.ranks[place].1;
                known.events += sum.events;
                known.time += sum.time;
            }
            Err(place) => self.ranks.insert(place, (rank, sum)),
        }
        self.calls = self.calls.saturating_add(calls);
        self.time += sum.time;
        if let Some(bytes) = bytes {
            *self.bytes.get_or_insert_default() += bytes;
        }
        self.durations.merge(durations);
    }

    /// Adds all calls of another site.
    pub fn merge(&mut self, other: &Self) {
        for (rank, sum) in &other.ranks {
            match self.ranks.binary_search_by_key(rank, |(rank, _)| *rank) {
                Ok(place) => {
                    let known = &mut self.ranks[place].1;
                    known.events += sum.events;
                    known.time += sum.time;
                }
                Err(place) => self.ranks.insert(place, (*rank, *sum)),
            }
        }
        self.calls = self.calls.saturating_add(other.calls);
        self.time += other.time;
        if let Some(bytes) = other.bytes {
            *self.bytes.get_or_insert_default() += bytes;
        }
        self.durations.merge(&other.durations);
    }

    /// Number of events on all ranks.
    pub fn events(&self) -> u64 {
        self.durations.count()
    }

    /// The maximum time of a rank divided by the mean of the ranks that call it; 1 is even, and so
    /// is no time at all.
    pub fn imbalance(&self) -> f64 {
        let most = self.ranks.iter().map(|(_, sum)| sum.time.0).max().unwrap_or(0);
        let mean = self.time.0 as f64 / self.ranks.len().max(1) as f64;
        if mean > 0.0 { most as f64 / mean } else { 1.0 }
    }

    /// Ranks with the minimum and the maximum time, the first of equals.
    pub fn extremes(&self) -> Option<(Rank, Rank)> {
        let least = self.ranks.iter().min_by_key(|(rank, sum)| (sum.time, *rank))?;
        let most =
            self.ranks.iter().min_by_key(|(rank, sum)| (std::cmp::Reverse(sum.time), *rank))?;
        Some((least.0, most.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn durations(values: &[u64]) -> Durations {
        let mut durations = Durations::default();
        for &value in values {
            durations.add(Nanos(value));
        }
        durations
    }

    #[test]
    fn buckets_join_without_a_gap() {
        for value in (0..4096).chain([1 << 40, u64::MAX - 1, u64::MAX]) {
            let (here, next) = (bucket(value), bucket(value.saturating_add(1)));
            assert!(next == here || next == here + 1, "{value}");
            let off = middle(here).abs_diff(value) as f64;
            assert!(off <= value as f64 * Durations::RELATIVE_ERROR, "{value}: {off}");
        }
    }

    #[test]
    fn sums_without_single_durations_have_no_median() {
        let mut summed = Durations::default();
        assert_eq!((summed.median(), summed.min()), (None, Nanos(0)));
        summed.add_summed(3, Nanos(30), Nanos(5), Nanos(15));
        assert_eq!((summed.median(), summed.min(), summed.max()), (None, Nanos(5), Nanos(15)));
    }

    #[test]
    fn an_uneven_site_names_its_ranks() {
        let mut stats = CallStats::default();
        assert_eq!((stats.imbalance(), stats.extremes()), (1.0, None));
        for (rank, time) in [(2, 100), (0, 100), (1, 400)] {
            stats.add(Rank(rank), 2, Some(Bytes(8)), &durations(&[time / 2, time / 2]));
        }
        stats.add(Rank(0), 1, None, &durations(&[0]));
        assert!((stats.imbalance() - 2.0).abs() < 1e-9);
        assert_eq!(stats.extremes(), Some((Rank(0), Rank(1))));
        assert_eq!((stats.calls, stats.events(), stats.bytes), (7, 7, Some(Bytes(24))));
        assert_eq!(stats.ranks[0], (Rank(0), RankSum { events: 3, time: Nanos(100) }));
    }

    #[test]
    fn merged_sites_have_the_sums_of_each_rank() {
        let mut stats = CallStats::default();
        stats.add(Rank(1), 2, Some(Bytes(8)), &durations(&[10, 30]));
        let mut other = CallStats::default();
        other.add(Rank(0), 1, None, &durations(&[5]));
        other.add(Rank(1), 3, Some(Bytes(1)), &durations(&[60]));
        stats.merge(&other);
        let sum = |events, time| RankSum { events, time: Nanos(time) };
        assert_eq!(stats.ranks, [(Rank(0), sum(1, 5)), (Rank(1), sum(3, 100))]);
        assert_eq!((stats.calls, stats.events(), stats.time), (6, 4, Nanos(105)));
        assert_eq!((stats.bytes, stats.durations.max()), (Some(Bytes(9)), Nanos(60)));
    }

    proptest! {
        #[test]
        fn quantiles_are_within_the_stated_error(
            mut values in prop::collection::vec(prop_oneof![0..200_u64, any::<u64>()], 1..100),
            part in 0.0..=1.0_f64,
        ) {
            let found = durations(&values).quantile(part).unwrap().0;
            values.sort_unstable();
            let place = ((values.len() as f64 * part).ceil() as usize).clamp(1, values.len());
            let truth = values[place - 1];
            prop_assert!(found.abs_diff(truth) as f64 <= truth as f64 * Durations::RELATIVE_ERROR);
        }

        #[test]
        fn merging_equals_counting_together(
            a in prop::collection::vec(any::<u64>(), 0..30),
            b in prop::collection::vec(0..5000_u64, 0..30),
        ) {
            let mut merged = durations(&a);
            merged.merge(&durations(&b));
            let together = durations(&[a, b].concat());
            prop_assert_eq!(merged.quantile(0.3), together.quantile(0.3));
            prop_assert_eq!((merged.count, merged.sum, merged.min, merged.max),
                (together.count, together.sum, together.min, together.max));
        }
    }
}

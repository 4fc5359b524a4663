//! Durations over time in a bounded number of groups.
//!
//! Owns [`History`]: each duration as long as there is room, then groups of neighbours. Each time
//! that the room is used up, some of the oldest groups are joined in pairs, so that three quarters
//! of the room stay in use, and older groups have at most twice as many durations as later ones.
//! Count, sum, minimum and maximum of every group are exact.

use serde::{Deserialize, Serialize};
use talea_model::Nanos;

/// Neighbouring durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Begin of the first one.
    pub begin: Nanos,
    /// Number of durations, at least 1.
    pub count: u64,
    /// Sum of them.
    pub sum: Nanos,
    /// Minimum.
    pub min: Nanos,
    /// Maximum.
    pub max: Nanos,
}

impl Group {
    fn new(begin: Nanos, duration: Nanos) -> Self {
        Self { begin, count: 1, sum: duration, min: duration, max: duration }
    }

    /// Adds later durations.
    pub fn add(&mut self, later: &Self) {
        self.count = self.count.saturating_add(later.count);
        self.sum += later.sum;
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
    }

    /// Mean duration.
    pub fn mean(&self) -> Nanos {
        Nanos(self.sum.0 / self.count.max(1))
    }
}

/// Durations in the order of time, in at most a given number of groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    most: usize,
    /// Number of durations in each group but the last, a power of two.
    stride: u64,
    /// Number of the first groups, which have twice as many.
    joined: usize,
    groups: Vec<Group>,
}

impl History {
    /// Without durations; keeps at most this many groups, at least two.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(2), stride: 1, joined: 0, groups: Vec::new() }
    }

    /// Adds the next duration.
    pub fn push(&mut self, begin: Nanos, duration: Nanos) {
        let one = Group::new(begin, duration);
        if let Some(last) = self.groups.last_mut().filter(|last| last.count < self.stride) {
            last.add(&one);
            return;
        }
        if self.groups.len() == self.most {
            self.join();
            // The last group may have room again.
            return self.push(begin, duration);
        }
        self.groups.push(one);
    }

    /// Joins pairs of the oldest groups that were not joined yet.
    fn join(&mut self) {
        let rest = self.groups.split_off(self.joined);
        let pairs = (self.most / 4).max(1);
        let (old, new) = rest.split_at(rest.len().min(2 * pairs));
        self.groups.extend(old.chunks(2).map(|pair| {
            let mut first = pair[0];
            pair[1..].iter().for_each(|second| first.add(second));
            first
        }));
        self.joined = self.groups.len();
        self.groups.extend(new);
        if new.is_empty() {
            (self.stride, self.joined) = (self.stride.saturating_mul(2), 0);
        }
    }

    /// Groups in the order of time.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Number of durations.
    pub fn count(&self) -> u64 {
        self.groups.iter().fold(0, |sum: u64, group| sum.saturating_add(group.count))
    }

    /// All durations as one group.
    pub fn total(&self) -> Option<Group> {
        let (first, later) = self.groups.split_first()?;
        let mut total = *first;
        for group in later {
            total.add(group);
        }
        Some(total)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_stay_single_as_long_as_there_is_room() {
        let mut history = History::new(4);
        for at in 0..4 {
            history.push(Nanos(10 * at), Nanos(at + 1));
        }
        assert_eq!(history.groups().len(), 4);
        history.push(Nanos(40), Nanos(5));
        let groups: Vec<_> = history.groups().iter().map(|one| (one.begin.0, one.count)).collect();
        assert_eq!(groups, [(0, 2), (20, 1), (30, 1), (40, 1)]);
        assert_eq!(history.groups()[0].mean(), Nanos(1));
    }

    #[test]
    fn three_quarters_of_the_room_stay_in_use() {
        for most in [4, 64, 1024] {
            let mut history = History::new(most);
            for at in 0..100_000 {
                history.push(Nanos(at), Nanos(1));
                let (groups, least) = (history.groups().len(), most * 3 / 4);
                assert!(groups <= most && groups >= least.min(at as usize + 1), "{groups}");
                // But for the last one.
                let counts = history.groups()[..groups - 1].iter().map(|one| one.count);
                let (most, least) = (counts.clone().max(), counts.min());
                assert!(most <= least.map(|least| 2 * least), "{most:?} {least:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn counts_and_sums_are_exact(
            most in 0_usize..9, durations in proptest::collection::vec(0_u64..1000, 0..300),
        ) {
            let mut history = History::new(most);
            for (&duration, at) in durations.iter().zip(0..) {
                history.push(Nanos(at), Nanos(duration));
            }
            prop_assert!(history.groups().len() <= most.max(2));
            prop_assert_eq!(history.count(), durations.len() as u64);
            let mut left = &durations[..];
            for group in history.groups() {
                let (own, later) = left.split_at(group.count as usize);
                prop_assert_eq!(group.begin.0 as usize, durations.len() - left.len());
                prop_assert_eq!(group.sum.0, own.iter().sum::<u64>());
                prop_assert_eq!(Some(group.min.0), own.iter().min().copied());
                prop_assert_eq!(Some(group.max.0), own.iter().max().copied());
                left = later;
            }
            let all = (!durations.is_empty()).then(|| durations.iter().sum::<u64>());
            prop_assert_eq!(history.total().map(|all| all.sum.0), all);
        }
    }
}

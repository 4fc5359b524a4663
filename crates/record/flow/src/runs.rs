//! A short sequence of values as runs of equal values, such as the trips of a loop.
//!
//! Owns their order and canonical form: neighbours differ. Streams of calls, which may be long, are
//! [`crate::cycles`]'.

use serde::{Deserialize, Serialize};

/// A sequence of values held as (value, number of repetitions).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Runs<T>(Vec<(T, u64)>);

impl<T: PartialEq + Copy> Runs<T> {
    /// An empty sequence.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Appends `value` `count` times.
    pub fn push(&mut self, value: T, count: u64) {
        match self.0.last_mut() {
            _ if count == 0 => {}
            Some((last, run)) if *last == value => *run = run.saturating_add(count),
            _ => self.0.push((value, count)),
        }
    }

    /// Number of values.
    pub fn len(&self) -> u64 {
        self.0.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count))
    }

    /// True without any value.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every value in order.
    pub fn values(&self) -> impl Iterator<Item = T> + '_ {
        self.0.iter().flat_map(|&(value, count)| (0..count).map(move |_| value))
    }

    /// The runs, each different from its neighbours.
    pub fn runs(&self) -> &[(T, u64)] {
        &self.0
    }
}

impl<T> Default for Runs<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: PartialEq + Copy> FromIterator<T> for Runs<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut runs = Self::new();
        values.into_iter().for_each(|value| runs.push(value, 1));
        runs
    }
}

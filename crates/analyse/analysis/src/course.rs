//! Iterations of a thread's main loop over the run.
//!
//! Owns the bound of what is kept of them, [`MAX_KEPT`]: each with its times, or groups of
//! neighbours with the sum, minimum and maximum of their durations, and each outlier.

mod packed;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use talea_flow::iterations::Iteration;
use talea_model::Nanos;
use talea_run::recording::Thread;

/// Maximum number of iterations, or groups of them, that are kept of all threads of a run: some 256
/// MB.
pub(super) const MAX_KEPT: u64 = 8_000_000;

/// Maximum number for a thread: its part of `kept` by its events, so that runs with fewer events
/// than that keep each iteration.
pub(super) fn max_of_thread(kept: u64, thread_events: u64, events: u64) -> usize {
    let part = u128::from(kept) * u128::from(thread_events) / u128::from(events.max(1));
    usize::try_from(part).unwrap_or(usize::MAX).max(1)
}

/// Iterations of a thread's main loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Course {
    /// Each of them.
    Each(#[serde(with = "packed::each")] Arc<[Iteration]>),
    /// Groups of them.
    Grouped(Grouped),
}

/// Iterations in groups of neighbours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grouped {
    /// Number of iterations.
    count: usize,
    /// Number of iterations in a group, a power of two; the last group may have fewer.
    stride: usize,
    #[serde(with = "packed::groups")]
    groups: Vec<Group>,
    /// Outliers in order, with their durations.
    outliers: Vec<(usize, Nanos)>,
}

/// Neighbouring iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Begin of the first one.
    pub begin: Nanos,
    /// Sum of their durations.
    pub sum: Nanos,
    /// Minimum duration.
    pub min: Nanos,
    /// Maximum duration.
    pub max: Nanos,
}

impl Default for Course {
    fn default() -> Self {
        Self::Each(Arc::default())
    }
}

impl Course {
    /// Keeps each of up to `max` iterations, or at most `max` groups of more. `outliers` are places
    /// of iterations.
    pub(super) fn new(all: &[Iteration], outliers: &[usize], max: usize) -> Self {
        let stride = all.len().div_ceil(max.max(1)).next_power_of_two();
        if stride == 1 {
            return Self::Each(all.into());
        }
        let mut outliers: Vec<(usize, Nanos)> =
            outliers.iter().map(|&at| (at, all[at].duration)).collect();
        outliers.sort_unstable();
        let groups = all.chunks(stride).map(Group::new).collect();
        Self::Grouped(Grouped { count: all.len(), stride, groups, outliers })
    }

    /// Number of iterations.
    pub fn len(&self) -> usize {
        match self {
            Self::Each(all) => all.len(),
            Self::Grouped(grouped) => grouped.count,
        }
    }

    /// True without iterations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of iterations in a group: 1, or another power of two.
    pub fn stride(&self) -> usize {
        match self {
            Self::Each(_) => 1,
            Self::Grouped(grouped) => grouped.stride,
        }
    }

    /// Sum of all durations.
    pub fn sum(&self) -> Nanos {
        match self {
            Self::Each(all) => all.iter().map(|one| one.duration).sum(),
            Self::Grouped(grouped) => grouped.groups.iter().map(|group| group.sum).sum(),
        }
    }

    /// Duration of an iteration, if that is kept.
    pub fn duration(&self, iteration: usize) -> Option<Nanos> {
        match self {
            Self::Each(all) => all.get(iteration).map(|one| one.duration),
            Self::Grouped(Grouped { outliers, .. }) => {
                let place = outliers.binary_search_by_key(&iteration, |one| one.0).ok()?;
                Some(outliers[place].1)
            }
        }
    }

    /// Groups of these iterations with their lengths. `range` begins with a group, and ends with
    /// one or after the last iteration.
    pub fn groups(&self, range: Range<usize>) -> impl Iterator<Item = (Group, usize)> {
        let (stride, end) = (self.stride(), range.end.min(self.len()));
        debug_assert!(range.start.is_multiple_of(stride));
        (range.start..end).step_by(stride).filter_map(move |at| {
            let group = match self {
                Self::Each(all) => Group::new(all.get(at..=at)?),
                Self::Grouped(grouped) => *grouped.groups.get(at / stride)?,
            };
            Some((group, stride.min(end - at)))
        })
    }

    /// True if this can be the course of a thread; files may hold anything.
    pub(super) fn fits(&self, thread: &Thread) -> bool {
        let events = thread.log.events;
        match self {
            Self::Each(all) => all.iter().all(|one| one.events.end as u64 <= events),
            Self::Grouped(Grouped { count, stride, groups, outliers }) => {
                *count as u64 <= events
                    && stride.is_power_of_two()
                    && groups.len() == count.div_ceil(*stride)
                    && groups.iter().all(|group| group.min <= group.max && group.max <= group.sum)
                    && outliers.is_sorted()
                    && outliers.last().is_none_or(|one| one.0 < *count)
            }
        }
    }
}

impl Group {
    fn new(all: &[Iteration]) -> Self {
        let durations = || all.iter().map(|one| one.duration);
        Self {
            begin: all.first().map_or(Nanos(0), |one| one.begin),
            sum: durations().sum(),
            min: durations().min().unwrap_or_default(),
            max: durations().max().unwrap_or_default(),
        }
    }
}

//! Streams of a bundle while it is read: decoded once each, within limits.
//!
//! Owns the count of a bundle's claims. Equal ranks share their bytes and the memory of their
//! decoded form, which is counted once; columns of peers are each rank's own.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::Hash;

use talea_flow::codec::DecodeError;
use talea_flow::codec::sequence::{self, Bounds};
use talea_flow::cycles::{Cycles, Value};

use super::{Bundle, Graph};
use crate::limits::{Limits, MOST_EVENTS};

/// Memory of a node without its streams, in runs.
const NODE: u64 = 16;

/// Memory of a stream beside its runs, in runs: pointers, counts, and its place in a table.
const SHARED: u64 = 8;

/// A claim beyond the limits; the text follows the name of a thread.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("claims {0} calls, with those before it; expected at most {MOST_EVENTS}")]
    Events(u64),
    #[error("needs memory for more than {0} runs of calls; it is left out")]
    Runs(u64),
    #[error("unfolds to more than {0} runs of calls; it is left out")]
    Steps(u64),
}

/// A column of arguments: its stream, length and scale, and the meaning of its numbers. Columns
/// with equal keys have equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ColumnKey {
    pub(super) stream: u32,
    pub(super) length: u64,
    pub(super) base: i64,
    pub(super) step: u64,
    pub(super) meaning: Meaning,
}

/// Meaning of the numbers in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Meaning {
    /// They are values.
    Itself,
    /// Of the map of this number.
    Map(u32),
    /// Of the map of lists of datatypes of this number.
    Types(u32),
    /// Peers, relative to the own rank; not shared.
    OwnRank,
}

/// Streams that were decoded before.
struct Known<K, T>(RefCell<HashMap<K, Cycles<T>>>);

impl<K: Eq + Hash, T: Value> Known<K, T> {
    fn get_or_make(&self, key: K, make: impl FnOnce() -> Option<Cycles<T>>) -> Option<Cycles<T>> {
        if let Some(runs) = self.0.borrow().get(&key) {
            return Some(runs.clone());
        }
        let runs = make()?;
        self.0.borrow_mut().insert(key, runs.clone());
        Some(runs)
    }
}

impl<K, T> Default for Known<K, T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

/// The streams of a bundle.
pub(super) struct Decoded<'a> {
    bundle: &'a Bundle,
    streams: Known<(u32, u64), i64>,
    choices: Known<(u32, u64), u32>,
    polls: Known<(u32, u64), u64>,
    columns: Known<ColumnKey, i64>,
    limits: Limits,
    left: Cell<Bounds>,
    events: Cell<u64>,
    /// Reason for the last refusal, unless the data are damaged.
    pub(super) refusal: Cell<Option<Refusal>>,
}

impl<'a> Decoded<'a> {
    pub(super) fn new(bundle: &'a Bundle, limits: Limits) -> Self {
        Self {
            bundle,
            streams: Known::default(),
            choices: Known::default(),
            polls: Known::default(),
            columns: Known::default(),
            limits,
            left: Cell::new(limits.bounds()),
            events: Cell::new(0),
            refusal: Cell::new(None),
        }
    }

    /// Counts the nodes, columns and events of one more thread.
    pub(super) fn claim(&self, graph: &Graph, columns: usize) -> Option<()> {
        let visits = graph.nodes.iter().fold(0_u64, |sum, node| sum.saturating_add(node.visits));
        let events = self.events.get().saturating_add(visits.max(graph.events));
        if events > MOST_EVENTS {
            self.refusal.set(Some(Refusal::Events(events)));
            return None;
        }
        self.events.set(events);
        let successors: usize = graph.nodes.iter().map(|node| node.successors.len()).sum();
        // Columns that are shared are pointers, half as large as a run.
        self.spend(NODE * graph.nodes.len() as u64 + (successors + columns.div_ceil(2)) as u64)
    }

    /// A stream of `length` values.
    fn stream(&self, id: u32, length: u64) -> Option<Cycles<i64>> {
        self.streams.get_or_make((id, length), || {
            let mut left = self.left.get();
            let read = sequence::decode_all(self.bundle.streams.get(id)?, length, &mut left);
            // Unreadable streams take time, too.
            self.left.set(left);
            if read == Err(DecodeError::TooLong) {
                self.refusal.set(Some(match left.steps {
                    0 => Refusal::Steps(self.limits.steps),
                    _ => Refusal::Runs(self.limits.runs),
                }));
            }
            read.ok()
        })
    }

    /// The choices of a node.
    pub(super) fn choices(&self, stream: u32, length: u64) -> Option<Cycles<u32>> {
        self.choices.get_or_make((stream, length), || {
            self.mapped(&self.stream(stream, length)?, |one| u32::try_from(one).unwrap_or(u32::MAX))
        })
    }

    /// The polls of a node.
    pub(super) fn polls(&self, stream: u32, length: u64) -> Option<Cycles<u64>> {
        self.polls.get_or_make((stream, length), || {
            let meaning = |one| u64::try_from(one).unwrap_or(0).min(MOST_EVENTS);
            self.mapped(&self.stream(stream, length)?, meaning)
        })
    }

    /// A column of arguments, whose numbers become values by `meaning`.
    pub(super) fn column(
        &self,
        key: ColumnKey,
        meaning: impl Fn(i64) -> i64,
    ) -> Option<Cycles<i64>> {
        let ColumnKey { stream, length, base, step, .. } = key;
        let column = || {
            let numbers = self.stream(stream, length)?;
            match (base, step, key.meaning) {
                (0, 1, Meaning::Itself) => Some(numbers),
                (0, 1, _) => self.mapped(&numbers, meaning),
                _ => self.mapped(&numbers, |one| meaning(sequence::unscaled(one, base, step))),
            }
        };
        if key.meaning == Meaning::OwnRank {
            column()
        } else {
            self.columns.get_or_make(key, column)
        }
    }

    /// A stream with other values.
    fn mapped<T: Value>(
        &self,
        runs: &Cycles<i64>,
        meaning: impl Fn(i64) -> T,
    ) -> Option<Cycles<T>> {
        self.spend(runs.kept() + SHARED)?;
        let mut left = self.left.get();
        let Some(steps) = left.steps.checked_sub(runs.visited()) else {
            self.refusal.set(Some(Refusal::Steps(self.limits.steps)));
            return None;
        };
        left.steps = steps;
        self.left.set(left);
        Some(runs.map(meaning))
    }

    /// Counts memory that is kept.
    fn spend(&self, runs: u64) -> Option<()> {
        let mut left = self.left.get();
        let Some(rest) = left.runs.checked_sub(runs) else {
            self.refusal.set(Some(Refusal::Runs(self.limits.runs)));
            return None;
        };
        left.runs = rest;
        self.left.set(left);
        Some(())
    }
}

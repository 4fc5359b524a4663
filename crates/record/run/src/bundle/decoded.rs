//! Streams of a bundle while it is read: decoded once each, within limits.
//!
//! Owns the count of a bundle's claims. Equal ranks share their bytes, but not the memory of their
//! decoded form, so that everything that is kept is counted, each time.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use talea_flow::codec::{DecodeError, sequence};
use talea_flow::log::Runs;

use super::{Bundle, Graph};
use crate::limits::{Limits, MOST_EVENTS};

/// Memory of a node without its streams, in runs.
const NODE: u64 = 16;

/// A claim beyond the limits; the text follows the name of a thread.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("claims {0} calls, with those before it; expected at most {MOST_EVENTS}")]
    Events(u64),
    #[error("unfolds to more runs of calls than the {0} that are read at most")]
    Runs(u64),
}

/// Streams by number and length.
type Cache = HashMap<(u32, u64), Rc<Runs<i64>>>;

/// The streams of a bundle.
pub(super) struct Decoded<'a> {
    bundle: &'a Bundle,
    cache: RefCell<Cache>,
    limits: Limits,
    runs_left: Cell<u64>,
    events: Cell<u64>,
    /// Reason for the last refusal, unless the data are damaged.
    pub(super) refusal: Cell<Option<Refusal>>,
}

impl<'a> Decoded<'a> {
    pub(super) fn new(bundle: &'a Bundle, limits: Limits) -> Self {
        Self {
            bundle,
            cache: RefCell::default(),
            limits,
            runs_left: Cell::new(limits.runs),
            events: Cell::new(0),
            refusal: Cell::new(None),
        }
    }

    /// Counts the nodes and events of one more thread.
    pub(super) fn claim(&self, graph: &Graph) -> Option<()> {
        let visits = graph.nodes.iter().fold(0_u64, |sum, node| sum.saturating_add(node.visits));
        let events = self.events.get().saturating_add(visits.max(graph.events));
        if events > MOST_EVENTS {
            self.refusal.set(Some(Refusal::Events(events)));
            return None;
        }
        self.events.set(events);
        let successors: usize = graph.nodes.iter().map(|node| node.successors.len()).sum();
        self.spend(NODE * graph.nodes.len() as u64 + successors as u64)
    }

    /// A stream of `length` values.
    pub(super) fn stream(&self, id: u32, length: u64) -> Option<Rc<Runs<i64>>> {
        if let Some(runs) = self.cache.borrow().get(&(id, length)) {
            return Some(Rc::clone(runs));
        }
        let mut left = self.runs_left.get();
        let read = sequence::decode_all(self.bundle.streams.get(id)?, length, &mut left);
        // Unreadable streams take time, too.
        self.runs_left.set(left);
        if read == Err(DecodeError::TooLong) {
            self.refusal.set(Some(Refusal::Runs(self.limits.runs)));
        }
        let runs = Rc::new(read.ok()?);
        self.cache.borrow_mut().insert((id, length), Rc::clone(&runs));
        Some(runs)
    }

    /// A stream with other values.
    pub(super) fn mapped<T: Copy + PartialEq>(
        &self,
        runs: &Runs<i64>,
        mut meaning: impl FnMut(i64) -> T,
    ) -> Option<Runs<T>> {
        self.spend(runs.runs().len() as u64 + 1)?;
        let mut out = Runs::new();
        for &(value, count) in runs.runs() {
            out.push(meaning(value), count);
        }
        Some(out)
    }

    /// A stream of numbers with the values of `map` in their place.
    pub(super) fn renumbered(&self, runs: &Runs<i64>, map: &[i64]) -> Option<Runs<i64>> {
        let meaning = |v| usize::try_from(v).ok().and_then(|v| map.get(v)).copied().unwrap_or(v);
        self.mapped(runs, meaning)
    }

    fn spend(&self, runs: u64) -> Option<()> {
        let Some(left) = self.runs_left.get().checked_sub(runs) else {
            self.refusal.set(Some(Refusal::Runs(self.limits.runs)));
            return None;
        };
        self.runs_left.set(left);
        Some(())
    }
}

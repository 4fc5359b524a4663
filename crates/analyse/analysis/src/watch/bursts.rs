//! The computation of a watched thread between its calls.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use talea_cluster::bins::Bins;
use talea_model::{Nanos, NodeId};

/// Number of bursts that are kept in order.
const RECENT: usize = 2048;
/// Maximum number of bins.
const MAX_BINS: usize = 1 << 14;

/// Bursts of a thread: all in bins, and the last ones in order.
#[derive(Debug)]
pub(super) struct ThreadBursts {
    /// Node and end of the event before, if known.
    last: Option<(NodeId, Nanos)>,
    numbers: HashMap<(NodeId, NodeId), u32, FixedState>,
    /// The nodes at both ends of each edge, by its number.
    edges: Vec<(NodeId, NodeId)>,
    bins: Bins,
    recent: VecDeque<(u32, u64)>,
    /// Shorter bursts are not kept in order, in nanoseconds.
    floor: u64,
    count: u64,
}

impl Default for ThreadBursts {
    fn default() -> Self {
        Self {
            last: None,
            numbers: HashMap::default(),
            edges: Vec::new(),
            bins: Bins::new(MAX_BINS),
            recent: VecDeque::new(),
            floor: 0,
            count: 0,
        }
    }
}

impl ThreadBursts {
    /// Adds the burst before an event.
    pub(super) fn event(&mut self, node: NodeId, begin: Nanos, end: Nanos) {
        if let Some((from, last)) = self.last.replace((node, end)) {
            let next = self.edges.len() as u32;
            let edge = *self.numbers.entry((from, node)).or_insert(next);
            if edge == next {
                self.edges.push((from, node));
            }
            let nanos = (begin - last).0;
            self.bins.burst(edge, nanos);
            self.count += 1;
            if nanos >= self.floor {
                if self.recent.len() == RECENT {
                    self.recent.pop_front();
                }
                self.recent.push_back((edge, nanos));
            }
        }
    }

    /// The next event follows others whose times are unknown.
    pub(super) fn forget_previous(&mut self) {
        self.last = None;
    }

    /// The nodes at both ends of each edge, by its number.
    pub(super) fn edges(&self) -> &[(NodeId, NodeId)] {
        &self.edges
    }

    /// All bursts, by the numbers of edges.
    pub(super) fn bins(&self) -> &Bins {
        &self.bins
    }

    /// Number of all bursts.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// From now on bursts below `nanos` are not kept in order: they are no points of clusters.
    pub(super) fn set_floor(&mut self, nanos: u64) {
        self.floor = nanos;
    }

    /// Edge and nanoseconds of the last bursts, in order.
    pub(super) fn recent(&self) -> impl DoubleEndedIterator<Item = (u32, u64)> {
        self.recent.iter().copied()
    }
}

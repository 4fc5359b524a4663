//! The plain form of a recording, common to recorder, packed file and analysis.
//!
//! Owns a thread's nodes with their streams as runs of equal values, and the walk that turns them
//! back into the sequence of calls. One entry per visit in each stream; visits count from 0. It
//! knows nothing of bytes: the recorder's memory, and the packed file, are read into this.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use talea_model::{NodeId, Signature};

/// A sequence of values held as (value, number of repetitions). Copies share their memory, so that
/// ranks with equal streams hold one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Runs<T>(
    /// Absent without values.
    Option<Arc<Vec<(T, u64)>>>,
);

impl<T: PartialEq + Copy> Runs<T> {
    /// An empty sequence.
    pub const fn new() -> Self {
        Self(None)
    }

    /// From runs; neighbours of equal value become one.
    pub fn from_runs(runs: impl IntoIterator<Item = (T, u64)>) -> Self {
        let mut all = RunsBuilder::new();
        for (value, count) in runs {
            all.push(value, count);
        }
        all.into()
    }

    /// Appends `value` `count` times. Copies shared memory first: [`RunsBuilder`] is for many
    /// values.
    pub fn push(&mut self, value: T, count: u64) {
        if count > 0 {
            append(Arc::make_mut(self.0.get_or_insert_default()), value, count);
        }
    }

    /// Removes the last value.
    pub fn pop(&mut self) -> Option<T> {
        let runs = Arc::make_mut(self.0.as_mut()?);
        let (value, count) = runs.last_mut()?;
        let value = *value;
        *count -= 1;
        if *count == 0 {
            runs.pop();
        }
        if runs.is_empty() {
            self.0 = None;
        }
        Some(value)
    }

    /// Number of values.
    pub fn len(&self) -> u64 {
        self.runs().iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count))
    }

    /// True without any value.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The place of the value after `passed` others: its run, and the values of the run before it.
    pub fn position(&self, passed: u64) -> (usize, u64) {
        let mut left = passed;
        for (run, &(_, count)) in self.runs().iter().enumerate() {
            if left < count {
                return (run, left);
            }
            left -= count;
        }
        (self.runs().len(), 0)
    }

    /// Every value in order.
    pub fn values(&self) -> impl Iterator<Item = T> + '_ {
        self.runs().iter().flat_map(|&(value, count)| (0..count).map(move |_| value))
    }
}

impl<T> Runs<T> {
    /// The runs, each different from its neighbours.
    pub fn runs(&self) -> &[(T, u64)] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }
}

impl<T> Default for Runs<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Serialize> Serialize for Runs<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.runs().serialize(to)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Runs<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Vec::deserialize(from).map(|runs| RunsBuilder(runs).into())
    }
}

/// Values that become [`Runs`].
#[derive(Clone, Debug)]
pub struct RunsBuilder<T>(Vec<(T, u64)>);

impl<T: PartialEq> RunsBuilder<T> {
    /// Without values.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Appends `value` `count` times.
    #[inline]
    pub fn push(&mut self, value: T, count: u64) {
        if count > 0 {
            append(&mut self.0, value, count);
        }
    }

    /// True without any value.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: PartialEq> Default for RunsBuilder<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<RunsBuilder<T>> for Runs<T> {
    fn from(mut all: RunsBuilder<T>) -> Self {
        all.0.shrink_to_fit();
        Self((!all.0.is_empty()).then(|| Arc::new(all.0)))
    }
}

#[inline]
fn append<T: PartialEq>(runs: &mut Vec<(T, u64)>, value: T, count: u64) {
    match runs.last_mut() {
        Some((last, run)) if *last == value => *run = run.saturating_add(count),
        _ => runs.push((value, count)),
    }
}

impl<T: PartialEq + Copy> FromIterator<T> for Runs<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::from_runs(values.into_iter().map(|value| (value, 1)))
    }
}

/// One node of a thread's temporal event flow graph with the streams beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLog {
    /// The common signature of its visits.
    pub signature: Signature,
    /// Number of visits.
    pub visits: u64,
    /// The successors, in the order of first use.
    pub successors: Vec<NodeId>,
    /// After each visit, the index of the next node in `successors`. The last event of the thread
    /// has no successor, so that its node has one choice fewer than visits.
    pub choices: Runs<u32>,
    /// One stream for each recorded argument of the procedure, in its order; a value per visit.
    pub columns: Vec<Runs<i64>>,
    /// Number of calls per visit: 1, or more where unsuccessful polls in a row are one event.
    pub polls: Runs<u64>,
}

/// Recording of one thread, without its times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadLog {
    /// Nodes in the order of first visit: the walk begins at node 0.
    pub nodes: Vec<NodeLog>,
    /// Number of events.
    pub events: u64,
}

impl ThreadLog {
    /// The node of every event in order.
    ///
    /// Stops early, without a panic, where the streams contradict each other.
    pub fn walk(&self) -> Walk<'_> {
        Walk {
            log: self,
            at: vec![(0, 0); self.nodes.len()],
            edges: self
                .nodes
                .iter()
                .scan(0_u32, |sum, node| {
                    let first = *sum;
                    *sum = sum.saturating_add(node.successors.len() as u32);
                    Some(first)
                })
                .collect(),
            edge: None,
            next: (self.events > 0 && !self.nodes.is_empty()).then_some(0),
            left: self.events,
        }
    }
}

impl ThreadLog {
    /// The walk from the event after a visit of `last`, where each node had been visited as often
    /// as `visits` says.
    ///
    /// `None` where the streams contradict that.
    pub fn walk_after(&self, last: NodeId, visits: &[u64]) -> Option<Walk<'_>> {
        let passed = visits.iter().try_fold(0_u64, |sum, &visits| sum.checked_add(visits))?;
        let mut walk = self.walk();
        walk.left = self.events.checked_sub(passed).filter(|&left| left > 0)?;
        for ((at, node), &visits) in walk.at.iter_mut().zip(&self.nodes).zip(visits) {
            *at = node.choices.position(visits);
        }
        let node = self.nodes.get(last.0 as usize)?;
        let (run, _) = node.choices.position(visits.get(last.0 as usize)?.checked_sub(1)?);
        let &(choice, _) = node.choices.runs().get(run)?;
        let next = node.successors.get(choice as usize)?.0;
        walk.edge = Some(walk.edges[last.0 as usize].saturating_add(choice));
        walk.next = ((next as usize) < self.nodes.len()).then_some(next);
        Some(walk)
    }
}

/// The walk through a thread's graph; see [`ThreadLog::walk`].
#[derive(Debug)]
pub struct Walk<'a> {
    log: &'a ThreadLog,
    /// For each node the current run of its choices, and the used part of it.
    at: Vec<(usize, u64)>,
    /// For each node the number of its first edge.
    edges: Vec<u32>,
    /// The edge that leads to `next`.
    edge: Option<u32>,
    next: Option<u32>,
    left: u64,
}

impl Walk<'_> {
    /// The next event's node, and the number of the edge to it (`None` for the first event). Edges
    /// count through all nodes and their successors.
    pub fn next_step(&mut self) -> Option<(NodeId, Option<u32>)> {
        let edge = self.edge;
        let node = self.next()?;
        Some((node, edge))
    }
}

impl Iterator for Walk<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        let current = self.next?;
        self.left -= 1;
        if self.left == 0 {
            self.next = None;
            return Some(NodeId(current));
        }
        let node = &self.log.nodes[current as usize];
        let (run, used) = &mut self.at[current as usize];
        self.next = node.choices.runs().get(*run).and_then(|&(choice, count)| {
            *used += 1;
            if *used == count {
                *run += 1;
                *used = 0;
            }
            let next = node.successors.get(choice as usize)?.0;
            self.edge = Some(self.edges[current as usize].saturating_add(choice));
            ((next as usize) < self.log.nodes.len()).then_some(next)
        });
        Some(NodeId(current))
    }
}

#[cfg(test)]
mod tests {
    use talea_model::{PathId, ProcedureId};

    use super::*;

    #[test]
    fn walk_restores_a_nested_loop() {
        // init, then twice (a three times, b), then end.
        let sequence = [0, 1, 1, 1, 2, 1, 1, 1, 2, 3];
        let node = |visits, successors: &[u32], choices: &[u32]| NodeLog {
            signature: Signature { procedure: ProcedureId(0), path: PathId(0) },
            visits,
            successors: successors.iter().map(|&n| NodeId(n)).collect(),
            choices: choices.iter().copied().collect(),
            columns: Vec::new(),
            polls: Runs::new(),
        };
        let log = ThreadLog {
            nodes: vec![
                node(1, &[1], &[0]),
                node(6, &[1, 2], &[0, 0, 1, 0, 0, 1]),
                node(2, &[1, 3], &[0, 1]),
                node(1, &[], &[]),
            ],
            events: 10,
        };
        assert_eq!(log.walk().map(|n| n.0).collect::<Vec<_>>(), sequence);
        let (mut whole, mut visits) = (log.walk(), vec![0; 4]);
        for passed in 1..sequence.len() {
            let (last, _) = whole.next_step().unwrap();
            visits[last.0 as usize] += 1;
            let mut rest = log.walk_after(last, &visits).unwrap();
            let steps: Vec<_> = std::iter::from_fn(|| rest.next_step()).collect();
            let mut again = log.walk();
            let expected: Vec<_> = std::iter::from_fn(|| again.next_step()).skip(passed).collect();
            assert_eq!(steps, expected);
        }
        visits[3] += 1;
        assert!(log.walk_after(NodeId(3), &visits).is_none());
        assert!(log.walk_after(NodeId(9), &[u64::MAX; 4]).is_none());
    }
}

//! The plain form of a recording, common to recorder, packed file and analysis.
//!
//! Owns a thread's nodes with their streams, and the walk that turns them
//! back into the sequence of calls. One entry per visit in each stream; visits count from 0. It
//! knows nothing of bytes: the recorder's memory, and the packed file, are read into this.

use talea_model::{NodeId, Signature};

use crate::cycles::{self, Cycles};

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
    pub choices: Cycles<u32>,
    /// One stream for each recorded argument of the procedure, in its order; a value per visit.
    pub columns: Vec<Cycles<i64>>,
    /// Number of calls per visit: 1, or more where unsuccessful polls in a row are one event.
    pub polls: Cycles<u64>,
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
            at: self.nodes.iter().map(|node| Choices::new(node.choices.runs())).collect(),
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
            let (mut rest, used) = node.choices.position(visits);
            let (choice, count) = rest.next().unwrap_or_default();
            *at = Choices { choice, left: count.saturating_sub(used), rest };
        }
        let node = self.nodes.get(last.0 as usize)?;
        let visit = visits.get(last.0 as usize)?.checked_sub(1)?;
        let (choice, _) = node.choices.position(visit).0.next()?;
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
    /// For each node its next choices.
    at: Vec<Choices<'a>>,
    /// For each node the number of its first edge.
    edges: Vec<u32>,
    /// The edge that leads to `next`.
    edge: Option<u32>,
    next: Option<u32>,
    left: u64,
}

/// The choices of a node from a visit on.
#[derive(Debug)]
struct Choices<'a> {
    choice: u32,
    /// Visits left with this choice.
    left: u64,
    rest: cycles::Iter<'a, u32>,
}

impl<'a> Choices<'a> {
    const fn new(rest: cycles::Iter<'a, u32>) -> Self {
        Self { choice: 0, left: 0, rest }
    }

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.left == 0 {
            (self.choice, self.left) = self.rest.next()?;
        }
        self.left -= 1;
        Some(self.choice)
    }
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
        self.next = self.at[current as usize].next().and_then(|choice| {
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
            polls: Cycles::new(),
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

//! From a tree back to the sequence of its events.
//!
//! Owns the execution of a tree: the order of its leaves. It expands exact trees, and spreads times
//! over any tree, since a mixture keeps the number of events of each of its executions.

use talea_model::{Nanos, NodeId};

use super::{Guard, Kind, Tree};
use crate::runs::Runs;

impl Tree {
    /// The sequence of events; absent where a part of the tree is [`Kind::Mixed`].
    ///
    /// A tree that does not come from [`super::build`] gives some sequence, of at most as many
    /// events as it claims.
    pub fn expand(&self) -> Option<Vec<NodeId>> {
        if !self.is_exact() {
            return None;
        }
        let mut sequence = Vec::new();
        let mut run = Run::new(self);
        run.all(&mut |at| {
            if let &Kind::Leaf { node } = at.kind {
                sequence.push(node);
            }
        });
        Some(sequence)
    }

    /// Adds `durations`, one for each event in the order of the sequence, to the leaves of the
    /// events and to everything above them.
    pub fn add_times(&mut self, durations: impl IntoIterator<Item = Nanos>) {
        let mut run = Run::new(self);
        let mut times = vec![Nanos(0); run.nodes.len()];
        let mut durations = durations.into_iter();
        run.all(&mut |at| times[at.number] += durations.next().unwrap_or_default());
        let mut times = times.into_iter();
        self.sum_times(&mut times);
    }

    /// The events of each iteration of one loop, in the order of the sequence: first event and the
    /// one after the last.
    ///
    /// `number` is the loop's place in [`Tree::visit`]'s order, which has parents first; without a
    /// loop there, the list is empty.
    pub fn iterations(&self, number: usize) -> Vec<std::ops::Range<u64>> {
        let mut run = Run::new(self);
        run.watched = Some(number);
        run.all(&mut |_| {});
        run.ranges
    }

    fn sum_times(&mut self, own: &mut impl Iterator<Item = Nanos>) -> Nanos {
        let mut sum = own.next().unwrap_or_default();
        for child in &mut self.children {
            sum += child.sum_times(own);
        }
        self.time += sum;
        sum
    }
}

/// An event's place in the tree.
struct At<'a> {
    /// Number of its tree node, parents first.
    number: usize,
    kind: &'a Kind,
}

/// A node of the tree during the run.
struct Node<'a> {
    tree: &'a Tree,
    children: Vec<usize>,
    /// Place in the runs of trips or lengths: the current run, and the used part of it.
    cursor: (usize, u64),
    /// Number of iterations of earlier executions.
    iterations: u64,
}

/// The current iteration of the innermost loop.
#[derive(Clone, Copy)]
pub(super) struct Iteration {
    pub(super) number: u64,
    pub(super) of: u64,
    /// Counted from the first iteration of the loop's first execution.
    pub(super) in_all: u64,
}

struct Run<'a> {
    nodes: Vec<Node<'a>>,
    /// Remaining number of events.
    left: u64,
    /// Remaining number of iterations; every honest one has an event on each level.
    patience: u64,
    /// The loop whose iterations are recorded.
    watched: Option<usize>,
    ranges: Vec<std::ops::Range<u64>>,
}

impl<'a> Run<'a> {
    fn new(tree: &'a Tree) -> Self {
        let mut nodes = Vec::new();
        let depth = add(tree, &mut nodes);
        let patience = tree.events.saturating_mul(depth);
        Self { nodes, left: tree.events, patience, watched: None, ranges: Vec::new() }
    }

    fn all(&mut self, f: &mut impl FnMut(At<'a>)) {
        self.node(0, Iteration { number: 0, of: 1, in_all: 0 }, f);
    }

    fn node(&mut self, number: usize, iteration: Iteration, f: &mut impl FnMut(At<'a>)) {
        let tree = self.nodes[number].tree;
        match &tree.kind {
            Kind::Leaf { .. } => self.event(number, 1, f),
            Kind::Mixed { lengths, .. } => {
                let length = next(lengths, &mut self.nodes[number].cursor);
                self.event(number, length, f);
            }
            Kind::Root | Kind::Sequence => self.children(number, iteration, f),
            Kind::Loop { trips } => {
                let of = next(trips, &mut self.nodes[number].cursor);
                let before = self.nodes[number].iterations;
                self.nodes[number].iterations = before.saturating_add(of);
                for at in 0..of {
                    if self.left == 0 || self.patience == 0 {
                        return;
                    }
                    self.patience -= 1;
                    let in_all = before.saturating_add(at);
                    let from = self.left;
                    self.children(number, Iteration { number: at, of, in_all }, f);
                    if self.watched == Some(number) {
                        let all = self.nodes[0].tree.events;
                        self.ranges.push(all - from..all - self.left);
                    }
                }
            }
        }
    }

    fn children(&mut self, number: usize, iteration: Iteration, f: &mut impl FnMut(At<'a>)) {
        for child in 0..self.nodes[number].children.len() {
            let child = self.nodes[number].children[child];
            if self.nodes[child].tree.guard.as_ref().is_none_or(|guard| holds(guard, iteration)) {
                self.node(child, iteration, f);
            }
        }
    }

    fn event(&mut self, number: usize, count: u64, f: &mut impl FnMut(At<'a>)) {
        let count = count.min(self.left);
        self.left -= count;
        for _ in 0..count {
            f(At { number, kind: &self.nodes[number].tree.kind });
        }
    }
}

/// Adds `tree` and all below it, parents first, and returns its depth.
fn add<'a>(tree: &'a Tree, nodes: &mut Vec<Node<'a>>) -> u64 {
    let number = nodes.len();
    nodes.push(Node { tree, children: Vec::new(), cursor: (0, 0), iterations: 0 });
    let mut depth = 0;
    for child in &tree.children {
        let place = nodes.len();
        nodes[number].children.push(place);
        depth = depth.max(add(child, nodes));
    }
    depth + 1
}

fn next(runs: &Runs<u64>, (run, used): &mut (usize, u64)) -> u64 {
    let Some(&(value, count)) = runs.runs().get(*run) else {
        return 0;
    };
    *used += 1;
    if *used >= count {
        *run += 1;
        *used = 0;
    }
    value
}

/// True if a part with this guard runs in an iteration.
pub(super) fn holds(guard: &Guard, at: Iteration) -> bool {
    match guard {
        Guard::Each { iterations } => iterations.contains(at.number),
        Guard::Whole { iterations, .. } => iterations.contains(at.in_all),
        Guard::NotLast => at.number + 1 < at.of,
        Guard::Last => at.number + 1 == at.of,
    }
}

//! Growth of a flow graph over time: what is new at successive looks at a program.
//!
//! Owns the measure of change, and the rule for a steady structure. A look finds some edges of the
//! graph for the first time; its change is the part of the time since the look before that was
//! spent on them. An edge's time goes from the end of a call to the end of the next one. Time says
//! more than numbers of nodes: programs with rare branches get new nodes as long as they run. A
//! structure is steady after three looks in a row with little change, until a look with more.
//!
//! Looks need only the events so far, so that a program can be followed while it runs. Growth of
//! several threads is merged in any order.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};
use talea_model::{Nanos, NodeId};

use crate::iterations::TimedEvent;

/// Most looks that are kept; later events belong to the last one.
pub const MOST_LOOKS: usize = 1 << 12;
/// Part of the time, in hundredths, that a look may find on new edges in a steady structure.
const LITTLE: u128 = 1;
/// Looks in a row with little change that make a structure steady.
pub const IN_A_ROW: usize = 3;

/// Events since the look before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Number of events that ended.
    pub events: u64,
    /// Time on their edges.
    pub time: Nanos,
    /// The part of `time` on edges that no earlier look found.
    pub new: Nanos,
}

impl Look {
    /// Adds the same look at another thread.
    pub fn add(&mut self, other: Self) {
        self.events = self.events.saturating_add(other.events);
        self.time = Nanos(self.time.0.saturating_add(other.time.0));
        self.new = Nanos(self.new.0.saturating_add(other.new.0));
    }

    /// Change: the part of the time on new edges; none without time.
    pub fn change(&self) -> Option<f64> {
        (self.time > Nanos(0)).then(|| self.new.0 as f64 / self.time.0 as f64)
    }

    /// True if that part is little enough for a steady structure.
    pub fn is_little(&self) -> bool {
        u128::from(self.new.0) * 100 <= u128::from(self.time.0) * LITTLE
    }
}

/// A time during which the structure was steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    /// Begin of the first look with little change.
    pub from: Nanos,
    /// End of the look that made it known.
    pub known: Nanos,
    /// End of the last look before the next change.
    pub until: Nanos,
}

/// Growth of the graphs of some threads, whose nodes have names that all threads share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth<N> {
    interval: Nanos,
    /// The first look at each node and edge.
    nodes: BTreeMap<N, usize>,
    edges: BTreeMap<(N, N), usize>,
    looks: Vec<Look>,
}

impl<N: Ord + Clone> Growth<N> {
    /// Of no thread, with a look after each interval, which is at least a nanosecond.
    pub fn new(interval: Nanos) -> Self {
        let interval = interval.max(Nanos(1));
        Self { interval, nodes: BTreeMap::new(), edges: BTreeMap::new(), looks: Vec::new() }
    }

    /// Adds other threads at looks after the same interval.
    pub fn merge(&mut self, other: &Self) {
        fn earliest<K: Ord + Clone>(own: &mut BTreeMap<K, usize>, other: &BTreeMap<K, usize>) {
            for (key, &look) in other {
                let first = own.entry(key.clone()).or_insert(look);
                *first = look.min(*first);
            }
        }
        earliest(&mut self.nodes, &other.nodes);
        earliest(&mut self.edges, &other.edges);
        self.looks.resize(self.looks.len().max(other.looks.len()), Look::default());
        for (own, other) in self.looks.iter_mut().zip(&other.looks) {
            own.add(*other);
        }
    }

    /// Looks in order; each ends an interval after the one before.
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// Numbers of nodes and edges that are known at each look.
    pub fn known(&self) -> Vec<(usize, usize)> {
        let mut known = vec![(0, 0); self.looks.len()];
        for &look in self.nodes.values() {
            known[look].0 += 1;
        }
        for &look in self.edges.values() {
            known[look].1 += 1;
        }
        let mut sum = (0, 0);
        for one in &mut known {
            sum = (sum.0 + one.0, sum.1 + one.1);
            *one = sum;
        }
        known
    }

    /// The time of a number of looks.
    pub fn end_of(&self, looks: usize) -> Nanos {
        Nanos(self.interval.0.saturating_mul(looks as u64))
    }

    /// Times during which the structure was steady, in order. Looks at which no event had ended
    /// neither confirm nor change it.
    pub fn steady(&self) -> Vec<Steady> {
        let mut found = Vec::new();
        // The first look with little change, how many there are, and the one that made it known.
        let mut streak: Option<(usize, usize, usize)> = None;
        let mut end = |streak: Option<(usize, usize, usize)>, until: usize| {
            let known = streak.filter(|&(_, looks, _)| looks >= IN_A_ROW);
            found.extend(known.map(|(first, _, known)| Steady {
                from: self.end_of(first),
                known: self.end_of(known + 1),
                until: self.end_of(until),
            }));
        };
        for (at, look) in self.looks.iter().enumerate().filter(|(_, look)| look.events > 0) {
            if look.is_little() {
                let (first, looks, known) = streak.unwrap_or((at, 0, at));
                let known = if looks < IN_A_ROW { at } else { known };
                streak = Some((first, looks + 1, known));
            } else {
                end(streak.take(), at);
            }
        }
        end(streak, self.looks.len());
        found
    }
}

/// Follows the events of one thread.
#[derive(Debug)]
pub struct Follower {
    interval: Nanos,
    /// The first look at each node and edge.
    nodes: Vec<Option<usize>>,
    edges: HashMap<(NodeId, NodeId), usize, RandomState>,
    looks: Vec<Look>,
    /// The event before: its node and end.
    before: Option<(NodeId, Nanos)>,
}

impl Follower {
    /// With a look after each interval, which is at least a nanosecond.
    pub fn new(interval: Nanos) -> Self {
        Self {
            interval: interval.max(Nanos(1)),
            nodes: Vec::new(),
            edges: HashMap::default(),
            looks: Vec::new(),
            before: None,
        }
    }

    /// Takes the next event by time.
    pub fn event(&mut self, event: &TimedEvent) {
        let look = (event.end.0 / self.interval.0).min(MOST_LOOKS as u64 - 1) as usize;
        // Clocks may be damaged: a look is never before the one of the event before.
        let look = look.max(self.looks.len().saturating_sub(1));
        self.looks.resize(look + 1, Look::default());
        let node = event.node.0 as usize;
        if node >= self.nodes.len() {
            self.nodes.resize(node + 1, None);
        }
        let first_of_node = *self.nodes[node].get_or_insert(look);
        let (first, since) = match self.before {
            Some((before, end)) => (*self.edges.entry((before, event.node)).or_insert(look), end),
            None => (first_of_node, event.begin),
        };
        let time = Nanos(event.end.0.saturating_sub(since.0));
        let new = if first == look { time } else { Nanos(0) };
        self.looks[look].add(Look { events: 1, time, new });
        self.before = Some((event.node, event.end));
    }

    /// The growth, with names of nodes.
    pub fn into_growth<N: Ord + Clone>(self, name: impl Fn(NodeId) -> N) -> Growth<N> {
        let mut growth = Growth::new(self.interval);
        growth.looks = self.looks;
        for (node, look) in (0..).zip(self.nodes) {
            if let Some(look) = look {
                let first = growth.nodes.entry(name(NodeId(node))).or_insert(look);
                *first = look.min(*first);
            }
        }
        for ((from, to), look) in self.edges {
            let first = growth.edges.entry((name(from), name(to))).or_insert(look);
            *first = look.min(*first);
        }
        growth
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::Graph;

    /// Events of ten nanoseconds each, one after the other.
    fn follow(nodes: impl IntoIterator<Item = u32>, interval: u64) -> Growth<u32> {
        let mut follower = Follower::new(Nanos(interval));
        for (node, at) in nodes.into_iter().zip(0..) {
            let [begin, end] = [10 * at, 10 * at + 9].map(Nanos);
            follower.event(&TimedEvent { node: NodeId(node), begin, end });
        }
        follower.into_growth(|node| node.0)
    }

    fn steady(growth: &Growth<u32>) -> Vec<(u64, u64, u64)> {
        growth.steady().iter().map(|one| (one.from.0, one.known.0, one.until.0)).collect()
    }

    #[test]
    fn a_loop_is_steady_after_three_looks() {
        // Set-up of 20 calls in two looks; the loop begins at 200 ns.
        let growth = follow((0..20).chain((0..600).map(|at| 20 + at % 4)), 100);
        assert_eq!(steady(&growth), [(300, 600, 6200)]);
        assert_eq!(growth.known().last(), Some(&(24, 24)));
        assert_eq!(growth.looks()[0], Look { events: 10, time: Nanos(99), new: Nanos(99) });
        assert_eq!(growth.looks()[2].change(), Some(1.0));
        assert_eq!(growth.looks()[3].change(), Some(0.0));
    }

    #[test]
    fn a_new_phase_ends_it_and_a_known_one_does_not() {
        let phase = |from: u32| (0..400).map(move |at| from + at % 4);
        let growth = follow(phase(0).chain(phase(4)).chain(phase(0)), 100);
        // The second phase begins at 4,000 ns. The way back is one edge of ten nanoseconds, which
        // is a tenth of a look: more than little, for that one look.
        assert_eq!(steady(&growth), [(100, 400, 4000), (4100, 4400, 8000), (8100, 8400, 12000)]);
        // Of a longer look it is little.
        let growth = follow(phase(0).chain(phase(4)).chain(phase(0)), 1000);
        assert_eq!(steady(&growth), [(1000, 4000, 4000), (5000, 8000, 12000)]);
    }

    #[test]
    fn a_program_that_always_does_something_else_is_never_steady() {
        assert_eq!(steady(&follow(0..1000, 100)), []);
        assert_eq!(steady(&follow([], 100)), []);
    }

    #[test]
    fn rare_branches_do_not_matter() {
        // In every look one of 200 calls is new.
        let nodes = (0..4000_u32).map(|at| if at % 200 == 7 { 4 + at } else { at % 4 });
        let growth = follow(nodes, 2000);
        assert_eq!(steady(&growth).len(), 1, "{growth:?}");
        assert_eq!(growth.known().last().unwrap().0, 24);
    }

    #[test]
    fn looks_without_events_do_not_matter() {
        let mut follower = Follower::new(Nanos(10));
        for at in (0..8).chain(80..88).map(|at| 10 * at) {
            let node = NodeId(0);
            follower.event(&TimedEvent { node, begin: Nanos(at), end: Nanos(at + 5) });
        }
        let growth = follower.into_growth(|node| node.0);
        // The gap belongs to a known edge.
        assert_eq!(steady(&growth), [(20, 50, 880)]);
        assert_eq!(growth.looks().iter().filter(|look| look.events == 0).count(), 72);
    }

    #[test]
    fn damaged_times_are_bounded() {
        let mut follower = Follower::new(Nanos(0));
        for (begin, end) in [(0, u64::MAX), (5, 3), (u64::MAX, 0)] {
            let (begin, end) = (Nanos(begin), Nanos(end));
            follower.event(&TimedEvent { node: NodeId(1), begin, end });
        }
        let growth = follower.into_growth(|node| node.0);
        assert_eq!(growth.looks().len(), MOST_LOOKS);
        assert_eq!(growth.looks().iter().map(|look| look.events).sum::<u64>(), 3);
    }

    proptest! {
        #[test]
        fn all_nodes_and_edges_are_found_once(
            nodes in proptest::collection::vec(0_u32..6, 1..200), interval in 1_u64..300,
        ) {
            let growth = follow(nodes.clone(), interval);
            let ids: Vec<NodeId> = nodes.iter().copied().map(NodeId).collect();
            let stats = Graph::from_sequence(ids).stats();
            prop_assert_eq!(growth.known().last().copied(), Some((stats.nodes, stats.edges)));
            let events: u64 = growth.looks().iter().map(|look| look.events).sum();
            prop_assert_eq!(events, nodes.len() as u64);
            let time: u64 = growth.looks().iter().map(|look| look.time.0).sum();
            prop_assert_eq!(time, 10 * nodes.len() as u64 - 1);
            prop_assert!(growth.looks().iter().all(|look| look.new <= look.time));
        }

        #[test]
        fn threads_are_merged_in_any_order(
            threads in proptest::collection::vec(proptest::collection::vec(0_u32..6, 0..60), 3),
        ) {
            let [a, b, c] = [0, 1, 2].map(|at: usize| follow(threads[at].clone(), 50));
            let merged = |order: [&Growth<u32>; 3]| {
                let mut all = Growth::new(Nanos(50));
                for one in order {
                    all.merge(one);
                }
                all
            };
            let all = merged([&a, &b, &c]);
            prop_assert_eq!(&all, &merged([&c, &a, &b]));
            let mut last = b.clone();
            last.merge(&c);
            let mut first = a.clone();
            first.merge(&last);
            prop_assert_eq!(&all, &first);
        }
    }
}

//! Partition of a matrix: groups of ranks that should share a node, by the bytes that they
//! exchange.
//!
//! Owns the graph of ranks and two methods to cut it: greedy growth of one node after the other,
//! and recursive bisection (halves that are grown and then improved by swaps, Kernighan and Lin,
//! 1970, with the gains of Fiduccia and Mattheyses, 1982). Parts come in an order in which
//! neighbours are near, to be laid along an order of nodes. It refuses the machine's shape.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{PlaceError, Placement, room};
use crate::machine::HostId;
use crate::traffic::Messages;

/// Maximum number of improvement passes of halves.
const PASSES: usize = 4;

/// Method of partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Node by node, each grown from the rank that exchanges most with those placed.
    Greedy,
    /// Halves of halves.
    Bisection,
}

/// Bytes between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The other rank.
    pub to: u32,
    /// Bytes sent to it.
    pub out: u64,
    /// Bytes received from it.
    pub back: u64,
}

/// Ranks and the bytes between them, by rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    first: Vec<usize>,
    edges: Vec<Edge>,
    /// Bits by which bytes are shifted right so that sums of all of them stay far from the ends of
    /// the range of gains.
    shortened: u32,
}

impl Graph {
    /// The graph of messages between this many ranks; those of larger ranks are left out.
    pub fn new(messages: &Messages, ranks: usize) -> Self {
        let inside =
            || messages.iter().filter(|one| one.from.max(one.to) < ranks.min(1 << 31) as u32);
        let mut first = vec![0_usize; ranks + 1];
        for message in inside() {
            first[message.from as usize + 1] += 1;
            first[message.to as usize + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut edges = vec![Edge { to: 0, out: 0, back: 0 }; first[ranks]];
        let mut next = first.clone();
        let mut put = |rank: u32, edge| {
            let next = &mut next[rank as usize];
            edges[*next] = edge;
            *next += 1;
        };
        for message in inside() {
            put(message.from, Edge { to: message.to, out: message.bytes, back: 0 });
            put(message.to, Edge { to: message.from, out: 0, back: message.bytes });
        }
        // Edges to the same rank are summed, in place.
        let mut kept = 0;
        for rank in 0..ranks {
            let (begin, end) = (first[rank], first[rank + 1]);
            edges[begin..end].sort_unstable_by_key(|edge| edge.to);
            first[rank] = kept;
            for at in begin..end {
                let edge = edges[at];
                if kept > first[rank] && edges[kept - 1].to == edge.to {
                    let sum = &mut edges[kept - 1];
                    sum.out = sum.out.saturating_add(edge.out);
                    sum.back = sum.back.saturating_add(edge.back);
                } else {
                    edges[kept] = edge;
                    kept += 1;
                }
            }
        }
        first[ranks] = kept;
        edges.truncate(kept);
        let all: u128 = edges.iter().map(|edge| u128::from(edge.out) + u128::from(edge.back)).sum();
        let shortened = (u128::BITS - all.leading_zeros()).saturating_sub(61);
        Self { first, edges, shortened }
    }

    /// Bytes of both directions, in the unit of gains.
    fn both(&self, edge: &Edge) -> i64 {
        ((u128::from(edge.out) + u128::from(edge.back)) >> self.shortened) as i64
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// Bytes that a rank sends and receives, by other rank.
    pub fn edges(&self, rank: u32) -> &[Edge] {
        let range = self.first.get(rank as usize).zip(self.first.get(rank as usize + 1));
        range.and_then(|(&begin, &end)| self.edges.get(begin..end)).unwrap_or(&[])
    }
}

/// Ranks of a graph on these nodes, up to `cores` on each: parts that exchange little, placed along
/// the order of nodes.
///
/// # Errors
/// More ranks than there is room for.
pub fn partition(
    graph: &Graph,
    cut: Cut,
    cores: u16,
    nodes: &[HostId],
) -> Result<Placement, PlaceError> {
    let ranks = graph.ranks();
    room(ranks, nodes.len(), cores.into())?;
    let size = usize::from(cores.max(1));
    let order = match cut {
        Cut::Greedy => greedy(graph, size),
        Cut::Bisection => bisected(graph, size),
    };
    let mut hosts = vec![HostId::default(); ranks];
    for (at, rank) in order.into_iter().enumerate() {
        hosts[rank as usize] = nodes[at / size];
    }
    Ok(Placement::from_hosts(hosts))
}

/// A heap of ranks by gain; at equal gains the entry with the smaller middle number comes first.
/// Outdated entries are skipped when they come up.
type Heap = BinaryHeap<(i64, Reverse<u32>, u32)>;

/// Ranks in an order whose pieces of `size` belong together.
fn greedy(graph: &Graph, size: usize) -> Vec<u32> {
    let ranks = graph.ranks();
    let mut order: Vec<u32> = Vec::with_capacity(ranks);
    let mut placed = vec![false; ranks];
    // Bytes to all ranks that are placed, and to those of the present node.
    let (mut to_placed, mut to_node) = (vec![0_i64; ranks], vec![0_i64; ranks]);
    let (mut near, mut inside) = (Heap::new(), Heap::new());
    let (mut unplaced, mut reached) = (0_u32, 0_u32);
    while order.len() < ranks {
        if order.len().is_multiple_of(size) {
            inside.clear();
            for &rank in &order[order.len().saturating_sub(size)..] {
                graph.edges(rank).iter().for_each(|edge| to_node[edge.to as usize] = 0);
            }
        }
        let next = best(&mut inside, &placed, &to_node)
            .or_else(|| best(&mut near, &placed, &to_placed))
            .unwrap_or_else(|| {
                while placed[unplaced as usize] {
                    unplaced += 1;
                }
                unplaced
            });
        placed[next as usize] = true;
        order.push(next);
        for edge in graph.edges(next).iter().filter(|edge| !placed[edge.to as usize]) {
            let to = edge.to as usize;
            to_placed[to] += graph.both(edge);
            to_node[to] += graph.both(edge);
            // Of ranks with equal gains the one reached first keeps a node compact: by number it
            // would become a line.
            near.push((to_placed[to], Reverse(reached), edge.to));
            inside.push((to_node[to], Reverse(reached), edge.to));
            reached = reached.saturating_add(1);
        }
    }
    order
}

fn best(heap: &mut Heap, taken: &[bool], gains: &[i64]) -> Option<u32> {
    while let Some((gain, _, rank)) = heap.pop() {
        if !taken[rank as usize] && gains[rank as usize] == gain {
            return Some(rank);
        }
    }
    None
}

/// Ranks in an order that is cut in halves, of whole nodes, down to nodes.
fn bisected(graph: &Graph, size: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..graph.ranks() as u32).collect();
    let mut halves = Halves::new(graph);
    let mut todo = vec![(0, order.len())];
    while let Some((begin, end)) = todo.pop() {
        let range = begin..end;
        let nodes = range.len().div_ceil(size);
        if nodes < 2 {
            continue;
        }
        let left = (nodes / 2) * size;
        halves.split(&mut order[range.clone()], left);
        todo.extend([(begin, begin + left), (begin + left, end)]);
    }
    order
}

/// State that is kept from cut to cut.
struct Halves<'a> {
    graph: &'a Graph,
    /// Half of each rank that is being cut: 0 left, 1 right; others are outside.
    side: Vec<u8>,
    gain: Vec<i64>,
    locked: Vec<bool>,
}

const OUTSIDE: u8 = 2;

impl<'a> Halves<'a> {
    fn new(graph: &'a Graph) -> Self {
        let ranks = graph.ranks();
        Self { graph, side: vec![OUTSIDE; ranks], gain: vec![0; ranks], locked: vec![false; ranks] }
    }

    /// Puts `left` of the ranks first, so that few bytes go between them and the others; each half
    /// stays in order of ranks.
    fn split(&mut self, ranks: &mut [u32], left: usize) {
        ranks.sort_unstable();
        for &rank in &*ranks {
            self.side[rank as usize] = 1;
        }
        self.grow(ranks, left);
        for _ in 0..PASSES {
            if !self.mend(ranks) {
                break;
            }
        }
        ranks.sort_by_key(|&rank| self.side[rank as usize]);
        for &rank in &*ranks {
            self.side[rank as usize] = OUTSIDE;
        }
    }

    /// The last rank that a breadth-first search from another one reaches.
    fn far(&mut self, from: u32, size: usize) -> u32 {
        let mut seen = Vec::with_capacity(size);
        seen.push(from);
        self.locked[from as usize] = true;
        let mut at = 0;
        while let Some(&rank) = seen.get(at) {
            at += 1;
            for edge in self.graph.edges(rank) {
                let to = edge.to as usize;
                if self.side[to] != OUTSIDE && !self.locked[to] {
                    self.locked[to] = true;
                    seen.push(edge.to);
                }
            }
        }
        for &rank in &seen {
            self.locked[rank as usize] = false;
        }
        seen.last().copied().unwrap_or(from)
    }

    /// Grows the left half from an end of the graph, always by the rank that adds the fewest bytes
    /// across the cut.
    fn grow(&mut self, ranks: &[u32], left: usize) {
        let Some(&first) = ranks.first() else { return };
        let first = self.far(first, ranks.len());
        let first = self.far(first, ranks.len());
        for &rank in ranks {
            let inside = |to: u32| self.side[to as usize] != OUTSIDE;
            let edges = self.graph.edges(rank).iter().filter(|edge| inside(edge.to));
            self.gain[rank as usize] = -edges.map(|edge| self.graph.both(edge)).sum::<i64>();
        }
        let mut heap = Heap::from([(self.gain[first as usize], Reverse(first), first)]);
        let mut unplaced = ranks.iter();
        for _ in 0..left {
            let next = loop {
                match heap.pop() {
                    Some((gain, _, rank)) => {
                        if self.side[rank as usize] == 1 && self.gain[rank as usize] == gain {
                            break Some(rank);
                        }
                    }
                    None => break unplaced.find(|&&rank| self.side[rank as usize] == 1).copied(),
                }
            };
            let Some(next) = next else { return };
            self.side[next as usize] = 0;
            for edge in self.graph.edges(next) {
                let to = edge.to as usize;
                if self.side[to] == 1 {
                    self.gain[to] += 2 * self.graph.both(edge);
                    heap.push((self.gain[to], Reverse(edge.to), edge.to));
                }
            }
        }
    }

    /// Swaps pairs of ranks, the best first and each once, and keeps the swaps up to the minimum of
    /// bytes across. False if none was kept.
    fn mend(&mut self, ranks: &[u32]) -> bool {
        let mut heaps = [Heap::new(), Heap::new()];
        for &rank in ranks {
            let side = self.side[rank as usize];
            let gain =
                self.graph.edges(rank).iter().map(|edge| match self.side[edge.to as usize] {
                    OUTSIDE => 0,
                    other if other == side => -self.graph.both(edge),
                    _ => self.graph.both(edge),
                });
            let gain: i64 = gain.sum();
            self.gain[rank as usize] = gain;
            heaps[usize::from(side)].push((gain, Reverse(rank), rank));
        }
        let mut moved: Vec<u32> = Vec::new();
        let (mut sum, mut most, mut kept) = (0_i64, 0_i64, 0_usize);
        // After this many swaps without a better cut none is expected.
        let patience = 2 * (32 + ranks.len() / 64);
        while moved.len() - kept < patience {
            let mut pair = [None; 2];
            for side in 0..2 {
                pair[side] = best(&mut heaps[side], &self.locked, &self.gain);
                // The gain of the second one is read after the first one has moved.
                if let Some(rank) = pair[side] {
                    sum += self.gain[rank as usize];
                    self.locked[rank as usize] = true;
                    self.turn(rank, &mut heaps);
                    moved.push(rank);
                }
            }
            if pair.contains(&None) {
                break;
            }
            if sum > most {
                (most, kept) = (sum, moved.len());
            }
        }
        for &rank in &moved[kept..] {
            self.side[rank as usize] ^= 1;
        }
        for &rank in &moved {
            self.locked[rank as usize] = false;
        }
        kept > 0
    }

    /// Moves a rank to the other half and updates its neighbours.
    fn turn(&mut self, rank: u32, heaps: &mut [Heap; 2]) {
        self.side[rank as usize] ^= 1;
        let side = self.side[rank as usize];
        for edge in self.graph.edges(rank) {
            let to = edge.to as usize;
            if self.side[to] == OUTSIDE || self.locked[to] {
                continue;
            }
            self.gain[to] += if self.side[to] == side { -2 } else { 2 } * self.graph.both(edge);
            heaps[usize::from(self.side[to])].push((self.gain[to], Reverse(edge.to), edge.to));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::traffic::Message;
    use crate::traffic::stencil::{Stencil, Weights};

    fn across(graph: &Graph, placement: &Placement) -> u64 {
        let host = |rank: u32| placement.hosts()[rank as usize];
        let ranks = 0..graph.ranks() as u32;
        let out = ranks.flat_map(|rank| {
            let apart = graph.edges(rank).iter().filter(move |edge| host(rank) != host(edge.to));
            apart.map(|edge| edge.out)
        });
        out.sum()
    }

    fn nodes(count: u32) -> Vec<HostId> {
        (0..count).map(HostId).collect()
    }

    #[test]
    fn a_graph_sums_both_ways() {
        let mut messages = Messages::default();
        for (from, to, bytes) in [(0, 1, 3), (1, 0, 4), (0, 1, 5), (2, 0, 1), (5, 1, 9)] {
            messages.add(Message { from, to, bytes, count: 1 }).unwrap();
        }
        let graph = Graph::new(&messages, 3);
        let edge = |to, out, back| Edge { to, out, back };
        assert_eq!(graph.edges(0), [edge(1, 8, 4), edge(2, 0, 1)]);
        assert_eq!(graph.edges(1), [edge(0, 4, 8)]);
        assert_eq!(graph.edges(2), [edge(0, 1, 0)]);
        assert_eq!(graph.edges(3), []);
    }

    #[test]
    fn cliques_are_kept_together() {
        // Eight groups of four ranks that exchange much, with interleaved numbers.
        let mut messages = Messages::default();
        for from in 0..32_u32 {
            for to in 0..32 {
                let bytes = if from % 8 == to % 8 { 100 } else { 1 };
                messages.add(Message { from, to, bytes, count: 1 }).unwrap();
            }
        }
        let graph = Graph::new(&messages, 32);
        for cut in [Cut::Greedy, Cut::Bisection] {
            let placement = partition(&graph, cut, 4, &nodes(8)).unwrap();
            assert_eq!(across(&graph, &placement), 32 * 28, "{cut:?}");
        }
    }

    #[test]
    fn a_grid_is_cut_better_than_by_ranks_in_order() {
        let stencil =
            Stencil { grid: [16, 8, 8], periodic: [false; 3], weights: Weights::faces(1) };
        let graph = Graph::new(&stencil.messages().unwrap(), 1024);
        let nodes = nodes(64);
        let plain = across(&graph, &Placement::filled(1024, 16, &nodes).unwrap());
        let [greedy, halves] = [Cut::Greedy, Cut::Bisection]
            .map(|cut| across(&graph, &partition(&graph, cut, 16, &nodes).unwrap()));
        let best = super::super::blocks([16, 8, 8], [2, 2, 4], 16, &nodes).unwrap();
        println!(
            "plain {plain}, greedy {greedy}, halves {halves}, 2x2x4 {}",
            across(&graph, &best)
        );
        assert!(greedy < plain * 9 / 10 && halves < plain * 3 / 4, "{plain} {greedy} {halves}");
    }

    #[test]
    fn bytes_beyond_all_sums_are_cut_as_few_are() {
        // Rank 0 sends to all; those with odd numbers get twice as much.
        let graph = |scale: u64| {
            let mut messages = Messages::default();
            for to in 1..64_u32 {
                let bytes = scale * u64::from(1 + to % 2);
                messages.add(Message { from: 0, to, bytes, count: 1 }).unwrap();
                messages.add(Message { from: to, to: (to + 2) % 64, bytes, count: 1 }).unwrap();
            }
            Graph::new(&messages, 64)
        };
        for cut in [Cut::Greedy, Cut::Bisection] {
            let [few, many] =
                [1, 1 << 62].map(|scale| partition(&graph(scale), cut, 4, &nodes(16)).unwrap());
            assert_eq!(few, many, "{cut:?}");
        }
    }

    proptest! {
        #[test]
        fn every_rank_has_a_place_and_no_node_too_many(
            sends in prop::collection::vec((0_u32..40, 0_u32..40, any::<u64>()), 0..200),
            ranks in 0_usize..40,
            cores in 1_u16..6,
        ) {
            let mut messages = Messages::default();
            for (from, to, bytes) in sends {
                messages.add(Message { from, to, bytes, count: 1 }).unwrap();
            }
            let graph = Graph::new(&messages, ranks);
            let count = ranks.div_ceil(usize::from(cores)) as u32;
            for cut in [Cut::Greedy, Cut::Bisection] {
                let placement = partition(&graph, cut, cores, &nodes(count)).unwrap();
                prop_assert_eq!(placement.ranks(), ranks);
                prop_assert!(placement.slots().iter().all(|&slot| slot < cores));
                prop_assert_eq!(&placement, &partition(&graph, cut, cores, &nodes(count)).unwrap());
                let few = partition(&graph, cut, cores, &nodes(count.saturating_sub(1)));
                prop_assert!(few.is_err() || ranks == 0);
            }
        }
    }
}

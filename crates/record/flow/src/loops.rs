//! Loops of a graph, and their nesting.
//!
//! Owns the loop nesting forest: one depth-first search without UNION-FIND, iterative, because
//! chains of 10^5 nodes exist. A self-loop is a loop; loops with several entries are kept and
//! marked with the edges that re-enter them. Successors are followed in the order of first use, so
//! that equal graphs give equal forests. Source: Wei, Mao, Zou, Chen, "A New Algorithm for
//! Identifying Loops in Decompilation" (SAS 2007).

use serde::{Deserialize, Serialize};

use crate::graph::Graph;

/// A loop of a graph; nodes are places in [`Graph::nodes`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loop {
    /// The node at which the search first reached it.
    pub header: u32,
    /// The enclosing loop, as an index into [`Forest::loops`].
    pub parent: Option<u32>,
    /// 1 for an outermost loop.
    pub depth: u32,
    /// Nodes whose innermost loop this is, the header first, then in the order of first execution.
    pub nodes: Vec<u32>,
    /// True where it has other entries than its header.
    pub irreducible: bool,
    /// Edges (from, to) that enter it, and no loop inside it, at another node than the header.
    pub reentries: Vec<(u32, u32)>,
}

/// All loops of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forest {
    /// Loops in the order in which the search met their headers: a loop comes after those around
    /// it.
    pub loops: Vec<Loop>,
    /// For each node its innermost loop, as an index into `loops`; a header is inside its own loop.
    pub innermost: Vec<Option<u32>>,
}

impl Forest {
    /// Finds the loops of `graph`, searching from the nodes where sequences begin.
    pub fn new(graph: &Graph) -> Self {
        let successors: Vec<Vec<u32>> = (0..graph.nodes().len() as u32)
            .map(|place| graph.edges_from(place).iter().map(|edge| edge.to).collect())
            .collect();
        let starts = (0..graph.nodes().len() as u32)
            .filter(|&place| graph.nodes()[place as usize].starts > 0);
        Self::from_successors(&successors, starts)
    }

    /// Finds the loops of the graph with these `successors` (places, in the order of first use),
    /// searching from `starts` first and then from nodes that these do not reach. Invalid
    /// successors are left out.
    pub fn from_successors(successors: &[Vec<u32>], starts: impl IntoIterator<Item = u32>) -> Self {
        let mut search = Search::new(successors);
        for start in starts.into_iter().chain(0..successors.len() as u32) {
            search.from(start);
        }
        search.finish()
    }

    /// The loops around `node`, innermost first.
    pub fn around(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.innermost.get(node as usize).copied().flatten();
        // A parent always has a smaller index, so that this terminates even for a forest from a
        // damaged file.
        std::iter::successors(first, |&at| {
            self.loops.get(at as usize).and_then(|found| found.parent).filter(|&up| up < at)
        })
    }

    /// Index for fast repeated tests of nodes in loops.
    pub fn nesting(&self) -> Nesting<'_> {
        // A loop comes after those around it: from the last to the first, sizes add up; from the
        // first to the last, each loop's numbers follow those of the loops before it in the same
        // one.
        let all = self.loops.len();
        let parent = |at: usize| self.loops[at].parent.map(|up| up as usize).filter(|&up| up < at);
        let mut size = vec![1; all];
        for at in (0..all).rev() {
            if let Some(up) = parent(at) {
                size[up] += size[at];
            }
        }
        // One more represents the outermost level; only loops have a number of their own, the
        // first.
        let (mut number, mut next) = (vec![0; all + 1], vec![1; all]);
        next.push(0);
        for at in 0..all {
            let up = parent(at).unwrap_or(all);
            number[at] = number[up] + next[up];
            next[up] += size[at];
        }
        let numbers = number.into_iter().zip(size).map(|(begin, size)| begin..begin + size);
        Nesting { forest: self, numbers: numbers.collect() }
    }
}

/// Nesting of nodes in the loops of a forest, with tests in constant time.
#[derive(Debug)]
pub struct Nesting<'a> {
    forest: &'a Forest,
    /// For each loop its own number and those of the loops inside it.
    numbers: Vec<std::ops::Range<u32>>,
}

impl Nesting<'_> {
    /// True if `node` is inside the loop with index `at` or a loop inside it.
    pub fn contains(&self, at: u32, node: u32) -> bool {
        let own = self.forest.innermost.get(node as usize).copied().flatten();
        let numbers = |at: u32| self.numbers.get(at as usize);
        match (numbers(at), own.and_then(numbers)) {
            (Some(all), Some(own)) => all.contains(&own.start),
            _ => false,
        }
    }
}

/// No header, or not traversed.
const NONE: u32 = u32::MAX;

struct Search<'a> {
    successors: &'a [Vec<u32>],
    /// Order in which nodes were traversed.
    order: Vec<u32>,
    traversed: Vec<bool>,
    /// Place on the path from the start to the current node, from 1; 0 off the path.
    position: Vec<u32>,
    /// Innermost loop header of each node; for a header that of the enclosing loop.
    header: Vec<u32>,
    is_header: Vec<bool>,
    irreducible: Vec<bool>,
    /// For headers off the path: one further out in their chain, with only headers off the path in
    /// between.
    skip: Vec<u32>,
    /// Edges that re-enter loops, with the header of the innermost of these.
    reentries: Vec<(u32, (u32, u32))>,
    /// Nodes on the path, with the number of their successors already followed.
    path: Vec<(u32, usize)>,
}

impl<'a> Search<'a> {
    fn new(successors: &'a [Vec<u32>]) -> Self {
        let count = successors.len();
        Self {
            successors,
            order: Vec::with_capacity(count),
            traversed: vec![false; count],
            position: vec![0; count],
            header: vec![NONE; count],
            is_header: vec![false; count],
            irreducible: vec![false; count],
            skip: vec![NONE; count],
            reentries: Vec::new(),
            path: Vec::new(),
        }
    }

    fn from(&mut self, start: u32) {
        if self.traversed.get(start as usize).is_none_or(|&done| done) {
            return;
        }
        self.enter(start);
        while let Some((node, followed)) = self.path.last_mut() {
            let node = *node;
            if let Some(&next) = self.successors[node as usize].get(*followed) {
                *followed += 1;
                self.follow(node, next);
                continue;
            }
            self.path.pop();
            self.position[node as usize] = 0;
            // The rest of rule A: the caller's node is inside the loop that contains the callee.
            if let Some(&(before, _)) = self.path.last() {
                self.tag(before, self.header[node as usize]);
            }
        }
    }

    fn enter(&mut self, node: u32) {
        self.traversed[node as usize] = true;
        self.order.push(node);
        self.path.push((node, 0));
        self.position[node as usize] = self.path.len() as u32;
    }

    /// Rules A to E of the paper for the edge from `node`, which is on the path, to `next`.
    fn follow(&mut self, node: u32, next: u32) {
        let at = next as usize;
        if at >= self.successors.len() {
            return;
        }
        if !self.traversed[at] {
            self.enter(next);
        } else if self.position[at] > 0 {
            self.is_header[at] = true;
            self.tag(node, next);
        } else {
            let mut header = self.header[at];
            if header != NONE && self.position[header as usize] == 0 {
                self.reentries.push((header, (node, next)));
            }
            header = self.climb(header);
            self.tag(node, header);
        }
    }

    /// The first of `header` and the headers around it that is on the path, or none; those before
    /// it are re-entered.
    ///
    /// A header off the path stays off it with its chain, so that the path is shortened for the
    /// next search.
    fn climb(&mut self, header: u32) -> u32 {
        let off = |search: &Self, at: u32| at != NONE && search.position[at as usize] == 0;
        let outwards = |search: &Self, at: u32| match search.skip[at as usize] {
            NONE => search.header[at as usize],
            further => further,
        };
        let mut end = header;
        while off(self, end) {
            self.irreducible[end as usize] = true;
            end = outwards(self, end);
        }
        let mut at = header;
        while off(self, at) {
            let next = outwards(self, at);
            self.skip[at as usize] = end;
            at = next;
        }
        end
    }

    /// Puts `node` inside the loop of `header`: merges it into the node's chain of headers, ordered
    /// by path position.
    fn tag(&mut self, node: u32, header: u32) {
        let (mut inner, mut outer) = (node, header);
        if inner == outer || outer == NONE {
            return;
        }
        loop {
            let next = self.header[inner as usize];
            if next == outer {
                return;
            }
            if next == NONE {
                self.header[inner as usize] = outer;
                return;
            }
            if self.position[next as usize] < self.position[outer as usize] {
                self.header[inner as usize] = outer;
                inner = outer;
                outer = next;
            } else {
                inner = next;
            }
        }
    }

    fn finish(self) -> Forest {
        let mut forest = Forest { loops: Vec::new(), innermost: vec![None; self.order.len()] };
        let mut loop_of = vec![None; self.order.len()];
        // The search meets a header before the headers inside its loop, so parents exist when asked
        // for.
        for &node in self.order.iter().filter(|&&node| self.is_header[node as usize]) {
            let around = self.header[node as usize];
            let parent: Option<u32> = if around == NONE { None } else { loop_of[around as usize] };
            let depth = parent.map_or(1, |up| forest.loops[up as usize].depth + 1);
            loop_of[node as usize] = Some(forest.loops.len() as u32);
            forest.loops.push(Loop {
                header: node,
                parent,
                depth,
                nodes: vec![node],
                irreducible: self.irreducible[node as usize],
                reentries: Vec::new(),
            });
        }
        for node in 0..self.order.len() {
            let header = self.header[node];
            let own = loop_of[node];
            let around = if header == NONE { None } else { loop_of[header as usize] };
            forest.innermost[node] = own.or(around);
            if let (None, Some(around)) = (own, around) {
                forest.loops[around as usize].nodes.push(node as u32);
            }
        }
        for (header, edge) in self.reentries {
            if let Some(at) = loop_of[header as usize] {
                forest.loops[at as usize].reentries.push(edge);
            }
        }
        forest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// Header of the innermost loop of each node, its own where it is a header.
    fn innermost(forest: &Forest) -> Vec<Option<u32>> {
        let header = |at: &Option<u32>| at.map(|at| forest.loops[at as usize].header);
        forest.innermost.iter().map(header).collect()
    }

    /// The slow definition: separate strongly connected components, header = first node reached by
    /// the search.
    struct Oracle<'a> {
        successors: &'a [Vec<u32>],
        rank: Vec<usize>,
        innermost: Vec<Option<u32>>,
    }

    impl Oracle<'_> {
        fn reachable(&self, from: u32, alive: &[bool]) -> Vec<bool> {
            let mut seen = vec![false; alive.len()];
            let mut left = vec![from];
            while let Some(node) = left.pop() {
                for &next in &self.successors[node as usize] {
                    if alive[next as usize] && !seen[next as usize] {
                        seen[next as usize] = true;
                        left.push(next);
                    }
                }
            }
            seen
        }

        fn split(&mut self, alive: &[bool]) {
            let reach: Vec<Vec<bool>> =
                (0..alive.len()).map(|n| self.reachable(n as u32, alive)).collect();
            let mut done = vec![false; alive.len()];
            for node in (0..alive.len()).filter(|&node| alive[node]) {
                if done[node] || !reach[node][node] {
                    continue;
                }
                let mut inside: Vec<bool> =
                    (0..alive.len()).map(|n| reach[node][n] && reach[n][node]).collect();
                let members = || (0..alive.len()).filter(|&n| reach[node][n] && reach[n][node]);
                let header = members().min_by_key(|&n| self.rank[n]).unwrap();
                for member in members() {
                    done[member] = true;
                    self.innermost[member] = Some(header as u32);
                }
                inside[header] = false;
                self.split(&inside);
            }
        }
    }

    fn oracle(successors: &[Vec<u32>]) -> Vec<Option<u32>> {
        let mut rank = vec![usize::MAX; successors.len()];
        let mut order = 0;
        for start in 0..successors.len() {
            let mut path = vec![(start, 0)];
            if rank[start] != usize::MAX {
                continue;
            }
            rank[start] = order;
            order += 1;
            while let Some((node, followed)) = path.last_mut() {
                let Some(&next) = successors[*node].get(*followed) else {
                    path.pop();
                    continue;
                };
                *followed += 1;
                if rank[next as usize] == usize::MAX {
                    rank[next as usize] = order;
                    order += 1;
                    path.push((next as usize, 0));
                }
            }
        }
        let count = successors.len();
        let mut oracle = Oracle { successors, rank, innermost: vec![None; count] };
        oracle.split(&vec![true; count]);
        oracle.innermost
    }

    #[test]
    fn forest_equals_recursive_decomposition_into_components() {
        // A linear congruential generator: the same 20,000 graphs on every run.
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut irreducible = 0;
        for _ in 0..20_000 {
            let count = 1 + random(9);
            let mut successors = vec![Vec::new(); count as usize];
            for _ in 0..random(3 * count) {
                let (from, to) = (random(count) as usize, random(count) as u32);
                if !successors[from].contains(&to) {
                    successors[from].push(to);
                }
            }
            let forest = Forest::from_successors(&successors, []);
            assert_eq!(innermost(&forest), oracle(&successors), "{successors:?}");
            let nesting = forest.nesting();
            for at in 0..forest.loops.len() as u32 {
                for node in 0..count as u32 {
                    let inside = forest.around(node).any(|found| found == at);
                    assert_eq!(nesting.contains(at, node), inside, "{successors:?}");
                }
            }
            irreducible += u32::from(forest.loops.iter().any(|found| found.irreducible));
        }
        assert!(irreducible > 2_000, "{irreducible}");
    }

    #[test]
    fn irreducible_exactly_where_an_edge_enters_beside_the_header() {
        // 0 -> 1 <-> 2 <- 0: the search reaches 1 first, and the edge 0 -> 2 re-enters.
        let forest = Forest::from_successors(&[vec![1, 2], vec![2], vec![1]], [0]);
        assert_eq!(forest.loops.len(), 1);
        assert_eq!(forest.loops[0].header, 1);
        assert_eq!(forest.loops[0].nodes, [1, 2]);
        assert_eq!(forest.loops[0].reentries, [(0, 2)]);
        let nesting = forest.nesting();
        assert!(nesting.contains(0, 2) && !nesting.contains(0, 0));
    }

    #[test]
    fn loops_of_minighost() {
        let forest = Forest::new(&Graph::from_sequence(testing::minighost()));
        let loops: Vec<_> =
            forest.loops.iter().map(|l| (l.header, l.depth, l.nodes.len())).collect();
        // The time step (A, B, 39 calls, H) and the loop over C, E, D, G, F inside it.
        assert_eq!(loops, [(10, 1, 42), (12, 2, 5)]);
    }

    #[test]
    fn long_chains_and_deep_nests_need_no_stack() {
        let chain = |count: u32| (0..count).map(|n| vec![n + 1]).collect::<Vec<_>>();
        let mut ring = chain(200_000);
        assert!(Forest::from_successors(&ring, [0]).loops.is_empty());
        ring[199_999] = vec![0];
        assert_eq!(Forest::from_successors(&ring, [0]).loops[0].nodes.len(), 200_000);
        let mut nest = chain(2_000);
        for (back, node) in nest[1_000..].iter_mut().enumerate() {
            node.push(999 - back as u32);
        }
        assert_eq!(Forest::from_successors(&nest, [0]).loops.last().unwrap().depth, 1_000);
    }
}

//! Improvement of a placement by swaps.
//!
//! Owns a bounded, reproducible search: it swaps two ranks, or all ranks of two nodes, and keeps
//! swaps that lower the sum of squares of all loads, of links and of the connections of nodes to
//! their routers. Fewer bytes, shorter routes and flatter peaks all lower that sum, and a swap
//! changes few of its terms. It refuses time: the caller evaluates the best placement found.

use super::{Graph, PlaceError, Placement};
use crate::machine::{Fabric, HostId, LinkId};
use crate::rails::Rails;
use crate::route::{Random, Routing};
use crate::traffic::TrafficError;

/// Unit of a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swap {
    /// Two ranks.
    Ranks,
    /// All ranks of two nodes.
    Nodes,
}

/// Options of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Unit of a swap.
    pub swap: Swap,
    /// Number of swaps to try.
    pub tries: u32,
    /// Seed of the random choice.
    pub seed: u64,
}

/// A placement and its loads.
struct State<'a> {
    graph: &'a Graph,
    fabric: &'a Fabric,
    routing: &'a dyn Routing,
    rails: Rails<'a>,
    hosts: Vec<HostId>,
    slots: Vec<u16>,
    /// Bytes over links, then those that ports of hosts send, then those that they receive.
    loads: Vec<u64>,
    /// Change of the sum of squares since the beginning.
    change: i128,
    /// Ranks that are being moved.
    moving: Vec<bool>,
    way: Vec<LinkId>,
}

/// A placement that is at least as good, found from this one, and the number of swaps that were
/// kept.
///
/// # Errors
/// A rank without a host of the fabric, or two routers without a route.
pub fn improve(
    graph: &Graph,
    placement: &Placement,
    (fabric, routing): (&Fabric, &dyn Routing),
    search: &Search,
) -> Result<(Placement, u32), PlaceError> {
    let ranks = placement.ranks();
    if graph.ranks() > ranks {
        return Err(TrafficError::Rank { rank: graph.ranks() as u32 - 1, ranks }.into());
    }
    let hosts = fabric.hosts().len();
    if let Some(host) = placement.hosts().iter().find(|host| host.at() >= hosts) {
        return Err(TrafficError::Host { host: host.0, hosts }.into());
    }
    let mut state = State {
        graph,
        fabric,
        routing,
        rails: Rails::new(fabric, placement.hosts()),
        hosts: placement.hosts().to_vec(),
        slots: placement.slots().to_vec(),
        loads: vec![0; fabric.links().len() + 2 * fabric.ports().len()],
        change: 0,
        moving: vec![false; ranks],
        way: Vec::new(),
    };
    for rank in 0..ranks as u32 {
        state.rank(rank, 1, |edge_to| edge_to > rank)?;
    }
    let mut on_host: Vec<Vec<u32>> = vec![Vec::new(); hosts];
    for (rank, host) in (0..).zip(placement.hosts()) {
        on_host[host.at()].push(rank);
    }
    let mut random = Random::new(search.seed);
    let mut kept = 0;
    if ranks < 2 {
        return Ok((placement.clone(), 0));
    }
    for _ in 0..search.tries {
        let one = random.below(ranks) as u32;
        let Some(other) = state.partner(one, search.swap, &on_host, &mut random) else { continue };
        let [here, there] = [one, other].map(|rank| state.hosts[rank as usize]);
        let moves: Vec<(u32, u32)> = match search.swap {
            Swap::Ranks => vec![(one, other)],
            // Nodes with different numbers of ranks keep those without a partner.
            Swap::Nodes => {
                let both = on_host[here.at()].iter().zip(&on_host[there.at()]);
                both.map(|(&one, &other)| (one, other)).collect()
            }
        };
        let before = state.change;
        state.swap(&moves)?;
        if state.change < before {
            kept += 1;
            for &(one, other) in &moves {
                replace(&mut on_host[here.at()], one, other);
                replace(&mut on_host[there.at()], other, one);
            }
        } else {
            state.swap(&moves)?;
        }
    }
    Ok((Placement { hosts: state.hosts, slots: state.slots }, kept))
}

fn replace(ranks: &mut [u32], old: u32, new: u32) {
    if let Some(place) = ranks.iter_mut().find(|rank| **rank == old) {
        *place = new;
    }
}

impl State<'_> {
    /// A rank to swap with: one next to a rank that this one sends to or receives from, so that the
    /// two come together; any one for nodes, and where that rank is alone on its node.
    fn partner(
        &self,
        one: u32,
        swap: Swap,
        on_host: &[Vec<u32>],
        random: &mut Random,
    ) -> Option<u32> {
        let other = match swap {
            Swap::Nodes => random.below(self.hosts.len()) as u32,
            Swap::Ranks => {
                let edges = self.graph.edges(one);
                let edge = (!edges.is_empty()).then(|| &edges[random.below(edges.len())])?;
                let beside = &on_host[self.hosts[edge.to as usize].at()];
                let other = beside[random.below(beside.len())];
                match beside.len() {
                    1 => random.below(self.hosts.len()) as u32,
                    _ => (other != edge.to).then_some(other)?,
                }
            }
        };
        (self.hosts[one as usize] != self.hosts[other as usize]).then_some(other)
    }

    /// Swaps pairs of ranks; their bytes are subtracted from the old routes and added to the new
    /// ones.
    fn swap(&mut self, moves: &[(u32, u32)]) -> Result<(), TrafficError> {
        let ranks = || moves.iter().flat_map(|&(one, other)| [one, other]);
        ranks().for_each(|rank| self.moving[rank as usize] = true);
        self.ranks(ranks(), -1)?;
        for &(one, other) in moves {
            let (one, other) = (one as usize, other as usize);
            self.hosts.swap(one, other);
            self.slots.swap(one, other);
        }
        self.ranks(ranks(), 1)?;
        ranks().for_each(|rank| self.moving[rank as usize] = false);
        Ok(())
    }

    /// Adds or subtracts all bytes that moving ranks send and receive; bytes between two of them
    /// once.
    fn ranks(&mut self, ranks: impl Iterator<Item = u32>, sign: i8) -> Result<(), TrafficError> {
        for rank in ranks {
            // Of two moving ranks the lower one has the edge.
            let moving = std::mem::take(&mut self.moving);
            let done = self.rank(rank, sign, |to| to > rank || !moving[to as usize]);
            self.moving = moving;
            done?;
        }
        Ok(())
    }

    /// Adds or subtracts the bytes that a rank exchanges with those ranks for which `counts` is
    /// true.
    fn rank(
        &mut self,
        rank: u32,
        sign: i8,
        counts: impl Fn(u32) -> bool,
    ) -> Result<(), TrafficError> {
        let graph = self.graph;
        for edge in graph.edges(rank).iter().filter(|edge| counts(edge.to)) {
            self.flow((rank, edge.to), edge.out, sign)?;
            self.flow((edge.to, rank), edge.back, sign)?;
        }
        Ok(())
    }

    fn flow(&mut self, ranks: (u32, u32), bytes: u64, sign: i8) -> Result<(), TrafficError> {
        let [one, other] = [ranks.0, ranks.1].map(|rank| rank as usize);
        if self.hosts[one] == self.hosts[other] || bytes == 0 {
            return Ok(());
        }
        let [out, into] =
            [one, other].map(|rank| self.rails.share(self.hosts[rank], self.slots[rank]));
        let [out, into] = self.rails.between((out, into), ranks);
        let ports = self.fabric.ports();
        let [from, to] = [out, into].map(|port| ports[port.at()].router);
        let mut way = std::mem::take(&mut self.way);
        way.clear();
        let found = self.routing.way(from, to, self.routing.choice(into), &mut way);
        let links = self.fabric.links().len();
        let ends = [links + out.at(), links + ports.len() + into.at()];
        for place in way.iter().map(|link| link.at()).chain(ends) {
            let load = &mut self.loads[place];
            let before = *load;
            *load = if sign > 0 { before.wrapping_add(bytes) } else { before.wrapping_sub(bytes) };
            // Squares of 63-bit loads would overflow only beyond what any network carries; the sum
            // then wraps, which costs quality alone.
            let square = |load: u64| i128::from(load).wrapping_mul(i128::from(load));
            self.change = self.change.wrapping_add(square(*load).wrapping_sub(square(before)));
        }
        self.way = way;
        Ok(found?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::{Cut, order, partition};
    use crate::route::Dimensions;
    use crate::shape::Torus;
    use crate::shape::torus::Wires;
    use crate::traffic::stencil::{Stencil, Weights};
    use crate::traffic::{Loads, Pairs, Protocol};

    #[test]
    fn swaps_lower_the_squares_and_their_sum_is_kept_right() {
        let torus = Torus::new(&[3, 2, 4]).unwrap();
        let wires = Wires { kind: "cable".to_owned(), lane: Some(1.0), count: 1 };
        let fabric = torus.fabric(&wires, 2).unwrap();
        let routing = Dimensions::new(&torus, &fabric).unwrap();
        let stencil = Stencil {
            grid: [4, 6, 8],
            periodic: [true, false, false],
            weights: Weights { face: 9, edge: 3, corner: 1 },
        };
        let messages = stencil.messages().unwrap();
        let graph = Graph::new(&messages, 192);
        let nodes = order::hosts(&fabric, &order::random(&torus, 1));
        let squares = |placement: &Placement| {
            let places = (placement.hosts(), placement.slots());
            let pairs = Pairs::new(&messages, places, &fabric, &routing, &Protocol::PUT).unwrap();
            let loads = Loads::new(&pairs, &fabric, &routing).unwrap();
            loads.links.iter().map(|load| u128::from(load.bytes).pow(2)).sum::<u128>()
        };
        for (begin, swap) in [
            (Placement::filled(192, 4, &nodes).unwrap(), Swap::Ranks),
            (partition(&graph, Cut::Bisection, 4, &nodes).unwrap(), Swap::Nodes),
        ] {
            let search = Search { swap, tries: 3000, seed: 7 };
            let (better, kept) = improve(&graph, &begin, (&fabric, &routing), &search).unwrap();
            let (again, _) = improve(&graph, &begin, (&fabric, &routing), &search).unwrap();
            assert_eq!(better, again);
            assert!(kept > 10);
            let (before, after) = (squares(&begin), squares(&better));
            println!("{swap:?}: {before} to {after} in {kept} swaps");
            assert!(after < before * 9 / 10, "{before} {after}");
            // Each host has as many ranks as before, on the same slots.
            let sorted = |placement: &Placement| {
                let places = placement.hosts().iter().zip(placement.slots());
                let mut places: Vec<_> = places.map(|(host, slot)| (*host, *slot)).collect();
                places.sort_unstable();
                places
            };
            assert_eq!(sorted(&begin), sorted(&better));
        }
    }

    #[test]
    fn ranks_alone_on_their_nodes_are_swapped_too() {
        let torus = Torus::new(&[12]).unwrap();
        let wires = Wires { kind: "cable".to_owned(), lane: Some(1.0), count: 1 };
        let fabric = torus.fabric(&wires, 1).unwrap();
        let routing = Dimensions::new(&torus, &fabric).unwrap();
        let weights = Weights::faces(9);
        let stencil = Stencil { grid: [12, 1, 1], periodic: [true, false, false], weights };
        let graph = Graph::new(&stencil.messages().unwrap(), 12);
        let nodes = order::hosts(&fabric, &order::random(&torus, 1));
        let begin = Placement::filled(12, 1, &nodes).unwrap();
        let search = Search { swap: Swap::Ranks, tries: 3000, seed: 7 };
        let (better, kept) = improve(&graph, &begin, (&fabric, &routing), &search).unwrap();
        assert!(kept > 0 && better != begin, "{kept} swaps were kept");
    }

    #[test]
    fn what_does_not_fit() {
        let torus = Torus::new(&[2]).unwrap();
        let wires = Wires { kind: "cable".to_owned(), lane: Some(1.0), count: 1 };
        let fabric = torus.fabric(&wires, 1).unwrap();
        let routing = Dimensions::new(&torus, &fabric).unwrap();
        let search = Search { swap: Swap::Ranks, tries: 9, seed: 7 };
        let graph = Graph::new(&crate::traffic::Messages::default(), 2);
        let one = Placement::from_hosts(vec![HostId(0)]);
        assert!(improve(&graph, &one, (&fabric, &routing), &search).is_err());
        let outside = Placement::from_hosts([0, 2].map(HostId).to_vec());
        assert!(improve(&graph, &outside, (&fabric, &routing), &search).is_err());
        let good = Placement::from_hosts([0, 1].map(HostId).to_vec());
        assert_eq!(improve(&graph, &good, (&fabric, &routing), &search).unwrap(), (good, 0));
    }
}

//! Loads of links: packets, phits and bytes that each carries for one placement.
//!
//! Owns the sums over ways, requests and responses each on their own, and the view of a router's tiles, whose counters count what comes in (Pedretti et al., "Using the Cray
//! Gemini Performance Counters", 2013, "Tile Counter Directionality"). It refuses time: see [`crate::fair`].

use rayon::prelude::*;

use super::{Load, Pair, Pairs, TrafficError};
use crate::machine::{Fabric, LinkId, RouterId};
use crate::route::Routing;

/// Loads of all links and of all routers' hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loads {
    /// By [`LinkId`], in the link's own direction.
    pub links: Vec<Load>,
    /// By [`RouterId`]: what its hosts send into it.
    pub injected: Vec<Load>,
    /// By [`RouterId`]: what it hands to its hosts.
    pub delivered: Vec<Load>,
}

/// A row of a router's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The router at the other end of the tiles; none of host tiles.
    pub towards: Option<RouterId>,
    /// What their counters show: what comes from there.
    pub load: Load,
}

impl Loads {
    /// Loads of these pairs on the ways of a routing.
    ///
    /// # Errors
    /// Two routers without a way.
    pub fn new(
        pairs: &Pairs,
        fabric: &Fabric,
        routing: &dyn Routing,
    ) -> Result<Self, TrafficError> {
        let empty = || Self {
            links: vec![Load::default(); fabric.links().len()],
            injected: vec![Load::default(); fabric.routers().len()],
            delivered: vec![Load::default(); fabric.routers().len()],
        };
        let pieces = rayon::current_num_threads().clamp(1, 16);
        let size = pairs.pairs.len().div_ceil(pieces).max(1);
        let some = |pairs: &[Pair]| {
            let mut loads = empty();
            let mut way = Vec::new();
            for pair in pairs {
                loads.add(pair, routing, &mut way)?;
            }
            Ok::<_, TrafficError>(loads)
        };
        let all: Result<Vec<Self>, _> = pairs.pairs.par_chunks(size).map(some).collect();
        let sum = all?.into_iter().reduce(|mut sum, other| {
            sum.sum(&other);
            sum
        });
        Ok(sum.unwrap_or_else(empty))
    }

    fn add(
        &mut self,
        pair: &Pair,
        routing: &dyn Routing,
        way: &mut Vec<LinkId>,
    ) -> Result<(), TrafficError> {
        let Pair { from, to, choice, back_choice, cost, .. } = pair;
        let ways = [(*from, *to, *choice, &cost.there), (*to, *from, *back_choice, &cost.back)];
        for (from, to, choice, load) in ways {
            self.injected[from.at()].sum(load);
            self.delivered[to.at()].sum(load);
            way.clear();
            routing.way(from, to, choice, way)?;
            for link in &*way {
                self.links[link.at()].sum(load);
            }
        }
        Ok(())
    }

    /// Adds other loads of the same fabric.
    pub fn sum(&mut self, other: &Self) {
        let lists = [
            (&mut self.links, &other.links),
            (&mut self.injected, &other.injected),
            (&mut self.delivered, &other.delivered),
        ];
        for (sums, others) in lists {
            sums.iter_mut().zip(others).for_each(|(sum, other)| sum.sum(other));
        }
    }

    /// What the counters of a router show: a row for each link that leaves it, with what comes in from that link's other end, and one of its hosts' tiles, with what they send.
    pub fn shown(&self, fabric: &Fabric, router: RouterId) -> Vec<Shown> {
        let rows = fabric.from(router).1.iter().map(|link| {
            let inward = fabric.link(link.to, router);
            let load = inward.and_then(|link| self.links.get(link.at())).copied();
            Shown { towards: Some(link.to), load: load.unwrap_or_default() }
        });
        let hosts = self.injected.get(router.at()).copied().unwrap_or_default();
        rows.chain([Shown { towards: None, load: hosts }]).collect()
    }
}

//! Routes on any network: up towards roots, then down, never up again (up*/down*, Schroeder et al.,
//! "Autonet", 1991), which cannot deadlock.
//!
//! Owns the shortest of the routes that the rule allows. Among equal ones the number of the
//! destination host decides, digit by digit as in D-mod-k, so that hosts of a switch have different
//! routes, as in the tables of an InfiniBand subnet manager. It refuses networks of more routers
//! than its tables hold.

use rayon::prelude::*;

use crate::error::FabricError;
use crate::machine::{Fabric, LinkId, PortId, RouterId};
use crate::route::roots::Roots;
use crate::route::{NoWay, Routing, no_way};

/// Maximum number of routers: each of the two tables has a number for every pair of them.
pub const MOST_ROUTERS: usize = 8192;

const NONE: u16 = u16::MAX;

/// Up*/down* routes of a network.
#[derive(Clone, Debug)]
pub struct UpDown<'a> {
    fabric: &'a Fabric,
    /// Place of each router in the order by level and then number.
    rank: Vec<u32>,
    /// For each destination and router: minimum hops while the route may go up.
    hops: Vec<u16>,
    /// The same once it has gone down.
    down: Vec<u16>,
    /// Number of each port of a host at its router.
    slots: Vec<u32>,
    /// For each router the number of routers with hosts before it.
    before: Vec<u32>,
    /// Maximum number of links up from a router with hosts.
    choices: u32,
}

impl<'a> UpDown<'a> {
    /// The routes on this network below its top: roots are the routers with the fewest hops to the
    /// hosts, as all top switches of a fat tree. Where such roots leave routers with hosts without
    /// a route, one root of each part of the network is taken.
    ///
    /// # Errors
    /// More than [`MOST_ROUTERS`] routers.
    pub fn tree(fabric: &'a Fabric) -> Result<Self, FabricError> {
        check(fabric)?;
        let roots = Roots::from_fabric(fabric);
        let ways = Self::below(fabric, &roots.roots);
        if ways.all_joined(&roots) {
            return Ok(ways);
        }
        // Tables of a large network take memory.
        drop(ways);
        Ok(Self::below(fabric, &roots.first()))
    }

    /// The routes on this network below one root. Parts that the root does not reach have roots of
    /// their own: the first router of each.
    ///
    /// # Errors
    /// More than [`MOST_ROUTERS`] routers.
    pub fn new(fabric: &'a Fabric, root: RouterId) -> Result<Self, FabricError> {
        check(fabric)?;
        Ok(Self::below(fabric, &[root]))
    }

    fn below(fabric: &'a Fabric, roots: &[RouterId]) -> Self {
        let routers = fabric.routers().len();
        let rank = order(fabric, roots);
        let mut sorted: Vec<RouterId> = (0..routers as u32).map(RouterId).collect();
        sorted.sort_unstable_by_key(|router| rank[router.at()]);
        let mut hops = vec![NONE; routers * routers];
        let mut down = hops.clone();
        let rows = hops.par_chunks_mut(routers.max(1)).zip(down.par_chunks_mut(routers.max(1)));
        rows.enumerate()
            .for_each(|(to, (hops, down))| table(fabric, &rank, &sorted, to, hops, down));
        let mut with_hosts = vec![0_u32; routers];
        let slot = |port: &crate::machine::Port| {
            with_hosts[port.router.at()] += 1;
            with_hosts[port.router.at()] - 1
        };
        let slots = fabric.ports().iter().map(slot).collect();
        let ups = |router: RouterId| {
            let links = fabric.from(router).1.iter();
            links.filter(|link| rank[link.to.at()] < rank[router.at()]).count() as u32
        };
        let leaves = (0..).map(RouterId).zip(&with_hosts).filter(|(_, hosts)| **hosts > 0);
        let choices = leaves.map(|(router, _)| ups(router)).max().unwrap_or(1).max(1);
        let mut before = 0;
        let all_before = with_hosts.iter().map(|&hosts| {
            before += u32::from(hosts > 0);
            before - u32::from(hosts > 0)
        });
        let before = all_before.collect();
        Self { fabric, rank, hops, down, slots, before, choices }
    }

    /// True if all connected pairs of routers with hosts have a route.
    fn all_joined(&self, roots: &Roots) -> bool {
        let routers = self.rank.len();
        let mut with_hosts: Vec<usize> =
            self.fabric.ports().iter().map(|port| port.router.at()).collect();
        with_hosts.sort_unstable();
        with_hosts.dedup();
        with_hosts.par_iter().all(|&to| {
            let row = &self.hops[to * routers..][..routers];
            let apart = |from: usize| roots.parts[from] != roots.parts[to];
            with_hosts.iter().all(|&from| row[from] != NONE || apart(from))
        })
    }

    /// A central root: the router with the most links, the first of several.
    pub fn root(fabric: &Fabric) -> RouterId {
        let routers = (0..fabric.routers().len() as u32).map(RouterId);
        let most = routers.max_by_key(|&router| (fabric.from(router).1.len(), !router.0));
        most.unwrap_or_default()
    }
}

fn check(fabric: &Fabric) -> Result<(), FabricError> {
    if fabric.routers().len() > MOST_ROUTERS {
        let what = "routers for tables of ways";
        return Err(FabricError::TooMany { what, most: MOST_ROUTERS });
    }
    Ok(())
}

/// The place of each router by hops from the nearest root, then by number.
fn order(fabric: &Fabric, roots: &[RouterId]) -> Vec<u32> {
    let routers = fabric.routers().len();
    let mut rank = vec![u32::MAX; routers];
    let mut queue: Vec<RouterId> = Vec::with_capacity(routers);
    let inside = roots.iter().copied().filter(|root| root.at() < routers).collect();
    // Then those that no root reaches.
    let others = (0..routers as u32).map(|router| vec![RouterId(router)]);
    for mut level in std::iter::once(inside).chain(others) {
        level.retain(|root: &RouterId| std::mem::replace(&mut rank[root.at()], 0) == u32::MAX);
        while !level.is_empty() {
            level.sort_unstable();
            let mut next = Vec::new();
            for &router in &level {
                for link in fabric.from(router).1 {
                    if rank[link.to.at()] == u32::MAX {
                        rank[link.to.at()] = 0;
                        next.push(link.to);
                    }
                }
            }
            queue.append(&mut level);
            level = next;
        }
    }
    for (place, router) in (0..).zip(&queue) {
        rank[router.at()] = place;
    }
    rank
}

/// Minimum hops to one destination, from all routers.
fn table(
    fabric: &Fabric,
    rank: &[u32],
    sorted: &[RouterId],
    to: usize,
    hops: &mut [u16],
    down: &mut [u16],
) {
    let is_up = |from: RouterId, to: RouterId| rank[to.at()] < rank[from.at()];
    // With links down alone: computed for lower routers before higher ones.
    down[to] = 0;
    for &router in sorted.iter().rev().filter(|router| router.at() != to) {
        let below = fabric.from(router).1.iter().filter(|link| !is_up(router, link.to));
        down[router.at()] = below.map(|link| further(down[link.to.at()])).min().unwrap_or(NONE);
    }
    // While the route may still go up: computed for higher routers before lower ones.
    hops.copy_from_slice(down);
    for &router in sorted {
        let above = fabric.from(router).1.iter().filter(|link| is_up(router, link.to));
        let by_up = above.map(|link| further(hops[link.to.at()])).min().unwrap_or(NONE);
        hops[router.at()] = hops[router.at()].min(by_up);
    }
}

/// One hop more; there are fewer than [`MOST_ROUTERS`].
fn further(hops: u16) -> u16 {
    hops.saturating_add(1)
}

impl Routing for UpDown<'_> {
    fn name(&self) -> &'static str {
        "up*/down*"
    }

    fn way(
        &self,
        from: RouterId,
        to: RouterId,
        choice: u32,
        links: &mut Vec<LinkId>,
    ) -> Result<(), NoWay> {
        let (begin, routers) = (links.len(), self.rank.len());
        if from.at() >= routers || to.at() >= routers {
            return no_way(from, to, begin, links);
        }
        let [hops, down] = [&self.hops, &self.down].map(|all| &all[to.at() * routers..][..routers]);
        if hops[from.at()] == NONE {
            return no_way(from, to, begin, links);
        }
        let mut here = from;
        let mut may_go_up = true;
        // The rest of the number after the digits that were used.
        let mut number = (self.before[to.at()] as usize)
            .wrapping_mul(self.choices as usize)
            .wrapping_add((choice % self.choices) as usize);
        while here != to {
            may_go_up = may_go_up && hops[here.at()] < down[here.at()];
            let left = if may_go_up { hops } else { down };
            let next = left[here.at()].wrapping_sub(1);
            let (first, of_router) = self.fabric.from(here);
            let mut good =
                (0..).map(|at| LinkId(first.0 + at)).zip(of_router).filter(|(_, link)| {
                    let up = self.rank[link.to.at()] < self.rank[here.at()];
                    up == may_go_up && left[link.to.at()] == next
                });
            let equal = good.clone().count().max(1);
            let Some((id, link)) = good.nth(number % equal) else {
                return no_way(from, to, begin, links);
            };
            number /= equal;
            links.push(id);
            here = link.to;
        }
        Ok(())
    }

    fn choices(&self) -> u32 {
        self.choices
    }

    fn choice(&self, to: PortId) -> u32 {
        self.slots.get(to.at()).map_or(0, |slot| slot % self.choices)
    }

    fn dimensions(&self) -> Vec<String> {
        ["up", "down"].map(str::to_owned).to_vec()
    }

    fn dimension(&self, link: LinkId) -> usize {
        let link = self.fabric.links().get(link.at());
        usize::from(link.is_some_and(|link| self.rank[link.to.at()] > self.rank[link.from.at()]))
    }
}

#[cfg(test)]
#[path = "up_down_tests.rs"]
mod tests;

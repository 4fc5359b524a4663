//! Ways on any network: up towards a root, then down, never up again (up*/down*, Schroeder et al., "Autonet", 1991), which cannot deadlock.
//!
//! Owns the shortest way of those that the rule allows; among equal ones the destination's number tells, so that destinations spread over parallel links as the tables of an InfiniBand
//! subnet manager do. It refuses networks of more routers than its tables hold.

use rayon::prelude::*;

use crate::error::FabricError;
use crate::machine::{Fabric, LinkId, RouterId};
use crate::route::{NoWay, Routing, no_way};

/// Most routers: both tables have a number for each two of them.
pub const MOST_ROUTERS: usize = 8192;

const NONE: u16 = u16::MAX;

/// Up*/down* ways of a network.
#[derive(Clone, Debug)]
pub struct UpDown<'a> {
    fabric: &'a Fabric,
    /// Place of each router in the order by level and then number.
    rank: Vec<u32>,
    /// For each destination and router: which of its links comes next while the way may go up.
    up: Vec<u16>,
    /// The same once it has gone down.
    down: Vec<u16>,
}

impl<'a> UpDown<'a> {
    /// The ways on this network below a root. Parts that the root does not reach have roots of their own: the first router of each.
    ///
    /// # Errors
    /// More than [`MOST_ROUTERS`] routers, or a router of 65,535 or more links.
    pub fn new(fabric: &'a Fabric, root: RouterId) -> Result<Self, FabricError> {
        let routers = fabric.routers().len();
        if routers > MOST_ROUTERS {
            let what = "routers for tables of ways";
            return Err(FabricError::TooMany { what, most: MOST_ROUTERS });
        }
        let rank = order(fabric, root);
        let mut sorted: Vec<RouterId> = (0..routers as u32).map(RouterId).collect();
        sorted.sort_unstable_by_key(|router| rank[router.at()]);
        let mut up = vec![NONE; routers * routers];
        let mut down = up.clone();
        let rows = up.par_chunks_mut(routers.max(1)).zip(down.par_chunks_mut(routers.max(1)));
        rows.enumerate().for_each(|(to, (up, down))| table(fabric, &rank, &sorted, to, up, down));
        Ok(Self { fabric, rank, up, down })
    }

    /// A root that is near to all: the router with the most links, the first of them.
    pub fn root(fabric: &Fabric) -> RouterId {
        let routers = (0..fabric.routers().len() as u32).map(RouterId);
        let most = routers.max_by_key(|&router| (fabric.from(router).1.len(), !router.0));
        most.unwrap_or_default()
    }
}

/// The place of each router by hops from the root, then by number.
fn order(fabric: &Fabric, root: RouterId) -> Vec<u32> {
    let routers = fabric.routers().len();
    let mut rank = vec![u32::MAX; routers];
    let mut queue: Vec<RouterId> = Vec::with_capacity(routers);
    let roots = std::iter::once(root).chain((0..routers as u32).map(RouterId));
    for root in roots.filter(|root| root.at() < routers) {
        if rank[root.at()] != u32::MAX {
            continue;
        }
        rank[root.at()] = 0;
        let mut level = vec![root];
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

/// Next links towards one destination, of all routers.
fn table(
    fabric: &Fabric,
    rank: &[u32],
    sorted: &[RouterId],
    to: usize,
    up: &mut [u16],
    down: &mut [u16],
) {
    let is_up = |from: RouterId, to: RouterId| rank[to.at()] < rank[from.at()];
    // Hops if only links down are taken: known of lower routers before higher ones.
    let mut only_down = vec![u32::MAX; sorted.len()];
    only_down[to] = 0;
    for &router in sorted.iter().rev().filter(|router| router.at() != to) {
        let links = fabric.from(router).1;
        let hops = links.iter().map(|link| match is_up(router, link.to) {
            true => u32::MAX,
            false => only_down[link.to.at()].saturating_add(1),
        });
        (only_down[router.at()], down[router.at()]) = nearest(hops, to);
    }
    // Hops if the way may still go up: known of higher routers before lower ones.
    let mut hops = only_down.clone();
    for &router in sorted {
        let links = fabric.from(router).1;
        let by_up = links.iter().map(|link| match is_up(router, link.to) {
            true => hops[link.to.at()].saturating_add(1),
            false => u32::MAX,
        });
        let (by_up, next) = nearest(by_up, to);
        if by_up < only_down[router.at()] {
            (hops[router.at()], up[router.at()]) = (by_up, next);
        }
    }
}

/// The fewest hops, and the place of a link that has them: of several the destination's number tells.
fn nearest(hops: impl Iterator<Item = u32> + Clone, to: usize) -> (u32, u16) {
    let Some(fewest) = hops.clone().min().filter(|&fewest| fewest != u32::MAX) else {
        return (u32::MAX, NONE);
    };
    let equal = hops.clone().filter(|&hops| hops == fewest).count();
    let mut equals = hops.enumerate().filter(|&(_, hops)| hops == fewest);
    let place = equals.nth(to % equal).map_or(NONE, |(at, _)| u16::try_from(at).unwrap_or(NONE));
    (fewest, place)
}

impl Routing for UpDown<'_> {
    fn name(&self) -> &'static str {
        "up*/down*"
    }

    fn way(
        &self,
        from: RouterId,
        to: RouterId,
        _choice: u32,
        links: &mut Vec<LinkId>,
    ) -> Result<(), NoWay> {
        let (begin, routers) = (links.len(), self.rank.len());
        if from.at() >= routers || to.at() >= routers {
            return no_way(from, to, begin, links);
        }
        let mut here = from;
        let mut may_go_up = true;
        while here != to {
            let at = to.at() * routers + here.at();
            let next = match self.up[at] {
                NONE => NONE,
                next if may_go_up => next,
                _ => NONE,
            };
            may_go_up = next != NONE;
            let next = if may_go_up { next } else { self.down[at] };
            let (first, of_router) = self.fabric.from(here);
            match of_router.get(usize::from(next)) {
                Some(link) => {
                    links.push(LinkId(first.0 + u32::from(next)));
                    here = link.to;
                }
                None => return no_way(from, to, begin, links),
            }
        }
        Ok(())
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
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::machine::Draft;
    use crate::route::oracle;
    use crate::shape::torus::Wires;
    use crate::shape::{FatTree, Torus};

    fn network(routers: u32, cables: &[(u32, u32)]) -> Fabric {
        let mut draft = Draft::default();
        let kind = draft.kind("cable", Some(1.0)).unwrap();
        for router in 0..routers {
            draft.router(router.to_string(), None).unwrap();
        }
        for &(one, other) in cables.iter().filter(|ends| ends.0 != ends.1) {
            draft.cable((RouterId(one), RouterId(other)), kind, 1).unwrap();
        }
        draft.finish().unwrap()
    }

    /// Fewest hops of a way up and then down, over all ways of both kinds.
    fn fewest(fabric: &Fabric, rank: &[u32], ends: (RouterId, RouterId)) -> Option<usize> {
        let mut seen = vec![[false; 2]; rank.len()];
        let mut queue = VecDeque::from([(ends.0, false, 0)]);
        while let Some((router, down, hops)) = queue.pop_front() {
            if router == ends.1 {
                return Some(hops);
            }
            if std::mem::replace(&mut seen[router.at()][usize::from(down)], true) {
                continue;
            }
            for link in fabric.from(router).1 {
                let goes_down = rank[link.to.at()] > rank[router.at()];
                if goes_down || !down {
                    queue.push_back((link.to, goes_down, hops + 1));
                }
            }
        }
        None
    }

    #[test]
    fn parts_that_are_not_joined() {
        let fabric = network(5, &[(0, 1), (3, 4)]);
        let routing = UpDown::new(&fabric, RouterId(1)).unwrap();
        assert!(routing.way(RouterId(0), RouterId(3), 0, &mut Vec::new()).is_err());
        assert!(routing.way(RouterId(0), RouterId(9), 0, &mut Vec::new()).is_err());
        assert_eq!(oracle::way(&fabric, &routing, (RouterId(4), RouterId(3)), 0).len(), 2);
        assert_eq!(oracle::way(&fabric, &routing, (RouterId(2), RouterId(2)), 0).len(), 1);
        let far = UpDown::new(&fabric, RouterId(99)).unwrap();
        assert_eq!(oracle::way(&fabric, &far, (RouterId(0), RouterId(1)), 0).len(), 2);
    }

    #[test]
    fn no_tables_for_too_many_routers() {
        let wires = Wires { kind: "cable".to_owned(), lane: None, count: 1 };
        let fabric = Torus::new(&[8193]).unwrap().fabric(&wires, 0).unwrap();
        let error = UpDown::new(&fabric, RouterId(0)).unwrap_err();
        assert_eq!(error.to_string(), "more than 8192 routers for tables of ways");
    }

    #[test]
    fn destinations_spread_over_equal_ways() {
        let wires = Wires { kind: "cable".to_owned(), lane: None, count: 1 };
        let fabric = FatTree::k_ary(4, 2).unwrap().fabric(&wires).unwrap();
        let routing = UpDown::new(&fabric, UpDown::root(&fabric)).unwrap();
        let mut by: Vec<_> = (1..4)
            .map(|to| oracle::way(&fabric, &routing, (RouterId(0), RouterId(to)), 0)[1])
            .collect();
        by.sort_unstable();
        by.dedup();
        assert_eq!(by.len(), 3, "{by:?}");
    }

    proptest! {
        #[test]
        fn ways_are_the_shortest_that_may_be(
            routers in 1_u32..14,
            cables in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..30),
            root in any::<prop::sample::Index>(),
        ) {
            let end = |index: &prop::sample::Index| index.index(routers as usize) as u32;
            let cables: Vec<_> = cables.iter().map(|(one, other)| (end(one), end(other))).collect();
            let fabric = network(routers, &cables);
            let routing = UpDown::new(&fabric, RouterId(end(&root))).unwrap();
            for from in (0..routers).map(RouterId) {
                for to in (0..routers).map(RouterId) {
                    let expected = fewest(&fabric, &routing.rank, (from, to));
                    if expected.is_none() {
                        prop_assert!(routing.way(from, to, 0, &mut Vec::new()).is_err());
                        continue;
                    }
                    let passed = oracle::way(&fabric, &routing, (from, to), 0);
                    prop_assert_eq!(Some(passed.len() - 1), expected);
                    let downs = passed
                        .windows(2)
                        .map(|pair| routing.dimension(fabric.link(pair[0], pair[1]).unwrap()));
                    prop_assert!(downs.collect::<Vec<_>>().is_sorted());
                }
            }
        }
    }
}

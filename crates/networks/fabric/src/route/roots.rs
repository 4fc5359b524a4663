//! Routers at the top of a network: the roots of routes upwards.
//!
//! Owns the choice by hops to hosts: from the top switches of a fat tree all hosts are equally few
//! hops away, from those below only the hosts of their own part are. One root alone would put the
//! other top switches below the leaf switches, where no route up leads. A few missing cables or a
//! host at a top switch must not change the roots, so that three quarters of the hosts decide. It
//! refuses names and coordinates. The idea is that of the search for roots by histograms of hops in
//! InfiniBand's subnet manager (`osm_ucast_updn.c`).

use rayon::prelude::*;

use crate::machine::{Fabric, RouterId};

/// No hop count, or no part.
const NONE: u32 = u32::MAX;

/// Roots of a network, and the part of each router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Roots {
    /// Of each part the routers that are nearest to its hosts; the one with the most links comes
    /// first in its part.
    pub(super) roots: Vec<RouterId>,
    /// By [`RouterId`]: the number of the router's connected part of the network.
    pub(super) parts: Vec<u32>,
}

impl Roots {
    /// Roots of a network. A part without hosts is judged by its routers.
    pub(super) fn from_fabric(fabric: &Fabric) -> Self {
        let mut hosts = vec![0_u32; fabric.routers().len()];
        for port in fabric.ports() {
            hosts[port.router.at()] += 1;
        }
        let (parts, count) = parts(fabric);
        let mut of_part = vec![0_u32; count];
        for (&part, &hosts) in parts.iter().zip(&hosts) {
            of_part[part as usize] += hosts;
        }
        // Routers represent hosts in a part without any.
        let weights: Vec<u32> = (parts.iter().zip(&hosts))
            .map(|(&part, &hosts)| if of_part[part as usize] == 0 { 1 } else { hosts })
            .collect();
        let far: Vec<u32> = (0..parts.len())
            .into_par_iter()
            .map_init(
                || vec![NONE; parts.len()],
                |seen, router| far(fabric, &weights, router, seen),
            )
            .collect();
        let mut nearest = vec![NONE; count];
        for (&part, &far) in parts.iter().zip(&far) {
            nearest[part as usize] = nearest[part as usize].min(far);
        }
        let mut roots: Vec<RouterId> = (0..)
            .map(RouterId)
            .take(parts.len())
            .filter(|router| far[router.at()] == nearest[parts[router.at()] as usize])
            .collect();
        let links = |router: RouterId| fabric.from(router).1.len();
        roots.sort_by_key(|&root| (parts[root.at()], std::cmp::Reverse(links(root)), root));
        Self { roots, parts }
    }

    /// The first root of each part.
    pub(super) fn first(&self) -> Vec<RouterId> {
        let mut first = self.roots.clone();
        first.dedup_by_key(|root| self.parts[root.at()]);
        first
    }
}

/// The part of each router, and the number of parts.
pub(crate) fn parts(fabric: &Fabric) -> (Vec<u32>, usize) {
    let mut parts = vec![NONE; fabric.routers().len()];
    let mut count = 0;
    let mut todo = Vec::new();
    for first in (0..parts.len() as u32).map(RouterId) {
        if parts[first.at()] != NONE {
            continue;
        }
        parts[first.at()] = count;
        todo.push(first);
        while let Some(router) = todo.pop() {
            for link in fabric.from(router).1 {
                if parts[link.to.at()] == NONE {
                    parts[link.to.at()] = count;
                    todo.push(link.to);
                }
            }
        }
        count += 1;
    }
    (parts, count as usize)
}

/// Hops to the farthest of the nearest three quarters of the hosts. `hops` is all [`NONE`], and is
/// so again.
fn far(fabric: &Fabric, weights: &[u32], from: usize, hops: &mut [u32]) -> u32 {
    let mut reached = vec![RouterId(from as u32)];
    hops[from] = 0;
    let mut at = 0;
    while let Some(&router) = reached.get(at) {
        at += 1;
        for link in fabric.from(router).1 {
            if hops[link.to.at()] == NONE {
                hops[link.to.at()] = hops[router.at()] + 1;
                reached.push(link.to);
            }
        }
    }
    let weight = |router: &RouterId| u64::from(weights[router.at()]);
    let all: u64 = reached.iter().map(weight).sum();
    let mut within = 0;
    let last = reached.iter().find(|router| {
        within += weight(router);
        within * 4 >= all * 3
    });
    let far = last.map_or(0, |router| hops[router.at()]);
    for router in reached {
        hops[router.at()] = NONE;
    }
    far
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Draft;
    use crate::shape::FatTree;
    use crate::shape::torus::Wires;

    fn roots(fabric: &Fabric) -> Vec<u32> {
        let mut roots: Vec<_> =
            Roots::from_fabric(fabric).roots.iter().map(|root| root.0).collect();
        roots.sort_unstable();
        roots
    }

    #[test]
    fn the_top_of_a_tree() {
        let wires = Wires { kind: "cable".to_owned(), lane: None, count: 1 };
        for (children, parents) in
            [(&[4, 6][..], &[1, 3][..]), (&[2, 2, 2], &[1, 2, 2]), (&[3, 3, 4], &[1, 3, 2])]
        {
            let tree = FatTree::new(children, parents).unwrap();
            let fabric = tree.fabric(&wires).unwrap();
            let top = tree.levels() - 1;
            let first = tree.first(top) as u32;
            let expected: Vec<u32> = (first..first + tree.switches(top) as u32).collect();
            assert_eq!(roots(&fabric), expected, "{children:?}");
        }
    }

    #[test]
    fn parts_have_their_own() {
        // Six leaf switches below two others, of which one lacks a cable and one has a host; and
        // two separate switches.
        let mut draft = Draft::default();
        let kind = draft.kind("cable", None).unwrap();
        let ids: Vec<_> = (0..10).map(|at| draft.router(at.to_string(), None).unwrap()).collect();
        for leaf in 0..6 {
            for host in 0..4 {
                draft.host(format!("{leaf}.{host}"), ids[leaf]).unwrap();
            }
            for top in [6, 7].into_iter().filter(|top| (leaf, *top) != (5, 7)) {
                draft.cable((ids[leaf], ids[top]), kind, 1).unwrap();
            }
        }
        draft.host("storage".to_owned(), ids[6]).unwrap();
        draft.cable((ids[8], ids[9]), kind, 1).unwrap();
        let fabric = draft.finish().unwrap();
        assert_eq!(roots(&fabric), [6, 7, 8, 9]);
        let roots = Roots::from_fabric(&fabric);
        assert_eq!(roots.first(), [6, 8].map(RouterId));
        assert_eq!(roots.parts, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
    }
}

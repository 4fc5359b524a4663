//! Routes on a fat tree: up to the lowest switches above both ends, down again.
//!
//! Owns the choice of the parent by the destination host, D-mod-k (Zahavi, "D-Mod-K Routing
//! Providing Non-Blocking Traffic for Shift Permutations on Real Life Fat Trees", 2010): at level l
//! it is floor(d / (w1 ... wl)) mod w(l+1), so that each host is reached by one switch of the top.
//! It refuses trees with missing links.

use crate::error::FabricError;
use crate::machine::{Fabric, LinkId, PortId, RouterId};
use crate::route::{NoWay, Routing, no_way};
use crate::shape::FatTree;

/// D-mod-k on a fat tree built by [`FatTree::fabric`].
#[derive(Clone, Debug)]
pub struct DModK<'a> {
    tree: FatTree,
    fabric: &'a Fabric,
}

impl<'a> DModK<'a> {
    /// The routes on this fabric, which may lack hosts of the last leaf switches.
    ///
    /// # Errors
    /// A number of switches other than that of the tree, or more hosts.
    pub fn new(tree: &FatTree, fabric: &'a Fabric) -> Result<Self, FabricError> {
        let (found, expected) = (fabric.routers().len(), tree.first(tree.levels()));
        if found != expected || fabric.hosts().len() > tree.hosts() {
            let (what, expected) = ("the number of switches or hosts", "those of the fat tree");
            return Err(FabricError::Size { what, found: found as u64, expected });
        }
        Ok(Self { tree: tree.clone(), fabric })
    }
}

impl Routing for DModK<'_> {
    fn name(&self) -> &'static str {
        "D-mod-k"
    }

    /// Between leaf switches; the choice is the number of the host at its leaf switch.
    fn way(
        &self,
        from: RouterId,
        to: RouterId,
        choice: u32,
        links: &mut Vec<LinkId>,
    ) -> Result<(), NoWay> {
        let (begin, leaves) = (links.len(), self.tree.switches(0));
        if from.at() >= leaves || to.at() >= leaves {
            return no_way(from, to, begin, links);
        }
        let hosts = usize::from(self.tree.children()[0]);
        let host = to.at() * hosts + choice as usize % hosts;
        let top = (0..self.tree.levels())
            .find(|&level| from.at() / self.tree.below(level) == to.at() / self.tree.below(level));
        let top = top.unwrap_or_default();
        // The place of the switch above a leaf switch, computed from the choices of parents, serves
        // both directions.
        let mut places = vec![0];
        for level in 1..=top {
            let below = self.tree.above(level - 1);
            let parent = host / below % usize::from(self.tree.parents()[level]);
            places.push(places[level - 1] + parent * below);
        }
        let up = (0..=top).map(|level| self.tree.switch(level, from.at(), places[level]));
        let down = (0..top).rev().map(|level| self.tree.switch(level, to.at(), places[level]));
        let mut here = from;
        for next in up.chain(down).skip(1) {
            match self.fabric.link(here, next) {
                Some(link) => links.push(link),
                None => return no_way(from, to, begin, links),
            }
            here = next;
        }
        Ok(())
    }

    fn choices(&self) -> u32 {
        self.tree.children()[0].into()
    }

    fn choice(&self, to: PortId) -> u32 {
        to.0 % self.choices()
    }

    fn dimensions(&self) -> Vec<String> {
        ["up", "down"].map(str::to_owned).to_vec()
    }

    /// Numbers of switches grow from level to level.
    fn dimension(&self, link: LinkId) -> usize {
        usize::from(self.fabric.links().get(link.at()).is_some_and(|link| link.to < link.from))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::route::oracle;
    use crate::shape::torus::Wires;

    fn fabric(tree: &FatTree) -> Fabric {
        let wires = Wires { kind: "cable".to_owned(), lane: Some(1.0), count: 1 };
        tree.fabric(&wires).unwrap()
    }

    #[test]
    fn a_shift_of_all_hosts_shares_no_link() {
        // The purpose of the rule: each host sends to the one a fixed distance further, and no link
        // of a full tree carries two of these flows.
        let tree = FatTree::k_ary(4, 3).unwrap();
        let fabric = fabric(&tree);
        let routing = DModK::new(&tree, &fabric).unwrap();
        for shift in 1..64_u32 {
            let mut seen = vec![0; fabric.links().len()];
            for from in 0..64 {
                let to = PortId((from + shift) % 64);
                let ends = (RouterId(from / 4), fabric.ports()[to.at()].router);
                let mut links = Vec::new();
                routing.way(ends.0, ends.1, routing.choice(to), &mut links).unwrap();
                for link in links {
                    seen[link.at()] += 1;
                }
            }
            assert!(seen.iter().all(|&seen| seen <= 1), "shift {shift}");
        }
    }

    #[test]
    fn only_between_leaf_switches_of_the_tree() {
        let tree = FatTree::k_ary(2, 2).unwrap();
        let fabric = fabric(&tree);
        let routing = DModK::new(&tree, &fabric).unwrap();
        assert!(routing.way(RouterId(0), RouterId(2), 0, &mut Vec::new()).is_err());
        assert!(DModK::new(&FatTree::k_ary(2, 3).unwrap(), &fabric).is_err());
    }

    proptest! {
        #[test]
        fn ways_are_as_short_as_can_be_and_go_up_before_down(
            sizes in prop::collection::vec((1_u16..4, 1_u16..4), 1..=4),
            ends in any::<[prop::sample::Index; 2]>(),
            choice in 0_u32..4,
        ) {
            let children: Vec<_> = sizes.iter().map(|size| size.0).collect();
            let mut parents: Vec<_> = sizes.iter().map(|size| size.1).collect();
            parents[0] = 1;
            let tree = FatTree::new(&children, &parents).unwrap();
            let fabric = fabric(&tree);
            let routing = DModK::new(&tree, &fabric).unwrap();
            let ends = ends.map(|end| RouterId(end.index(tree.switches(0)) as u32));
            let passed = oracle::way(&fabric, &routing, (ends[0], ends[1]), choice);
            prop_assert_eq!(Some(passed.len() - 1), oracle::hops(&fabric, ends[0])[ends[1].at()]);
            let up = passed.windows(2).filter(|pair| pair[0] < pair[1]).count();
            prop_assert_eq!(up * 2, passed.len() - 1);
        }
    }
}

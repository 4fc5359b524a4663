//! A fat tree: extended generalised, XGFT(h; m1..mh; w1..wh) (Öhring, Ibel, Das and Kumar, "On
//! Generalized Fat Trees", 1995). K-ary n-trees are a case of it.
//!
//! Owns levels and labels of switches: leaf switches first, then level by level. A host has one
//! link, so w1 is 1. It refuses routes: [`crate::route::DModK`].

use serde::{Deserialize, Serialize};

use crate::coordinate::{Coordinate, MOST_AXES};
use crate::error::FabricError;
use crate::machine::{Draft, Fabric, RouterId, fits};
use crate::shape::torus::Wires;

/// Maximum number of switches, and of hosts.
const MOST: u64 = 1 << 22;

/// Maximum number of levels of switches: a coordinate has the level before the label.
pub const MOST_LEVELS: usize = MOST_AXES - 1;

/// Sizes of a fat tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FatTree {
    children: Vec<u16>,
    parents: Vec<u16>,
}

impl FatTree {
    /// Children of a switch at each level (m1 are hosts of a leaf switch), and parents of the items
    /// below each level (w1 = 1, w2 switches above a leaf switch ...).
    ///
    /// # Errors
    /// No level or more than five, lists of two lengths, a number of 0, w1 other than 1, or more
    /// than 2^22 switches or hosts.
    pub fn new(children: &[u16], parents: &[u16]) -> Result<Self, FabricError> {
        let size = |what, found: u64, expected| Err(FabricError::Size { what, found, expected });
        let levels = children.len();
        if levels == 0 || levels > MOST_LEVELS {
            return size("the number of levels of switches", levels as u64, "1 to 5");
        }
        if parents.len() != levels {
            let what = "the number of levels that have parents";
            return size(what, parents.len() as u64, "as many as those that have children");
        }
        if parents[0] != 1 {
            return size("the number of parents of a host", parents[0].into(), "1");
        }
        if children.iter().chain(parents).any(|&number| number == 0) {
            return size("the number of children or parents", 0, "1 or more");
        }
        let tree = Self { children: children.to_vec(), parents: parents.to_vec() };
        let product = |numbers: &[u16]| {
            numbers.iter().fold(1_u64, |all, &next| all.saturating_mul(next.into()))
        };
        let switches: u64 = (1..=levels)
            .map(|level| product(&children[level..]).saturating_mul(product(&parents[..level])))
            .fold(0, u64::saturating_add);
        if switches > MOST || product(children) > MOST {
            let found = switches.max(product(children));
            return size("the number of switches or hosts", found, "up to 2^22");
        }
        let links = |level: usize| (tree.switches(level - 1) as u64) * u64::from(parents[level]);
        let links: u64 = (1..levels).map(links).sum();
        if links > MOST {
            return size("the number of cables between switches", links, "up to 2^22");
        }
        Ok(tree)
    }

    /// A k-ary n-tree: n levels of switches, k children and k parents each, k^n hosts.
    ///
    /// # Errors
    /// Those of [`FatTree::new`].
    pub fn k_ary(k: u16, n: usize) -> Result<Self, FabricError> {
        let n = n.min(MOST_LEVELS + 1);
        let mut parents = vec![k; n];
        if let Some(first) = parents.first_mut() {
            *first = 1;
        }
        Self::new(&vec![k; n], &parents)
    }

    /// Levels of switches.
    pub fn levels(&self) -> usize {
        self.children.len()
    }

    /// Children of a switch of each level, from the leaf switches up.
    pub fn children(&self) -> &[u16] {
        &self.children
    }

    /// Parents of the items below each level, from the hosts up.
    pub fn parents(&self) -> &[u16] {
        &self.parents
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.children.iter().map(|&next| usize::from(next)).product()
    }

    /// Number of switches of a level, from 0 for the leaf switches.
    pub fn switches(&self, level: usize) -> usize {
        let above = self.children.iter().skip(level + 1);
        above.chain(self.parents.iter().take(level + 1)).map(|&next| usize::from(next)).product()
    }

    /// The number of the first switch of a level.
    pub fn first(&self, level: usize) -> usize {
        (0..level).map(|level| self.switches(level)).sum()
    }

    /// Number of leaf switches below a switch of a level.
    pub fn below(&self, level: usize) -> usize {
        self.children.iter().take(level + 1).skip(1).map(|&next| usize::from(next)).product()
    }

    /// Number of switches of a level above one leaf switch.
    pub fn above(&self, level: usize) -> usize {
        self.parents.iter().take(level + 1).map(|&next| usize::from(next)).product()
    }

    /// The switch of a level that has this place among those above the same leaf switches, and is
    /// above leaf switch `leaf`.
    pub fn switch(&self, level: usize, leaf: usize, place: usize) -> RouterId {
        let at = leaf / self.below(level) * self.above(level) + place;
        RouterId((self.first(level) + at) as u32)
    }

    /// The network: switches `s(0,2)` by level and number in it, hosts `n0`, `n1`, ... by leaf
    /// switch. Hosts' own links are not links of a fabric.
    ///
    /// # Errors
    /// Too many links.
    pub fn fabric(&self, wires: &Wires) -> Result<Fabric, FabricError> {
        fits(self.first(self.levels()), self.hosts(), 0)?;
        let mut draft = Draft::default();
        let kind = draft.kind(&wires.kind, wires.lane)?;
        for level in 0..self.levels() {
            for at in 0..self.switches(level) {
                // A level of more than 2^16 switches has no coordinates; the name distinguishes
                // them.
                let place = u16::try_from(at).ok();
                let place = place.and_then(|at| Coordinate::new(&[level as u16, at]));
                draft.router(format!("s({level},{at})"), place)?;
            }
        }
        let hosts = usize::from(self.children[0]);
        for host in 0..self.hosts() {
            draft.host(format!("n{host}"), RouterId((host / hosts) as u32))?;
        }
        for level in 1..self.levels() {
            let [below, above] = [level - 1, level].map(|level| self.above(level));
            for at in 0..self.switches(level - 1) {
                // The label: the subtree of leaf switches below, and the place among the switches
                // above those.
                let (subtree, place) = (at / below, at % below);
                let child = RouterId((self.first(level - 1) + at) as u32);
                for parent in 0..usize::from(self.parents[level]) {
                    let up = subtree / usize::from(self.children[level]) * above;
                    let up = self.first(level) + up + place + parent * below;
                    draft.cable((child, RouterId(up as u32)), kind, wires.count)?;
                }
            }
        }
        draft.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wires() -> Wires {
        Wires { kind: "4xEDR".to_owned(), lane: Some(12.5e9), count: 1 }
    }

    #[test]
    fn a_k_ary_n_tree() {
        // n k^(n-1) switches and k^n hosts (Petrini and Vanneschi, 1997).
        let tree = FatTree::k_ary(4, 3).unwrap();
        let fabric = tree.fabric(&wires()).unwrap();
        assert_eq!((fabric.routers().len(), fabric.hosts().len()), (3 * 16, 64));
        assert_eq!(fabric.links().len(), 2 * 2 * 16 * 4);
    }

    #[test]
    fn sizes_that_cannot_be() {
        for (children, parents) in [
            (&[][..], &[][..]),
            (&[2; 6], &[1; 6]),
            (&[2, 2], &[1]),
            (&[2, 2], &[2, 2]),
            (&[2, 0], &[1, 1]),
            (&[2, 2], &[1, 0]),
            (&[65_535, 65_535], &[1, 1]),
            (&[2, 65_535], &[1, 65_535]),
        ] {
            let tree = FatTree::new(children, parents);
            assert!(matches!(tree, Err(FabricError::Size { .. })), "{children:?} {parents:?}");
        }
        assert!(FatTree::k_ary(2, usize::MAX).is_err());
        assert!(FatTree::k_ary(0, 2).is_err());
    }

    proptest! {
        #[test]
        fn every_switch_has_its_children_and_parents(
            sizes in prop::collection::vec((1_u16..4, 1_u16..4), 1..=4),
        ) {
            let children: Vec<_> = sizes.iter().map(|size| size.0).collect();
            let mut parents: Vec<_> = sizes.iter().map(|size| size.1).collect();
            parents[0] = 1;
            let tree = FatTree::new(&children, &parents).unwrap();
            let fabric = tree.fabric(&wires()).unwrap();
            let switches: usize = (0..tree.levels()).map(|level| tree.switches(level)).sum();
            prop_assert_eq!(fabric.routers().len(), switches);
            for (level, &children) in children.iter().enumerate() {
                for at in 0..tree.switches(level) {
                    let id = RouterId((tree.first(level) + at) as u32);
                    let links = fabric.from(id).1;
                    let down = links.iter().filter(|link| link.to < id).count();
                    let expected = if level == 0 { 0 } else { usize::from(children) };
                    prop_assert_eq!(down, expected);
                    let up = parents.get(level + 1).map_or(0, |&parents| usize::from(parents));
                    prop_assert_eq!(links.len() - down, up);
                }
            }
        }
    }
}

//! Levels of switches: distance of each from those that have hosts.
//!
//! Owns that number, by which discovered trees are drawn and their links compared. It refuses to
//! decide whether a network is a tree.

use crate::machine::{Fabric, RouterId};

/// By [`RouterId`]: links to the nearest router with hosts, 0 for these and for routers that no
/// such router reaches.
pub fn levels(fabric: &Fabric) -> Vec<u32> {
    const FAR: u32 = u32::MAX;
    let mut levels = vec![FAR; fabric.routers().len()];
    fabric.ports().iter().for_each(|port| levels[port.router.at()] = 0);
    let near = (0..levels.len() as u32).map(RouterId).filter(|router| levels[router.at()] == 0);
    let mut queue: Vec<RouterId> = near.collect();
    let mut at = 0;
    while let Some(&router) = queue.get(at) {
        at += 1;
        for link in fabric.from(router).1 {
            if levels[link.to.at()] == FAR {
                levels[link.to.at()] = levels[router.at()] + 1;
                queue.push(link.to);
            }
        }
    }
    levels.iter_mut().filter(|level| **level == FAR).for_each(|level| *level = 0);
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Draft;
    use crate::shape::FatTree;
    use crate::shape::torus::Wires;

    #[test]
    fn levels_of_a_fat_tree_and_of_nothing() {
        let wires = Wires { kind: "cable".to_owned(), lane: None, count: 1 };
        let tree = FatTree::k_ary(2, 3).unwrap().fabric(&wires).unwrap();
        assert_eq!(levels(&tree), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
        let mut alone = Draft::default();
        alone.router("a".to_owned(), None).unwrap();
        assert_eq!(levels(&alone.finish().unwrap()), [0]);
    }
}

//! Routes on trees, rings and random networks, against D-mod-k and a slow search.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::machine::Draft;
use crate::route::{DModK, oracle};
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

/// Minimum hops of a route up and then down, over all such routes.
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

fn tree(children: &[u16], parents: &[u16]) -> (FatTree, Fabric) {
    let wires = Wires { kind: "cable".to_owned(), lane: None, count: 1 };
    let tree = FatTree::new(children, parents).unwrap();
    let fabric = tree.fabric(&wires).unwrap();
    (tree, fabric)
}

#[test]
fn ways_of_a_tree_are_those_of_d_mod_k() {
    // On trees with as many hosts at a leaf switch as links up from it the two rules agree; single
    // roots would leave all but one top switch without a route.
    for (children, parents) in
        [(&[4, 9][..], &[1, 4][..]), (&[3, 3, 5], &[1, 3, 3]), (&[2, 4, 3], &[1, 2, 3])]
    {
        let (tree, fabric) = tree(children, parents);
        let [ours, known]: [&dyn Routing; 2] =
            [&UpDown::tree(&fabric).unwrap(), &DModK::new(&tree, &fabric).unwrap()];
        for host in (0..fabric.ports().len() as u32).map(PortId) {
            let to = fabric.ports()[host.at()].router;
            for from in (0..tree.switches(0) as u32).map(RouterId) {
                let ways = [ours, known]
                    .map(|one| oracle::way(&fabric, one, (from, to), one.choice(host)));
                assert_eq!(ways[0], ways[1], "{children:?} from {from:?} to {host:?}");
            }
        }
    }
}

#[test]
fn below_one_root_the_other_tops_have_no_way() {
    let (_, fabric) = tree(&[4, 9], &[1, 4]);
    let tops = |routing: &UpDown| {
        let hosts = fabric.ports().iter().zip((0..).map(PortId));
        let mut tops: Vec<RouterId> = hosts
            .filter_map(|(host, id)| {
                let ends = (RouterId(0), host.router);
                oracle::way(&fabric, routing, ends, routing.choice(id)).get(1).copied()
            })
            .collect();
        tops.sort_unstable();
        tops.dedup();
        tops.len()
    };
    assert_eq!(tops(&UpDown::new(&fabric, UpDown::root(&fabric)).unwrap()), 1);
    assert_eq!(tops(&UpDown::tree(&fabric).unwrap()), 4);
}

#[test]
fn roots_that_join_not_all_are_given_up() {
    // In a ring all routers are alike. With all of them as roots, in the order of their numbers,
    // this one goes up and down four times: from 3 to 2 there is no route but down and up.
    let cables: Vec<_> = (0..9).map(|at| (at, (at + 4) % 9)).collect();
    let mut draft = Draft::default();
    let kind = draft.kind("cable", None).unwrap();
    for router in 0..9 {
        let id = draft.router(router.to_string(), None).unwrap();
        draft.host(format!("n{router}"), id).unwrap();
    }
    for (one, other) in cables {
        draft.cable((RouterId(one), RouterId(other)), kind, 1).unwrap();
    }
    let fabric = draft.finish().unwrap();
    assert!(
        !UpDown::below(&fabric, &Roots::from_fabric(&fabric).roots)
            .all_joined(&Roots::from_fabric(&fabric))
    );
    let routing = UpDown::tree(&fabric).unwrap();
    for ends in (0..81).map(|at| (RouterId(at / 9), RouterId(at % 9))) {
        oracle::way(&fabric, &routing, ends, 0);
    }
}

#[test]
fn hosts_of_a_switch_are_reached_by_different_ways() {
    // 12 hosts at each of 4 leaf switches, 5 links up.
    let (_, fabric) = tree(&[12, 4], &[1, 5]);
    let routing = UpDown::tree(&fabric).unwrap();
    assert_eq!(routing.choices(), 5);
    let mut by = [0; 9];
    for host in (36..48).map(PortId) {
        let passed =
            oracle::way(&fabric, &routing, (RouterId(0), RouterId(3)), routing.choice(host));
        by[passed[1].at()] += 1;
    }
    assert_eq!(by, [0, 0, 0, 0, 3, 3, 2, 2, 2]);
    // A tree of single links has one route.
    assert_eq!(UpDown::tree(&tree(&[12, 4], &[1, 1]).1).unwrap().choices(), 1);
}

proptest! {
    #[test]
    fn ways_are_the_shortest_that_may_be(
        routers in 1_u32..14,
        cables in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..30),
        root in prop::option::of(any::<prop::sample::Index>()),
        choice in 0_u32..4,
    ) {
        let end = |index: &prop::sample::Index| index.index(routers as usize) as u32;
        let cables: Vec<_> = cables.iter().map(|(one, other)| (end(one), end(other))).collect();
        let fabric = network(routers, &cables);
        let routing = match root {
            Some(root) => UpDown::new(&fabric, RouterId(end(&root))).unwrap(),
            None => UpDown::tree(&fabric).unwrap(),
        };
        for from in (0..routers).map(RouterId) {
            for to in (0..routers).map(RouterId) {
                let expected = fewest(&fabric, &routing.rank, (from, to));
                if expected.is_none() {
                    prop_assert!(routing.way(from, to, choice, &mut Vec::new()).is_err());
                    continue;
                }
                let passed = oracle::way(&fabric, &routing, (from, to), choice);
                prop_assert_eq!(Some(passed.len() - 1), expected);
                let downs = passed
                    .windows(2)
                    .map(|pair| routing.dimension(fabric.link(pair[0], pair[1]).unwrap()));
                prop_assert!(downs.collect::<Vec<_>>().is_sorted());
            }
        }
    }
}

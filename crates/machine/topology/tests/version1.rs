//! Distances of version 1, which name a level of the tree by its depth, in machines whose objects
//! hang at several depths.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

use talea_topology::{ObjectKind as K, xml};

/// Two nodes with processors in a group, two of accelerators' memory beside the group: nodes are
/// the second level all the same.
fn machine(distances: &str) -> String {
    let node = |number: u32, pus: &str, inside: &str| {
        format!(
            "<object type=\"NUMANode\" os_index=\"{number}\" cpuset=\"{pus}\" nodeset=\"{:#x}\" local_memory=\"1024\">{inside}</object>",
            1_u32 << number
        )
    };
    let package = |number: u32| {
        format!(
            "<object type=\"Package\" os_index=\"{number}\" cpuset=\"{0:#x}\"><object type=\"Core\" os_index=\"{number}\" cpuset=\"{0:#x}\"><object type=\"PU\" os_index=\"{number}\" cpuset=\"{0:#x}\"/></object></object>",
            1_u32 << number
        )
    };
    let near = node(0, "0x1", &package(0)) + &node(1, "0x2", &package(1));
    let far = node(2, "0x0", "") + &node(3, "0x0", "");
    format!(
        "<topology><object type=\"Machine\" os_index=\"0\" cpuset=\"0x3\" nodeset=\"0xf\">{distances}<object type=\"Group\" cpuset=\"0x3\" nodeset=\"0x3\" depth=\"0\">{near}</object>{far}</object></topology>"
    )
}

fn distances(depth: usize, objects: usize) -> String {
    let values: Vec<String> =
        (0..objects * objects).map(|at| format!("<latency value=\"{at}.0\"/>")).collect();
    let values = values.concat();
    format!(
        "<distances nbobjs=\"{objects}\" relative_depth=\"{depth}\" latency_base=\"10.0\">{values}</distances>"
    )
}

#[test]
fn nodes_at_several_depths_are_one_level() {
    let loaded = xml::read(machine(&distances(2, 4)).as_bytes()).unwrap();
    assert!(loaded.gaps.is_empty(), "{:#?}", loaded.gaps);
    let [distances] = &loaded.topology.distances[..] else {
        panic!("{:?}", loaded.topology.distances)
    };
    let nodes: Vec<_> = distances
        .objects
        .iter()
        .map(|&id| (loaded.topology.get(id).kind, loaded.topology.get(id).os_index))
        .collect();
    assert_eq!(nodes, [0, 1, 2, 3].map(|number| (K::NumaNode, Some(number))));
    assert_eq!(distances.values, (0..16).map(|at| at * 10).collect::<Vec<u64>>());
}

#[test]
fn levels_below_the_nodes_count_on() {
    for (depth, kind) in [(3, K::Package), (4, K::Core), (5, K::Pu)] {
        let loaded = xml::read(machine(&distances(depth, 2)).as_bytes()).unwrap();
        assert!(loaded.gaps.is_empty(), "{depth}: {:#?}", loaded.gaps);
        let of = &loaded.topology.distances[0].objects;
        assert!(of.iter().all(|&id| loaded.topology.get(id).kind == kind), "{depth}");
    }
    let wrong = xml::read(machine(&distances(2, 3)).as_bytes()).unwrap();
    assert_eq!(wrong.gaps.iter().len(), 1, "{:#?}", wrong.gaps);
}

//! Machines of descriptions have the objects that lstopo makes of the same text.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod data;

use talea_topology::{Topology, synthetic, xml};

const TEXTS: [&str; 50] = [
    "pack:2 numa:2 l3:1 core:8 pu:2",
    "2 4 2",
    "2",
    "1 1",
    "2 2",
    "2 2 2 2",
    "2 2 2 2 2",
    "2 2 2 2 2 2",
    "2 2 2 2 2 2 2",
    "2 2 2 2 2 2 2 2",
    "2 2 2 2 2 2 2 2 2",
    "2 1 2 1 2 1 2 1 2 1",
    "2 pu:2",
    "2 [numa] 2",
    "[numa] 2 2",
    "2 [numa] 2 2 2 2",
    "package:2 [numa(memory=1GB)] core:2 pu:2",
    "pack:2 [numa] [numa(memory=16GB)] l2:2 1",
    "pack:2 [numa] [numa(memory=16GB indexes=5,6,7,8)] l2:2 1",
    "[numa] pack:2 [numa] pu:2",
    "[numa] pack:2 [numa] core:2 [numa] [numa] pu:2",
    "pack:2 core:2 pu:2 [numa]",
    "numa:2(memory=16GB indexes=1,0) pack:2 core:2(indexes=0,1,2,3,4,5,6,7) pu:2(indexes=core)",
    "numa:2 core:1 pu:2",
    "numa:1 pack:1 pu:2",
    "node:2 pu:1",
    "node:2 core:2 pu:1",
    "pack:2 numa:1 core:2 pu:1",
    "pack:2 numa:1 l3:1 core:2 pu:1",
    "group:2 numa:1 pack:1 pu:1",
    "group:2 numa:1 pu:1",
    "pack:2 group:2 core:2 pu:1",
    "pack:2 group:1 pu:2",
    "pack:2 group:1 [numa] pu:2",
    "group:2 [numa] pu:1",
    "group:1 pu:2",
    "group:2 group:1 pu:2",
    "group:2 group:2 group:2 pu:2",
    "group3:2 group:2 pu:2",
    "pack:2 die:2 group:2 pu:2",
    "pack:2 die:2 l3:2 l2:2 l1d:1 l1i:1 core:1 pu:2",
    "(memory=3GB) pu:2",
    "core:2 pu:2(indexes=2*2:1*2)",
    "pack:2 core:2 pu:2(indexes=pack:core)",
    "pack:2 core:2 pu:2(indexes=core:pack)",
    "pack:2 core:4 pu:2(indexes=2*4:8*2:1*2)",
    "l2:2(size=1MB) pu:1",
    "l1i:2(size=1kB) pu:0x2",
    "core:2 pu:2(indexes=7,9,11,13)",
    " pack:1   pu:2  ",
];

/// One line an object.
fn tree(topology: &Topology) -> Vec<String> {
    let line = |object: &talea_topology::Object| {
        let parent = object.parent.map(|id| topology.label(id));
        format!(
            "{} {:?} #{} in {parent:?}: {} | {}; {:?}",
            object.kind,
            object.os_index,
            object.logical_index,
            object.cpuset,
            object.nodeset,
            object.attributes
        )
    };
    topology.objects.iter().map(line).collect()
}

#[test]
fn machines_are_those_of_lstopo() {
    let mut differences = Vec::new();
    for text in TEXTS {
        let Some(theirs) = data::run_lstopo(text) else { return };
        let ours = synthetic::parse(text);
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                let theirs = xml::read(theirs.as_bytes()).unwrap().topology;
                assert_eq!(ours.counts(), theirs.counts(), "{text}");
                for (ours, theirs) in tree(&ours).into_iter().zip(tree(&theirs)) {
                    if ours != theirs {
                        differences.push(format!("{text}:\n  {ours}\n  {theirs}"));
                        break;
                    }
                }
            }
            (Err(_), Err(_)) => {}
            (ours, theirs) => panic!("{text}: {:?} {:?}", ours.map(|t| t.counts()), theirs),
        }
    }
    assert!(differences.is_empty(), "ours and lstopo's differ:\n{}", differences.join("\n"));
}

#[test]
fn machines_come_back_from_files() {
    for topology in TEXTS.iter().filter_map(|text| synthetic::parse(text).ok()) {
        let again = xml::read(xml::write(&topology, xml::Version::Three).as_bytes()).unwrap();
        assert!(again.gaps.is_empty(), "{:?}", again.gaps);
        assert_eq!(again.topology, topology);
    }
}

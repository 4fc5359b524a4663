//! Monitors on generated and real topologies: values of PUs, NUMA nodes and packages are counted
//! once in each object that has them.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod data;

use talea_model::Nanos;
use talea_topology::{
    Monitor, ObjectKind, ObjectsOf, Place, Plan, Readings, Topology, levels, xml,
};

fn places(topology: &Topology, kind: ObjectKind, place: impl Fn(u32) -> Place) -> Vec<Place> {
    topology.of_kind(kind).filter_map(|(_, object)| object.os_index).map(place).collect()
}

/// The values of counters that are one at each place.
fn ones(topology: &Topology, monitors: &[Monitor]) -> (Plan, Vec<Vec<f64>>) {
    let mut plan = Plan::new(topology, monitors, |counter| {
        Some(match counter {
            "pu" => places(topology, ObjectKind::Pu, Place::Pu),
            "numa" => places(topology, ObjectKind::NumaNode, Place::Numa),
            _ => vec![Place::Machine],
        })
    });
    let numbers = plan.places().iter().map(|places| vec![1.0; places.len()]).collect();
    let frame = plan.frame(&Readings { at: Nanos(1), span: Nanos(1), numbers });
    (plan, frame.values)
}

#[test]
fn each_place_counts_once_in_what_has_it() {
    count_places(data::files(&["v1", "v2", "v3"]));
}

#[test]
fn each_place_of_generated_machines_counts_once_in_what_has_it() {
    count_places(data::generated(&["v1", "v2", "v3"]));
}

fn count_places(files: data::Files) {
    for (name, bytes) in files {
        let topology = xml::read(&bytes).unwrap().topology;
        let counter = |counter| talea_metric::Expression::counter(counter);
        for (kind, count) in topology.counts() {
            let objects = ObjectsOf::Kind(kind);
            let (plan, values) = ones(&topology, &[Monitor::new("PUS", objects, counter("pu"))]);
            assert_eq!(plan.objects(0).len(), count, "{name}");
            for (&id, value) in plan.objects(0).iter().zip(&values[0]) {
                let pus = topology.get(id).cpuset.len() as f64;
                let expected = (pus > 0.0).then_some(pus);
                let found = Some(*value).filter(|value| !value.is_nan());
                assert_eq!(found, expected, "{name}: {}", topology.label(id));
            }
        }
        // Memory is its own, also where two nodes have the same PUs.
        let nodes = topology.of_kind(ObjectKind::NumaNode).count();
        let monitors = [ObjectKind::NumaNode, ObjectKind::Machine]
            .map(|kind| Monitor::new("NODES", ObjectsOf::Kind(kind), counter("numa")));
        let (_, values) = ones(&topology, &monitors);
        assert_eq!(values[0], vec![1.0; nodes], "{name}");
        assert_eq!(values[1], [nodes as f64], "{name}");
        // Every level has all PUs, and the machine's figure says nothing of parts of it.
        for (depth, level) in (0..).zip(levels(&topology)) {
            let monitors = ["pu", "whole"]
                .map(|name| Monitor::new(name, ObjectsOf::Depth(depth), counter(name)));
            let (plan, values) = ones(&topology, &monitors);
            assert_eq!(plan.objects(0), level, "{name}");
            assert!(values[0].iter().all(|value| *value >= 1.0), "{name}: {depth}");
            assert_eq!(plan.is_supported(1), level.len() == 1, "{name}: {depth}");
        }
    }
}

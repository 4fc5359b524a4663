//! Tests of the simulated source: misses by level, the same numbers for the same seed, offered
//! names.

use std::fmt::Write as _;

use talea_topology::{Object, ObjectId};

use super::*;

/// Packages of cores with two PUs each, a third level for each package and its own other levels for
/// each core.
pub(crate) fn machine(packages: u32, cores: u32) -> Topology {
    let mut topology = Topology::default();
    let mut add = |kind, parent: Option<ObjectId>, size: u64| {
        let mut object = Object::new(kind);
        if size > 0 {
            object.attributes = talea_topology::Attributes::Cache {
                size,
                depth: 0,
                line: 64,
                associativity: 8,
                data: true,
                instructions: false,
            };
        }
        topology.add(object, parent)
    };
    let root = add(ObjectKind::Machine, None, 0);
    let mut pus = Vec::new();
    let mut nodes = Vec::new();
    for package in 0..packages {
        let socket = add(ObjectKind::Package, Some(root), 0);
        nodes.push((add(ObjectKind::NumaNode, Some(socket), 0), package));
        let l3 = add(ObjectKind::L3Cache, Some(socket), 20 << 20);
        for _ in 0..cores {
            let l2 = add(ObjectKind::L2Cache, Some(l3), 256 << 10);
            let l1 = add(ObjectKind::L1Cache, Some(l2), 32 << 10);
            let core = add(ObjectKind::Core, Some(l1), 0);
            for _ in 0..2 {
                pus.push((add(ObjectKind::Pu, Some(core), 0), package));
            }
        }
    }
    for (number, (id, package)) in (0..).zip(pus) {
        topology.objects[id.0 as usize].os_index = Some(number);
        topology.objects[id.0 as usize].nodeset = talea_topology::CpuSet::single(package as usize);
    }
    for (id, number) in nodes {
        topology.objects[id.0 as usize].os_index = Some(number);
    }
    topology
}

fn opened(source: &mut Simulated, counters: &[&str]) -> Vec<Vec<f64>> {
    let names: Vec<String> = counters.iter().map(|name| (*name).to_owned()).collect();
    let opened = source.open(&names, &Target::Machine, &mut Gaps::default()).unwrap();
    opened.iter().map(|opened| vec![f64::NAN; opened.places.len()]).collect()
}

const STEP: Nanos = Nanos(1_000_000_000);

#[test]
fn misses_grow_level_by_level() {
    let topology = machine(1, 8);
    let mut source = Simulated::new(&topology, Scenario::Lists { step: STEP }, 1);
    assert_eq!(source.name(), "simulated lists");
    let mut numbers =
        opened(&mut source, &["PAPI_L1_DCM", "PAPI_L2_TCM", "PAPI_L3_TCM", "PAPI_LD_INS"]);
    let mut text = String::from("second: misses of 100 loads at PU 0, 2, 1\n");
    for second in 1..=16 {
        source.read(Nanos(STEP.0 * second), &mut numbers, &mut Gaps::default());
        let share = |level: usize, pu: usize| 100.0 * numbers[level][pu] / numbers[3][pu];
        let of = |pu| format!("{:5.1} {:5.1} {:5.1}", share(0, pu), share(1, pu), share(2, pu));
        writeln!(text, "{second:2}: {} | {} | {}", of(0), of(2), of(1)).unwrap();
    }
    insta::assert_snapshot!(text);
}

#[test]
fn same_seed_same_numbers() {
    let topology = machine(2, 4);
    let run = |seed| {
        let mut source = Simulated::new(&topology, Scenario::Mixed, seed);
        let mut numbers =
            opened(&mut source, &["cycles", "cache-misses", "imc:read_bytes", "mem:used"]);
        let mut all = Vec::new();
        for step in 1..30 {
            source.read(Nanos(step * 100_000_000), &mut numbers, &mut Gaps::default());
            assert!(numbers.iter().flatten().all(|n| n.is_finite() && *n >= 0.0), "{numbers:?}");
            let of_node: f64 = numbers[1][..8].iter().sum();
            assert!((numbers[2][0] - 64.0 * of_node).abs() <= 64.0 * 8.0);
            all.push(numbers.clone());
        }
        all
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn names_are_offered_with_their_scope() {
    let source = Simulated::new(&machine(1, 1), Scenario::Mixed, 0);
    for name in source.known() {
        assert!(matches!(source.offers(&name), Offer::Yes(_)), "{name}");
    }
    assert_eq!(source.offers("PAPI_NONE"), Offer::No);
    let bare = Simulated::new(&Topology::default(), Scenario::Mixed, 0);
    assert!(matches!(bare.offers("imc:read_bytes"), Offer::Refused(_)));
    let mut bare = bare;
    let mut numbers = opened(&mut bare, &["cycles", "imc:read_bytes", "PAPI_NONE"]);
    bare.read(STEP, &mut numbers, &mut Gaps::default());
    assert_eq!(numbers, [[], [], []] as [[f64; 0]; 3]);
}

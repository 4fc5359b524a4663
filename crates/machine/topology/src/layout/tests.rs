//! Tests of the layout: equal cells, room for names, many devices, extreme trees. Boxes of random
//! topologies must not overlap.

use proptest::prelude::*;

use super::*;
use crate::objects::{Object, ObjectKind as K};
use crate::sample;

/// The nearest drawn object around each, and a check that everything is in its place.
fn check(topology: &Topology, areas: &[Area]) {
    let mut at: Vec<Option<usize>> = vec![None; topology.objects.len()];
    for (place, area) in areas.iter().enumerate() {
        assert!(at[area.object.0 as usize].is_none(), "drawn twice: {area:?}");
        at[area.object.0 as usize] = Some(place);
        assert!(area.rect.holds(&area.bar), "{area:?}");
        assert!(area.rect.width > 0.0 && area.rect.height > 0.0, "{area:?}");
    }
    // Siblings are compared with the ones that share the enclosing box.
    let mut inside: Vec<Vec<usize>> = vec![Vec::new(); areas.len()];
    for (place, area) in areas.iter().enumerate().skip(1) {
        let mut parent = topology.get(area.object).parent;
        let object = topology.get(area.object);
        let device = object.kind.is_io() || object.kind == K::Misc;
        // Devices of memory and of PUs stand in the box around those.
        let skip = |id: ObjectId| {
            at[id.0 as usize].is_none()
                || device && (topology.get(id).kind.is_memory() || topology.get(id).kind == K::Pu)
        };
        while parent.is_some_and(skip) {
            parent = parent.and_then(|id| topology.get(id).parent);
        }
        let outer = parent.and_then(|id| at[id.0 as usize]).unwrap_or(0);
        assert!(outer < place, "parents come first");
        assert!(
            areas[outer].rect.holds(&area.rect),
            "{} {area:?} in {} {:?}",
            topology.label(area.object),
            topology.label(areas[outer].object),
            areas[outer]
        );
        if areas[outer].bar != areas[outer].rect {
            let (label, bar) = (topology.label(area.object), areas[outer].bar);
            assert!(!bar.overlaps(&area.rect), "{label} {area:?} over the head {bar:?}");
        }
        inside[outer].push(place);
    }
    for siblings in inside {
        // Neighbours from left to right: only those that begin before the other ends can overlap.
        let mut sorted = siblings;
        sorted.sort_by(|&a, &b| areas[a].rect.x.total_cmp(&areas[b].rect.x));
        for (i, &a) in sorted.iter().enumerate() {
            for &b in
                sorted[i + 1..].iter().take_while(|&&b| areas[b].rect.x < areas[a].rect.right())
            {
                assert!(!areas[a].rect.overlaps(&areas[b].rect), "{:?} {:?}", areas[a], areas[b]);
            }
        }
    }
    let everything =
        topology.iter().filter(|(_, object)| object.kind.is_normal() || object.kind.is_memory());
    for (id, _) in everything {
        assert!(at[id.0 as usize].is_some(), "{} is not drawn", topology.label(id));
    }
}

fn cells(topology: &Topology, areas: &[Area]) -> Vec<Rect> {
    let pus = areas.iter().filter(|area| topology.get(area.object).kind == K::Pu);
    pus.map(|area| area.rect).collect()
}

#[test]
fn cells_are_alike_and_fit() {
    for topology in [sample::small(), sample::large()] {
        let options = Options::default();
        let areas = layout(&topology, &options);
        check(&topology, &areas);
        assert!(areas[0].rect.width <= options.width && areas[0].rect.height <= options.height);
        let cells = cells(&topology, &areas);
        let size = |cell: &Rect| (cell.width.to_bits(), cell.height.to_bits());
        assert!(cells.iter().all(|cell| size(cell) == size(&cells[0])));
    }
}

#[test]
fn names_of_384_pus_have_room_on_one_screen() {
    let topology = sample::large();
    let areas = layout(&topology, &Options::default());
    let pus = areas.iter().filter(|area| topology.get(area.object).kind == K::Pu);
    assert!(pus.clone().count() == 384);
    for area in pus {
        assert!(area.detail >= Detail::Two, "{area:?}");
    }
}

#[test]
fn too_many_disks_share_a_mark() {
    let topology = sample::large();
    let areas = layout(&topology, &Options::default());
    let folded: Vec<_> = areas.iter().filter(|area| !area.folded.is_empty()).collect();
    // Twelve disks, each with its PCI device.
    assert_eq!((folded.len(), folded[0].folded.len(), folded[0].devices(&topology)), (1, 24, 12));
    let names: Vec<String> = folded[0].innermost(&topology).map(|id| topology.label(id)).collect();
    assert_eq!((names.len(), names[0].as_str()), (12, "OS nvme0n1"));
    let networks = areas.iter().filter(|area| topology.label(area.object).starts_with("OS eth"));
    assert_eq!(networks.count(), 2);
}

#[test]
fn nothing_and_one_object() {
    assert!(layout(&Topology::default(), &Options::default()).is_empty());
    let mut topology = Topology::default();
    topology.objects.push(Object::new(K::Pu));
    assert_eq!(layout(&topology, &Options::default()).len(), 1);
    topology.objects[0].kind = K::Package;
    // A list of children that names an unknown object, or itself.
    topology.objects[0].children = vec![ObjectId(0), ObjectId(7)];
    topology.objects[0].io_children = vec![ObjectId(9)];
    assert_eq!(layout(&topology, &Options::default()).len(), 1);
}

#[test]
fn depth_is_no_matter() {
    let mut topology = Topology::default();
    for at in 0..20_000_u32 {
        let mut object = Object::new(K::Group);
        object.parent = at.checked_sub(1).map(ObjectId);
        object.children = if at < 19_999 { vec![ObjectId(at + 1)] } else { Vec::new() };
        topology.objects.push(object);
    }
    assert_eq!(layout(&topology, &Options::default()).len(), 20_000);
}

#[test]
fn a_thousand_pus_in_one_box() {
    let topology = sample::machine(&[(K::Pu, 1000)], &[(K::Machine, 9)], 0);
    let areas = layout(&topology, &Options::default());
    check(&topology, &areas);
    assert!(areas[0].rect.width <= 1600.0 && areas[0].rect.height <= 1000.0);
}

/// Random trees: every object gets a random one before it as parent.
fn any_topology() -> impl Strategy<Value = Topology> {
    const KINDS: [K; 12] = [
        K::Package,
        K::Group,
        K::Die,
        K::L3Cache,
        K::L2Cache,
        K::L1Cache,
        K::Core,
        K::Pu,
        K::NumaNode,
        K::MemCache,
        K::PciDevice,
        K::OsDevice,
    ];
    proptest::collection::vec((0..KINDS.len(), any::<prop::sample::Index>()), 0..90).prop_map(
        |list| {
            let mut topology = Topology::default();
            topology.objects.push(Object::new(K::Machine));
            for (kind, parent) in list {
                let kind = KINDS[kind];
                let of: Vec<ObjectId> = topology
                    .iter()
                    .filter(|(_, object)| match (object.kind, kind) {
                        (K::Pu | K::OsDevice, _) => false,
                        (K::NumaNode, _) => kind.is_io(),
                        (K::MemCache, _) => kind.is_memory(),
                        (K::PciDevice, _) => kind == K::OsDevice,
                        _ => true,
                    })
                    .map(|(id, _)| id)
                    .collect();
                let parent = of[parent.index(of.len())];
                topology.add(Object::new(kind), Some(parent));
            }
            topology
        },
    )
}

proptest! {
    #[test]
    fn nothing_overlaps(
        topology in any_topology(),
        width in 1.0..3000.0_f64,
        height in 1.0..2000.0_f64
    ) {
        let options = Options { width, height, ..Options::default() };
        let areas = layout(&topology, &options);
        check(&topology, &areas);
        prop_assert_eq!(areas, layout(&topology, &options));
    }
}

/// Lays out the machine of a file of hwloc's at several sizes.
fn check_sizes(name: &str, bytes: &[u8]) -> Topology {
    let topology = crate::xml::read(bytes).unwrap().topology;
    for (width, height) in [(1600.0, 1000.0), (1200.0, 600.0), (300.0, 200.0)] {
        let options = Options { width, height, ..Options::default() };
        let areas = layout(&topology, &options);
        check(&topology, &areas);
        if width > 1000.0 {
            let rect = areas[0].rect;
            assert!(rect.width <= width && rect.height <= height, "{name} {rect:?}");
        }
    }
    topology
}

#[test]
fn machines_of_other_people() {
    let Some(folder) = talea_testing::data("hwloc") else { return };
    for version in ["v1", "v2", "v3"] {
        let files = std::fs::read_dir(folder.join(version)).unwrap();
        for file in files {
            let path = file.unwrap().path();
            check_sizes(&path.display().to_string(), &std::fs::read(&path).unwrap());
        }
    }
}

#[test]
fn generated_machines() {
    for machine in talea_testing::hwloc::MACHINES {
        for version in 1..=3 {
            let topology = check_sizes(machine.name, machine.xml(version).as_bytes());
            let areas = layout(&topology, &Options::default());
            assert_eq!(cells(&topology, &areas).len(), machine.pus(), "{}", machine.name);
        }
    }
}

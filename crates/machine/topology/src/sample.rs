//! Machines for tests, from counts of objects in objects.
//!
//! Owns nothing that a user sees. Levels are kinds with counts, outermost first; memory and devices
//! are attached where requested.

use std::collections::BTreeMap;

use crate::objects::{Attributes, Object, ObjectId, ObjectKind, Topology};

/// A machine of these levels: each object of a level contains this many of the next. Every object
/// of a kind in `memory` has this many NUMA nodes, and the machine has this many disks and two
/// networks on PCI.
pub(crate) fn machine(
    levels: &[(ObjectKind, usize)],
    memory: &[(ObjectKind, usize)],
    disks: usize,
) -> Topology {
    let mut made = Maker::default();
    let root = made.add(None, ObjectKind::Machine);
    made.memory(root, memory);
    // Depth first: an entry is an object and the level below it.
    let mut stack = vec![(root, 0)];
    while let Some((parent, level)) = stack.pop() {
        let Some(&(kind, count)) = levels.get(level) else { continue };
        if count == 0 {
            continue;
        }
        let child = made.add(Some(parent), kind);
        made.memory(child, memory);
        let there = made.topology.get(parent).children.len();
        if there < count {
            stack.push((parent, level));
        }
        stack.push((child, level + 1));
    }
    if disks > 0 {
        let bridge = made.add(Some(root), ObjectKind::Bridge);
        for disk in 0..disks {
            let pci = made.add(Some(bridge), ObjectKind::PciDevice);
            made.device(pci, &format!("nvme{disk}n1"), "Block");
        }
        for net in 0..2 {
            let pci = made.add(Some(bridge), ObjectKind::PciDevice);
            made.device(pci, &format!("eth{net}"), "Network");
        }
    }
    made.topology
}

/// Two packages with an L3 each for four cores of two PUs.
pub(crate) fn small() -> Topology {
    use ObjectKind as K;
    let levels = [
        (K::Package, 2),
        (K::L3Cache, 1),
        (K::L2Cache, 4),
        (K::L1Cache, 1),
        (K::Core, 1),
        (K::Pu, 2),
    ];
    machine(&levels, &[(K::Package, 1)], 3)
}

/// Two packages of twelve L3 for eight cores of two PUs each: 384 PUs.
pub(crate) fn large() -> Topology {
    use ObjectKind as K;
    let levels = [
        (K::Package, 2),
        (K::L3Cache, 12),
        (K::L2Cache, 8),
        (K::L1Cache, 1),
        (K::L1ICache, 1),
        (K::Core, 1),
        (K::Pu, 2),
    ];
    machine(&levels, &[(K::Package, 1)], 12)
}

#[derive(Default)]
struct Maker {
    topology: Topology,
    counts: BTreeMap<ObjectKind, u32>,
}

impl Maker {
    fn add(&mut self, parent: Option<ObjectId>, kind: ObjectKind) -> ObjectId {
        let mut object = Object::new(kind);
        let number = self.counts.entry(kind).or_default();
        object.logical_index = *number;
        if matches!(
            kind,
            ObjectKind::Package | ObjectKind::Core | ObjectKind::Pu | ObjectKind::NumaNode
        ) {
            object.os_index = Some(*number);
        }
        *number += 1;
        object.attributes = match kind {
            ObjectKind::NumaNode => Attributes::Numa { memory: 64 << 30, pages: Vec::new() },
            ObjectKind::L3Cache => cache(32 << 20, 3),
            ObjectKind::L2Cache => cache(1 << 20, 2),
            ObjectKind::L1Cache | ObjectKind::L1ICache => cache(32 << 10, 1),
            _ => Attributes::None,
        };
        if kind == ObjectKind::Pu {
            let pu = object.logical_index as usize;
            object.cpuset.insert(pu);
            let mut at = parent;
            while let Some(id) = at {
                let outer = &mut self.topology.objects[id.0 as usize];
                outer.cpuset.insert(pu);
                for &memory in &outer.memory_children.clone() {
                    self.topology.objects[memory.0 as usize].cpuset.insert(pu);
                }
                at = self.topology.get(id).parent;
            }
        }
        self.topology.add(object, parent)
    }

    fn memory(&mut self, at: ObjectId, memory: &[(ObjectKind, usize)]) {
        let kind = self.topology.get(at).kind;
        for &(_, count) in memory.iter().filter(|one| one.0 == kind) {
            for _ in 0..count {
                self.add(Some(at), ObjectKind::NumaNode);
            }
        }
    }

    fn device(&mut self, at: ObjectId, name: &str, used: &str) {
        let id = self.add(Some(at), ObjectKind::OsDevice);
        let object = &mut self.topology.objects[id.0 as usize];
        object.name = Some(name.to_owned());
        object.attributes = Attributes::Os { uses: vec![used.to_owned()] };
    }
}

fn cache(size: u64, depth: u32) -> Attributes {
    Attributes::Cache { size, depth, line: 64, associativity: 8, data: true, instructions: false }
}

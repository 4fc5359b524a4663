//! Membership of places and objects in objects.
//!
//! Owns the meaning of "in": an object has a place if the place is at the object or below it in the
//! tree, or if all PUs of the place are PUs of the object. Memory is beside the PUs: a NUMA node
//! has the counters of its PUs, and those of a package with no other NUMA node. It refuses numbers.

use crate::cpuset::CpuSet;
use crate::levels::levels;
use crate::monitors::ObjectsOf;
use crate::objects::{Object, ObjectId, ObjectKind, Topology};
use crate::values::Place;

/// For each row its columns, packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Members {
    /// End of each row's columns.
    ends: Vec<u32>,
    columns: Vec<u32>,
}

impl Members {
    pub(super) fn rows(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(&start, &end)| &self.columns[start as usize..end as usize])
    }

    pub(super) fn from_fn(
        rows: usize,
        columns: usize,
        is_in: impl Fn(usize, usize) -> bool,
    ) -> Self {
        let mut members = Self::default();
        for row in 0..rows {
            members.columns.extend((0..columns).filter(|&c| is_in(row, c)).map(|c| c as u32));
            members.ends.push(members.columns.len() as u32);
        }
        members
    }
}

/// Something that may be in an object.
struct Spot {
    /// Its one PU.
    pu: Option<usize>,
    /// Itself and everything above it, the root first.
    line: Vec<ObjectId>,
    cpuset: CpuSet,
    /// True if a NUMA node has it only if no other one has the same PUs.
    shared: bool,
}

impl Spot {
    fn of_object(topology: &Topology, id: ObjectId) -> Self {
        let object = topology.get(id);
        let mut line = topology.ancestors(id);
        line.push(id);
        let normal = object.kind.is_normal();
        let cpuset = if normal { object.cpuset.clone() } else { CpuSet::default() };
        let shared = matches!(object.kind, ObjectKind::Machine | ObjectKind::Package);
        Self { pu: None, line, cpuset, shared }
    }

    fn of_place(topology: &Topology, place: &Place) -> Self {
        let nowhere = || Self { pu: None, line: vec![], cpuset: CpuSet::default(), shared: true };
        let numbered = |kind: ObjectKind, number: u32| {
            let mut all = topology.of_kind(kind);
            match all.find(|(_, object)| object.os_index == Some(number)) {
                Some((id, _)) => Self::of_object(topology, id),
                // Where a topology has no objects of a kind, at least the machine has it.
                None if topology.of_kind(kind).next().is_none() => Self::on_machine(topology),
                None => nowhere(),
            }
        };
        match place {
            Place::Pu(number) => Self { pu: Some(*number as usize), ..nowhere() },
            Place::Numa(number) => {
                let mut spot = numbered(ObjectKind::NumaNode, *number);
                if let Some(&id) = spot.line.last() {
                    spot.cpuset.clone_from(&topology.get(id).cpuset);
                    // Of nodes with the same PUs, only the tree identifies the right one.
                    spot.shared = true;
                }
                spot
            }
            Place::Package(number) => numbered(ObjectKind::Package, *number),
            Place::Device(name) => {
                let mut all = topology.of_kind(ObjectKind::OsDevice);
                let found = all.find(|(_, object)| object.name.as_deref() == Some(name));
                found.map_or_else(
                    || Self::on_machine(topology),
                    |(id, _)| Self::of_object(topology, id),
                )
            }
            Place::Machine => {
                let root = topology.root();
                root.map_or_else(nowhere, |root| Self::of_object(topology, root))
            }
        }
    }

    /// Somewhere on the machine.
    fn on_machine(topology: &Topology) -> Self {
        let line = topology.root().into_iter().collect();
        Self { pu: None, line, cpuset: CpuSet::default(), shared: true }
    }

    fn is_in(&self, topology: &Topology, id: ObjectId) -> bool {
        let object = topology.get(id);
        if let Some(pu) = self.pu {
            return object.cpuset.contains(pu);
        }
        if self.line.contains(&id) {
            return true;
        }
        let beside = object.kind == ObjectKind::NumaNode;
        (object.kind.is_normal() || beside && (!self.shared || alone(topology, object)))
            && !self.cpuset.is_empty()
            && self.cpuset.is_subset(&object.cpuset)
    }
}

/// No other NUMA node has the same PUs.
fn alone(topology: &Topology, node: &Object) -> bool {
    let all = topology.of_kind(ObjectKind::NumaNode);
    all.filter(|(_, other)| other.cpuset == node.cpuset).count() == 1
}

/// The places of each object.
pub(super) fn places_in(topology: &Topology, objects: &[ObjectId], places: &[Place]) -> Members {
    let spots: Vec<Spot> = places.iter().map(|place| Spot::of_place(topology, place)).collect();
    Members::from_fn(objects.len(), spots.len(), |row, spot| {
        spots[spot].is_in(topology, objects[row])
    })
}

/// The objects of `inner` that each object has.
pub(super) fn objects_in(topology: &Topology, objects: &[ObjectId], inner: &[ObjectId]) -> Members {
    let spots: Vec<Spot> = inner.iter().map(|&id| Spot::of_object(topology, id)).collect();
    Members::from_fn(objects.len(), spots.len(), |row, spot| {
        spots[spot].is_in(topology, objects[row])
    })
}

/// The selected objects, in the order of the tree.
pub fn objects_of(topology: &Topology, which: ObjectsOf) -> Vec<ObjectId> {
    let of_kind = |kind| topology.of_kind(kind).map(|(id, _)| id).collect();
    match which {
        ObjectsOf::Kind(kind) => of_kind(kind),
        ObjectsOf::Depth(depth) => {
            levels(topology).into_iter().nth(depth as usize).unwrap_or_default()
        }
        ObjectsOf::Some { kind, first, last } => {
            let all: Vec<ObjectId> = of_kind(kind);
            // Groups have logical numbers at each depth of their own; here their order counts.
            let (first, last) = (first as usize, last as usize);
            all.into_iter().skip(first).take(last - first.min(last) + 1).collect()
        }
    }
}

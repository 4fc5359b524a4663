//! The tree of objects.
//!
//! Owns objects, their links and the walk over them; kinds ([`ObjectKind`]) and attributes stand
//! beside. Objects stand in depth-first order, parents before children; memory (NUMA nodes,
//! memory-side caches), I/O and Misc children hang beside the normal children of their parent, as
//! in hwloc 2.

mod attributes;
mod beside;
mod facts;
mod kind;

pub use self::attributes::{Attributes, Pci};
pub use self::beside::{CpuKind, Distances, MemoryAttribute, MemoryTier};
pub use self::kind::ObjectKind;
use crate::cpuset::CpuSet;

/// Place of an object in its topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

/// An object.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its kind.
    pub kind: ObjectKind,
    /// A more specific word, for example `Cluster` for a group or `HBM` for memory.
    pub subtype: Option<String>,
    /// A device's or misc object's name.
    pub name: Option<String>,
    /// The operating system's number.
    pub os_index: Option<u32>,
    /// Number among the objects of its kind (of its depth, for groups and caches), in the order of
    /// the tree.
    pub logical_index: u32,
    /// hwloc's number that is unique in the topology.
    pub gp_index: Option<u64>,
    /// PUs in it; empty for I/O and Misc.
    pub cpuset: CpuSet,
    /// The same with PUs that are offline or not fully known.
    pub complete_cpuset: CpuSet,
    /// NUMA nodes in or beside it.
    pub nodeset: CpuSet,
    /// The same with those that are offline.
    pub complete_nodeset: CpuSet,
    /// Attributes of its kind.
    pub attributes: Attributes,
    /// Further facts: name and value.
    pub infos: Vec<(String, String)>,
    /// `None` for the root.
    pub parent: Option<ObjectId>,
    /// Packages, caches, cores, PUs.
    pub children: Vec<ObjectId>,
    /// NUMA nodes and memory-side caches.
    pub memory_children: Vec<ObjectId>,
    /// Bridges and devices.
    pub io_children: Vec<ObjectId>,
    /// Anything else.
    pub misc_children: Vec<ObjectId>,
}

impl Object {
    /// An object of this kind without known properties.
    pub fn new(kind: ObjectKind) -> Self {
        Self {
            kind,
            subtype: None,
            name: None,
            os_index: None,
            logical_index: 0,
            gp_index: None,
            cpuset: CpuSet::default(),
            complete_cpuset: CpuSet::default(),
            nodeset: CpuSet::default(),
            complete_nodeset: CpuSet::default(),
            attributes: Attributes::None,
            infos: Vec::new(),
            parent: None,
            children: Vec::new(),
            memory_children: Vec::new(),
            io_children: Vec::new(),
            misc_children: Vec::new(),
        }
    }

    /// The value of a further fact.
    pub fn info(&self, name: &str) -> Option<&str> {
        self.infos.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All children, memory first, then normal ones, I/O and Misc.
    pub fn all_children(&self) -> impl Iterator<Item = ObjectId> + '_ {
        let lists = [&self.memory_children, &self.children, &self.io_children, &self.misc_children];
        lists.into_iter().flatten().copied()
    }
    /// The list of children of this kind.
    pub(crate) fn list_of(&mut self, kind: ObjectKind) -> &mut Vec<ObjectId> {
        match kind {
            ObjectKind::Misc => &mut self.misc_children,
            _ if kind.is_memory() => &mut self.memory_children,
            _ if kind.is_io() => &mut self.io_children,
            _ => &mut self.children,
        }
    }

    /// All lists of children.
    pub(crate) fn lists(&mut self) -> [&mut Vec<ObjectId>; 4] {
        [
            &mut self.memory_children,
            &mut self.children,
            &mut self.io_children,
            &mut self.misc_children,
        ]
    }
}

/// A node's objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Depth first, parents before children; the first is the root.
    pub objects: Vec<Object>,
    /// Distances between objects.
    pub distances: Vec<Distances>,
    /// Attributes of memory.
    pub memory_attributes: Vec<MemoryAttribute>,
    /// PUs that may be used, where the file has them; a control group or an administrator withholds
    /// the others.
    pub allowed_cpuset: Option<CpuSet>,
    /// NUMA nodes that may be used.
    pub allowed_nodeset: Option<CpuSet>,
    /// Kinds of PUs.
    pub cpu_kinds: Vec<CpuKind>,
    /// Sorts of memory, the fastest first.
    pub memory_tiers: Vec<MemoryTier>,
    /// Capabilities of hwloc where the file was made: name and value, 1 for most.
    pub support: Vec<(String, u64)>,
    /// Facts of the whole in the file (`Backend`, `HostName`, `OSRelease` ...): name and value.
    pub infos: Vec<(String, String)>,
}

impl Topology {
    /// An object.
    pub fn get(&self, id: ObjectId) -> &Object {
        &self.objects[id.0 as usize]
    }

    /// Adds an object after all others, and at the end of its parent's list. A caller that adds
    /// parents before their children, and all of a child before the next one, keeps the order of
    /// the tree.
    pub fn add(&mut self, object: Object, parent: Option<ObjectId>) -> ObjectId {
        let id = ObjectId(self.objects.len() as u32);
        if let Some(parent) = parent {
            self.objects[parent.0 as usize].list_of(object.kind).push(id);
        }
        self.objects.push(Object { parent, ..object });
        id
    }

    /// The root, unless there is no object at all.
    pub fn root(&self) -> Option<ObjectId> {
        (!self.objects.is_empty()).then_some(ObjectId(0))
    }

    /// All objects with their places.
    pub fn iter(&self) -> impl Iterator<Item = (ObjectId, &Object)> {
        (0..).map(ObjectId).zip(&self.objects)
    }

    /// The objects of a kind, in the order of the tree.
    pub fn of_kind(&self, kind: ObjectKind) -> impl Iterator<Item = (ObjectId, &Object)> {
        self.iter().filter(move |(_, object)| object.kind == kind)
    }

    /// PUs in the order of the tree.
    pub fn pus(&self) -> Vec<ObjectId> {
        self.of_kind(ObjectKind::Pu).map(|(id, _)| id).collect()
    }

    /// Ancestors: the root first, the object's own parent last.
    pub fn ancestors(&self, id: ObjectId) -> Vec<ObjectId> {
        let mut chain = Vec::new();
        let mut at = self.get(id).parent;
        while let Some(id) = at {
            chain.push(id);
            at = self.get(id).parent;
        }
        chain.reverse();
        chain
    }

    /// Number of objects of each kind, outermost kinds first; without kinds that do not occur.
    pub fn counts(&self) -> Vec<(ObjectKind, usize)> {
        let count = |kind: ObjectKind| (kind, self.of_kind(kind).count());
        ObjectKind::ALL.into_iter().map(count).filter(|&(_, count)| count > 0).collect()
    }

    /// An object's usual name: `PU P#3`, `L3 L#0`, `OS eth0`, `PCI 0003:01:00.0`.
    pub fn label(&self, id: ObjectId) -> String {
        let object = self.get(id);
        let kind = object.kind.short();
        match &object.attributes {
            Attributes::Pci(pci) | Attributes::Bridge { pci: Some(pci), .. } => {
                return format!("{kind} {}", pci.bus_id());
            }
            Attributes::Bridge { buses: Some((domain, first, last)), .. } => {
                return format!("{kind} {domain:04x}:[{first:02x}-{last:02x}]");
            }
            _ => {}
        }
        match (&object.name, object.os_index) {
            (Some(name), _) if !object.kind.is_normal() && !object.kind.is_memory() => {
                format!("{kind} {name}")
            }
            (_, Some(os)) if object.kind != ObjectKind::Machine => format!("{kind} P#{os}"),
            _ if object.kind == ObjectKind::Machine => kind.to_owned(),
            _ => format!("{kind} L#{}", object.logical_index),
        }
    }
}

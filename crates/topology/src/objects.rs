//! The tree of objects.
//!
//! Owns kinds, attributes and the walk over the tree. Objects stand in depth-first order, parents before children; memory
//! (NUMA nodes, memory-side caches), I/O and Misc children hang beside the normal children of their parent, as hwloc 2 has it.

use std::fmt;

use crate::cpuset::CpuSet;

/// Place of an object in its topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

/// Kinds of objects, as hwloc 2 names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are hwloc's own")]
pub enum ObjectKind {
    Machine,
    Package,
    Die,
    Group,
    NumaNode,
    MemCache,
    L5Cache,
    L4Cache,
    L3Cache,
    L2Cache,
    L1Cache,
    L3ICache,
    L2ICache,
    L1ICache,
    Core,
    Pu,
    Bridge,
    PciDevice,
    OsDevice,
    Misc,
}

impl ObjectKind {
    /// All kinds, from the outermost.
    pub const ALL: [Self; 20] = [
        Self::Machine,
        Self::Package,
        Self::Die,
        Self::Group,
        Self::NumaNode,
        Self::MemCache,
        Self::L5Cache,
        Self::L4Cache,
        Self::L3Cache,
        Self::L2Cache,
        Self::L1Cache,
        Self::L3ICache,
        Self::L2ICache,
        Self::L1ICache,
        Self::Core,
        Self::Pu,
        Self::Bridge,
        Self::PciDevice,
        Self::OsDevice,
        Self::Misc,
    ];

    /// The name in XML of version 2, in JSON and in monitors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Machine => "Machine",
            Self::Package => "Package",
            Self::Die => "Die",
            Self::Group => "Group",
            Self::NumaNode => "NUMANode",
            Self::MemCache => "MemCache",
            Self::L5Cache => "L5Cache",
            Self::L4Cache => "L4Cache",
            Self::L3Cache => "L3Cache",
            Self::L2Cache => "L2Cache",
            Self::L1Cache => "L1Cache",
            Self::L3ICache => "L3iCache",
            Self::L2ICache => "L2iCache",
            Self::L1ICache => "L1iCache",
            Self::Core => "Core",
            Self::Pu => "PU",
            Self::Bridge => "Bridge",
            Self::PciDevice => "PCIDev",
            Self::OsDevice => "OSDev",
            Self::Misc => "Misc",
        }
    }

    /// The name on pictures, as lstopo writes it: `L1d`, `L2`, `PU`.
    pub fn short(self) -> &'static str {
        match self {
            Self::L5Cache => "L5",
            Self::L4Cache => "L4",
            Self::L3Cache => "L3",
            Self::L2Cache => "L2",
            Self::L1Cache => "L1d",
            Self::L3ICache => "L3i",
            Self::L2ICache => "L2i",
            Self::L1ICache => "L1i",
            Self::PciDevice => "PCI",
            Self::OsDevice => "OS",
            _ => self.name(),
        }
    }

    /// The kind of a name as hwloc's tools accept it: any case, `socket`, `pack` and `node` too, `L1d`, `L2`, `thread`.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let known = |kind: &&Self| {
            kind.name().eq_ignore_ascii_case(&name) || kind.short().eq_ignore_ascii_case(&name)
        };
        let other = match name.as_str() {
            "socket" | "pack" => Some(Self::Package),
            "numa" | "node" | "numanode" => Some(Self::NumaNode),
            "l1dcache" | "l1" => Some(Self::L1Cache),
            "l2d" | "l2dcache" => Some(Self::L2Cache),
            "l3d" | "l3dcache" => Some(Self::L3Cache),
            "thread" => Some(Self::Pu),
            "system" => Some(Self::Machine),
            "osdevice" | "os" => Some(Self::OsDevice),
            "pci" | "pcidevice" => Some(Self::PciDevice),
            "memorysidecache" | "mscache" => Some(Self::MemCache),
            _ => None,
        };
        Self::ALL.iter().find(known).copied().or(other)
    }

    /// Machine, packages, caches, cores, PUs ...: what normal children are.
    pub fn is_normal(self) -> bool {
        !self.is_memory() && !self.is_io() && self != Self::Misc
    }

    /// NUMA nodes and caches before them.
    pub fn is_memory(self) -> bool {
        matches!(self, Self::NumaNode | Self::MemCache)
    }

    /// Bridges and devices.
    pub fn is_io(self) -> bool {
        matches!(self, Self::Bridge | Self::PciDevice | Self::OsDevice)
    }

    /// Caches of the CPU.
    pub fn is_cache(self) -> bool {
        use ObjectKind as K;
        let data = matches!(self, K::L5Cache | K::L4Cache | K::L3Cache | K::L2Cache | K::L1Cache);
        data || matches!(self, K::L3ICache | K::L2ICache | K::L1ICache)
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// What kinds of objects have of their own. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Attributes {
    /// Nothing.
    #[default]
    None,
    /// A cache, of the CPU or of memory.
    Cache {
        /// Capacity in bytes; 0 where unknown.
        size: u64,
        /// Level: 1, 2, 3 ...
        depth: u32,
        /// Line in bytes; 0 where unknown.
        line: u32,
        /// Ways; -1 for a fully associative one, 0 where unknown.
        associativity: i32,
        /// Holds data (also a unified one).
        data: bool,
        /// Holds instructions (also a unified one).
        instructions: bool,
    },
    /// A NUMA node.
    Numa {
        /// Its memory in bytes.
        memory: u64,
        /// Sizes of pages in bytes, and how many of each.
        pages: Vec<(u64, u64)>,
    },
    /// A group.
    Group {
        /// hwloc's number for what made it.
        kind: u32,
        /// Its kind within that.
        subkind: u32,
    },
    /// A bridge.
    Bridge {
        /// A host bridge: it starts a PCI hierarchy.
        host: bool,
        /// Domain, first and last bus below it.
        buses: Option<(u32, u8, u8)>,
        /// Its own place on the bus above, unless it is a host bridge.
        pci: Option<Pci>,
    },
    /// A PCI device.
    Pci(Pci),
    /// An operating system's device.
    Os {
        /// What it is for: `Block`, `GPU`, `Network`, `OpenFabrics`, `DMA`, `CoProc`, `Memory`; more than one since version 3.
        uses: Vec<String>,
    },
}

/// A place on a PCI bus and what sits there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pci {
    /// Domain, bus, device, function.
    pub place: (u32, u8, u8, u8),
    /// Class, for example 0x0200 for Ethernet.
    pub class: u16,
    /// Vendor and device.
    pub ids: (u16, u16),
    /// Of the subsystem.
    pub subsystem: (u16, u16),
    /// Revision.
    pub revision: u8,
    /// GB/s; 0 where unknown.
    pub link_speed: f64,
}

/// An object.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// A word that says more, for example `Cluster` for a group or `HBM` for memory.
    pub subtype: Option<String>,
    /// A device's or misc object's name.
    pub name: Option<String>,
    /// The operating system's number.
    pub os_index: Option<u32>,
    /// Number among the objects of its kind (of its depth, for groups and caches), in the order of the tree.
    pub logical_index: u32,
    /// hwloc's number that is unique in the topology.
    pub gp_index: Option<u64>,
    /// PUs in it; empty for I/O and Misc.
    pub cpuset: CpuSet,
    /// The same with PUs that are offline or not known well.
    pub complete_cpuset: CpuSet,
    /// NUMA nodes in or beside it.
    pub nodeset: CpuSet,
    /// The same with those that are offline.
    pub complete_nodeset: CpuSet,
    /// What objects of its kind have of their own.
    pub attributes: Attributes,
    /// Further facts: name and value.
    pub infos: Vec<(String, String)>,
    /// Attributes of the XML that mean nothing to Talea, kept for who reads the file after.
    pub unknown: Vec<(String, String)>,
    /// None for the root.
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
    /// An object of this kind with nothing known of it.
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
            unknown: Vec::new(),
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
}

/// Distances between objects: `values[from * objects.len() + to]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distances {
    /// `NUMALatency`, `XGMIBandwidth` ...
    pub name: String,
    /// hwloc's bits: where they are from, and whether they are latencies or bandwidths.
    pub kind: u64,
    /// The objects, by place in the topology.
    pub objects: Vec<ObjectId>,
    /// Row by row.
    pub values: Vec<u64>,
}

/// A memory attribute: capacity, bandwidth, latency ... of NUMA nodes, seen from initiators.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryAttribute {
    /// `Bandwidth`, `Latency` ... (MB/s, ns).
    pub name: String,
    /// hwloc's bits: higher or lower is better, needs an initiator.
    pub flags: u64,
    /// The node, from where it is seen if that matters, and the value.
    pub values: Vec<(ObjectId, Option<CpuSet>, u64)>,
}

/// PUs of one kind in a machine that has several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuKind {
    /// The PUs.
    pub cpuset: CpuSet,
    /// Higher is faster and less efficient; -1 where unknown.
    pub efficiency: i32,
    /// `CoreType`, `FrequencyMaxMHz` ...
    pub infos: Vec<(String, String)>,
}

/// NUMA nodes of memory of one sort.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryTier {
    /// hwloc's bits: 1 is memory of high bandwidth, 2 normal memory, others see its manual.
    pub kinds: u64,
    /// The NUMA nodes.
    pub nodeset: CpuSet,
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
    /// Kinds of PUs.
    pub cpu_kinds: Vec<CpuKind>,
    /// Sorts of memory, the fastest first.
    pub memory_tiers: Vec<MemoryTier>,
    /// What hwloc could do where the file was made: name and value, 1 for most.
    pub support: Vec<(String, u64)>,
    /// What the file says of the whole (`Backend`, `HostName`, `OSRelease` ...): name and value.
    pub infos: Vec<(String, String)>,
}

impl Topology {
    /// An object.
    pub fn get(&self, id: ObjectId) -> &Object {
        &self.objects[id.0 as usize]
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

    /// The root's first, the object's own parent last.
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

    /// How many objects of each kind there are, outermost kinds first; none for kinds that do not occur.
    pub fn counts(&self) -> Vec<(ObjectKind, usize)> {
        let count = |kind: ObjectKind| (kind, self.of_kind(kind).count());
        ObjectKind::ALL.into_iter().map(count).filter(|&(_, count)| count > 0).collect()
    }

    /// How people call an object: `PU P#3`, `L3 L#0`, `OS eth0`.
    pub fn label(&self, id: ObjectId) -> String {
        let object = self.get(id);
        let kind = object.kind.short();
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

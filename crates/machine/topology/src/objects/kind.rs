//! Kinds of objects, and their names.
//!
//! Owns hwloc's names, those on pictures, and those that people write. It refuses the attributes of
//! a kind.

use std::fmt;

/// Kinds of objects, with hwloc 2's names.
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

    /// The name on pictures, in the form of lstopo: `L1d`, `L2`, `PU`.
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

    /// The kind with a name in any form that hwloc's tools accept: any case, `socket`, `pack` and
    /// `node` too, `L1d`, `L2`, `thread`.
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

    /// True for normal children: machine, packages, caches, cores, PUs ...
    pub fn is_normal(self) -> bool {
        !self.is_memory() && !self.is_io() && self != Self::Misc
    }

    /// True for NUMA nodes and caches before them.
    pub fn is_memory(self) -> bool {
        matches!(self, Self::NumaNode | Self::MemCache)
    }

    /// True for bridges and devices.
    pub fn is_io(self) -> bool {
        matches!(self, Self::Bridge | Self::PciDevice | Self::OsDevice)
    }

    /// True for caches of the CPU.
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

//! Attributes of objects by kind: capacities, places on buses, uses.

/// Attributes of kinds of objects. Sizes are in bytes.
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
        /// True if it holds data (also a unified one).
        data: bool,
        /// True if it holds instructions (also a unified one).
        instructions: bool,
    },
    /// A NUMA node.
    Numa {
        /// Its memory in bytes.
        memory: u64,
        /// Sizes of pages in bytes, and the number of each.
        pages: Vec<(u64, u64)>,
    },
    /// A group.
    Group {
        /// hwloc's number of its origin.
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
        /// Its uses: `Block`, `GPU`, `Network`, `OpenFabrics`, `DMA`, `CoProc`, `Memory`; more than
        /// one since version 3.
        uses: Vec<String>,
    },
}

/// A place on a PCI bus and its device.
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
    /// Programming interface; 0 in files before version 3, which lack it.
    pub interface: u8,
    /// GB/s; 0 where unknown.
    pub link_speed: f64,
}

impl Pci {
    /// Its place in the form of `lspci`: `0003:01:00.0`.
    pub fn bus_id(&self) -> String {
        let (domain, bus, device, function) = self.place;
        format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
    }
}

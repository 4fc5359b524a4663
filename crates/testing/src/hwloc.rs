//! Generated files of hwloc's versions 1, 2 and 3 for machines of known objects.
//!
//! Owns the text: levels, memory, sets, devices, distances, and what versions 2 and 3 write beside
//! objects. Numbers of PUs go over all cores before they go over the threads of a core, as on most
//! machines. It refuses to use the product's writer: readers are tested against a second source.
//! Follows the files `hwloc.dtd` and `hwloc2.dtd`.

mod write;

use std::collections::BTreeMap;

use write::Writer;

/// Place of NUMA nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// One at each package.
    Packages,
    /// One at each L3 cache.
    Caches,
    /// Two at each group of cores, the second one faster; such a group has no L3 cache.
    Fast,
}

/// Counts of objects in the object above them.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Name for messages.
    pub name: &'static str,
    /// Packages.
    pub packages: usize,
    /// L3 caches of a package, or groups.
    pub caches: usize,
    /// Cores below an L3 cache, each with an L2 and an L1 cache.
    pub cores: usize,
    /// PUs of a core.
    pub threads: usize,
    /// Place of NUMA nodes.
    pub memory: Memory,
    /// Network devices on PCI, at the first package.
    pub devices: usize,
    /// True if the second half of the cores is of another kind, from version 2 on.
    pub kinds: bool,
}

/// Machines of one core up to 384 PUs.
pub const MACHINES: [Machine; 6] = [
    Machine {
        name: "one core",
        packages: 1,
        caches: 1,
        cores: 1,
        threads: 1,
        memory: Memory::Packages,
        devices: 0,
        kinds: false,
    },
    Machine {
        name: "laptop",
        packages: 1,
        caches: 1,
        cores: 6,
        threads: 2,
        memory: Memory::Packages,
        devices: 1,
        kinds: true,
    },
    Machine {
        name: "two packages",
        packages: 2,
        caches: 1,
        cores: 8,
        threads: 1,
        memory: Memory::Packages,
        devices: 2,
        kinds: false,
    },
    Machine {
        name: "clusters",
        packages: 1,
        caches: 4,
        cores: 6,
        threads: 2,
        memory: Memory::Caches,
        devices: 3,
        kinds: false,
    },
    Machine {
        name: "fast memory",
        packages: 2,
        caches: 2,
        cores: 5,
        threads: 4,
        memory: Memory::Fast,
        devices: 0,
        kinds: false,
    },
    Machine {
        name: "384 PUs",
        packages: 2,
        caches: 12,
        cores: 8,
        threads: 2,
        memory: Memory::Packages,
        devices: 5,
        kinds: false,
    },
];

/// Bytes of each NUMA node.
pub const NODE: u64 = 64 << 30;
/// Distance of a node to itself and to another one.
pub const DISTANCES: [u64; 2] = [10, 21];
/// Bandwidth of the usual and of the fast nodes, in MB/s.
pub const BANDWIDTHS: [u64; 2] = [90_000, 380_000];

impl Machine {
    /// Number of PUs.
    #[must_use]
    pub fn pus(&self) -> usize {
        self.all_cores() * self.threads
    }

    /// Number of NUMA nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        match self.memory {
            Memory::Packages => self.packages,
            Memory::Caches => self.packages * self.caches,
            Memory::Fast => 2 * self.packages * self.caches,
        }
    }

    /// Number of objects by hwloc's name of their type.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<String, usize> {
        let caches = self.packages * self.caches;
        let (groups, caches) = match self.memory {
            Memory::Fast => (caches, 0),
            _ => (0, caches),
        };
        let counts = [
            ("Machine", 1),
            ("Group", groups),
            ("Package", self.packages),
            ("NUMANode", self.nodes()),
            ("L3Cache", caches),
            ("L2Cache", self.all_cores()),
            ("L1Cache", self.all_cores()),
            ("Core", self.all_cores()),
            ("PU", self.pus()),
            ("Bridge", usize::from(self.devices > 0)),
            ("PCIDev", self.devices),
            ("OSDev", self.devices),
        ];
        let there = counts.into_iter().filter(|(_, count)| *count > 0);
        there.map(|(name, count)| (name.to_owned(), count)).collect()
    }

    /// PUs of some cores, which are counted over the machine, as their numbers in the system.
    #[must_use]
    pub fn pus_of(&self, cores: std::ops::Range<usize>) -> Vec<usize> {
        let mut pus: Vec<usize> = (0..self.threads)
            .flat_map(|thread| cores.clone().map(move |core| (thread, core)))
            .map(|(thread, core)| thread * self.all_cores() + core)
            .collect();
        pus.sort_unstable();
        pus
    }

    /// The file in a version of hwloc's: 1, 2 or 3.
    #[must_use]
    pub fn xml(&self, version: u32) -> String {
        let head = match version {
            1 => "\"hwloc.dtd\">\n<topology>\n".to_owned(),
            _ => format!("\"hwloc2.dtd\">\n<topology version=\"{version}.0\">\n"),
        };
        let text =
            format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM {head}");
        let mut writer = Writer::new(self, version, text);
        writer.machine();
        if version > 1 {
            writer.beside();
        }
        writer.text.push_str("</topology>\n");
        writer.text
    }

    fn all_cores(&self) -> usize {
        self.packages * self.caches * self.cores
    }

    /// Nodes of an L3 cache, the usual one first.
    fn nodes_at(&self, package: usize, cache: usize) -> Vec<usize> {
        let place = package * self.caches + cache;
        match self.memory {
            Memory::Packages => vec![package],
            Memory::Caches => vec![place],
            Memory::Fast => vec![place, self.packages * self.caches + place],
        }
    }
}

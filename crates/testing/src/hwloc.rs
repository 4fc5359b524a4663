//! Generated files of hwloc's versions 1, 2 and 3 for machines of known objects.
//!
//! Owns the text: levels, memory, sets, devices, distances, and what versions 2 and 3 write beside
//! objects. Numbers of PUs go over all cores before they go over the threads of a core, as on most
//! machines. It refuses to use the product's writer: readers are tested against a second source.
//! Follows the files `hwloc.dtd` and `hwloc2.dtd`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Place of NUMA nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// One at each package.
    Packages,
    /// One at each L3 cache.
    Caches,
    /// Two at each group of cores, of which the second is faster; such a group has no L3 cache.
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
        let mut writer = Writer { machine: self, version, text, objects: 0, nodes: Vec::new() };
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

/// A set of numbers as hwloc writes it: words of 32 bits, the highest first.
fn mask(set: &[usize]) -> String {
    let last = set.iter().max().map_or(0, |last| last / 32);
    let mut words = vec![0_u32; last + 1];
    for &number in set {
        words[number / 32] |= 1 << (number % 32);
    }
    let words: Vec<String> = words.iter().rev().map(|word| format!("0x{word:08x}")).collect();
    words.join(",")
}

/// A NUMA node that was written.
struct Node {
    number: usize,
    /// Number of the object in the file.
    object: usize,
    pus: Vec<usize>,
}

/// A file that is being written.
struct Writer<'a> {
    machine: &'a Machine,
    version: u32,
    text: String,
    /// Objects so far, whose numbers begin at 1.
    objects: usize,
    nodes: Vec<Node>,
}

impl Writer<'_> {
    fn machine(&mut self) {
        let machine = self.machine;
        let cores = machine.packages * machine.caches * machine.cores;
        let (pus, nodes): (_, Vec<usize>) =
            (machine.pus_of(0..cores), (0..machine.nodes()).collect());
        let (all, memory) = (mask(&pus), mask(&nodes));
        let online =
            if self.version == 1 { format!(" online_cpuset=\"{all}\"") } else { String::new() };
        let allowed = format!("{online} allowed_cpuset=\"{all}\" allowed_nodeset=\"{memory}\"");
        self.open("Machine", Some(0), &pus, &nodes, &allowed);
        if self.version == 1 {
            self.text.push_str("<info name=\"HostName\" value=\"node1\"/>\n");
            if machine.nodes() > 1 && machine.memory != Memory::Fast {
                self.old_distances();
            }
        }
        for package in 0..machine.packages {
            self.package(package);
        }
        self.close();
    }

    fn package(&mut self, package: usize) {
        let machine = self.machine;
        let each = machine.caches * machine.cores;
        let pus = machine.pus_of(package * each..(package + 1) * each);
        let nodes = (0..machine.caches).flat_map(|cache| machine.nodes_at(package, cache));
        let nodes: Vec<usize> = nodes.collect::<BTreeSet<_>>().into_iter().collect();
        let name = if self.version == 1 { "Socket" } else { "Package" };
        self.open(name, Some(package), &pus, &nodes, "");
        // Nodes of version 1 contain what has their PUs.
        let has_node = machine.memory == Memory::Packages;
        let contains = has_node && self.version == 1;
        if contains {
            self.open("NUMANode", Some(package), &pus, &nodes, &memory());
        } else if has_node {
            self.node(package, &pus, false);
        }
        for cache in 0..machine.caches {
            self.cluster(package, cache);
        }
        if package == 0 && machine.devices > 0 {
            self.devices();
        }
        if contains {
            self.close();
        }
        self.close();
    }

    /// An L3 cache or a group, with the nodes at it.
    fn cluster(&mut self, package: usize, cache: usize) {
        let machine = self.machine;
        let first = (package * machine.caches + cache) * machine.cores;
        let pus = machine.pus_of(first..first + machine.cores);
        let nodes = machine.nodes_at(package, cache);
        let is_old = self.version == 1;
        let fast = nodes.get(1).copied();
        if fast.is_some() {
            let more = if is_old { " depth=\"0\"" } else { " kind=\"102\" subkind=\"0\"" };
            self.open("Group", None, &pus, &nodes, more);
        }
        let contains = is_old && machine.memory != Memory::Packages;
        if contains {
            self.open("NUMANode", Some(nodes[0]), &pus, &nodes[..1], &memory());
        }
        if let Some(fast) = fast.filter(|_| !is_old) {
            self.node(nodes[0], &pus, false);
            self.node(fast, &pus, true);
        }
        let inside = if is_old { &nodes[..1] } else { &nodes };
        if fast.is_some() {
            self.cores(first, inside);
        } else {
            self.open_cache(3, 32 << 20, &pus, inside);
            if machine.memory == Memory::Caches && !is_old {
                self.node(nodes[0], &pus, false);
            }
            self.cores(first, inside);
            self.close();
        }
        if contains {
            self.close();
        }
        // Version 1 has no two nodes of the same PUs: the second one has none.
        if let Some(fast) = fast.filter(|_| is_old) {
            self.node(fast, &[], true);
        }
        if fast.is_some() {
            self.close();
        }
    }

    /// Cores of an L3 cache or a group, from the first one on.
    fn cores(&mut self, first: usize, nodes: &[usize]) {
        let machine = self.machine;
        for core in first..first + machine.cores {
            let pus = machine.pus_of(core..core + 1);
            self.open_cache(2, 1 << 20, &pus, nodes);
            self.open_cache(1, 32 << 10, &pus, nodes);
            self.open("Core", Some(core), &pus, nodes, "");
            for &pu in &pus {
                self.open("PU", Some(pu), &[pu], nodes, "");
                self.close();
            }
            (0..3).for_each(|_| self.close());
        }
    }

    /// A NUMA node without objects below it. Fast memory is of the kind that versions 1 and 2 know.
    fn node(&mut self, number: usize, pus: &[usize], fast: bool) {
        let subtype = if fast && self.version > 1 { " subtype=\"MCDRAM\"" } else { "" };
        let more = format!("{}{subtype}", memory());
        self.open("NUMANode", Some(number), pus, &[number], &more);
        if fast && self.version == 1 {
            self.text.push_str("<info name=\"Type\" value=\"MCDRAM\"/>\n");
        }
        self.nodes.push(Node { number, object: self.objects, pus: pus.to_vec() });
        self.close();
    }

    fn devices(&mut self) {
        let end = self.machine.devices;
        self.bare(
            "Bridge",
            &format!(" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[00-{end:02x}]\""),
        );
        for device in 0..end {
            let bus = device + 1;
            let number = if self.version == 1 {
                format!(" os_index=\"{}\"", bus << 12)
            } else {
                String::new()
            };
            let revision = if self.version == 3 { "02 00" } else { "02" };
            self.bare(
                "PCIDev",
                &format!(
                    "{number} pci_busid=\"0000:{bus:02x}:00.0\" \
                     pci_type=\"0200 [15b3:1017] [15b3:0008] {revision}\" \
                     pci_link_speed=\"15.753846\""
                ),
            );
            // A network in each version's numbers.
            let kind = if self.version == 3 { 16 } else { 2 };
            self.bare("OSDev", &format!(" name=\"eth{device}\" osdev_type=\"{kind}\""));
            (0..2).for_each(|_| self.close());
        }
        self.close();
    }

    fn open_cache(&mut self, depth: u32, size: u64, pus: &[usize], nodes: &[usize]) {
        let name = if self.version == 1 { "Cache".to_owned() } else { format!("L{depth}Cache") };
        let kind = u32::from(depth == 1);
        let more = format!(
            " cache_size=\"{size}\" depth=\"{depth}\" cache_linesize=\"64\" \
             cache_associativity=\"8\" cache_type=\"{kind}\""
        );
        self.open(&name, None, pus, nodes, &more);
    }

    fn open(
        &mut self,
        name: &str,
        number: Option<usize>,
        pus: &[usize],
        nodes: &[usize],
        more: &str,
    ) {
        let number = number.map(|number| format!(" os_index=\"{number}\"")).unwrap_or_default();
        let (pus, nodes) = (mask(pus), mask(nodes));
        let sets = format!(
            "{number} cpuset=\"{pus}\" complete_cpuset=\"{pus}\" nodeset=\"{nodes}\" \
             complete_nodeset=\"{nodes}\"{more}"
        );
        self.bare(name, &sets);
    }

    /// An object with its number in the file.
    fn bare(&mut self, name: &str, attributes: &str) {
        self.objects += 1;
        let id = match self.version {
            1 => String::new(),
            2 => format!(" gp_index=\"{}\"", self.objects),
            _ => format!(" id=\"obj{}\"", self.objects),
        };
        let _ = writeln!(self.text, "<object type=\"{name}\"{id}{attributes}>");
    }

    fn close(&mut self) {
        self.text.push_str("</object>\n");
    }

    /// Distances of version 1, which name a level by its depth.
    fn old_distances(&mut self) {
        let nodes = self.machine.nodes();
        let _ = writeln!(
            self.text,
            "<distances nbobjs=\"{nodes}\" relative_depth=\"2\" latency_base=\"10.000000\">"
        );
        for value in distances(nodes) {
            let tenths = value as f64 / 10.0;
            let _ = writeln!(self.text, "<latency value=\"{tenths:.6}\"/>");
        }
        self.text.push_str("</distances>\n");
    }

    /// Distances, attributes of memory and kinds of PUs.
    fn beside(&mut self) {
        let nodes = self.machine.nodes();
        if nodes > 1 {
            let list = |numbers: Vec<u64>| {
                let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
                let text = numbers.join(" ") + " ";
                (text.len(), text)
            };
            let (length, indexes) = list((0..nodes as u64).collect());
            let (longer, values) = list(distances(nodes));
            let _ = writeln!(
                self.text,
                "<distances2 type=\"NUMANode\" nbobjs=\"{nodes}\" kind=\"5\" \
                 name=\"NUMALatency\" indexing=\"os\">\n\
                 <indexes length=\"{length}\">{indexes}</indexes>\n\
                 <u64values length=\"{longer}\">{values}</u64values>\n</distances2>"
            );
        }
        if self.machine.memory == Memory::Fast {
            self.text.push_str("<memattr name=\"Bandwidth\" flags=\"5\">\n");
            for node in &self.nodes {
                let fast = node.number >= self.machine.nodes() / 2;
                let _ = writeln!(
                    self.text,
                    "<memattr_value target_obj_type=\"NUMANode\" target_obj_gp_index=\"{}\" \
                     value=\"{}\" initiator_cpuset=\"{}\"/>",
                    node.object,
                    BANDWIDTHS[usize::from(fast)],
                    mask(&node.pus)
                );
            }
            self.text.push_str("</memattr>\n");
        }
        if self.machine.kinds {
            let cores = self.machine.packages * self.machine.caches * self.machine.cores;
            let parts = [(0..cores / 2, "IntelCore", 1), (cores / 2..cores, "IntelAtom", 0)];
            for (part, name, efficiency) in parts {
                let pus = mask(&self.machine.pus_of(part));
                let _ = writeln!(
                    self.text,
                    "<cpukind cpuset=\"{pus}\" forced_efficiency=\"{efficiency}\">\n\
                     <info name=\"CoreType\" value=\"{name}\"/>\n</cpukind>"
                );
            }
        }
    }
}

/// Attribute with the memory of a node.
fn memory() -> String {
    format!(" local_memory=\"{NODE}\"")
}

/// Distances between all nodes, row by row.
fn distances(nodes: usize) -> Vec<u64> {
    let all = (0..nodes).flat_map(|from| (0..nodes).map(move |to| from == to));
    all.map(|same| DISTANCES[usize::from(!same)]).collect()
}

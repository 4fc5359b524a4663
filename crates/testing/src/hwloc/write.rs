//! The text of one file, object by object, in the form of a version.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{BANDWIDTHS, DISTANCES, Machine, Memory, NODE};

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
pub(super) struct Writer<'a> {
    machine: &'a Machine,
    version: u32,
    pub(super) text: String,
    /// Objects so far, whose numbers begin at 1.
    objects: usize,
    nodes: Vec<Node>,
}

impl<'a> Writer<'a> {
    /// A writer behind the head of a file.
    pub(super) fn new(machine: &'a Machine, version: u32, text: String) -> Self {
        Self { machine, version, text, objects: 0, nodes: Vec::new() }
    }

    /// All objects.
    pub(super) fn machine(&mut self) {
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
    pub(super) fn beside(&mut self) {
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

//! Objects as the kernel's folders tell them.
//!
//! Owns the reading of `cpu*/topology`, `cpu*/cache`, `node*` and the devices under `/sys/class`,
//! and what becomes of machines that tell little: without any list of siblings each PU is a core of
//! one package. Instruction caches are left out, as hwloc does by default. Follows
//! `Documentation/ABI/stable/sysfs-devices-system-cpu`.

use talea_topology::objects::{CpuKind, Distances};
use talea_topology::{Attributes, CpuSet, Object, ObjectKind, Topology};

use super::tree::Tree;
use crate::cpus;
use crate::root::Root;

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";
/// Most caches of a PU that are looked at.
const MOST_CACHES: usize = 16;
/// Most devices of a sort.
const MOST_DEVICES: usize = 4096;

/// The machine; none if not even its PUs are known.
pub fn topology(root: &Root) -> Option<Topology> {
    let online = cpus::online(root);
    if online.is_empty() {
        return None;
    }
    let mut tree = Tree::default();
    let mut machine = Object::new(ObjectKind::Machine);
    machine.cpuset = online.clone();
    machine.infos = facts(root);
    tree.normal.push(machine);
    let model = cpu_model(root);
    for pu in online.iter() {
        packages_and_cores(root, pu, &online, model.as_deref(), &mut tree.normal);
        caches(root, pu, &online, &mut tree.normal);
        let mut object = Object::new(ObjectKind::Pu);
        object.os_index = Some(pu as u32);
        object.cpuset = CpuSet::single(pu);
        tree.normal.push(object);
    }
    tree.memory = nodes(root, &online);
    tree.devices = devices(root, &online);
    let (mut topology, left_out) = tree.grow();
    for what in left_out {
        topology.infos.push(("LeftOut".to_owned(), what));
    }
    complete(&mut topology, &cpus::present(root));
    kinds(root, &online, &mut topology);
    distances(root, &mut topology);
    Some(topology)
}

/// Adds an object unless there is one of the same kind with the same PUs.
fn add(objects: &mut Vec<Object>, object: Object) {
    let same = |other: &Object| other.kind == object.kind && other.cpuset == object.cpuset;
    // The first PU of a set is the one that brings it, so that what repeats is found only among
    // few.
    if !objects.iter().any(same) {
        objects.push(object);
    }
}

fn packages_and_cores(
    root: &Root,
    pu: usize,
    online: &CpuSet,
    model: Option<&str>,
    out: &mut Vec<Object>,
) {
    let folder = format!("{CPU}/cpu{pu}/topology");
    let set = |names: [&str; 2]| {
        let list = names.iter().find_map(|name| cpus::list(root, &format!("{folder}/{name}")));
        list.map(|list| list.and(online)).filter(|list| list.contains(pu))
    };
    let number = |name: &str| {
        let text = root.line(&format!("{folder}/{name}"))?;
        text.parse::<u32>().ok()
    };
    let package =
        set(["package_cpus_list", "core_siblings_list"]).unwrap_or_else(|| online.clone());
    let core =
        set(["core_cpus_list", "thread_siblings_list"]).unwrap_or_else(|| CpuSet::single(pu));
    let die = set(["die_cpus_list", "die_cpus_list"]).filter(|die| *die != package);
    if package.first() == Some(pu) {
        let mut object = Object::new(ObjectKind::Package);
        object.os_index = Some(number("physical_package_id").unwrap_or(0));
        object.infos.extend(model.map(|model| ("CPUModel".to_owned(), model.to_owned())));
        object.cpuset = package;
        add(out, object);
    }
    if let Some(die) = die.filter(|die| die.first() == Some(pu)) {
        let mut object = Object::new(ObjectKind::Die);
        object.os_index = number("die_id");
        object.cpuset = die;
        add(out, object);
    }
    if core.first() == Some(pu) {
        let mut object = Object::new(ObjectKind::Core);
        object.os_index = Some(number("core_id").unwrap_or(pu as u32));
        object.cpuset = core;
        add(out, object);
    }
}

fn caches(root: &Root, pu: usize, online: &CpuSet, out: &mut Vec<Object>) {
    for index in 0..MOST_CACHES {
        let folder = format!("{CPU}/cpu{pu}/cache/index{index}");
        let line = |name: &str| root.line(&format!("{folder}/{name}"));
        let Some(level) = line("level").and_then(|text| text.parse::<u32>().ok()) else { break };
        let kind = match level {
            1 => ObjectKind::L1Cache,
            2 => ObjectKind::L2Cache,
            3 => ObjectKind::L3Cache,
            4 => ObjectKind::L4Cache,
            5 => ObjectKind::L5Cache,
            _ => continue,
        };
        let sort = line("type").unwrap_or_default();
        let shared = cpus::list(root, &format!("{folder}/shared_cpu_list"));
        let shared = shared.map_or_else(|| CpuSet::single(pu), |set| set.and(online));
        if sort == "Instruction" || shared.first() != Some(pu) {
            continue;
        }
        let number = |name: &str| line(name).and_then(|text| text.parse::<u32>().ok()).unwrap_or(0);
        let mut object = Object::new(kind);
        object.cpuset = shared;
        object.os_index = line("id").and_then(|text| text.parse().ok());
        object.attributes = Attributes::Cache {
            size: line("size").and_then(|text| size(&text)).unwrap_or(0),
            depth: level,
            line: number("coherency_line_size"),
            associativity: number("ways_of_associativity") as i32,
            data: true,
            instructions: sort == "Unified",
        };
        add(out, object);
    }
}

/// `32K`, `1M`, `512`: bytes.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text.get(digits.len()..)?.chars().next() {
        None => 0,
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        Some(_) => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn nodes(root: &Root, online: &CpuSet) -> Vec<Object> {
    let kilobytes = |path: &str| {
        let text = root.read(path)?;
        let line = text.lines().find(|line| line.contains("MemTotal:"))?;
        let number = line.split_ascii_whitespace().rev().nth(1)?.parse::<u64>().ok()?;
        number.checked_mul(1024)
    };
    let node = |number: usize| {
        let folder = format!("{NODE}/node{number}");
        let mut object = Object::new(ObjectKind::NumaNode);
        object.os_index = Some(number as u32);
        object.nodeset = CpuSet::single(number);
        let list = cpus::list(root, &format!("{folder}/cpulist")).unwrap_or_default();
        object.cpuset = list.and(online);
        let memory = kilobytes(&format!("{folder}/meminfo")).unwrap_or(0);
        object.attributes = Attributes::Numa { memory, pages: Vec::new() };
        object
    };
    let mut nodes: Vec<Object> = cpus::nodes(root).iter().map(node).collect();
    if nodes.is_empty() {
        // A kernel without NUMA: all memory is one node.
        let mut object = node(0);
        object.cpuset = online.clone();
        let memory = kilobytes("proc/meminfo").unwrap_or(0);
        object.attributes = Attributes::Numa { memory, pages: Vec::new() };
        nodes.push(object);
    }
    nodes
}

/// Network, block, InfiniBand devices and GPUs that are more than software.
fn devices(root: &Root, online: &CpuSet) -> Vec<(Object, CpuSet)> {
    const CLASSES: [(&str, &str); 4] = [
        ("sys/class/block", "Block"),
        ("sys/class/net", "Network"),
        ("sys/class/infiniband", "OpenFabrics"),
        ("sys/class/drm", "GPU"),
    ];
    let mut devices = Vec::new();
    for (class, purpose) in CLASSES {
        for name in root.names(class).into_iter().take(MOST_DEVICES) {
            // Partitions, loops and bridges have no device below them; connectors of a GPU have a
            // dash.
            let device = format!("{class}/{name}/device");
            let partition = root.exists(&format!("{class}/{name}/partition"));
            if !root.exists(&device) || partition || purpose == "GPU" && name.contains('-') {
                continue;
            }
            let node = root.line(&format!("{device}/numa_node"));
            let node = node.and_then(|text| text.parse::<usize>().ok());
            let close = cpus::list(root, &format!("{device}/local_cpulist"))
                .or_else(|| cpus::list(root, &format!("{NODE}/node{}/cpulist", node?)))
                .map(|list| list.and(online))
                .filter(|list| !list.is_empty())
                .unwrap_or_else(|| online.clone());
            let mut object = Object::new(ObjectKind::OsDevice);
            let address = root.line(&format!("{class}/{name}/address"));
            object.name = Some(name);
            object.attributes = Attributes::Os { uses: vec![purpose.to_owned()] };
            let address = address.filter(|_| purpose == "Network");
            object.infos.extend(address.map(|address| ("Address".to_owned(), address)));
            devices.push((object, close));
        }
    }
    devices
}

fn facts(root: &Root) -> Vec<(String, String)> {
    let facts = [
        ("OSName", "proc/sys/kernel/ostype"),
        ("OSRelease", "proc/sys/kernel/osrelease"),
        ("OSVersion", "proc/sys/kernel/version"),
        ("HostName", "proc/sys/kernel/hostname"),
        ("DMIProductName", "sys/class/dmi/id/product_name"),
    ];
    let fact = |(name, path): (&str, &str)| {
        let text: String = root.line(path)?.chars().filter(|c| !c.is_control()).take(256).collect();
        Some((name.to_owned(), text))
    };
    let own = [("Backend".to_owned(), "Talea, from /sys".to_owned())];
    facts.into_iter().filter_map(fact).chain(own).collect()
}

fn cpu_model(root: &Root) -> Option<String> {
    let text = root.read("proc/cpuinfo")?;
    let names = ["model name", "cpu model", "cpu", "Processor"];
    let of = |name: &&str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.trim() == *name).map(|(_, value)| value.trim().to_owned())
    };
    names.iter().find_map(of).map(|name| name.chars().take(256).collect())
}

/// Sets of nodes of all objects, and what is offline.
fn complete(topology: &mut Topology, present: &CpuSet) {
    let nodes: Vec<(CpuSet, CpuSet)> = topology
        .of_kind(ObjectKind::NumaNode)
        .map(|(_, node)| (node.cpuset.clone(), node.nodeset.clone()))
        .collect();
    let all = nodes.iter().fold(CpuSet::default(), |all, (_, set)| all.or(set));
    for object in &mut topology.objects {
        if object.kind == ObjectKind::Machine {
            object.nodeset = all.clone();
        } else if object.kind.is_normal() {
            let close = nodes.iter().filter(|(pus, _)| pus.intersects(&object.cpuset));
            object.nodeset = close.fold(CpuSet::default(), |all, (_, set)| all.or(set));
        }
        object.complete_cpuset = object.cpuset.clone();
        object.complete_nodeset = object.nodeset.clone();
        if object.kind == ObjectKind::Machine {
            object.complete_cpuset = object.cpuset.or(present);
        }
    }
}

/// Sorts of cores, where there are several; the first is the most efficient one.
fn kinds(root: &Root, online: &CpuSet, topology: &mut Topology) {
    let sorts =
        [("cpu_lowpower", "IntelLowPower"), ("cpu_atom", "IntelAtom"), ("cpu_core", "IntelCore")];
    for (pmu, name) in sorts {
        let list = cpus::list(root, &format!("sys/devices/{pmu}/cpus")).unwrap_or_default();
        let cpuset = list.and(online);
        if !cpuset.is_empty() {
            let efficiency = topology.cpu_kinds.len() as i32;
            let infos = vec![("CoreType".to_owned(), name.to_owned())];
            topology.cpu_kinds.push(CpuKind { cpuset, efficiency, infos });
        }
    }
}

/// The firmware's table of latencies between nodes.
fn distances(root: &Root, topology: &mut Topology) {
    /// From the operating system, and of latency: hwloc's bits.
    const KIND: u64 = 1 | 4;
    let nodes: Vec<_> = topology
        .of_kind(ObjectKind::NumaNode)
        .filter_map(|(id, node)| Some((id, node.os_index?)))
        .collect();
    let mut values = Vec::with_capacity(nodes.len() * nodes.len());
    for (_, number) in &nodes {
        let line = root.line(&format!("{NODE}/node{number}/distance")).unwrap_or_default();
        let row: Vec<u64> = line.split_ascii_whitespace().flat_map(str::parse).collect();
        if row.len() != nodes.len() {
            return;
        }
        // Columns are in the order of numbers, objects in that of the tree.
        let mut order: Vec<u32> = nodes.iter().map(|&(_, number)| number).collect();
        order.sort_unstable();
        let column = |number: u32| order.iter().position(|&n| n == number);
        values.extend(nodes.iter().filter_map(|&(_, to)| row.get(column(to)?).copied()));
    }
    if nodes.len() > 1 && values.len() == nodes.len() * nodes.len() {
        let objects = nodes.iter().map(|&(id, _)| id).collect();
        let name = "NUMALatency".to_owned();
        topology.distances.push(Distances { name, kind: KIND, objects, values });
    }
}

#[cfg(test)]
#[path = "sysfs_tests.rs"]
mod tests;

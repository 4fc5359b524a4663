//! Tests of topology discovery from `/sys`: a server, a minimal tree, memory nodes inside packages,
//! sizes. Any tree of files must give a topology.

use std::fmt::Write as _;

use proptest::prelude::*;
use talea_topology::ObjectId;

use super::*;

fn write(root: &Root, path: &str, text: &str) {
    let path = root.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Two packages with two dies each, cores with two PUs that are eight numbers apart, one PU
/// offline.
fn server(root: &Root) {
    write(root, "sys/devices/system/cpu/online", "0-14\n");
    write(root, "sys/devices/system/cpu/present", "0-15\n");
    write(root, "proc/cpuinfo", "processor\t: 0\nmodel name\t: Example 9000\n");
    write(root, "proc/sys/kernel/hostname", "n01\n");
    for pu in 0..16 {
        let core = pu % 8;
        let (package, die) = (core / 4, core / 2);
        let cpu = format!("sys/devices/system/cpu/cpu{pu}");
        let list = |first: usize, count: usize| {
            format!("{first}-{},{}-{}\n", first + count - 1, first + 8, first + 8 + count - 1)
        };
        let pair = format!("{core},{}\n", core + 8);
        for (file, text) in [
            ("physical_package_id", format!("{package}\n")),
            ("die_id", format!("{}\n", die % 2)),
            ("core_id", format!("{core}\n")),
            ("package_cpus_list", list(package * 4, 4)),
            ("die_cpus_list", list(die * 2, 2)),
            ("core_cpus_list", pair.clone()),
        ] {
            write(root, &format!("{cpu}/topology/{file}"), &text);
        }
        for (index, level, sort, size, shared) in [
            (0, 1, "Data", "32K", pair.clone()),
            (1, 1, "Instruction", "32K", pair.clone()),
            (2, 2, "Unified", "1M", pair.clone()),
            (3, 3, "Unified", "16384K", list(die * 2, 2)),
        ] {
            let cache = format!("{cpu}/cache/index{index}");
            write(root, &format!("{cache}/level"), &format!("{level}\n"));
            write(root, &format!("{cache}/type"), sort);
            write(root, &format!("{cache}/size"), size);
            write(root, &format!("{cache}/shared_cpu_list"), &shared);
            write(root, &format!("{cache}/coherency_line_size"), "64");
            write(root, &format!("{cache}/ways_of_associativity"), "8");
        }
    }
    write(root, "sys/devices/system/node/online", "0-2\n");
    for (node, list) in [(0, "0-3,8-11\n"), (1, "4-7,12-15\n"), (2, "\n")] {
        let folder = format!("sys/devices/system/node/node{node}");
        write(root, &format!("{folder}/cpulist"), list);
        write(root, &format!("{folder}/meminfo"), &format!("Node {node} MemTotal: 1024 kB\n"));
        write(root, &format!("{folder}/distance"), ["10 20 30", "20 10 40", "30 40 10"][node]);
    }
    write(root, "sys/class/net/eth0/device/numa_node", "1\n");
    write(root, "sys/class/net/eth0/device/local_cpulist", "4-7,12-15\n");
    write(root, "sys/class/net/eth0/address", "00:11:22:33:44:55\n");
    write(root, "sys/class/net/lo/address", "00:00:00:00:00:00\n");
    write(root, "sys/class/block/sda/device/numa_node", "-1\n");
    write(root, "sys/class/block/sda1/partition", "1\n");
}

/// Indented, as lstopo prints it.
fn drawn(topology: &Topology) -> String {
    let mut text = String::new();
    for (id, object) in topology.iter() {
        let indent = "  ".repeat(topology.ancestors(id).len());
        write!(text, "{indent}{} L#{}", topology.label(id), object.logical_index).unwrap();
        match &object.attributes {
            Attributes::Cache { size, .. } => write!(text, " {} KiB", size >> 10).unwrap(),
            Attributes::Numa { memory, .. } => write!(text, " {} KiB", memory >> 10).unwrap(),
            _ => {}
        }
        writeln!(text, " pus {} nodes {}", object.cpuset, object.nodeset).unwrap();
    }
    text
}

/// Children lie in their parents, and parents stand first.
fn check(topology: &Topology) {
    for (id, object) in topology.iter() {
        let Some(parent) = object.parent else {
            assert_eq!(id, ObjectId(0));
            continue;
        };
        assert!(parent < id);
        assert!(topology.get(parent).all_children().any(|child| child == id));
        if object.kind.is_normal() {
            assert!(object.cpuset.is_subset(&topology.get(parent).cpuset));
        }
    }
}

#[test]
fn a_server() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::at(folder.path());
    server(&root);
    let topology = topology(&root).unwrap();
    check(&topology);
    insta::assert_snapshot!(drawn(&topology));
    let machine = topology.get(ObjectId(0));
    assert_eq!(machine.info("HostName"), Some("n01"));
    assert_eq!(machine.complete_cpuset.to_string(), "0-15");
    assert_eq!(topology.get(ObjectId(2)).info("CPUModel"), Some("Example 9000"));
    assert_eq!(topology.distances[0].values.len(), 9);
    let network =
        topology.of_kind(ObjectKind::OsDevice).find(|(_, o)| o.name.as_deref() == Some("eth0"));
    let parent = topology.get(network.unwrap().1.parent.unwrap());
    assert_eq!((parent.kind, parent.os_index), (ObjectKind::Package, Some(1)));
}

#[test]
fn little_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::at(folder.path());
    assert_eq!(topology(&root), None);
    write(&root, "proc/stat", "cpu 1\ncpu0 1\ncpu1 1\n");
    write(&root, "proc/meminfo", "MemTotal: 2048 kB\n");
    let topology = topology(&root).unwrap();
    check(&topology);
    insta::assert_snapshot!(drawn(&topology));
}

#[test]
fn nodes_inside_a_package_hang_at_groups() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::at(folder.path());
    write(&root, "sys/devices/system/cpu/online", "0-3\n");
    write(&root, "sys/devices/system/node/online", "0-1\n");
    write(&root, "sys/devices/system/node/node0/cpulist", "0-1\n");
    write(&root, "sys/devices/system/node/node1/cpulist", "2-3\n");
    write(&root, "sys/devices/cpu_core/cpus", "0-1\n");
    write(&root, "sys/devices/cpu_atom/cpus", "2-3\n");
    let topology = topology(&root).unwrap();
    check(&topology);
    let fast = topology.cpu_kinds.iter().max_by_key(|kind| kind.efficiency).unwrap();
    assert_eq!((fast.cpuset.to_string(), topology.cpu_kinds.len()), ("0-1".to_owned(), 2));
    let kinds: Vec<_> = topology.counts();
    assert!(kinds.contains(&(ObjectKind::Group, 2)), "{kinds:?}");
    for (_, node) in topology.of_kind(ObjectKind::NumaNode) {
        assert_eq!(topology.get(node.parent.unwrap()).kind, ObjectKind::Group);
    }
}

#[test]
fn sizes() {
    assert_eq!(size("32K"), Some(32 << 10));
    assert_eq!(size("1M"), Some(1 << 20));
    assert_eq!(size("77"), Some(77));
    assert_eq!(size("K"), None);
    assert_eq!(size("99999999999999999999K"), None);
    assert_eq!(size("99999999999999999K"), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_tree_of_files_is_a_topology(
        lists in prop::collection::vec("([0-9]{1,2}(-[0-9]{1,2})?,?){0,3}|\\PC{0,6}", 12),
        level in "[0-6]|\\PC{0,3}",
    ) {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        write(&root, "sys/devices/system/cpu/online", "0-5\n");
        write(&root, "sys/devices/system/node/online", "0-1\n");
        for (i, list) in lists.iter().enumerate() {
            let cpu = format!("sys/devices/system/cpu/cpu{}", i % 6);
            if i < 6 {
                    write(&root, &format!("{cpu}/topology/package_cpus_list"), list);
                    write(&root, &format!("{cpu}/topology/core_cpus_list"), &lists[11 - i]);
                    write(&root, &format!("sys/devices/system/node/node{}/cpulist", i % 2), list);
            } else {
                    write(&root, &format!("{cpu}/cache/index0/level"), &level);
                    write(&root, &format!("{cpu}/cache/index0/shared_cpu_list"), list);
                    write(&root, &format!("{cpu}/cache/index0/size"), list);
            }
        }
        let topology = topology(&root).unwrap();
        check(&topology);
        prop_assert_eq!(topology.of_kind(ObjectKind::Pu).count(), 6);
    }
}

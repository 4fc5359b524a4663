//! Files of hwloc's versions 1, 2 and 3, generated and of real machines: every object is there,
//! counts are lstopo's, and what is written comes back.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod data;

use std::collections::BTreeMap;

use talea_testing::hwloc::{BANDWIDTHS, DISTANCES, Memory, NODE};
use talea_topology::ObjectKind as K;
use talea_topology::{Attributes, ObjectKind, Topology, xml};

/// Objects by name, counted in the text alone.
fn counted(text: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for part in text.split("<object type=\"").skip(1) {
        let name = part.split('"').next().unwrap_or_default();
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    counts
}

fn counts(topology: &Topology) -> BTreeMap<String, usize> {
    topology.counts().into_iter().map(|(kind, count)| (kind.name().to_owned(), count)).collect()
}

#[test]
fn every_file_reads_without_gaps() {
    read_without_gaps(data::files(&["v1", "v2", "v3"]));
}

#[test]
fn generated_files_read_without_gaps() {
    read_without_gaps(data::generated(&["v1", "v2", "v3"]));
}

fn read_without_gaps(files: data::Files) {
    for (name, bytes) in files {
        let loaded = xml::read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(loaded.gaps.is_empty(), "{name}: {:#?}", loaded.gaps);
        assert_eq!(format!("v{}", loaded.version), name[..2]);
        let topology = loaded.topology;
        assert_eq!(topology.get(topology.root().unwrap()).kind, ObjectKind::Machine, "{name}");
        for (id, object) in topology.iter() {
            for child in object.all_children() {
                assert!(child > id, "{name}: children come after their parents");
                assert_eq!(topology.get(child).parent, Some(id), "{name}");
            }
            if object.kind.is_normal() {
                assert!(!object.complete_cpuset.is_empty(), "{name}: {object:?}");
                assert!(!object.complete_nodeset.is_empty(), "{name}: {object:?}");
            }
        }
    }
}

/// Versions 2 and 3 have the objects that the text has.
#[test]
fn counts_are_those_of_the_text() {
    count_as_the_text(data::files(&["v2", "v3"]));
}

#[test]
fn counts_of_generated_files_are_those_of_the_text() {
    count_as_the_text(data::generated(&["v2", "v3"]));
}

fn count_as_the_text(files: data::Files) {
    for (name, bytes) in files {
        let topology = xml::read(&bytes).unwrap().topology;
        assert_eq!(counts(&topology), counted(std::str::from_utf8(&bytes).unwrap()), "{name}");
    }
}

#[test]
fn counts_are_those_of_lstopo() {
    count_as_lstopo(data::files(&["v1", "v2"]));
}

#[test]
fn counts_of_generated_files_are_those_of_lstopo() {
    count_as_lstopo(data::generated(&["v1", "v2"]));
}

fn count_as_lstopo(files: data::Files) {
    for (name, bytes) in files {
        let Some(theirs) = data::lstopo(&bytes) else { return };
        assert_eq!(counts(&xml::read(&bytes).unwrap().topology), counted(&theirs), "{name}");
    }
}

/// What lstopo makes of a file, in version 2, has the same tree as ours.
#[test]
fn trees_are_those_of_lstopo() {
    compare_trees_with_lstopo(data::files(&["v1", "v2"]));
}

#[test]
fn trees_of_generated_files_are_those_of_lstopo() {
    compare_trees_with_lstopo(data::generated(&["v1", "v2"]));
}

fn compare_trees_with_lstopo(files: data::Files) {
    for (name, bytes) in files {
        let Some(theirs) = data::lstopo(&bytes) else { return };
        let ours = xml::read(&bytes).unwrap().topology;
        let theirs = xml::read(theirs.as_bytes()).unwrap().topology;
        let tree = |topology: &Topology| -> Vec<String> {
            let line = |object: &talea_topology::Object| {
                let parent = object.parent.map(|id| topology.label(id));
                let (kind, os) = (object.kind, object.os_index);
                // hwloc 2 gives devices no numbers.
                let os = os.filter(|_| !object.kind.is_io());
                format!(
                    "{kind} {os:?} #{} in {parent:?}: {} | {}; {:?} {:?}",
                    object.logical_index,
                    object.cpuset,
                    object.nodeset,
                    object.subtype,
                    object.attributes
                )
            };
            topology.objects.iter().map(line).collect()
        };
        for (ours, theirs) in tree(&ours).iter().zip(tree(&theirs)) {
            assert_eq!(*ours, theirs, "{name}");
        }
    }
}

#[test]
fn what_is_written_comes_back() {
    write_and_read(data::files(&["v1", "v2", "v3"]));
}

#[test]
fn what_is_written_of_generated_files_comes_back() {
    write_and_read(data::generated(&["v1", "v2", "v3"]));
}

fn write_and_read(files: data::Files) {
    for (name, bytes) in files {
        let topology = xml::read(&bytes).unwrap().topology;
        let written = xml::write(&topology, xml::Version::Three);
        let again = xml::read(written.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(again.gaps.is_empty(), "{name}: {:#?}", again.gaps);
        assert_eq!(again.version, 3);
        assert!(again.topology == topology, "{name}: another topology comes back");
    }
}

/// hwloc 2 reads what is written of all versions, and keeps distances, attributes of memory and
/// kinds of PUs.
#[test]
fn lstopo_reads_what_is_written() {
    let_lstopo_read(data::files(&["v1", "v2", "v3"]));
}

#[test]
fn lstopo_reads_what_is_written_of_generated_files() {
    let_lstopo_read(data::generated(&["v1", "v2", "v3"]));
}

fn let_lstopo_read(files: data::Files) {
    for (name, bytes) in files {
        let topology = xml::read(&bytes).unwrap().topology;
        let Some(theirs) = data::lstopo(xml::write(&topology, xml::Version::Two).as_bytes()) else {
            return;
        };
        let theirs = xml::read(theirs.as_bytes()).unwrap().topology;
        assert_eq!(counts(&theirs), counts(&topology), "{name}");
        assert_eq!(theirs.distances.len(), topology.distances.len(), "{name}");
        for (ours, theirs) in topology.distances.iter().zip(&theirs.distances) {
            assert_eq!((&ours.name, &ours.values), (&theirs.name, &theirs.values), "{name}");
        }
        assert_eq!(theirs.cpu_kinds.len(), topology.cpu_kinds.len(), "{name}");
        let values = |of: &Topology, name: &str| {
            of.memory_attributes
                .iter()
                .filter(|a| a.name == name)
                .map(|a| a.values.len())
                .sum::<usize>()
        };
        for attribute in &topology.memory_attributes {
            assert_eq!(values(&theirs, &attribute.name), attribute.values.len(), "{name}");
        }
    }
}

/// Version 2 has nothing that hwloc 2 does not know, whatever came in.
#[test]
fn lstopo_does_not_complain_of_what_is_written() {
    let_lstopo_complain(data::files(&["v1", "v2", "v3"]));
}

#[test]
fn lstopo_does_not_complain_of_generated_files() {
    let_lstopo_complain(data::generated(&["v1", "v2", "v3"]));
}

fn let_lstopo_complain(files: data::Files) {
    for (name, bytes) in files {
        let topology = xml::read(&bytes).unwrap().topology;
        let text = xml::write(&topology, xml::Version::Two);
        let Some(said) = data::complaints(text.as_bytes()) else { return };
        assert_eq!(said, "", "{name}");
        // Devices keep their first use, facts of the whole stand at the root.
        let again = xml::read(text.as_bytes()).unwrap();
        assert!(again.gaps.is_empty() && again.version == 2, "{name}: {:#?}", again.gaps);
        assert_eq!(counts(&again.topology), counts(&topology), "{name}");
        assert_eq!(again.topology.allowed_cpuset, topology.allowed_cpuset, "{name}");
    }
}

/// Objects are those that the generator knows, with their PUs, memory, devices and distances.
#[test]
fn generated_files_have_the_objects_that_were_generated() {
    for (name, bytes, machine) in data::described(&["v1", "v2", "v3"]) {
        let topology = xml::read(&bytes).unwrap().topology;
        assert_eq!(counts(&topology), machine.counts(), "{name}");
        assert_eq!(topology.pus().len(), machine.pus(), "{name}");
        let each = machine.caches * machine.cores;
        for (kind, cores) in [(K::Core, 1), (K::L3Cache, machine.cores), (K::Package, each)] {
            for (at, (_, object)) in topology.of_kind(kind).enumerate() {
                let expected = machine.pus_of(at * cores..(at + 1) * cores);
                let found: Vec<usize> = object.cpuset.iter().collect();
                assert_eq!(found, expected, "{name}: {kind} {at}");
            }
        }
        for (_, node) in topology.of_kind(K::NumaNode) {
            let Attributes::Numa { memory, .. } = &node.attributes else { panic!("{node:?}") };
            assert_eq!(*memory, NODE, "{name}");
        }
        let names: Vec<&str> = topology
            .of_kind(K::OsDevice)
            .filter_map(|(_, device)| device.name.as_deref())
            .collect();
        let expected: Vec<String> = (0..machine.devices).map(|at| format!("eth{at}")).collect();
        assert_eq!(names, expected, "{name}");
        for (_, device) in topology.of_kind(K::OsDevice) {
            assert_eq!(device.attributes, Attributes::Os { uses: vec!["Network".to_owned()] });
        }
    }
}

#[test]
fn what_stands_beside_generated_objects_is_there() {
    for (name, bytes, machine) in data::described(&["v1", "v2", "v3"]) {
        let topology = xml::read(&bytes).unwrap().topology;
        let (nodes, is_old) = (machine.nodes(), name.starts_with("v1"));
        // In version 1 distances are of levels, where each node has PUs of its own.
        let has_distances = nodes > 1 && !(is_old && machine.memory == Memory::Fast);
        assert_eq!(topology.distances.len(), usize::from(has_distances), "{name}");
        if let [distances] = &topology.distances[..] {
            let numbers: Vec<_> = distances
                .objects
                .iter()
                .map(|&id| (topology.get(id).kind, topology.get(id).os_index))
                .collect();
            let expected: Vec<_> =
                (0..nodes as u32).map(|number| (K::NumaNode, Some(number))).collect();
            assert_eq!(numbers, expected, "{name}");
            for (at, &value) in distances.values.iter().enumerate() {
                let differ = at / nodes != at % nodes;
                assert_eq!(value, DISTANCES[usize::from(differ)], "{name}: {at}");
            }
        }
        if is_old {
            continue;
        }
        let fast = machine.memory == Memory::Fast;
        assert_eq!(topology.memory_attributes.len(), usize::from(fast), "{name}");
        for (target, initiator, value) in topology.memory_attributes.iter().flat_map(|a| &a.values)
        {
            let node = topology.get(*target);
            let is_fast = node.subtype.as_deref() == Some("MCDRAM");
            assert_eq!(*value, BANDWIDTHS[usize::from(is_fast)], "{name}");
            assert_eq!(initiator.as_ref(), Some(&node.cpuset), "{name}");
        }
        let kinds: Vec<_> =
            topology.cpu_kinds.iter().map(|kind| (kind.cpuset.len(), kind.efficiency)).collect();
        let half = machine.pus() / 2;
        let expected = if machine.kinds { vec![(half, 1), (half, 0)] } else { Vec::new() };
        assert_eq!(kinds, expected, "{name}");
    }
}

/// Real files alone: kinds of distances between devices, tiers of memory, pages of several sizes
/// and distances of several levels are what other programs chose to write about real machines. A
/// generator of this project would write only what this project's reader expects.
#[test]
fn what_stands_beside_the_objects_is_there() {
    let Some(heterogeneous) = data::file("v3/64intel64-heteromem.xml") else { return };
    let topology = xml::read(&heterogeneous).unwrap().topology;
    let bandwidth = &topology.memory_attributes[0];
    assert_eq!(
        (bandwidth.name.as_str(), bandwidth.flags, bandwidth.values.len()),
        ("Bandwidth", 5, 8)
    );
    let (target, initiator, value) = &bandwidth.values[1];
    assert_eq!((topology.label(*target).as_str(), *value), ("NUMANode P#7", 90_000));
    assert_eq!(initiator.as_ref().unwrap().len(), 16);
    assert_eq!(topology.memory_tiers.len(), 2);
    assert_eq!(
        topology.infos.iter().find(|(name, _)| name == "HostName").unwrap().1,
        "localhost.localdomain"
    );

    let links = xml::read(&data::file("v2/nvidiaDGX2.xml").unwrap()).unwrap().topology;
    let nvlink =
        links.distances.iter().find(|distances| distances.name == "NVLinkBandwidth").unwrap();
    assert_eq!(nvlink.objects.len(), 28);
    assert!(nvlink.objects[..16].iter().all(|&id| links.get(id).kind == ObjectKind::OsDevice));
    assert_eq!(links.cpu_kinds[0].infos[0].1, "3900");

    let kinds = xml::read(&data::file("v3/fakecpukinds.xml").unwrap()).unwrap().topology;
    assert_eq!(kinds.cpu_kinds.iter().map(|kind| kind.efficiency).collect::<Vec<_>>(), [0, 7, 10]);

    let old = xml::read(&data::file("v1/16amd64-4distances.v1.xml").unwrap()).unwrap().topology;
    let of: Vec<_> =
        old.distances.iter().map(|d| (old.get(d.objects[0]).kind, d.objects.len())).collect();
    assert_eq!(of, [(K::Package, 8), (K::Pu, 16), (K::NumaNode, 8), (K::Core, 8)]);
    assert_eq!(old.distances[2].values[..3], [10, 20, 20]);

    let bare =
        xml::read(&data::file("v1/8em64t-2p2ca2co-nonodesets.v1.xml").unwrap()).unwrap().topology;
    let (_, node) = bare.of_kind(K::NumaNode).next().unwrap();
    let Attributes::Numa { memory, pages } = &node.attributes else { panic!("{node:?}") };
    assert_eq!((*memory, pages.len()), (33_738_452_992, 2));
}

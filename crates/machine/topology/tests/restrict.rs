//! Parts of generated and real machines have the objects that lstopo leaves when it restricts.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod data;

use talea_topology::{CpuSet, ObjectKind, Topology, name, restrict, synthetic, xml};

/// Everything that a tree promises.
fn check(topology: &Topology, what: &str) {
    for (id, object) in topology.iter() {
        for child in object.all_children() {
            assert!(child > id, "{what}");
            assert_eq!(topology.get(child).parent, Some(id), "{what}");
            assert!(topology.get(child).cpuset.is_subset(&object.cpuset), "{what}");
        }
        if object.kind.is_normal() {
            assert!(!object.complete_cpuset.is_empty(), "{what}: {object:?}");
        }
    }
    for distances in &topology.distances {
        assert_eq!(distances.values.len(), distances.objects.len().pow(2), "{what}");
    }
    let again = xml::read(xml::write(topology, xml::Version::Three).as_bytes()).unwrap();
    assert_eq!(again.topology, *topology, "{what}");
    assert!(again.gaps.is_empty(), "{what}: {:?}", again.gaps);
}

#[test]
fn objects_are_those_that_lstopo_leaves() {
    restrict_as_lstopo(data::files(&["v1", "v2"]));
}

#[test]
fn objects_of_generated_machines_are_those_that_lstopo_leaves() {
    restrict_as_lstopo(data::generated(&["v1", "v2"]));
}

fn restrict_as_lstopo(files: data::Files) {
    for (name, bytes) in files {
        let topology = xml::read(&bytes).unwrap().topology;
        let pus: Vec<usize> = topology.objects[0].cpuset.iter().collect();
        let sets: [CpuSet; 3] = [
            pus[..1].iter().copied().collect(),
            pus[..pus.len() / 2].iter().copied().collect(),
            pus.iter().copied().step_by(3).collect(),
        ];
        // A machine of one PU has no half.
        for set in sets.into_iter().filter(|set| !set.is_empty()) {
            let part = restrict::to_cpuset(&topology, &set).unwrap();
            let what = format!("{name} restricted to {set}");
            check(&part, &what);
            assert_eq!(part.pus().len(), set.len(), "{what}");
            let Some(theirs) = data::restricted(&bytes, &set.to_mask()) else { return };
            let theirs = xml::read(theirs.as_bytes()).unwrap().topology;
            // lstopo also drops groups that then add nothing.
            let counts = |topology: &Topology| -> Vec<(ObjectKind, usize)> {
                let counts = topology.counts().into_iter();
                counts.filter(|(kind, _)| *kind != ObjectKind::Group).collect()
            };
            assert_eq!(counts(&part), counts(&theirs), "{what}");
            assert_eq!(part.objects[0].nodeset, theirs.objects[0].nodeset, "{what}");
            let sizes = |topology: &Topology| -> Vec<usize> {
                topology.distances.iter().map(|distances| distances.objects.len()).collect()
            };
            if name.starts_with("v2") {
                assert_eq!(sizes(&part), sizes(&theirs), "{what}");
            }
        }
    }
}

#[test]
fn subtrees_keep_the_chain_above() {
    restrict_to_subtrees(data::files(&["v1", "v2", "v3"]));
}

#[test]
fn subtrees_of_generated_machines_keep_the_chain_above() {
    restrict_to_subtrees(data::generated(&["v1", "v2", "v3"]));
}

/// A part has the PUs and objects that the generator knows.
#[test]
fn half_of_a_generated_machine_has_half_of_its_objects() {
    for (name, bytes, machine) in data::described(&["v1", "v2", "v3"]) {
        if machine.packages != 2 {
            continue;
        }
        let topology = xml::read(&bytes).unwrap().topology;
        let each = machine.caches * machine.cores;
        let set: CpuSet = machine.pus_of(0..each).into_iter().collect();
        let part = restrict::to_cpuset(&topology, &set).unwrap();
        for kind in [ObjectKind::Package, ObjectKind::L3Cache, ObjectKind::Core, ObjectKind::Pu] {
            let [all, left] = [&topology, &part].map(|topology| topology.of_kind(kind).count());
            assert_eq!(all, 2 * left, "{name}: {kind}");
        }
        let found: Vec<usize> = part.objects[0].cpuset.iter().collect();
        assert_eq!(found, machine.pus_of(0..each), "{name}");
    }
}

fn restrict_to_subtrees(files: data::Files) {
    for (file, bytes) in files {
        let topology = xml::read(&bytes).unwrap().topology;
        for words in ["Package:0", "core:all", "L2:1"] {
            let Ok(found) = name::find(&topology, words) else { continue };
            let id = *found.last().unwrap();
            let part = restrict::to_subtree(&topology, id).unwrap();
            check(&part, &file);
            assert_eq!(part.objects[0].cpuset, topology.get(id).cpuset, "{file} {words}");
            let same = part.of_kind(topology.get(id).kind).count();
            assert_eq!(same, 1, "{file} {words}");
        }
        let bare = restrict::without_io(&topology);
        check(&bare, &file);
        assert!(bare.objects.iter().all(|object| !object.kind.is_io()), "{file}");
        let others = topology.objects.iter().filter(|object| !object.kind.is_io());
        // Misc objects on devices go with them.
        let is_kept = |object: &&talea_topology::Object| object.kind != ObjectKind::Misc;
        assert_eq!(
            others.filter(is_kept).count(),
            bare.objects.iter().filter(is_kept).count(),
            "{file}"
        );
    }
}

#[test]
fn nothing_is_refused() {
    let machine = synthetic::parse("pack:2 core:2 pu:2").unwrap();
    let error = restrict::to_cpuset(&machine, &CpuSet::single(77)).unwrap_err();
    assert_eq!(error.to_string(), "expected some of the PUs 0-7, found only 77");
    let whole = restrict::to_cpuset(&machine, &machine.objects[0].cpuset).unwrap();
    assert_eq!(whole, machine);
    let empty = restrict::to_cpuset(&Topology::default(), &CpuSet::single(0)).unwrap();
    assert_eq!(empty, Topology::default());
}

//! Small files of each version, made for this: what becomes of them, seen as a whole.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

use talea_topology::{Topology, xml};

const SAMPLES: [&str; 3] = [
    include_str!("samples/version1.xml"),
    include_str!("samples/version2.xml"),
    include_str!("samples/version3.xml"),
];

/// One line an object, then what stands beside them.
fn shown(topology: &Topology) -> String {
    let line = |(id, object): (_, &talea_topology::Object)| {
        let indent = "  ".repeat(topology.ancestors(id).len());
        let label = topology.label(id);
        let (pus, nodes) = (&object.cpuset, &object.nodeset);
        format!(
            "{indent}{label} L#{} {{{pus}}} {{{nodes}}} {:?}",
            object.logical_index, object.attributes
        )
    };
    let mut lines: Vec<String> = topology.iter().map(line).collect();
    lines.extend(topology.distances.iter().map(|distances| format!("{distances:?}")));
    lines.extend(topology.memory_attributes.iter().map(|attribute| format!("{attribute:?}")));
    lines.extend(topology.cpu_kinds.iter().map(|kind| format!("{kind:?}")));
    lines.extend(topology.memory_tiers.iter().map(|tier| format!("{tier:?}")));
    lines.push(format!("{:?} {:?}", topology.support, topology.infos));
    lines.join("\n")
}

#[test]
fn samples_become_objects() {
    let all: Vec<String> = SAMPLES
        .iter()
        .map(|text| {
            let loaded = xml::read(text.as_bytes()).unwrap();
            assert!(loaded.gaps.is_empty(), "{:?}", loaded.gaps);
            let again =
                xml::read(xml::write(&loaded.topology, xml::Version::Three).as_bytes()).unwrap();
            assert_eq!(again.topology, loaded.topology);
            format!("version {}\n{}", loaded.version, shown(&loaded.topology))
        })
        .collect();
    insta::assert_snapshot!(all.join("\n\n"));
}

#[test]
fn what_is_written_is_seen() {
    let topology = xml::read(SAMPLES[1].as_bytes()).unwrap().topology;
    insta::assert_snapshot!(xml::write(&topology, xml::Version::Three));
}

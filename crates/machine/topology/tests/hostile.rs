//! Files that are cut, changed, nested, contradictory: an error with its line, or gaps; never a
//! panic, never a huge tree.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod data;

use proptest::prelude::*;
use talea_topology::{Attributes, CpuSet, ObjectKind, Topology, xml};

/// A small machine of version 2; `%` is put in its first package.
fn machine(inside: &str) -> String {
    format!(
        r#"<?xml version="1.0"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" gp_index="1">
    <object type="NUMANode" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" gp_index="2"/>
{inside}
  </object>
</topology>
"#
    )
}

const PUS: &str = r#"    <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1"/>
    <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2"/>"#;

fn error(text: &str) -> String {
    xml::read(text.as_bytes()).unwrap_err().to_string()
}

fn gaps(text: &str) -> Vec<String> {
    let loaded = xml::read(text.as_bytes()).unwrap();
    loaded.gaps.iter().map(|gap| gap.detail.clone()).collect()
}

#[test]
fn errors_say_line_and_what_was_expected() {
    let entity = r#"<?xml version="1.0"?>
<!DOCTYPE topology [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>
<topology><object type="Machine" cpuset="0x1"><info name="x" value="&c;"/></object></topology>"#;
    let texts: Vec<(&str, String)> = vec![
        ("empty", String::new()),
        ("other text", "hello".to_owned()),
        ("lines of text", "\n one\ntwo\nthree\n".to_owned()),
        ("lines of text inside", "<topology>\n\none\ntwo\n</topology>".to_owned()),
        ("other root", "<html></html>".to_owned()),
        ("no object", "<topology version=\"2.0\">\n</topology>".to_owned()),
        ("version 4", "<topology version=\"4.0\"/>".to_owned()),
        ("two roots", machine(PUS).replace("</topology>", "<object type=\"Machine\"/></topology>")),
        ("after the end", machine(PUS) + "<more/>"),
        ("no type", machine("<object os_index=\"3\"/>")),
        ("unknown type", machine("<object type=\"Flux\"/>")),
        ("no set", machine("<object type=\"Core\" cpuset=\"zwei\"/>")),
        ("PU without number", machine("<object type=\"PU\" cpuset=\"0x3\"/>")),
        ("PU with an empty number", machine("<object type=\"PU\" os_index=\"\"/>")),
        ("two PUs of one number", machine(&PUS.replace("os_index=\"1\"", "os_index=\"0\""))),
        ("huge number", machine("<object type=\"PU\" os_index=\"4000000000\"/>")),
        (
            "object in a PU",
            machine("<object type=\"PU\" os_index=\"0\"><object type=\"Core\"/></object>"),
        ),
        (
            "core in memory",
            machine("<object type=\"NUMANode\" os_index=\"1\"><object type=\"Core\"/></object>"),
        ),
        (
            "root of memory",
            "<topology version=\"2.0\"><object type=\"NUMANode\"/></topology>".to_owned(),
        ),
        ("attribute twice", machine("<object type=\"PU\" type=\"PU\"/>")),
        ("wrong end", "<topology><object type=\"Machine\"></topology>".to_owned()),
        ("entities", entity.to_owned()),
        ("entity in text", "<topology>&amp;</topology>".to_owned()),
        ("many attributes", {
            let all: String = (0..100)
                .flat_map(|n| [" a".to_owned(), n.to_string(), "=\"\"".to_owned()])
                .collect();
            machine(&format!("<object type=\"PU\" os_index=\"0\"{all}/>"))
        }),
    ];
    let shown: Vec<String> =
        texts.iter().map(|(what, text)| format!("{what}: {}", error(text))).collect();
    insta::assert_snapshot!(shown.join("\n"));
    assert_eq!(
        xml::read(b"<topology>\n\xff").unwrap_err().to_string(),
        "line 2: expected UTF-8, found other bytes"
    );
}

#[test]
fn depth_is_bounded() {
    let objects = "<object type=\"Group\">".repeat(100_000);
    let nested = format!("<topology version=\"2.0\">\n<object type=\"Machine\">{objects}");
    assert_eq!(
        error(&nested),
        "line 2: expected elements nested at most 128 deep (Talea's limit), found more"
    );
    let unknown = format!("<topology version=\"2.0\">{}", "<x>".repeat(100_000));
    assert_eq!(
        error(&unknown),
        "line 1: expected elements nested at most 128 deep (Talea's limit), found more"
    );
}

#[test]
fn sets_are_bounded() {
    // The machine's nodes are all objects' nodes, and their numbers lie far from each other.
    let node = |number: usize| format!("<object type=\"NUMANode\" os_index=\"{}\"/>", 64 * number);
    let pu = |number: usize| format!("<object type=\"PU\" os_index=\"{number}\"/>");
    let inside: String = (0..2048).map(node).chain((0..10_000).map(pu)).collect();
    let text =
        format!("<topology version=\"2.0\"><object type=\"Machine\">{inside}</object></topology>");
    assert!(error(&text).contains("bytes of sets"), "{}", error(&text));
    // An infinite set is "all that there are", not 8 KiB.
    let infinite = machine("<object type=\"PU\" os_index=\"0\" cpuset=\"0xf...f\"/>");
    let topology = xml::read(infinite.as_bytes()).unwrap().topology;
    assert_eq!(topology.objects[2].cpuset, CpuSet::single(0));
}

#[test]
fn small_faults_are_gaps() {
    let beside = |text: &str| machine(PUS).replace("</topology>", &format!("{text}</topology>"));
    let cases = [
        machine(&format!("{PUS}<object type=\"Core\" cpuset=\"0x10\"/>")),
        machine(&PUS.replace("cpuset=\"0x2\" complete", "cpuset=\"0x1\" complete")),
        machine("<object type=\"PU\" cpuset=\"0x1\"/>"),
        machine(&format!("{PUS}<flux><deep/></flux>")),
        machine(&format!(
            "{PUS}<object type=\"L2Cache\" cpuset=\"0x1\" depth=\"2\" cache_size=\"99999999999999999999999\"/>"
        )),
        machine(&format!("{PUS}<object type=\"Bridge\" bridge_type=\"x\" bridge_pci=\"0:0\"/>")),
        machine(&format!("{PUS}<object type=\"Misc\" gp_index=\"2\"/>")),
        beside("<pci_locality domain=\"0\" bus_first=\"0\" bus_last=\"3\" cpuset=\"0x1\"/>"),
        machine(&format!("{PUS}<info value=\"x\"/>")),
    ];
    let distances = |inside: &str| {
        beside(&format!(
            "<distances2 type=\"NUMANode\" nbobjs=\"2\" kind=\"5\" indexing=\"os\">{inside}</distances2>"
        ))
    };
    let more = [
        distances(
            "<indexes length=\"4\">0 1 </indexes><u64values length=\"8\">1 2 3 4 </u64values>",
        ),
        distances("<indexes length=\"2\">0 </indexes><u64values length=\"8\">1 </u64values>"),
        distances("<indexes length=\"4\">0 0 </indexes><u64values length=\"8\">1 2 3 </u64values>"),
        distances(
            "<indexes length=\"4\">0 x </indexes><u64values length=\"8\">1 2 3 4 </u64values>",
        ),
        distances("").replace("nbobjs=\"2\"", "nbobjs=\"18446744073709551615\""),
        beside(
            "<memattr name=\"Bandwidth\" flags=\"5\"><memattr_value target_obj_gp_index=\"77\" value=\"1\"/></memattr>",
        ),
        beside("<comet/>"),
    ];
    let shown: Vec<String> =
        cases.iter().chain(&more).map(|text| format!("{:?}", gaps(text))).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn what_is_not_understood_is_said_once() {
    let inside = r#"<object type="PU" os_index="0" colour="red" cache_size="3"/><object type="OSDev" name="dax&lt;0&#10;" osdev_type="1"/>"#;
    let twice = format!("{inside}<object type=\"PU\" os_index=\"1\" colour=\"blue\"/>");
    let loaded = xml::read(machine(&twice).as_bytes()).unwrap();
    let said: Vec<&str> = loaded.gaps.iter().map(|gap| gap.detail.as_str()).collect();
    assert_eq!(said, ["attribute `cache_size` of objects", "attribute `colour` of objects"]);
    let topology = loaded.topology;
    let (_, device) = topology.of_kind(ObjectKind::OsDevice).next().unwrap();
    assert_eq!(device.name.as_deref(), Some("dax<0\n"));
    assert_eq!(device.attributes, Attributes::Os { uses: vec!["GPU".to_owned()] });
    assert_eq!(
        xml::read(xml::write(&topology, xml::Version::Three).as_bytes()).unwrap().topology,
        topology
    );
}

/// Version 3 has a bit for each use of a device.
#[test]
fn uses_of_devices_come_back() {
    let text = machine(&format!("{PUS}<object type=\"OSDev\" name=\"dax0.0\" osdev_type=\"3\"/>"))
        .replace("version=\"2.0\"", "version=\"3.0\"");
    let topology = xml::read(text.as_bytes()).unwrap().topology;
    let (_, device) = topology.of_kind(ObjectKind::OsDevice).next().unwrap();
    assert_eq!(
        device.attributes,
        Attributes::Os { uses: vec!["Block".to_owned(), "Memory".to_owned()] }
    );
    assert_eq!(
        xml::read(xml::write(&topology, xml::Version::Three).as_bytes()).unwrap().topology,
        topology
    );
}

/// Walks as users do; a broken link would panic.
fn walk(topology: &Topology) {
    for (id, object) in topology.iter() {
        assert!(
            object.all_children().all(|child| child > id && topology.get(child).parent == Some(id))
        );
    }
    let _ = (topology.counts(), topology.pus(), talea_topology::levels(topology));
}

/// What was read is what comes back when it is written; shows the first object that does not.
fn comes_back(topology: &Topology) {
    let text = xml::write(topology, xml::Version::Three);
    let again =
        xml::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}")).topology;
    for (ours, theirs) in topology.objects.iter().zip(&again.objects) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(*topology, again);
}

#[test]
fn an_empty_type_of_version_1_is_none() {
    let inside = "<object type=\"Machine\" cpuset=\"0x1\"><info name=\"Type\" value=\"\"/><object type=\"PU\" os_index=\"0\" cpuset=\"0x1\"/></object>";
    let text = format!("<topology version=\"1.0\">{inside}</topology>");
    let topology = xml::read(text.as_bytes()).unwrap().topology;
    assert_eq!(topology.objects[0].subtype, None);
    comes_back(&topology);
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    cut_anywhere(data::files(&["v1", "v2", "v3"]));
}

#[test]
fn a_generated_file_cut_anywhere_is_refused() {
    cut_anywhere(data::generated(&["v1", "v2", "v3"]));
}

fn cut_anywhere(files: data::Files) {
    for (name, bytes) in files {
        let whole = bytes.iter().rposition(|&byte| byte == b'>').unwrap();
        // Every place of the small files, some of the large ones.
        let step = 1 + bytes.len() / 300;
        for end in (0..=whole).step_by(step).chain(whole.saturating_sub(40)..=whole) {
            let error = xml::read(&bytes[..end]).map(|_| ()).unwrap_err();
            assert!(error.to_string().starts_with("line "), "{name} cut at {end}: {error}");
        }
    }
}

/// Reads a file some bytes of which have changed.
fn read_changed(bytes: &[u8], changes: Vec<(prop::sample::Index, u8)>) {
    const INSIDE: &[u8; 28] = b"0123456789abcdefx-,:. \"<>/&=";
    let mut bytes = bytes.to_vec();
    for (at, byte) in changes {
        let at = at.index(bytes.len());
        // Half of the changes stay within what attributes hold.
        bytes[at] = if byte < 128 { byte } else { INSIDE[byte as usize % 28] };
    }
    if let Ok(loaded) = xml::read(&bytes) {
        walk(&loaded.topology);
        comes_back(&loaded.topology);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn changed_files_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        file in any::<prop::sample::Index>(),
    ) {
        let files = data::files(&["v1", "v2", "v3"]);
        if !files.is_empty() {
            read_changed(&files[file.index(files.len())].1, changes);
        }
    }

    #[test]
    fn changed_generated_files_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        file in any::<prop::sample::Index>(),
    ) {
        let files = data::generated(&["v1", "v2", "v3"]);
        read_changed(&files[file.index(files.len())].1, changes);
    }

    #[test]
    fn any_tags_never_panic(parts in prop::collection::vec(prop::sample::select(vec![
        "<object type=\"Machine\" cpuset=\"0x3\">", "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\">",
        "<object type=\"NUMANode\" os_index=\"1\" cpuset=\"0x0\">", "<object type=\"Package\" cpuset=\"0x1\" complete_cpuset=\"0x1\">",
        "<object type=\"PU\" os_index=\"0\"/>", "<object type=\"PU\" os_index=\"1\" cpuset=\"0x2\"/>", "<object type=\"Misc\" cpuset=\"0x1\">",
        "<object type=\"Bridge\" bridge_type=\"0-1\">", "<object type=\"Group\" cpuset=\"0x1\">", "</object>", "</object>", "</object>",
        "<distances nbobjs=\"1\" relative_depth=\"1\" latency_base=\"1\"><latency value=\"1\"/></distances>", "<info name=\"Type\" value=\"MCDRAM\"/>", "<info name=\"Type\" value=\"\"/>",
    ]), 0..24), version in 1..4_u32) {
        let open = parts.iter().filter(
            |part| part.starts_with("<object") && !part.ends_with("/>")
        ).count();
        let close = parts.iter().filter(|part| part.starts_with("</")).count();
        let end = "</object>".repeat(open.saturating_sub(close));
        let text = format!("<topology version=\"{version}.0\"><object type=\"Machine\">{}{end}</object></topology>", parts.concat());
        if let Ok(loaded) = xml::read(text.as_bytes()) {
            walk(&loaded.topology);
            comes_back(&loaded.topology);
        }
    }
}

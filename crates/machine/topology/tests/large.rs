//! Machines of up to 100,000 PUs, and what is said beyond.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

use talea_topology::{ObjectKind as K, cpuset, synthetic, xml};

#[test]
fn a_file_of_24_576_pus_is_read() {
    let machine = synthetic::parse("pack:64 l3:8 core:24 pu:2").unwrap();
    let text = xml::write(&machine, xml::Version::Three);
    let loaded = xml::read(text.as_bytes()).unwrap();
    assert!(loaded.gaps.is_empty(), "{:#?}", loaded.gaps);
    assert_eq!(loaded.topology.of_kind(K::Pu).count(), 24_576);
    assert!(loaded.topology == machine);
}

#[test]
fn the_limit_is_said_with_its_owner() {
    let most = synthetic::parse("pack:100 core:500 pu:2").unwrap();
    assert_eq!(most.of_kind(K::Pu).count(), cpuset::MOST_PUS);
    let more = synthetic::parse("pack:100 core:1001 pu:1").unwrap_err().to_string();
    assert!(more.contains("at most 100000 PUs (Talea's limit), found 100100"), "{more}");
    let pus: Vec<String> = (0..=cpuset::MOST_PUS)
        .map(|pu| format!("<object type=\"PU\" os_index=\"{pu}\"/>"))
        .collect();
    let pus = pus.concat();
    let text =
        format!("<topology version=\"2.0\"><object type=\"Machine\">{pus}</object></topology>");
    let more = xml::read(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(more, "line 1: expected at most 100000 PUs (Talea's limit), found more");
}

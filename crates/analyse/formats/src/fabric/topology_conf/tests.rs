//! All forms of a small network, and possible errors in them.

use proptest::prelude::*;
use talea_fabric::HostId;
use talea_model::Gap;

use super::*;
use crate::fabric::damaged::{changed, changes};

const SAMPLE: &str = "\
# A tree
SwitchName=s0 Nodes=n[0-3,7] LinkSpeed=900 # leaf
switchname=s1 \\
  nodes=n[4-6]
SwitchName=s2 Switches=s[0-1]
";

/// The same network in the form of `scontrol show topology`.
const PRINTED: &str = "\
SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-3,7]
SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[4-6]
SwitchName=s2 Level=1 LinkSpeed=1 Nodes=n[0-7] Switches=s[0-1]
";

const YAML: &str = "\
# Two topologies
- topology: small
  flat: true
- topology: 'whole'
  cluster_default: True
  tree:
    switches:
    - switch: s0
      nodes: n[0-3,7]
    - switch: s1
      nodes: \"n[4-6]\"
    - switch: s2
      children: s[0-1]  # both
";

fn alone(_: &str) -> Result<Vec<u8>, String> {
    Err("not here".to_owned())
}

fn found(text: &str) -> Described {
    read(text.as_bytes(), &alone).unwrap()
}

fn error(text: &str) -> String {
    read(text.as_bytes(), &alone).unwrap_err().to_string()
}

fn told(gaps: &Gaps) -> Vec<String> {
    gaps.iter().map(Gap::sentence).collect()
}

/// Each host with the switches of its ports.
fn hosts(fabric: &Fabric) -> String {
    let hosts = (0..).map(HostId).zip(fabric.hosts()).map(|(id, host)| {
        let (_, ports) = fabric.ports_of(id);
        let switches = ports.iter().map(|port| &*fabric.routers()[port.router.at()].name);
        format!("{}@{}", host.name, switches.collect::<Vec<_>>().join("+"))
    });
    hosts.collect::<Vec<_>>().join(" ")
}

#[test]
fn switches_and_nodes() {
    let Described { fabric, gaps } = found(SAMPLE);
    assert_eq!(hosts(&fabric), "n0@s0 n1@s0 n2@s0 n3@s0 n7@s0 n4@s1 n5@s1 n6@s1");
    assert_eq!((fabric.links().len(), gaps.is_empty()), (4, true));
    assert_eq!(fabric.links()[0].capacity, None);
    // A link that both ends list occurs once.
    let both = SAMPLE.replacen("LinkSpeed=900", "Switches=s2", 1);
    assert_eq!(found(&both).fabric, fabric);
}

#[test]
fn all_forms_say_the_same() {
    let fabric = found(SAMPLE).fabric;
    assert_eq!(found(PRINTED), Described { fabric: fabric.clone(), gaps: Gaps::default() });
    let yaml = found(YAML);
    assert_eq!(yaml.fabric, fabric);
    assert_eq!(told(&yaml.gaps), ["topologies beside `whole`, which is the one that is read (1)"]);
    // Without a default the first topology with switches is read.
    assert_eq!(found(&YAML.replace("True", "false")).fabric, fabric);
    // A list that is cut lacks nodes of leaf switches.
    let cut = PRINTED.replace("Nodes=n[4-6]", "Nodes=n[4-5]");
    assert_eq!(
        told(&found(&cut).gaps),
        ["nodes that no leaf switch has, only one above: they are left out (1)"]
    );
}

#[test]
fn blocks_are_below_one_switch() {
    let conf = "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-5]\nBlockSizes=2,4\n";
    let Described { fabric, gaps } = found(conf);
    assert_eq!(hosts(&fabric), "n1@b1 n2@b1 n3@b2 n4@b2 n5@b2");
    assert_eq!((fabric.routers()[2].name.as_str(), fabric.links().len()), (ABOVE, 4));
    insta::assert_snapshot!(told(&gaps).join("\n"), @"the switches between blocks are unknown: one above all of them is assumed (2)");
    let printed = "\
BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2
BlockName=b2 BlockIndex=1 Nodes=n[3-5] BlockSize=2
AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-5] BlockSize=4
";
    assert_eq!(found(printed).fabric, fabric);
    let yaml = "\
---
- topology: blocks
  block:
    block_sizes:
      - 2
      - 4
    blocks:
      - block: b1
        nodes: n[1-2]
      - block: b2
        nodes: n[3-5]
";
    assert_eq!(found(yaml).fabric, fabric);
    let one = found("BlockName=b1 Nodes=n[1-2]");
    assert_eq!((one.fabric.routers().len(), one.gaps.is_empty()), (1, true));
}

#[test]
fn a_node_of_two_leaf_switches_has_two_ports() {
    let text = SAMPLE.replace("n[4-6]", "n[3-6]");
    let Described { fabric, gaps } = found(&text);
    assert_eq!(hosts(&fabric), "n0@s0 n1@s0 n2@s0 n3@s0+s1 n7@s0 n4@s1 n5@s1 n6@s1");
    assert_eq!(
        told(&gaps),
        ["nodes that several switches have: each node has a port at each of them (1)"]
    );
}

#[test]
fn files_include_others() {
    let files = |name: &str| match name {
        "leaf 1.conf" => Ok(b"SwitchName=s1 Nodes=n[4-6]\n".to_vec()),
        "deeper.conf" => Ok(b"# More\n\ninclude\tleaf 1.conf # this\n".to_vec()),
        "round.conf" => Ok(b"Include round.conf\n".to_vec()),
        "wrong.conf" => Ok(b"\nSwitchName=s1 Node=n1\n".to_vec()),
        "many.conf" => Ok("Include leaf 1.conf\n".repeat(1000).into_bytes()),
        _ => Err("No such file".to_owned()),
    };
    let with = |line: &str| {
        let text = SAMPLE.replace("switchname=s1 \\\n  nodes=n[4-6]", line);
        read(text.as_bytes(), &files)
    };
    let fabric = found(SAMPLE).fabric;
    assert_eq!(with("Include leaf 1.conf").unwrap().fabric, fabric);
    assert_eq!(with("INCLUDE deeper.conf").unwrap().fabric, fabric);
    let wrong = ["absent.conf", "round.conf", "wrong.conf", "many.conf", ""]
        .map(|name| with(&format!("Include {name}")).unwrap_err().to_string());
    insta::assert_snapshot!(wrong.join("\n"));
}

#[test]
fn what_is_wrong_with_files() {
    let told = [
        String::new(),
        "Nodes=n1".to_owned(),
        "SwitchName=s0 Node=n1".to_owned(),
        SAMPLE.replace("s[0-1]", "s[0-2]"),
        SAMPLE.replace("s[0-1]", "s[0-3]"),
        SAMPLE.replace("n[4-6]", "n[4,4]"),
        SAMPLE.replace("n[4-6]", "n[4-"),
        SAMPLE.replace("n[4-6]", "n[1-9999999]"),
        SAMPLE.replacen("s1", "s0", 1),
        SAMPLE.replacen("LinkSpeed=900", "Nodes=n9", 1),
        SAMPLE.replacen("s0", &"s".repeat(300), 1),
        "SwitchName=s0 \\".to_owned(),
        "SwitchName=s0 Nodes=n1\nBlockName=b0 Nodes=n2".to_owned(),
        "BlockName=b0 Switches=s0".to_owned(),
        "RingName=r0 Nodes=n[1-4]".to_owned(),
        PRINTED.replacen("Level=1", "Level=x", 1),
        "- topology: a\n  flat: true\n".to_owned(),
        "- topology: a\n  tree:\n".to_owned(),
        "- topology: a\n  tree:\n    switches:\n    - nodes: n1\n".to_owned(),
        YAML.replacen("children", "child", 1),
        YAML.replacen("      nodes: n[0-3,7]", "\t nodes: n[0-3,7]", 1),
        YAML.replacen("s[0-1]", "s[0-2]", 1),
        YAML.replacen("n[0-3,7]", "{a: b}", 1),
    ]
    .map(|text| error(&text));
    insta::assert_snapshot!(told.join("\n"));
}

proptest! {
    #[test]
    fn no_bytes_do_harm(changes in changes(), form in 0_usize..3) {
        let _ = read(&changed([SAMPLE, PRINTED, YAML][form], &changes), &alone);
    }
}

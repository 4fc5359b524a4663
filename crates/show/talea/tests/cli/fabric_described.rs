//! Networks as files describe them: ports of nodes that limit, nodes with several adapters, all
//! forms of Slurm's files, counters of all ports, and what is said where there is no time or no
//! node.
//!
//! The networks are made here, so that what must come out is known.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::bench::stderr;

fn talea(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_talea")).args(words).output().unwrap()
}

fn placed(words: &[&str]) -> Value {
    let output = talea(&[&["fabric", "place", "--json"], words].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let found = serde_json::from_slice(&output.stdout).unwrap();
    super::schemas::check(&["fabric", "place"], &found);
    found
}

fn refused(words: &[&str]) -> String {
    let output = talea(&[&["fabric", "place"], words].concat());
    assert_eq!(output.status.code(), Some(2), "{words:?} {}", stderr(&output));
    stderr(&output)
}

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// What `ibnetdiscover -p` prints of `nodes` nodes with `rails` adapters of 4xNDR each. Each
/// adapter of a node is at another one of `rails` leaf switches, which four cables each join to one
/// above.
fn discovered(nodes: usize, rails: usize) -> String {
    let mut lines = Vec::new();
    let mut cable = |one: [String; 2], other: [String; 2]| {
        lines.push(format!("{} 4x NDR - {} ( '{}' - '{}' )", one[0], other[0], one[1], other[1]));
        lines.push(format!("{} 4x NDR - {} ( '{}' - '{}' )", other[0], one[0], other[1], one[1]));
    };
    let switch = |number: usize, port: usize, name: String| {
        [format!("SW {number} {port} 0x{:016x}", 0xf00 + number), name]
    };
    for rail in 0..rails {
        let leaf = |port| switch(1 + rail, port, format!("leaf{rail}"));
        for node in 0..nodes {
            let lid = 1000 + node * rails + rail;
            let adapter = format!("CA {lid} 1 0x{:016x}", 0xa0000 + lid);
            cable([adapter, format!("dgx{node:03} mlx5_{rail}")], leaf(1 + node));
        }
        for up in 0..4 {
            cable(leaf(1000 + up), switch(99, 1 + rail * 4 + up, "spine".to_owned()));
        }
    }
    lines.join("\n") + "\n"
}

fn gaps(answer: &Value) -> Vec<&str> {
    let gaps = answer["gaps"].as_array().unwrap().iter();
    gaps.map(|gap| gap["detail"].as_str().unwrap()).collect()
}

/// Eight ranks that each send a MiB to the rank eight further on.
fn pairs(folder: &Path) -> String {
    let rows: Vec<String> = (0..8).map(|rank| format!("{rank},{},1048576\n", rank + 8)).collect();
    written(folder, "pairs.csv", &format!("from,to,bytes\n{}", rows.concat()))
}

#[test]
fn ports_of_nodes_limit_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let network = written(folder.path(), "net.txt", &discovered(2, 1));
    let pairs = pairs(folder.path());
    let words = ["--ibnetdiscover", &network, "--matrix", &pairs, "--cores", "8"];
    let answer = placed(&[&words[..], &["--compare", "filled,bisection"]].concat());
    let [filled, bisection] = [0, 1].map(|at| &answer["placements"][at]);
    // Eight MiB leave one port of 50 GB/s, 96 bytes on the wire for 64 of data; both nodes are at
    // one switch, whose links are not used.
    let seconds = 8.0 * 1_048_576.0 * 96.0 / 64.0 / 50e9;
    let found = filled["model_seconds"].as_f64().unwrap();
    assert!((found / seconds - 1.0).abs() < 0.01, "{found} instead of {seconds}");
    assert_eq!((&filled["max_link_load"], &bisection["off_node_share"]), (&0.into(), &0.0.into()));
    assert_eq!(answer["recommended"]["placement"], "bisection");
    assert!(!gaps(&answer).iter().any(|gap| gap.contains("not known")), "{answer}");
}

#[test]
fn equal_placements_are_told_apart_by_bytes_off_node() {
    let folder = tempfile::tempdir().unwrap();
    let network = written(folder.path(), "one.conf", "SwitchName=s0 Nodes=n[0-1]\n");
    let pairs = pairs(folder.path());
    let words = ["--topology-conf", &network, "--matrix", &pairs, "--cores", "8"];
    let words = [&words[..], &["--compare", "filled,bisection"]].concat();
    // Nothing is on a link with either, and nobody tells what nodes can send.
    let answer = placed(&words);
    assert_eq!(answer["recommended"]["placement"], "bisection");
    let output = talea(&[&["fabric", "place"], &words[..]].concat());
    insta::assert_snapshot!(format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        stderr(&output)
    ));
    // With a speed the node's own cable has it too.
    let timed = placed(&[&words[..], &["--link-speed", "12.5GB/s"]].concat());
    let seconds = timed["placements"][0]["model_seconds"].as_f64().unwrap();
    assert!((seconds / (8.0 * 1_048_576.0 * 1.5 / 12.5e9) - 1.0).abs() < 0.01, "{seconds}");
}

#[test]
fn faces_without_a_size_have_no_time() {
    let grid = ["--torus", "4x4x4", "--ranks", "16x16x8", "--stencil", "7"];
    let counted = placed(&[&grid[..], &["--compare", "filled,2x2x4"]].concat());
    for one in counted["placements"].as_array().unwrap() {
        assert!(one["model_seconds"].is_null() && one["max_link_load"].as_u64() > Some(0), "{one}");
    }
    let said = gaps(&counted);
    assert!(said.iter().any(|gap| gap.contains("--bytes says how much")), "{said:?}");
    assert!(!said.iter().any(|gap| gap.contains("times of the model")), "{said:?}");
    let sized = placed(&[&grid[..], &["--bytes", "8192"]].concat());
    assert!(sized["placements"][0]["model_seconds"].as_f64() > Some(0.0), "{sized}");
    assert_eq!(gaps(&sized), Vec::<&str>::new());
}

#[test]
fn adapters_of_a_node_are_its_rails() {
    let folder = tempfile::tempdir().unwrap();
    let network = written(folder.path(), "net.txt", &discovered(122, 4));
    // Each rank sends to the one in the same place of the next node.
    let row = |rank: usize| format!("{rank},{},1048576\n", (rank + 4) % 16);
    let rows: Vec<String> = (0..16).map(row).collect();
    let matrix = written(folder.path(), "matrix.csv", &format!("from,to,bytes\n{}", rows.concat()));
    let hosts: Vec<String> = (0..16).map(|rank| format!("dgx{:03}\n", rank / 4 * 7)).collect();
    let hosts = written(folder.path(), "hosts.txt", &hosts.concat());
    let compare = format!("filled,hostfile:{hosts}");
    let words = ["--ibnetdiscover", &network, "--matrix", &matrix, "--compare", &compare];
    let answer = placed(&[&words[..], &["--cores", "4"]].concat());
    let said = gaps(&answer);
    let known = ["near to its slot", "of Gemini's packets"];
    let is_known = |gap: &&str| known.iter().any(|part| gap.contains(part));
    assert!(said.len() == known.len() && said.iter().all(is_known), "{said:?}");
    for one in answer["placements"].as_array().unwrap() {
        // Each port sends one message, and answers one; no rail sends to another one.
        assert_eq!((&one["nodes"], &one["max_link_load"]), (&4.into(), &0.into()), "{one}");
        let seconds = 1_048_576.0 * 105.0 / 64.0 / 50e9;
        let found = one["model_seconds"].as_f64().unwrap();
        assert!((found / seconds - 1.0).abs() < 0.01, "{found} instead of {seconds}");
    }
    // 488 adapters are 122 nodes, and no more.
    let many = ["--ibnetdiscover", &network, "--ranks", "123x1x1", "--stencil", "7"];
    let said = refused(&[&many[..], &["--cores", "1"]].concat());
    assert!(said.contains("123 ranks on 122 nodes"), "{said}");
}

#[test]
fn forms_of_slurm_are_one_network() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    written(path, "leafs.conf", "SwitchName=s1 Nodes=n[4-7]\n");
    let conf = "SwitchName=s0 Nodes=n[0-3]\nInclude leafs.conf\nSwitchName=top Switches=s[0-1]\n";
    let printed = "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-3]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[4-7]\nSwitchName=top Level=1 LinkSpeed=1 Nodes=n[0-7] Switches=s[0-1]\n";
    let yaml = "- topology: all\n  cluster_default: true\n  tree:\n    switches:\n    - switch: s0\n      nodes: n[0-3]\n    - switch: s1\n      nodes: n[4-7]\n    - switch: top\n      children: s[0-1]\n";
    let grid = ["--ranks", "4x2x2", "--stencil", "7", "--cores", "2"];
    let files = [("a.conf", conf), ("b.txt", printed), ("topology.yaml", yaml)];
    let answers = files.map(|(name, text)| {
        let file = written(path, name, text);
        placed(&[&grid[..], &["--topology-conf", &file]].concat())
    });
    assert_eq!((&answers[0], &answers[0]), (&answers[1], &answers[2]));
    assert_eq!(answers[0]["routers"], 3);
    let blocks = written(
        path,
        "blocks.conf",
        "BlockName=b0 Nodes=n[0-3]\nBlockName=b1 Nodes=n[4-7]\nBlockSizes=4\n",
    );
    let blocks = placed(&[&grid[..], &["--topology-conf", &blocks]].concat());
    let loads = |answer: &Value| answer["placements"][0]["max_link_load"].as_u64();
    assert_eq!((loads(&blocks), &blocks["routers"]), (loads(&answers[0]), &3.into()));
    let joins = gaps(&blocks).iter().any(|gap| gap.contains("switches between blocks"));
    assert!(joins, "{blocks}");
    let absent = written(path, "absent.conf", "Include nowhere.conf\n");
    let said = refused(&[&grid[..], &["--topology-conf", &absent]].concat());
    let said = said.replace(&path.display().to_string(), "FOLDER");
    insta::assert_snapshot!(said);
}

#[test]
fn networks_without_nodes_or_ways_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| written(folder.path(), name, text);
    let bare = write("bare.conf", "SwitchName=s0\nSwitchName=s1 Switches=s0\n");
    let cards = "CA 1 1 0x0a 4x NDR - CA 2 1 0x0b ( 'n1 mlx5_0' - 'n2 mlx5_0' )\n";
    let cards = write("cards.txt", cards);
    let apart = write("apart.conf", "SwitchName=one Nodes=n0\nSwitchName=two Nodes=n1\n");
    let grid = ["--ranks", "2x1x1", "--stencil", "7", "--cores", "1"];
    let said = [
        refused(&[&grid[..], &["--topology-conf", &bare]].concat()),
        refused(&[&grid[..], &["--ibnetdiscover", &cards]].concat()),
        refused(&[&grid[..], &["--topology-conf", &apart]].concat()),
        refused(&[&grid[..], &["--topology-conf", &apart, "--routing", "up-down"]].concat()),
    ];
    let said = said.concat().replace(&folder.path().display().to_string(), "FOLDER");
    insta::assert_snapshot!(said);
}

#[test]
fn counters_of_all_ports_are_a_table_of_cables() {
    let folder = tempfile::tempdir().unwrap();
    let network = written(folder.path(), "net.txt", &discovered(1, 1));
    // The leaf switch's port to the node and its four cables up; the node's adapter did not answer.
    let printed = |name: &str, data: u64| {
        let ports = [1, 1000, 1001, 1002, 1003].map(|port| {
            let words = data * (port % 999);
            format!("# Port extended counters: Lid 1 port {port} (CapMask: 0x5300)\nPortXmitData:....{words}\nPortRcvData:....{}\nPortXmitPkts:....{data}\nPortRcvPkts:....{data}\nPortXmitWait:....{data}\n", words * 2)
        });
        let text =
            format!("ibwarn: [7] mad_rpc: _do_madrpc failed; dport (Lid 1000)\n{}", ports.concat());
        written(folder.path(), name, &text)
    };
    let [before, after] = [("before.txt", 1_000_000), ("after.txt", 3_000_000)]
        .map(|(name, data)| printed(name, data));
    let table = |words: &[&str]| {
        let output =
            talea(&[&["fabric", "table", &after, "--ibnetdiscover", &network], words].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        (String::from_utf8(output.stdout.clone()).unwrap(), stderr(&output))
    };
    let (shown, said) = table(&["--since", &before]);
    insta::assert_snapshot!(format!("{shown}{said}"));
    let (json, _) = table(&["--since", &before, "--json"]);
    let answer: Value = serde_json::from_str(&json).unwrap();
    let rows = answer["cables"].as_array().unwrap();
    let bytes = |from: &str, to: &str| {
        let row = rows.iter().find(|row| (&row["from"], &row["to"]) == (&from.into(), &to.into()));
        row.unwrap()["bytes"].as_u64()
    };
    // Ports 1000 to 1003 sent 1, 2, 3 and 4 times the growth.
    assert_eq!(bytes("leaf0", "spine"), Some(2_000_000 * 10 * 4));
    assert_eq!(bytes("dgx000", "leaf0"), Some(2_000_000 * 2 * 4));
    let (_, said) = table(&[]);
    assert!(said.contains("since they were last cleared"), "{said}");
    let output = talea(&["fabric", "table", &after, "--ibnetdiscover", &network, "--each"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

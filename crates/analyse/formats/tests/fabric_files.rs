//! Descriptions of real networks and readings of their counters: what is in them, counted in
//! another way where that is simple.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use talea_fabric::degraded::{Alike, degraded};
use talea_fabric::{Coordinate, Fabric};
use talea_formats::fabric::{blue_gene, cables, ibnetdiscover, nodemap, perfquery, topology_conf};
use talea_model::{Gap, Gaps};

/// Bytes of the file; absent where the data are not there, which continuous integration does not
/// allow.
fn data(name: &str) -> Option<Vec<u8>> {
    talea_testing::bytes(&format!("fabric/{name}"))
}

fn told(gaps: &Gaps) -> Vec<String> {
    gaps.iter().map(Gap::sentence).collect()
}

#[test]
fn nodes_of_a_gemini_machine() {
    let Some(bytes) = data("hopper_nodemap.txt") else { return };
    let map = nodemap::read(&bytes).unwrap();
    assert_eq!(map.torus.lengths(), [17, 8, 24]);
    assert_eq!((map.nodes.len(), map.gaps.is_empty()), (6528, true));
    let machine = map.gemini().unwrap();
    assert_eq!(machine.fabric.routers().len(), 3264);
    let host = machine.fabric.hosts().iter().find(|host| host.name == "nid06521").unwrap();
    let at = machine.fabric.routers()[host.router.at()].at;
    assert_eq!(at, Coordinate::new(&[1, 7, 3]));
    // A map that was cut tells what is not there.
    let cut = String::from_utf8(bytes).unwrap();
    let cut: Vec<&str> = cut.lines().take(6000).collect();
    let cut = nodemap::read(cut.join("\n").as_bytes()).unwrap();
    assert_eq!(cut.gaps.iter().map(|gap| gap.count).collect::<Vec<_>>(), [529, 529]);
}

#[test]
fn switches_and_adapters() {
    let Some(bytes) = data("infiniband/X5.topofile") else { return };
    let found = ibnetdiscover::read(&bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let begin = |word: &str| text.lines().filter(|line| line.starts_with(word)).count();
    let fabric = &found.fabric;
    assert_eq!((fabric.routers().len(), fabric.hosts().len()), (begin("Switch"), begin("Ca")));
    assert_eq!(found.ports.len(), begin("["));
    let kinds: Vec<(&str, Option<f64>)> =
        fabric.kinds().iter().map(|kind| (kind.name.as_str(), kind.lane)).collect();
    assert_eq!(kinds, [("4xQDR", Some(4e9))]);
    let slow = found.ports.iter().filter(|port| port.kind == "4xDDR").count();
    assert_eq!(slow, text.lines().filter(|line| line.ends_with("4xDDR")).count());
    // A quarter of the adapters is slower than the others, as both ends of their cables say.
    let slow_hosts = found.slow_hosts();
    assert_eq!((slow_hosts.len() * 2, slow_hosts[0].1, slow_hosts[0].2), (slow, "4xDDR", "4xQDR"));
    assert_eq!(degraded(fabric, Alike::Levels), []);
    // One cable between switches that is of the wrong kind shows, both ways.
    let ends = ["[8]\t\"S-0008f10500108c5c\"[35]", "[35]\t\"S-0002c90200417670\"[8]"];
    let worse = |line: &str| {
        let of_it = ends.iter().any(|end| line.starts_with(end));
        if of_it { line.replace("4xQDR", "4xDDR") } else { line.to_owned() }
    };
    let worse = text.lines().map(worse).collect::<Vec<_>>().join("\n");
    let worse = ibnetdiscover::read(worse.as_bytes()).unwrap();
    let worse = degraded(&worse.fabric, Alike::Levels);
    let worse: Vec<&str> = worse.iter().map(|one| one.why.as_str()).collect();
    assert_eq!(worse, ["4xDDR where others like it are 4xQDR"; 2]);
    // Cables between the first switch and another one.
    let lanes = |fabric: &Fabric, name: &str, to: &str| {
        let find = |name: &str| fabric.routers().iter().position(|router| router.name == name);
        let (from, to) = (find(name).unwrap() as u32, find(to).unwrap() as u32);
        let link = fabric.link(talea_fabric::RouterId(from), talea_fabric::RouterId(to)).unwrap();
        fabric.links()[link.at()].capacity
    };
    let (one, two) = ("S-0008f10500200b50", "Voltaire 4036 # 4036-8C5C");
    let block = text
        .split("\n\n")
        .find(|block| block.contains("\nSwitch") && block.contains(&format!("{one}\"\t\t#")))
        .unwrap();
    let cables = block.lines().filter(|line| line.contains("\"S-0008f10500108c5c\"[")).count();
    assert_eq!(lanes(fabric, one, two), Some(cables as f64 * 4e9));
    // All adapters have the same description, so that hosts have identifiers as names.
    assert!(fabric.hosts().iter().any(|host| host.name == "H-003048c749cd0000"));
    assert_eq!(told(&found.gaps), Vec::<String>::new());
}

#[test]
fn lines_of_ports() {
    // Switches, hosts, ports, and counts of gaps: cables that one end tells alone, and the two
    // aggregation nodes of the second file, which are no hosts.
    let files =
        [("test.out", [4, 3, 8, 1]), ("test2.out", [5, 1, 2, 5]), ("test3.out", [1, 0, 0, 0])];
    for (name, expected) in files {
        let Some(bytes) = data(&format!("infiniband/ibnetdiscover/{name}")) else { return };
        let found = ibnetdiscover::read(&bytes).unwrap();
        let alone = found.gaps.iter().map(|gap| gap.count as usize).sum::<usize>();
        let counts = [found.fabric.routers().len(), found.fabric.hosts().len(), found.ports.len()];
        assert_eq!([&counts[..], &[alone]].concat(), expected, "{name}");
        assert!(found.ports.iter().all(|port| port.rate.is_some_and(|rate| rate >= 12.5e9)));
    }
}

#[test]
fn switches_and_nodes_of_a_scheduler() {
    let Some(bytes) = data("infiniband/X5.topology.conf") else { return };
    let found = topology_conf::read(&bytes, &|name| Err(name.to_owned())).unwrap();
    let fabric = found.fabric;
    assert!(found.gaps.is_empty());
    assert_eq!((fabric.routers().len(), fabric.hosts().len()), (11, 89));
    assert!(fabric.hosts().iter().any(|host| host.name == "r422node104"));
}

#[test]
fn counters_of_ports() {
    let names = [
        ("0x506b4b03005c2740", 1),
        ("0x506b4b0300cc02a6", 0),
        ("0x7cfe9003003b4b96", 1),
        ("0x7cfe9003003b4bde", 1),
        ("0x7cfe9003009ce5b0", 2),
    ];
    for (name, count) in names {
        let Some(bytes) = data(&format!("infiniband/perfquery/{name}.out")) else { return };
        let ports = perfquery::read(&bytes).unwrap().ports;
        assert_eq!(ports.len(), count, "{name}");
        for port in ports {
            let (counter, value) = &port.values[0];
            assert_eq!((counter.name.as_str(), port.values.len()), ("PortXmitData", 22));
            assert!(counter.unit.bytes(*value).unwrap() > 1_000_000_000);
        }
    }
}

#[test]
fn counters_of_a_whole_network_are_of_its_cables() {
    let Some(bytes) = data("infiniband/ibnetdiscover/test.out") else { return };
    let network = ibnetdiscover::read(&bytes).unwrap();
    let names =
        ["0x506b4b03005c2740", "0x7cfe9003003b4b96", "0x7cfe9003003b4bde", "0x7cfe9003009ce5b0"];
    let files = names.map(|name| data(&format!("infiniband/perfquery/{name}.out")).unwrap());
    let printed = perfquery::read(&files.concat()).unwrap();
    let (rows, _) = cables::carried(&network, None, &printed.ports).unwrap();
    let value = |at: usize, lid: u32, number: u32, name: &str| {
        let ports = perfquery::read(&files[at]).unwrap().ports;
        let port = ports.iter().find(|port| (port.lid, port.number) == (Some(lid), number));
        port.unwrap().value(name).unwrap() * 4
    };
    let host = |name: &str| {
        let at = network.fabric.hosts().iter().position(|host| host.name == name).unwrap();
        ibnetdiscover::End::Host(talea_fabric::HostId(at as u32))
    };
    let sent = |name: &str| rows.iter().find(|row| row.from == host(name)).unwrap().bytes;
    assert_eq!(sent("o0001"), Some(value(2, 134, 1, "PortXmitData")));
    assert_eq!(sent("o0002"), Some(value(1, 133, 1, "PortXmitData")));
    // The switch did not tell of its port to this host, the host did.
    let received = rows.iter().find(|row| row.to == host("o0001")).unwrap().bytes;
    assert_eq!(received, Some(value(2, 134, 1, "PortRcvData")));
}

#[test]
fn packets_of_a_blue_gene() {
    let Some(meta) = data("bgpc_meta.yaml") else { return };
    let torus = blue_gene::torus(&meta).unwrap();
    assert_eq!(torus.lengths(), [8, 8, 8]);
    let fabric = blue_gene::fabric(&torus).unwrap();
    assert_eq!((fabric.links().len(), fabric.hosts().len()), (512 * 6, 512));
    let bytes = data("bgpc_links.yaml").unwrap();
    let (regions, gaps) = blue_gene::links(&bytes, &torus, &fabric).unwrap();
    assert!(gaps.is_empty());
    let sums: Vec<(i64, u64)> =
        regions.iter().map(|one| (one.number, one.packets.iter().flatten().sum())).collect();
    let expected = [
        (-2, 30_908_106),
        (0, 0),
        (1, 495_736),
        (2, 229_906),
        (3, 187_515),
        (4, 104_007),
        (5, 163_099),
        (6, 207_993),
        (7, 20_506),
        (8, 4718),
    ];
    assert_eq!(sums, expected);
    let (nodes, gaps) = blue_gene::nodes(&data("bgpc_nodes.yaml").unwrap(), &torus).unwrap();
    assert_eq!((nodes.len(), gaps.is_empty()), (512, true));
    let ranks = blue_gene::ranks(&data("bgpc_map.yaml").unwrap()).unwrap();
    assert_eq!(ranks.len(), 512);
    assert!(ranks.iter().all(|(_, node)| nodes.iter().any(|(known, _)| known == node)));
}

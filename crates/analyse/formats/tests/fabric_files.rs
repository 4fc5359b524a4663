//! Descriptions of networks and readings of their counters: generated ones, whose truth is known,
//! and real ones, counted in another way where that is simple.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use talea_fabric::degraded::{Alike, At, degraded};
use talea_fabric::{Coordinate, Fabric, HostId, RouterId};
use talea_formats::fabric::{blue_gene, cables, ibnetdiscover, nodemap, perfquery, topology_conf};
use talea_model::{Gap, Gaps};
use talea_testing::infiniband::{self, Tree};
use talea_testing::torus;

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
        let link = fabric.link(RouterId(from), RouterId(to)).unwrap();
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
        ibnetdiscover::End::Host(HostId(at as u32))
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

/// Two spines above three leaves of eight hosts, each leaf with two cables to each spine.
const TREE: Tree = Tree { leaves: 3, spines: 2, hosts: 8, cables: 2, slow: 0, degraded: false };

/// The router of a name.
fn router(fabric: &Fabric, name: &str) -> RouterId {
    let at = fabric.routers().iter().position(|router| router.name == name);
    RouterId(at.unwrap_or_else(|| panic!("no {name}")) as u32)
}

/// The device of the generator that an end is.
fn device(tree: &Tree, fabric: &Fabric, end: ibnetdiscover::End) -> usize {
    let name = match end {
        ibnetdiscover::End::Router(id) => &fabric.routers()[id.at()].name,
        ibnetdiscover::End::Host(id) => &fabric.hosts()[id.0 as usize].name,
    };
    (0..tree.devices()).find(|&device| tree.name(device) == *name).unwrap()
}

#[test]
fn nodes_of_a_generated_gemini_machine() {
    let lengths = [5, 4, 6];
    let text = torus::nodemap(lengths, 6);
    let map = nodemap::read(text.as_bytes()).unwrap();
    assert_eq!(map.torus.lengths(), lengths.map(|length| length as u16));
    assert_eq!((map.nodes.len(), map.gaps.is_empty()), (2 * torus::places(lengths), true));
    let machine = map.gemini().unwrap();
    assert_eq!(machine.fabric.routers().len(), torus::places(lengths));
    for place in 0..torus::places(lengths) {
        for slot in 0..2 {
            let name = format!("nid{:05}", 6 + 2 * place + slot);
            let host = machine.fabric.hosts().iter().find(|host| host.name == name).unwrap();
            let at = machine.fabric.routers()[host.router.at()].at;
            let expected = torus::at(lengths, place).map(|along| along as u16);
            assert_eq!(at, Coordinate::new(&expected), "{name}");
        }
    }
    // A map that was cut tells what is not there: in the last layer, and of the number in its head.
    let cut: Vec<&str> = text.lines().take(1 + 2 * torus::places(lengths) - 9).collect();
    let cut = nodemap::read(cut.join("\n").as_bytes()).unwrap();
    assert_eq!(cut.gaps.iter().map(|gap| gap.count).collect::<Vec<_>>(), [9, 9]);
}

#[test]
fn a_generated_network_is_the_same_in_both_forms() {
    let tree = Tree { slow: 4, ..TREE };
    let (hosts, all) = (tree.leaves * tree.hosts, tree.all_cables());
    for text in [tree.blocks(), tree.lines()] {
        let found = ibnetdiscover::read(text.as_bytes()).unwrap();
        assert_eq!(told(&found.gaps), Vec::<String>::new());
        let fabric = &found.fabric;
        assert_eq!((fabric.routers().len(), fabric.hosts().len()), (tree.switches(), hosts));
        assert_eq!(found.ports.len(), 2 * all.len());
        let (usual, lane) = infiniband::SPEED;
        let kinds: Vec<(&str, Option<f64>)> =
            fabric.kinds().iter().map(|kind| (kind.name.as_str(), kind.lane)).collect();
        assert_eq!(kinds, [(&*format!("4x{usual}"), Some(lane))]);
        for (at, host) in fabric.hosts().iter().enumerate() {
            let leaf = (at / tree.hosts, &fabric.routers()[host.router.at()].name);
            assert_eq!((&host.name, leaf.1), (&format!("n{at:03}"), &format!("leaf{}", leaf.0)));
        }
        for leaf in 0..tree.leaves {
            for spine in 0..tree.spines {
                let [from, to] = [format!("leaf{leaf}"), format!("spine{spine}")];
                let link = fabric.link(router(fabric, &from), router(fabric, &to)).unwrap();
                let capacity = fabric.links()[link.at()].capacity;
                assert_eq!(capacity, Some(lane * tree.cables as f64), "{from} {to}");
            }
        }
        // Both ends of the cables of slow adapters say so.
        let slow: Vec<String> = (0..hosts).step_by(4).map(|host| format!("n{host:03}")).collect();
        let found_slow = found.slow_hosts();
        let names: Vec<&str> =
            found_slow.iter().map(|one| fabric.hosts()[one.0.0 as usize].name.as_str()).collect();
        assert_eq!(names, slow);
        assert!(found_slow.iter().all(|one| (one.1, one.2) == ("4xDDR", "4xQDR")));
        let ports = found.ports.iter().filter(|port| port.kind == "4xDDR").count();
        assert_eq!(ports, 2 * slow.len());
        assert_eq!(degraded(fabric, Alike::Levels), []);
    }
}

#[test]
fn a_generated_cable_of_the_wrong_kind_shows_both_ways() {
    let tree = Tree { degraded: true, ..TREE };
    for text in [tree.blocks(), tree.lines()] {
        let found = ibnetdiscover::read(text.as_bytes()).unwrap();
        let worse = degraded(&found.fabric, Alike::Levels);
        let why: Vec<&str> = worse.iter().map(|one| one.why.as_str()).collect();
        assert_eq!(why, ["4xDDR where others like it are 4xQDR"; 2]);
        let ends: Vec<[&str; 2]> = worse
            .iter()
            .map(|one| {
                let At::Link(link) = one.at else { panic!("{one:?}") };
                let link = &found.fabric.links()[link.at()];
                [link.from, link.to].map(|id| found.fabric.routers()[id.at()].name.as_str())
            })
            .collect();
        assert_eq!(ends, [["leaf0", "spine0"], ["spine0", "leaf0"]]);
    }
}

#[test]
fn lines_of_generated_ports_that_one_end_tells_alone() {
    let text = TREE.lines();
    let whole = ibnetdiscover::read(text.as_bytes()).unwrap();
    // A part of a network, without the lines of the last spine.
    let last = format!("( 'spine{}' - ", TREE.spines - 1);
    let part: Vec<&str> = text.lines().filter(|line| !line.contains(&last)).collect();
    let found = ibnetdiscover::read(part.join("\n").as_bytes()).unwrap();
    let alone = (TREE.leaves * TREE.cables) as u64;
    assert_eq!(found.gaps.iter().map(|gap| gap.count).collect::<Vec<_>>(), [alone]);
    assert_eq!(found.fabric, whole.fabric);
    assert_eq!(
        (found.ports.len(), whole.ports.len()),
        (text.lines().count(), text.lines().count())
    );
    let rate = infiniband::SPEED.1;
    assert!(whole.ports.iter().all(|port| port.rate == Some(rate)), "{:?}", whole.ports[0]);
}

#[test]
fn a_generated_network_is_the_same_for_a_scheduler() {
    let found = topology_conf::read(TREE.topology_conf().as_bytes(), &|name| Err(name.to_owned()));
    let found = found.unwrap();
    assert!(found.gaps.is_empty());
    let discovered = ibnetdiscover::read(TREE.lines().as_bytes()).unwrap().fabric;
    let links = |fabric: &Fabric| {
        let name = |id: RouterId| fabric.routers()[id.at()].name.clone();
        let links = fabric.links().iter().map(|link| (name(link.from), name(link.to)));
        links.collect::<std::collections::BTreeSet<_>>()
    };
    let hosts = |fabric: &Fabric| {
        let leaf = |id: RouterId| fabric.routers()[id.at()].name.clone();
        let hosts = fabric.hosts().iter().map(|host| (host.name.clone(), leaf(host.router)));
        hosts.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(links(&found.fabric), links(&discovered));
    assert_eq!(links(&found.fabric).len(), 2 * TREE.leaves * TREE.spines);
    assert_eq!(hosts(&found.fabric), hosts(&discovered));
    assert_eq!(hosts(&found.fabric).len(), TREE.leaves * TREE.hosts);
}

#[test]
fn counters_of_generated_ports() {
    let cables = TREE.all_cables();
    for device in 0..TREE.devices() {
        let ports = perfquery::read(TREE.perfquery(device).as_bytes()).unwrap().ports;
        let own = cables.iter().flat_map(|cable| cable.ends).filter(|end| end.device == device);
        assert_eq!(ports.len(), own.count());
        for port in ports {
            let [sent, received] = infiniband::counted(device, port.number as usize);
            assert_eq!(port.lid, Some(TREE.lid(device) as u32));
            let values =
                ["PortXmitData", "PortRcvData", "PortXmitPkts"].map(|name| port.value(name));
            assert_eq!(values, [Some(sent), Some(received), Some(sent / 500)]);
            let (counter, value) = &port.values[0];
            assert_eq!((counter.name.as_str(), port.values.len()), ("PortXmitData", 6));
            assert_eq!(counter.unit.bytes(*value), Some(4 * sent));
        }
    }
}

#[test]
fn counters_of_a_generated_network_are_of_its_cables() {
    let network = ibnetdiscover::read(TREE.lines().as_bytes()).unwrap();
    let bytes = |absent: usize| {
        let devices = (0..TREE.devices()).filter(|&device| device != absent);
        let text: String = devices.map(|device| TREE.perfquery(device)).collect();
        let printed = perfquery::read(text.as_bytes()).unwrap();
        let (rows, _) = cables::carried(&network, None, &printed.ports).unwrap();
        let end = |end| device(&TREE, &network.fabric, end);
        let rows = rows.iter().map(|row| ((end(row.from), end(row.to)), row.bytes));
        rows.collect::<std::collections::BTreeMap<_, _>>()
    };
    // Bytes that each end sent; where it was not asked, those that the other end received.
    for absent in [usize::MAX, 0] {
        let mut expected = std::collections::BTreeMap::new();
        for cable in TREE.all_cables() {
            for [from, to] in [cable.ends, [cable.ends[1], cable.ends[0]]] {
                let sent = infiniband::counted(from.device, from.port)[0];
                let received = infiniband::counted(to.device, to.port)[1];
                let bytes = 4 * if from.device == absent { received } else { sent };
                let sum = expected.entry((from.device, to.device)).or_insert(Some(0));
                *sum = sum.map(|sum| sum + bytes);
            }
        }
        assert_eq!(bytes(absent), expected, "without {absent}");
    }
}

#[test]
fn packets_of_a_generated_blue_gene() {
    let lengths = [4, 3, 5];
    let folder = std::env::temp_dir().join(format!("talea-blue-gene-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let meta = std::fs::read(torus::blue_gene(&folder, lengths)).unwrap();
    let file = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let [links, nodes, ranks] = ["links.yaml", "nodes.yaml", "ranks.yaml"].map(file);
    std::fs::remove_dir_all(&folder).unwrap();
    let all = torus::places(lengths);
    let described = blue_gene::described(&meta).unwrap();
    assert_eq!(described.nodes, Some(all as u64));
    assert_eq!(described.link_table.as_deref(), Some("links.yaml"));
    assert_eq!(described.rank_table.as_deref(), Some("ranks.yaml"));
    let torus = blue_gene::torus(&meta).unwrap();
    assert_eq!(torus.lengths(), lengths.map(|length| length as u16));
    let fabric = blue_gene::fabric(&torus).unwrap();
    assert_eq!((fabric.links().len(), fabric.hosts().len()), (6 * all, all));
    let (regions, gaps) = blue_gene::links(&links, &torus, &fabric).unwrap();
    assert!(gaps.is_empty(), "{gaps:?}");
    let numbers: Vec<i64> = regions.iter().map(|region| region.number).collect();
    assert_eq!(numbers, torus::REGIONS);
    let place = |at: Option<Coordinate>| {
        (0..all)
            .find(|&place| Coordinate::new(&torus::at(lengths, place).map(|x| x as u16)) == at)
            .unwrap()
    };
    for region in &regions {
        for (link, packets) in fabric.links().iter().zip(&region.packets) {
            let [from, to] = [link.from, link.to].map(|id| place(fabric.routers()[id.at()].at));
            let own = (0..6).find(|&way| torus::behind(lengths, from, way) == to).unwrap();
            assert_eq!(*packets, Some(torus::packets(from, own, region.number)), "{from} {to}");
        }
    }
    let (nodes, gaps) = blue_gene::nodes(&nodes, &torus).unwrap();
    assert_eq!((nodes.len(), gaps.is_empty()), (all, true));
    for (number, router) in nodes {
        assert_eq!(place(fabric.routers()[router.at()].at), number as usize);
    }
    let ranks = blue_gene::ranks(&ranks).unwrap();
    let expected: Vec<(u32, u32)> =
        (0..all as u32).map(|rank| (rank, all as u32 - 1 - rank)).collect();
    assert_eq!(ranks, expected);
}

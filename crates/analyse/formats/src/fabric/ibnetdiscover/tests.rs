//! The two forms of a small network, and possible errors in them.

use proptest::prelude::*;

use super::*;
use crate::fabric::damaged::{changed, changes};

const BLOCKS: &str = "\
#
# Topology file: generated on some day
#
vendid=0x8f1
devid=0x5a5a
sysimgguid=0x2
switchguid=0x2(2)
Switch	36 \"S-0000000000000002\"		# \"leaf one\" enhanced port 0 lid 9 lmc 0
[1]	\"S-0000000000000003\"[15]		# \"top # 1\" lid 16 4xQDR
[2]	\"S-0000000000000003\"[14]		# \"top # 1\" lid 16 4xDDR
[4]	\"H-000000000000000a\"[1](b) 		# \"n1 HCA-1\" lid 72 4xDDR
[5](ext 5)	\"H-000000000000000c\"[1](d) 		# \"MT25408\" lid 73 4xQDR

Switch	36 \"S-0000000000000003\"		# \"top # 1\" base port 0 lid 16 lmc 0
[15]	\"S-0000000000000002\"[1]		# \"leaf one\" lid 9 4xQDR
[14]	\"S-0000000000000002\"[2]		# \"leaf one\" lid 9 4xDDR
[7]	\"H-000000000000000e\"[1](f) 		# \"MT25408\" lid 74 4xQDR

caguid=0xa
Ca	1 \"H-000000000000000a\"		# \"n1 HCA-1\"
[1](b) 	\"S-0000000000000002\"[4]		# lid 72 lmc 0 \"leaf one\" lid 9 4xDDR

Ca	1 \"H-000000000000000c\"		# \"MT25408\"
[1](d) 	\"S-0000000000000002\"[5]		# lid 73 lmc 0 \"leaf one\" lid 9 4xQDR

Ca	1 \"H-000000000000000e\"		# \"MT25408\"
[1](f) 	\"S-0000000000000003\"[7]		# lid 74 lmc 0 \"top # 1\" lid 16 4xQDR
";

const LINES: &str = "\
CA    72  1 0x000000000000000a 4x DDR - SW     9  4 0x0000000000000002 ( 'n1 HCA-1' - 'leaf one' )
CA    73  1 0x000000000000000c 4x QDR - SW     9  5 0x0000000000000002 ( 'MT25408' - 'leaf one' )
CA    74  1 0x000000000000000e 4x QDR - SW    16  7 0x0000000000000003 ( 'MT25408' - 'top # 1' )
SW     9  1 0x0000000000000002 4x QDR - SW    16 15 0x0000000000000003 ( 'leaf one' - 'top # 1' )
SW     9  2 0x0000000000000002 4x DDR - SW    16 14 0x0000000000000003 ( 'leaf one' - 'top # 1' )
SW     9  4 0x0000000000000002 4x DDR - CA    72  1 0x000000000000000a ( 'leaf one' - 'n1 HCA-1' )
SW     9  5 0x0000000000000002 4x QDR - CA    73  1 0x000000000000000c ( 'leaf one' - 'MT25408' )
SW     9  6 0x0000000000000002 4x ???                                    'leaf one'
SW    16  7 0x0000000000000003 4x QDR - CA    74  1 0x000000000000000e ( 'top # 1' - 'MT25408' )
SW    16 14 0x0000000000000003 4x DDR - SW     9  2 0x0000000000000002 ( 'top # 1' - 'leaf one' )
SW    16 15 0x0000000000000003 4x QDR - SW     9  1 0x0000000000000002 ( 'top # 1' - 'leaf one' )
";

#[test]
fn both_forms_say_the_same() {
    let blocks = read(BLOCKS.as_bytes()).unwrap();
    let lines = read(LINES.as_bytes()).unwrap();
    assert!(blocks.gaps.is_empty() && lines.gaps.is_empty());
    let fabric = &blocks.fabric;
    let hosts = |fabric: &Fabric| -> Vec<String> {
        let name = |router: RouterId| fabric.routers()[router.at()].name.clone();
        fabric.hosts().iter().map(|host| format!("{}@{}", host.name, name(host.router))).collect()
    };
    assert_eq!(
        hosts(fabric),
        ["n1@leaf one", "H-000000000000000c@leaf one", "H-000000000000000e@top # 1"]
    );
    assert_eq!(hosts(&lines.fabric), hosts(fabric));
    // Two cables of different speeds are one link.
    let link = &fabric.links()[0];
    assert_eq!((link.lanes.len(), link.capacity), (2, Some(6e9)));
    assert_eq!(fabric.links().len(), 2);
    assert_eq!(lines.fabric.links()[1].capacity, Some(6e9));
    let told = |found: &InfiniBand| {
        let one =
            |port: &Port| (port.of, port.guid, port.lid, port.number, port.to, port.kind.clone());
        found.ports.iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(told(&blocks), told(&lines));
    assert_eq!(blocks.ports.len(), 10);
    assert_eq!(blocks.ports[0].lid, Some(9));
    assert_eq!(blocks.ports[7].lid, Some(72));
}

#[test]
fn cables_that_one_end_tells_alone() {
    let lines: Vec<&str> = LINES.lines().collect();
    let found = read(lines[..5].join("\n").as_bytes()).unwrap();
    assert_eq!(found.fabric, read(LINES.as_bytes()).unwrap().fabric);
    let told: Vec<String> = found.gaps.iter().map(talea_model::Gap::sentence).collect();
    insta::assert_snapshot!(told.join("\n"), @"cables that one end tells alone: the other way is taken to be alike (5)");
}

#[test]
fn what_is_no_host_or_several() {
    // An adapter inside a switch, and two of one host.
    let told = |text: &str| -> (Vec<String>, Vec<String>) {
        let found = read(text.as_bytes()).unwrap();
        let hosts = found.fabric.hosts().iter().map(|host| host.name.clone()).collect();
        (hosts, found.gaps.iter().map(talea_model::Gap::sentence).collect())
    };
    let [plain, sums] = ["MT25408", "Mellanox Technologies Aggregation Node"];
    let inside = LINES.replace(&format!("{plain}' - 'top"), &format!("{sums}' - 'top"));
    let (hosts, gaps) = told(&inside.replace(&format!("1' - '{plain}"), &format!("1' - '{sums}")));
    assert_eq!(hosts, ["n1", plain]);
    assert_eq!(gaps, ["aggregation nodes inside switches: they are no hosts (1)"]);
}

/// Lines of `nodes` hosts with `rails` adapters of one port each, adapter by adapter at a switch of
/// its own, all below one switch; both ends of each cable.
fn rails(nodes: usize, rails: usize, description: impl Fn(usize, usize) -> String) -> String {
    let mut lines = Vec::new();
    let mut cable = |ends: [(&str, usize, usize, usize, &str); 2], speed: &str| {
        for [own, other] in [[ends[0], ends[1]], [ends[1], ends[0]]] {
            let side = |end: (&str, usize, usize, usize, &str)| {
                format!("{} {} {} 0x{:016x}", end.0, end.1, end.2, end.3)
            };
            let names = format!("( '{}' - '{}' )", own.4, other.4);
            lines.push(format!("{} 4x {speed} - {} {names}", side(own), side(other)));
        }
    };
    for rail in 0..rails {
        let switch = format!("rail{rail}");
        let own = |port| ("SW", 1 + rail, port, 0x100 + rail, switch.as_str());
        for node in 0..nodes {
            let (lid, name) = (100 + node * rails + rail, description(node, rail));
            cable([("CA", lid, 1, 0x1000 + lid, &name), own(1 + node)], "NDR");
        }
        cable([own(64), ("SW", 99, 1 + rail, 0x99, "top")], "HDR");
    }
    lines.join("\n")
}

#[test]
fn adapters_of_a_host_are_its_ports() {
    let text = rails(3, 12, |node, rail| format!("dgx{node} mlx5_{rail}"));
    let found = read(text.as_bytes()).unwrap();
    let fabric = &found.fabric;
    let names: Vec<_> = fabric.hosts().iter().map(|host| host.name.as_str()).collect();
    assert_eq!((names, found.gaps.is_empty()), (vec!["dgx0", "dgx1", "dgx2"], true));
    for host in 0..3 {
        let (_, ports) = fabric.ports_of(HostId(host));
        let at: Vec<&str> =
            ports.iter().map(|port| fabric.routers()[port.router.at()].name.as_str()).collect();
        let expected: Vec<String> = (0..12).map(|rail| format!("rail{rail}")).collect();
        assert_eq!(at, expected, "ports are in the order of adapters' numbers");
        assert!(ports.iter().all(|port| port.capacity == Some(50e9)));
    }
    assert_eq!(found.ports.iter().filter(|port| matches!(port.of, End::Host(_))).count(), 36);
    assert_eq!(found.slow_hosts(), []);
    // The two ports of one adapter, whose identifiers differ.
    let two = rails(1, 2, |_, _| "n HCA-1".to_owned()).replace("CA 101 1 0x", "CA 101 2 0x");
    let found = read(two.as_bytes()).unwrap();
    assert_eq!((found.fabric.hosts().len(), found.fabric.ports().len()), (1, 2));
}

#[test]
fn a_name_of_many_hosts_groups_nothing() {
    let text = rails(3, 2, |_, rail| format!("localhost mlx5_{rail}"));
    let found = read(text.as_bytes()).unwrap();
    assert_eq!((found.fabric.hosts().len(), found.fabric.ports().len()), (6, 6));
    assert!(found.fabric.hosts().iter().all(|host| host.name.starts_with("H-")));
    let told: Vec<String> = found.gaps.iter().map(talea_model::Gap::sentence).collect();
    insta::assert_snapshot!(told.join("\n"), @"adapters whose host's name others have too: each is taken for a host of its own (6)");
    // A host's name beside an adapter that is described by that word alone stays the host's.
    let text = rails(2, 1, |node, _| ["n1 mlx5_0", "n1"][node].to_owned());
    let found = read(text.as_bytes()).unwrap();
    let names: Vec<_> = found.fabric.hosts().iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["n1", "H-0000000000001065"]);
}

#[test]
fn adapters_alone_are_no_network() {
    let text = "CA 1 1 0x0a 4x NDR - CA 2 1 0x0b ( 'n1 mlx5_0' - 'n2 mlx5_0' )\n";
    let error = read(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(error, "expected switches, which join the adapters, found none");
}

#[test]
fn lines_that_say_more_or_less() {
    let blocks = read(BLOCKS.as_bytes()).unwrap();
    // From `ibnetdiscover -f`.
    let full = read(BLOCKS.replace("4xQDR\n", "4xQDR s=4 w=2 v=1\n").as_bytes()).unwrap();
    assert_eq!(full, blocks);
    let unknown = read(BLOCKS.replace("4xQDR\n", "??QDR\n").as_bytes()).unwrap();
    assert_eq!(unknown.fabric.links()[0].capacity, None);
    let lines = LINES.replace("4x ???", "?? ???");
    assert_eq!(read(lines.as_bytes()).unwrap().fabric.links().len(), 2);
}

#[test]
fn what_is_wrong_with_what_was_found() {
    let told = [
        String::new(),
        "# nothing\n".to_owned(),
        BLOCKS[..BLOCKS.len() - 80].to_owned(),
        BLOCKS.replacen("4xQDR", "4xZDR", 1),
        BLOCKS.replacen("[2]\t", "[1]\t", 1),
        BLOCKS.replacen("4xQDR", "4xEDR", 1),
        BLOCKS.replacen("Switch\t36", "Switch", 1),
        BLOCKS[BLOCKS.find("[1]").unwrap()..].to_owned(),
        BLOCKS[..BLOCKS.find("caguid").unwrap()].to_owned(),
        BLOCKS.replace("S-0000000000000003\"\t", "S-0000000000000002\"\t"),
        LINES.replacen("4x DDR", "4x ADR", 1),
        LINES.replacen("0x000000000000000a", "000000000000000a", 1),
        LINES.replacen("16 15", "16 14", 1),
        LINES[..LINES.len() - 5].to_owned(),
        LINES.replacen("- SW     9  4", "- CA     9  4", 1),
    ]
    .map(|text| read(text.as_bytes()).unwrap_err().to_string());
    insta::assert_snapshot!(told.join("\n"));
}

proptest! {
    #[test]
    fn no_bytes_do_harm(
        changes in changes(),
        blocks: bool,
    ) {
        let _ = read(&changed(if blocks { BLOCKS } else { LINES }, &changes));
    }
}

//! Damage to descriptions of networks.
//!
//! Owns small samples of all forms, and what is done with what can still be read: routes of a
//! torus, and texts that must come back as they were.

use talea_fabric::gemini::{self, Chip};
use talea_fabric::place::read;
use talea_fabric::shape::Torus;
use talea_formats::fabric::{
    Error, blue_gene, ibnetdiscover, nodemap, perfquery, rtr, topology_conf,
};
use talea_model::{Gaps, Nanos};
use talea_sampling::fabric::CounterSource as _;
use talea_sampling::fabric::recorded::{self, Recorded};

const NODES: &str = "4 4\nn0 0 0 0 0\nn1 0 0 0 1\nn2 0 0 1 0\nn3 1 0 0 1\n";
const TREE: &str = "SwitchName=s0 Nodes=n[0-3,07]\nSwitchName=s1 \\\n Nodes=a[1-2]b[3-4]\nSwitchName=s2 Switches=s[0-1]\n";
const BLOCKED: &str = "BlockName=b0 BlockIndex=0 Nodes=n[0-3] BlockSize=2\nInclude other.conf\n";
const YAML: &str = "- topology: a\n  cluster_default: true\n  tree:\n    switches:\n    - switch: s0\n      nodes: n[0-3]\n    - switch: s1\n      children: 's0' # top\n";
const PORTS: &str = "# Port extended counters: Lid 6 port 2 (CapMask: 0x5300)\nPortSelect:....2\nPortXmitData:....17\nPortXmitWait:....0x12\n";
const LINES: &str = "CA 72 1 0x0a 4x DDR - SW 9 4 0x02 ( 'n1 HCA-1' - 'leaf one' )\nSW 9 4 0x02 4x DDR - CA 72 1 0x0a ( 'leaf one' - 'n1 HCA-1' )\nSW 9 6 0x02 4x ??? 'leaf one'\n";
const BLOCKS: &str = "switchguid=0x2(2)\nSwitch 36 \"S-02\" # \"leaf\" lid 9 lmc 0\n[4] \"H-0a\"[1](b) # \"n1 HCA-1\" lid 72 4xDDR\n\nCa 1 \"H-0a\" # \"n1 HCA-1\"\n[1](b) \"S-02\"[4] # lid 72 lmc 0 \"leaf\" lid 9 4xDDR\n";
const LINKS: &str = "- [linkid, int32]\n- [sx, int32]\n- [sy, int32]\n- [sz, int32]\n- [tx, int32]\n- [ty, int32]\n- [tz, int32]\n- [code_region, int32]\n- [packets, int64]\n...\n0 0 0 0 0 0 1 -2 9\n1 0 0 0 0 0 2 -2 8\n";
const ARIES: &str = "c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)\nc0-0c0s0a0l53(0:0:0) ptile -> processor\nc0-0c0s6a0l10(0:0:6) green -> c0-0c0s0a0l00(0:0:0)\n";
const META: &str = "---\nhardware: {\n nodes: 3,\n coords_table: n.yaml,\n dim: {x: 1, y: 1, z: 3},\n link_coords_table: l.yaml\n}\n---\nfilename: r.yaml\nsubdomain:\n- { field: mpirank }\n...\n";
const COUNTERS: &str = "talea-fabric-counters 1\nsource tiles # of one\nset\ncounter VC0_PHITS received 3B 48 wraps\ncounter waited sent-stalled 0Hz 32 stops\nport c0-0c0s0g0l00 gemini 0 1.25e8 up\nport eth0 ethernet 0 - -\nat 5\n7 -\n9@4 281474976710655\nat 8\n8 1\n9@7 2\n";
const HOSTFILE: &str = "n0,n1*2\n# two\nn2\n";
const RANKFILE: &str = "rank 1=n0 slot=0:1\nrank 0=n1 slot=p2\n";
const ORDER: &str = "# MPICH_RANK_REORDER_METHOD=3\n4-5,0,\n1-3\n";

/// Inputs that are damaged.
pub(super) fn texts() -> Result<Vec<Vec<u8>>, String> {
    let machine = gemini::machine([2, 2, 3]).map_err(|error| error.to_string())?;
    let list = gemini::rtr(&machine);
    let texts = [list.as_str(), NODES, TREE, PORTS, LINES, BLOCKS, LINKS, ARIES, META];
    let others = [COUNTERS, HOSTFILE, RANKFILE, ORDER, BLOCKED, YAML];
    Ok(texts.iter().chain(&others).map(|text| text.as_bytes().to_vec()).collect())
}

/// Reads the bytes as all forms.
pub(super) fn network(bytes: &[u8]) -> Result<(), String> {
    if let Ok(machine) = rtr::read(bytes)
        && machine.chip == Chip::Gemini
    {
        let text = gemini::rtr(&machine);
        let again = rtr::read(text.as_bytes()).map_err(|error| error.to_string())?;
        if again != machine {
            return Err("another machine".to_owned());
        }
    }
    if let Ok(map) = nodemap::read(bytes) {
        // Nodes may have the same name, which is refused only here.
        let _ = map.gemini();
    }
    let include = |_: &str| Ok(bytes.to_vec());
    let _ = (topology_conf::read(bytes, &include), perfquery::read(bytes));
    let _ = ibnetdiscover::read(bytes);
    let whole = |error: Error| error.to_string();
    let torus = Torus::new(&[1, 1, 3]).map_err(|error| error.to_string())?;
    let fabric = blue_gene::fabric(&torus).map_err(whole)?;
    let _ = (blue_gene::links(bytes, &torus, &fabric), blue_gene::nodes(bytes, &torus));
    let _ = (blue_gene::ranks(bytes), blue_gene::torus(bytes), blue_gene::described(bytes));
    let text = String::from_utf8_lossy(bytes);
    let _ = (read::hostfile(&text), read::rankfile(&text));
    if let Ok(order) = read::rank_order(&text) {
        let mut sorted = order;
        sorted.sort_unstable();
        if !(0..).zip(&sorted).all(|(rank, found)| rank == *found) {
            return Err("ranks that are not all there".to_owned());
        }
    }
    counters(text.into_owned())
}

/// Reads a recording of counters; what it says must come back when it is written again.
fn counters(text: String) -> Result<(), String> {
    let Ok(mut found) = Recorded::new(text) else { return Ok(()) };
    let mut gaps = Gaps::default();
    let mut again = recorded::head(&found);
    let mut all = Vec::new();
    while let Some(readings) = found.read(Nanos(0), &mut gaps) {
        again.push_str(&recorded::totals(found.ports(), Nanos(1), &readings));
        all.push(readings);
    }
    let mut second = Recorded::new(again).map_err(|error| format!("written again: {error}"))?;
    if second.ports() != found.ports() {
        return Err("other ports".to_owned());
    }
    let mut gaps = Gaps::default();
    for readings in all {
        if second.read(Nanos(0), &mut gaps) != Some(readings) {
            return Err("other totals".to_owned());
        }
    }
    Ok(())
}

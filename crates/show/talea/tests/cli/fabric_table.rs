//! `talea fabric table` and `regions`: the table of the slides to the digit from a recording of
//! tiles, the same over intervals in which counters wrap, the job's own traffic beside it, packets
//! of a real torus, and what is refused.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use talea_testing::torus;

use super::bench::stderr;

fn data(name: &str) -> Option<PathBuf> {
    talea_testing::data(&format!("fabric/{name}"))
}

fn talea(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_talea")).args(words).output().unwrap()
}

fn printed(words: &[&str]) -> (String, String) {
    let output = talea(words);
    assert!(output.status.success(), "{}", stderr(&output));
    (String::from_utf8_lossy(&output.stdout).into_owned(), stderr(&output))
}

fn answered(words: &[&str]) -> Value {
    let found = serde_json::from_str(&printed(words).0).unwrap();
    super::schemas::check(words, &found);
    found
}

/// The slide "Gathering Job Wide Information", a line for each row; cells are behind tabs.
const SLIDE: &str = "\
#\tDEST_COORD\t#\tSRC_COORD\tGB/s\tVC0_PHITS\tVC1_PHITS\tVC0_PKTS\tVC1_PKTS\tINQ_STALLS\tOUTQ_STALLS
(0, 1, 1)
X+\t(1, 1, 1)\t9.38\t1626452284\t304999266\t101662806\t101666422\t3533598961\t2689080952
X-\t(15, 1, 1)\t9.38\t100506\t38796\t9780\t12932\t83\t0
Y+\t(0, 2, 1)\t4.69\t1627257610\t305156760\t101726643\t101718920\t1702270109\t0
Y-\t(0, 0, 1)\t9.38\t1153554135\t216313236\t72105559\t72104412\t1925883229\t2366983378
Z+\t(0, 1, 2)\t15.00\t815234359\t152948952\t50988260\t50982984\t133047991\t776502961
Z-\t(0, 1, 0)\t15.00\t1743043\t378399\t156635\t126133\t580\t992022669
HH\t(0, 1, 1)\t10.40\t1834489368\t344019696\t114672167\t114673232\t10585723107\t2263990777
(0, 0, 1)
X+\t(1, 0, 1)\t9.38\t1966685020\t368797209\t122929393\t122932403\t3317929506\t3063532486
X-\t(15, 0, 1)\t9.38\t122194\t43005\t11983\t14335\t9\t0
Y+\t(0, 1, 1)\t9.38\t1154016206\t216417552\t72141025\t72139184\t3589170400\t1097189607
Y-\t(0, 11, 1)\t4.69\t96911\t20538\t9646\t6846\t56244\t0
Z+\t(0, 0, 2)\t15.00\t2477453033\t458007486\t153779007\t152669162\t952487628\t2209098748
Z-\t(0, 0, 0)\t15.00\t2071415\t3684912\t128723\t1228304\t464902\t387186094
HH\t(0, 0, 1)\t10.40\t2174662127\t407809092\t135934105\t135936364\t10604254673\t2216827070
";

const WIDTH: u64 = 1 << 48;

const HEAD: &str = "\
talea-fabric-counters 1
source tiles of two Geminis
set
counter VC0_PHITS received 3B 48 wraps
counter VC1_PHITS received 3B 48 wraps
counter VC0_PKTS received packets 48 wraps
counter VC1_PKTS received packets 48 wraps
counter INQ_STALLS received-stalled 800000000Hz 48 wraps
counter OUTQ_STALLS sent-stalled 800000000Hz 48 wraps
";

/// Tiles of a router by where they lead, from the list that a Cray prints; those of hosts are not
/// in it.
fn tiles(list: &str) -> BTreeMap<(String, String), Vec<String>> {
    let mut tiles: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for line in list.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, at) = words[0].split_once('[').unwrap();
        let (_, to) = words[3].split_once('[').unwrap();
        let key = [at, to].map(|at| at.trim_end_matches(']').replace(',', ", "));
        let [at, to] = key;
        let router = &name[..name.len() - 3];
        let host = |tile| format!("{router}{tile}");
        tiles.entry((at.clone(), at.clone())).or_insert_with(|| {
            ["l23", "l24", "l33", "l34", "l43", "l44", "l53", "l54"].map(host).to_vec()
        });
        tiles.entry((at, to)).or_default().push(name.to_owned());
    }
    tiles
}

/// A recording whose tiles grow by the rows of a table, unevenly over tiles and over so many
/// intervals, from values near the end of the counters.
fn recording(list: &str, table: &str, intervals: u64, second: u64) -> String {
    let tiles = tiles(list);
    let mut text = HEAD.to_owned();
    let mut grown: Vec<[u64; 6]> = Vec::new();
    let mut router = String::new();
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        if cells.len() == 1 {
            line.clone_into(&mut router);
            continue;
        }
        let names = &tiles[&(router.clone(), cells[1].to_owned())];
        let of = names.len() as u64;
        for (nth, name) in (0..).zip(names) {
            writeln!(text, "port {name} gemini 0 - -").unwrap();
            grown.push(std::array::from_fn(|at| {
                let all: u64 = cells[at + 3].parse().unwrap();
                let each = all / (of + 1);
                if nth == 0 { all - each * (of - 1) } else { each }
            }));
        }
    }
    for interval in 0..=intervals {
        writeln!(text, "at {}", 1_700_000_000_000_000_000 + interval * second).unwrap();
        for (tile, steps) in (0..).zip(&grown) {
            let value = |(at, step): (u64, &u64)| {
                let begin = WIDTH - 1 - tile * 1000 - at;
                // In the last interval what is left.
                let so_far =
                    if interval == intervals { *step } else { step / intervals * interval };
                ((begin + so_far) % WIDTH).to_string()
            };
            let values: Vec<String> = (0..).zip(steps).map(value).collect();
            writeln!(text, "{}", values.join(" ")).unwrap();
        }
    }
    text
}

/// The slide's machine and its recording in a folder.
pub(super) struct Slide {
    folder: tempfile::TempDir,
    pub(super) list: String,
    pub(super) tiles: String,
}

impl Slide {
    pub(super) fn new(intervals: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (list, tiles) = (path("interconnect.txt"), path("tiles.txt"));
        printed(&["fabric", "generate", "--torus", "16x12x24", "--out", &list]);
        let text = recording(&std::fs::read_to_string(&list).unwrap(), SLIDE, intervals, 1 << 30);
        std::fs::write(&tiles, text).unwrap();
        Self { folder, list, tiles }
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.folder.path().join(name), text).unwrap();
        self.path(name)
    }
}

#[test]
fn the_table_of_the_slides_to_the_digit() {
    let slide = Slide::new(3);
    let given = ["fabric", "table", &slide.tiles];
    for network in [["--interconnect", &slide.list], ["--torus", "16x12x24"]] {
        let (table, said) = printed(&[&given[..], &network].concat());
        assert_eq!(table, SLIDE);
        assert!(said.contains("the busiest link, (0,2,1) to (0,1,1), used 38.4 %"), "{said}");
        assert!(!said.contains("gap:"), "{said}");
    }
    let torus = ["--torus", "16x12x24"];
    // The other way round, and one of them by the name of its node.
    let one = |words: &[&str]| printed(&[&given[..], &torus, words].concat()).0;
    let (head, second) = SLIDE.split_at(SLIDE.find("(0, 0, 1)\nX+").unwrap());
    let (columns, first) = head.split_at(head.find("(0, 1, 1)").unwrap());
    assert_eq!(one(&["--routers", "0,0,1;0,1,1"]), format!("{columns}{second}{first}"));
    assert_eq!(one(&["--hosts", "c0-0c0s1n1,c0-0c0s1n0"]), format!("{columns}{second}"));
    insta::assert_snapshot!(one(&["--shares", "--each"]));
}

#[test]
fn keys_of_the_json() {
    let slide = Slide::new(2);
    let given = ["fabric", "table", &slide.tiles, "--torus", "16x12x24", "--json"];
    let whole = answered(&given);
    assert_eq!(whole["source"], "recorded tiles of two Geminis");
    let frames = whole["frames"].as_array().unwrap();
    assert_eq!((frames.len(), frames[0]["rows"].as_array().unwrap().len()), (1, 14));
    insta::assert_json_snapshot!(frames[0]["rows"][0]);
    let each = answered(&[&given[..], &["--each"]].concat());
    let sum = |frame: &Value| frame["rows"][0]["vc0_phits"].as_u64().unwrap();
    let sums: u64 = each["frames"].as_array().unwrap().iter().map(sum).sum();
    assert_eq!((sums, sum(&frames[0])), (1_626_452_284, 1_626_452_284));
}

#[test]
fn what_is_missing_of_tiles_is_said() {
    let slide = Slide::new(2);
    let text = std::fs::read_to_string(&slide.tiles).unwrap();
    let told = |name: &str, text: &str, words: &[&str]| {
        let file = slide.write(name, text);
        let given = ["fabric", "table", &file, "--torus", "16x12x24"];
        let (table, said) = printed(&[&given[..], words].concat());
        let gaps: Vec<&str> = said.lines().filter(|line| line.contains("gap:")).collect();
        format!("{}\n{}\n", table.lines().nth(2).unwrap_or_default(), gaps.join("\n"))
    };
    let first = text.find("port ").unwrap();
    let name = &text[first..text[first..].find('\n').unwrap() + first];
    let again = text.rfind("at ").unwrap();
    // Counters of the first tile are reset between the readings.
    let line = again + text[again..].find('\n').unwrap() + 1;
    let end = line + text[line..].find('\n').unwrap();
    let reset = format!("{}5 5 5 5 5 5{}", &text[..line], &text[end..]);
    let mut absent = text.clone();
    absent.replace_range(line..end, "- 5 - - - -");
    // The last reading is before the others.
    let back = format!("{}at 5{}", &text[..again], &text[line - 1..]);
    let said = [
        told("foreign.txt", &text.replace(name, "port eth0 gemini 0 - -"), &[]),
        told("elsewhere.txt", &text.replace(name, "port c99-9c9s9g9l00 gemini 0 - -"), &[]),
        told("cut.txt", &text[..text.len() - 20], &[]),
        told("reset.txt", &reset, &[]),
        told("absent.txt", &absent, &[]),
        told("lines.txt", &text, &["--routers", "5,5,5"]),
        told("times.txt", &text.replace("at 170000000", "at 7 # "), &["--shares"]),
        told("back.txt", &back, &["--shares"]),
        told("model.txt", &text.replace("source tiles", "source simulated tiles"), &[]),
    ];
    insta::assert_snapshot!(said.concat());
}

/// What came into one router of a small machine, in so many intervals: the list of tiles and the
/// recording.
pub(super) fn of_one_router(folder: &Path, intervals: u64) -> [String; 2] {
    let [list, tiles] = ["list.txt", "tiles.txt"].map(|name| folder.join(name));
    let paths = [&list, &tiles].map(|path| path.display().to_string());
    printed(&["fabric", "generate", "--torus", "2x2x2", "--out", &paths[0]]);
    let row =
        |way: &str, from: &str| format!("{way}\t({from})\t-\t90000\t90000\t9000\t9000\t0\t0\n");
    let rows = [("X+", "1, 0, 0"), ("Y+", "0, 1, 0"), ("Z+", "0, 0, 1"), ("HH", "0, 0, 0")];
    let table = format!("#\n(0, 0, 0)\n{}", rows.map(|(way, from)| row(way, from)).concat());
    let text = recording(&std::fs::read_to_string(list).unwrap(), &table, intervals, 1_000_000_000);
    std::fs::write(tiles, text).unwrap();
    paths
}

#[test]
fn each_gap_of_many_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let [_, tiles] = of_one_router(folder.path(), 13);
    let text = std::fs::read_to_string(&tiles).unwrap();
    let (head, readings) = text.split_once("at ").unwrap();
    // At each reading another tile is absent: gaps name the first counter of an interval.
    let mut changed = head.to_owned();
    for (reading, at) in readings.split("at ").enumerate() {
        let mut lines: Vec<String> = at.lines().map(str::to_owned).collect();
        lines[1 + reading] = "- - - - - -".to_owned();
        writeln!(changed, "at {}", lines.join("\n")).unwrap();
    }
    std::fs::write(&tiles, changed).unwrap();
    let (_, said) = printed(&["fabric", "table", &tiles, "--torus", "2x2x2"]);
    let mut gaps: Vec<&str> = said.lines().filter(|line| line.contains("gap:")).collect();
    assert_eq!(gaps.len(), 13, "{said}");
    gaps.sort_unstable();
    gaps.dedup();
    assert_eq!(gaps.len(), 13, "{said}");
}

#[test]
fn own_and_other_traffic_stand_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let write = |name: &str, text: &str| {
        std::fs::write(path(name), text).unwrap();
        path(name)
    };
    let (list, matrix) = (path("list.txt"), write("matrix.csv", "from,to,bytes\n0,1,1048576\n"));
    printed(&["fabric", "generate", "--torus", "2x2x8", "--out", &list]);
    // One message from (1,0,5) to (1,0,7) is 16,385 packets of data and header; others add half as
    // much at the end.
    let table = "\
#
(1, 0, 6)
Z-\t(1, 0, 5)\t-\t524320\t0\t16385\t0\t0\t0
HH\t(1, 0, 6)\t-\t156\t24\t8\t8\t0\t0
(1, 0, 7)
Z-\t(1, 0, 6)\t-\t786480\t0\t24577\t0\t0\t0
HH\t(1, 0, 7)\t-\t0\t49155\t0\t16385\t0\t0
";
    let text = recording(&std::fs::read_to_string(&list).unwrap(), table, 1, 1_000_000);
    let tiles = write("tiles.txt", &text);
    let rankfile = write("ranks.txt", "rank 1=c1-0c0s7n0 slot=0\nrank 0=c1-0c0s5n0 slot=0\n");
    let given = ["fabric", "table", &tiles, "--interconnect", &list, "--matrix", &matrix];
    let given = [&given[..], &["--routers", "1,0,6;1,0,7"]].concat();
    let (shown, said) = printed(&[&given[..], &["--rankfile", &rankfile]].concat());
    let beside = shown.split("\n\n").nth(1).unwrap();
    insta::assert_snapshot!(format!(
        "{beside}\n{}",
        said.lines().filter(|line| !line.contains("gap:")).collect::<Vec<_>>().join("\n")
    ));
    let hostfile = write("hosts.txt", "c1-0c0s5n0\nc1-0c0s7n0\n");
    let order = write("order.txt", "0-1\n");
    let hosts = ["--hosts", "c1-0c0s5n0,c1-0c0s7n0", "--cores", "1"];
    for words in [
        vec!["--hostfile", &hostfile],
        hosts.to_vec(),
        [&hosts[..], &["--rank-order", &order]].concat(),
    ] {
        assert_eq!(printed(&[&given[..], &words].concat()).0, shown, "{words:?}");
    }
    let answer = answered(&[&given[..], &["--rankfile", &rankfile, "--json"]].concat());
    assert_eq!(answer["routing"], "dimensions");
    let rows = answer["frames"][0]["rows"].as_array().unwrap();
    let row = |router: &str, way: &str| {
        let found = rows.iter().find(|row| row["router"] == router && row["way"] == way);
        found.unwrap()["beside"].clone()
    };
    assert_eq!(row("(1,0,6)", "Z-")["own_model_bytes"], 524_320 * 3);
    assert_eq!(row("(1,0,7)", "Z-")["other_bytes"], (786_480 - 524_320) * 3);
    assert_eq!(
        (row("(1,0,6)", "HH")["own_nodes"].as_u64(), row("(1,0,7)", "HH")["own_nodes"].as_u64()),
        (Some(0), Some(1))
    );
}

#[test]
fn regions_of_a_real_torus() {
    let Some(path) = data("bgpc_meta.yaml") else { return };
    let meta = path.display().to_string();
    let (text, _) = printed(&["fabric", "regions", &meta]);
    assert!(text.starts_with("torus of 8x8x8, 512 nodes, 512 ranks, up to 1 a node"), "{text}");
    let answer = answered(&["fabric", "regions", &meta, "--json"]);
    let regions = answer["regions"].as_array().unwrap();
    // Summed from the table itself.
    let table = std::fs::read_to_string(path.with_file_name("bgpc_links.yaml")).unwrap();
    let mut sums: BTreeMap<i64, u64> = BTreeMap::new();
    for row in table.split("...\n").last().unwrap().lines() {
        let cells: Vec<i64> = row.split_whitespace().map(|cell| cell.parse().unwrap()).collect();
        *sums.entry(cells[7]).or_default() += u64::try_from(cells[8]).unwrap();
    }
    let shown = regions
        .iter()
        .map(|one| (one["region"].as_i64().unwrap(), one["packets"].as_u64().unwrap()));
    assert_eq!(shown.collect::<BTreeMap<_, _>>(), sums);
    for region in regions {
        let ways = region["ways"].as_array().unwrap();
        let of = |key: &str| ways.iter().map(|way| way[key].as_u64().unwrap()).sum::<u64>();
        assert_eq!(ways.len(), 6);
        assert_eq!(Some(of("packets")), region["packets"].as_u64());
        assert_eq!(Some(of("links")), region["links"].as_u64());
        let nothing = region["packets"] == 0;
        assert_eq!((region["max_packets"] == 0, region["max_link"].is_null()), (nothing, nothing));
        assert!(nothing || region["max_over_mean"].as_f64() >= Some(1.0), "{region}");
    }
    let one = answered(&["fabric", "regions", &meta, "--region", "-2", "--json"]);
    assert_eq!(one["regions"].as_array().unwrap().len(), 1);
}

#[test]
fn regions_of_a_generated_torus() {
    let folder = tempfile::tempdir().unwrap();
    let lengths = [4, 3, 5];
    let nodes = torus::places(lengths);
    let meta = torus::blue_gene(folder.path(), lengths).display().to_string();
    let (text, said) = printed(&["fabric", "regions", &meta]);
    let head = format!("torus of 4x3x5, {nodes} nodes, {nodes} ranks, up to 1 a node");
    assert!(text.starts_with(&head) && !said.contains("gap:"), "{text} {said}");
    let answer = answered(&["fabric", "regions", &meta, "--json"]);
    let regions = answer["regions"].as_array().unwrap();
    let numbers: Vec<i64> = regions.iter().map(|one| one["region"].as_i64().unwrap()).collect();
    assert_eq!(numbers, torus::REGIONS);
    for region in regions {
        let number = region["region"].as_i64().unwrap();
        let of = |way: usize| (0..nodes).map(move |place| torus::packets(place, way, number));
        let most = (0..6).flat_map(of).max().unwrap();
        let all: u64 = (0..6).flat_map(of).sum();
        assert_eq!((&region["packets"], &region["max_packets"]), (&all.into(), &most.into()));
        let ways = region["ways"].as_array().unwrap();
        let sums: Vec<u64> = ways.iter().map(|way| way["packets"].as_u64().unwrap()).collect();
        // In the order X+, X-, Y+, Y-, Z+, Z-, as links are numbered.
        assert_eq!(sums, (0..6).map(|way| of(way).sum()).collect::<Vec<u64>>(), "{number}");
        assert!(ways.iter().all(|way| way["links"] == nodes), "{region}");
        assert_eq!(region["max_link"].is_null(), all == 0, "{region}");
        if all > 0 {
            let ratio = most as f64 / (all as f64 / (6 * nodes) as f64);
            let found = region["max_over_mean"].as_f64().unwrap();
            assert!((found / ratio - 1.0).abs() < 1e-9, "{found}, expected {ratio}");
        }
    }
    let one = answered(&["fabric", "regions", &meta, "--region", "-2", "--json"]);
    assert_eq!(one["regions"].as_array().unwrap()[..], regions[..1]);
}

/// Three places in a row, whose table lacks some links.
pub(super) fn small(folder: &Path) -> String {
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write(
        "meta.yaml",
        "---\nhardware: {\n nodes: 3,\n coords_table: nodes.yaml,\n dim: {x: 1, y: 1, z: 3},\n link_coords_table: links.yaml\n}\n---\nfilename: ranks.yaml\nsubdomain:\n- { field: mpirank }\n...\n",
    );
    let columns = ["linkid", "sx", "sy", "sz", "tx", "ty", "tz", "code_region", "packets"];
    let head = columns.map(|name| format!("- [{name}, int64]\n")).concat();
    write(
        "links.yaml",
        &format!("{head}...\n0 0 0 0 0 0 1 -2 9\n1 0 0 0 0 0 2 7 8\n0 0 0 0 0 0 1 7 3\n"),
    );
    write("ranks.yaml", "- [mpirank, int32]\n- [nodeid, int32]\n...\n0 0\n3 9\n");
    folder.join("meta.yaml").display().to_string()
}

#[test]
fn regions_with_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let meta = small(folder.path());
    let answer = answered(&["fabric", "regions", &meta, "--json"]);
    insta::assert_json_snapshot!(answer);
    insta::assert_snapshot!(printed(&["fabric", "regions", &meta]).0);
}

#[test]
fn what_was_missing_is_said_with_the_error() {
    let slide = Slide::new(1);
    let text = std::fs::read_to_string(&slide.tiles).unwrap();
    // One reading alone, and a port that is no tile of the machine.
    let (ports, rest) = text.split_once("at ").unwrap();
    let (reading, _) = rest.split_once("\nat ").unwrap();
    let text = format!("{ports}port c9-9c9s9g0l32 gemini 0 - -\nat {reading}\n0 0 0 0 0 0\n");
    let file = slide.write("strange.txt", &text);
    let words = ["fabric", "table", &file, "--torus", "16x12x24"];
    let output = Command::new(env!("CARGO_BIN_EXE_talea")).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let (gap, error) = said.split_once("expected two or more readings").expect(&said);
    assert!(gap.contains("gap: ") && gap.contains("c9-9c9s9g0l32"), "{said}");
    assert!(error.contains("strange.txt"), "{said}");
}

#[test]
fn what_has_no_table_is_refused() {
    let slide = Slide::new(1);
    let text = std::fs::read_to_string(&slide.tiles).unwrap();
    let first = text.find("port ").unwrap();
    let name = &text[first..text[first..].find('\n').unwrap() + first];
    let lines: Vec<&str> = text.lines().collect();
    let second = lines.iter().rposition(|line| line.starts_with("at ")).unwrap();
    let once = slide.write("once.txt", &(lines[..second].join("\n") + "\n"));
    let twice = slide.write("twice.txt", &text.replacen("l23 gemini", "l24 gemini", 1));
    let other = slide.write("other.txt", &text.replace(" 48 wraps", " 64 wraps"));
    let role = slide.write("role.txt", &text.replace("3B", "3X"));
    let foreign = slide.write(
        "foreign.txt",
        "talea-fabric-counters 1\nset\ncounter a sent 1B 64 wraps\nport eth0 ethernet 0 - -\nat 1\n1\nat 2\n2\n",
    );
    let matrix = slide.write("matrix.csv", "from,to,bytes\n0,1,5\n");
    let ranks = slide.write("ranks.txt", "rank 0=a slot=0\nrank 0=b slot=0\n");
    let lost = slide.write("lost.txt", "a\nb\n");
    let small = small(slide.folder.path());
    std::fs::create_dir(slide.folder.path().join("run")).unwrap();
    assert!(name.contains("gemini"));
    let refused = |words: &[&str]| {
        let output = talea(&[&["fabric"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?} {}", stderr(&output));
        stderr(&output).replace(&slide.folder.path().display().to_string(), "FOLDER")
    };
    let torus = ["--torus", "16x12x24"];
    let of = |file: &str, words: &[&str]| refused(&[&["table", file], &torus[..], words].concat());
    let tiles = &*slide.tiles;
    let said = [
        refused(&["table", tiles]),
        refused(&["table", &slide.path("run")]),
        refused(&["table", &slide.path("run"), "--routing", "minimal"]),
        refused(&["table", &slide.path("run"), "--each", "--torus", "2x2x2"]),
        refused(&["table", &slide.path("nothing.txt"), "--torus", "2x2x2"]),
        refused(&["table", tiles, "--torus", "2x2"]),
        refused(&["table", tiles, "--torus", "16x12x24", "--link-speed", "1GB/s"]),
        refused(&["table", tiles, "--interconnect", &slide.list, "--link-speed", "1GB/s"]),
        of(&once, &[]),
        of(&twice, &[]),
        of(&other, &[]),
        of(&role, &[]),
        of(&foreign, &[]),
        of(tiles, &["--routers", "16,0,0"]),
        of(tiles, &["--routers", "0,0,1;0,0,1"]),
        of(tiles, &["--hosts", "c0-0c0s0n0,c0-0c0s0n0"]),
        of(tiles, &["--hosts", "nid5"]),
        of(tiles, &["--matrix", &matrix]),
        of(tiles, &["--matrix", &matrix, "--rankfile", &ranks]),
        of(tiles, &["--matrix", &matrix, "--hostfile", &lost]),
        refused(&["regions", &slide.path("nothing.yaml")]),
        refused(&["regions", tiles]),
        refused(&["regions", &small, "--region", "3"]),
    ];
    insta::assert_snapshot!(said.concat());
}

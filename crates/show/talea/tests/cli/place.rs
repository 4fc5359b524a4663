//! `talea fabric place`, `generate` and the simulated `sonar`: the known figures of a large
//! machine, the same from its list of tiles, files that `mpirun` takes, the table of a known
//! message, and what is refused.

use std::process::{Command, Output};

use serde_json::Value;

use super::bench::{Bench, on_path, stderr};
use talea_testing::{checkout, missing};

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

/// Loads and shares of each placement, rounded.
fn figures(answer: &Value) -> Vec<(String, u64, f64, f64)> {
    let rounded = |value: &Value| (value.as_f64().unwrap() * 1e3).round() / 1e3;
    let of = |one: &Value| {
        (
            format!("{} {}", one["placement"].as_str().unwrap(), one["order"].as_str().unwrap()),
            one["max_link_load"].as_u64().unwrap(),
            rounded(&one["off_node_share"]),
            rounded(&one["bytes_per_router"]),
        )
    };
    answer["placements"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn a_machine_of_131072_ranks_has_its_known_loads() {
    let words = ["--ranks", "64x64x32", "--stencil", "7", "--bytes", "1"];
    let words = [&words[..], &["--compare", "1x1x16,2x2x4,4x2x4"]].concat();
    let torus = ["--torus", "16x12x24", "--order", "serpentine,cabinets"];
    let answer = placed(&[&words[..], &torus].concat());
    let known = [
        ("1x1x16 serpentine", 385, 0.681, 128.0),
        ("2x2x4 serpentine", 260, 0.404, 76.0),
        ("4x2x4 serpentine", 288, 0.404, 76.0),
        ("1x1x16 cabinets", 288, 0.681, 128.0),
        ("2x2x4 cabinets", 196, 0.404, 76.0),
        ("4x2x4 cabinets", 200, 0.404, 76.0),
    ];
    assert_eq!(figures(&answer), known.map(|(name, a, b, c)| (name.to_owned(), a, b, c)));
    assert_eq!(answer["recommended"]["placement"], "2x2x4");
    let one = &answer["placements"][0];
    assert_eq!(one["per_dimension"][2]["max_load"], 385);
    for one in answer["placements"].as_array().unwrap() {
        let utilisation = one["max_link_utilisation"].as_f64().unwrap();
        assert!(utilisation > 0.0 && utilisation <= 1.0, "{utilisation}");
    }
}

#[test]
fn the_list_of_tiles_is_the_same_machine() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("rtr.txt").display().to_string();
    let output = talea(&["fabric", "generate", "--torus", "4x6x8", "--out", &list]);
    assert!(output.status.success(), "{}", stderr(&output));
    let words = ["--ranks", "16x16x8", "--stencil", "27", "--cores", "8", "--compare", "2x2x2"];
    let words = [&words[..], &["--order", "hilbert,morton,random,cabinets,serpentine"]].concat();
    let given = placed(&[&words[..], &["--interconnect", &list]].concat());
    let made = placed(&[&words[..], &["--torus", "4x6x8"]].concat());
    assert_eq!(given["placements"], made["placements"]);
}

#[test]
fn mpirun_places_ranks_as_the_file_says() {
    let Some(bench) = Bench::new() else { return };
    let program = checkout().join("apps/bin/openmpi/halo");
    if !on_path("mpirun.openmpi") || !program.is_file() {
        return missing("Open MPI, or apps/bin/openmpi/halo").unwrap_or_default();
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        return missing("two cores").unwrap_or_default();
    }
    let [matrix, file] =
        ["bytes.csv", "ranks.txt"].map(|name| bench.path(name).display().to_string());
    std::fs::write(&matrix, "from,to,bytes\n0,1,1000\n1,0,1000\n").unwrap();
    let network = ["--torus", "1x1x1", "--hosts", "localhost", "--cores", "2"];
    let answer = placed(&[&network[..], &["--matrix", &matrix, "--rankfile", &file]].concat());
    assert_eq!(answer["placements"][0]["nodes"], 1);
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        "rank 0=localhost slot=0\nrank 1=localhost slot=1\n"
    );
    let mut command = Command::new("mpirun.openmpi");
    command.args(["-n", "2", "--rankfile", &file, "--report-bindings"]);
    command.arg(program).args(["--steps", "3"]);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("verification: ok"));
    let said = stderr(&output);
    for rank in 0..2 {
        let bound = said.lines().find(|line| line.contains(&format!("rank {rank} bound to")));
        let bound = bound.unwrap_or_else(|| panic!("{said}"));
        assert!(bound.contains(&format!("core {rank}[")), "{bound}");
    }
}

/// What was written is compared as it was, beside others, and swaps leave it alone.
#[test]
fn placements_that_are_there_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let [matrix, hostfile, rankfile, order] =
        ["bytes.csv", "hosts.txt", "ranks.txt", "order.txt"].map(path);
    let row = |rank: u32| format!("{rank},{},1000", (rank * 5 + 3) % 16);
    let pairs: Vec<String> = (0..16).map(row).collect();
    std::fs::write(&matrix, format!("from,to,bytes\n{}\n", pairs.join("\n"))).unwrap();
    let hosts: Vec<String> = (0..8).map(|at| format!("n{at}")).collect();
    let network =
        ["--torus", "2x2x2", "--cores", "2", "--matrix", &matrix, "--hosts", &hosts.join(",")];
    let files = ["--hostfile", &hostfile, "--rankfile", &rankfile, "--rank-order", &order];
    let made =
        placed(&[&network[..], &["--compare", "bisection", "--swaps", "99"], &files].concat());
    let three = format!("hostfile:{hostfile},rankfile:{rankfile},rank-order:{order},filled");
    let read = placed(&[&network[..], &["--compare", &three, "--swaps", "99"]].concat());
    let load = |one: &Value| (one["off_node_share"].clone(), one["max_link_load"].clone());
    let found = read["placements"].as_array().unwrap();
    assert_eq!(found.len(), 4);
    for (one, name) in found.iter().zip(three.split(',')).take(3) {
        assert_eq!((one["placement"].as_str(), one["order"].is_null()), (Some(name), true));
        assert_eq!(load(one), load(&made["placements"][0]), "{name}");
    }
    let refused = |words: &[&str]| {
        let output = talea(&[&["fabric", "place"], &network[..], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        stderr(&output).replace(&folder.path().display().to_string(), "FOLDER")
    };
    std::fs::write(&rankfile, "rank 0=n0 slot=0\nrank 1=n1 slot=0\n").unwrap();
    std::fs::write(&hostfile, "n0\nelsewhere\n").unwrap();
    let said = [
        refused(&["--compare", "as-run"]),
        refused(&["--compare", &format!("rankfile:{rankfile}")]),
        refused(&["--compare", &format!("hostfile:{hostfile}")]),
        refused(&["--compare", &format!("rank-order:{hostfile}")]),
        refused(&["--compare", "rank-order:"]),
        refused(&["--compare", "slots:x"]),
    ];
    insta::assert_snapshot!(said.concat());
}

#[test]
fn dragonflies_and_fat_trees_have_their_ways() {
    let grid = ["--ranks", "4x3x6", "--stencil", "7", "--cores", "1", "--bytes", "64"];
    let asked = |words: &[&str]| placed(&[&grid[..], words].concat());
    let dragonfly = ["--dragonfly", "2,4,2,9", "--link-speed", "12.5GB/s"];
    let [usual, minimal, valiant, switches] = [
        &[][..],
        &["--routing", "minimal"],
        &["--routing", "valiant"],
        &["--routing", "up-down", "--order", "random"],
    ]
    .map(|words| asked(&[&dragonfly[..], words].concat()));
    assert_eq!((usual["routing"].as_str(), usual["routers"].as_u64()), (Some("minimal"), Some(36)));
    assert_eq!(usual, minimal);
    assert_eq!((&valiant["routing"], &switches["routing"]), (&"valiant".into(), &"up-down".into()));
    let hops = |answer: &Value| answer["placements"][0]["mean_hops"].as_f64().unwrap();
    assert!(hops(&valiant) > hops(&minimal));
    let one = &usual["placements"][0];
    let names = one["per_dimension"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!((names, one["order"].as_str()), (vec!["local", "global"], Some("plain")));
    assert!(one["model_seconds"].as_f64() > Some(0.0));
    let slow = asked(&dragonfly[..2]);
    assert!(slow["placements"][0]["model_seconds"].is_null(), "{slow}");
    assert_eq!(slow["placements"][0]["max_link_load"], one["max_link_load"]);
    // Rows and columns of a group, blocks and greedy cuts.
    let aries = ["--dragonfly", "4,2x4,2,5", "--compare", "2x1x1,greedy", "--cores", "2"];
    let aries = placed(&[&grid[..4], &aries].concat());
    assert_eq!(
        (aries["routers"].as_u64(), aries["placements"].as_array().unwrap().len()),
        (Some(40), 2)
    );
    let [short, long] = ["5^3", "5,5,5:1,5,5"].map(|sizes| asked(&["--fat-tree", sizes]));
    assert_eq!((&short, &short["routing"]), (&long, &"d-mod-k".into()));
    assert_eq!(short["placements"][0]["per_dimension"][1]["name"], "down");
    // Some nodes alone, with names that launchers take; they are the first ones.
    let names: Vec<String> = (0..80).map(|at| format!("node{at}")).collect();
    let some = asked(&["--fat-tree", "5^3", "--hosts", &names.join(",")]);
    assert_eq!(some["placements"], short["placements"]);
    let torus = asked(&["--torus", "4x4x4x2", "--link-speed", "200Gbit/s"]);
    assert!(torus["placements"][0]["model_seconds"].as_f64() > Some(0.0), "{torus}");
}

#[test]
fn a_list_of_an_aries_is_a_dragonfly() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("rtr.txt").display().to_string();
    let text = "c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)\nc0-0c0s0a0l53(0:0:0) ptile -> processor\nc0-0c0s6a0l10(0:0:6) green -> c0-0c0s0a0l00(0:0:0)\n";
    std::fs::write(&list, text).unwrap();
    let words = ["--ranks", "2x2x2", "--stencil", "7", "--cores", "1", "--bytes", "64"];
    let answer = placed(&[&words[..], &["--interconnect", &list]].concat());
    assert_eq!(
        (&answer["routing"], &answer["placements"][0]["order"]),
        (&"minimal".into(), &"plain".into())
    );
    // Packets are modelled as Gemini's, which an Aries has not.
    assert!(answer["gaps"].to_string().contains("of Gemini's packets"), "{answer}");
}

#[test]
fn a_simulated_sonar_is_the_known_table() {
    let sonar = |words: &[&str]| {
        let simulated = ["--simulate", "2x2x8", "--ends", "1,0,5:1,0,7", "--messages", "1"];
        let output = talea(&[&["fabric", "sonar"], &simulated[..], words].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        (String::from_utf8_lossy(&output.stdout).into_owned(), stderr(&output))
    };
    let (table, said) = sonar(&["--noise", "0"]);
    assert!(said.contains("simulated"), "{said}");
    insta::assert_snapshot!(table);
    // Others add a little, which is the same each time, and zeros halve the requests.
    assert_eq!(sonar(&["--noise", "8"]).0, sonar(&["--noise", "8"]).0);
    let answer: Value =
        serde_json::from_str(&sonar(&["--noise", "0", "--zeros", "1", "--json"]).0).unwrap();
    let rows = answer["rows"].as_array().unwrap();
    let sent = rows.iter().find(|row| row["host"] == true && row["expected"].as_u64() > Some(9));
    let sent = sent.unwrap();
    assert_eq!((sent["router"].as_str(), &sent["expected"]), (Some("(1,0,5)"), &sent["counted"]));
    assert_eq!(sent["expected"], 262_448);
    assert!(answer["source"].as_str().unwrap().starts_with("simulated"));
}

#[test]
fn what_cannot_be_placed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let far = path("far.csv", "from,to,bytes\n0,99,1\n");
    let negative = path("negative.csv", "from,to,bytes\n0,-1,1\n");
    let large = path("large.csv", "from,to,bytes\n0,1,9007199254740993\n");
    let apart = path("apart.conf", "SwitchName=one Nodes=n0\nSwitchName=two Nodes=n1\n");
    let few = path("few.csv", "from,to\n0,1\n");
    let cut = path("cut.txt", "c0-0c0s0g0l00[(0,0,0)] Z+ -> c0-0c0s1\n");
    let small = ["--torus", "2x2x2"];
    let refused = |words: &[&str]| {
        let output = talea(&[&["fabric", "place"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        stderr(&output).replace(&folder.path().display().to_string(), "FOLDER")
    };
    let grid = ["--stencil", "7", "--ranks", "4x4x4"];
    let said = [
        refused(&[&small[..], &grid, &["--compare", "3x1x1"]].concat()),
        refused(&[&small[..], &grid, &["--cores", "1"]].concat()),
        refused(&[&small[..], &["--matrix", &far, "--cores", "1"]].concat()),
        refused(&[&small[..], &["--matrix", &negative]].concat()),
        refused(&[&small[..], &["--matrix", &large]].concat()),
        refused(&["--topology-conf", &apart, "--stencil", "7", "--ranks", "2x1x1", "--cores", "1"]),
        refused(&[&small[..], &["--matrix", &few]].concat()),
        refused(&[&small[..], &["--matrix", &far, "--compare", "2x2x2"]].concat()),
        refused(&[&["--interconnect", &cut][..], &grid].concat()),
        refused(&[&["--torus", "1x1x1", "--hosts", "a,b,c"][..], &grid].concat()),
        refused(&[&["--torus", "65535x65535x65535"][..], &grid].concat()),
        refused(&[&["--torus", "4x4x4", "--routing", "d-mod-k"][..], &grid].concat()),
        refused(&[&["--fat-tree", "4^2", "--routing", "minimal"][..], &grid].concat()),
        refused(&[&["--fat-tree", "4^2", "--order", "morton"][..], &grid].concat()),
        refused(&[&["--fat-tree", "4,4:2,4"][..], &grid].concat()),
        refused(&[&["--dragonfly", "4,4,1,9"][..], &grid].concat()),
        refused(&[&["--interconnect", &cut, "--link-speed", "1GB/s"][..], &grid].concat()),
        {
            let words = ["sonar", "--simulate", "2x2x8", "--ends", "1,0,5:1,0,8"];
            let output = talea(&[&["fabric"], &words[..]].concat());
            assert_eq!(output.status.code(), Some(2));
            stderr(&output)
        },
    ];
    insta::assert_snapshot!(said.concat());
}

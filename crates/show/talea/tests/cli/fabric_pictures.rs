//! Pictures and pages of networks from the command line: what each is of, where its numbers are
//! from, and files that cannot be written. How they are drawn is `talea-report`'s.

use std::process::{Command, Output};

use serde_json::{Value, json};

use super::bench::{Bench, Mpi, page_data as data, stderr};

fn talea(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_talea")).args(words).output().unwrap()
}

/// The picture and the page that a command writes.
fn drawn(words: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let [svg, html] =
        ["net.svg", "net.html"].map(|name| folder.path().join(name).display().to_string());
    let output = talea(&[&["fabric"], words, &["--svg", &svg, "--html", &html]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let [svg, html] = [svg, html].map(|path| std::fs::read_to_string(path).unwrap());
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg:.80}");
    assert!(html.starts_with("<!doctype html>"), "{html:.80}");
    (svg, html)
}

#[track_caller]
fn has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "no {word}");
    }
}

/// Names of the views that a page has.
fn views(data: &Value) -> Vec<&str> {
    let views = data["views"].as_array().unwrap();
    views.iter().map(|view| view["name"].as_str().unwrap()).collect()
}

const GRID: [&str; 6] = ["--ranks", "16x8x8", "--stencil", "7", "--compare", "1x1x16,1x2x8,2x2x4"];

#[test]
fn placements_of_each_form() {
    let (svg, html) = drawn(&[&["place", "--torus", "4x4x4"], &GRID[..]].concat());
    // The first and the recommended one in the picture; the page opens with them and has all.
    let both = ["1x1x16, serpentine", "2x2x4, serpentine", "a model", "recommended</tspan>"];
    has(&svg, &both);
    has(&html, &[&both[..], &["off node"]].concat());
    let data = data(&html);
    assert_eq!(views(&data), ["1x1x16, serpentine", "1x2x8, serpentine", "2x2x4, serpentine"]);
    assert_eq!(data["opens"], json!({"views": [0, 2], "route": null, "recommended": 2}));
    for network in [["--dragonfly", "2,4,2,9"], ["--fat-tree", "4^3"]] {
        let (svg, _) = drawn(&[&["place"], &network[..], &GRID].concat());
        has(&svg, &["a model"]);
    }
}

#[test]
fn regions_and_sonars() {
    let folder = tempfile::tempdir().unwrap();
    let meta = super::fabric_table::small(folder.path());
    let (svg, html) = drawn(&["regions", &meta]);
    has(&svg, &["region 7", "recorded"]);
    // The page opens with what the picture and the findings are about.
    has(&html, &["region 7"]);
    let regions = data(&html);
    let opened = regions["opens"]["views"][0].as_u64().unwrap() as usize;
    assert_eq!(views(&regions)[opened], "region 7");
    assert!(views(&regions).contains(&"region -2"));
    let sonar = ["sonar", "--simulate", "2x2x8", "--ends", "1,0,5:1,0,7", "--messages", "1"];
    let (svg, html) = drawn(&sonar);
    has(&svg, &["simulated", "sonar from (1,0,5) to (1,0,7)"]);
    let data = data(&html);
    let ends = data["opens"]["route"].as_array().unwrap();
    let at = |end: &Value| data["routers"]["at"][end.as_u64().unwrap() as usize].clone();
    assert_eq!([at(&ends[0]), at(&ends[1])], [json!([1, 0, 5]), json!([1, 0, 7])]);
}

#[test]
fn a_recording_of_tiles() {
    let slide = super::fabric_table::Slide::new(3);
    let tiles = ["table", &slide.tiles, "--interconnect", &slide.list];
    let (svg, html) = drawn(&tiles);
    has(&svg, &["recorded", "whole"]);
    assert_eq!(views(&data(&html))[..2], ["whole", "0.000 s to 1.074 s"]);
    let nowhere = slide.path("nowhere/net.svg");
    let output = talea(&[&["fabric"], &tiles[..], &["--svg", &nowhere]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let output = talea(&["fabric", "sonar", "--ethernet", "lo", "--svg", &nowhere]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_page_says_which_intervals_it_has_not() {
    let folder = tempfile::tempdir().unwrap();
    let said = |intervals| {
        let [list, tiles] = super::fabric_table::of_one_router(folder.path(), intervals);
        drawn(&["table", &tiles, "--interconnect", &list])
    };
    let without = "intervals that are in the sums alone: a page shows the first 64 (3)";
    let (svg, html) = said(67);
    assert!(html.contains(without) && html.contains("below is one of them"));
    assert!(svg.contains(without));
    assert!(!said(64).1.contains("in the sums alone"));
}

#[test]
fn messages_of_a_run_in_its_report() {
    let Some(bench) = Bench::new() else { return };
    let Some(mpi) = Mpi::any() else { return };
    let mut command = mpi.launch(4);
    command.push(mpi.program("halo").display().to_string());
    command.extend(["--size".to_owned(), "8".to_owned()]);
    bench.record("run", &[], &command);
    let host = String::from_utf8_lossy(&Command::new("hostname").output().unwrap().stdout)
        .trim()
        .to_owned();
    let run = bench.path("run").display().to_string();
    let called = format!("{host}=c0-0c0s0n0");
    let asked = |words: &[&str]| talea(&[&["report", &run, "--out", "-"], words].concat());
    let output = asked(&["--torus", "2x2x2", "--called", &called]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    // Data of large pages are packed.
    let shown = data(&page).to_string();
    has(&shown, &["messages of the run", "messages on the network", "c1-0c0s0g0"]);
    // Without a network there is none, and a network without the run's hosts is refused.
    let bare = asked(&[]);
    let bare = data(&String::from_utf8_lossy(&bare.stdout)).to_string();
    assert!(!bare.contains("messages on the network"));
    let lost = asked(&["--torus", "2x2x2", "--called", &format!("{host}=nid7")]);
    assert_eq!(lost.status.code(), Some(2));
    assert!(stderr(&lost).contains("no node `nid7`"), "{}", stderr(&lost));
    for wrong in [format!("{called},{called}"), format!("{called},other=c0-0c0s0n1")] {
        let odd = asked(&["--torus", "2x2x2", "--called", &wrong]);
        assert_eq!(odd.status.code(), Some(2));
        assert!(stderr(&odd).contains("--called has the host `"), "{}", stderr(&odd));
    }
}

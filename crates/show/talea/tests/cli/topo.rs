//! `talea topo`: files of objects, monitors that run, recordings, pictures, the C library.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use talea_model::Gaps;
use talea_topo::Machine;
use talea_topo::recording::{About, Recorder};

use super::bench::{Bench, Mpi, on_path, stderr};
use talea_testing::{checkout, missing};

/// The input of the paper's demonstration.
const PAPER: &str = "\
L3_MISS{ OBJ = L3; CTR = PAPI_L3_TCM; LOGSCALE = 1; }
L2_MISS{ OBJ = L2; CTR = PAPI_L2_TCM; LOGSCALE = 1; }
L1_MISS{ OBJ = L1d; CTR = PAPI_L1_DCM; LOGSCALE = 1; }
SINGLE_L3_MISS{ OBJ = PU; CTR = PAPI_L3_TCM; LOGSCALE = 1; }
";

/// What the same machine counts without counters of its own.
const SOFTWARE: &str = "\
FAULTS{ OBJ = PU; CTR = page-faults; }
SWITCHES{ OBJ = Core; CTR = context-switches; PER = second; }
CLOCK{ OBJ = Package; CTR = task-clock; PER = second; }
";

/// Real topologies that lie beside the checkout.
fn real_files() -> Option<Vec<PathBuf>> {
    let folder = talea_testing::data("hwloc")?;
    let mut files = Vec::new();
    for version in ["v1", "v2", "v3"] {
        let entries = std::fs::read_dir(folder.join(version)).unwrap();
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    files.sort();
    Some(files)
}

fn words<'a>(words: &[&'a str]) -> Vec<&'a str> {
    ["topo"].iter().chain(words).copied().collect()
}

/// Sum of a monitor's values over its objects.
fn sum(json: &Value, monitor: &str) -> f64 {
    let monitors = json["monitors"].as_array().unwrap();
    let found = monitors.iter().find(|m| m["name"] == monitor).unwrap();
    let values = found["values"].as_array().unwrap().iter();
    values.map(|value| value["value"].as_f64().unwrap_or(0.0)).sum()
}

#[test]
fn every_real_topology_is_drawn_and_listed() {
    let Some(bench) = Bench::new() else { return };
    let Some(files) = real_files() else { return };
    assert!(files.len() >= 20, "{files:?}");
    for file in files {
        draw_and_list(&bench, &file.display().to_string());
    }
}

#[test]
fn every_generated_topology_is_drawn_and_listed() {
    let Some(bench) = Bench::new() else { return };
    for machine in talea_testing::hwloc::MACHINES {
        for version in 1..=3 {
            std::fs::write(bench.path("machine.xml"), machine.xml(version)).unwrap();
            let json = draw_and_list(&bench, "machine.xml");
            for (kind, count) in machine.counts() {
                assert_eq!(json["counts"][&kind], count, "{}, version {version}", machine.name);
            }
        }
    }
}

/// Draws and lists the machine of a file; the list.
fn draw_and_list(bench: &Bench, name: &str) -> Value {
    let json = bench.json(&words(&["--topology", name, "--json", "--svg", "node.svg"]));
    let objects = json["objects"].as_array().unwrap();
    let counts = json["counts"].as_object().unwrap();
    let total: u64 = counts.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(total, objects.len() as u64, "{name}");
    assert_eq!(json["counts"]["Machine"], 1, "{name}");
    let svg = std::fs::read_to_string(bench.path("node.svg")).unwrap();
    for pu in 0..json["counts"]["PU"].as_u64().unwrap() {
        assert!(svg.contains(&format!("id=\"o-PU-{pu}\"")), "{name}: PU {pu}");
    }
    // hwloc's version 2 comes out whatever came in.
    bench.text(&words(&["--topology", name, "--xml", "again.xml"]));
    let again = bench.json(&words(&["--topology", "again.xml", "--json"]));
    assert_eq!(again["counts"], json["counts"], "{name}");
    json
}

#[test]
fn parts_of_synthetic_machines() {
    let Some(bench) = Bench::new() else { return };
    let pus = |more: &[&str]| {
        let mut all = words(&["--synthetic", "pack:2 numa:2 l3:1 core:8 pu:2", "--json"]);
        all.extend_from_slice(more);
        bench.json(&all)["counts"]["PU"].as_u64().unwrap()
    };
    assert_eq!(pus(&[]), 64);
    assert_eq!(pus(&["--restrict", "L3:0"]), 16);
    assert_eq!(pus(&["--restrict", "0-3,8"]), 5);
}

#[test]
fn the_demonstration_of_the_paper_on_a_simulated_machine() {
    let Some(bench) = Bench::new() else { return };
    std::fs::write(bench.path("paper.txt"), PAPER).unwrap();
    let machine = "pack:1 [numa] l3:1(size=20MB) l2:8(size=256kB) l1d:1(size=32kB) core:1 pu:2";
    let mut all =
        words(&["--synthetic", machine, "--simulate", "lists", "--monitors", "paper.txt"]);
    all.extend(["--for", "14s", "--every", "100ms", "--out", "lists.talea", "--svg", "lists.svg"]);
    let output = bench.talea(&all).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    // What is computed is called so wherever it is shown.
    assert!(stderr(&output).contains("simulated lists"), "{}", stderr(&output));
    let svg = std::fs::read_to_string(bench.path("lists.svg")).unwrap();
    assert!(
        svg.contains("simulated lists") && svg.contains("L3_MISS") && svg.contains("PAPI_L3_TCM")
    );
    let at = |time: &str| bench.json(&words(&["--replay", "lists.talea", "--at", time, "--json"]));
    let (early, late) = (at("1s"), at("13.9s"));
    assert_eq!(early["source"], "simulated lists");
    // Small lists stay in the first level, large ones miss them all.
    assert!(sum(&early, "L1_MISS") * 100.0 < sum(&late, "L1_MISS"), "{early} {late}");
    assert!(sum(&early, "L3_MISS") * 100.0 < sum(&late, "L3_MISS"), "{early} {late}");
    // The same counter at two levels adds up.
    assert!((sum(&late, "L3_MISS") - sum(&late, "SINGLE_L3_MISS")).abs() < 1e-6);
    let far = bench.fails(&words(&["--replay", "lists.talea", "--at", "1000s", "--json"]));
    assert_eq!(far.0, 2);
    assert!(far.1.contains("no value at 1000.000 s"), "{}", far.1);
}

#[test]
fn a_command_is_watched_while_it_runs() {
    let Some(bench) = Bench::new() else { return };
    let lists = checkout().join("apps/bin/plain/lists").display().to_string();
    if !Path::new(&lists).is_file() {
        return missing("apps/bin/plain/lists is not built: `make -C apps`").unwrap_or_default();
    }
    std::fs::write(bench.path("soft.txt"), SOFTWARE).unwrap();
    let mut all =
        words(&["--monitors", "soft.txt", "--every", "50ms", "--out", "run.talea", "--", &lists]);
    all.extend(["1", "16384"]);
    let output = bench.talea(&all).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("ns a step"));
    let json = bench.json(&words(&["--replay", "run.talea", "--json"]));
    let frames = json["frames"].as_u64().unwrap();
    assert!(frames > 3, "{json}");
    // Two threads touch 16 KiB, 64 KiB, ... 16 MiB each, and the order of the cells besides.
    let faults = sum(&json, "FAULTS") * frames as f64;
    assert!(faults > 2.0 * 16384.0 / 4.0, "{faults}: {json}");
    assert!(!json["threads"].as_array().unwrap().is_empty(), "{json}");
    // A command's own code passes through.
    let code = bench.talea(words(&[
        "--monitors",
        "soft.txt",
        "--out",
        "x.talea",
        "--",
        "sh",
        "-c",
        "exit 7",
    ]));
    let output = { code }.output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
}

#[test]
fn recordings_in_both_forms_give_the_same_frames() {
    let Some(bench) = Bench::new() else { return };
    let machine = "pack:1 l3:2 core:2 pu:1";
    let monitors = "L3_MISS{ OBJ = L3; CTR = PAPI_L3_TCM; } ALL{ OBJ = PU; CTR = PAPI_L3_TCM; }";
    let mut all = words(&["--synthetic", machine, "--simulate", "mixed", "--monitor", monitors]);
    all.extend(["--for", "1s", "--every", "100ms", "--out", "a.talea"]);
    bench.text(&all);
    bench.text(&words(&["--replay", "a.talea", "--paje", "a.trace"]));
    let with = |file: &str, at: &str| {
        let json =
            bench.json(&words(&["--replay", file, "--synthetic", machine, "--at", at, "--json"]));
        let monitors = json["monitors"].as_array().unwrap();
        monitors.iter().map(|m| (m["name"].clone(), m["values"].clone())).collect::<Vec<_>>()
    };
    // The text counts time from its first value.
    for (compact, text) in [("100ms", "0ms"), ("500ms", "400ms"), ("1s", "900ms")] {
        assert_eq!(with("a.talea", compact), with("a.trace", text));
    }
    // A trace names objects that another machine lacks.
    let json = bench.json(&words(&["--replay", "a.trace", "--synthetic", "core:2 pu:1", "--json"]));
    assert!(json["gaps"].to_string().contains("which this topology does not have"), "{json}");
    let (code, said) = bench.fails(&words(&["--replay", "a.trace", "--json"]));
    assert_eq!(code, 2);
    assert!(said.contains("--topology FILE"), "{said}");
    // Nothing has changed from a recording to itself.
    let text = bench.text(&words(&["--replay", "a.talea", "--compare", "a.talea"]));
    assert!(text.contains(" minus ") && text.contains("L3_MISS at L3"), "{text}");
}

#[test]
fn what_was_missing_is_said_with_the_error() {
    let Some(bench) = Bench::new() else { return };
    let machine = ["--synthetic", "core:2 pu:1", "--simulate", "lists"];
    let record = ["--for", "300ms", "--every", "50ms", "--out", "a.talea"];
    bench.text(&words(&[&machine[..], &record].concat()));
    let bytes = std::fs::read(bench.path("a.talea")).unwrap();
    // The last block says that the recorder was not stopped.
    std::fs::write(bench.path("cut.talea"), &bytes[..bytes.len() - 9]).unwrap();
    let (code, said) = bench.fails(&words(&["--replay", "cut.talea", "--at", "1000s", "--json"]));
    assert!(code == 2 && said.contains("no value at 1000.000 s"), "{said}");
    assert!(said.contains("ended-early: the recorder was stopped"), "{said}");
    // Without its first block nothing can be shown; why that is not there is a gap.
    let mut broken = bytes;
    broken[40] ^= 0xff;
    std::fs::write(bench.path("broken.talea"), broken).unwrap();
    let (code, said) = bench.fails(&words(&["--replay", "broken.talea", "--json"]));
    assert!(code == 2 && said.contains("expected a block `HEAD`"), "{said}");
    assert!(said.contains("damaged: "), "{said}");
}

#[test]
fn a_killed_recorder_leaves_what_it_had() {
    let Some(bench) = Bench::new() else { return };
    let mut child = bench
        .talea(words(&[
            "--monitor",
            "F{ OBJ = PU; CTR = page-faults; }",
            "--every",
            "10ms",
            "--out",
            "k.talea",
        ]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Until more than its description has been written.
    let file = bench.path("k.talea");
    let begin = std::time::Instant::now();
    let mut length = 0;
    while begin.elapsed().as_secs() < 60 {
        let now = std::fs::metadata(&file).map_or(0, |metadata| metadata.len());
        if length > 0 && now > length {
            break;
        }
        length = now;
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let json = bench.json(&words(&["--replay", "k.talea", "--json"]));
    assert!(json["frames"].as_u64().unwrap() > 10, "{json}");
    assert_eq!(json["gaps"][0]["kind"], "ended-early", "{json}");
}

#[test]
fn mistakes_are_told_with_their_place() {
    let Some(bench) = Bench::new() else { return };
    let check = |all: &[&str], code: i32, expected: &[&str]| {
        let (found, said) = bench.fails(&words(all));
        assert_eq!(found, code, "{all:?}: {said}");
        for text in expected {
            assert!(said.contains(text), "{all:?}: expected `{text}` in: {said}");
        }
    };
    let json = "--json";
    check(&["--monitor", "A{ OBJ = L9; CTR = page-faults; }", json], 2, &["L9", "^"]);
    check(&["--monitor", "A{ OBJ = PU; CTR = PAPI_L3_TCN; }", json], 2, &["PAPI_L3_TCM", "^"]);
    check(&["--monitor", "A{ OBJ = PU; CTR = page-faults / 0; }", json], 2, &["zero", "^"]);
    check(
        &["--monitor", "A{ OBJ = PU; CTR = page-faults; MAX = 1; MIN = 2; }", json],
        2,
        &["MAX", "^"],
    );
    check(&["--monitor", "A{ OBJ = PU; CTR = B; } B{ OBJ = PU; CTR = A; }", json], 2, &["^"]);
    check(&["--monitors", "none.txt", json], 2, &["none.txt"]);
    check(&["--synthetic", "pack:2 nonsense:3", json], 2, &["nonsense"]);
    check(&["--topology", "none.xml", json], 2, &["none.xml"]);
    check(&["--restrict", "L7:0", json], 2, &["--restrict"]);
    check(&["--pid", "4194303", "--for", "1s", json], 2, &["4194303"]);
    check(&["--replay", "none.talea", json], 2, &["none.talea"]);
    check(&["--plugin", "no-such-program", "--for", "1s", json], 2, &["no-such-program"]);
    check(&["--out", "no/folder/a.talea", "--for", "100ms", json], 3, &["no/folder"]);
    std::fs::write(bench.path("cut.xml"), "<topology version=\"2.0\">\n<object type=\"Machine\"")
        .unwrap();
    check(&["--topology", "cut.xml", json], 2, &["line 2", "cut.xml"]);
    std::fs::write(
        bench.path("two.xml"),
        "<topology version=\"2.0\"><object type=\"Machine\"/><object type=\"Machine\"/></topology>",
    )
    .unwrap();
    check(&["--topology", "two.xml", json], 2, &["line 1"]);
    let deep = "<object type=\"Group\">".repeat(100_000);
    std::fs::write(bench.path("deep.xml"), format!("<topology version=\"2.0\">{deep}")).unwrap();
    check(&["--topology", "deep.xml", json], 2, &["nested"]);
}

#[test]
fn counters_of_plug_ins() {
    let Some(bench) = Bench::new() else { return };
    let script = "#!/bin/sh\nprintf 'talea-plugin 1\\ncounter watts gauge W package:0\\nend\\n'\n\
        while sleep 0.02; do printf 'watts package:0 51.5\\nend\\n' || exit; done\n";
    std::fs::write(bench.path("plug.sh"), script).unwrap();
    let monitor = "POWER{ OBJ = Package; CTR = plugin:watts; UNIT = W; }";
    let all = words(&[
        "--plugin",
        "sh plug.sh",
        "--monitor",
        monitor,
        "--for",
        "1s",
        "--every",
        "200ms",
        "--json",
    ]);
    let json = bench.json(&all);
    assert!((sum(&json, "POWER") - 51.5).abs() < 1e-9, "{json}");
}

/// Compiles a program of `apps/topo` against the library, and runs it.
fn sampled_parts(bench: &Bench, compiler: &str, sources: &[&str], output: &str) -> String {
    let library = bench.library().with_file_name("libtalea_topo.so");
    assert!(library.is_file(), "{}", library.display());
    let folder = library.parent().unwrap();
    let program = bench.path(compiler);
    let compiled = Command::new(compiler)
        .current_dir(bench.path(""))
        .arg("-o")
        .arg(&program)
        .args(sources.iter().map(|source| checkout().join(source)))
        .arg("-I")
        .arg(checkout().join("include"))
        .arg("-L")
        .arg(folder)
        .arg("-ltalea_topo")
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", stderr(&compiled));
    std::fs::write(bench.path("parts.txt"), "FAULTS{ OBJ = PU; CTR = page-faults; }").unwrap();
    let ran = Command::new(&program)
        .current_dir(bench.path(""))
        .args(["parts.txt", output])
        .env("LD_LIBRARY_PATH", folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{} {}", String::from_utf8_lossy(&ran.stdout), stderr(&ran));
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn programs_sample_their_parts() {
    let Some(bench) = Bench::new() else { return };
    let programs = [
        ("cc", vec!["apps/topo/parts.c"], "c.talea"),
        ("gfortran", vec!["include/talea_topo.f90", "apps/topo/parts.f90"], "f.talea"),
    ];
    for (compiler, sources, output) in programs {
        if !on_path(compiler) {
            return missing(&format!("{compiler} is not installed")).unwrap_or_default();
        }
        let printed = sampled_parts(&bench, compiler, &sources, output);
        // Each part touches 2,000 pages more than the one before.
        let faults: Vec<f64> =
            printed.lines().map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
        assert_eq!(faults.len(), 3, "{printed}");
        assert!(faults[0] < 1000.0, "{printed}");
        assert!((1999.0..3000.0).contains(&faults[1]), "{printed}");
        assert!((3999.0..5000.0).contains(&faults[2]), "{printed}");
        let json = bench.json(&words(&["--replay", output, "--json"]));
        assert_eq!(json["frames"], 3, "{json}");
    }
    // The text of the paper, if the name of the output asks for it.
    sampled_parts(&bench, "cc", &["apps/topo/parts.c"], "c.trace");
    let trace = std::fs::read_to_string(bench.path("c.trace")).unwrap();
    assert!(trace.starts_with("%EventDef val 0") && trace.contains(" PU 0 FAULTS 0"), "{trace}");
}

#[test]
fn a_page_and_a_picture_in_pixels() {
    let Some(bench) = Bench::new() else { return };
    if !on_path("chromium") {
        return missing("chromium is not installed").unwrap_or_default();
    }
    let mut all =
        words(&["--synthetic", "pack:2 l3:2 core:4 pu:2", "--simulate", "mixed", "--for", "2s"]);
    all.extend(["--every", "100ms", "--html", "node.html", "--png", "node.png"]);
    bench.text(&all);
    let page = std::fs::read_to_string(bench.path("node.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.len() > 20_000, "{}", page.len());
    let png = std::fs::read(bench.path("node.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG") && png.len() > 10_000, "{} bytes", png.len());
}

/// A recording of nothing, as if it were made on this host.
fn recording_of(bench: &Bench, name: &str, host: &str) {
    let about = About { host: host.to_owned(), ..About::default() };
    let machine = Machine::synthetic("pu:2").unwrap();
    let file = bench.path(name);
    let mut recorder = Recorder::create(&file, &about, &machine.topology, &[], &[]).unwrap();
    recorder.finish(&Gaps::default()).unwrap();
}

/// Records the demonstration program, and the node meanwhile; with a run from before. Steps of the
/// program: 37.
fn node_and_run(bench: &Bench) -> Option<()> {
    let mpi = Mpi::any()?;
    let halo = |steps: &str| {
        let mut command = mpi.launch(4);
        command.push(mpi.program("halo").display().to_string());
        command.extend(["--size", "8", "--steps", steps].map(str::to_owned));
        command
    };
    bench.record("before", &[], &halo("3"));
    std::fs::write(bench.path("soft.txt"), SOFTWARE).unwrap();
    let talea = env!("CARGO_BIN_EXE_talea");
    let mut all = words(&["--monitors", "soft.txt", "--every", "10ms", "--out", "node.talea"]);
    all.extend(["--", "timeout", "--kill-after=10", "300", talea, "run", "--out", "app", "--"]);
    let command = halo("37");
    all.extend(command.iter().map(String::as_str));
    let output = bench.talea(&all).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    Some(())
}

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&words(&["--replay", "node.talea", "--run", "app"]), more].concat()
}

#[test]
fn iterations_of_a_run_are_phases_of_a_recording() {
    let Some(bench) = Bench::new() else { return };
    let Some(()) = node_and_run(&bench) else { return };
    let json = bench.json(&with(&["--json"]));
    let run = &json["run"];
    assert_eq!(run["of"], "rank 0 of `app`", "{run}");
    // As many as the loop's turns, which another view counts for itself.
    let structure = bench.json(&["show", "app", "structure", "--rank", "0", "--json"]);
    let parts = structure[0]["tree"]["children"].as_array().unwrap();
    let turns = parts.iter().filter(|part| part["kind"] == "loop");
    let main = turns.max_by_key(|part| part["time_ns"].as_u64()).unwrap();
    assert_eq!((&main["count"], &run["iterations"]), (&37.into(), &37.into()), "{main}");
    assert_eq!(main["label"], run["place"]);
    assert_eq!((&run["outside"], &run["merged"]), (&0.into(), &Value::Null), "{run}");
    let phases = run["phases"].as_array().unwrap();
    let kinds: Vec<&str> = phases.iter().map(|phase| phase["kind"].as_str().unwrap()).collect();
    let turns = kinds.iter().filter(|&&kind| kind == "iterations").count();
    assert_eq!((kinds[0], turns, kinds[kinds.len() - 1]), ("set-up", 37, "wrap-up"), "{run}");
    // One after the other, inside the recording, and the program ran while it was recorded.
    let number = |phase: &Value, key: &str| phase[key].as_u64().unwrap();
    let mut end = 0;
    for phase in phases {
        assert!(end <= number(phase, "from_ns"), "{phase}");
        assert!(number(phase, "from_ns") < number(phase, "to_ns"), "{phase}");
        end = number(phase, "to_ns");
    }
    assert!(number(&phases[0], "from_ns") > 0, "{run}");
    let late = format!("{}ns", end + 10_000_000_000);
    let (_, said) = bench.fails(&with(&["--at", &late, "--json"]));
    let last = said.split(" to ").nth(1).and_then(|text| text.strip_suffix(" s\n"));
    let last: f64 = last.unwrap_or_else(|| panic!("{said}")).parse().unwrap();
    assert!(end as f64 / 1e9 <= last, "{end} {last}");

    let first = &phases[1];
    let name = format!("{} iteration 0", run["place"].as_str().unwrap());
    assert_eq!(
        (&first["name"], &first["first"], &first["last"]),
        (&name.into(), &0.into(), &0.into())
    );
    let third = bench.json(&with(&["--rank", "3", "--json"]));
    assert_eq!(third["run"]["of"], "rank 3 of `app`");
    // In text, in the picture of a moment, and on the page.
    let text = bench.text(&with(&[]));
    assert!(text.contains("(median of 37"), "{text}");
    let middle = format!("{}ns", u64::midpoint(number(first, "from_ns"), number(first, "to_ns")));
    bench.text(&with(&["--at", &middle, "--svg", "node.svg", "--html", "node.html"]));
    let svg = std::fs::read_to_string(bench.path("node.svg")).unwrap();
    assert!(svg.contains(" iteration 0"), "{svg}");
    // Without it, nothing is said of any run.
    assert_eq!(bench.json(&words(&["--replay", "node.talea", "--json"]))["run"], Value::Null);

    let check = |words: &[&str], expected: &[&str]| {
        let (code, said) = bench.fails(words);
        assert_eq!(code, 2, "{words:?}: {said}");
        for text in expected {
            assert!(said.contains(text), "{words:?}: expected `{text}` in: {said}");
        }
    };
    let other = words(&["--replay", "node.talea", "--run", "before"]);
    check(&other, &["at another time", "UTC, values are from", "`before`"]);
    check(&with(&["--rank", "4"]), &["4 ranks, from 0 to 3, none is 4"]);
    check(&words(&["--replay", "node.talea", "--run", "none"]), &["--run: ", "none"]);
    recording_of(&bench, "elsewhere.talea", "elsewhere");
    let other = words(&["--replay", "elsewhere.talea", "--run", "app"]);
    check(&other, &["host `elsewhere`, where no rank of the run was; it ran on `"]);
    recording_of(&bench, "nowhere.talea", "");
    let other = words(&["--replay", "nowhere.talea", "--run", "app"]);
    check(&other, &["host and date", "nowhere.talea"]);
    let machine = ["--synthetic", "core:2 pu:1", "--simulate", "mixed", "--for", "1s"];
    bench.text(&words(&[&machine[..], &["--out", "made-up.talea"]].concat()));
    let other = words(&["--replay", "made-up.talea", "--run", "app"]);
    check(&other, &["simulated values"]);
}

/// What `--for` and signals promise holds for steps of any length, and for the command that is
/// watched.
#[test]
fn measuring_ends_when_it_is_asked_to() {
    let Some(bench) = Bench::new() else { return };
    let faults = ["--monitor", "F{ OBJ = PU; CTR = page-faults; }", "--json"];
    for every in ["1ns", "600min"] {
        let mut all = words(&faults);
        all.extend(["--every", every, "--for", "20ms"]);
        let json = bench.json(&all.iter().map(|word| word as &str).collect::<Vec<_>>());
        assert!(json["frames"].as_u64().unwrap() > 0, "{every}: {json}");
    }
    assert_eq!(bench.fails(&words(&["--every", "0", "--for", "1s"])).0, 2);
    // The command says that it is ready, then waits for the signal that talea gets.
    let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.1; done";
    let mut all = words(&faults);
    all.extend(["--every", "10ms", "--", "sh", "-c", script]);
    let mut child = bench.talea(&all).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    assert_eq!(line, "ready\n");
    let talea = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(talea, rustix::process::Signal::TERM).unwrap();
    std::io::Read::read_to_string(&mut out, &mut String::new()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
fn mistakes_in_commands_are_told() {
    let Some(bench) = Bench::new() else { return };
    let (code, said) = bench.fails(&words(&["--bogus"]));
    assert!(code == 2 && said.contains("unknown option"), "{said}");
    let (code, said) = bench.fails(&words(&["--monitor", "# nothing", "--for", "1ms"]));
    assert!(code == 2 && said.contains("expected a monitor such as"), "{said}");
    let (code, said) = bench.fails(&words(&["--synthetic", "pu:2", "--restrict", ""]));
    assert!(code == 2 && said.contains("found none"), "{said}");
}

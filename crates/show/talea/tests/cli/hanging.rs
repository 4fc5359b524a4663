//! A file system that hangs, as a file server that is away: the agent, functions of other files and
//! deadlines go on.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::mount::{UnmountFlags, unmount};
use talea_agent::Files;
use talea_agent::slots::Slots;
use talea_mark::reader;
use talea_model::Module;
use talea_run::foreign::Readers;
use talea_run::symbols::{Bounds, FunctionNames, NoNames};

use super::always::{RATE, Running, of, plain, samples};
use super::bench::Bench;
use crate::fuse::Hanging;
use talea_testing::missing;

/// A file system of its own name; none where this user may not mount one.
#[track_caller]
fn mounted(bench: &Bench, folder: &str, name: &str, bytes: Vec<u8>) -> Option<Hanging> {
    Hanging::mounted(&bench.path(folder), name, bytes).map_or_else(|why| missing(&why), Some)
}

/// State of a process, and the seconds for which it has been on a core.
fn running(process: u32) -> (String, f64) {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    // In user and in kernel mode, in ticks of 10 ms.
    let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    (fields[0].to_owned(), ticks as f64 / 100.0)
}

/// Waits until a process is as it should be, a minute at most.
fn until(process: u32, is_there: impl Fn(&(String, f64)) -> bool) {
    let begin = Instant::now();
    while !is_there(&running(process)) {
        assert!(begin.elapsed() < Duration::from_mins(1), "{:?}", running(process));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_file_system_that_hangs_stops_neither_the_agent_nor_questions() {
    let (Some(bench), Some(other)) = (Bench::new(), plain("shares")) else { return };
    let bytes = fs::read("/bin/dash").unwrap();
    let Some(system) = mounted(&bench, "mounted", "program", bytes) else { return };
    let mut program = Command::new(system.file());
    let program = program.args(["-c", "while :; do :; done"]).spawn().unwrap();
    let number = program.id();
    let _program = Running::of(program);
    // Pages that its loop needs of the file are in memory once it runs.
    until(number, |(_, seconds)| *seconds > 0.3);
    system.stop();
    let path = system.file().display().to_string();

    let name = other.canonicalize().unwrap().display().to_string();
    for sampler in ["bpf", "rings"] {
        // The agent meets the file for the first time.
        let store = format!("sqlite:{sampler}.db");
        let options = ["--sampler", sampler];
        let Some(agent) = Running::agent(&bench, &store, &options, 0) else { return };
        let (_, before) = running(number);
        let mut child = Command::new(&other).arg("3").spawn().unwrap();
        until(child.id(), |(state, _)| state == "Z");
        let times = [running(number).1 - before, running(child.id()).1];
        assert!(child.wait().unwrap().success());
        let end = Instant::now();
        let said = agent.stopped();
        assert!(end.elapsed() < Duration::from_secs(20), "it ended {:?} later", end.elapsed());
        assert!(said.contains("batches; the agent took"), "{said}");
        let answer = bench.json(&["usage", "--store", &store, "--by", "executable", "--json"]);
        let (seen, of_other) = (of(&answer, "executable", &path), of(&answer, "executable", &name));
        let all = samples(&answer);
        // Half of the samples that are due: beside other programs these are on a core for a part of
        // the time only.
        let rate: f64 = RATE.trim_end_matches("Hz").parse().unwrap();
        let due = times.map(|seconds| rate * seconds);
        assert!(due.iter().all(|&due| due > 50.0), "{times:?}");
        let is_seen = seen > due[0] / 2.0 && of_other > due[1] / 2.0;
        assert!(is_seen, "{sampler}: {seen} {of_other} of {all}, due {due:?}");
        let gaps = answer["gaps"].as_array().unwrap();
        let told =
            |gap: &&serde_json::Value| gap["detail"].as_str().unwrap().contains("file system");
        assert!(gaps.iter().any(|gap| told(&gap)), "{sampler}: {gaps:?}");
    }

    // One query for functions waits, and later ones do not.
    let names = FunctionNames::new(Bounds::default(), Readers::ThisProcess);
    let hung = |build_id: &str| {
        let module = Module { path: path.clone(), build_id: build_id.to_owned() };
        names.name(&module, 0)
    };
    let begin = Instant::now();
    for build_id in ["aa", "ab", "ac", "ad", "ae", "af"] {
        assert_eq!(hung(build_id), Err(NoNames::Hangs));
    }
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    let own = Module { path: name, build_id: "00".to_owned() };
    assert_eq!(names.name(&own, 0), Err(NoNames::OtherBuild));
    system.go_on();
    let begin = Instant::now();
    while hung(&format!("{:x}", begin.elapsed().as_millis())) == Err(NoNames::Hangs) {
        assert!(begin.elapsed() < Duration::from_secs(20), "it does not come back");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_query_of_several_hanging_file_systems_keeps_its_deadline() {
    let Some(bench) = Bench::new() else { return };
    let mount = |at: usize| mounted(&bench, &format!("mounted-{at}"), "file", b"a file".to_vec());
    let Some(systems) = (0..4).map(mount).collect::<Option<Vec<_>>>() else { return };
    systems.iter().for_each(Hanging::stop);
    let names = FunctionNames::new(Bounds::default(), Readers::ThisProcess);
    let module = |system: &Hanging, build_id: &str| Module {
        path: system.file().display().to_string(),
        build_id: build_id.to_owned(),
    };
    let begin = Instant::now();
    let deadline = Some(begin + Duration::from_secs(1));
    for system in &systems {
        assert_eq!(names.name_by(&module(system, "aa"), 0, deadline), Err(NoNames::Hangs));
    }
    // Five seconds for each of them, without a deadline.
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    systems.iter().for_each(Hanging::go_on);
    let answered = |system: &Hanging| {
        (0..400).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            names.name(&module(system, "aa"), 0) != Err(NoNames::Hangs)
        })
    };
    assert!(systems.iter().all(answered), "nothing of that is kept");
}

/// A library that hangs takes the phases of its own process only, and not those of all programs on
/// the same device.
#[test]
fn a_library_that_hangs_hides_no_phases_of_other_processes() {
    let (Some(bench), Some(program)) = (Bench::new(), plain("phases")) else { return };
    let library = bench.library().with_file_name("libtalea_mark.so");
    if !library.is_file() {
        return missing("libtalea_mark.so is not built: `cargo build -p talea-mark`").unwrap_or(());
    }
    let bytes = fs::read(&library).unwrap();
    let Some(system) = mounted(&bench, "mounted", "libtalea_mark.so", bytes) else { return };
    let mut command = Command::new(&program);
    let child = command.args(["600", "1"]).env("LD_PRELOAD", system.file()).spawn().unwrap();
    let number = child.id();
    let _running = Running::of(child);
    until(number, |(_, seconds)| *seconds > 0.3);
    system.stop();
    let store = "sqlite:p.db";
    let Some(agent) = Running::agent(&bench, store, &["--sampler", "bpf"], 600) else { return };
    let mut command = Command::new(&program);
    let output = command.args(["6", "2"]).env("LD_PRELOAD", &library).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = agent.stopped();
    assert!(said.contains("batches; the agent took"), "{said}");
    let words = ["usage", "--store", store, "--by", "phase", "--executable", "*/phases", "--json"];
    let answer = bench.json(&words);
    let seen = of(&answer, "phase", "long") + of(&answer, "phase", "short");
    assert!(seen > 200.0, "{seen} of {answer}");
    let gaps = answer["gaps"].as_array().unwrap();
    let told = |gap: &&serde_json::Value| gap["detail"].as_str().unwrap().contains("file system");
    assert!(gaps.iter().any(|gap| told(&gap)), "{gaps:?}");
}

/// Maps a file without reading it, prints a line and waits.
const MAPS: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int file = open(argv[1], O_RDONLY);
    if (file < 0 || mmap(0, 1 << 20, PROT_READ, MAP_SHARED, file, 0) == MAP_FAILED) return 1;
    puts("ready");
    fflush(stdout);
    pause();
}
"#;

/// A user may give a file of a file system that hangs the name of a table of phases: a reader of
/// its memory would wait for ever.
#[test]
fn memory_of_a_file_system_that_hangs_has_no_phases_and_stops_no_sampler() {
    let Some(bench) = Bench::new() else { return };
    let Some(program) = compiled(&bench, MAPS) else { return };
    let name = "memfd:talea_mark";
    let Some(system) = mounted(&bench, "mounted", name, vec![0; 1 << 20]) else { return };
    let mut command = Command::new(program);
    let mut child = command.arg(system.file()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let number = child.id();
    // A process whose memory is being read ends after the file system only: fields are dropped in
    // this order.
    let (system, _running) = &(system, Running::of(child));
    assert_eq!(line, "ready\n");
    // Detached, the file system has no folder: its file is named as those of memory are.
    unmount(bench.path("mounted"), UnmountFlags::DETACH).unwrap();
    system.stop();
    let maps = fs::read_to_string(format!("/proc/{number}/maps")).unwrap();
    assert!(reader::table_in(&maps).is_some(), "{maps}");

    let mut slots = Slots::new(Files::default());
    let begin = Instant::now();
    assert_eq!(slots.phase_of(number, number), None);
    let waited = begin.elapsed();
    assert!(waited > Duration::from_millis(500), "it does not hang: {waited:?}");
    for _ in 0..1000 {
        assert_eq!(slots.phase_of(number, number), None);
    }
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    // Phases of another process are seen.
    let own = (std::process::id(), rustix::thread::gettid().as_raw_nonzero().get() as u32);
    let _phase = talea_mark::phase!("others");
    assert_eq!(slots.phase_of(own.0, own.1).as_deref(), Some(&b"others"[..]));
}

/// Compiles a C program; none without a compiler.
#[track_caller]
fn compiled(bench: &Bench, source: &str) -> Option<PathBuf> {
    let (text, program) = (bench.path("compiled.c"), bench.path("compiled"));
    fs::write(&text, source).unwrap();
    let Ok(output) = Command::new("cc").arg("-o").arg(&program).arg(&text).output() else {
        return missing("no C compiler (cc)");
    };
    assert!(output.status.success(), "{output:?}");
    Some(program)
}

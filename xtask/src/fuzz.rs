//! Damaged recordings, streams, descriptions and programs by the million: `cargo xtask fuzz
//! --minutes N`.
//!
//! Owns the targets and the search for the case that fails. Each case is made from a number, so
//! that naming target and number says everything. Cases run in batches in a process of their own
//! with little memory and a time limit: an endless loop, an overflow of the stack and a lack of
//! memory are found like a panic.

mod always;
mod bursts;
#[path = "../../crates/record/run/tests/hostile/exercise.rs"]
mod exercise;
mod models;
#[path = "../../crates/record/run/tests/hostile/mutate.rs"]
mod mutate;
mod networks;
mod node;
mod sampled;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use object::{Object, ObjectSection};
use rustix::process::{Resource, Rlimit, setrlimit};
use talea_flow::times::Bound;
use talea_model::{Module, Nanos};
use talea_run::container::{Container, SectionId, Tag};
use talea_run::{Metadata, Resolver, SiteTable};
use talea_topology::xml;

use mutate::{Random, mutate};

const SAMPLES: &str = "crates/record/run/tests/samples";
/// Programs whose debug information is damaged.
const PROGRAMS: &str = "apps/bin";
/// Objects of machines in all versions of hwloc's XML.
const OBJECTS: &str = "crates/machine/topology/tests/samples";
/// Files of metrics.
const MODELS: &str = "crates/analyse/formats/tests/samples";
const TARGETS: [&str; 26] = [
    "live",
    "selections",
    "structure",
    "container",
    "numbers",
    "lists",
    "times",
    "json",
    "symbols",
    "objects",
    "recording",
    "trace",
    "monitors",
    "perfmon",
    "pmu-events",
    "likwid",
    "tables",
    "bursts",
    "samples",
    "batches",
    "spool",
    "phases",
    "processes",
    "records",
    "modules",
    "networks",
];
/// Cases of a batch.
const BATCH: u64 = 5000;
/// Much more than a case or a batch takes on a slow machine.
const LIMIT: Duration = Duration::from_mins(2);
const MEMORY: u64 = 4 << 30;

/// Runs all targets in turn for so many minutes; `from` is the first case.
pub(crate) fn run(minutes: u64, from: u64) -> Result<(), String> {
    let end = Instant::now() + Duration::from_mins(minutes);
    let mut done = 0;
    while Instant::now() < end {
        for target in TARGETS {
            if !passes(target, from + done, BATCH)? {
                let wrong = (from + done..from + done + BATCH)
                    .find(|&case| !passes(target, case, 1).unwrap_or(false));
                let case = wrong.map_or_else(|| "none alone".to_owned(), |case| case.to_string());
                return Err(format!(
                    "{target} fails, case {case}: cargo xtask fuzz-case {target} {case} 1"
                ));
            }
        }
        done += BATCH;
        println!("{done} cases of {} targets each, from {from} on", TARGETS.len());
    }
    Ok(())
}

/// Whether cases end well in a process of their own.
fn passes(target: &str, first: u64, count: u64) -> Result<bool, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let words = ["fuzz-case".to_owned(), target.to_owned(), first.to_string(), count.to_string()];
    let mut child = Command::new(own)
        .args(words)
        .stderr(if count == 1 { Stdio::inherit() } else { Stdio::null() })
        .spawn()
        .map_err(|error| error.to_string())?;
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(status.success());
        }
        if Instant::now() > end {
            child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Some cases of a target, in this process.
pub(crate) fn cases(target: &str, first: u64, count: u64) -> Result<(), String> {
    let most = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    setrlimit(Resource::As, most).map_err(|error| error.to_string())?;
    let folder = std::env::temp_dir().join(format!("talea-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let seeds = match target {
        "recording" => node::recordings(&folder, "node.talea")?,
        "trace" => node::recordings(&folder, "node.trace")?,
        "monitors" => node::monitors(),
        "tables" => bursts::tables(),
        "networks" => networks::texts()?,
        "bursts" => bursts::traces(),
        "samples" => sampled::files()?,
        "batches" => always::batches()?,
        "spool" => always::spools(&folder)?,
        "phases" => always::tables(),
        "processes" => always::texts(),
        "records" => always::records(),
        "modules" => always::modules()?,
        _ => seeds(target)?,
    };
    for case in first..first + count {
        one(target, &mut Random::new(case), &seeds, &folder)?;
    }
    std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())
}

fn seeds(target: &str) -> Result<Vec<Vec<u8>>, String> {
    let (folder, wanted): (_, fn(&Path) -> bool) = match target {
        "live" => (SAMPLES, |path| path.extension().is_some_and(|e| e == "live")),
        "selections" => (SAMPLES, |path| path.extension().is_some_and(|e| e == "kept")),
        "perfmon" | "pmu-events" | "likwid" => (MODELS, |_| true),
        "json" => (SAMPLES, |path| path.extension().is_some_and(|e| e == "json")),
        "objects" => (OBJECTS, |path| path.extension().is_some_and(|e| e == "xml")),
        "symbols" => (PROGRAMS, |path| path.file_stem().is_some_and(|name| name == "halo")),
        _ => (SAMPLES, |path| path.extension().is_some_and(|e| e == "talea")),
    };
    let mut found = Vec::new();
    files(Path::new(folder), &mut found).map_err(|error| format!("{error}: `{folder}`"))?;
    found.retain(|path| wanted(path));
    found.sort();
    let seeds: Result<Vec<_>, _> = found.iter().map(std::fs::read).collect();
    let seeds = seeds.map_err(|error| error.to_string())?;
    if seeds.is_empty() { Err(format!("nothing to damage in `{folder}`")) } else { Ok(seeds) }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

/// Times that were selected of the process of a sample; the last one has rings.
fn selection(random: &mut Random, mut bytes: Vec<u8>, other: &[u8]) -> Result<(), String> {
    mutate(random, &mut bytes, other);
    let processes = seeds("live")?;
    exercise::selection(processes.last().map_or(&[], Vec::as_slice), &bytes);
    Ok(())
}

fn one(target: &str, random: &mut Random, seeds: &[Vec<u8>], folder: &Path) -> Result<(), String> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    let other = &seeds[random.below(seeds.len())];
    match target {
        "live" => {
            mutate(random, &mut bytes, other);
            exercise::live(&bytes);
        }
        "selections" => selection(random, bytes, other)?,
        "lists" => {
            let mut bytes = exercise::records_of_lists(random);
            let other = exercise::records_of_lists(random);
            mutate(random, &mut bytes, &other);
            exercise::lists(&bytes);
        }
        "container" => {
            mutate(random, &mut bytes, other);
            exercise::container(&bytes);
        }
        "structure" | "numbers" | "times" => {
            let container = Container::read(&bytes, Tag::RUN, Path::new("sample"))
                .map_err(|error| error.to_string())?;
            let structure = container.get(SectionId::new(*b"STRC", 0)).map(|s| s.bytes.to_vec());
            let mut structure = structure.ok_or("a sample without structure")?;
            let mut times: Vec<Vec<u8>> =
                container.all(Tag(*b"TIME")).map(|section| section.bytes.to_vec()).collect();
            let at = random.below(times.len());
            if random.below(4) > 0 {
                mutate(random, &mut structure, other);
            }
            if random.below(2) > 0 {
                mutate(random, &mut times[at], other);
            }
            let mut any = |limit| random.number() >> random.below(limit);
            let length = any(64);
            let bound = Bound {
                relative_ppm: any(32) as u32,
                absolute: Nanos(any(64)),
                drift: Nanos(any(64)),
            };
            let from = random.below(structure.len());
            match target {
                "structure" => exercise::bundle(&structure, &times),
                "numbers" => exercise::numbers(&structure[from..], length),
                _ => exercise::cells(&times[at], bound),
            }
        }
        "json" => {
            mutate(random, &mut bytes, other);
            let path = folder.join("any.json");
            std::fs::write(&path, &bytes).map_err(|error| error.to_string())?;
            let _ = Metadata::read(&path);
            let _ = SiteTable::read(&path);
        }
        "objects" => {
            mutate(random, &mut bytes, other);
            objects(&bytes)?;
        }
        "recording" => {
            node::damage(random, &mut bytes, other)?;
            node::recording(&bytes, &folder.join("any.talea"))?;
        }
        "trace" => {
            mutate(random, &mut bytes, other);
            node::recording(&bytes, &folder.join("any.trace"))?;
        }
        "monitors" => {
            mutate(random, &mut bytes, other);
            node::monitor_text(&bytes)?;
        }
        "perfmon" | "pmu-events" | "likwid" => {
            mutate(random, &mut bytes, other);
            models::model(target, &bytes)?;
        }
        "tables" => {
            mutate(random, &mut bytes, other);
            bursts::table(&bytes)?;
        }
        "networks" => {
            mutate(random, &mut bytes, other);
            networks::network(&bytes)?;
        }
        "bursts" => {
            mutate(random, &mut bytes, other);
            bursts::trace(&bytes)?;
        }
        "samples" => {
            if random.below(4) > 0 {
                sampled::damage(random, &mut bytes)?;
            } else {
                mutate(random, &mut bytes, other);
            }
            sampled::file(&bytes)?;
        }
        "batches" | "spool" | "phases" | "processes" | "records" | "modules" => {
            always::one(target, random, bytes, other, folder)?;
        }
        "symbols" => symbols(random, bytes, other, folder)?,
        _ => return Err(format!("no target `{target}`, expected one of {}", TARGETS.join(", "))),
    }
    Ok(())
}

/// An accepted file of objects must come back when it is written.
fn objects(bytes: &[u8]) -> Result<(), String> {
    let Ok(loaded) = xml::read(bytes) else { return Ok(()) };
    let again = xml::read(xml::write(&loaded.topology, xml::Version::Three).as_bytes());
    let again = again.map_err(|error| error.to_string())?;
    if again.topology == loaded.topology { Ok(()) } else { Err("another topology".to_owned()) }
}

/// A program with damage in its debug sections, asked about addresses all over its code.
fn symbols(
    random: &mut Random,
    mut bytes: Vec<u8>,
    other: &[u8],
    folder: &Path,
) -> Result<(), String> {
    let elf = object::File::parse(&*bytes).map_err(|error| error.to_string())?;
    let debug = elf.sections().filter(|s| s.name().is_ok_and(|name| name.starts_with(".debug_")));
    let sections: Vec<(u64, u64)> = debug.filter_map(|section| section.file_range()).collect();
    if sections.is_empty() {
        return Err("programs without debug information; build them with `make -C apps`".to_owned());
    }
    let (begin, length) = sections[random.below(sections.len())];
    let (begin, end) = (begin as usize, (begin + length) as usize);
    let mut part = bytes[begin..end].to_vec();
    mutate(random, &mut part, other);
    // Sections keep their places: what damage adds is cut off, what it takes is filled with zeros.
    part.resize(end - begin, 0);
    bytes[begin..end].copy_from_slice(&part);
    let path = folder.join("program");
    std::fs::write(&path, &bytes).map_err(|error| error.to_string())?;
    let module = Module { path: path.display().to_string(), build_id: String::new() };
    let mut resolver = Resolver::with_debug_roots(Vec::new());
    for _ in 0..20 {
        resolver.resolve(&module, random.below(0x8000) as u64);
    }
    let _ = resolver.gaps();
    Ok(())
}

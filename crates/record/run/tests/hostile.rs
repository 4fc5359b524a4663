//! Bytes that nobody vouches for: damaged recordings of the samples, and numbers that no bytes back
//! up.
//!
//! Owns the cases; [`exercise`] reads what they give it in every way that views do. Memory is
//! limited, so that a number that is believed ends the test.

#![allow(clippy::unwrap_used)]

#[path = "hostile/exercise.rs"]
mod exercise;
#[path = "hostile/mutate.rs"]
mod mutate;

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use talea_flow::times::Bound;
use talea_model::Nanos;
use talea_run::container::{Container, SectionId, Tag, Writer};
use talea_run::lists::Lists;

use mutate::{Random, mutate};

/// The processes, or the packed traces, of the samples.
fn samples(extension: &str) -> Vec<Vec<u8>> {
    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { files(&path, found) } else { found.push(path) }
        }
    }
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples"), &mut found);
    found.retain(|path| path.extension().is_some_and(|e| e == extension));
    found.sort();
    assert!(!found.is_empty(), "no samples");
    found.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Structure and times of a packed trace.
fn parts(trace: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let container = Container::read(trace, Tag::RUN, Path::new("sample")).unwrap();
    let structure = container.get(SectionId::new(*b"STRC", 0)).unwrap().bytes.to_vec();
    (structure, container.all(Tag(*b"TIME")).map(|section| section.bytes.to_vec()).collect())
}

fn limit_memory() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let most = Rlimit { current: Some(4 << 30), maximum: None };
    setrlimit(Resource::As, most).unwrap();
}

/// How many cases: few where all tests run, more by `TALEA_TEST_CASES`.
fn cases() -> ProptestConfig {
    let wanted = std::env::var("TALEA_TEST_CASES").ok().and_then(|number| number.parse().ok());
    ProptestConfig::with_cases(wanted.unwrap_or(200))
}

#[test]
fn damaged_processes_are_survived() {
    limit_memory();
    let seeds = samples("live");
    proptest!(cases(), |(number: u64)| {
        let mut random = Random::new(number);
        let mut bytes = seeds[random.below(seeds.len())].clone();
        let other = &seeds[random.below(seeds.len())];
        mutate(&mut random, &mut bytes, other);
        exercise::live(&bytes);
    });
}

#[test]
fn damaged_selections_are_survived() {
    limit_memory();
    let processes = samples("live");
    let seeds = samples("kept");
    proptest!(cases(), |(number: u64)| {
        let mut random = Random::new(number);
        let mut bytes = seeds[random.below(seeds.len())].clone();
        let other = &seeds[random.below(seeds.len())];
        mutate(&mut random, &mut bytes, other);
        // The last ones have rings.
        let process = &processes[processes.len() - 1 - random.below(2)];
        exercise::selection(process, &bytes);
    });
}

#[test]
fn damaged_structures_and_times_are_survived() {
    limit_memory();
    let seeds: Vec<_> = samples("talea").iter().map(|trace| parts(trace)).collect();
    proptest!(cases(), |(number: u64)| {
        let mut random = Random::new(number);
        let (mut structure, mut times) = seeds[random.below(seeds.len())].clone();
        let other = &seeds[random.below(seeds.len())].0;
        if random.below(4) > 0 {
            mutate(&mut random, &mut structure, other);
        }
        let at = random.below(times.len());
        mutate(&mut random, &mut times[at], other);
        exercise::bundle(&structure, &times);
        // A hostile writer computes checksums, too.
        let mut writer = Writer::new(Vec::new(), Tag::RUN).unwrap();
        writer.append(SectionId::new(*b"STRC", 0), &structure).unwrap();
        for (number, times) in (0..).zip(&times) {
            writer.append(SectionId::new(*b"TIME", number), times).unwrap();
        }
        exercise::container(&writer.finish().unwrap());
    });
}

#[test]
fn damaged_lists_are_survived() {
    limit_memory();
    proptest!(cases(), |(number: u64)| {
        let mut random = Random::new(number);
        let mut bytes = exercise::records_of_lists(&mut random);
        let whole = Lists::of_records(&bytes);
        assert!(whole.len() > 1);
        exercise::lists(&bytes);
        let other = bytes.clone();
        mutate(&mut random, &mut bytes, &other);
        exercise::lists(&bytes);
    });
}

#[test]
fn damaged_containers_are_survived() {
    limit_memory();
    let seeds = samples("talea");
    proptest!(cases(), |(number: u64)| {
        let mut random = Random::new(number);
        let mut bytes = seeds[random.below(seeds.len())].clone();
        mutate(&mut random, &mut bytes, &seeds[0]);
        exercise::container(&bytes);
    });
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_stream_is_survived(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        shift in 0..64_u32
    ) {
        exercise::numbers(&bytes, u64::MAX >> shift);
    }

    #[test]
    fn any_times_under_any_bound_are_survived(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        relative_ppm: u32, absolute: u64, drift: u64, shift in 0..64_u32,
    ) {
        let (absolute, drift) = (Nanos(absolute >> shift), Nanos(drift >> shift));
        exercise::cells(&bytes, Bound { relative_ppm, absolute, drift });
    }
}

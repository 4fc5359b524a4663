//! Recordings that claim more than they are.

use std::path::Path;

use talea_formats::paje::{Container, Trace, Value};
use talea_run::container::{ReadError as ContainerError, Tag};
use talea_run::journal::Writer;
use talea_topology::{synthetic, xml};

use super::*;

/// A recording of these monitors on a small machine, with further blocks.
fn written(monitors: &str, machine: &str, blocks: &[(Tag, Vec<u8>)]) -> Vec<u8> {
    let about = About { format: FORMAT, monitors: monitors.to_owned(), ..About::default() };
    let objects = xml::write(&synthetic::parse(machine).unwrap(), xml::Version::Three);
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, KIND).unwrap();
    writer.append(HEAD, &serde_json::to_vec(&about).unwrap()).unwrap();
    writer.append(OBJECTS, &zstd::bulk::compress(objects.as_bytes(), 1).unwrap()).unwrap();
    for (tag, payload) in blocks {
        writer.append(*tag, payload).unwrap();
    }
    bytes
}

fn read_bytes(bytes: &[u8]) -> Result<Recording, ReadError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.talea");
    std::fs::write(&path, bytes).unwrap();
    read(&path, None, &mut Gaps::default())
}

fn details(recording: &Recording) -> Vec<&str> {
    recording.gaps.iter().map(|gap| gap.detail.as_str()).collect()
}

/// A block of so many frames of monitors without objects: three bytes each, which pack to nothing.
fn hollow_frames(count: u64, monitors: usize) -> Vec<u8> {
    use talea_run::live::numbers::put_number;
    let mut out = Vec::new();
    put_number(&mut out, count);
    put_number(&mut out, monitors as u64);
    out.resize(out.len() + monitors + 3 * count as usize, 0);
    zstd::bulk::compress(&out, 1).unwrap()
}

#[test]
fn frames_without_values_take_room_too() {
    // Each of them would take 24 KiB of memory in lists that are empty.
    let monitors: Vec<String> =
        (0..1000).map(|n| format!("M{n}{{ OBJ = L5; CTR = page-faults; }}")).collect();
    let monitors = monitors.join("\n");
    let blocks = vec![(FRAMES, hollow_frames(1 << 18, 1000)); 20];
    let recording = read_bytes(&written(&monitors, "core:2 pu:1", &blocks)).unwrap();
    assert!(recording.frames.is_empty());
    let told = "more than 1024 MiB of values, the rest is not read";
    assert!(details(&recording).contains(&told), "{:?}", details(&recording));
}

#[test]
fn many_damaged_blocks_are_told_in_few_words() {
    let blocks = vec![(PHASE, b"{}".to_vec()); 1000];
    let recording = read_bytes(&written("", "pu:1", &blocks)).unwrap();
    let details = details(&recording);
    assert_eq!(details.len(), MOST_TOLD + 2, "{details:?}");
    let told = "900 more blocks hold what they should not and are left out";
    assert!(details.contains(&told), "{details:?}");
}

#[test]
fn threads_that_may_run_everywhere_take_bounded_room() {
    let thread = r#"{"pid":1,"tid":1,"name":"","pu":0,"allowed":"0-131071","running":true}"#;
    let places = format!(r#"{{"at_ns":1,"threads":[{}]}}"#, vec![thread; 20_000].join(","));
    let blocks = vec![(PLACES, places.into_bytes()); 2];
    let recording = read_bytes(&written("", "pu:1", &blocks)).unwrap();
    let threads = recording.placement.iter().flat_map(|sample| &sample.threads);
    let sets: usize = threads.clone().map(|thread| thread.allowed.bytes()).sum();
    assert_eq!(threads.count(), 40_000);
    assert!(sets <= 1 << 28, "{sets}");
    let told = "the PUs that some threads may use cannot be read";
    assert!(details(&recording).contains(&told), "{:?}", details(&recording));
}

#[test]
fn what_never_ends_is_no_recording() {
    let error = read(Path::new("/dev/zero"), None, &mut Gaps::default()).unwrap_err();
    let expected = "expected a recording of at most 268435456 bytes, found more: `/dev/zero`";
    assert_eq!(error.to_string(), expected);
    let error = read(Path::new("/dev/null"), None, &mut Gaps::default()).unwrap_err();
    assert!(matches!(error, ReadError::Journal(ContainerError::Magic { .. })), "{error}");
}

#[test]
fn values_of_text_take_bounded_room() {
    let topology = synthetic::parse("core:8 pu:2").unwrap();
    let container = |id: u64| Container {
        id,
        level: "PU".to_owned(),
        sibling: 0,
        name: format!("m{id}"),
        log_scale: false,
    };
    // Each value of the first begins a frame of all others.
    let value = |time_us: u64| Value { id: 0, phase: 0, time_us, value: 1.0 };
    let trace = Trace {
        containers: (0..5000).map(container).collect(),
        values: (0..40_000).map(value).collect(),
        ..Trace::default()
    };
    let words = 1 << 20;
    let recording = paje::from_paje_within(&trace, topology, words);
    assert_eq!((recording.monitors.len(), recording.frames.len()), (1024, 48));
    assert!(48 * words_of_frame(&[16; 1024]) <= words);
    let details = details(&recording);
    let all = [
        "more than 8 MiB of values, the rest is not read",
        "values of 3876 more containers, which this topology does not have",
    ];
    for told in all {
        assert!(details.contains(&told), "{details:?}");
    }
}

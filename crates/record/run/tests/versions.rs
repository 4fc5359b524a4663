//! Files of other versions: what an earlier one wrote is read for ever, what a later one writes is
//! refused by name.
//!
//! Owns `samples/version-N`: a run that finished and one whose processes were killed, as version N
//! left them, and in `events.txt` what they mean. Neither ever changes; a new version gets a folder
//! of its own.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use talea_run::bundle::{self, Bundle};
use talea_run::container::{self, Container, SectionId, Tag};
use talea_run::live::{LiveProcess, layout};
use talea_run::{Metadata, Recording, RunDirectory, SiteTable, trace};

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

/// A line for each rank with a checksum of all its events, and the first of them in words.
fn events(recording: &Recording) -> String {
    let mut text = String::new();
    for process in &recording.processes {
        for place in &process.places {
            let number = place.tid - process.pid;
            let (name, allowed, last) = (&place.name, &place.allowed, place.last);
            writeln!(text, "thread +{number} {name} on {allowed}, last {last}").unwrap();
        }
        for thread in &process.threads {
            let mut lines = Vec::new();
            let mut events = process.events(recording, thread);
            while let Some(event) = events.next_event() {
                let signature = thread.log.nodes[event.node.0 as usize].signature;
                let frames = &recording.paths[signature.path.0 as usize];
                lines.push(format!(
                    "{} {:?} {:?} {:?} {} {:x}",
                    recording.procedure(signature.procedure).name,
                    event.begin.map(|begin| begin.0),
                    event.duration.map(|duration| duration.0),
                    event.args,
                    event.polls,
                    frames.first().map_or(0, |frame| frame.offset),
                ));
            }
            let sum = container::checksum(lines.join("\n").as_bytes());
            let (rank, ended, open) = (process.location.rank, process.ended, process.open);
            let open = open.map(|open| recording.procedure(open.procedure).name.as_str());
            writeln!(
                text,
                "rank {rank}, {ended:?}, {} events, checksum {sum:08x}, open {open:?}",
                lines.len()
            )
            .unwrap();
            for time in &thread.pu_times {
                let [at, ran] = [time.at, time.ran].map(|time| time.0);
                writeln!(text, "    at {at} ran {ran}, delayed {:?}", time.delayed.map(|d| d.0))
                    .unwrap();
            }
            for line in lines.iter().take(12).chain(lines.last()) {
                writeln!(text, "    {line}").unwrap();
            }
        }
    }
    for gap in &recording.gaps {
        writeln!(text, "{}", gap.detail).unwrap();
    }
    text
}

#[test]
fn earlier_versions_are_read() {
    let mut versions = 0;
    for entry in fs::read_dir(samples()).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        versions += 1;
        let mut found = String::new();
        for name in ["finished", "killed"] {
            let run = RunDirectory::open(&folder.join(name)).unwrap();
            let metadata = run.metadata().unwrap();
            writeln!(found, "# {}: {:?}", metadata.command, metadata.outcome).unwrap();
            found.push_str(&events(&trace::load(&run).unwrap()));
        }
        let sites = SiteTable::read(&folder.join("finished/sites.json")).unwrap();
        for address in &sites.addresses {
            let frames: Vec<String> =
                address.frames.iter().map(talea_model::ResolvedFrame::short).collect();
            writeln!(found, "{:x} {}", address.address.offset, frames.join(" < ")).unwrap();
        }
        let expected = fs::read_to_string(folder.join("events.txt")).unwrap_or_default();
        assert!(found == expected, "{}:\n{found}", folder.display());
    }
    // One for each version there ever was.
    assert_eq!(versions, container::VERSION.max(layout::VERSION).max(bundle::VERSION as u32));
}

/// What is said of a file of a later version: `{found}` and the newest that is known.
fn newer(found: u64, newest: u64) -> String {
    format!("made by a newer talea: version {found}, this one reads up to {newest}")
}

#[test]
fn later_versions_are_refused_by_name() {
    let run = samples().join("version-1/finished");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let named = |text: String| format!("{text}: `{}`", path.display());

    let next = u64::from(container::VERSION) + 1;
    let mut trace = fs::read(run.join("trace.talea")).unwrap();
    trace[8..12].copy_from_slice(&(next as u32).to_le_bytes());
    let sum = container::checksum(&trace[..20]);
    trace[20..24].copy_from_slice(&sum.to_le_bytes());
    let error = Container::read(&trace, Tag::RUN, &path).unwrap_err();
    assert_eq!(error.to_string(), named(newer(next, next - 1)));

    let trace = fs::read(run.join("trace.talea")).unwrap();
    let read = Container::read(&trace, Tag::RUN, &path).unwrap();
    let mut structure = read.get(SectionId::new(*b"STRC", 0)).unwrap().bytes.to_vec();
    structure[0] = bundle::VERSION as u8 + 1;
    let error = Bundle::from_bytes(&structure, 3).unwrap_err();
    assert_eq!(error.to_string(), newer(bundle::VERSION + 1, bundle::VERSION));

    let mut live = fs::read(samples().join("version-1/killed/live/demo-0.live")).unwrap();
    let next = layout::VERSION + 1;
    live[8..12].copy_from_slice(&next.to_le_bytes());
    let error = LiveProcess::read(&live).unwrap_err();
    assert_eq!(error.to_string(), newer(next.into(), layout::VERSION.into()));

    // What else is in a later file nobody can know.
    fs::write(&path, r#"{"format": 2, "argv": {"words": 3}, "addresses": "elsewhere"}"#).unwrap();
    let expected = named(newer(2, 1));
    assert_eq!(Metadata::read(&path).unwrap_err().to_string(), expected);
    assert_eq!(SiteTable::read(&path).unwrap_err().to_string(), expected);
}

#[test]
fn a_run_of_a_later_version_says_so_in_its_gaps() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunDirectory::create(Some(&dir.path().join("run")), "unused").unwrap();
    let live = fs::read(samples().join("version-1/killed/live/demo-0.live")).unwrap();
    fs::write(run.live().join("good.live"), &live).unwrap();
    let mut newer = live;
    newer[8] = 9;
    fs::write(run.live().join("newer.live"), &newer).unwrap();
    let recording = trace::load(&run).unwrap();
    assert_eq!(recording.processes.len(), 1);
    let wanted = format!(
        "made by a newer talea: version 9, this one reads up to {}: `{}`",
        layout::VERSION,
        run.live().join("newer.live").display()
    );
    assert!(recording.gaps.iter().any(|gap| gap.detail == wanted), "{:?}", recording.gaps);
}

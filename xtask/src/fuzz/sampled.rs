//! Damage to files of samples, behind the checksums that would stop it at the door.
//!
//! Owns the sample, which is made here, and what is done with whatever can still be read of it.

use std::path::Path;

use talea_model::{Frame, Module, Nanos, Rank};
use talea_run::container::Tag;
use talea_run::journal::{Journal, Writer as JournalWriter};
use talea_run::samples::records::{Entries, Header, Record};
use talea_run::samples::{
    self, Counter, KIND, MOST_FRAMES, Node, ProcessSamples, Stacks, World, Writer,
};

use super::mutate::{Random, mutate};

/// A file with all kinds of records.
pub(super) fn files() -> Result<Vec<Vec<u8>>, String> {
    let failed = |error: std::io::Error| error.to_string();
    let counter = |name: &str| Counter { name: name.to_owned(), unit: String::new() };
    let header = Header {
        host: "n1".to_owned(),
        pid: 7,
        command: vec!["./app".to_owned()],
        counters: ["task-clock", "page-faults", "cycles"].map(counter).into(),
        sets: vec![vec![0, 1], vec![0, 2]],
        ..Header::default()
    };
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, header).map_err(failed)?;
    let node = |at: u32| Node {
        parent: at.checked_sub(1).unwrap_or(Stacks::OUTERMOST),
        frame: Frame { module: 0, offset: u64::from(at) * 37 },
    };
    let module = Module { path: "/app".to_owned(), build_id: "ab".to_owned() };
    let entries = |set: u32| Entries {
        thread: set,
        set,
        turn: set,
        times: (0..40).map(|i| 1000 + i * 10).collect(),
        values: (0..80).map(|i| i * i).collect(),
    };
    for record in [
        Record::Modules { first: 0, modules: vec![module] },
        Record::Nodes { first: 0, nodes: (0..60).map(node).collect() },
        Record::Thread { thread: 0, tid: 7, name: "app".to_owned(), begin: Nanos(1) },
        Record::Thread { thread: 1, tid: 8, name: "other".to_owned(), begin: Nanos(2) },
        Record::Samples(entries(0), (0..40).collect()),
        Record::Probes(entries(1), (0..40).collect()),
        Record::World(World { rank: Rank(1), size: 2, id: 3 }),
        Record::State {
            thread: 1,
            number: Some(0),
            end: None,
            lost_samples: 3,
            lost_probes: 4,
            lost_phases: 5,
        },
        Record::End { at: Nanos(9000) },
    ] {
        writer.append(&record).map_err(failed)?;
    }
    writer.flush().map_err(failed)?;
    drop(writer);
    Ok(vec![bytes])
}

/// Damages some blocks, with checksums that fit.
pub(super) fn damage(random: &mut Random, bytes: &mut Vec<u8>) -> Result<(), String> {
    let path = Path::new("sample");
    let journal = Journal::read(bytes, KIND, path).map_err(|error| error.to_string())?;
    let mut new = Vec::new();
    let mut writer = JournalWriter::new(&mut new, KIND).map_err(|error| error.to_string())?;
    let other = journal.blocks[random.below(journal.blocks.len())].bytes;
    for block in &journal.blocks {
        let mut payload = block.bytes.to_vec();
        if random.below(3) == 0 {
            mutate(random, &mut payload, other);
        }
        let tag: Tag = block.tag;
        for _ in 0..=usize::from(random.below(8) == 0) {
            writer.append(tag, &payload).map_err(|error| error.to_string())?;
        }
    }
    *bytes = new;
    Ok(())
}

/// Walks everything that a reader might.
pub(super) fn file(bytes: &[u8]) -> Result<(), String> {
    let Ok(found) = samples::read(bytes, Path::new("any")) else { return Ok(()) };
    found.processes.iter().try_for_each(process)
}

fn process(process: &ProcessSamples) -> Result<(), String> {
    for thread in &process.threads {
        for series in [&thread.samples.series, &thread.probes.series] {
            for counter in 0..process.counters.len() {
                if series.column(counter, &process.sets).len() != series.len() {
                    return Err("a column of another length".to_owned());
                }
            }
        }
        for &stack in &thread.samples.stacks {
            if process.stacks.frames(stack).count() > MOST_FRAMES {
                return Err("a stack too deep".to_owned());
            }
        }
    }
    Ok(())
}

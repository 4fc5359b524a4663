//! Everything that reads bytes from outside, given some; whatever it makes of them will do.
//!
//! Owns one function for each format. None of them may panic, take memory that its bytes do not
//! account for, or run for long. Used by the property tests and by `cargo xtask fuzz`.

use std::path::Path;

use talea_flow::codec::sequence::{self, Bounds};
use talea_flow::codec::times;
use talea_flow::times::Quantiser;
use talea_model::Nanos;
use talea_run::bundle::{Bundle, ProcessTimes};
use talea_run::container::{Container, SectionId, Tag, checksum};
use talea_run::limits::Limits;
use talea_run::lists::record::put_full;
use talea_run::lists::{Change, Lists};
use talea_run::live::LiveProcess;
use talea_run::live::follow::ProcessFollower;
use talea_run::live::read::NodeSums;
use talea_run::live::selection::Kept;
use talea_run::recording::{Recording, Sizes};

use super::mutate::Random;

/// Small, so that what goes up to it takes no time.
const LIMITS: Limits = Limits { runs: 1 << 16, steps: 1 << 17 };
/// Maximum number of events that are read; a legal file may claim any number of identical ones.
const LOOKED_AT: usize = 1 << 14;

/// A packed trace.
pub(crate) fn container(bytes: &[u8]) {
    let Ok(container) = Container::read(bytes, Tag::RUN, Path::new("trace.talea")) else { return };
    let Some(structure) = container.get(SectionId::new(*b"STRC", 0)) else { return };
    let times: Vec<Vec<u8>> =
        container.all(Tag(*b"TIME")).map(|section| section.bytes.to_vec()).collect();
    bundle(structure.bytes, &times);
}

/// The structure and the times of a packed trace.
pub(crate) fn bundle(structure: &[u8], times: &[Vec<u8>]) {
    let Ok(bundle) = Bundle::from_bytes(structure, times.len()) else { return };
    // As when several traces are read.
    let mut twice = bundle.clone();
    twice.merge(&bundle);
    twice.part_sizes();
    recording(&bundle.into_recording_within(times.to_vec(), Sizes::default(), LIMITS));
    recording(&twice.into_recording_within(times.to_vec(), Sizes::default(), LIMITS));
}

/// A mapped file, as it is packed and as it is read.
pub(crate) fn live(bytes: &[u8]) {
    if let Ok(mut follower) = ProcessFollower::new(bytes) {
        for _ in 0..3 {
            follower.look(LOOKED_AT as u64, &mut |_, _| ());
        }
        for at in 0..follower.threads().len() {
            follower.threads()[at].successors();
            follower.sums(at);
        }
    }
    let Ok(process) = LiveProcess::read_within(bytes, LIMITS) else { return };
    let mut packed = Bundle::from_live(&process);
    let times = packed.take_times();
    bundle(&packed.to_message(), &times);
    bundle(&packed.to_bytes(), &times);
    let (bundle, times) = Bundle::from_mapped(process);
    let times = [ProcessTimes::Mapped(times)];
    recording(&bundle.into_recording_within(times, Sizes::default(), LIMITS));
}

/// Times that were selected of a process, as they are packed and as they are read.
pub(crate) fn selection(process: &[u8], bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= 16 {
        let sum = checksum(&bytes[16..]);
        bytes[12..16].copy_from_slice(&sum.to_le_bytes());
    }
    let Ok(kept) = Kept::from_bytes(&bytes, Path::new("demo.kept")) else { return };
    let Ok(mut process) = LiveProcess::read_within(process, LIMITS) else { return };
    process.take_kept(kept);
    let mut packed = Bundle::from_live(&process);
    let times = packed.take_times();
    bundle(&packed.to_bytes(), &times);
    let (bundle, times) = Bundle::from_mapped(process);
    let times = [ProcessTimes::Mapped(times)];
    recording(&bundle.into_recording_within(times, Sizes::default(), LIMITS));
}

fn recording(recording: &Recording) {
    recording.events();
    for process in &recording.processes {
        for thread in &process.threads {
            let mut lists = recording.lists.cursor();
            let mut events = process.events(recording, thread);
            for _ in 0..LOOKED_AT {
                let Some(event) = events.next_event() else { break };
                let args = event.args.to_vec();
                for &arg in &args {
                    recording.world_rank(process, args.first().copied(), arg);
                    lists.get(arg).and_then(|list| list.get(0));
                }
            }
            for from in [1 << 20, u64::MAX] {
                let mut later = process.events(recording, thread);
                if thread.log.events < LOOKED_AT as u64 {
                    later.skip_to(Nanos(from));
                    while later.next_event().is_some() {}
                }
            }
            thread.exact_sums(recording, vec![NodeSums::NONE; thread.log.nodes.len()]);
            process.cells(recording, thread).take(LOOKED_AT).count();
        }
    }
}

/// Records of lists. Entries are backed by bytes, however the lists are made from each other.
pub(crate) fn lists(bytes: &[u8]) {
    let lists = Lists::of_records(bytes);
    let mut cursor = lists.cursor();
    for id in (0..lists.len()).chain((0..lists.len()).rev().take(LOOKED_AT)) {
        let Some(list) = cursor.get(id as i64) else { panic!("list {id} is not there") };
        assert!(list.len() <= bytes.len());
        assert_eq!(list.get(0).is_some(), !list.is_empty());
    }
}

/// Records of lists as a program with many requests leaves them, to be damaged.
pub(crate) fn records_of_lists(random: &mut Random) -> Vec<u8> {
    let (mut bytes, mut length) = (Vec::new(), 1 + random.below(40) as u32);
    put_full(&mut bytes, &(0..i64::from(length)).rev().collect::<Vec<_>>());
    put_full(&mut bytes, &[0]);
    for id in 2..2 + random.below(60) as u32 {
        let before = length;
        length = (length + random.below(3) as u32).saturating_sub(1);
        let mut entries: Vec<(u32, i64)> =
            (before..length).map(|position| (position, random.below(9) as i64 - 2)).collect();
        if random.below(2) == 0 && before.min(length) > 0 {
            entries.insert(0, (random.below(before.min(length) as usize) as u32, -1));
        }
        let nulls = (random.below(4) == 0).then_some(1);
        let base = if id == 2 { 0 } else { id - 1 };
        let shift = random.below(3) as i64;
        Change { base, length, shift, nulls, entries }.put(&mut bytes, id, before);
    }
    bytes
}

/// A stream of numbers.
pub(crate) fn numbers(bytes: &[u8], length: u64) {
    let mut bounds = Bounds { runs: LIMITS.runs, steps: LIMITS.steps };
    if let Ok(values) = sequence::decode_all(bytes, length, &mut bounds) {
        assert_eq!(values.len(), length);
        assert!(values.kept() <= LIMITS.runs && values.run_count() <= LIMITS.steps);
    }
}

/// A stream of times, quantised and exact.
pub(crate) fn cells(bytes: &[u8], bound: talea_flow::times::Bound) {
    let quantiser = Quantiser::new(bound);
    for form in [times::Form::Bits, times::Form::Symbols] {
        let mut decoder = times::Decoder::new(form, bytes, |index| quantiser.extra_bits(index));
        for event in 0..LOOKED_AT as u32 {
            let Ok((gap, duration)) = decoder.next(event % 7, event % 5) else { break };
            quantiser.restore(gap);
            quantiser.restore(duration);
        }
        let _ = decoder.finish();
    }
    let mut decoder = times::exact::Decoder::new(bytes);
    let read = (0..LOOKED_AT as u32).take_while(|i| decoder.next(i % 7, i % 5).is_ok()).count();
    assert!(read <= LOOKED_AT);
}

//! Data that go into the recorder must come out of the live file, a bundle, its bytes, and a
//! recording.

use proptest::prelude::*;
use talea_flow::times::Bound;
use talea_model::Nanos;
use talea_run::MappedRegion;
use talea_run::bundle::{Bundle, ProcessTimes};
use talea_run::live::LiveProcess;
use talea_run::live::follow::{Followed, ProcessFollower, Source};
use talea_run::live::layout::{self, Sync};
use talea_run::live::pieces::{KeptThread, Mark, Piece};
use talea_run::live::read::NodeSums;
use talea_run::live::record::put_procedure;
use talea_run::live::selection::Kept;
use talea_run::recording::{Recording, Sizes};

use super::*;
use crate::abi::entry::ENTRIES;

/// Uses the words themselves as values, so that output can be compared with input.
struct AsTheyAre;

impl Translate for AsTheyAre {
    fn translate(&mut self, plan: &Plan, words: &[u64], values: &mut [i64]) {
        for (value, word) in values.iter_mut().zip(&words[..plan.columns.len()]) {
            *value = *word as i64;
        }
    }
    fn epoch(&self) -> u32 {
        0
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Call {
    node: usize,
    args: [u64; 4],
    gap: u64,
    duration: u64,
    polls: u64,
}

const NAMES: [&str; 4] = ["MPI_Bcast", "MPI_Barrier", "MPI_Scatter", "MPI_Waitall"];

fn record(calls: &[Call]) -> Vec<u8> {
    record_and_look(calls, false, |_| {})
}

/// Records calls, with times in a ring or not; `look` is called with the memory after each of them.
fn record_and_look(
    calls: &[Call],
    is_ring: bool,
    mut look: impl FnMut(&'static Memory),
) -> Vec<u8> {
    let region = MappedRegion::anonymous(64 << 20).unwrap();
    let memory: &'static Memory = Box::leak(Box::new(Memory::new(region).unwrap()));
    let quantiser = Arc::new(Quantiser::new(Bound::default()));
    // SAFETY: the memory is fresh and used by this thread only.
    unsafe {
        let header = &mut *memory.header();
        header.magic = layout::MAGIC;
        header.version = layout::VERSION;
        header.tick_mult = 1 << 32;
        header.bound_relative = 20_000;
        header.bound_absolute = 100;
        header.bound_drift = 10_000;
        header.state = layout::state::FINALIZED;
        header.syncs[1] = Sync { ticks: 1 << 60, nanos: 1 << 60 };
        header.sync_count = 2;
        header.size = 1;
        header.ring = u32::from(is_ring);
        let offset = memory.allocate(size_of::<Thread>() as u64).unwrap();
        let thread = memory.at::<Thread>(offset);
        header.threads[0] = offset;
        header.thread_count = 1;
        let mut recorder = Recorder::new(memory, thread, quantiser, TimesMode::Bounded);
        let mut nodes: Vec<Option<HotNode>> = (0..NAMES.len()).map(|_| None).collect();
        let mut now = 0;
        for call in calls {
            let count = (*thread).node_count;
            let hot = nodes[call.node].get_or_insert_with(|| {
                let name = NAMES[call.node];
                let entry = ENTRIES.iter().find(|e| e.name.to_str() == Ok(name)).unwrap();
                let plan: &'static Plan = Box::leak(Box::new(Plan::new(entry)));
                let mut bytes = Vec::new();
                put_procedure(&mut bytes, plan.procedure, &plan.spec);
                memory.append(&raw mut (*memory.header()).procedures, &bytes).unwrap();
                let offset = memory.allocate(size_of::<Node>() as u64).unwrap();
                let node = memory.at::<Node>(offset);
                (*node).index = count;
                (*node).procedure = plan.procedure;
                (*node).columns = plan.columns.len() as u32;
                (*node).path_len = 1;
                (*node).path[0].offset = call.node as u64;
                if (*thread).last_node == 0 {
                    (*thread).first_node = offset;
                } else {
                    (*memory.at::<Node>((*thread).last_node)).next = offset;
                }
                (*thread).last_node = offset;
                (*thread).node_count += 1;
                HotNode::new(node, plan, count)
            });
            let mut words = [0_u64; MAX_WORDS];
            words[..4].copy_from_slice(&call.args);
            let used = hot.plan.words();
            let begin = now + call.gap;
            now = begin + call.duration;
            let same = hot.is_current(words.as_ptr());
            let words = &words[..used];
            recorder.event(hot, begin, now, words, same, call.polls, &mut AsTheyAre);
            look(memory);
        }
        assert!(recorder.full.is_none());
        memory.bytes().to_vec()
    }
}

/// Input must equal output, through the live file, a bundle, its bytes, and a recording; and
/// through the live file alone.
fn check(calls: &[Call]) {
    let live = LiveProcess::read(&record(calls)).unwrap();
    assert!(live.damage.is_empty(), "{:?}", live.damage);
    let mut bundle = Bundle::from_live(&live);
    let times = bundle.take_times();
    // The two ways in which bundles travel.
    let bundle = Bundle::from_bytes(&bundle.to_message(), 1).unwrap();
    let bundle = Bundle::from_bytes(&bundle.to_bytes(), 1).unwrap();
    let packed = bundle.into_recording(times, Sizes::default());
    let (bundle, times) = Bundle::from_mapped(live);
    let mapped = bundle.into_recording([ProcessTimes::Mapped(times)], Sizes::default());
    let [of_packed, of_mapped] = [&packed, &mapped].map(|recording| compare(calls, recording));
    assert_eq!(of_packed, of_mapped);
}

/// Compares a recording with the calls that were recorded; its times, then the exact sums.
fn compare(calls: &[Call], recording: &Recording) -> (Vec<[Nanos; 3]>, Vec<NodeSums>) {
    let (mut times, mut found) = (Vec::new(), Vec::new());
    let process = &recording.processes[0];
    let thread = &process.threads[0];
    found.resize(thread.log.nodes.len(), NodeSums::NONE);
    let mut events = process.events(recording, thread);
    let mut now = 0;
    let bound = Bound::default();
    for (number, call) in calls.iter().enumerate() {
        let event = events.next_event().unwrap_or_else(|| panic!("event {number} is missing"));
        let log = &thread.log.nodes[event.node.0 as usize];
        let spec = recording.procedure(log.signature.procedure);
        assert_eq!(spec.name, NAMES[call.node], "event {number}");
        let columns = spec.args.len();
        let expected: Vec<i64> =
            call.args.iter().chain([&0; 20]).take(columns).map(|&a| a as i64).collect();
        assert_eq!(event.args, expected, "event {number}");
        assert_eq!(event.polls, call.polls, "event {number}");
        let begin = now + call.gap;
        now = begin + call.duration;
        assert!(event.begin.unwrap().0.abs_diff(begin) <= bound.drift.0 + 1);
        let duration = event.duration.unwrap().0;
        assert!(duration.abs_diff(call.duration) <= bound.tolerance(Nanos(call.duration)).0 + 1);
        let own = [event.gap, event.begin, event.duration].map(Option::unwrap);
        found[event.node.0 as usize].add(own[0], own[2]);
        times.push(own);
    }
    assert!(events.next_event().is_none());
    (times, thread.exact_sums(recording, found))
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let call = (
        0..NAMES.len(),
        prop_oneof![0..3_u64, 0..5_000_u64],
        0..2_u64,
        0..100_000_u64,
        0..3_000_000_u64,
    )
        .prop_map(|(node, a, b, gap, duration)| Call {
            node,
            args: [a, b, a / 7, 3],
            gap,
            duration,
            polls: if a % 11 == 10 { a } else { 1 },
        });
    // Pieces are repeated, so that predictions are made, kept and broken.
    proptest::collection::vec((proptest::collection::vec(call, 1..12), 1..40_usize), 1..12)
        .prop_map(|pieces| {
            pieces.into_iter().flat_map(|(piece, times)| piece.repeat(times)).collect()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn what_is_recorded_comes_back(calls in calls()) {
        check(&calls);
    }
}

/// The memory as a file that grows.
struct Growing(&'static Memory);

impl Source for Growing {
    fn stored(&self) -> u64 {
        self.0.used()
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> usize {
        // SAFETY: nothing is recorded during a look.
        unsafe { self.0.bytes() }.read(offset, into)
    }
}

/// Events that were found at looks after these numbers of calls, with those left to later looks
/// where only `most` are read at once.
fn follow(calls: &[Call], at: impl Fn(usize) -> bool, most: u64) -> Vec<Followed> {
    let mut found = Vec::new();
    let mut follower = None;
    let mut number = 0;
    let bytes = record_and_look(calls, false, |memory| {
        number += 1;
        if at(number) || number == calls.len() {
            let follower =
                follower.get_or_insert_with(|| ProcessFollower::new(Growing(memory)).unwrap());
            let mut left = 1;
            while left > 0 {
                let looked = follower.look(most, &mut |_, event| found.push(event));
                left = looked.left;
                assert!(looked.events > 0 || left == 0);
            }
            assert_eq!(found.len(), number);
        }
    });
    let Some(mut follower) = follower else { return found };
    let live = LiveProcess::read(&bytes).unwrap();
    assert_eq!(follower.sums(0), live.threads[0].sums);
    let [thread] = follower.threads() else { panic!("{} threads", follower.threads().len()) };
    assert!(!thread.is_damaged() && !thread.is_without_times());
    let log = &live.threads[0].log;
    let known: Vec<Vec<u32>> =
        log.nodes.iter().map(|node| node.successors.iter().map(|to| to.0).collect()).collect();
    assert_eq!(thread.successors(), known);
    assert!(found.iter().map(|one| one.node).eq(log.walk().map(|node| node.0)));
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn looks_find_what_is_recorded(calls in calls(), every in 1..40_usize, most in 1..50_u64) {
        let once = follow(&calls, |_| false, u64::MAX);
        prop_assert_eq!(&follow(&calls, |number| number % every == 0, u64::MAX), &once);
        prop_assert_eq!(&follow(&calls, |number| number % 100 == 99, most), &once);
        // The times are those of the recording.
        let live = LiveProcess::read(&record(&calls)).unwrap();
        let (bundle, times) = Bundle::from_mapped(live);
        let recording = bundle.into_recording([ProcessTimes::Mapped(times)], Sizes::default());
        let (whole, _) = compare(&calls, &recording);
        let times = once.iter().map(|one| one.times.unwrap());
        prop_assert!(times.eq(whole.iter().map(|one| (one[1], one[1] + one[2]))));
    }
}

/// Times of an event as they must come back.
type Expected = Option<(Nanos, Nanos)>;

/// Reads the ring of a thread at looks after these numbers of calls, and gives its chunks back;
/// what was kept, and the times of each event, those of the ring's rest included.
fn ring(
    calls: &[Call],
    at: impl Fn(usize) -> bool,
    is_kept: impl Fn(u64) -> bool,
) -> (Vec<u8>, Kept, Vec<Expected>) {
    let (mut follower, mut number) = (None, 0);
    let mut own = KeptThread::default();
    let mut times: Vec<Expected> = Vec::new();
    let mut ends = Vec::new();
    let bytes = record_and_look(calls, true, |memory| {
        number += 1;
        if !at(number) {
            return;
        }
        let follower =
            follower.get_or_insert_with(|| ProcessFollower::new(Growing(memory)).unwrap());
        follower.look(u64::MAX, &mut |_, event: Followed| {
            let (begin, end) = event.times.unwrap();
            let number = times.len() as u64;
            let before = ends.last().copied().unwrap_or_default();
            ends.push(end.0);
            times.push(is_kept(number).then_some((begin, end)));
            if !is_kept(number) {
                if number.is_multiple_of(64) {
                    own.marks.push(Mark { event: number, begin: begin.0 });
                }
                return;
            }
            let is_next = number > 0 && is_kept(number - 1);
            match own.pieces.last_mut().filter(|_| is_next) {
                Some(piece) => piece.bytes.extend_from_slice(event.entry.bytes()),
                None => own.pieces.push(Piece {
                    first: number,
                    end: before,
                    bytes: event.entry.bytes().to_vec(),
                }),
            }
        });
        let thread = &follower.threads()[0];
        own.offset = thread.offset();
        own.events = thread.events();
        let (word, chunk) = thread.ring_position().unwrap();
        // SAFETY: nothing is recorded meanwhile.
        unsafe { memory.at::<u64>(word).write(chunk) };
    });
    // Events that were not read are in the ring.
    let whole = follow(calls, |_| false, u64::MAX);
    times.extend(whole[times.len()..].iter().map(|event| event.times));
    (bytes, Kept { threads: vec![own] }, times)
}

fn times_of(recording: &Recording) -> (Vec<Expected>, Vec<NodeSums>) {
    let process = &recording.processes[0];
    let thread = &process.threads[0];
    let mut sums = vec![NodeSums::NONE; thread.log.nodes.len()];
    let mut times = Vec::new();
    let mut events = process.events(recording, thread);
    while let Some(event) = events.next_event() {
        if let (Some(gap), Some(duration)) = (event.gap, event.duration) {
            sums[event.node.0 as usize].add(gap, duration);
        }
        times.push(event.begin.zip(event.duration).map(|(begin, time)| (begin, begin + time)));
    }
    (times, thread.exact_sums(recording, sums))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn a_ring_has_what_was_kept_and_what_was_not_read(
        calls in calls(),
        every in 1..900_usize,
        kept in 1..90_u64,
        of in 1..200_u64,
        more in 1..6_usize,
    ) {
        let calls = calls.repeat(more);
        let (bytes, all, expected) =
            ring(&calls, |number| number.is_multiple_of(every), |number| number % of < kept);
        let mut live = LiveProcess::read(&bytes).unwrap();
        prop_assert!(live.damage.is_empty(), "{:?}", live.damage);
        live.take_kept(all);
        let sums = live.threads[0].sums.clone();
        let mut bundle = Bundle::from_live(&live);
        let times = bundle.take_times();
        let bundle = Bundle::from_bytes(&bundle.to_bytes(), 1).unwrap();
        let packed = bundle.into_recording(times, Sizes::default());
        let (bundle, times) = Bundle::from_mapped(live);
        let mapped = bundle.into_recording([ProcessTimes::Mapped(times)], Sizes::default());
        for recording in [packed, mapped] {
            let (times, found) = times_of(&recording);
            prop_assert_eq!(times.len(), expected.len());
            for (at, (found, expected)) in times.iter().zip(&expected).enumerate() {
                prop_assert_eq!(found.is_some(), expected.is_some(), "event {}", at);
                let off = |one: Nanos, other: Nanos| one.0.abs_diff(other.0);
                if let (Some(found), Some(expected)) = (found, expected) {
                    let bound = Bound::default().drift.0 + 1;
                    prop_assert!(off(found.0, expected.0) <= bound, "event {}", at);
                    prop_assert_eq!(found.1 - found.0, expected.1 - expected.0);
                }
            }
            if expected.contains(&None) && expected.last().is_some_and(Option::is_some) {
                prop_assert_eq!(found, sums.clone());
            }
        }
    }
}

#[test]
fn a_ring_that_is_read_takes_no_more_memory() {
    let call = |node| Call { node, args: [1, 0, 0, 3], gap: 3_000_000, duration: 99, polls: 1 };
    let used = |count: usize, every: usize| {
        let calls = [call(0), call(1)].repeat(count / 2);
        let (bytes, ..) = ring(&calls, |number| number.is_multiple_of(every), |number| number < 50);
        bytes.len()
    };
    let few = used(40_000, 5_000);
    let chunk = layout::RING_CHUNK as usize + size_of::<layout::Chunk>();
    assert!(used(400_000, 5_000) <= few + chunk);
    // Where nobody reads, nothing is lost.
    assert!(used(400_000, usize::MAX - 1) > 8 * few);
}

#[test]
fn more_tuples_than_slots_come_back() {
    let calls: Vec<Call> = (0..9_000_u64)
        .map(|i| {
            // Tags that count up, with returns to old and very old ones.
            let tag = if i % 5 == 4 { i / 2 } else { i };
            Call {
                node: (i % 2) as usize * 2,
                args: [tag, 1, 0, i / 3_000],
                gap: 10,
                duration: 20,
                polls: 1,
            }
        })
        .collect();
    check(&calls);
}

//! Numbers that no bytes back up: what is legal is read without counting to the end, what is not is
//! refused in words.
//!
//! Owns a small process whose head says anything. Repetition takes no bytes, so a billion calls may
//! be as small as two.

#![allow(clippy::unwrap_used)]

use talea_model::{ArgKind, ArgSpec, ProcedureSpec};
use talea_run::Recording;
use talea_run::bundle::{Bundle, BundleError};
use talea_run::limits::{Limits, MOST_EVENTS};
use talea_run::lists::Change;
use talea_run::lists::record::put_full;
use talea_run::live::layout::{self, Chunk, Header, Node, Stream, Symbols, Sync, Thread};
use talea_run::live::numbers::put_number;
use talea_run::live::record::put_procedure;
use talea_run::live::{LiveProcess, read::LiveError};
use talea_run::recording::Sizes;
use zerocopy::{FromZeros, IntoBytes};

/// Few, so that tests end soon.
const LIMITS: Limits = Limits { runs: 1 << 16, steps: 1 << 17 };

/// A process of one thread whose graph is one node that follows itself.
struct Loop {
    events: u64,
    choices: Symbols,
    tuples: Symbols,
    /// Tokens of the choices.
    tokens: Vec<u8>,
}

impl Loop {
    fn of(events: u64) -> Self {
        let run = |run| Symbols { run, count: 1, ..Symbols::default() };
        Self { events, choices: run(events - 1), tuples: run(events), tokens: Vec::new() }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; size_of::<Header>().next_multiple_of(16)];
        let mut header = Header::new_zeroed();
        let args = vec![ArgSpec { name: "comm".into(), kind: ArgKind::Comm }];
        let mut procedure = Vec::new();
        put_procedure(&mut procedure, 7, &ProcedureSpec { name: "MPI_Barrier".into(), args });
        header.procedures = stream(&mut bytes, &procedure);
        let mut choices = self.choices;
        choices.tokens = stream(&mut bytes, &self.tokens);
        let mut node =
            Node { procedure: 7, path_len: 1, columns: 1, successor_cap: 2, ..Node::default() };
        // One tuple: no column differs from zero.
        node.values = stream(&mut bytes, &[0]);
        node.successors = put(&mut bytes, &[0_u32; 2]);
        (node.choices, node.tuples) = (choices, self.tuples);
        let node = put(&mut bytes, &node);
        let thread =
            Thread { events: self.events, first_node: node, last_node: node, ..Thread::default() };
        header.threads[0] = put(&mut bytes, &thread);
        (header.magic, header.version) = (layout::MAGIC, layout::VERSION);
        (header.thread_count, header.size, header.state) = (1, 1, layout::state::FINALIZED);
        (header.tick_mult, header.sync_count) = (1 << 32, 2);
        header.syncs[1] = Sync { ticks: 1 << 40, nanos: 1 << 40 };
        let end = size_of::<Header>();
        bytes[..end].copy_from_slice(header.as_bytes());
        bytes
    }

    /// As many calls, with choices that alternate: the first successor once, then the second, then
    /// each as it came before.
    fn alternating(events: u64, hits: u64) -> Self {
        let mut claim = Self::of(events);
        claim.choices = Symbols { run: 1, count: 2, hits, ..Symbols::default() };
        for number in [1 << 1 | 1, 0, 1 << 1 | 1, 1] {
            put_number(&mut claim.tokens, number);
        }
        claim
    }

    fn read(&self) -> LiveProcess {
        self.read_within(LIMITS)
    }

    fn read_within(&self, limits: Limits) -> LiveProcess {
        LiveProcess::read_within(&self.bytes(), limits).unwrap()
    }
}

fn put<T: IntoBytes + zerocopy::Immutable>(bytes: &mut Vec<u8>, value: &T) -> u64 {
    let at = bytes.len();
    bytes.extend_from_slice(value.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    at as u64
}

fn stream(bytes: &mut Vec<u8>, content: &[u8]) -> Stream {
    let length = content.len() as u32;
    let head = put(bytes, &Chunk { next: 0, cap: length, used: length });
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    Stream { head, tail: head, tail_len: length, tail_cap: length }
}

fn recording(process: &LiveProcess) -> Recording {
    recording_within(process, LIMITS)
}

fn recording_within(process: &LiveProcess, limits: Limits) -> Recording {
    let mut bundle = Bundle::from_live(process);
    let times = bundle.take_times();
    let bundle = Bundle::from_bytes(&bundle.to_message(), 1).unwrap();
    let bundle = Bundle::from_bytes(&bundle.to_bytes(), 1).unwrap();
    bundle.into_recording_within(times, Sizes::default(), limits)
}

#[test]
fn a_billion_identical_calls_take_no_time_and_no_room() {
    for count in [2, 1_000_000_000, MOST_EVENTS] {
        let process = Loop::of(count).read();
        assert!(process.damage.is_empty(), "{:?}", process.damage);
        assert!(Bundle::from_live(&process).to_bytes().len() < 400);
        let recording = recording(&process);
        assert_eq!(recording.events(), count);
        let process = &recording.processes[0];
        let mut events = process.events(&recording, &process.threads[0]);
        for _ in 0..count.min(10_000) {
            assert_eq!(events.next_event().unwrap().args, [0]);
        }
        assert_eq!(events.next_event().is_none(), count == 2);
    }
}

#[test]
fn more_calls_than_any_machine_makes_are_refused() {
    let process = Loop::of(1 << 60).read();
    let wanted = format!("a thread claims {} calls, expected at most {MOST_EVENTS}", 1_u64 << 60);
    assert_eq!(process.damage, [wanted]);
    let recording = recording(&process);
    let claimed = format!("claims {} calls", 1_u64 << 60);
    assert!(recording.gaps.iter().any(|gap| gap.detail.contains(&claimed)), "{:?}", recording.gaps);
    assert_eq!(recording.events(), 0);
}

#[test]
fn alternating_calls_without_end_are_refused() {
    let process = Loop::alternating(MOST_EVENTS, 1 << 40).read();
    let wanted = "the record unfolds to more than 131072 runs of calls; later ones are left out";
    assert_eq!(process.damage, [wanted]);
    recording(&process);
}

#[test]
fn millions_of_alternating_calls_take_no_room() {
    let count = 10_000_000;
    let limits = Limits { runs: 1 << 10, steps: 2 * count };
    let process = Loop::alternating(count, count - 4).read_within(limits);
    assert!(process.damage.is_empty(), "{:?}", process.damage);
    assert_eq!(process.threads[0].log.walk().count() as u64, count);
    assert!(Bundle::from_live(&process).to_bytes().len() < 400);
    let recording = recording_within(&process, limits);
    assert!(recording.gaps.iter().all(|gap| !gap.detail.contains("runs")), "{:?}", recording.gaps);
    let log = &recording.processes[0].threads[0].log;
    assert_eq!(log.walk().count() as u64, count);
    let choices = &log.nodes[0].choices;
    assert_eq!((choices.run_count(), choices.len()), (count - 1, count - 1));
    assert!(choices.values().take(5).eq([0, 1, 0, 1, 0]));
    let fewer = recording_within(&process, Limits { steps: count - 2, ..limits });
    let wanted = "unfolds to more than 9999998 runs of calls; it is left out";
    assert!(fewer.gaps.iter().any(|gap| gap.detail.contains(wanted)), "{:?}", fewer.gaps);
}

#[test]
fn laps_of_long_cycles_take_memory() {
    // As many symbols as there are in the cycle, then laps of them.
    let symbols = 1 << 16;
    let mut claim = Loop::of(MOST_EVENTS);
    claim.choices = Symbols { run: 1, count: 2, hits: 1 << 40, ..Symbols::default() };
    for symbol in 0..symbols {
        put_number(&mut claim.tokens, (1 + symbol % 7) << 1 | 1);
        put_number(&mut claim.tokens, u64::from(symbol + 1 == symbols));
    }
    let limits = Limits { runs: 1 << 20, steps: u64::MAX - 1 };
    let process = claim.read_within(limits);
    let wanted =
        "the record needs memory for more than 1048576 runs of calls; later ones are left out";
    assert_eq!(process.damage, [wanted]);
}

#[test]
fn chunks_that_overlap_are_read_once() {
    let mut bytes = Loop::of(2).bytes();
    // A chain of chunks, each a few bytes behind the one before and all with nearly the same
    // content.
    let start = bytes.len() as u64;
    let last = 4000;
    for number in 0..last {
        let next = if number + 1 == last { 0 } else { start + 16 * (number + 1) };
        bytes.extend_from_slice(Chunk { next, cap: 200_000, used: 200_000 }.as_bytes());
    }
    bytes.resize(bytes.len() + 200_000, 0);
    let chain = Stream { head: start, tail: u64::MAX, tail_len: 0, tail_cap: 0 };
    let lists = std::mem::offset_of!(Header, lists);
    bytes[lists..lists + size_of::<Stream>()].copy_from_slice(chain.as_bytes());
    // A zero is an empty list; what the chunks are made of is none.
    let process = LiveProcess::read(&bytes).unwrap();
    assert!(process.lists.len() <= bytes.len(), "{} lists", process.lists.len());
}

#[test]
fn lists_that_no_bytes_back_up_are_refused() {
    let change = |base, length, nulls| {
        let mut bytes = Vec::new();
        put_full(&mut bytes, &[2, 1, 0]);
        Change { base, length, nulls, ..Change::default() }.put(&mut bytes, 1, 3);
        bytes
    };
    let mut claims = vec![
        // Longer than the list it is made from, by entries that do not follow.
        change(0, u32::MAX, None),
        // Of positions in a list that is not full: itself.
        change(0, 3, Some(1)),
    ];
    // More changes than there are bytes, and one that is made from no list before it.
    let mut bytes = change(0, 3, None);
    put_number(&mut bytes, 1 + (1 << 40));
    claims.push(bytes);
    let mut bytes = change(0, 3, None);
    put_number(&mut bytes, 2);
    put_number(&mut bytes, 0);
    claims.push(bytes);
    for (number, claim) in claims.iter().enumerate() {
        let mut bytes = Loop::of(2).bytes();
        let lists = std::mem::offset_of!(Header, lists);
        let stream = stream(&mut bytes, claim);
        bytes[lists..lists + size_of::<Stream>()].copy_from_slice(stream.as_bytes());
        let process = LiveProcess::read(&bytes).unwrap();
        assert_eq!(process.lists.len(), if number < 2 { 1 } else { 2 });
        assert!(process.damage[0].starts_with("lists: not readable"), "{:?}", process.damage);
        let recording = recording(&process);
        let mut cursor = recording.lists.cursor();
        assert_eq!(cursor.get(0).map(|list| list.iter().collect()), Some(vec![2, 1, 0]));
    }
}

#[test]
fn threads_that_share_their_bytes_are_refused() {
    let mut bytes = Loop::of(2).bytes();
    let place = |of: usize| of..of + 8;
    let threads = std::mem::offset_of!(Header, threads);
    let thread: [u8; 8] = bytes[place(threads)].try_into().unwrap();
    let count = std::mem::offset_of!(Header, thread_count);
    bytes[count..count + 4].copy_from_slice(&256_u32.to_le_bytes());
    for number in 0..256 {
        bytes[place(threads + 8 * number)].copy_from_slice(&thread);
    }
    let times = stream(&mut bytes, &vec![0; 100_000]);
    let at = u64::from_le_bytes(thread) as usize + std::mem::offset_of!(Thread, times);
    bytes[at..at + size_of::<Stream>()].copy_from_slice(times.as_bytes());
    let process = LiveProcess::read(&bytes).unwrap();
    let kept: usize = process.threads.iter().map(|thread| thread.times.len()).sum();
    assert_eq!(kept, 100_000);
    let wanted = "parts of the record share their bytes; what came later is left out";
    assert_eq!(process.damage, [wanted]);
}

#[test]
fn processes_without_times_of_their_own_are_refused() {
    let bundle = Bundle::from_live(&Loop::of(2).read());
    let mut many = bundle.clone();
    for _ in 0..99 {
        many.merge(&bundle);
    }
    let bytes = many.to_bytes();
    assert_eq!(Bundle::from_bytes(&bytes, 100).unwrap().len(), 100);
    let error = Bundle::from_bytes(&bytes, 99).unwrap_err();
    assert!(matches!(error, BundleError::Damaged { expected: "processes", .. }), "{error}");
}

#[test]
fn what_is_no_record_is_named() {
    let error = LiveProcess::read(b"#!/bin/sh\n").unwrap_err();
    assert!(matches!(error, LiveError::NotLive { .. }), "{error}");
    let whole = Loop::of(2).bytes();
    let error = LiveProcess::read(&whole[..1000]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "header of the live recording is damaged at offset 1000: it ends early"
    );
}

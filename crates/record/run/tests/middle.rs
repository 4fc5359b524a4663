//! Reading that begins in the middle of a thread: the events are those of reading all.
//!
//! Owns a process of a sample with another, longer thread.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use talea_flow::cycles::{Cycles, CyclesBuilder};
use talea_flow::log::{NodeLog, ThreadLog};
use talea_model::{Nanos, NodeId};
use talea_run::Recording;
use talea_run::bundle::Bundle;
use talea_run::live::LiveProcess;
use talea_run::live::read::NodeSums;
use talea_run::recording::{Events, Sizes};

/// Rounds of the thread: each calls node 0, node 1 up to three times, and node 2.
const ROUNDS: u64 = 60_000;

fn recording() -> Recording {
    let sample = "tests/samples/version-3/killed/live/demo-0.live";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(sample);
    let mut process = LiveProcess::read(&std::fs::read(path).unwrap()).unwrap();
    let thread = &mut process.threads[0];
    let like = thread.log.nodes.iter().max_by_key(|node| node.columns.len()).unwrap().clone();
    assert!(like.columns.len() > 2);
    let node = |successors: &[u32]| NodeLog {
        visits: 0,
        successors: successors.iter().map(|&to| NodeId(to)).collect(),
        choices: Cycles::new(),
        columns: vec![Cycles::new(); like.columns.len()],
        polls: Cycles::new(),
        ..like.clone()
    };
    let mut nodes = [node(&[1]), node(&[2, 1]), node(&[0])];
    let mut choices: [CyclesBuilder<u32>; 3] = Default::default();
    let mut polls: [CyclesBuilder<u64>; 3] = Default::default();
    let mut columns: [Vec<CyclesBuilder<i64>>; 3] = Default::default();
    for all in &mut columns {
        all.resize_with(like.columns.len(), Default::default);
    }
    let mut sequence = Vec::new();
    for round in 0..ROUNDS {
        let inner = 1 + round / 7 % 3;
        sequence.push((0, 0));
        sequence.extend((1..=inner).map(|turn| (1, u32::from(turn < inner))));
        sequence.push((2, 0));
    }
    let (last, _) = sequence.pop().unwrap();
    sequence.push((last, u32::MAX));
    thread.times.clear();
    for (at, &(node, choice)) in (0_u64..).zip(&sequence) {
        nodes[node].visits += 1;
        if choice < u32::MAX {
            choices[node].push(choice, 1);
        }
        for (column, values) in (0_u64..).zip(&mut columns[node]) {
            values.push((at / 3_u64.pow(column as u32) % 5) as i64, 1);
        }
        polls[node].push(1 + at / 50 % 2, 1);
        thread.times.extend([(at * 7 % 11 + at % 100 / 98 * 90) as u8, (at % 17) as u8]);
    }
    let streams = choices.into_iter().zip(columns).zip(polls);
    for (node, ((choices, columns), polls)) in nodes.iter_mut().zip(streams) {
        (node.choices, node.polls) = (choices.into(), polls.into());
        node.columns = columns.into_iter().map(Cycles::from).collect();
    }
    thread.sums = vec![NodeSums::default(); nodes.len()];
    thread.log = ThreadLog { nodes: nodes.into(), events: sequence.len() as u64 };
    let mut bundle = Bundle::from_live(&process);
    let times = bundle.take_times();
    bundle.into_recording(times, Sizes::default())
}

/// A line for each event.
fn lines(events: &mut Events<'_>) -> Vec<(Nanos, String)> {
    let mut lines = Vec::new();
    while let Some(event) = events.next_event() {
        lines.push((event.begin.unwrap() + event.duration.unwrap(), format!("{event:?}")));
    }
    lines
}

#[test]
fn events_from_the_middle_are_those_of_reading_all() {
    let recording = recording();
    let process = &recording.processes[0];
    let thread = &process.threads[0];
    let all = lines(&mut process.events(&recording, thread));
    assert_eq!(all.len() as u64, thread.log.events);
    let mut begins = std::collections::BTreeSet::new();
    for twentieth in 0..=20 {
        let from = all[(all.len() - 1) * twentieth / 20].0;
        let mut events = process.events(&recording, thread);
        let passed = events.skip_to(from).iter().sum::<u64>() as usize;
        assert!(all[..passed].iter().all(|(end, _)| *end < from), "{passed} of {from:?}");
        assert!(lines(&mut events) == all[passed..], "after {passed}");
        begins.insert(passed);
    }
    assert!(begins.len() > 18 && begins.contains(&0), "{begins:?}");
}

#[test]
fn nothing_is_skipped_before_the_first_event_and_all_after_the_last() {
    let recording = recording();
    let process = &recording.processes[0];
    let thread = &process.threads[0];
    let mut events = process.events(&recording, thread);
    assert_eq!(events.skip_to(Nanos(0)), [0; 3]);
    assert!(events.next_event().is_some());
    let mut events = process.events(&recording, thread);
    assert_eq!(events.skip_to(Nanos(u64::MAX)).iter().sum::<u64>(), thread.log.events);
    assert!(events.next_event().is_none());
}

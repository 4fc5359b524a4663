//! Streams of a thread that was stopped in the middle of a call, made consistent.
//!
//! Owns the repair of the one event that may have been written in part, when the process was killed
//! or its memory was full: its arguments come first, then the edge that led to it, then its times,
//! and its number last. An event without its number is taken back: its times may be missing.

use talea_flow::log::{NodeLog, ThreadLog};

/// Removes an event without an edge to it, or without its number.
pub(super) fn settle(log: &mut ThreadLog) {
    let mut arrivals = vec![0_u64; log.nodes.len()];
    if let Some(first) = arrivals.first_mut() {
        *first = 1;
    }
    for node in &log.nodes {
        for (choice, count) in node.choices.totals() {
            let to = node.successors.get(choice as usize);
            if let Some(arrivals) = to.and_then(|to| arrivals.get_mut(to.0 as usize)) {
                *arrivals = arrivals.saturating_add(count);
            }
        }
    }
    for (node, &arrivals) in log.nodes.iter_mut().zip(&arrivals) {
        if arrivals.checked_add(1) == Some(node.visits) {
            take_back(node);
        }
    }
    let visits = log.nodes.iter().fold(0_u64, |sum, node| sum.saturating_add(node.visits));
    if log.events.checked_add(1) == Some(visits) {
        without_number(log);
    }
}

/// Removes the last visit of a node.
fn take_back(node: &mut NodeLog) {
    node.visits = node.visits.saturating_sub(1);
    for column in &mut node.columns {
        column.pop();
    }
    if node.polls.len() > node.visits {
        node.polls.pop();
    }
}

/// Removes the event after the counted ones, if the streams lead to one.
fn without_number(log: &mut ThreadLog) {
    let events = log.events;
    log.events += 1;
    let (mut before, mut last, mut walked) = (None, None, 0_u64);
    for node in log.walk() {
        (before, last) = (last, Some(node));
        walked += 1;
    }
    let is_whole = walked == log.events;
    log.events = events;
    if !is_whole {
        return;
    }
    if let Some(node) = last.and_then(|last| log.nodes.get_mut(last.0 as usize)) {
        take_back(node);
    }
    if let Some(node) = before.and_then(|before| log.nodes.get_mut(before.0 as usize)) {
        node.choices.pop();
    }
}

#[cfg(test)]
mod tests {
    use talea_flow::cycles::{Cycles, Value};
    use talea_flow::log::NodeLog;
    use talea_model::{NodeId, PathId, ProcedureId, Signature};

    use super::*;

    /// The sequence 0 1 0 1 0, where node 1 has a second successor that was never chosen.
    fn log() -> ThreadLog {
        let node = |visits: u64, successors: &[u32], choices: u64| NodeLog {
            signature: Signature { procedure: ProcedureId(0), path: PathId(0) },
            visits,
            successors: successors.iter().map(|&to| NodeId(to)).collect(),
            choices: (0..choices).map(|_| 0).collect(),
            columns: vec![(0..visits as i64).collect()],
            polls: Cycles::new(),
        };
        ThreadLog { nodes: vec![node(3, &[1], 2), node(2, &[0, 1], 2)], events: 5 }
    }

    fn push<T: Value>(stream: &mut Cycles<T>, value: T) {
        *stream = stream.values().chain([value]).collect();
    }

    #[test]
    fn whole_events_stay() {
        let mut settled = log();
        settle(&mut settled);
        assert_eq!(settled, log());
    }

    #[test]
    fn arguments_without_a_way_are_taken_back() {
        let mut settled = log();
        settled.nodes[1].visits = 3;
        push(&mut settled.nodes[1].columns[0], 99);
        settle(&mut settled);
        assert_eq!(settled, log());
    }

    #[test]
    fn an_event_without_its_number_is_taken_back() {
        // Node 0 is visited a fourth time: its arguments and the edge from node 1 are there.
        let mut settled = log();
        settled.nodes[0].visits = 4;
        push(&mut settled.nodes[0].columns[0], 99);
        push(&mut settled.nodes[0].choices, 0);
        settled.nodes[1].visits = 3;
        push(&mut settled.nodes[1].columns[0], 98);
        push(&mut settled.nodes[1].choices, 0);
        settled.events = 7;
        let whole = settled.clone();
        settle(&mut settled);
        assert_eq!(settled, whole);

        let mut settled = whole.clone();
        settled.events = 6;
        settle(&mut settled);
        let walked: Vec<u32> = settled.walk().map(|node| node.0).collect();
        assert_eq!((settled.events, walked), (6, vec![0, 1, 0, 1, 0, 1]));
        assert_eq!((settled.nodes[0].visits, settled.nodes[1].visits), (3, 3));
        assert_eq!(settled.nodes[0].columns, log().nodes[0].columns);
        assert_eq!(settled.nodes[0].choices.len(), 3);
        assert_eq!(settled.nodes[1].choices.len(), 2);
    }

    #[test]
    fn the_first_event_without_its_number_leaves_none() {
        let mut settled = log();
        settled.nodes.truncate(1);
        let node = &mut settled.nodes[0];
        (node.visits, node.choices) = (1, Cycles::new());
        (node.columns, node.polls) =
            (vec![Cycles::from_runs([(5, 1)])], Cycles::from_runs([(2, 1)]));
        settled.events = 0;
        settle(&mut settled);
        let node = &settled.nodes[0];
        assert_eq!((settled.events, node.visits, settled.walk().count()), (0, 0, 0));
        assert!(node.columns[0].is_empty() && node.polls.is_empty());
    }

    #[test]
    fn streams_that_lead_nowhere_stay() {
        let mut settled = log();
        settled.nodes[0].successors = vec![NodeId(7)];
        settled.events = 4;
        let before = settled.clone();
        settle(&mut settled);
        assert_eq!((settled.events, &settled.nodes[1].choices), (4, &before.nodes[1].choices));
    }
}

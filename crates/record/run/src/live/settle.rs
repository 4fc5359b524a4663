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
    let is_consistent = log.nodes.iter().map(|node| node.visits).eq(arrivals);
    if is_consistent && log.events.checked_add(1) == Some(visits) {
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

/// Removes the event after the last counted one, if the streams contain it.
fn without_number(log: &mut ThreadLog) {
    // Only the last event has no successor.
    let without = |node: &NodeLog| node.choices.len() < node.visits;
    let Some(last) = log.nodes.iter().position(without) else { return };
    // The node after the last choice of each.
    let exit = |at: usize| -> Option<usize> {
        let node = &log.nodes[at];
        let visit = node.visits.checked_sub(1 + u64::from(at == last))?;
        let (choice, _) = node.choices.position(visit).0.next()?;
        let to = node.successors.get(choice as usize)?.0 as usize;
        (to < log.nodes.len()).then_some(to)
    };
    let before = if log.events == 0 {
        None
    } else {
        // After its last counted visit the way from that node leads through last choices only.
        let first = match log.nodes[last].visits {
            1 => (0..log.nodes.len()).find(|&at| exit(at) == Some(last)),
            _ => Some(last),
        };
        let way = std::iter::successors(first, |&at| exit(at));
        let Some(before) = way.take(log.nodes.len()).find(|&at| exit(at) == Some(last)) else {
            return;
        };
        Some(before)
    };
    take_back(&mut log.nodes[last]);
    if let Some(before) = before {
        log.nodes[before].choices.pop();
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
    fn the_node_before_is_found_by_a_walk_if_several_lead_there() {
        // The sequence 0 1 0 2 0 1 0, without the number of its last event.
        let mut settled = log();
        let mut third = settled.nodes[1].clone();
        third.successors = vec![NodeId(0)];
        let nodes =
            [(4, vec![1, 2], vec![0, 1, 0]), (2, vec![0], vec![0, 0]), (1, vec![0], vec![0])];
        settled.nodes.push(third);
        for (node, (visits, successors, choices)) in settled.nodes.iter_mut().zip(nodes) {
            node.visits = visits;
            node.successors = successors.into_iter().map(NodeId).collect();
            node.choices = choices.into_iter().collect();
            node.columns = vec![(0..visits as i64).collect()];
        }
        settled.events = 6;
        settle(&mut settled);
        let walked: Vec<u32> = settled.walk().map(|node| node.0).collect();
        assert_eq!(walked, [0, 1, 0, 2, 0, 1]);
        let choices: Vec<u64> = settled.nodes.iter().map(|node| node.choices.len()).collect();
        assert_eq!((settled.nodes[0].visits, choices), (3, vec![3, 1, 1]));
    }

    #[test]
    fn claims_without_end_are_not_walked_through() {
        let mut settled = log();
        settled.nodes.truncate(1);
        let node = &mut settled.nodes[0];
        node.successors = vec![NodeId(0)];
        node.choices = Cycles::from_runs([(0, (1 << 50) - 1)]);
        (node.visits, node.columns) = (1 << 50, vec![Cycles::from_runs([(7, 1 << 50)])]);
        settled.events = (1 << 50) - 1;
        settle(&mut settled);
        assert_eq!(settled.nodes[0].visits, settled.events);
        assert_eq!(settled.nodes[0].choices.len(), settled.events - 1);
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

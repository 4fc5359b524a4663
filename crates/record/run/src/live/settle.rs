//! Streams of a thread that was stopped in the middle of a call, made consistent.
//!
//! Owns the repair of the one event that may have been written in part, when the process was killed
//! or its memory was full: its arguments come first, then the edge that led to it, and its number
//! last.

use talea_flow::log::ThreadLog;

/// Removes an event without an edge to it; counts one that is complete except for its number.
pub(super) fn settle(log: &mut ThreadLog) {
    let mut arrivals = vec![0_u64; log.nodes.len()];
    if let Some(first) = arrivals.first_mut() {
        *first = 1;
    }
    for node in &log.nodes {
        for &(choice, count) in node.choices.runs() {
            let to = node.successors.get(choice as usize);
            if let Some(arrivals) = to.and_then(|to| arrivals.get_mut(to.0 as usize)) {
                *arrivals = arrivals.saturating_add(count);
            }
        }
    }
    for (node, &arrivals) in log.nodes.iter_mut().zip(&arrivals) {
        if arrivals.checked_add(1) == Some(node.visits) {
            node.visits = arrivals;
            for column in &mut node.columns {
                column.pop();
            }
            if node.polls.len() > node.visits {
                node.polls.pop();
            }
        }
    }
    let visits = log.nodes.iter().fold(0_u64, |sum, node| sum.saturating_add(node.visits));
    if log.events.checked_add(1) == Some(visits) {
        log.events = visits;
    }
}

#[cfg(test)]
mod tests {
    use talea_flow::log::{NodeLog, Runs};
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
            polls: Runs::new(),
        };
        ThreadLog { nodes: vec![node(3, &[1], 2), node(2, &[0, 1], 2)], events: 5 }
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
        settled.nodes[1].columns[0].push(99, 1);
        settle(&mut settled);
        assert_eq!(settled, log());
    }

    #[test]
    fn an_event_that_lacks_its_number_only_counts() {
        let mut settled = log();
        settled.events = 4;
        settle(&mut settled);
        assert_eq!(settled, log());
    }
}

//! The arguments of a thread's events, from the streams of its nodes.
//!
//! Owns the current values of every node. Most arguments of a call are the same from visit to
//! visit, so that a node is looked at again only when one of its values changes.

use talea_flow::cycles::Iter;
use talea_flow::log::NodeLog;

/// Arguments and polls of a thread's nodes, visit by visit.
pub(super) struct Columns<'a> {
    nodes: &'a [NodeLog],
    places: Vec<Place<'a>>,
    /// Current values of all columns, one node after the other.
    values: Vec<i64>,
    streams: Vec<Rest<'a, i64>>,
}

/// A node's place in the columns.
struct Place<'a> {
    /// Its columns.
    first: u32,
    end: u32,
    /// Visits for which its values stay.
    left: u64,
    /// The same when they were looked at last.
    stretch: u64,
    polls: u64,
    poll_stream: Rest<'a, u64>,
}

/// The rest of a stream.
#[derive(Clone)]
struct Rest<'a, T> {
    /// The runs after the current one.
    runs: Iter<'a, T>,
    /// Values left of the current run.
    left: u64,
}

impl<'a, T: Copy> Rest<'a, T> {
    /// Before the first value.
    const fn new(runs: Iter<'a, T>) -> Self {
        Self { runs, left: 0 }
    }

    /// At a position, and the value there.
    fn at((mut runs, used): (Iter<'a, T>, u64)) -> (Self, Option<T>) {
        let run = runs.next();
        (Self { runs, left: run.map_or(0, |(_, count)| count - used) }, run.map(|run| run.0))
    }

    /// Moves on by `passed` values, no more than are left; false at the end of the stream.
    #[inline]
    fn advance(&mut self, passed: u64, current: &mut T) -> bool {
        // Not less than that, unless a stream has ended before its node's others.
        self.left = self.left.saturating_sub(passed);
        if self.left == 0 {
            let Some((value, count)) = self.runs.next() else { return false };
            *current = value;
            self.left = count;
        }
        true
    }
}

impl<'a> Columns<'a> {
    /// From the first visit of each node.
    pub(super) fn new(nodes: &'a [NodeLog]) -> Self {
        let mut end = 0;
        let places = nodes.iter().map(|node| {
            let first = end;
            end += node.columns.len() as u32;
            let poll_stream = Rest::new(node.polls.runs());
            Place { first, end, left: 0, stretch: 0, polls: 1, poll_stream }
        });
        let places = places.collect();
        let columns = nodes.iter().flat_map(|node| &node.columns);
        let streams = columns.map(|column| Rest::new(column.runs())).collect();
        Self { nodes, places, values: vec![0; end as usize], streams }
    }

    /// Leaves out arguments: visits then have polls alone.
    pub(super) fn leave_out_values(&mut self) {
        self.places.iter_mut().for_each(|place| place.end = place.first);
    }

    /// Goes on after so many visits of each node.
    pub(super) fn go_to(&mut self, visits: &[u64]) {
        for ((node, place), &visits) in self.nodes.iter().zip(&mut self.places).zip(visits) {
            (place.left, place.stretch) = (0, 0);
            let range = place.first as usize..place.end as usize;
            for (column, at) in node.columns.iter().zip(range) {
                let (rest, value) = Rest::at(column.position(visits));
                (self.streams[at], self.values[at]) = (rest, value.unwrap_or_default());
            }
            let (rest, polls) = Rest::at(node.polls.position(visits));
            (place.poll_stream, place.polls) = (rest, polls.unwrap_or(1));
        }
    }

    /// Arguments and polls of the next visit of a node; `None` where its streams have ended.
    #[inline]
    pub(super) fn next(&mut self, node: usize) -> Option<(&[i64], u64)> {
        if self.places[node].left == 0 {
            self.change(node)?;
        }
        let place = &mut self.places[node];
        place.left -= 1;
        Some((&self.values[place.first as usize..place.end as usize], place.polls))
    }

    /// Moves on to the next values of a node.
    fn change(&mut self, node: usize) -> Option<()> {
        let (log, place) = (&self.nodes[node], &mut self.places[node]);
        let mut stretch = u64::MAX;
        for at in place.first as usize..place.end as usize {
            let stream = &mut self.streams[at];
            if !stream.advance(place.stretch, &mut self.values[at]) {
                return None;
            }
            stretch = stretch.min(stream.left);
        }
        if !log.polls.is_empty() {
            let polls = &mut place.polls;
            if !place.poll_stream.advance(place.stretch, polls) {
                // Each later visit is one call.
                (place.polls, place.poll_stream.left) = (1, u64::MAX);
            }
            stretch = stretch.min(place.poll_stream.left);
        }
        (place.left, place.stretch) = (stretch, stretch);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use talea_flow::cycles::Cycles;
    use talea_model::{PathId, ProcedureId, Signature};

    use super::*;

    fn node(columns: &[Vec<i64>], polls: &[u64]) -> NodeLog {
        NodeLog {
            signature: Signature { procedure: ProcedureId(0), path: PathId(0) },
            visits: 0,
            successors: Vec::new(),
            choices: Cycles::new(),
            columns: columns.iter().map(|column| column.iter().copied().collect()).collect(),
            polls: polls.iter().copied().collect(),
        }
    }

    /// All that is left of a node.
    fn rest(columns: &mut Columns<'_>, most: usize) -> Vec<(Vec<i64>, u64)> {
        let next = |_| columns.next(0).map(|(args, polls)| (args.to_vec(), polls));
        (0..most).map_while(next).collect()
    }

    proptest! {
        #[test]
        fn visits_have_their_values(
            columns in prop::collection::vec(prop::collection::vec(0..3_i64, 0..40), 0..4),
            polls in prop::collection::vec(1..3_u64, 0..40),
            from in 0..45_u64,
        ) {
            let visits = columns.iter().map(Vec::len).min().unwrap_or(50);
            let expected: Vec<(Vec<i64>, u64)> = (0..visits).map(|visit| {
                let args = columns.iter().map(|column| column[visit]).collect();
                (args, polls.get(visit).copied().unwrap_or(1))
            }).collect();
            let nodes = [node(&columns, &polls)];
            let mut all = Columns::new(&nodes);
            prop_assert_eq!(&rest(&mut all, visits), &expected);
            if !columns.is_empty() {
                prop_assert!(all.next(0).is_none() && all.next(0).is_none());
            }
            let mut later = Columns::new(&nodes);
            later.go_to(&[from]);
            let expected = expected.get(from as usize..).unwrap_or_default();
            let found = rest(&mut later, expected.len());
            prop_assert_eq!(&found[..], expected);
        }
    }
}

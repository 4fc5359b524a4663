//! The arguments of a thread's events, from the streams of its nodes.
//!
//! Owns the current values of every node. Most arguments of a call are the same from visit to
//! visit, so that a node is looked at again only when one of its values changes.

use talea_flow::log::{NodeLog, Runs};

/// Arguments and polls of a thread's nodes, visit by visit.
pub(super) struct Columns<'a> {
    nodes: &'a [NodeLog],
    places: Vec<Place>,
    /// Current values of all columns, one node after the other.
    values: Vec<i64>,
    streams: Vec<Stream>,
}

/// A node's place in the columns.
#[derive(Clone, Copy)]
struct Place {
    /// Its columns.
    first: u32,
    end: u32,
    /// Visits for which its values stay.
    left: u64,
    /// The same when they were looked at last.
    stretch: u64,
    polls: u64,
    poll_stream: Stream,
}

/// Sums of a stream's runs here and there, so that a value is found without adding all before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks(Vec<u64>);

impl Marks {
    /// Runs from one sum to the next.
    const APART: usize = 256;

    pub(crate) fn new(runs: &Runs<i64>) -> Self {
        let mut sum = 0_u64;
        let sums = runs.runs().chunks_exact(Self::APART).map(|chunk| {
            sum = chunk.iter().fold(sum, |sum, &(_, count)| sum.saturating_add(count));
            sum
        });
        Self(sums.collect())
    }

    /// The place of the value after `passed` others: its run, and the values of the run before it.
    fn position(&self, runs: &[(i64, u64)], passed: u64) -> (usize, u64) {
        let chunk = self.0.partition_point(|&sum| sum <= passed);
        let mut left = passed - chunk.checked_sub(1).map_or(0, |before| self.0[before]);
        let begin = chunk * Self::APART;
        for (run, &(_, count)) in runs.iter().enumerate().skip(begin) {
            if left < count {
                return (run, left);
            }
            left -= count;
        }
        (runs.len(), 0)
    }
}

/// A position in a stream.
#[derive(Clone, Copy, Default)]
struct Stream {
    /// The next run.
    run: usize,
    /// Values left of the run before it.
    left: u64,
}

impl Stream {
    /// At a position, and the value there.
    fn at<T: Copy>(runs: &[(T, u64)], (run, used): (usize, u64)) -> (Self, Option<T>) {
        match runs.get(run) {
            Some(&(value, count)) => (Self { run: run + 1, left: count - used }, Some(value)),
            None => (Self { run, left: 0 }, None),
        }
    }

    /// Moves on by `passed` values, no more than are left; false at the end of the stream.
    #[inline]
    fn advance<T: Copy>(&mut self, runs: &[(T, u64)], passed: u64, current: &mut T) -> bool {
        // Not less than that, unless a stream has ended before its node's others.
        self.left = self.left.saturating_sub(passed);
        if self.left == 0 {
            let Some(&(value, count)) = runs.get(self.run) else { return false };
            *current = value;
            *self = Self { run: self.run + 1, left: count.max(1) };
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
            let poll_stream = Stream::default();
            Place { first, end, left: 0, stretch: 0, polls: 1, poll_stream }
        });
        let places = places.collect();
        let all = end as usize;
        Self { nodes, places, values: vec![0; all], streams: vec![Stream::default(); all] }
    }

    /// Leaves out arguments: visits then have polls alone.
    pub(super) fn leave_out_values(&mut self) {
        self.places.iter_mut().for_each(|place| place.end = place.first);
    }

    /// Goes on after so many visits of each node; `marks` are those of all columns in order.
    pub(super) fn go_to(&mut self, visits: &[u64], marks: &[Marks]) {
        for ((node, place), &visits) in self.nodes.iter().zip(&mut self.places).zip(visits) {
            (place.left, place.stretch) = (0, 0);
            let range = place.first as usize..place.end as usize;
            for (column, at) in node.columns.iter().zip(range) {
                let value;
                let position = match marks.get(at) {
                    Some(marks) => marks.position(column.runs(), visits),
                    None => column.position(visits),
                };
                (self.streams[at], value) = Stream::at(column.runs(), position);
                self.values[at] = value.unwrap_or_default();
            }
            let (runs, polls) = (node.polls.runs(), node.polls.position(visits));
            let polls = {
                let value;
                (place.poll_stream, value) = Stream::at(runs, polls);
                value
            };
            place.polls = polls.unwrap_or(1);
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
        for (column, at) in log.columns.iter().zip(place.first as usize..place.end as usize) {
            let stream = &mut self.streams[at];
            if !stream.advance(column.runs(), place.stretch, &mut self.values[at]) {
                return None;
            }
            stretch = stretch.min(stream.left);
        }
        if !log.polls.is_empty() {
            let polls = &mut place.polls;
            if !place.poll_stream.advance(log.polls.runs(), place.stretch, polls) {
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
    use talea_model::{PathId, ProcedureId, Signature};

    use super::*;

    fn node(columns: &[Vec<i64>], polls: &[u64]) -> NodeLog {
        NodeLog {
            signature: Signature { procedure: ProcedureId(0), path: PathId(0) },
            visits: 0,
            successors: Vec::new(),
            choices: Runs::new(),
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
            later.go_to(&[from], &[]);
            let expected = expected.get(from as usize..).unwrap_or_default();
            let found = rest(&mut later, expected.len());
            prop_assert_eq!(&found[..], expected);
        }
    }

    #[test]
    fn marks_find_every_value() {
        let runs: Runs<i64> =
            (0..3000).flat_map(|i: i64| [i; 3].into_iter().take(1 + i as usize % 3)).collect();
        let marks = Marks::new(&runs);
        assert!(marks.0.len() == 3000 / Marks::APART);
        for passed in 0..runs.len() + 5 {
            assert_eq!(marks.position(runs.runs(), passed), runs.position(passed));
        }
    }
}

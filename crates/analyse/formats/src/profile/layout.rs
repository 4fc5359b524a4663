//! Places of slices and messages in viewers that draw the slices of a thread in rows.
//!
//! Owns the viewers' requirements for the events of one thread: intervals that overlap without
//! nesting, which Perfetto drops, stand on rows of their own beside the thread's. Perfetto draws
//! every flow from the slice that begins first to the other one; a message to a call that began
//! before it was sent ends at an instant of its own, so that it keeps its direction.

use std::collections::BTreeMap;

use talea_model::Nanos;

use super::{End, Slice, Timeline};

/// Counts of a file's contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimelineCounts {
    /// Number of intervals.
    pub slices: u64,
    /// Number of flows with both ends.
    pub flows: u64,
    /// Number of values of counters.
    pub values: u64,
}

/// End of a flow that an event represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Begin,
    Finish,
    /// At a slice of its own.
    FinishAtMark,
}

/// The instant at which a flow ends where its slice began no later than the one that it comes from.
pub(super) fn arrival(at: Nanos) -> Slice {
    let (name, category) = ("message arrives".to_owned(), "message".to_owned());
    Slice { name, category, begin: at, end: at, arguments: Vec::new() }
}

/// Ends of flows by slice (track, slice), with their times and the numbers of the flows.
pub(super) type Ends = BTreeMap<(usize, usize), Vec<(Nanos, Side, usize)>>;

/// For each slice the ends of flows there by time, with the numbers of the flows.
pub(super) fn ends(timeline: &Timeline) -> Ends {
    let mut found: Ends = BTreeMap::new();
    let slice =
        |end: &End| timeline.tracks.get(end.track).and_then(|track| track.slices.get(end.slice));
    for (number, flow) in timeline.flows.iter().enumerate() {
        let (Some(from), Some(to)) = (slice(&flow.from), slice(&flow.to)) else { continue };
        let sent = flow.from.at.clamp(from.begin, from.end.max(from.begin));
        let received = flow.to.at.clamp(to.begin, to.end.max(to.begin));
        if received <= sent {
            continue;
        }
        let finish = if to.begin <= from.begin { Side::FinishAtMark } else { Side::Finish };
        for (end, time, side) in [(flow.from, sent, Side::Begin), (flow.to, received, finish)] {
            found.entry((end.track, end.slice)).or_default().push((time, side, number));
        }
    }
    for all in found.values_mut() {
        all.sort_unstable();
    }
    found
}

/// By begin; of those that begin together the longest first, which contains the others.
pub(super) fn order(slices: &[Slice]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..slices.len()).collect();
    order.sort_by_key(|&at| (slices[at].begin, std::cmp::Reverse(slices[at].end)));
    order
}

/// Rows in which slices nest: each slice on the first row where it does.
pub(super) fn rows(slices: &[Slice], order: &[usize]) -> Vec<Vec<usize>> {
    let mut rows: Vec<(Vec<usize>, Vec<Nanos>)> = vec![(Vec::new(), Vec::new())];
    for &at in order {
        let slice = &slices[at];
        let fits = rows.iter_mut().position(|(_, open)| {
            while open.last().is_some_and(|&end| end <= slice.begin) {
                open.pop();
            }
            open.last().is_none_or(|&end| slice.end <= end)
        });
        let row = fits.unwrap_or_else(|| {
            rows.push((Vec::new(), Vec::new()));
            rows.len() - 1
        });
        rows[row].0.push(at);
        rows[row].1.push(slice.end);
    }
    rows.into_iter().map(|(row, _)| row).collect()
}

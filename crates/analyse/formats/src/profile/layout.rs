//! Places of slices and messages in viewers that draw the slices of a thread in rows.
//!
//! Owns the viewers' requirements for the events of one thread: intervals that overlap without
//! nesting, which Perfetto drops, stand on rows of their own beside the thread's. Perfetto draws
//! every flow from the slice that begins first to the other one; a message to a call that began
//! before it was sent ends at an instant of its own, so that it keeps its direction.

use talea_model::Nanos;

use super::{FlowEnd, Side, Slice};

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

/// The instant at which a flow ends where its slice began no later than the one that it comes from.
pub(super) fn arrival(at: Nanos) -> Slice {
    let (name, category) = ("message arrives".into(), "message");
    Slice { name, category, begin: at, end: at, arguments: Vec::new() }
}

/// The ends of flows at a slice, of those of a track.
pub(super) fn ends_at(ends: &[FlowEnd], slice: usize) -> &[FlowEnd] {
    let begin = ends.partition_point(|end| end.slice < slice);
    let rest = &ends[begin..];
    &rest[..rest.partition_point(|end| end.slice == slice)]
}

/// Number of flows that begin at some ends.
pub(super) fn begun(ends: &[FlowEnd]) -> u64 {
    ends.iter().filter(|end| end.side == Side::Begin).count() as u64
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

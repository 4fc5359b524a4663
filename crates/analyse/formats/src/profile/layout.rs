//! Places of slices and messages in viewers that draw the slices of a thread in rows.
//!
//! Owns the viewers' requirements for the events of one thread: intervals that overlap without
//! nesting, which Perfetto drops, stand on rows of their own beside the thread's. Perfetto draws
//! every flow from the slice that begins first to the other one; a message to a call that began
//! before it was sent ends at an instant of its own, so that it keeps its direction.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use talea_model::Nanos;

use super::{FlowEnd, Label, Side, Slice};

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

/// Label of the instant at which a flow ends where its slice began no later than the one that it
/// comes from.
pub(super) fn arrival() -> Arc<Label> {
    Arc::new(Label { name: "message arrives".into(), category: "message", arguments: Vec::new() })
}

/// Ends of flows in a track, which are asked for by ascending slices.
pub(super) struct Ends<'a>(pub(super) &'a [FlowEnd]);

impl<'a> Ends<'a> {
    /// Those at a slice.
    pub(super) fn at(&mut self, slice: usize) -> &'a [FlowEnd] {
        let before = self.0.iter().take_while(|end| end.slice < slice).count();
        let rest = &self.0[before..];
        let count = rest.iter().take_while(|end| end.slice == slice).count();
        let (found, later) = rest.split_at(count);
        self.0 = later;
        found
    }
}

/// Forms that a writer makes of labels, once of each.
pub(super) struct Forms<F> {
    /// By the address of the label, which stays as long as it is here.
    known: HashMap<usize, (Arc<Label>, F), RandomState>,
}

impl<F> Default for Forms<F> {
    fn default() -> Self {
        Self { known: HashMap::default() }
    }
}

impl<F> Forms<F> {
    /// Forms that are kept at a time.
    const MOST: usize = 1 << 16;

    /// The form of a label.
    pub(super) fn get_or_insert(
        &mut self,
        label: &Arc<Label>,
        make: impl FnOnce(&Label) -> F,
    ) -> &F {
        if self.known.len() >= Self::MOST {
            self.known.clear();
        }
        let address = Arc::as_ptr(label).addr();
        let known = self.known.entry(address).or_insert_with(|| (label.clone(), make(label)));
        &known.1
    }
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

//! Choice of the best form of a loop: the begin of its iterations, and the parts of its executions
//! that do not belong to it.
//!
//! Owns the choice, by building the candidates and taking the one with the least reading cost.
//! Comparisons are bounded, since each examines all events of the loop once more.

use super::super::arrange::{Cost, Item};
use super::super::guards::Frame;
use super::super::region::Span;
use super::super::split::{self, Pivot};
use super::spans::distinct;
use super::{Builder, Component, Level, Piece};

/// One form of a component.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) pivot: Pivot,
    pub(super) peel: Peel,
}

/// The end of a loop's executions that does not belong to the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peel {
    Nothing,
    First,
    Last,
    /// The events before the one that the last event could go on to: the events after them are
    /// whole iterations.
    UntilClosed,
}

/// Number of other pivots with which a loop is built for comparison, if its tree is doubtful.
const ALTERNATIVES: usize = 3;
/// Maximum nesting of comparisons.
const NESTED: usize = 2;
/// Maximum number of events that all comparisons together examine per event of the sequence, plus
/// some more.
const COMPARISONS: usize = 3;
const SMALL: usize = 200_000;
/// Minimum difference for winning a comparison.
const BETTER: u64 = 1;

/// Number of events that all comparisons together may examine, for a sequence of this many events.
pub(super) fn budget(events: usize) -> usize {
    COMPARISONS * events + SMALL
}

impl Builder<'_> {
    /// The parts of a strongly connected component: one loop, or the pieces into which its
    /// executions are cut.
    pub(super) fn cycle(&mut self, frame: &Frame, visits: &[Piece], level: Level) -> Vec<Item> {
        if level.depth >= self.depth {
            return vec![self.mixed(frame, visits)];
        }
        let spans: Vec<Span> = visits.iter().map(|visit| visit.span).collect();
        let (execution_of_visit, executions) = distinct(self.sequence, &spans);
        let component = Component { visits, execution_of_visit, executions };
        let local = self.local(&component);
        let edges = local.edges().count();
        let mut pivots = split::choose(&local, ALTERNATIVES);
        local.release(&mut self.place_of);
        if edges > split::LARGE && 2 * edges > component.events() {
            return vec![self.mixed(frame, component.visits)];
        }
        if level.compared >= NESTED {
            pivots.truncate(1);
        }
        let Some((&first, others)) = pivots.split_first() else {
            return Vec::new();
        };
        let plan = |pivot| Plan { pivot, peel: Peel::Nothing };
        let budget = (self.parts_left, self.repeats_left);
        let mut best = self.component(frame, &component, level, plan(first));
        let compare = |builder: &mut Self, best: &mut Vec<Item>, plan, better| {
            let left = builder.comparisons_left;
            if left == 0 {
                return;
            }
            let (work, after) = (builder.work, (builder.parts_left, builder.repeats_left));
            (builder.parts_left, builder.repeats_left) = budget;
            let level = Level { compared: level.compared + 1, ..level };
            let items = builder.component(frame, &component, level, plan);
            builder.comparisons_left = left.saturating_sub(builder.work - work);
            if cost(&items).sum + better <= cost(best).sum {
                *best = items;
            } else {
                (builder.parts_left, builder.repeats_left) = after;
            }
        };
        // Equally good pivots: the one that separates more iterations wins a draw.
        for &pivot in others {
            compare(self, &mut best, plan(pivot), 0);
        }
        let doubtful = cost(&best).doubtful && best.iter().all(|item| item.tree.is_exact());
        if level.compared >= NESTED || !doubtful || self.comparisons_left == 0 {
            return best;
        }
        let local = self.local(&component);
        let alternatives = split::alternatives(&local, ALTERNATIVES);
        local.release(&mut self.place_of);
        let others = alternatives.into_iter().filter(|pivot| !pivots.contains(pivot)).map(plan);
        let peeled =
            [Peel::First, Peel::Last, Peel::UntilClosed].map(|peel| Plan { pivot: first, peel });
        for plan in others.chain(peeled) {
            compare(self, &mut best, plan, BETTER);
        }
        best
    }
}

fn cost(items: &[Item]) -> Cost {
    items.iter().fold(Cost::default(), |sum, item| sum.plus(item.cost))
}

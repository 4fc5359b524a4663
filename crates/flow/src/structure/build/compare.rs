//! Which way to see a loop is best: by what begins its iterations, and what of its executions is no part of it.
//!
//! Owns the choice, by building the candidates and taking the one with least to read. Comparisons are bounded, since each
//! looks at all events of the loop once more.

use super::super::arrange::{Cost, Item};
use super::super::guards::Frame;
use super::super::region::Span;
use super::super::split::{self, Pivot};
use super::spans::distinct;
use super::{Builder, Component, Level, Piece};

/// One way to see a component.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) pivot: Pivot,
    pub(super) peel: Peel,
}

/// Which end of a loop's executions to take for no part of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peel {
    Nothing,
    First,
    Last,
    /// The events before the one that the last event could go on to: what comes after them are whole iterations.
    UntilClosed,
}

/// Other pivots that a loop is built with for comparison, if its tree is doubtful.
const ALTERNATIVES: usize = 3;
/// Comparisons inside comparisons.
const NESTED: usize = 2;
/// All comparisons together look at no more than so many events for each event of the sequence, and some more.
const COMPARISONS: usize = 3;
const SMALL: usize = 200_000;
/// A comparison is won by this much.
const BETTER: u64 = 1;

/// What all comparisons together may look at, for a sequence of so many events.
pub(super) fn budget(events: usize) -> usize {
    COMPARISONS * events + SMALL
}

impl Builder<'_> {
    /// The parts made of a strongly connected component: one loop, or what its executions are cut into.
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
        // Equally good pivots: the one that more iterations can be told by wins a draw.
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

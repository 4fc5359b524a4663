//! Separation of one loop of a graph into several consecutive parts.
//!
//! Owns the signs of it, all caused by calls that several parts of a program share: iterations that
//! have little in common, a last iteration that is complete before something new begins in it, and
//! a first one that has events of its own while the last one is incomplete. A plan may also request
//! the removal of an end of the loop. Each cut repeats leaves, which the builder bounds.

use super::super::region::{Local, NONE, Span};
use super::Builder;
use super::compare::Peel;

/// For each execution the stretches into which it is cut; equally many for all, some of them empty.
pub(super) struct Cut {
    pub rows: Vec<Vec<Span>>,
    /// Number of leaves that stand in more than one stretch.
    pub repeats: usize,
}

/// More iterations than these are a loop, however little they have in common.
const UNROLLED: usize = 64;

/// A node in several iterations.
const SHARED: u32 = NONE - 1;

impl Builder<'_> {
    /// Cuts the executions of a loop, given with their `iterations`, as required by `peel` or if
    /// they show one of the signs. `place_of` must contain the places of `local`.
    pub(super) fn cut(
        &mut self,
        local: &Local,
        iterations: &[Vec<Span>],
        peel: Peel,
    ) -> Option<Cut> {
        let rows = self
            .peel(local, iterations, peel)
            .or_else(|| self.unroll(local, iterations))
            .or_else(|| self.cut_tails(local, iterations))
            .or_else(|| self.cut_heads(local, iterations))?;
        let repeats = self.uses(local, &rows).0 - local.nodes.len();
        self.repeats_left = self.repeats_left.checked_sub(repeats)?;
        Some(Cut { rows, repeats })
    }

    fn peel(&self, local: &Local, iterations: &[Vec<Span>], peel: Peel) -> Option<Vec<Vec<Span>>> {
        let at = |execution: &Vec<Span>| {
            let (first, last) = (execution.first()?, execution.last()?);
            match peel {
                Peel::Nothing => None,
                Peel::First => Some(first.end),
                Peel::Last => Some(last.begin),
                Peel::UntilClosed => {
                    let end = &local.links[self.place(last.end - 1)];
                    let returns =
                        |at: &u32| end.iter().any(|link| link.to as usize == self.place(*at));
                    (first.begin..first.end).find(returns)
                }
            }
        };
        iterations.iter().map(|execution| two(execution, at(execution)?)).collect()
    }

    /// Iterations with little in common: a call that is shared by the parts of a straight program.
    fn unroll(&self, local: &Local, iterations: &[Vec<Span>]) -> Option<Vec<Vec<Span>>> {
        let count = iterations.first()?.len();
        let alike = iterations.iter().all(|execution| execution.len() == count);
        if !alike || !(2..=UNROLLED).contains(&count) {
            return None;
        }
        let (uses, private) = self.uses(local, iterations);
        let shared = uses - private;
        let enough = if count == 2 { private >= shared } else { private >= 2 * shared };
        enough.then(|| iterations.to_vec())
    }

    /// Number of rows with each node, summed over the nodes, and number of nodes in one row only.
    /// Rows with the same number in different executions are one.
    fn uses(&self, local: &Local, rows: &[Vec<Span>]) -> (usize, usize) {
        let mut only_in = vec![NONE; local.nodes.len()];
        // The last row that counted a node.
        let mut counted = vec![NONE; local.nodes.len()];
        let mut uses = 0;
        for row in 0..rows.iter().map(Vec::len).max().unwrap_or(0) {
            for span in rows.iter().filter_map(|execution| execution.get(row)) {
                for &node in span.slice(self.sequence) {
                    let place = self.place_of[node as usize] as usize;
                    if counted[place] != row as u32 {
                        counted[place] = row as u32;
                        uses += 1;
                        only_in[place] = if only_in[place] == NONE { row as u32 } else { SHARED };
                    }
                }
            }
        }
        (uses, only_in.iter().filter(|&&row| row != SHARED).count())
    }

    /// The last iteration ends like the others, and then continues with something that no other
    /// iteration has.
    fn cut_tails(&self, local: &Local, iterations: &[Vec<Span>]) -> Option<Vec<Vec<Span>>> {
        let mut core = vec![false; local.nodes.len()];
        let mut ends = vec![false; local.nodes.len()];
        for (_, others) in iterations.iter().filter_map(|execution| execution.split_last()) {
            for span in others {
                (span.begin..span.end).for_each(|at| core[self.place(at)] = true);
                ends[self.place(span.end - 1)] = true;
            }
        }
        let mut rows = Vec::with_capacity(iterations.len());
        let mut found = false;
        for execution in iterations {
            let last = execution.last()?;
            let at = (last.begin..last.end).find(|&at| !core[self.place(at)]);
            let at = at.filter(|&at| at > last.begin && ends[self.place(at - 1)]);
            found |= at.is_some();
            rows.push(two(execution, at.unwrap_or(last.end))?);
        }
        found.then_some(rows)
    }

    /// The first iteration has events of its own, the last one is incomplete, and lacks the part of
    /// the first one after those: the loop begins there, and the call that began it before is
    /// shared.
    fn cut_heads(&self, local: &Local, iterations: &[Vec<Span>]) -> Option<Vec<Vec<Span>>> {
        let mut core = vec![false; local.nodes.len()];
        let mut ends = vec![false; local.nodes.len()];
        for execution in iterations {
            for span in execution.iter().skip(1) {
                (span.begin..span.end).for_each(|at| core[self.place(at)] = true);
            }
            for span in execution.iter().rev().skip(1) {
                ends[self.place(span.end - 1)] = true;
            }
        }
        let head = |execution: &Vec<Span>| {
            let (first, last) = (execution.first()?, execution.last()?);
            let fresh = (first.begin..first.end).rev().find(|&at| !core[self.place(at)])?;
            let end = self.place(last.end - 1);
            let returns = |to| local.links[end].iter().any(|link| link.to as usize == to);
            let begin = fresh + 1;
            let found = begin < first.end && !ends[end] && returns(self.place(begin));
            if found { two(execution, begin) } else { None }
        };
        iterations.iter().map(head).collect()
    }

    /// Place, in the current local graph, of the event at `at`.
    fn place(&self, at: u32) -> usize {
        self.place_of[self.sequence[at as usize] as usize] as usize
    }
}

/// An execution in two parts.
fn two(execution: &[Span], at: u32) -> Option<Vec<Span>> {
    let (first, last) = (execution.first()?, execution.last()?);
    Some(vec![Span { begin: first.begin, end: at }, Span { begin: at, end: last.end }])
}

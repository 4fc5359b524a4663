//! Loops that only the arguments of calls show: a routine that is called four times a step with
//! four sets of arguments.
//!
//! Owns the periods of argument columns over the iterations of a loop, and the conversion of such a
//! loop to the nest of loops that these show. Only loops with equal iterations are examined, except
//! for parts that run before or after on some of them. A column without a period (tags that count
//! up, sizes that depend on data) is no evidence. Neither is one that follows the order in which
//! messages arrived: a master answers its workers in turn where they happen to be equally fast. A
//! collective call that is the same each time shows that each iteration is a step of its own.

use std::collections::HashSet;
use std::ops::Range;

use talea_model::NodeId;

use super::code::CodeFrame;
use super::columns::{Columns, LOOKED_AT, Period, period};
use super::{Guard, Kind, Tree};
use crate::labels::Partition;
use crate::log::ThreadLog;
use crate::runs::Runs;

/// Traits of a node's calls that the tree may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// Columns that the program chose: peers, tags, counts, communicators.
    pub chosen: Vec<usize>,
    /// Columns that timing decided: what a receive with a wild card matched, which of several
    /// requests was complete.
    pub matched: Vec<usize>,
    /// True if every member of a communicator makes this call together.
    pub collective: bool,
    /// Column whose value is 0 when the call, a poll, finds nothing.
    pub poll: Option<usize>,
    /// Another node that is the same call in the source: compilers copy code.
    pub same_as: Option<NodeId>,
    /// The call path in machine code, outermost frame first; empty where unknown.
    pub code: Vec<CodeFrame>,
}

/// The sequence that a tree was built from: eight bytes an event, as there may be many.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    /// Nodes in the tree's numbering.
    pub(super) nodes: Vec<NodeId>,
    /// For each the number of the visit of the node that was actually visited.
    visits: Vec<u32>,
    /// The nodes actually visited; absent while these are those of the tree.
    visited: Option<Vec<NodeId>>,
}

impl Sequence {
    /// Appends an event: a visit of `visited`, which the tree takes for one of `node`.
    pub(super) fn push(&mut self, node: NodeId, (visited, visit): (NodeId, u32)) {
        if node != visited && self.visited.is_none() {
            self.visited = Some(self.nodes.clone());
        }
        self.nodes.push(node);
        self.visits.push(visit);
        if let Some(all) = &mut self.visited {
            all.push(visited);
        }
    }

    /// The node that was actually visited by an event, and the number of the visit.
    pub(super) fn visit(&self, at: usize) -> (NodeId, u32) {
        (self.visited.as_ref().unwrap_or(&self.nodes)[at], self.visits[at])
    }

    /// The events: nodes of the tree, with visits as from [`Self::visit`].
    pub(super) fn events(&self) -> impl Iterator<Item = (NodeId, (NodeId, u32))> {
        let visited = self.visited.as_ref().unwrap_or(&self.nodes);
        let visits = visited.iter().copied().zip(self.visits.iter().copied());
        self.nodes.iter().copied().zip(visits)
    }
}

/// Splits the loops of `tree` by the periods of their arguments.
pub(super) fn split(tree: &mut Tree, log: &ThreadLog, traits: &[Traits], sequence: &Sequence) {
    let mut loops = Vec::new();
    candidates(tree, &mut 0, &mut loops);
    let mut columns = Columns::new(log);
    let mut found: Vec<(usize, Vec<u64>)> = Vec::new();
    for number in loops {
        let iterations = tree.iterations(number);
        let Some(part) = numbered(tree, number) else { continue };
        let Some(seen) = Seen::new(log, traits, sequence, part, &iterations) else { continue };
        let sizes = seen.sizes(&mut columns);
        if !sizes.is_empty() {
            found.push((number, sizes));
        }
    }
    if !found.is_empty() {
        nest(tree, &mut 0, &found);
    }
}

/// Numbers, parents first, of the loops whose iterations may all be alike.
fn candidates(tree: &Tree, number: &mut usize, found: &mut Vec<usize>) {
    let own = *number;
    *number += 1;
    let repeats = match &tree.kind {
        Kind::Loop { trips } => trips.runs().iter().any(|&(trips, _)| trips >= 4),
        _ => false,
    };
    if repeats && middle(tree).is_some() {
        found.push(own);
    }
    for child in &tree.children {
        candidates(child, number, found);
    }
}

/// True if a part of a loop's body runs on some of its iterations only.
fn has_guard(part: &Tree) -> bool {
    part.guard.is_some()
        || matches!(part.kind, Kind::Sequence) && part.children.iter().any(has_guard)
}

/// The children of a loop that run on all of its iterations, if those that do not stand before or
/// after all of them.
fn middle(tree: &Tree) -> Option<Range<usize>> {
    let guarded: Vec<bool> = tree.children.iter().map(has_guard).collect();
    let begin = guarded.iter().position(|&guarded| !guarded)?;
    let end = begin + guarded[begin..].iter().take_while(|&&guarded| !guarded).count();
    guarded[end..].iter().all(|&guarded| guarded).then_some(begin..end)
}

/// The node of a tree with this number, parents first.
fn numbered(tree: &Tree, number: usize) -> Option<&Tree> {
    let (mut at, mut found) = (0, None);
    tree.visit(&mut |inner| {
        if at == number {
            found = Some(inner);
        }
        at += 1;
    });
    found
}

/// A loop in the sequence.
struct Seen<'a> {
    log: &'a ThreadLog,
    traits: &'a [Traits],
    sequence: &'a Sequence,
    /// For each iteration the events that are common to all.
    iterations: Vec<Range<usize>>,
    /// Executions, as places in `iterations`.
    executions: Vec<Range<usize>>,
    /// For each, true if something runs before the common events, and true if something runs after
    /// them.
    more: Vec<(bool, bool)>,
}

impl<'a> Seen<'a> {
    /// The loop `tree`, whose iterations have these events; `None` unless they are all equal except
    /// for parts before and after.
    fn new(
        log: &'a ThreadLog,
        traits: &'a [Traits],
        sequence: &'a Sequence,
        tree: &Tree,
        ranges: &[Range<u64>],
    ) -> Option<Self> {
        let middle = middle(tree)?;
        let nodes_of =
            |parts: &[Tree]| -> HashSet<NodeId> { parts.iter().flat_map(Tree::nodes).collect() };
        let before = nodes_of(&tree.children[..middle.start]);
        let after = nodes_of(&tree.children[middle.end..]);
        let (mut iterations, mut more) = (Vec::new(), Vec::new());
        for range in ranges {
            let all = range.start as usize..range.end as usize;
            let events = sequence.nodes.get(all.clone())?;
            let first = events.iter().take_while(|node| before.contains(node)).count();
            let last = events.iter().rev().take_while(|node| after.contains(node)).count();
            if first + last >= events.len() {
                return None;
            }
            iterations.push(all.start + first..all.end - last);
            more.push((first > 0, last > 0));
        }
        let core = |range: &Range<usize>| &sequence.nodes[range.clone()];
        let body = core(iterations.first()?);
        if !iterations.iter().all(|range| core(range) == body) {
            return None;
        }
        let mut executions: Vec<Range<usize>> = Vec::new();
        for (at, range) in ranges.iter().enumerate() {
            match executions.last_mut() {
                Some(open) if ranges[at - 1].end == range.start => open.end = at + 1,
                _ => executions.push(at..at + 1),
            }
        }
        Some(Self { log, traits, sequence, iterations, executions, more })
    }

    /// Number of iterations in one iteration of each further loop, innermost first; empty where
    /// arguments show no loop.
    fn sizes(&self, columns: &mut Columns<'_>) -> Vec<u64> {
        let Some(first) = self.iterations.first() else { return Vec::new() };
        let body = &self.sequence.nodes[first.clone()];
        let longest = self.executions.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
        let mut found: Vec<usize> = Vec::new();
        for (place, &node) in body.iter().enumerate() {
            let Some(traits) = self.traits.get(node.0 as usize) else { continue };
            let mut steady = true;
            for &column in &traits.chosen {
                if self.log.nodes[node.0 as usize].columns.get(column).is_none() {
                    continue;
                }
                match self.period(place, column, columns) {
                    Period::Constant => {}
                    Period::None => steady = false,
                    Period::Of { .. } if self.is_answer(body, place, column, columns) => {
                        steady = false;
                    }
                    Period::Of { period, run } => {
                        steady = false;
                        found.extend([run, period].into_iter().filter(|&size| size > 1));
                    }
                }
            }
            if steady && traits.collective {
                return Vec::new();
            }
        }
        found.sort_unstable();
        let mut sizes: Vec<usize> = Vec::new();
        for size in found {
            let last = sizes.last().copied().unwrap_or(1);
            let size = size * last / gcd(size, last);
            if size > last && 2 * size <= longest && self.fits(size) {
                sizes.push(size);
            }
        }
        sizes.into_iter().map(|size| size as u64).collect()
    }

    /// True if parts that run on some iterations only run at begins and ends of loops of this size.
    fn fits(&self, size: usize) -> bool {
        self.executions.iter().all(|execution| {
            execution.clone().enumerate().all(|(number, at)| {
                let (before, after) = self.more[at];
                let ends = number % size == size - 1;
                (!before || number % size == 0) && (!after || ends)
            })
        })
    }

    /// The period of a column's values at one place of the body.
    fn period(&self, place: usize, column: usize, columns: &mut Columns<'_>) -> Period {
        let mut all = Period::Constant;
        for execution in &self.executions {
            let Some(stream) = self.stream(execution, place, column, columns) else {
                return Period::None;
            };
            all = match (all, period(&stream)) {
                (same, Period::Constant) | (Period::Constant, same) => same,
                (a, b) if a == b => a,
                _ => return Period::None,
            };
        }
        all
    }

    /// A column's values at one place of the body, for each iteration of an execution.
    fn stream(
        &self,
        execution: &Range<usize>,
        place: usize,
        column: usize,
        columns: &mut Columns<'_>,
    ) -> Option<Vec<i64>> {
        self.iterations[execution.clone()]
            .iter()
            .take(LOOKED_AT / self.executions.len())
            .map(|range| {
                let (node, visit) = self.sequence.visit(range.start + place);
                columns.values_of(node, column).get(visit as usize).copied()
            })
            .collect()
    }

    /// True if the values of a column are those that timing decided for an earlier call of the
    /// iteration or a later one of the iteration before, always or with the same difference.
    fn is_answer(
        &self,
        body: &[NodeId],
        place: usize,
        column: usize,
        columns: &mut Columns<'_>,
    ) -> bool {
        let matched: Vec<(usize, usize)> = (body.iter().enumerate())
            .filter_map(|(at, node)| Some((at, self.traits.get(node.0 as usize)?)))
            .flat_map(|(at, traits)| traits.matched.iter().map(move |&column| (at, column)))
            .filter(|&(at, column)| {
                self.log.nodes[body[at].0 as usize].columns.get(column).is_some()
            })
            .collect();
        matched.into_iter().any(|(earlier, decided)| {
            let behind = usize::from(earlier >= place);
            let mut difference = None;
            self.executions.iter().all(|execution| {
                let own = self.stream(execution, place, column, columns);
                let decided = self.stream(execution, earlier, decided, columns);
                let Some((own, decided)) = own.zip(decided) else { return false };
                own.iter().skip(behind).zip(&decided).all(|(&own, &decided)| {
                    let now = own.wrapping_sub(decided);
                    decided >= 0 && *difference.get_or_insert(now) == now
                })
            })
        })
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Turns the loops with these numbers into nests.
fn nest(tree: &mut Tree, number: &mut usize, found: &[(usize, Vec<u64>)]) {
    let own = *number;
    *number += 1;
    for child in &mut tree.children {
        nest(child, number, found);
    }
    let Ok(at) = found.binary_search_by_key(&own, |(number, _)| *number) else { return };
    let mut inner = 1;
    for &size in &found[at].1 {
        if split_once(tree, size / inner).is_none() {
            return;
        }
        inner = size;
    }
}

/// Makes iterations of the loop `tree` from `size` of its iterations each, the last one perhaps of
/// fewer; nothing changes where its guards do not permit that.
fn split_once(tree: &mut Tree, size: u64) -> Option<()> {
    let Kind::Loop { trips } = &tree.kind else { return None };
    let middle = middle(tree)?;
    let (mut outer, mut inner) = (Runs::new(), Runs::new());
    for &(length, times) in trips.runs() {
        outer.push(length.div_ceil(size), times);
        if length % size == 0 {
            inner.push(size, (length / size).saturating_mul(times));
        } else {
            for _ in 0..times {
                inner.push(size, length / size);
                inner.push(length % size, 1);
            }
        }
    }
    let whole = trips.runs().iter().all(|&(length, _)| length % size == 0);
    let longest = outer.runs().iter().map(|&(length, _)| length).max()?;
    let executions =
        outer.runs().iter().map(|&(length, times)| length.saturating_mul(times)).sum::<u64>();
    let mut children = tree.children.clone();
    for (at, child) in children.iter_mut().enumerate() {
        if !middle.contains(&at) {
            divide(child, size, whole, longest, executions)?;
        }
    }
    let body: Vec<Tree> = children.drain(middle.clone()).collect();
    children.insert(middle.start, Tree::new(Kind::Loop { trips: inner }, executions, body));
    tree.kind = Kind::Loop { trips: outer };
    tree.children = children;
    Some(())
}

/// Counts the guards of a part in iterations that are `size` times as long.
fn divide(part: &mut Tree, size: u64, whole: bool, longest: u64, all: u64) -> Option<()> {
    let fewer = |set: &Partition| {
        Partition::from_intervals(set.intervals().flat_map(|(first, count)| {
            (first..first + count).map(move |iteration| (iteration / size, 1))
        }))
    };
    let guard = match part.guard.as_ref() {
        None => None,
        Some(Guard::Each { iterations }) => {
            let iterations = fewer(iterations);
            (iterations.len() < longest).then_some(Guard::Each { iterations })
        }
        Some(Guard::Whole { iterations, .. }) if whole => {
            let iterations = fewer(iterations);
            (iterations.len() < all).then_some(Guard::Whole { iterations, of: all })
        }
        Some(Guard::Last) if whole => Some(Guard::Last),
        Some(_) => return None,
    };
    part.guard = guard;
    if matches!(part.kind, Kind::Sequence) {
        for child in &mut part.children {
            divide(child, size, whole, longest, all)?;
        }
    }
    Some(())
}

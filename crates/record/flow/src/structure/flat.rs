//! Steps with an additional part in every tenth.
//!
//! Owns one choice that a sequence of calls does not decide: `for 20 { for 10 X; A }` and `for 200
//! { X; if every 10th A }` make the same calls. Machine code decides it where it is known
//! ([`super::evidence`]): a loop of code around X and not around A, or none. Else, where `A` is
//! collective calls only, such as the reduction of printed values, and no argument distinguishes
//! the inner executions, many turns are steps of one loop; few (stages, sweeps, neighbours) are a
//! loop of their own, and so are turns with several collective calls each, as a solver's.
//! docs/structure.md documents this.

use super::evidence::{Code, Evidence, depth};
use super::expand::{Iteration, holds};
use super::periods::Traits;
use super::recount::{LOOKED_AT, has_guards, new_guard, recount};
use super::{Guard, Kind, Tree};
use crate::runs::Runs;

/// Maximum number of turns of an inner loop that are stages of a step.
const STAGES: u64 = 6;
/// Minimum number of collective calls in a turn that are the scalar products of a solver.
const PRODUCTS: usize = 2;
/// Maximum number of additional calls of a step; more are a phase of the program.
const BESIDES: usize = 4;

/// Joins loops inside loops of `tree` by the rule of the module.
pub(super) fn flatten(tree: &mut Tree, traits: &[Traits], code: &Code<'_>) {
    for child in &mut tree.children {
        flatten(child, traits, code);
    }
    if let Some(joined) = shared_loop(tree, traits, code).and_then(|at| joined(tree, at)) {
        *tree = joined;
    }
}

/// The place of the one loop in the body of `tree` whose turns are turns of `tree`.
fn shared_loop(tree: &Tree, traits: &[Traits], code: &Code<'_>) -> Option<usize> {
    if !matches!(tree.kind, Kind::Loop { .. }) {
        return None;
    }
    let evidence = |at: usize| {
        let others = tree.children.iter().enumerate().filter(|(other, _)| *other != at);
        let others: Vec<_> = others.flat_map(|(_, child)| child.nodes()).collect();
        let inner = &tree.children[at];
        code.evidence(&inner.nodes(), &others, depth(inner))
    };
    let loops = (0..tree.children.len()).filter(|&at| tree.children[at].is_loop());
    let known: Vec<(usize, Evidence)> = loops.map(|at| (at, evidence(at))).collect();
    let mut shared = known.iter().filter(|(_, evidence)| *evidence == Evidence::Shared);
    match (shared.next(), shared.next(), &known[..]) {
        (Some(&(at, _)), None, _) => Some(at),
        (None, _, [(_, Evidence::Unknown)]) => only_loop(tree, traits),
        _ => None,
    }
}

/// The place of the one loop in the body of `tree` if all else is a few collective calls.
fn only_loop(tree: &Tree, traits: &[Traits]) -> Option<usize> {
    if tree.children.iter().any(|c| c.guard.is_some()) {
        return None;
    }
    let mut loops = tree.children.iter().enumerate().filter(|(_, child)| child.is_loop());
    let (at, inner) = loops.next().filter(|_| loops.next().is_none())?;
    let Kind::Loop { trips } = &inner.kind else { return None };
    let [(turns, _)] = *trips.runs() else { return None };
    let steady = !has_guard(inner);
    let is_collective = |leaf: &Tree| match leaf.kind {
        Kind::Leaf { node } => traits.get(node.0 as usize).is_some_and(|traits| traits.collective),
        _ => false,
    };
    let besides = || tree.children.iter().filter(|child| !child.is_loop());
    let collective = besides().all(|part| {
        matches!(part.kind, Kind::Sequence)
            && part.children.iter().all(|leaf| leaf.guard.is_none() && is_collective(leaf))
    });
    let calls = besides().map(|part| part.children.len()).sum::<usize>();
    let own = inner.nodes();
    let collectives = own
        .iter()
        .filter(|node| traits.get(node.0 as usize).is_some_and(|traits| traits.collective));
    let collectives = collectives.count();
    let are_steps = turns > STAGES && collectives < PRODUCTS && collectives < own.len();
    (are_steps && steady && collective && (1..=BESIDES).contains(&calls)).then_some(at)
}

/// True if anything below runs on some iterations only.
fn has_guard(tree: &Tree) -> bool {
    tree.children.iter().any(|child| child.guard.is_some() || has_guard(child))
}

/// An iteration of the outer loop, and the corresponding iterations of the joined loop.
struct Turn {
    outer: Iteration,
    /// Number of the outer loop's execution.
    execution: usize,
    /// The first one in the execution, and their number.
    first: u64,
    length: u64,
}

/// The loop `tree` with the loop at place `inner` of its body as one loop. Calls before it run on
/// the first of its turns, those after it on the last. Absent where the inner loop does not run on
/// each turn.
fn joined(tree: &Tree, inner: usize) -> Option<Tree> {
    let Kind::Loop { trips: outer } = &tree.kind else { return None };
    let Kind::Loop { trips: turns } = &tree.children[inner].kind else { return None };
    if turns.len() > LOOKED_AT as u64 || outer.len() > LOOKED_AT as u64 {
        return None;
    }
    let mut lengths = turns.values();
    let (mut all, mut trips, mut in_all) = (Vec::new(), Runs::new(), 0);
    for (execution, of) in outer.values().enumerate() {
        let mut first = 0_u64;
        for number in 0..of {
            let outer = Iteration { number, of, in_all };
            in_all += 1;
            let runs = tree.children[inner].guard.as_ref().is_none_or(|guard| holds(guard, outer));
            let length = if runs { lengths.next()? } else { 0 };
            if length == 0 || all.len() == LOOKED_AT {
                return None;
            }
            all.push(Turn { outer, execution, first, length });
            first = first.checked_add(length)?;
        }
        trips.push(first, 1);
    }
    let executions: Vec<u64> = trips.values().collect();
    let beside = |guard: Option<&Guard>, is_before: bool| {
        let runs = all.iter().filter(|turn| guard.is_none_or(|guard| holds(guard, turn.outer)));
        let place = |turn: &Turn| turn.first + if is_before { 0 } else { turn.length - 1 };
        new_guard(&executions, runs.map(|turn| (turn.execution, place(turn))))
    };
    let inside = |guard: &Guard| {
        let mut in_all = 0;
        let places = all.iter().flat_map(|turn| {
            let before = in_all;
            in_all += turn.length;
            (0..turn.length).map(move |number| {
                let inner = Iteration { number, of: turn.length, in_all: before + number };
                (turn.execution, turn.first + number, inner)
            })
        });
        let runs = places.filter(|&(_, _, inner)| holds(guard, inner));
        new_guard(&executions, runs.map(|(execution, place, _)| (execution, place)))
    };
    if has_guards(&tree.children[inner]) && executions.iter().sum::<u64>() > LOOKED_AT as u64 {
        return None;
    }
    let mut children = Vec::new();
    for (at, child) in tree.children.iter().enumerate() {
        if at == inner {
            let mut body = child.children.clone();
            for part in &mut body {
                recount(part, &inside);
            }
            children.append(&mut body);
        } else {
            let mut part = child.clone();
            recount(&mut part, &|guard| beside(Some(guard), at < inner));
            if child.guard.is_none() {
                part.guard = beside(None, at < inner);
            }
            children.push(part);
        }
    }
    Some(Tree { kind: Kind::Loop { trips }, children, ..tree.clone() })
}

//! The main loop of a tree, whose iterations are the program's steps.
//!
//! Owns the choice: the outermost loop with most time, except for set-up that takes longer than a
//! short run itself, and, where it runs a few times only, the regular loop inside it with nearly
//! all of its time.

use serde::{Deserialize, Serialize};
use talea_model::Nanos;

use super::{Kind, Tree};

/// Two loops of a tree, as places in [`Tree::visit`]'s order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    /// The outermost loop of the two.
    pub dominant: usize,
    /// The loop whose iterations are the steps: the dominant one, or one inside it with nearly all
    /// of its time.
    pub steps: usize,
}

/// A loop with fewer iterations repeats a part of the program, which may have the steps inside it.
const FEW: u64 = 4;
/// Share of the time of a loop with few iterations that a loop inside it must have to take its
/// place.
const NEARLY_ALL: f64 = 0.75;
/// Share of the time of a loop with few iterations that another loop must have to take its place:
/// set-up may take longer than the steps of a short run.
const SET_UP: f64 = 0.25;

/// The loops of a tree that represent the whole, by time, or by events where there are no times;
/// `None` in a tree without loops.
pub fn steps(tree: &Tree) -> Option<Steps> {
    let mut loops = Vec::new();
    let mut number = 0;
    collect(tree, None, &mut number, &mut loops);
    let weigh =
        |l: &Found<'_>| if tree.time > Nanos(0) { l.tree.time.0 } else { l.tree.events } as f64;
    // The first of equals, as the tree has them in the order of first execution.
    let heaviest = |within: Option<usize>, least: u64| {
        let here = loops.iter().filter(move |l| l.within == within && longest(l.tree) >= least);
        here.rev().max_by(|a, b| weigh(a).total_cmp(&weigh(b)))
    };
    let mut dominant = heaviest(None, 0)?;
    if longest(dominant.tree) < FEW
        && let Some(other) = heaviest(None, FEW)
        && weigh(other) >= SET_UP * weigh(dominant)
        && heaviest(Some(dominant.number), FEW)
            .is_none_or(|inner| weigh(inner) < NEARLY_ALL * weigh(dominant))
    {
        dominant = other;
    }
    let mut steps = dominant;
    while longest(steps.tree) < FEW
        && let Some(inner) = heaviest(Some(steps.number), 0)
        && weigh(inner) >= NEARLY_ALL * weigh(dominant)
        && longest(inner.tree) > longest(steps.tree)
    {
        steps = inner;
    }
    Some(Steps { dominant: dominant.number, steps: steps.number })
}

struct Found<'a> {
    tree: &'a Tree,
    number: usize,
    /// The innermost enclosing loop.
    within: Option<usize>,
}

fn collect<'a>(
    tree: &'a Tree,
    within: Option<usize>,
    number: &mut usize,
    loops: &mut Vec<Found<'a>>,
) {
    let own = *number;
    *number += 1;
    let mut inner = within;
    if matches!(tree.kind, Kind::Loop { .. }) {
        loops.push(Found { tree, number: own, within });
        inner = Some(own);
    }
    for child in &tree.children {
        collect(child, inner, number, loops);
    }
}

/// Number of iterations of the longest execution.
fn longest(tree: &Tree) -> u64 {
    match &tree.kind {
        Kind::Loop { trips } => trips.runs().iter().map(|&(trips, _)| trips).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use talea_model::NodeId;

    use super::super::{Options, build};
    use super::*;

    fn tree(sequence: &[u32]) -> Tree {
        build(sequence.iter().map(|&n| NodeId(n)), &Options::default())
    }

    #[test]
    fn iterations_cover_the_loop() {
        // init, 20 times (a, 3 times b, c), end.
        let mut sequence = vec![0];
        for _ in 0..20 {
            sequence.extend([1, 2, 2, 2, 3]);
        }
        sequence.push(4);
        let tree = tree(&sequence);
        let steps = steps(&tree).unwrap();
        assert_eq!(steps.dominant, steps.steps);
        let ranges = tree.iterations(steps.steps);
        assert_eq!(ranges.len(), 20);
        assert_eq!(ranges[0], 1..6);
        assert_eq!(ranges[19], 96..101);
        assert!(tree.iterations(0).is_empty());
    }

    #[test]
    fn few_iterations_of_many_steps() {
        // 2 phases, each of 50 steps.
        let mut sequence = vec![0];
        for _ in 0..2 {
            sequence.push(1);
            for _ in 0..50 {
                sequence.extend([2, 3]);
            }
            sequence.push(4);
        }
        sequence.push(5);
        let tree = tree(&sequence);
        let steps = steps(&tree).unwrap();
        assert_ne!(steps.dominant, steps.steps);
        assert_eq!(tree.iterations(steps.dominant).len(), 2);
        assert_eq!(tree.iterations(steps.steps).len(), 100);
    }

    #[test]
    fn a_solver_inside_is_not_the_main_loop() {
        // 4 steps of 30 iterations.
        let mut sequence = vec![0];
        for _ in 0..4 {
            sequence.push(1);
            sequence.extend([2, 3].repeat(30));
        }
        sequence.push(4);
        let tree = tree(&sequence);
        let steps = steps(&tree).unwrap();
        assert_eq!(tree.iterations(steps.steps).len(), 4);
    }

    #[test]
    fn set_up_is_not_the_main_loop() {
        // Set-up twice with 40 calls, then 5 steps of 10.
        let set_up: Vec<u32> = (1..41).collect();
        let step: Vec<u32> = (50..60).collect();
        let tree = tree(&[&[0][..], &set_up.repeat(2), &step.repeat(5), &[99]].concat());
        let steps = steps(&tree).unwrap();
        assert_eq!(steps.dominant, steps.steps);
        assert_eq!(tree.iterations(steps.steps).len(), 5);
    }

    #[test]
    fn no_loop_no_steps() {
        assert_eq!(steps(&tree(&[0, 1, 2])), None);
    }
}

//! Which loop of the tree has the program's steps.
//!
//! Owns the choice that "big outer loop" statements stand on: the outermost loop with the largest share of the time, and the
//! loop inside it whose iterations a person would call steps, where the outermost one has only a few.

use talea_model::Nanos;

use super::{Kind, Tree};

/// Loops that stand for the whole, as places in [`Tree::visit`]'s order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The outermost loop with the largest share of the time (of the events, where there are no times).
    pub dominant: usize,
    /// The loop whose iterations are the steps: the dominant one, or one inside it with nearly all of its time.
    pub steps: usize,
}

/// A loop with fewer iterations is looked into for one with more.
const FEW: u64 = 10;
/// What a loop inside must have of the dominant one's time to take its place.
const NEARLY_ALL: f64 = 0.75;

/// The loops of a tree that stand for the whole; none in a tree without loops.
pub fn steps(tree: &Tree) -> Option<Steps> {
    let mut loops = Vec::new();
    let mut number = 0;
    collect(tree, None, &mut number, &mut loops);
    let weigh = |l: &Found<'_>| if tree.time > Nanos(0) { l.tree.time.0 } else { l.tree.events };
    let outermost = loops.iter().filter(|l| l.within.is_none());
    // The first of equals, as the tree has them in the order of first execution.
    let dominant = outermost.rev().max_by_key(|l| weigh(l))?;
    let mut steps = dominant;
    loop {
        let inside = loops.iter().filter(|l| l.within == Some(steps.number));
        let Some(heaviest) = inside.rev().max_by_key(|l| weigh(l)) else { break };
        let nearly_all = weigh(heaviest) as f64 >= NEARLY_ALL * weigh(dominant) as f64;
        if trips(steps.tree) >= FEW || !nearly_all || trips(heaviest.tree) <= trips(steps.tree) {
            break;
        }
        steps = heaviest;
    }
    Some(Steps { dominant: dominant.number, steps: steps.number })
}

struct Found<'a> {
    tree: &'a Tree,
    number: usize,
    /// The innermost loop around it.
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

/// Iterations of all executions.
fn trips(tree: &Tree) -> u64 {
    match &tree.kind {
        Kind::Loop { trips } => {
            trips.runs().iter().map(|&(trips, times)| trips.saturating_mul(times)).sum()
        }
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
    fn no_loop_no_steps() {
        assert_eq!(steps(&tree(&[0, 1, 2])), None);
    }
}

//! Threads that behave alike, and the structure of one of each kind: classes of ranks, where each
//! has one thread.
//!
//! Owns the two steps of grouping: threads that make the same calls in the same order share one
//! structure tree; threads whose trees have the same shape are one class. A thread of a rank that
//! reached the end stands for its class before one of a rank that did not.

pub use crate::ranges::ranges;
use std::cmp::Reverse;

use rayon::prelude::*;
use talea_flow::classes::{Fingerprint, group};
use talea_flow::structure::{ThreadTree, Tree};
use talea_model::{Nanos, NodeId};
use talea_run::Recording;
use talea_run::recording::{Ended, Process, Thread};

use super::location::ThreadAt;
use super::rank::{Flow, RankStudy};
use super::traits::{KnownPath, traits};
use super::walk::{Walked, walk};

/// Threads of the same structure.
#[derive(Debug)]
pub struct Class {
    /// `A`, `B` and so on.
    pub name: String,
    /// Its threads, in order.
    pub members: Vec<ThreadAt>,
    /// Number of groups of members that make exactly the same calls.
    pub exact: usize,
    /// The displayed member.
    pub representative: ThreadAt,
    /// Display data of the representative.
    pub shown: Shown,
}

/// Display data of one thread.
#[derive(Debug)]
pub struct Shown {
    /// Structure with the time inside calls.
    pub tree: Tree,
    /// The same tree with the time between calls, each gap at the call after it.
    pub gaps: Tree,
    /// Graph, loops, and loops in time.
    pub flow: Flow,
    /// Its events with times.
    pub walked: Walked,
}

impl Shown {
    /// Display data of a thread.
    pub fn new(
        recording: &Recording,
        process: &Process,
        thread: &Thread,
        paths: &[KnownPath],
    ) -> Self {
        let tree = ThreadTree::new(&thread.log, &traits(recording, thread, paths));
        Self::with_tree(recording, process, thread, tree)
    }

    fn with_tree(
        recording: &Recording,
        process: &Process,
        thread: &Thread,
        tree: ThreadTree,
    ) -> Self {
        let walked = walk(recording, process, thread);
        let flow = Flow::new(thread, &walked, tree.clone());
        let (mut tree, mut gaps) = (tree.clone(), tree);
        let bracket = |id: NodeId| walked.nodes[id.0 as usize].bracket;
        tree.add_times(
            walked
                .events
                .iter()
                .map(|event| if bracket(event.node) { Nanos(0) } else { event.end - event.begin }),
        );
        // Computation begins when MPI is initialised: none is visible before.
        let mut before: Option<Nanos> = None;
        gaps.add_times(walked.events.iter().map(|event| {
            let gap = before.map_or(Nanos(0), |end| event.begin - end);
            before = Some(event.end);
            gap
        }));
        Self { tree: tree.tree, gaps: gaps.tree, flow, walked }
    }
}

/// The classes of a recording, largest first. Threads of one rank may do very different things:
/// where there are several, the class with most time in a loop comes first, however few threads it
/// has.
pub(super) fn classes(
    recording: &Recording,
    ranks: &[RankStudy],
    paths: &[KnownPath],
) -> Vec<Class> {
    let processes = &recording.processes;
    let study = |at: ThreadAt| &ranks[at.process].threads[at.thread];
    let recorded = |at: ThreadAt| &processes[at.process].threads[at.thread];
    let known: Vec<ThreadAt> = (0..ranks.len())
        .flat_map(|process| {
            ranks[process].active().map(move |(thread, _)| ThreadAt { process, thread })
        })
        .collect();
    let exact = group(known.iter().map(|&at| study(at).exact));
    let best = |members: &[ThreadAt]| {
        let finished = members.iter().find(|at| processes[at.process].ended == Ended::Finalized);
        finished.copied().unwrap_or(members[0])
    };
    let exact: Vec<Vec<ThreadAt>> =
        exact.iter().map(|class| class.members.iter().map(|&at| known[at]).collect()).collect();
    let trees: Vec<(ThreadTree, Fingerprint)> = exact
        .par_iter()
        .map(|members| {
            let thread = recorded(best(members));
            let tree = ThreadTree::new(&thread.log, &traits(recording, thread, paths));
            let fingerprint =
                Fingerprint::loose(&tree.tree, |node| thread.log.nodes[node.0 as usize].signature);
            (tree, fingerprint)
        })
        .collect();
    let mut classes: Vec<(Vec<ThreadAt>, usize, usize)> =
        group(trees.iter().map(|(_, print)| *print))
            .iter()
            .map(|class| {
                let mut members: Vec<ThreadAt> =
                    class.members.iter().flat_map(|&at| exact[at].clone()).collect();
                members.sort_unstable();
                // The largest group of equal ranks stands for the class.
                let shown = class
                    .members
                    .iter()
                    .copied()
                    .min_by_key(|&at| (usize::MAX - exact[at].len(), at));
                (members, class.members.len(), shown.unwrap_or(0))
            })
            .collect();
    let several = ranks.iter().any(RankStudy::has_threads);
    classes.sort_by_key(|(members, _, _)| {
        let time: Nanos = members.iter().map(|&at| study(at).loop_time()).sum();
        let time = if several { time } else { Nanos(0) };
        (Reverse(time), Reverse(members.len()), members.first().copied())
    });
    let mut trees: Vec<Option<ThreadTree>> =
        trees.into_iter().map(|(tree, _)| Some(tree)).collect();
    classes
        .into_iter()
        .enumerate()
        .map(|(number, (members, count, shown))| {
            let representative = best(&exact[shown]);
            let process = &processes[representative.process];
            let thread = recorded(representative);
            let shown = match trees[shown].take() {
                Some(tree) => Shown::with_tree(recording, process, thread, tree),
                None => Shown::new(recording, process, thread, paths),
            };
            Class { name: name(number), members, exact: count, representative, shown }
        })
        .collect()
}

/// `A` to `Z`, then `AA`.
fn name(number: usize) -> String {
    let letter = char::from(b'A' + (number % 26) as u8);
    if number < 26 { letter.to_string() } else { name(number / 26 - 1) + &letter.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ranges() {
        let names: Vec<String> = [0, 25, 26, 27, 702].into_iter().map(name).collect();
        assert_eq!(names, ["A", "Z", "AA", "AB", "AAA"]);
        assert_eq!(ranges([0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(ranges([]), "");
    }
}

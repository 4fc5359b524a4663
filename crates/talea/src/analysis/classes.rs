//! Ranks that behave alike, and the structure of one of each kind.
//!
//! Owns the two steps of grouping: ranks that make the same calls in the same order share one structure tree; ranks whose trees
//! have the same shape are one class. A rank that reached the end stands for its class before one that did not.

use rayon::prelude::*;
use talea_flow::classes::{Fingerprint, group};
use talea_flow::structure::{Options, Tree, build};
use talea_model::{Nanos, NodeId};
use talea_run::Recording;
use talea_run::recording::{Ended, Process, Thread};

use super::rank::{Flow, RankStudy};
use super::walk::{Walked, walk};

/// Ranks of the same structure.
#[derive(Debug)]
pub(crate) struct Class {
    /// `A`, `B` and so on.
    pub(crate) name: String,
    /// Its ranks, as places in the analysis.
    pub(crate) members: Vec<usize>,
    /// Groups of them that make exactly the same calls.
    pub(crate) exact: usize,
    /// The member that is shown.
    pub(crate) representative: usize,
    /// What the representative did.
    pub(crate) shown: Shown,
}

/// One rank's first thread as it is shown.
#[derive(Debug)]
pub(crate) struct Shown {
    /// Structure with the time inside calls.
    pub(crate) tree: Tree,
    /// The same tree with the time between calls, each gap at the call behind it.
    pub(crate) gaps: Tree,
    /// Graph, loops, and loops in time.
    pub(crate) flow: Flow,
    /// Its events with times.
    pub(crate) walked: Walked,
}

impl Shown {
    /// Of a thread.
    pub(crate) fn new(recording: &Recording, process: &Process, thread: &Thread) -> Self {
        let tree = build(thread.log.walk(), &Options::default());
        Self::with_tree(recording, process, thread, tree)
    }

    fn with_tree(recording: &Recording, process: &Process, thread: &Thread, tree: Tree) -> Self {
        let walked = walk(recording, process, thread);
        let flow = Flow::new(thread, &walked);
        let (mut tree, mut gaps) = (tree.clone(), tree);
        let bracket = |id: NodeId| walked.nodes[id.0 as usize].bracket;
        tree.add_times(
            walked
                .events
                .iter()
                .map(|event| if bracket(event.node) { Nanos(0) } else { event.end - event.begin }),
        );
        // Computation begins when MPI is initialised: before that there was none to be seen.
        let mut before: Option<Nanos> = None;
        gaps.add_times(walked.events.iter().map(|event| {
            let gap = before.map_or(Nanos(0), |end| event.begin - end);
            before = Some(event.end);
            gap
        }));
        Self { tree, gaps, flow, walked }
    }
}

/// The classes of a recording, largest first.
pub(super) fn classes(recording: &Recording, ranks: &[RankStudy]) -> Vec<Class> {
    let processes = &recording.processes;
    let known: Vec<usize> = (0..ranks.len()).filter(|&at| ranks[at].exact.is_some()).collect();
    let exact = group(known.iter().filter_map(|&at| ranks[at].exact));
    let best = |members: &[usize]| {
        let finished = members.iter().find(|&&at| processes[at].ended == Ended::Finalized);
        finished.or(members.first()).copied().unwrap_or(0)
    };
    let exact: Vec<Vec<usize>> =
        exact.iter().map(|class| class.members.iter().map(|&at| known[at]).collect()).collect();
    let trees: Vec<(Tree, Fingerprint)> = exact
        .par_iter()
        .map(|members| {
            let thread = &processes[best(members)].threads[0];
            let tree = build(thread.log.walk(), &Options::default());
            let fingerprint =
                Fingerprint::loose(&tree, |node| thread.log.nodes[node.0 as usize].signature);
            (tree, fingerprint)
        })
        .collect();
    let mut classes: Vec<(Vec<usize>, usize, usize)> = group(trees.iter().map(|(_, print)| *print))
        .iter()
        .map(|class| {
            let mut members: Vec<usize> =
                class.members.iter().flat_map(|&at| exact[at].clone()).collect();
            members.sort_unstable();
            // The largest group of equal ranks stands for the class.
            let shown =
                class.members.iter().copied().min_by_key(|&at| (usize::MAX - exact[at].len(), at));
            (members, class.members.len(), shown.unwrap_or(0))
        })
        .collect();
    classes.sort_by_key(|(members, _, _)| (usize::MAX - members.len(), members.first().copied()));
    let mut trees: Vec<Option<Tree>> = trees.into_iter().map(|(tree, _)| Some(tree)).collect();
    classes
        .into_iter()
        .enumerate()
        .map(|(number, (members, count, shown))| {
            let representative = best(&exact[shown]);
            let process = &processes[representative];
            let thread = &process.threads[0];
            let shown = match trees[shown].take() {
                Some(tree) => Shown::with_tree(recording, process, thread, tree),
                None => Shown::new(recording, process, thread),
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

/// Ranks as text: `0-3,8`.
pub(crate) fn ranges(ranks: impl IntoIterator<Item = u32>) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(rank) => *last = rank,
            _ => parts.push((rank, rank)),
        }
    }
    let text = |&(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.iter().map(text).collect::<Vec<_>>().join(",")
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

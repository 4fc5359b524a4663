//! Threads that behave alike, and the structure of one of each kind: classes of ranks, where each
//! has one thread.
//!
//! Owns the two steps of grouping: threads that make the same calls in the same order share one
//! structure tree; threads whose trees have the same shape are one class. A thread of a rank that
//! reached the end stands for its class before one of a rank that did not.

pub use crate::ranges::ranges;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use talea_flow::classes::{Class as Similar, Fingerprint, group};
use talea_flow::structure::ThreadTree;
use talea_model::Nanos;
use talea_run::Recording;
use talea_run::recording::Ended;

use super::display::Shown;
use super::flow::thread_tree;
use super::location::ThreadAt;
use super::rank::RankStudy;
use super::traits::KnownPath;

/// Threads of the same structure.
#[derive(Debug, Serialize, Deserialize)]
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

/// Threads of one structure before times are known.
#[derive(Debug)]
pub(super) struct Group {
    members: Vec<ThreadAt>,
    exact: usize,
    /// The thread that stands for them.
    pub(super) representative: ThreadAt,
    /// Its tree.
    pub(super) tree: ThreadTree,
}

/// Groups the threads of a recording by their structure, in the order of first members.
pub(super) fn groups(recording: &Recording, paths: &[KnownPath]) -> Vec<Group> {
    let processes = &recording.processes;
    let recorded = |at: ThreadAt| &processes[at.process].threads[at.thread];
    let known: Vec<ThreadAt> = (0..processes.len())
        .flat_map(|process| {
            let threads = processes[process].threads.iter().enumerate();
            // As in `RankStudy::active`.
            let active = threads.filter(|(place, thread)| *place == 0 || thread.log.events > 0);
            active.map(move |(thread, _)| ThreadAt { process, thread })
        })
        .collect();
    let exact = group(
        known.par_iter().map(|&at| Fingerprint::exact(&recorded(at).log)).collect::<Vec<_>>(),
    );
    let best = |members: &[ThreadAt]| {
        let finished = members.iter().find(|at| processes[at.process].ended == Ended::Finalized);
        finished.copied().unwrap_or(members[0])
    };
    let exact: Vec<Vec<ThreadAt>> =
        exact.iter().map(|class| class.members.iter().map(|&at| known[at]).collect()).collect();
    let (mut trees, prints): (Vec<Option<ThreadTree>>, Vec<Fingerprint>) = exact
        .par_iter()
        .map(|members| {
            let thread = recorded(best(members));
            let tree = thread_tree(recording, thread, paths);
            let fingerprint =
                Fingerprint::loose(&tree.tree, |node| thread.log.nodes[node.0 as usize].signature);
            (Some(tree), fingerprint)
        })
        .unzip();
    let of_class = |class: &Similar| {
        let mut members: Vec<ThreadAt> =
            class.members.iter().flat_map(|&at| exact[at].clone()).collect();
        members.sort_unstable();
        // The largest group of equal ranks stands for the class.
        let shown = class.members.iter().copied().min_by_key(|&at| (Reverse(exact[at].len()), at));
        let shown = shown?;
        let tree = trees[shown].take()?;
        let representative = best(&exact[shown]);
        Some(Group { members, exact: class.members.len(), representative, tree })
    };
    group(prints).iter().filter_map(of_class).collect()
}

/// The classes of a recording, largest first. Threads of one rank may do very different things:
/// where there are several, the class with most time in a loop comes first, however few threads it
/// has. Groups whose thread has no display data are left out.
pub(super) fn classes(
    groups: Vec<Group>,
    ranks: &[RankStudy],
    shown: &mut BTreeMap<ThreadAt, Shown>,
) -> Vec<Class> {
    let several = ranks.iter().any(RankStudy::has_threads);
    let mut groups = groups;
    groups.sort_by_key(|one| {
        let study = |at: &ThreadAt| &ranks[at.process].threads[at.thread];
        let time: Nanos = one.members.iter().map(|at| study(at).loop_time()).sum();
        let time = if several { time } else { Nanos(0) };
        (Reverse(time), Reverse(one.members.len()), one.members.first().copied())
    });
    let with_data =
        groups.into_iter().filter_map(|one| Some((shown.remove(&one.representative)?, one)));
    let class = |(number, (shown, one)): (usize, (Shown, Group))| {
        let Group { members, exact, representative, .. } = one;
        Class { name: name(number), members, exact, representative, shown }
    };
    with_data.enumerate().map(class).collect()
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

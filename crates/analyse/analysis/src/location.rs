//! Threads of a run, and their names for people.
//!
//! Owns the name of a location: `rank 2` where the rank has one recorded thread, otherwise `rank 2,
//! thread 1`. In lists these are `2` and `2.1`, runs of them `0-3` and `0-3.1-2`: threads 1 and 2
//! of each of ranks 0 to 3.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use talea_run::recording::Thread;

use super::Analysis;
use super::ranges::ranges;
use super::rank::{RankStudy, ThreadStudy};

/// A thread of a run, by places in the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ThreadAt {
    /// Place of its process.
    pub process: usize,
    /// Its place in the process.
    pub thread: usize,
}

impl<'a> Analysis<'a> {
    /// The analysis of a thread.
    pub fn thread(&self, at: ThreadAt) -> &ThreadStudy {
        &self.ranks[at.process].threads[at.thread]
    }

    /// A thread of the recording.
    pub fn recorded(&self, at: ThreadAt) -> &'a Thread {
        &self.process(at.process).threads[at.thread]
    }

    /// Threads of a rank, by its place.
    pub fn threads_of(&self, process: usize) -> impl Iterator<Item = ThreadAt> {
        self.ranks[process].active().map(move |(thread, _)| ThreadAt { process, thread })
    }

    /// True if a rank has several recorded threads.
    pub fn has_threads(&self) -> bool {
        self.ranks.iter().any(RankStudy::has_threads)
    }

    /// The number of a thread where its rank has several.
    pub fn number_of(&self, at: ThreadAt) -> Option<u32> {
        let study = &self.ranks[at.process];
        study.has_threads().then(|| study.threads[at.thread].number)
    }

    /// `rank 2` or `rank 2, thread 1`.
    pub fn location(&self, at: ThreadAt) -> String {
        let rank = self.ranks[at.process].rank;
        match self.number_of(at) {
            Some(thread) => format!("rank {rank}, thread {thread}"),
            None => format!("rank {rank}"),
        }
    }

    /// Threads in one list: `0-3`, `0-3.1-2,4.1`. They are in order.
    pub fn locations(&self, threads: &[ThreadAt]) -> String {
        list(threads.iter().map(|&at| (self.ranks[at.process].rank.0, self.number_of(at))))
    }

    /// Ranks of threads that are in order: `0-3`.
    pub fn ranks_of(&self, threads: &[ThreadAt]) -> String {
        let mut ranks: Vec<u32> = threads.iter().map(|at| self.ranks[at.process].rank.0).collect();
        ranks.dedup();
        ranges(ranks)
    }
}

/// Ranks, with the number of a thread where they have several, as one list.
fn list(threads: impl Iterator<Item = (u32, Option<u32>)>) -> String {
    // Threads of each rank; `None` is the only one.
    let mut ranks: Vec<(u32, Vec<u32>)> = Vec::new();
    for (rank, thread) in threads {
        match ranks.last_mut() {
            Some((last, threads)) if *last == rank => threads.extend(thread),
            _ => ranks.push((rank, thread.into_iter().collect())),
        }
    }
    // Ranks by each run of threads that they have.
    let mut with: BTreeMap<(u32, String), Vec<u32>> = BTreeMap::new();
    for (rank, threads) in ranks {
        if threads.is_empty() {
            with.entry((0, String::new())).or_default().push(rank);
        }
        let first = |run: &str| run.split('-').next().and_then(|one| one.parse().ok());
        for run in ranges(threads).split(',').filter(|run| !run.is_empty()) {
            with.entry((first(run).unwrap_or(0), run.to_owned())).or_default().push(rank);
        }
    }
    let parts = with.into_iter().flat_map(|((_, threads), ranks)| {
        let after = if threads.is_empty() { threads } else { format!(".{threads}") };
        let ranks = ranges(ranks);
        ranks.split(',').map(|run| format!("{run}{after}")).collect::<Vec<_>>()
    });
    parts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_say_threads_where_ranks_have_several() {
        let check = |threads: &[(u32, Option<u32>)], expected| {
            assert_eq!(list(threads.iter().copied()), expected);
        };
        check(&[(0, None), (1, None), (2, None), (5, None)], "0-2,5");
        check(&[(0, Some(1)), (0, Some(2)), (1, Some(1)), (1, Some(2))], "0-1.1-2");
        check(
            &[(0, Some(1)), (0, Some(2)), (0, Some(10)), (1, Some(1)), (1, Some(2))],
            "0-1.1-2,0.10",
        );
        check(&[(0, Some(0)), (1, None), (3, Some(0))], "1,0.0,3.0");
        check(&[], "");
    }
}

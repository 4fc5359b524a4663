//! The choice of ranks and threads of a view.
//!
//! Owns the reasons for which a view has nothing to show; each names what the run has instead.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use talea_model::{Gaps, Rank};
use talea_results::views::SamplesData;
use talea_run::RunDirectory;
use talea_run::load::LoadError;
use talea_run::sampled::SampleSites;
use talea_run::samples;

use super::growth::NoTimes;
use super::samples::samples as of_process;
use crate::Analysis;
use crate::classes::ranges;
use crate::location::ThreadAt;

/// Reasons for an empty view.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The run.
    #[error("{0}")]
    Load(#[from] LoadError),
    /// Nothing was recorded.
    #[error(
        "the run has no record of any process, so there is nothing to show{why}: `{}`",
        path.display()
    )]
    Empty {
        /// The known cause.
        why: String,
        /// The run.
        path: PathBuf,
    },
    /// Single times were not kept.
    #[error("{source}: `{}`", path.display())]
    Growth {
        /// The reason.
        source: NoTimes,
        /// The run.
        path: PathBuf,
    },
    /// Nothing was sampled.
    #[error(
        "the run has no samples; `talea run --sample 100Hz -- COMMAND` takes some: `{}`",
        .0.display()
    )]
    NoSamples(PathBuf),
    /// No such rank.
    #[error("no record of rank {rank}; the run has ranks {known}: `{}`", path.display())]
    Rank {
        /// The requested rank.
        rank: Rank,
        /// The available ones.
        known: String,
        /// The run.
        path: PathBuf,
    },
    /// No such thread.
    #[error("no record of thread {thread} of rank {rank}, which has {known}: `{}`", path.display())]
    Thread {
        /// The rank.
        rank: Rank,
        /// The requested thread.
        thread: u32,
        /// The available ones.
        known: String,
        /// The run.
        path: PathBuf,
    },
}

/// Refuses a run without a record of any process; `path` is its name in the error.
pub fn check(analysis: &Analysis<'_>, path: &Path) -> Result<(), ViewError> {
    if !analysis.ranks.is_empty() {
        return Ok(());
    }
    let gaps = &analysis.run.recording.gaps;
    let why = gaps.iter().next().map(|gap| format!(" ({})", gap.detail)).unwrap_or_default();
    Err(ViewError::Empty { why, path: path.to_owned() })
}

/// The threads of a rank, or the wanted one; none without a rank.
pub fn choose(
    analysis: &Analysis<'_>,
    path: &Path,
    rank: Option<Rank>,
    thread: Option<u32>,
) -> Result<Vec<ThreadAt>, ViewError> {
    let Some(rank) = rank else { return Ok(Vec::new()) };
    let place = analysis.rank(rank).ok_or_else(|| ViewError::Rank {
        rank,
        known: ranges(analysis.ranks.iter().map(|study| study.rank.0)),
        path: path.to_owned(),
    })?;
    let mut threads: Vec<ThreadAt> = analysis.threads_of(place).collect();
    let Some(thread) = thread else { return Ok(threads) };
    threads.retain(|&at| analysis.thread(at).number == thread);
    if threads.is_empty() {
        let numbers = analysis.ranks[place].active().map(|(_, one)| one.number);
        let known = match ranges(numbers) {
            none if none.is_empty() => "none".to_owned(),
            one if one.parse::<u32>().is_ok() => format!("thread {one} only"),
            several => format!("threads {several}"),
        };
        return Err(ViewError::Thread { rank, thread, known, path: path.to_owned() });
    }
    Ok(threads)
}

/// Samples of all processes of a run, or of one rank, with the gaps of reading them.
pub fn sampled(path: &Path, rank: Option<Rank>) -> Result<(Vec<SamplesData>, Gaps), ViewError> {
    let directory = RunDirectory::open(path).map_err(LoadError::from)?;
    let all = samples::load(&directory);
    if all.processes.is_empty() && all.gaps.is_empty() {
        return Err(ViewError::NoSamples(path.to_owned()));
    }
    let sites = SampleSites::load(&directory, &all);
    let mut shown: Vec<SamplesData> = Vec::new();
    for (number, process) in all.processes.iter().enumerate() {
        if rank.is_none_or(|rank| process.world.is_some_and(|world| world.rank == rank)) {
            shown.push(of_process(process, number, &sites));
        }
    }
    if let (Some(rank), true) = (rank, shown.is_empty()) {
        let ranks = all.processes.iter().filter_map(|process| Some(process.world?.rank.0));
        let known = ranges(ranks.collect::<BTreeSet<_>>());
        return Err(ViewError::Rank { rank, known, path: path.to_owned() });
    }
    Ok((shown, all.gaps))
}

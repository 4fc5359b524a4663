//! The run shown with a recording: its loop's iterations on the recording's axis of time.
//!
//! Owns the choice of the rank and the match of clocks. The host's `CLOCK_MONOTONIC`, which both
//! files keep, matches them as exactly as times of runs are; where it disagrees with the date - the
//! host was restarted, or its clock was set - the date decides, and a gap says so. Files that do
//! not belong together are an error, never a picture. Loops are the analysis's, words and merging
//! are `talea-topology`'s.

use std::path::{Path, PathBuf};

use talea_model::{Gap, GapKind, Nanos, Rank};
use talea_report::data::TreeNode;
use talea_run::live::layout::TimesMode;
use talea_run::recording::{Process, Started};
use talea_topo::Recording;
use talea_topology::phases::{Course, Phases};

use crate::{Analysis, Progress, display_rank, tree};
use talea_run::load::{self, LoadError, Run};

/// Maximum difference of two clocks that agree: the run reads them some milliseconds after each
/// other.
const CLOSE: i128 = 1_000_000_000;
/// Maximum length in bytes of a host's name in a run.
const HOST: usize = 63;

/// Errors of a run beside a recording.
#[derive(Debug, thiserror::Error)]
pub enum PhasesError {
    /// The run cannot be read.
    #[error("--run: {0}")]
    Load(#[from] LoadError),
    /// The recording's times are simulated.
    #[error(
        "--run: expected a recording of measured values, found simulated values: `{}`",
        .0.display()
    )]
    Simulated(PathBuf),
    /// One of the two has no date or no host.
    #[error(
        "--run: expected a recording with host and date, this file has none: `{}`",
        .0.display()
    )]
    NoDate(PathBuf),
    /// An unknown rank.
    #[error(
        "--rank: the run has {count} ranks, from {least} to {most}, none is {rank}: `{}`",
        path.display()
    )]
    NoRank {
        /// The requested rank.
        rank: u32,
        /// Number of ranks.
        count: usize,
        /// The lowest rank.
        least: u32,
        /// The highest rank.
        most: u32,
        /// The run.
        path: PathBuf,
    },
    /// Made on another host.
    #[error("--run: the recording is of host `{host}`, where no rank of the run was; it ran on {hosts}: `{}`", path.display())]
    OtherHost {
        /// The recording's host.
        host: String,
        /// The run's hosts.
        hosts: String,
        /// The run.
        path: PathBuf,
    },
    /// Iterations have no times.
    #[error("--run: rank {rank} has no times of single calls, by which iterations could be placed: `{}`", path.display())]
    NoTimes {
        /// The rank.
        rank: u32,
        /// The run.
        path: PathBuf,
    },
    /// Made at another time.
    #[error("--run: the run was at another time than the recording: rank {rank} ran {ran}, values are {recorded}: `{}`", path.display())]
    OtherTime {
        /// The rank.
        rank: u32,
        /// Begin and end of the run.
        ran: String,
        /// Begin and end of the recording.
        recorded: String,
        /// The run.
        path: PathBuf,
    },
}

/// Adds a run's phases to a recording. Without a rank, those of the lowest that ran on the
/// recording's host.
///
/// # Errors
/// A run that cannot be read or does not belong to the recording, or a rank that it has not.
pub fn add_run(
    recording: &mut Recording,
    path: &Path,
    rank: Option<u32>,
    progress: Progress<'_>,
) -> Result<(), PhasesError> {
    let no_date = |path: &Path| PhasesError::NoDate(path.to_owned());
    let about = &recording.about;
    if about.source.contains("simulated") {
        return Err(PhasesError::Simulated(recording.path.clone()));
    }
    let zero: jiff::Timestamp = about.start.parse().map_err(|_| no_date(&recording.path))?;
    if about.host.is_empty() {
        return Err(no_date(&recording.path));
    }
    let mut run = load::load(path)?;
    let (chosen, anchor) = choose(&run, &about.host, rank, path)?;
    let processes = &mut run.recording.processes;
    let started = processes[anchor].started;
    if started.realtime == Nanos(0) {
        return Err(no_date(path));
    }
    let (shift, by_date) = shift(started, zero.as_nanosecond(), about.start_monotonic_ns);
    let number = rank_number(&run, chosen);
    let elsewhere = (chosen != anchor).then(|| run.recording.processes[chosen].host.clone());
    // The analysis of the others would cost time and change nothing.
    let only = run.recording.processes.swap_remove(chosen);
    run.recording.processes = vec![only];
    if run.recording.times == TimesMode::Statistics {
        return Err(PhasesError::NoTimes { rank: number, path: path.to_owned() });
    }
    let course = course(&run, number, path, shift, progress)?;
    let first = recording.frames.first().map_or(Nanos(0), |frame| frame.at - frame.span);
    let last = recording.frames.last().map_or(Nanos(0), |frame| frame.at);
    let phases = Phases::within(&course, first, last).ok_or_else(|| {
        let span = |from: i64, to: i64| dates(zero, from, to);
        PhasesError::OtherTime {
            rank: number,
            ran: span(course.begin, course.end),
            recorded: span(first.0 as i64, last.0 as i64),
            path: path.to_owned(),
        }
    })?;
    let mut note = |kind, detail: String, count| {
        recording.gaps.note(Gap { kind, rank: None, detail, count });
    };
    if phases.outside > 0 {
        let (outside, all) = (phases.outside, phases.iterations);
        let detail = format!("{outside} of {all} iterations of the run are outside the recording");
        note(GapKind::Missing, detail, outside);
    }
    if by_date {
        let detail = "the run is matched by date alone, as the host's clock was set or the host was restarted: its iterations may \
                      be off by more than some milliseconds";
        note(GapKind::Estimated, detail.to_owned(), 0);
    }
    if let Some(host) = elsewhere {
        let here = &recording.about.host;
        let detail = format!("rank {number} ran on `{host}`, values are of `{here}`");
        recording.gaps.note(Gap { kind: GapKind::Estimated, rank: None, detail, count: 0 });
    }
    let concerns = |gap: &&Gap| gap.rank.is_none_or(|rank| rank == Rank(number));
    for gap in run.recording.gaps.iter().filter(concerns) {
        recording.gaps.note(Gap { detail: format!("run: {}", gap.detail), ..gap.clone() });
    }
    recording.run = Some(phases);
    Ok(())
}

/// The displayed process, and the one whose clock is the recording's; the same unless the user
/// requests a rank of another host.
fn choose(
    run: &Run,
    host: &str,
    rank: Option<u32>,
    path: &Path,
) -> Result<(usize, usize), PhasesError> {
    let processes = &run.recording.processes;
    let here = |process: &Process| process.host.as_bytes() == cut(host);
    let Some(first) = processes.iter().position(here) else {
        let mut hosts: Vec<String> = processes.iter().map(|p| format!("`{}`", p.host)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let more = hosts.len().saturating_sub(4);
        hosts.truncate(4);
        let hosts = match (hosts.is_empty(), more) {
            (true, _) => "none that is known".to_owned(),
            (false, 0) => hosts.join(", "),
            (false, more) => format!("{} and {more} more", hosts.join(", ")),
        };
        let (host, path) = (host.to_owned(), path.to_owned());
        return Err(PhasesError::OtherHost { host, hosts, path });
    };
    let Some(rank) = rank else { return Ok((first, first)) };
    let number = |at: usize| rank_number(run, at);
    let chosen = (0..processes.len()).find(|&at| number(at) == rank).ok_or_else(|| {
        let all = || (0..processes.len()).map(number);
        let (least, most) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
        let (count, path) = (processes.len(), path.to_owned());
        PhasesError::NoRank { rank, count, least, most, path }
    })?;
    Ok((chosen, if here(&processes[chosen]) { chosen } else { first }))
}

fn cut(host: &str) -> &[u8] {
    &host.as_bytes()[..host.len().min(HOST)]
}

fn rank_number(run: &Run, at: usize) -> u32 {
    display_rank(run, &run.recording.processes[at]).0
}

/// Nanoseconds to add to times of the run to get times of the recording, and true if only the date
/// gives them.
fn shift(started: Started, zero_realtime: i128, zero_monotonic: u64) -> (i64, bool) {
    let since = |run: Nanos, zero: i128| i128::from(run.0) - i128::from(started.at.0) - zero;
    let date = since(started.realtime, zero_realtime);
    let exact = since(started.monotonic, i128::from(zero_monotonic));
    let known = zero_monotonic > 0 && started.monotonic > Nanos(0);
    let whole = |shift: i128| shift.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    if known && (exact - date).abs() < CLOSE { (whole(exact), false) } else { (whole(date), true) }
}

/// The only rank of a run, its times shifted by `shift`.
fn course(
    run: &Run,
    rank: u32,
    path: &Path,
    shift: i64,
    progress: Progress<'_>,
) -> Result<Course, PhasesError> {
    let analysis = Analysis::new(run, progress);
    let no_times = || PhasesError::NoTimes { rank, path: path.to_owned() };
    let study = analysis.ranks.first().filter(|study| study.end > study.begin);
    let study = study.ok_or_else(no_times)?;
    let moved = |at: Nanos| i64::try_from(at.0).unwrap_or(i64::MAX).saturating_add(shift);
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let mut course = Course {
        of: format!("rank {rank} of `{name}`"),
        begin: moved(study.begin),
        end: moved(study.end),
        ..Course::default()
    };
    let lead = analysis.classes.first().map(|class| class.representative);
    if let Some((lead, main)) = lead.and_then(|lead| Some((lead, analysis.thread(lead).main()?))) {
        let each = analysis.iterations(lead);
        course.iterations = each.iter().map(|one| (moved(one.begin), one.duration)).collect();
        course.slow.clone_from(&main.durations.outliers);
        course.median = main.durations.median;
        course.place =
            place(&analysis, main.index).unwrap_or_else(|| analysis.places.short(main.header.path));
    }
    Ok(course)
}

/// The place of a loop, as in the report.
fn place(analysis: &Analysis<'_>, index: u32) -> Option<String> {
    let class = analysis.classes.first()?;
    let root = tree::tree(analysis, analysis.recorded(class.representative), &class.shown, 0);
    let mut open: Vec<&TreeNode> = vec![&root];
    while let Some(node) = open.pop() {
        if node.loop_id == Some(tree::graph_loop(0, index)) && !node.label.is_empty() {
            return Some(node.label.clone());
        }
        open.extend(node.children.iter().rev());
    }
    None
}

/// `from 2026-11-20 08:30:00 to 08:30:12 UTC` of times since a date.
fn dates(zero: jiff::Timestamp, from: i64, to: i64) -> String {
    let date = |at: i64| {
        let date = zero.checked_add(jiff::SignedDuration::from_nanos(at)).unwrap_or(zero);
        date.strftime("%Y-%m-%d %H:%M:%S").to_string()
    };
    let (from, to) = (date(from), date(to));
    let same = from.split_once(' ').map(|(day, _)| format!("{day} ")).unwrap_or_default();
    format!("from {from} to {} UTC", to.strip_prefix(same.as_str()).unwrap_or(&to))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn the_clock_that_nobody_sets_decides_unless_it_disagrees() {
        // The process started 2 s after the recording by both clocks, half a second after the run
        // did.
        let zero = 1_700_000_000 * i128::from(SECOND);
        let started = |realtime: u64, monotonic: u64| Started {
            at: Nanos(SECOND / 2),
            monotonic: Nanos(monotonic),
            realtime: Nanos(1_700_000_000 * SECOND + realtime),
        };
        let both = started(2 * SECOND - 3_000_000, 102 * SECOND);
        assert_eq!(shift(both, zero, 100 * SECOND), (1_500_000_000, false));
        // Restarted in between: the counter began again.
        let later = started(7200 * SECOND, 102 * SECOND);
        assert_eq!(shift(later, zero, 100 * SECOND), (7_199_500_000_000, true));
        assert!(shift(both, zero, 0).1);
        assert_eq!(shift(Started::default(), i128::MAX / 2, 1), (i64::MIN, true));
    }

    #[test]
    fn spans_of_dates_are_short() {
        let zero: jiff::Timestamp = "2026-11-20T23:59:58Z".parse().unwrap();
        let second = SECOND as i64;
        assert_eq!(dates(zero, -second, second), "from 2026-11-20 23:59:57 to 23:59:59 UTC");
        assert_eq!(
            dates(zero, 0, 3 * second),
            "from 2026-11-20 23:59:58 to 2026-11-21 00:00:01 UTC"
        );
        // No date is so far away: the recording's own replaces it.
        assert!(dates(zero, i64::MIN, i64::MAX).starts_with("from "));
    }
}

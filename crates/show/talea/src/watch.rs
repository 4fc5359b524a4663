//! `talea watch`: its options, the wait for a run's first process, and looks without a screen.
//!
//! Owns the text of `--once` and the lines of `--json`. Looks are `talea_analysis::watch`'s, the
//! screen is `talea_screen::watch`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use talea_analysis::watch::Watch;
use talea_model::Nanos;
use talea_model::notation::grouped;
use talea_report::data::watch::{RankNow, RankState, WatchData};
use talea_run::RunDirectory;
use talea_run::directory::OpenError;
use talea_screen::ScreenError;
use talea_screen::watch;

use crate::exit::{Exit, Expected};
use crate::table::{Column, Table};
use crate::terminal::{Palette, blocks, fitted, gaps, prose, say};

/// Maximum wait for the first process of a run.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between two looks for it.
const PULSE: Duration = Duration::from_millis(100);
/// Maximum numbers of call sites and ranks of `--once`.
const SITES: usize = 12;
const RANKS: usize = 32;

/// How looks are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// On a screen.
    Screen,
    /// One as text.
    Text,
    /// Each as a line of JSON; only one where true.
    Json {
        /// Only one.
        once: bool,
    },
}

/// Options of the command.
#[derive(Debug)]
pub(crate) struct Options {
    /// Run directory, or a file in it.
    pub(crate) run: PathBuf,
    /// Time between looks.
    pub(crate) every: Nanos,
    /// How they are shown.
    pub(crate) output: Output,
}

/// Reasons for which a run is not watched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    /// No run directory.
    #[error("{0}")]
    Open(#[from] OpenError),
    /// It has ended.
    #[error("the run has ended; `talea show {0} structure` shows it", path.display())]
    Ended {
        /// The run.
        path: PathBuf,
    },
    /// No process.
    #[error("no process of the run called MPI_Init within {} s; runs with `--live-dir` or without MPI cannot be watched: `{}`", PATIENCE.as_secs(), path.display())]
    NoProcess {
        /// The run.
        path: PathBuf,
    },
    /// The screen.
    #[error("{0}; `--once` and `--json` work without a terminal")]
    Screen(#[from] ScreenError),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Expected for WatchError {
    fn exit(&self) -> Exit {
        match self {
            Self::Open(_) | Self::Ended { .. } | Self::NoProcess { .. } => Exit::Input,
            Self::Screen(_) => Exit::Lacking,
            Self::Output(error) => Exit::of_output(error),
        }
    }
}

/// Shows the run until it ends or the user leaves, or once.
pub(crate) fn watch(options: &Options) -> Result<(), WatchError> {
    let directory = RunDirectory::open(&options.run)?;
    let every = Duration::from_nanos(options.every.0);
    let mut watched = Watch::new(directory.clone());
    // A look leaves time to the programs.
    let mut look = |watched: &mut Watch| watched.look(every / 2);
    let first = first_look(&mut watched, &directory, &mut look)?;
    let mut out = io::stdout().lock();
    match options.output {
        Output::Screen => {
            drop(out);
            let name = directory.path().file_name().unwrap_or_default().to_string_lossy();
            let mut first = Some(first);
            let mut next = || first.take().unwrap_or_else(|| look(&mut watched));
            match watch::watch(&name, every, &mut next) {
                // Asked to end by a signal it ends, with everything as it was.
                Err(ScreenError::Signal(_)) => {}
                Err(error) => return Err(error.into()),
                Ok(last) => print_next_command(&directory, &last),
            }
        }
        Output::Text => {
            std::thread::sleep(every);
            out.write_all(text(&directory, &look(&mut watched)).as_bytes())?;
        }
        Output::Json { once } => {
            let mut data = first;
            loop {
                // Keys are texts and numbers are finite or null, which is all that could fail.
                serde_json::to_writer(&mut out, &data).map_err(io::Error::from)?;
                out.write_all(b"\n")?;
                out.flush()?;
                // A damaged record may have events that are never read.
                let is_read = data.left_events == 0 || data.new_events == 0;
                if once || !data.running && is_read {
                    break;
                }
                std::thread::sleep(every);
                data = look(&mut watched);
            }
        }
    }
    Ok(())
}

/// The first look that finds a process.
fn first_look(
    watched: &mut Watch,
    directory: &RunDirectory,
    look: &mut impl FnMut(&mut Watch) -> WatchData,
) -> Result<WatchData, WatchError> {
    let begin = Instant::now();
    loop {
        let has_ended = directory.metadata().is_ok_and(|metadata| metadata.outcome.is_some());
        let data = look(watched);
        let path = || directory.path().to_owned();
        if has_ended {
            return Err(WatchError::Ended { path: path() });
        }
        if watched.has_processes() {
            return Ok(data);
        }
        if begin.elapsed() >= PATIENCE {
            return Err(WatchError::NoProcess { path: path() });
        }
        std::thread::sleep(PULSE);
    }
}

/// Names the command for the run that was watched.
fn print_next_command(directory: &RunDirectory, last: &WatchData) {
    let path = directory.path().display();
    let state = if last.running { "continues" } else { "has ended" };
    say(&format!("the run {state}; `talea show {path} structure` shows its structure"));
}

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn text(directory: &RunDirectory, data: &WatchData) -> String {
    let palette = Palette::stdout();
    let name = directory.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let state = if data.running { "running" } else { "ended" };
    let mut lines = vec![
        fitted(&format!("{name}: {}, {state}, {}", count_ranks(data), data.time_ns)),
        format!(
            "in MPI {} in the last {}, {} since the start; {} calls",
            percent(data.recent_mpi_share),
            data.interval_ns,
            percent(data.mpi_share),
            grouped(data.events)
        ),
        match data.steady_since_ns {
            Some(since) => format!("graph steady since {since}"),
            None => "graph not known to be steady".to_owned(),
        } + &format!("; {} nodes, {} edges", data.nodes, data.edges),
    ];
    if data.left_events > 0 {
        lines.push(format!("{} calls are left to the next look", grouped(data.left_events)));
    }
    lines.extend(gaps(&data.gaps, palette));
    lines.push(String::new());
    match &data.main_loop {
        None => lines.push("no main loop found".to_owned()),
        Some(main) => {
            let line = format!(
                "loop {}: {} iterations of {} ({:.0} % variation), {} of the time",
                main.place,
                grouped(main.iterations),
                main.mean_ns,
                main.variation * 100.0,
                percent(main.share)
            );
            lines.push(fitted(&line));
            let means: Vec<f64> = main.history.iter().map(|one| one.mean_ns.seconds()).collect();
            lines.push(blocks(&means, prose()).trim_end().to_owned());
        }
    }
    lines.push(String::new());
    let mut sites = Table::new(&[
        ("now", Column::Right),
        ("all", Column::Right),
        ("calls", Column::Right),
        ("call site", Column::Place),
    ]);
    for site in data.sites.iter().take(SITES) {
        let shares = [site.recent_share, site.share].map(percent);
        let [now, all] = shares;
        sites.row([now, all, grouped(site.calls), site.site.clone()]);
    }
    lines.extend(sites.lines());
    lines.push(String::new());
    let mut ranks = Table::new(&[
        ("rank", Column::Right),
        ("in MPI now", Column::Right),
        ("all", Column::Right),
        ("iterations", Column::Right),
        ("state", Column::Place),
    ]);
    for rank in data.ranks.iter().take(RANKS) {
        let [now, all] = [rank.recent_mpi_share, rank.mpi_share].map(percent);
        let number = rank.rank.map_or_else(|| "?".to_owned(), |rank| rank.to_string());
        let iterations = rank.iterations.map_or_else(|| "-".to_owned(), grouped);
        ranks.row([number, now, all, iterations, state_of(rank)]);
    }
    lines.extend(ranks.lines());
    if data.ranks.len() > RANKS {
        lines.push(format!("{} more; --json has all", data.ranks.len() - RANKS));
    }
    lines.join("\n") + "\n"
}

fn count_ranks(data: &WatchData) -> String {
    match data.ranks.len() {
        1 => "1 rank".to_owned(),
        many => format!("{many} ranks"),
    }
}

fn state_of(rank: &RankNow) -> String {
    match (&rank.inside, rank.state) {
        (Some(inside), RankState::Running) => format!("{} in {}", inside.since_ns, inside.site),
        (Some(inside), state) => format!("{} in {}", state.word(), inside.site),
        (None, state) => state.word().to_owned(),
    }
}

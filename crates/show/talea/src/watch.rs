//! `talea watch`: its options, the wait for a run's first process, and looks without a screen.
//!
//! Owns the text of `--once` and the lines of `--json`. Looks are `talea_analysis::watch`'s, the
//! screen is `talea_screen::watch`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
#[cfg(not(feature = "page"))]
use talea_analysis::watch::Watch as Job;
use talea_model::Nanos;
use talea_model::notation::grouped;
#[cfg(feature = "page")]
use talea_page::hosts::Job;
use talea_report::data::watch::{ClustersNow, RankNow, RankState, WatchData};
use talea_run::RunDirectory;
use talea_run::directory::OpenError;
use talea_screen::ScreenError;
use talea_screen::watch;

use crate::exit::{Exit, Expected};
use crate::table::{Column, Table};
use crate::terminal::{Palette, blocks, fitted, gaps, prose, say};

/// Maximum wait for the first process of a run.
const PATIENCE: Duration = Duration::from_secs(20);
/// Maximum wait for the other hosts, where there is only one look.
#[cfg(feature = "page")]
const HOSTS: Duration = Duration::from_secs(4);
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
    /// On a page of this machine.
    #[cfg(feature = "page")]
    Page {
        /// Its port; 0 for any.
        port: u16,
    },
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
    #[error("no process of the run called MPI_Init within {} s on this host, or on one that can reach it; runs without MPI cannot be watched: `{}`", PATIENCE.as_secs(), path.display())]
    NoProcess {
        /// The run.
        path: PathBuf,
    },
    /// The page.
    #[cfg(feature = "page")]
    #[error("{0}")]
    Page(#[from] talea_page::PageError),
    /// The screen.
    #[error("{0}; `--once`, `--json` and `--page` work without a terminal")]
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
            #[cfg(feature = "page")]
            Self::Page(_) => Exit::Lacking,
            Self::Output(error) => Exit::of_output(error),
        }
    }
}

/// Shows the run until it ends or the user leaves, or once.
pub(crate) fn watch(options: &Options) -> Result<(), WatchError> {
    let directory = RunDirectory::open(&options.run)?;
    let every = Duration::from_nanos(options.every.0);
    let mut watched = Job::new(directory.clone());
    // A look leaves time to the programs.
    let mut look = |watched: &mut Job| watched.look(every / 2);
    let first = first_look(&mut watched, &directory, &mut look)?;
    #[cfg(feature = "page")]
    let first = match options.output {
        Output::Text | Output::Json { once: true } if watched.wait_for_hosts(HOSTS) => {
            let now = look(&mut watched);
            if options.output == Output::Text {
                now
            } else {
                // The others count the iterations of the main loop only after a look.
                std::thread::sleep(every.max(HOSTS / 2));
                look(&mut watched)
            }
        }
        _ => first,
    };
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
            let last = until_end(first, every, &mut || look(&mut watched), &mut |data| {
                // Keys are texts and numbers are finite or null, which is all that could fail.
                serde_json::to_writer(&mut out, data).map_err(io::Error::from)?;
                out.write_all(b"\n")?;
                out.flush()?;
                Ok(!once)
            });
            last?;
        }
        #[cfg(feature = "page")]
        Output::Page { port } => {
            let port = talea_page::Port::take(port)?;
            let metadata = directory.metadata().unwrap_or_default();
            let page = crate::page::open(port, &options.run, &metadata, options.every)?;
            writeln!(out, "{}", page.url())?;
            out.flush()?;
            let last = until_end(first, every, &mut || look(&mut watched), &mut |data| {
                page.show(data);
                Ok(true)
            })?;
            page.close();
            print_next_command(&directory, &last);
        }
    }
    Ok(())
}

/// Shows a look and those after it, until the run has ended, the user ends the command, or `show`
/// returns false; returns the last one.
fn until_end(
    first: WatchData,
    every: Duration,
    look: &mut dyn FnMut() -> WatchData,
    show: &mut dyn FnMut(&WatchData) -> io::Result<bool>,
) -> io::Result<WatchData> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let is_stopped = || stop.load(Ordering::Relaxed);
    let mut data = first;
    while show(&data)? && !data.is_last() {
        let end = Instant::now() + every;
        while Instant::now() < end && !is_stopped() {
            std::thread::sleep(PULSE.min(end.saturating_duration_since(Instant::now())));
        }
        if is_stopped() {
            break;
        }
        data = look();
    }
    Ok(data)
}

/// The first look that finds a process.
fn first_look(
    watched: &mut Job,
    directory: &RunDirectory,
    look: &mut impl FnMut(&mut Job) -> WatchData,
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
            Some(since) => format!("graph steady from {since} on"),
            None => "graph not known to be steady".to_owned(),
        } + &format!("; {} nodes, {} edges", data.nodes, data.edges),
    ];
    if data.left_events > 0 {
        lines.push(format!("{} calls are left for the next look", grouped(data.left_events)));
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
    if let Some(clusters) = &data.clusters {
        lines.extend(clusters_text(clusters));
    }
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

/// Clusters of the computation, and an empty line.
fn clusters_text(now: &ClustersNow) -> Vec<String> {
    let stable = match now.stable_since_ns {
        Some(since) => format!("stable from {since} on"),
        None => "not stable".to_owned(),
    };
    let mut lines = vec![fitted(&format!(
        "computation: {} bursts, {}; clusters by duration{}, {stable}",
        grouped(now.bursts),
        now.time_ns,
        if now.by_calls { " and calls" } else { "" },
    ))];
    let mut table = Table::new(&[
        ("now", Column::Right),
        ("all", Column::Right),
        ("bursts", Column::Right),
        ("mean", Column::Right),
        ("id", Column::Right),
        ("after", Column::Place),
    ]);
    for one in now.clusters.iter().take(SITES) {
        let [recent, all] = [one.recent_share, one.share].map(percent);
        let (mean, id) = (one.mean_ns.to_string(), one.id.to_string());
        table.row([recent, all, grouped(one.bursts), mean, id, one.after.clone()]);
    }
    lines.extend(table.lines());
    lines.push(String::new());
    lines
}

fn count_ranks(data: &WatchData) -> String {
    match data.other_ranks.saturating_add(data.ranks.len() as u64) {
        1 => "1 rank".to_owned(),
        many => format!("{} ranks", grouped(many)),
    }
}

fn state_of(rank: &RankNow) -> String {
    match (&rank.inside, rank.state) {
        (Some(inside), RankState::Running) => format!("{} in {}", inside.since_ns, inside.site),
        (Some(inside), state) => format!("{} in {}", state.word(), inside.site),
        (None, state) => state.word().to_owned(),
    }
}

//! Measuring: sources, the session, the loop that asks it for values.
//!
//! Owns when values are taken and when it ends: after `--for`, with the watched processes, with the command, with Ctrl-C. A
//! recording is written in any case; without `--out` into a file that is gone afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use talea_model::Nanos;
use talea_sampling::{Plugin, Scenario as Simulation, Simulated, Sources, Target};
use talea_topo::machine::host_name;
use talea_topo::{About, Machine, Session, recording};
use talea_topology::Monitor;

use super::command::Watched;
use super::{Options, TopoError, feeds, monitors_text, outputs, say_gaps, screen};
use crate::cli::Scenario;
use crate::terminal::say;

/// Where values go while they are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// The terminal.
    Screen,
    /// Files only.
    Files,
}

/// How long a plug-in has to say what it counts.
const PATIENCE: Nanos = Nanos(5_000_000_000);
/// How long a simulated list keeps its size.
const LIST_STEP: Nanos = Nanos(1_000_000_000);
/// The end of processes is noticed after so long at most.
const GLANCE: Duration = Duration::from_millis(20);
/// How long is measured where nothing says when to end.
const DEFAULT_VALUES: u64 = 4;

/// The sources that the options ask for.
pub(super) fn sources(machine: &Machine, options: &Options) -> Result<Sources, TopoError> {
    let mut sources = match options.simulate {
        None => Sources::of_machine(),
        Some(scenario) => {
            let scenario = match scenario {
                Scenario::Lists => Simulation::Lists { step: LIST_STEP },
                Scenario::Mixed => Simulation::Mixed,
            };
            let mut sources = Sources::new();
            sources.add(Box::new(Simulated::new(&machine.topology, scenario, 1)));
            sources
        }
    };
    for plugin in &options.plugins {
        let words: Vec<String> = plugin.split_whitespace().map(str::to_owned).collect();
        sources.add(Box::new(Plugin::start(&words, PATIENCE)?));
    }
    Ok(sources)
}

/// Measures, shows and writes. The exit code is that of the command, if there is one.
pub(super) fn run(machine: Machine, options: &Options, to: Where) -> Result<u8, TopoError> {
    let folder = tempfile::tempdir()?;
    let record = options.record.clone().unwrap_or_else(|| folder.path().join("node.talea"));
    let sources = sources(&machine, options)?;
    let monitors = monitors(&sources, options)?;
    let watched = Watched::start(options, folder.path())?;
    let about = About { host: host_name(), command: what(options), ..About::default() };
    let pids: Vec<u32> =
        options.pids.iter().copied().chain(watched.as_ref().map(Watched::pid)).collect();
    let target = match (pids.is_empty(), options.simulate) {
        (false, None) => Target::Processes { pids, children: true },
        _ => Target::Machine,
    };
    let opened = Session::with_monitors(machine, sources, monitors, &target)
        .and_then(|mut session| session.record_to(&record, &about).map(|()| session));
    let mut session = match (opened, &watched) {
        (Ok(session), None) => session,
        (Ok(session), Some(watched)) => watched.go().map(|()| session)?,
        (Err(error), _) => {
            if let Some(watched) = watched {
                watched.give_up();
            }
            return Err(error.into());
        }
    };
    if to == Where::Screen {
        let title = format!("{} · {}", about.host, about.command);
        let mut feed = feeds::Live::new(session, title, options.every, options.simulate.is_some());
        let shown = screen::watch(&mut feed, screen::Options::new(1.0));
        feed.finish()?;
        shown?;
        return Ok(watched.map_or(0, Watched::wait));
    }
    let (values, code) = measure(&mut session, watched, target != Target::Machine, options)?;
    let gaps = session.gaps();
    drop(session);
    if let Some(path) = &options.record {
        let every = talea_model::units::si(options.every.seconds(), "s");
        say(&format!("recorded {values} times, every {every}, in `{}`", path.display()));
    }
    // A text trace lacks what pages and pictures need.
    if record.extension().is_some_and(|extension| extension == "trace" || extension == "paje") {
        say_gaps(&gaps);
    } else {
        let recording = recording::read(&record, None)?;
        outputs::recording(&recording, None, options)?;
    }
    Ok(code)
}

/// The monitors that the options ask for.
fn monitors(sources: &Sources, options: &Options) -> Result<Vec<Monitor>, TopoError> {
    let text = monitors_text(&options.monitors)?;
    let read = talea_topo::read_monitors(sources, text.as_deref());
    read.map_err(|mistakes| match &options.monitors {
        super::Monitors::File(path) => mistakes.in_file(&path.display().to_string()).into(),
        _ => mistakes.into(),
    })
}

/// Takes values until it is over; how many, and the command's code.
fn measure(
    session: &mut Session,
    mut watched: Option<Watched>,
    ends_with_processes: bool,
    options: &Options,
) -> Result<(u64, u8), TopoError> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let stopped = || stop.load(Ordering::Relaxed);
    let simulated = options.simulate.is_some();
    let endless = options.duration.is_none() && !ends_with_processes && options.record.is_none();
    let short = Nanos(options.every.0.saturating_mul(DEFAULT_VALUES));
    let duration = options.duration.or(endless.then_some(short));
    let begin = Instant::now();
    let mut values = 0_u64;
    let (mut code, mut over) = (None, false);
    while !stopped() && !over {
        let at = Nanos(options.every.0.max(1).saturating_mul(values + 1));
        if duration.is_some_and(|duration| at > duration && values > 0) {
            break;
        }
        // A simulated machine needs no waiting.
        while !simulated && begin.elapsed() < Duration::from_nanos(at.0) && !stopped() && !over {
            code = code.or_else(|| watched.as_mut().and_then(Watched::ended));
            over = code.is_some() || ends_with_processes && !session.is_alive();
            if !over {
                let left = Duration::from_nanos(at.0).saturating_sub(begin.elapsed());
                std::thread::sleep(left.min(GLANCE));
            }
        }
        if simulated {
            session.update_at(at)?
        } else {
            session.update()?
        };
        values += 1;
    }
    session.finish()?;
    Ok((values, code.or_else(|| watched.map(Watched::wait)).unwrap_or(0)))
}

/// What is watched, in words.
fn what(options: &Options) -> String {
    let words: Vec<String> =
        options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let pids: Vec<String> = options.pids.iter().map(|pid| format!("process {pid}")).collect();
    let all: Vec<String> =
        pids.into_iter().chain((!words.is_empty()).then(|| words.join(" "))).collect();
    if all.is_empty() { "whole machine".to_owned() } else { all.join(", ") }
}

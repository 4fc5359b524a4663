//! Measuring: sources, the session, the loop that asks it for values.
//!
//! Owns the times at which values are taken and the end: after `--for`, with the watched processes,
//! with the command, with Ctrl-C. A recording is always written; without `--out` into a temporary
//! file. A command gets the signals that request the end, and its own end is awaited whatever
//! happens to the values.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use signal_hook::consts::{SIGINT, SIGTERM};
use talea_model::{Gaps, Nanos};
use talea_sampling::{Plugin, Sources, Target};
use talea_screen::{ScreenError, map};
use talea_simulated::node::Simulated;
use talea_topo::machine::host_name;
use talea_topo::{About, Machine, Session, SessionError, recording};
use talea_topology::{Monitor, Topology};

use super::command::Watched;
use super::{Options, TopoError, monitors_text, outputs, say_gaps};
use crate::terminal::say;
use talea_launch::in_foreground;

/// Destination of values while they are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// The terminal.
    Screen,
    /// Files only.
    Files,
}

/// Time for a plug-in to describe its counters.
const PATIENCE: Nanos = Nanos(5_000_000_000);
/// Maximum delay until the end of processes is noticed.
const GLANCE: Duration = Duration::from_millis(20);
/// Default number of values, where no option sets the end.
const DEFAULT_VALUES: u64 = 4;

/// The sources of the options.
pub(super) fn sources(machine: &Machine, options: &Options) -> Result<Sources, TopoError> {
    let mut sources = match options.simulate {
        None => Sources::of_machine(),
        Some(scenario) => {
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
    let is_whole = options.pids.is_empty() && options.command.is_empty();
    let of_processes = || Target::Processes { pids: options.pids.clone(), children: true };
    let watched =
        if is_whole || options.simulate.is_some() { Target::Machine } else { of_processes() };
    let monitors = monitors(&machine.topology, &sources, &watched, options)?;
    // Before the command exists, so that no signal ends talea and leaves the command running. The
    // screen has its own.
    let asked = if to == Where::Files { Asked::new()? } else { Asked::default() };
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
        let mut feed = map::Live::new(session, title, options.every, options.simulate.is_some());
        let shown = map::watch(&mut feed, map::Options::new(1.0));
        let finished = feed.finish();
        if let (Err(ScreenError::Signal(_)), Some(watched)) = (&shown, &watched) {
            watched.signal(Signal::TERM);
        }
        let code = watched.map_or(0, Watched::wait);
        finished?;
        shown?;
        return Ok(code);
    }
    let (values, code) =
        measure(&mut session, watched, &asked, target != Target::Machine, options)?;
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
        let mut recording = recording::read(&record, None, &mut Gaps::default())?;
        // A temporary file has no name for the user.
        if options.record.is_none() {
            recording.path = recording.about.host.clone().into();
        }
        outputs::recording(&recording, None, options)?;
    }
    Ok(code)
}

/// The monitors of the options.
fn monitors(
    topology: &Topology,
    sources: &Sources,
    watched: &Target,
    options: &Options,
) -> Result<Vec<Monitor>, TopoError> {
    let text = monitors_text(&options.monitors)?;
    let read = talea_topo::read_monitors(topology, sources, text.as_deref(), watched);
    let monitors = read.map_err(|mistakes| match &options.monitors {
        super::Monitors::File(path) => {
            TopoError::from(mistakes.in_file(&path.display().to_string()))
        }
        _ => mistakes.into(),
    })?;
    if text.is_some() && monitors.is_empty() { Err(TopoError::NoMonitors) } else { Ok(monitors) }
}

/// The last signal that requested the end; 0 for none.
#[derive(Default)]
struct Asked(Arc<AtomicUsize>);

impl Asked {
    fn new() -> std::io::Result<Self> {
        let asked = Self(Arc::default());
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register_usize(signal, Arc::clone(&asked.0), signal as usize)?;
        }
        Ok(asked)
    }

    fn stops(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// The command's code when it has ended; each earlier signal is forwarded.
    fn until_end(&self, mut watched: Watched) -> u8 {
        // Keys reach the command from the terminal already, as in `talea run`.
        let from_keys = in_foreground();
        loop {
            if let Some(code) = watched.ended() {
                return code;
            }
            match self.0.swap(0, Ordering::Relaxed) as i32 {
                SIGTERM => watched.signal(Signal::TERM),
                SIGINT if !from_keys => watched.signal(Signal::INT),
                _ => {}
            }
            std::thread::sleep(GLANCE);
        }
    }
}

/// Takes values until the end; returns their number, and the command's code.
fn measure(
    session: &mut Session,
    mut watched: Option<Watched>,
    asked: &Asked,
    ends_with_processes: bool,
    options: &Options,
) -> Result<(u64, u8), TopoError> {
    let mut code = None;
    let mut ended = || {
        code = code.or_else(|| watched.as_mut().and_then(Watched::ended));
        code.is_some()
    };
    let mut taken = 0;
    let measured = values(session, &mut taken, &mut ended, asked, ends_with_processes, options)
        .and_then(|()| session.finish());
    match (measured, &watched) {
        (Err(error), None) => return Err(error.into()),
        // An error of the values does not change the command's result.
        (Err(error), Some(_)) => say(&format!("warning: no more values were taken: {error}")),
        (Ok(()), _) => {}
    }
    let code = code.or_else(|| watched.map(|watched| asked.until_end(watched))).unwrap_or(0);
    Ok((taken, code))
}

/// Takes values until an end condition holds, and counts them.
fn values(
    session: &mut Session,
    taken: &mut u64,
    ended: &mut dyn FnMut() -> bool,
    asked: &Asked,
    ends_with_processes: bool,
    options: &Options,
) -> Result<(), SessionError> {
    let simulated = options.simulate.is_some();
    let endless = options.duration.is_none() && !ends_with_processes && options.record.is_none();
    let short = Nanos(options.every.0.saturating_mul(DEFAULT_VALUES));
    let duration = options.duration.or(endless.then_some(short));
    let begin = Instant::now();
    let mut due = options.every;
    let mut over = false;
    while !asked.stops() && !over {
        // A time that is shorter than one step has one value, at its end.
        let at = duration.filter(|_| *taken == 0).map_or(due, |duration| due.min(duration));
        if duration.is_some_and(|duration| at > duration) {
            break;
        }
        // A simulated machine needs no waiting.
        while !simulated && begin.elapsed() < Duration::from_nanos(at.0) && !asked.stops() && !over
        {
            over = ended() || ends_with_processes && !session.is_alive();
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
        *taken += 1;
        let now = if simulated { at } else { Nanos(begin.elapsed().as_nanos() as u64) };
        due = next(due, options.every, now);
    }
    Ok(())
}

/// Time of the next value. Missed ones are not made up for: values in immediate succession carry no
/// information.
fn next(due: Nanos, every: Nanos, now: Nanos) -> Nanos {
    let every = every.0.max(1);
    let missed = (now - due).0 / every;
    Nanos(due.0.saturating_add(every.saturating_mul(missed + 1)))
}

/// The watched processes, in words.
fn what(options: &Options) -> String {
    let words: Vec<String> =
        options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let pids: Vec<String> = options.pids.iter().map(|pid| format!("process {pid}")).collect();
    let all: Vec<String> =
        pids.into_iter().chain((!words.is_empty()).then(|| words.join(" "))).collect();
    if all.is_empty() { "whole machine".to_owned() } else { all.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_were_missed_are_skipped() {
        let check = |due, every, now, expected| {
            assert_eq!(next(Nanos(due), Nanos(every), Nanos(now)), Nanos(expected));
        };
        check(100, 100, 100, 200);
        check(100, 100, 90, 200);
        check(100, 100, 199, 200);
        check(100, 100, 200, 300);
        check(100, 100, 1234, 1300);
        check(0, 0, 7, 8);
        check(u64::MAX, u64::MAX, 5, u64::MAX);
    }
}

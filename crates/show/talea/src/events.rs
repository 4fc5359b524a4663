//! `talea events`: the calls of one rank in their order, for people and for programs.
//!
//! Owns the two formats; what an argument's number means is `talea_analysis::values`'. Lines are
//! written as they are made, so that a run of any length needs no memory.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use serde_json::{Map, Value};
use talea_model::{Nanos, Rank};
use talea_run::recording::{Process, Thread};

use crate::exit::{Exit, Expected};
use crate::terminal::{both_ends, cell, fitted, width};
use talea_analysis::procedures::is_poll;
use talea_analysis::sites::Places;
use talea_analysis::values::Values;
use talea_analysis::words;
use talea_report::data::views::EventLine;
use talea_run::load::{self, LoadError, Run};

/// What to print.
#[derive(Debug)]
pub(crate) struct Options {
    /// Run directory, or a file in it.
    pub(crate) run: PathBuf,
    /// World.
    pub(crate) world: u32,
    /// Rank in that world.
    pub(crate) rank: Rank,
    /// Thread of that rank.
    pub(crate) thread: u32,
    /// Leave out what ends before.
    pub(crate) from: Option<Nanos>,
    /// Leave out what begins after.
    pub(crate) to: Option<Nanos>,
    /// How.
    pub(crate) format: Format,
}

/// How events are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Columns for people.
    Text,
    /// One object a line.
    JsonLines,
}

/// Why events cannot be printed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EventsError {
    /// The run.
    #[error("{0}")]
    Load(#[from] LoadError),
    /// No such rank.
    #[error("no record of rank {rank} of world {world}; the run has {known}: `{}`", path.display())]
    Rank {
        /// World asked for.
        world: u32,
        /// Rank asked for.
        rank: Rank,
        /// The available ones.
        known: String,
        /// The run.
        path: PathBuf,
    },
    /// No such thread.
    #[error("rank {rank} has {threads} recorded threads, there is no thread {thread}: `{}`", path.display())]
    Thread {
        /// Rank asked for.
        rank: Rank,
        /// Thread asked for.
        thread: u32,
        /// How many there are.
        threads: usize,
        /// The run.
        path: PathBuf,
    },
    /// A window that ends before it begins.
    #[error("--from {from} is after --to {to}: no call can be between them")]
    Window {
        /// Its begin.
        from: Nanos,
        /// Its end.
        to: Nanos,
    },
    /// A window of time where no times were kept.
    #[error("the run was recorded without the times of single calls, --from and --to need them: `{}`", .0.display())]
    NoTimes(PathBuf),
    /// Standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl Expected for EventsError {
    fn exit(&self) -> Exit {
        match self {
            Self::Output(error) => Exit::of_output(error),
            _ => Exit::Input,
        }
    }
}

/// Prints the events.
pub(crate) fn events(options: &Options) -> Result<(), EventsError> {
    if let (Some(from), Some(to)) = (options.from, options.to)
        && from > to
    {
        return Err(EventsError::Window { from, to });
    }
    let run = load::load(&options.run)?;
    let (process, thread) = find(&run, options)?;
    let places = Places::new(&run);
    let sites: Vec<String> =
        thread.log.nodes.iter().map(|node| places.short(node.signature.path)).collect();
    let mut out = BufWriter::new(io::stdout().lock());
    // Of narrow terminals the arguments want their part too.
    let column = |longest: Option<usize>, most: usize| {
        longest.unwrap_or(0).clamp(4, (most * width() / 100).clamp(4, most))
    };
    let site_width = column(sites.iter().map(|site| site.chars().count()).max(), 24);
    let names = thread
        .log
        .nodes
        .iter()
        .map(|node| run.recording.procedures.get(usize::from(node.signature.procedure.0)));
    let call_width = column(names.flatten().map(|spec| spec.name.len()).max(), 22);
    if options.format == Format::Text {
        let head = format!(
            "{:>12} {:>8}  {:<call_width$}  {:<site_width$}  arguments",
            "begin, s", "duration", "call", "from"
        );
        writeln!(out, "{}", fitted(&head))?;
    }
    let mut values = Values::new(&run.recording, process, thread);
    let mut events = process.events(&run.recording, thread);
    while let Some(event) = events.next_event() {
        let args = values.named(&event);
        let window = || Some((event.begin?, event.begin? + event.duration?));
        if let Some((begin, end)) = window() {
            if options.to.is_some_and(|to| begin > to) {
                break;
            }
            if options.from.is_some_and(|from| end < from) {
                continue;
            }
        } else if options.from.is_some() || options.to.is_some() {
            return Err(EventsError::NoTimes(options.run.clone()));
        }
        let call = values.name(event.node);
        let polls = if is_poll(call) && unsuccessful(&args) { event.polls } else { 0 };
        let site = &sites[event.node.0 as usize];
        match options.format {
            Format::JsonLines => {
                let line = EventLine {
                    begin_ns: event.begin.map(|begin| begin.0),
                    duration_ns: event.duration.map(|duration| duration.0),
                    call,
                    args,
                    polls,
                    site,
                };
                // A map with text keys cannot fail but by its writer.
                serde_json::to_writer(&mut out, &line).map_err(io::Error::from)?;
                out.write_all(b"\n")?;
            }
            Format::Text => {
                let begin =
                    event.begin.map_or_else(String::new, |begin| format!("{:.6}", begin.seconds()));
                let duration =
                    event.duration.map_or_else(String::new, |duration| duration.to_string());
                let polls = if polls > 0 { format!("{polls} polls, ") } else { String::new() };
                let text = format!(
                    "{begin:>12} {duration:>8}  {:<call_width$}  {:<site_width$}  {polls}{}",
                    cell(call, call_width),
                    both_ends(site, site_width),
                    words::brief(&args)
                );
                writeln!(out, "{}", fitted(text.trim_end()))?;
            }
        }
    }
    out.flush()?;
    crate::terminal::say_gaps(&run.recording.gaps, Some(options.rank));
    Ok(())
}

fn find<'a>(run: &'a Run, options: &Options) -> Result<(&'a Process, &'a Thread), EventsError> {
    let processes = &run.recording.processes;
    let wanted =
        |p: &&Process| p.location.world == options.world && p.location.rank == options.rank;
    let process = processes.iter().find(wanted).ok_or_else(|| {
        let ranks = processes.iter().filter(|p| p.location.world == options.world);
        let ranks = talea_analysis::classes::ranges(ranks.map(|p| p.location.rank.0));
        EventsError::Rank {
            world: options.world,
            rank: options.rank,
            known: if ranks.is_empty() {
                "none of that world".to_owned()
            } else {
                format!("ranks {ranks} there")
            },
            path: options.run.clone(),
        }
    })?;
    let thread = process.threads.iter().find(|thread| thread.number == options.thread);
    let thread = thread.ok_or_else(|| EventsError::Thread {
        rank: options.rank,
        thread: options.thread,
        threads: process.threads.len(),
        path: options.run.clone(),
    })?;
    Ok((process, thread))
}

/// Whether a poll found nothing.
fn unsuccessful(args: &Map<String, Value>) -> bool {
    args.get("flag") == Some(&Value::Bool(false))
        || args.get("outcount").and_then(Value::as_i64) == Some(0)
}

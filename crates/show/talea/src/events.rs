//! `talea events`: the calls of one rank in their order, for people and for programs.
//!
//! Owns the two formats; the lines are `talea_analysis::events`'. They are written as they are
//! made, so that a run of any length needs no memory.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use talea_analysis::events::{self, Events, Request};
use talea_analysis::words;
use talea_model::Nanos;
use talea_report::data::views::EventLine;
use talea_run::load::{self, LoadError};

use crate::exit::{Exit, Expected};
use crate::terminal::{both_ends, cell, fitted, width};

/// Options of the command.
#[derive(Debug)]
pub(crate) struct Options {
    /// Run directory, or a file in it.
    pub(crate) run: PathBuf,
    /// Thread and window.
    pub(crate) what: Request,
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
    /// The choice of calls.
    #[error(transparent)]
    Choice(#[from] events::EventsError),
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
    options.what.check()?;
    let run = load::load(&options.run)?;
    let mut events = Events::new(&run, &options.run, options.what)?;
    let mut out = BufWriter::new(io::stdout().lock());
    // Of narrow terminals the arguments want their part too.
    let column = |longest: Option<usize>, most: usize| {
        longest.unwrap_or(0).clamp(4, (most * width() / 100).clamp(4, most))
    };
    let site_width = column(events.sites().iter().map(|site| site.chars().count()).max(), 24);
    let call_width = column(events.calls().map(str::len).max(), 22);
    if options.format == Format::Text {
        let head = format!(
            "{:>12} {:>8}  {:<call_width$}  {:<site_width$}  arguments",
            "begin, s", "duration", "call", "from"
        );
        writeln!(out, "{}", fitted(&head))?;
    }
    while let Some(line) = events.next_line()? {
        match options.format {
            Format::JsonLines => {
                // A map with text keys cannot fail but by its writer.
                serde_json::to_writer(&mut out, &line).map_err(io::Error::from)?;
                out.write_all(b"\n")?;
            }
            Format::Text => {
                let EventLine { begin_ns, duration_ns, call, args, polls, site } = line;
                let begin = begin_ns
                    .map_or_else(String::new, |begin| format!("{:.6}", Nanos(begin).seconds()));
                let duration =
                    duration_ns.map_or_else(String::new, |duration| Nanos(duration).to_string());
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
    crate::terminal::say_gaps(&run.recording.gaps, Some(options.what.rank));
    Ok(())
}

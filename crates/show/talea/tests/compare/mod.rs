//! Compares two accounts of one rank's MPI calls: the independent logger's text (`apps/logger`,
//! which explains its lines in `log.h`) and what `talea events RUN --rank N --json-lines` prints.
//! Same calls, same arguments, same order.
//!
//! The rules:
//! - Calls that are local by the MPI standard ([`calls::is_local`]) are not logged and are skipped
//!   on Talea's side.
//! - Unsuccessful polls in a row, whatever their kinds, are folded on both sides ([`polls`]): kinds
//!   in the order of first polls, each with its number of polls. Arguments in which all of the
//!   logger's lines of a kind agree must agree with the events'. The order of the polls is compared
//!   only where each is an event (`--calls all`).
//! - Keys that only one side has are ignored, except those of [`calls::required`]; and where a
//!   wildcard receive completed and the logger knows who sent the message, the event must say it
//!   too: [`statuses`].
//! - Communicators are compared by a one-to-one relation between the two sides' labels, as long as
//!   they live; requests by their number in the order of creation. Where MPI gave one handle to
//!   several live requests, any of them is right.
//! - Derived datatypes need only be derived on both sides, user-defined operations likewise.

mod calls;
mod line;
mod polls;
mod statuses;
mod value;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use calls::{is_local, required};
use line::Line;
use serde_json::Value;
use value::{Labels, same};

/// The fate of unsuccessful polls in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InRow {
    /// An event for each site that they were made at.
    Folded,
    /// An event each.
    Kept,
}

/// The number of calls compared, or what differs first.
pub(crate) fn compare(log: &Path, events_json_lines: &str, in_row: InRow) -> Result<usize, String> {
    let text = std::fs::read_to_string(log)
        .map_err(|e| format!("cannot read the logger's file: {e}: {}", log.display()))?;
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    compare_texts(&name, &text, events_json_lines, in_row)
}

/// One event as Talea prints it.
struct Event {
    number: usize,
    call: String,
    args: serde_json::Map<String, Value>,
    polls: u64,
    text: String,
}

impl Event {
    fn parse(number: usize, text: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("event {number}: {what}\n  talea   {text}");
        let value: Value = serde_json::from_str(text).map_err(|e| wrong(&e.to_string()))?;
        let call = value["call"].as_str().ok_or_else(|| wrong("`call` is no string"))?;
        let args = value["args"].as_object().ok_or_else(|| wrong("`args` is no object"))?;
        // Null, false or absent: no unsuccessful polls.
        let polls = value["polls"].as_u64().unwrap_or(0);
        Ok(Self { number, call: call.to_owned(), args: args.clone(), polls, text: text.to_owned() })
    }

    /// How many unsuccessful polls this stands for; 0 for everything else.
    fn unsuccessful_polls(&self) -> u64 {
        let number =
            |key| self.args.get(key).and_then(|v| v.as_i64().or(v.as_bool().map(i64::from)));
        match number("flag").or_else(|| number("outcount")) {
            _ if !line::is_poll(&self.call) => 0,
            Some(0) => self.polls.max(1),
            Some(_) => 0,
            None => self.polls,
        }
    }
}

fn compare_texts(name: &str, log: &str, events: &str, in_row: InRow) -> Result<usize, String> {
    let lines: Vec<Line> = log
        .lines()
        .enumerate()
        .map(|(i, text)| Line::parse(i + 1, text))
        .collect::<Result<_, _>>()
        .map_err(|e| format!("{name}:{e}"))?;
    let events: Vec<Event> = events
        .lines()
        .filter(|l| !l.trim().is_empty())
        .enumerate()
        .map(|(i, text)| Event::parse(i + 1, text))
        .filter(|event| event.as_ref().map_or(true, |e| !is_local(&e.call)))
        .collect::<Result<_, _>>()
        .map_err(|e| format!("{name}: {e}"))?;
    let mut state = State { labels: Labels::default(), wildcards: HashSet::new() };
    let (mut at, mut next) = (0, 0);
    while at < lines.len() {
        let Some(event) = events.get(next) else {
            let left = lines.len() - at;
            return Err(report(
                name,
                &lines,
                at,
                None,
                &format!("the events end, the logger has {left} lines more"),
            ));
        };
        let fail = |what: &str| report(name, &lines, at, Some(event), what);
        if in_row == InRow::Folded && event.unsuccessful_polls() > 0 {
            let folded = polls::fold(&lines[at..], &events[next..]).map_err(|e| fail(&e))?;
            for (lines, event) in &folded.pairs {
                state.check(lines, event, true).map_err(|e| fail(&e))?;
            }
            at += folded.lines;
            next += folded.events;
            continue;
        }
        let poll = event.unsuccessful_polls() > 0;
        state.check(&[&lines[at]], event, poll).map_err(|e| fail(&e))?;
        state.note(&lines[at]);
        at += 1;
        next += 1;
    }
    match events.get(next) {
        None => Ok(lines.iter().map(|l| l.times as usize).sum()),
        Some(event) => {
            Err(report(name, &lines, at, Some(event), "the logger's lines end, the events go on"))
        }
    }
}

struct State {
    labels: Labels,
    /// Receives from any source that may still be open, by the logger's numbers.
    wildcards: HashSet<String>,
}

impl State {
    /// Compares the lines that one event stands for (more than one only for a series of polls).
    fn check(&mut self, lines: &[&Line], event: &Event, poll: bool) -> Result<(), String> {
        let first = lines[0];
        if first.call != event.call {
            return Err(format!("the calls differ: {} against {}", first.call, event.call));
        }
        if first.is_unsuccessful_poll() && !poll {
            return Err("the logger saw an unsuccessful poll, the event is none".to_owned());
        }
        for key in required(&first.call) {
            if first.get(key).is_none() {
                return Err(format!("the logger does not say `{key}`"));
            }
            if found(event, key).is_none() {
                return Err(format!("the event does not say `{key}`"));
            }
        }
        statuses::check(first, &event.args, &self.wildcards)?;
        for (key, logged) in &first.args {
            if lines.iter().any(|other| other.get(key) != Some(logged)) {
                continue;
            }
            if key == "root.local" || key.starts_with("array_of_statuses.") {
                continue;
            }
            match found(event, key) {
                Some(value) => same(key, logged, value, &mut self.labels)
                    .map_err(|e| format!("argument `{key}` differs: {e}"))?,
                None if self.must_know_sender(first, key, logged) => {
                    return Err(format!(
                        "a wildcard receive completed, the event does not say `{key}`"
                    ));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Whether `key` says who sent a message that was received from anyone.
    fn must_know_sender(&self, line: &Line, key: &str, logged: &str) -> bool {
        let known = logged.chars().any(|c| c.is_ascii_digit()) && !logged.contains('?');
        if !known || key != "status.source" {
            return false;
        }
        let here = line.get("source") == Some("MPI_ANY_SOURCE");
        here || line.requests().any(|request| self.wildcards.contains(request))
    }

    fn note(&mut self, line: &Line) {
        if matches!(line.call.as_str(), "MPI_Comm_free" | "MPI_Comm_disconnect")
            && let Some(comm) = line.get("comm")
        {
            self.labels.forget(comm);
        }
        if line.get("source") == Some("MPI_ANY_SOURCE")
            && let Some(request) = line.get("request")
        {
            self.wildcards.insert(request.to_owned());
        }
    }
}

/// The event's value for one of the logger's keys. Null is a value for handles, and none for
/// everything else.
fn found<'a>(event: &'a Event, key: &str) -> Option<&'a Value> {
    let handle = key == "request" || value::is_comm(key);
    event.args.get(key).filter(|v| handle || !v.is_null())
}

/// What differs, where, and both sides with the two calls before.
fn report(name: &str, lines: &[Line], at: usize, event: Option<&Event>, what: &str) -> String {
    let number = lines.get(at).map_or(lines.len() + 1, |line| line.number);
    let mut text = format!("{name}:{number}: {what}\n");
    for before in &lines[at.saturating_sub(2)..at] {
        let _ = writeln!(text, "  before  {}", before.text);
    }
    let _ = writeln!(text, "  logger  {}", lines.get(at).map_or("(end)", |line| &line.text));
    let _ = match event {
        Some(event) => write!(text, "  talea   {} (event {})", event.text, event.number),
        None => write!(text, "  talea   (end)"),
    };
    text
}

#[cfg(test)]
mod tests;

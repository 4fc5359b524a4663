//! Unsuccessful polls in a row, which Talea keeps as one event for each site: the same rule,
//! applied to the logger's lines.
//!
//! The logger knows kinds of calls, not sites: polls of a kind at several sites are taken together,
//! on both sides.

use super::Event;
use super::line::Line;

/// Polls in a row on both sides, which agree in number.
pub(super) struct Folded<'a> {
    /// For each event the logger's lines of its kind.
    pub(super) pairs: Vec<(Vec<&'a Line>, &'a Event)>,
    /// Lines that these are.
    pub(super) lines: usize,
    /// Events that these are.
    pub(super) events: usize,
}

/// Folds the polls that both sides begin with; in words what differs.
pub(super) fn fold<'a>(lines: &'a [Line], events: &'a [Event]) -> Result<Folded<'a>, String> {
    let lines: Vec<&Line> = lines.iter().take_while(|line| line.is_unsuccessful_poll()).collect();
    let events: Vec<&Event> = events.iter().take_while(|e| e.unsuccessful_polls() > 0).collect();
    let logged = kinds(lines.iter().map(|line| (line.call.as_str(), line.times)));
    let recorded =
        kinds(events.iter().map(|event| (event.call.as_str(), event.unsuccessful_polls())));
    if logged != recorded {
        let words = |kinds: &[(&str, u64)]| {
            let all: Vec<String> = kinds.iter().map(|(call, n)| format!("{n} {call}")).collect();
            if all.is_empty() { "none".to_owned() } else { all.join(", ") }
        };
        return Err(format!(
            "the events stand for unsuccessful polls in a row of {}, the logger has {}",
            words(&recorded),
            words(&logged)
        ));
    }
    let of_kind = |event: &Event| lines.iter().copied().filter(|l| l.call == event.call).collect();
    Ok(Folded {
        pairs: events.iter().map(|&event| (of_kind(event), event)).collect(),
        lines: lines.len(),
        events: events.len(),
    })
}

/// Kinds of calls in the order of first polls, each with its number of polls.
fn kinds<'a>(polls: impl Iterator<Item = (&'a str, u64)>) -> Vec<(&'a str, u64)> {
    let mut kinds: Vec<(&str, u64)> = Vec::new();
    for (call, times) in polls {
        match kinds.iter_mut().find(|(known, _)| *known == call) {
            Some((_, sum)) => *sum += times,
            None => kinds.push((call, times)),
        }
    }
    kinds
}

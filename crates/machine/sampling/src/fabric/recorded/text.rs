//! Statements of a recording of counters: their words read and written.
//!
//! Owns the words of roles, units and widths, and the forms of `counter`, `port` and totals, both
//! ways: what is written is read as it was. Names lose what would be an order to a terminal.

use std::fmt::Write as _;
use std::sync::Arc;

use talea_model::Nanos;

use super::super::{Counter, CounterSource, Port, PortKind, Reading, Readings, Role, Unit, Width};

/// The first line.
pub(super) const MAGIC: &str = "talea-fabric-counters 1";
/// Bytes a second that are believed of a port.
const SPEEDS: std::ops::RangeInclusive<f64> = 1e-3..=1e18;

pub(super) const ROLES: [(&str, Role); 5] = [
    ("sent", Role::Sent),
    ("received", Role::Received),
    ("sent-stalled", Role::SentStalled),
    ("received-stalled", Role::ReceivedStalled),
    ("fault", Role::Fault),
];

pub(super) fn counter<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Counter> {
    let (name, role, unit) = (words.next()?, words.next()?, words.next()?);
    let bits = words.next()?.parse().ok().filter(|bits| (1..=64).contains(bits))?;
    let width = match words.next()? {
        "wraps" => Width::Wraps(bits),
        "stops" => Width::Stops(bits),
        _ => return None,
    };
    let role = ROLES.iter().find(|(word, _)| *word == role)?.1;
    let (unit, hertz) = unit_of(unit)?;
    Some(Counter { name: word(name), role, unit, hertz, width })
}

/// Units that are one word.
pub(super) const UNITS: [(&str, Unit); 7] = [
    ("1B", Unit::Bytes),
    ("3B", Unit::Phits),
    ("4B", Unit::FourBytes),
    ("flits", Unit::Flits),
    ("packets", Unit::Packets),
    ("800000000Hz", Unit::GeminiTicks),
    ("events", Unit::Events),
];

/// A unit, and how many ticks a second it has.
fn unit_of(word: &str) -> Option<(Unit, Option<u32>)> {
    if let Some((_, unit)) = UNITS.iter().find(|(known, _)| *known == word) {
        return Some((*unit, None));
    }
    let hertz = word.strip_suffix("Hz")?.parse().ok()?;
    Some((Unit::Ticks, Some(hertz).filter(|&hertz| hertz > 0)))
}

/// A port without counters yet, and its set.
pub(super) fn port<'a>(
    words: &mut impl Iterator<Item = &'a str>,
    sets: &[Vec<Counter>],
) -> Option<(Port, usize)> {
    let (name, kind) = (word(words.next()?), words.next()?);
    let kind = PortKind::ALL.into_iter().find(|known| known.word() == kind)?;
    let set = words.next()?.parse().ok().filter(|&set| set < sets.len())?;
    let speed = match words.next()? {
        "-" => None,
        speed => Some(speed.parse().ok().filter(|speed| SPEEDS.contains(speed))?),
    };
    let state = Some(words.next()?).filter(|&state| state != "-").map(word);
    Some((Port { name, kind, speed, state, counters: Arc::new([]) }, set))
}

/// Error for a text that is no total.
pub(super) struct NoTotal;

/// A total, which may be absent.
pub(super) fn total(word: &str, at: Nanos, counter: &Counter) -> Result<Option<Reading>, NoTotal> {
    if word == "-" {
        return Ok(None);
    }
    let (value, own) = match word.split_once('@') {
        Some((value, own)) => (value, Some(own)),
        None => (word, None),
    };
    let own = own.map(str::parse).transpose().map_err(|_| NoTotal)?;
    let value = value.parse().ok().filter(|&value| value <= counter.width.largest());
    Ok(Some(Reading { at: own.map_or(at, Nanos), value: value.ok_or(NoTotal)? }))
}

/// The head of a recording of this source.
pub fn head(source: &dyn CounterSource) -> String {
    let mut text = format!("{MAGIC}\nsource {}\n", source.name().replace(['\n', '#'], " "));
    let mut sets: Vec<&[Counter]> = Vec::new();
    let mut ports = String::new();
    for port in source.ports() {
        let known = sets.iter().rposition(|set| **set == *port.counters);
        let set = known.unwrap_or(sets.len());
        if known.is_none() {
            sets.push(&port.counters);
            text.push_str("set\n");
            port.counters.iter().for_each(|counter| write_counter(&mut text, counter));
        }
        let speed = port.speed.map_or_else(|| "-".to_owned(), |speed| format!("{speed:e}"));
        let (name, state) = (word(&port.name), word(port.state.as_deref().unwrap_or("-")));
        // Writing into a string does not fail.
        let _ = writeln!(ports, "port {name} {} {set} {speed} {state}", port.kind.word());
    }
    text + &ports
}

fn write_counter(text: &mut String, counter: &Counter) {
    let role =
        ROLES.iter().find(|(_, role)| *role == counter.role).map_or("fault", |(word, _)| word);
    let unit = UNITS.iter().find(|(_, unit)| *unit == counter.unit);
    let unit = unit.map_or_else(
        || format!("{}Hz", counter.hertz.unwrap_or(0)),
        |(word, _)| (*word).to_owned(),
    );
    let (bits, end) = match counter.width {
        Width::Wraps(bits) => (bits, "wraps"),
        Width::Stops(bits) => (bits, "stops"),
    };
    let name = word(&counter.name);
    let _ = writeln!(text, "counter {name} {role} {unit} {bits} {end}");
}

/// One word, whatever a device or a recording calls it: names reach terminals.
pub(super) fn word(text: &str) -> String {
    let bad = |c: char| c.is_whitespace() || c.is_control() || c == '#';
    let text: String = text.chars().map(|c| if bad(c) { '_' } else { c }).collect();
    if text.is_empty() { "-".to_owned() } else { text }
}

/// Totals at a time, to be put behind the head.
pub fn totals(ports: &[Port], at: Nanos, readings: &Readings) -> String {
    let mut text = format!("at {}\n", at.0);
    for port in 0..ports.len() {
        for (place, reading) in readings.port(port).iter().enumerate() {
            text.push_str(if place == 0 { "" } else { " " });
            let _ = match reading {
                None => write!(text, "-"),
                Some(own) if own.at != at => write!(text, "{}@{}", own.value, own.at.0),
                Some(own) => write!(text, "{}", own.value),
            };
        }
        text.push('\n');
    }
    text
}

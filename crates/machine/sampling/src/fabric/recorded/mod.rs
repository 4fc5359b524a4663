//! Counters that were read at another time, or elsewhere, from a text.
//!
//! Owns the form: words between blanks, one statement a line, `#` begins a comment. What was
//! recorded of a simulated source still says so.
//!
//! ```text
//! talea-fabric-counters 1
//! source sysfs
//! set                                        counters that ports have; the first set is 0
//! counter tx_bytes sent 1B 64 wraps          name, role, unit, bits, what it does at its end
//! counter tx_waited sent-stalled 0Hz 32 stops
//! port eth0 ethernet 0 1.25e8 up             name, kind, set, bytes a second, state; - if unknown
//! at 1700000000000000000                     a time in ns; then a line for each port, in order:
//! 4711 -                                     a total a counter; - is absent, 12@5 has a time
//! ```
//!
//! Times grow. A reading whose time lies before that of an earlier one is left out, which is a gap;
//! a last line without its end was cut.
//!
//! Roles are `sent`, `received`, `sent-stalled`, `received-stalled`, `fault`; units `1B`, `3B`,
//! `4B` (so many bytes), `flits`, `packets`, `800000000Hz` (ticks; 0 where the length is not
//! known), `events`.

mod text;

use std::collections::HashSet;
use std::sync::Arc;

use talea_model::{Gap, GapKind, Gaps, Nanos};

use super::{Counter, CounterSource, Port, Readings};
use crate::source::gap;
use text::{MAGIC, counter, port, total, word};
pub use text::{head, totals};

/// Most sets, counters of a set, ports, and counters of all ports.
const MOST_OF_SET: usize = 1 << 12;
const MOST_PORTS: usize = 1 << 20;
const MOST_COUNTERS: usize = 1 << 22;
/// Expected text where the last line may lack its last digits.
const END: &str = "the end of the line: the file was cut";

/// Mistake in a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected {expected}")]
pub struct RecordedError {
    /// Counted from 1.
    pub line: usize,
    /// The expected text.
    pub expected: &'static str,
}

/// A recording, from its begin.
#[derive(Debug)]
pub struct Recorded {
    name: String,
    ports: Vec<Port>,
    text: String,
    /// How far it was read: the byte and the line, counted from 0.
    at: (usize, usize),
    /// When the last reading was that was given.
    time: Option<Nanos>,
    /// Readings before an earlier one, and at the same time as it.
    before: Odd,
    still: Odd,
}

/// Readings at times where none should be.
#[derive(Clone, Copy, Debug, Default)]
struct Odd {
    count: u64,
    /// Counted from 1.
    first: usize,
}

impl Odd {
    fn add(&mut self, line: usize) {
        if self.count == 0 {
            self.first = line + 1;
        }
        self.count += 1;
    }

    /// Says it once.
    fn tell(&mut self, what: &str, gaps: &mut Gaps) {
        let Self { count, first } = std::mem::take(self);
        if count > 0 {
            let detail = format!("{what}, first in line {first}");
            gaps.note(Gap { count, ..gap(GapKind::Damaged, detail) });
        }
    }
}

impl Recorded {
    /// Reads what a recording says of ports; totals are read one after the other later.
    ///
    /// # Errors
    /// The first line that is none of the form.
    pub fn new(text: String) -> Result<Self, RecordedError> {
        let mut at = (0, 0);
        let expect = |line: usize, expected| RecordedError { line: line + 1, expected };
        let first = next_line(&text, &mut at);
        let magic = first.is_some_and(|(_, line)| words(line).eq(words(MAGIC)));
        if !magic {
            return Err(expect(first.map_or(0, |(number, _)| number), "`talea-fabric-counters 1`"));
        }
        let mut source = "somewhere".to_owned();
        let mut sets: Vec<Vec<Counter>> = Vec::new();
        let mut ports: Vec<(Port, usize)> = Vec::new();
        let mut all = 0;
        // A port that is there twice would count twice.
        let (mut counters, mut names) = (HashSet::new(), HashSet::new());
        let mut before = at;
        while let Some((number, line)) = next_line(&text, &mut at) {
            let mut rest = words(line);
            match rest.next() {
                Some("source") => source = rest.map(word).collect::<Vec<_>>().join(" "),
                Some("set") if sets.len() < MOST_OF_SET => {
                    sets.push(Vec::new());
                    counters.clear();
                }
                Some("counter") => {
                    let known = sets.last_mut().filter(|set| set.len() < MOST_OF_SET);
                    let counter = counter(&mut rest).filter(|_| rest.next().is_none());
                    let (set, counter) = known.zip(counter).ok_or_else(|| {
                        expect(number, "`counter NAME ROLE UNIT BITS wraps|stops` in a set")
                    })?;
                    if !counters.insert(counter.name.clone()) {
                        return Err(expect(number, "a counter that the set does not have yet"));
                    }
                    set.push(counter);
                }
                Some("port") if ports.len() < MOST_PORTS => {
                    let port = port(&mut rest, &sets).filter(|_| rest.next().is_none());
                    let port =
                        port.ok_or_else(|| expect(number, "`port NAME KIND SET SPEED|- STATE|-`"))?;
                    if !names.insert((port.0.kind, port.0.name.clone())) {
                        return Err(expect(number, "a port that was not listed before"));
                    }
                    all += sets[port.1].len();
                    if all > MOST_COUNTERS {
                        return Err(expect(number, "at most 4,194,304 counters"));
                    }
                    ports.push(port);
                }
                Some("at") => {
                    at = before;
                    break;
                }
                _ => return Err(expect(number, "`source`, `set`, `counter`, `port` or `at`")),
            }
            before = at;
        }
        let sets: Vec<Arc<[Counter]>> = sets.into_iter().map(Into::into).collect();
        let with = |(port, set): (Port, usize)| Port { counters: sets[set].clone(), ..port };
        let ports = ports.into_iter().map(with).collect();
        let (time, before, still) = (None, Odd::default(), Odd::default());
        Ok(Self { name: format!("recorded {source}"), ports, text, at, time, before, still })
    }

    /// When the last reading was that was given.
    pub fn time(&self) -> Option<Nanos> {
        self.time
    }

    /// The next totals whose time is not before that of earlier ones; none at the end.
    fn next(&mut self) -> Option<Result<Readings, RecordedError>> {
        loop {
            let (number, at, readings) = match self.any()? {
                Ok(next) => next,
                Err(error) => return Some(Err(error)),
            };
            match self.time {
                Some(last) if at < last => {
                    self.before.add(number);
                    continue;
                }
                Some(last) if at == last => self.still.add(number),
                _ => {}
            }
            self.time = Some(at);
            return Some(Ok(readings));
        }
    }

    /// The next totals with their line and time; none at the end.
    fn any(&mut self) -> Option<Result<(usize, Nanos, Readings), RecordedError>> {
        let mut readings = Readings::absent(&self.ports);
        let (number, line) = next_line(&self.text, &mut self.at)?;
        let expect = |line: usize, expected| Some(Err(RecordedError { line: line + 1, expected }));
        if !line.ends_with('\n') {
            return expect(number, END);
        }
        let mut rest = words(line);
        let at = rest.next().filter(|&word| word == "at").and(rest.next());
        let Some(at) = at.and_then(|at| at.parse().ok()).filter(|_| rest.next().is_none()) else {
            return expect(number, "`at NANOSECONDS`");
        };
        for port in 0..self.ports.len() {
            let last = self.at.1;
            let Some((number, line)) = next_line(&self.text, &mut self.at) else {
                return expect(last, "a line for each port");
            };
            if !line.ends_with('\n') {
                return expect(number, END);
            }
            let mut rest = words(line);
            for (counter, reading) in self.ports[port].counters.iter().zip(readings.port_mut(port))
            {
                let word = rest.next();
                let Some(Ok(read)) = word.map(|word| total(word, Nanos(at), counter)) else {
                    return expect(number, "a total within its width for each counter, or -");
                };
                *reading = read;
            }
            if rest.next().is_some() {
                return expect(number, "a total for each counter and no more");
            }
        }
        Some(Ok((number, Nanos(at), readings)))
    }
}

impl CounterSource for Recorded {
    fn name(&self) -> &str {
        &self.name
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// Times are those of the recording.
    fn read(&mut self, _: Nanos, gaps: &mut Gaps) -> Option<Readings> {
        match self.next() {
            Some(Ok(readings)) => return Some(readings),
            Some(Err(error)) => {
                gaps.note(gap(GapKind::Damaged, format!("the recording ends early: {error}")));
                self.at.0 = self.text.len();
            }
            None => {}
        }
        self.before
            .tell("readings are left out whose times lie before those of earlier ones", gaps);
        self.still
            .tell("times of readings do not grow: shares of these intervals are absent", gaps);
        None
    }
}

/// The next line that says something, with its number; `at` is the byte and the number of the line.
fn next_line<'a>(text: &'a str, at: &mut (usize, usize)) -> Option<(usize, &'a str)> {
    while let Some(rest) = text.get(at.0..).filter(|rest| !rest.is_empty()) {
        let length = rest.find('\n').map_or(rest.len(), |length| length + 1);
        let number = at.1;
        *at = (at.0 + length, at.1 + 1);
        if words(&rest[..length]).next().is_some() {
            return Some((number, &rest[..length]));
        }
    }
    None
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split('#').next().unwrap_or("").split_whitespace()
}

#[cfg(test)]
mod tests;

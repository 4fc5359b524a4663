//! Lines of a run's records that are made but not written yet.
//!
//! Owns their order: lines of one time are sorted by kind, then by thread. Samples come after
//! calls. Added events come before or after all other records of their time.

use talea_formats::paraver::RecordLines;
use talea_model::Trace;
use talea_model::trace::{EventRecord, Events, Locations, StateRecord, States, types};

use super::super::calls::{CallWalk, Sink};
use super::{Additions, Values};

/// Kinds of lines, in the order of those with the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// An event that is added before the others.
    First,
    State,
    Event,
    Message,
    /// Value 0 at the end of a stretch of computation.
    End,
    /// The value of a stretch of computation.
    Begin,
}

/// Place of a line in the order of all: its time, its kind, and [`place`](Key::place).
pub(super) type Order = (u64, Kind, u32);

/// A line in the text, and its place in the order of all; `place` is the location, or [`SAMPLES`].
#[derive(Clone, Copy)]
struct Key {
    time: u64,
    begin: usize,
    length: u32,
    place: u32,
    kind: Kind,
}

impl Key {
    fn order(&self) -> Order {
        (self.time, self.kind, self.place)
    }
}

/// Place of the records of samples: after all locations.
const SAMPLES: u32 = u32::MAX;

/// Lines of a thread that are not written yet.
struct Lines<'a> {
    text: RecordLines<'a>,
    /// In their order.
    keys: Vec<Key>,
    place: u32,
    added: &'a Additions<'a>,
    /// Values of the thread's stretches of computation.
    values: Option<Values<'a>>,
    states: u64,
    events: u64,
}

impl Lines<'_> {
    /// Puts the line from `begin` on in its place: near the end, as lines come almost in order.
    fn key(&mut self, (time, kind, place): Order, begin: usize) {
        let length = (self.text.bytes().len() - begin) as u32;
        let key = Key { time, begin, length, place, kind };
        let later = self.keys.iter().rev().take_while(|other| other.order() > key.order()).count();
        self.keys.insert(self.keys.len() - later, key);
    }

    fn line(&mut self, event: &EventRecord<'_>, (kind, place): (Kind, u32)) {
        let begin = self.text.bytes().len();
        self.text.event(event);
        self.key((event.time, kind, place), begin);
        self.events += 1;
    }

    /// The value of a stretch of computation, and 0 at its end.
    fn value(&mut self, state: &StateRecord) {
        let StateRecord { location, begin, end, .. } = *state;
        let Some(source) = self.added.values.filter(|_| state.state == types::RUNNING) else {
            return;
        };
        let value = match &mut self.values {
            Some(values) => values(begin, end),
            // These lines hold samples of several threads, each with one stretch.
            None => source.values(location)(begin, end),
        };
        let Some(value) = value else { return };
        let types = &[source.event_type()];
        for (time, kind, value) in [(begin, Kind::Begin, value), (end, Kind::End, 0)] {
            let event = EventRecord { location, cpu: 0, time, types, values: &[value] };
            self.line(&event, (kind, location));
        }
    }
}

impl Sink for Lines<'_> {
    fn state(&mut self, state: StateRecord) {
        let begin = self.text.bytes().len();
        self.text.state(&state);
        self.key((state.begin, Kind::State, self.place), begin);
        self.states += 1;
        self.value(&state);
    }

    fn event(&mut self, event: EventRecord<'_>) {
        self.line(&event, (Kind::Event, self.place));
    }
}

/// Records that are in memory before the merge begins, by time.
#[derive(Default)]
struct Given<'a> {
    states: Option<&'a States>,
    events: Option<&'a Events>,
    first: Option<&'a Events>,
    order: Vec<(Kind, u32)>,
    next: usize,
}

impl<'a> Given<'a> {
    fn new(
        states: Option<&'a States>,
        events: Option<&'a Events>,
        first: Option<&'a Events>,
    ) -> Self {
        let mut given = Self { states, events, first, ..Self::default() };
        let rows = |kind: Kind, count: usize| (0..count as u32).map(move |row| (kind, row));
        let mut order: Vec<(Kind, u32)> = rows(Kind::First, first.map_or(0, Events::len))
            .chain(rows(Kind::State, states.map_or(0, States::len)))
            .chain(rows(Kind::Event, events.map_or(0, Events::len)))
            .collect();
        order.sort_by_key(|&one| given.time(one));
        given.order = order;
        given
    }

    fn events_of(&self, kind: Kind) -> Option<&'a Events> {
        if kind == Kind::First { self.first } else { self.events }
    }

    fn time(&self, (kind, row): (Kind, u32)) -> u64 {
        let time = match kind {
            Kind::State => self.states.and_then(|states| states.begin.get(row as usize)),
            _ => self.events_of(kind).and_then(|events| events.time.get(row as usize)),
        };
        time.copied().unwrap_or_default()
    }

    /// The time of the next record; absent after the last.
    fn next_time(&self) -> Option<u64> {
        self.order.get(self.next).map(|&one| self.time(one))
    }

    /// Adds the next record to the lines; false where it is not before `until`.
    fn add_next(&mut self, until: Option<u64>, lines: &mut Lines<'_>) -> bool {
        let Some(&(kind, row)) = self.order.get(self.next) else { return false };
        if until.is_some_and(|until| self.time((kind, row)) >= until) {
            return false;
        }
        self.next += 1;
        if kind == Kind::State {
            if let Some(state) = self.states.and_then(|states| states.get(row as usize)) {
                lines.state(state);
            }
        } else if let Some(event) = self.events_of(kind).and_then(|all| all.get(row as usize)) {
            lines.line(&event, (kind, lines.place));
        }
        true
    }
}

/// A thread's walk that is ahead of the written lines; or records that were in memory before, of
/// samples and added ones.
pub(super) struct Ahead<'a> {
    walk: Option<CallWalk<'a>>,
    lines: Lines<'a>,
    given: Given<'a>,
    /// Further records are not before this time; absent after the last.
    pub(super) reached: Option<u64>,
    /// Place in `lines` of the next line to be written.
    next: usize,
    /// Memory for the lines that remain.
    rest: Vec<u8>,
}

impl<'a> Ahead<'a> {
    /// A thread's calls, and the iterations of its loops.
    pub(super) fn from_walk(
        walk: CallWalk<'a>,
        location: u32,
        iterations: &'a Events,
        places: &'a Locations,
        added: &'a Additions<'a>,
    ) -> Self {
        let given = Given::new(None, Some(iterations), None);
        let mut thread = Self::new(given, location, places, added);
        thread.lines.values = added.values.map(|source| source.values(location));
        Self { walk: Some(walk), reached: Some(0), ..thread }
    }

    /// The records of samples, and added ones.
    pub(super) fn from_samples(
        samples: &'a Trace,
        places: &'a Locations,
        added: &'a Additions<'a>,
    ) -> Self {
        let (states, events) = (Some(&samples.states), Some(&samples.events));
        Self::new(Given::new(states, events, Some(&added.first)), SAMPLES, places, added)
    }

    fn new(given: Given<'a>, place: u32, places: &'a Locations, added: &'a Additions<'a>) -> Self {
        let (text, keys) = (RecordLines::new(places), Vec::new());
        let lines = Lines { text, keys, place, added, values: None, states: 0, events: 0 };
        let reached = given.next_time();
        Self { walk: None, lines, given, reached, next: 0, rest: Vec::new() }
    }

    /// Goes on until some lines are there.
    pub(super) fn advance(&mut self, least: usize) {
        while let Some(reached) = self.reached {
            let keys = &self.lines.keys;
            // Without a line before that time nothing could be written, ever.
            if keys.len() >= least && keys.first().is_some_and(|first| first.time < reached) {
                break;
            }
            self.reached = if let Some(walk) = &mut self.walk {
                let reached = walk.next(&mut self.lines).map(|call| call.begin.0);
                while self.given.add_next(reached, &mut self.lines) {}
                reached
            } else {
                self.given.add_next(None, &mut self.lines);
                self.given.next_time()
            };
        }
    }

    /// Place in the order of the next line, if its time is before `until`.
    pub(super) fn peek(&self, until: Option<u64>) -> Option<Order> {
        let key = self.lines.keys.get(self.next)?;
        until.is_none_or(|until| key.time < until).then(|| key.order())
    }

    /// That line.
    pub(super) fn take(&mut self) -> &[u8] {
        let key = self.lines.keys[self.next];
        self.next += 1;
        &self.lines.text.bytes()[key.begin..key.begin + key.length as usize]
    }

    /// Forgets the lines that are written.
    pub(super) fn forget(&mut self) {
        self.lines.keys.drain(..self.next);
        self.next = 0;
        self.rest.clear();
        for key in &mut self.lines.keys {
            let line = key.begin..key.begin + key.length as usize;
            key.begin = self.rest.len();
            self.rest.extend_from_slice(&self.lines.text.bytes()[line]);
        }
        self.lines.text.swap(&mut self.rest);
    }

    /// Numbers of the states and events so far.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.lines.states, self.lines.events)
    }
}

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

/// A line, and its place among those of its thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    time: u64,
    kind: Kind,
    /// The location, or [`SAMPLES`].
    place: u32,
    number: u64,
    begin: usize,
    end: usize,
}

/// Place of the records of samples: after all locations.
const SAMPLES: u32 = u32::MAX;
/// First number of records that are in memory before the merge: they come after those of calls.
const GIVEN: u64 = 1 << 63;

/// Lines of a thread that are not written yet.
struct Lines<'a> {
    text: RecordLines<'a>,
    keys: Vec<Key>,
    place: u32,
    added: &'a Additions<'a>,
    /// Values of the thread's stretches of computation.
    values: Option<Values<'a>>,
    states: u64,
    events: u64,
}

impl Lines<'_> {
    fn key(&mut self, (time, kind, place): Order, number: u64, begin: usize) {
        let end = self.text.bytes().len();
        self.keys.push(Key { time, kind, place, number, begin, end });
    }

    fn line(&mut self, event: &EventRecord<'_>, (kind, place): (Kind, u32), number: u64) {
        let begin = self.text.bytes().len();
        self.text.event(event);
        self.key((event.time, kind, place), number, begin);
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
            self.line(&event, (kind, location), self.events);
        }
    }
}

impl Sink for Lines<'_> {
    fn state(&mut self, state: StateRecord) {
        let begin = self.text.bytes().len();
        self.text.state(&state);
        self.key((state.begin, Kind::State, self.place), self.states, begin);
        self.states += 1;
        self.value(&state);
    }

    fn event(&mut self, event: EventRecord<'_>) {
        self.line(&event, (Kind::Event, self.place), self.events);
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
        let number = GIVEN + u64::from(row);
        if kind == Kind::State {
            if let Some(state) = self.states.and_then(|states| states.get(row as usize)) {
                lines.state(state);
            }
        } else if let Some(event) = self.events_of(kind).and_then(|all| all.get(row as usize)) {
            lines.line(&event, (kind, lines.place), number);
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
    /// Further records of the walk, or of samples, are not before this time; absent after the last.
    pub(super) reached: Option<u64>,
    /// Lines in `lines` that are to be written, once they are arranged.
    ready: usize,
    next: usize,
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
        Self { walk: None, lines, given, reached, ready: 0, next: 0 }
    }

    /// Walks on until some lines are there.
    pub(super) fn advance(&mut self, least: usize) {
        let waiting = self.lines.keys.len();
        while let Some(reached) = self.reached {
            let keys = &self.lines.keys;
            let is_before = |key: Option<&Key>| key.is_some_and(|key| key.time < reached);
            // Without a line before that time nothing could be written, ever.
            if keys.len() >= least && (is_before(keys.first()) || is_before(keys.get(waiting))) {
                break;
            }
            self.reached = if let Some(walk) = &mut self.walk {
                walk.next(&mut self.lines).map(|call| call.begin.0)
            } else {
                self.given.add_next(None, &mut self.lines);
                self.given.next_time()
            };
        }
    }

    /// Sorts the lines, together with the records in memory that are before `until`.
    pub(super) fn arrange(&mut self, until: Option<u64>) {
        while self.walk.is_some() && self.given.add_next(until, &mut self.lines) {}
        self.lines.keys.sort_unstable();
        let is_before = |time: u64| until.is_none_or(|until| time < until);
        self.ready = self.lines.keys.partition_point(|key| is_before(key.time));
        self.next = 0;
    }

    /// Place of the next line that is to be written.
    pub(super) fn peek(&self) -> Option<Order> {
        let key = self.lines.keys[..self.ready].get(self.next)?;
        Some((key.time, key.kind, key.place))
    }

    /// That line.
    pub(super) fn take(&mut self) -> &[u8] {
        let key = self.lines.keys[self.next];
        self.next += 1;
        &self.lines.text.bytes()[key.begin..key.end]
    }

    /// Forgets the lines that are written.
    pub(super) fn forget(&mut self) {
        self.lines.keys.drain(..self.ready);
        self.ready = 0;
        let before = self.lines.text.take();
        for key in &mut self.lines.keys {
            let begin = self.lines.text.bytes().len();
            self.lines.text.add(&before[key.begin..key.end]);
            (key.begin, key.end) = (begin, self.lines.text.bytes().len());
        }
    }

    /// Numbers of the states and events so far.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.lines.states, self.lines.events)
    }
}

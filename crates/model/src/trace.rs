//! A trace of any tool in memory: columns of states, events and messages, the places that they
//! happened at, and labels.
//!
//! Owns the shapes and the invariants between columns. A column is a plain `Vec`, four or eight
//! bytes a number, so that an analysis takes slices; times are nanoseconds since the start of the
//! trace whatever the source counted in. It refuses syntax: a reader of `formats` fills it and a
//! writer empties it. What a tool's numbers mean (event types, states) is in [`Labels`], as that
//! tool said it.
//!
//! Records need not be sorted by time; their order is kept in [`Trace::order`], and [`ByLocation`]
//! is the index that sorts them.

mod by_location;
mod columns;
mod labels;
mod lines;
mod locations;
mod messages;
mod records;
#[cfg(test)]
mod tests;
pub mod types;

pub use by_location::ByLocation;
pub use columns::{EventRecord, Events, Occurrence, StateRecord, States, UNKNOWN_TIME};
pub use labels::{EventType, Gradient, Labels, RawSection, StateLabel, ValueSet};
pub use lines::Lines;
pub use locations::{Level, Locations, MOST_LOCATIONS, Place, TooManyLocations};
pub use messages::{MessageRecord, Messages};
pub use records::{InMemory, Records};

use crate::gaps::Gaps;
use crate::units::Nanos;

/// Unit of time in the source of a trace; in memory it is always nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// 1 ns.
    #[default]
    Nanoseconds,
    /// 1,000 ns.
    Microseconds,
    /// 1,000,000 ns.
    Milliseconds,
    /// 1,000,000,000 ns.
    Seconds,
}

impl TimeUnit {
    /// Nanoseconds of one unit.
    pub fn nanos(self) -> u64 {
        match self {
            Self::Nanoseconds => 1,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
        }
    }
}

/// The kind of one record of [`Trace::order`]; the n-th of a kind there is row n of that kind's
/// columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RecordKind {
    /// A row of [`Trace::states`].
    State,
    /// A row of [`Trace::events`].
    Event,
    /// A row of [`Trace::messages`].
    Message,
}

/// A communicator that the source defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Communicator {
    /// Application, from 1.
    pub application: u32,
    /// The number that events refer to it by.
    pub id: u64,
    /// Its members.
    pub members: Members,
}

/// Members of a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    /// Tasks of the application, from 1, in the order of their ranks.
    Tasks(Vec<u32>),
    /// Two groups that talk to each other.
    Between {
        /// Communicator of the one group.
        local: u64,
        /// Leader of that group as the source numbers it.
        local_leader: u64,
        /// Communicator of the other group.
        remote: u64,
        /// Leader of the other group.
        remote_leader: u64,
    },
}

/// A whole trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// When the program ran, as the source writes it; the time zone is not known. Empty where it is
    /// not said.
    pub date: String,
    /// Unit of time in the source.
    pub unit: TimeUnit,
    /// Time of the end, from the start of the trace.
    pub duration: Nanos,
    /// Applications, tasks, threads and nodes.
    pub locations: Locations,
    /// Activity of each thread, with begin and end.
    pub states: States,
    /// Points in time with pairs of type and value.
    pub events: Events,
    /// Messages from one thread to another.
    pub messages: Messages,
    /// The kinds of all records in the order of the source, one byte each.
    pub order: Vec<RecordKind>,
    /// In the order of the source.
    pub communicators: Vec<Communicator>,
    /// Lines that are kept as they are: metadata, and records that are not interpreted.
    pub lines: Lines,
    /// Names and colours of types, values and states.
    pub labels: Labels,
    /// Missing and contradictory data in the source.
    pub gaps: Gaps,
}

/// Columns of a trace that do not fit each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Column with its expected and found length.
    pub what: String,
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Shape {}

impl Trace {
    /// Adds a state at the end of the order.
    pub fn push_state(&mut self, state: StateRecord) {
        self.states.push(state);
        self.order.push(RecordKind::State);
    }

    /// Adds an event with its pairs at the end of the order; the shorter of both slices counts.
    pub fn push_event(
        &mut self,
        (location, cpu): (u32, u32),
        time: u64,
        types: &[u32],
        values: &[i64],
    ) {
        self.events.push(EventRecord { location, cpu, time, types, values });
        self.order.push(RecordKind::Event);
    }

    /// Adds a message at the end of the order.
    pub fn push_message(&mut self, message: MessageRecord) {
        self.messages.push(message);
        self.order.push(RecordKind::Message);
    }

    /// Adds a line that is kept as it is, after the records so far.
    pub fn push_line(&mut self, text: &[u8]) {
        self.lines.push(self.order.len() as u64, text);
    }

    /// States of each location, by the time that they begin.
    pub fn states_by_location(&self) -> ByLocation {
        ByLocation::new(self.locations.len(), &self.states.location, &self.states.begin)
    }

    /// Events of each location by time; those of the same time stay in the order of the source.
    pub fn events_by_location(&self) -> ByLocation {
        ByLocation::new(self.locations.len(), &self.events.location, &self.events.time)
    }

    /// Messages of each sending location by the time of the logical send.
    pub fn messages_by_sender(&self) -> ByLocation {
        ByLocation::new(self.locations.len(), &self.messages.sender, &self.messages.logical_send)
    }

    /// Messages of each receiving location by the time of the logical receive.
    pub fn messages_by_receiver(&self) -> ByLocation {
        let messages = &self.messages;
        ByLocation::new(self.locations.len(), &messages.receiver, &messages.logical_receive)
    }

    /// Whether all columns of a kind are equally long, the order has every record once, and places
    /// exist.
    ///
    /// True for the results of the methods above and of readers in `formats`; code that changes
    /// columns checks before handing the trace on.
    pub fn check(&self) -> Result<(), Shape> {
        self.states.check()?;
        self.events.check()?;
        self.messages.check()?;
        let counts = [
            ("states", RecordKind::State, self.states.len()),
            ("events", RecordKind::Event, self.events.len()),
            ("messages", RecordKind::Message, self.messages.len()),
        ];
        for (name, kind, rows) in counts {
            let ordered = self.order.iter().filter(|&&one| one == kind).count();
            if ordered != rows {
                return Err(Shape {
                    what: format!("expected {rows} {name} in the order, found {ordered}"),
                });
            }
        }
        let places = self.locations.len();
        let columns = [
            ("state", &self.states.location),
            ("event", &self.events.location),
            ("sender", &self.messages.sender),
            ("receiver", &self.messages.receiver),
        ];
        for (name, column) in columns {
            if let Some(last) = column.iter().max().filter(|&&last| last as usize >= places) {
                return Err(Shape {
                    what: format!("expected a {name} at one of {places} locations, found {last}"),
                });
            }
        }
        Ok(())
    }
}

//! From a trace to a `.prv` that Paraver opens.
//!
//! Owns the text of header, communicators and records, in the order of the trace, with kept lines
//! in their places. Applications are separated as in Extrae, communicators are counted at the end
//! of the header, microseconds are explicit. Times are written in the trace's unit if all of them
//! are whole there, else in nanoseconds. Output goes to the caller's writer in large pieces.

use std::io::{self, Write};

use talea_model::Trace;
use talea_model::trace::{
    EventRecord, Locations, Members, MessageRecord, RecordKind, Shape, StateRecord, TimeUnit,
    UNKNOWN_TIME,
};

/// Errors of writing a trace.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Columns do not fit each other.
    #[error("the trace is not consistent: {0}")]
    Shape(Shape),
    /// The writer failed.
    #[error("writing the trace failed")]
    Write(#[from] io::Error),
}

/// Number of bytes that are collected before they are written.
const PIECE: usize = 1 << 17;

/// Writes a `.prv`.
pub fn write(trace: &Trace, mut out: impl Write) -> Result<(), WriteError> {
    trace.check().map_err(WriteError::Shape)?;
    let unit = unit(trace);
    let mut text = Text::new(unit.nanos());
    header(trace, unit, &mut text);
    communicators(trace, &mut text, &mut out)?;
    let mut kept = trace.lines.iter().peekable();
    let (mut state, mut event, mut message) = (0, 0, 0);
    for (kind, written) in trace.order.iter().zip(0_u64..) {
        while let Some((_, line)) = kept.next_if(|&(after, _)| after <= written) {
            text.line(line);
        }
        let row = match kind {
            RecordKind::State => &mut state,
            RecordKind::Event => &mut event,
            RecordKind::Message => &mut message,
        };
        // `check` found every row, so that none is left out here.
        let places = &trace.locations;
        let _all_there = match kind {
            RecordKind::State => {
                trace.states.get(*row).and_then(|state| text.state(places, &state))
            }
            RecordKind::Event => {
                trace.events.get(*row).and_then(|event| text.event(places, &event))
            }
            RecordKind::Message => {
                trace.messages.get(*row).and_then(|message| text.message(places, &message))
            }
        };
        *row += 1;
        text.hand_on(&mut out)?;
    }
    for (_, line) in kept {
        text.line(line);
        text.hand_on(&mut out)?;
    }
    out.write_all(&text.bytes)?;
    out.flush()?;
    Ok(())
}

/// The trace's own unit if every time is whole in it.
fn unit(trace: &Trace) -> TimeUnit {
    let nanos = trace.unit.nanos();
    let columns = [
        &trace.states.begin,
        &trace.states.end,
        &trace.events.time,
        &trace.messages.logical_send,
        &trace.messages.physical_send,
        &trace.messages.logical_receive,
        &trace.messages.physical_receive,
    ];
    let whole = |time: &u64| *time == UNKNOWN_TIME || time.is_multiple_of(nanos);
    let all = nanos == 1
        || (trace.duration.0.is_multiple_of(nanos)
            && columns.iter().all(|one| one.iter().all(whole)));
    if all { trace.unit } else { TimeUnit::Nanoseconds }
}

fn header(trace: &Trace, unit: TimeUnit, text: &mut Text) {
    text.bytes.extend_from_slice(b"#Paraver (");
    // Paraver reads a date here, so that there must be one.
    let date = if trace.date.is_empty() { "01/01/1970 at 00:00" } else { &trace.date };
    let date: String = date.chars().filter(|one| *one != ')' && !one.is_control()).collect();
    text.bytes.extend_from_slice(date.as_bytes());
    text.bytes.extend_from_slice(b"):");
    text.number(trace.duration.0 / text.nanos);
    text.bytes.extend_from_slice(match unit {
        TimeUnit::Nanoseconds => b"_ns:",
        TimeUnit::Microseconds => b"_us:",
        TimeUnit::Milliseconds => b"_ms:",
        TimeUnit::Seconds => b"_s:",
    });
    let locations = &trace.locations;
    text.number(locations.nodes.len() as u64);
    if !locations.nodes.is_empty() {
        text.list(b'(', locations.nodes.iter().map(|&cpus| u64::from(cpus)));
        text.bytes.push(b')');
    }
    text.field(locations.applications() as u64);
    for application in 1..=locations.applications() as u32 {
        text.bytes.push(if application == 1 { b':' } else { b',' });
        let tasks = locations.tasks(application);
        text.number(tasks.len() as u64);
        text.bytes.push(b'(');
        for (number, (threads, node)) in tasks.enumerate() {
            if number > 0 {
                text.bytes.push(b',');
            }
            text.number(u64::from(threads));
            text.field(u64::from(node));
        }
        text.bytes.push(b')');
    }
    text.bytes.push(b',');
    text.number(trace.communicators.len() as u64);
    text.bytes.push(b'\n');
}

fn communicators(trace: &Trace, text: &mut Text, out: &mut impl Write) -> io::Result<()> {
    for communicator in &trace.communicators {
        let tasks = matches!(communicator.members, Members::Tasks(_));
        text.bytes.push(if tasks { b'c' } else { b'i' });
        text.field(u64::from(communicator.application));
        text.field(communicator.id);
        match &communicator.members {
            Members::Tasks(tasks) => {
                text.field(tasks.len() as u64);
                for &task in tasks {
                    text.field(u64::from(task));
                }
            }
            Members::Between { local, local_leader, remote, remote_leader } => {
                for &number in [local, local_leader, remote, remote_leader] {
                    text.field(number);
                }
            }
        }
        text.bytes.push(b'\n');
        text.hand_on(out)?;
    }
    Ok(())
}

/// Writes the header and the communicators of a trace in nanoseconds whose records follow as lines
/// of [`RecordLines`].
pub fn write_head(trace: &Trace, mut out: impl Write) -> io::Result<()> {
    let mut text = Text::new(1);
    header(trace, TimeUnit::Nanoseconds, &mut text);
    communicators(trace, &mut text, &mut out)?;
    out.write_all(&text.bytes)
}

/// Lines of records, in nanoseconds.
#[derive(Debug)]
pub struct RecordLines<'a> {
    places: &'a Locations,
    text: Text,
}

impl<'a> RecordLines<'a> {
    /// No lines yet, of records at these locations.
    pub fn new(places: &'a Locations) -> Self {
        Self { places, text: Text::new(1) }
    }

    /// Adds the line of a state; one at a location that does not exist has none.
    pub fn state(&mut self, state: &StateRecord) {
        let end = self.text.bytes.len();
        if self.text.state(self.places, state).is_none() {
            self.text.bytes.truncate(end);
        }
    }

    /// Adds the line of an event with at least one pair; one at a location that does not exist has
    /// none.
    pub fn event(&mut self, event: &EventRecord<'_>) {
        let end = self.text.bytes.len();
        if self.text.event(self.places, event).is_none() {
            self.text.bytes.truncate(end);
        }
    }

    /// Adds the line of a message; one between locations that do not exist has none.
    pub fn message(&mut self, message: &MessageRecord) {
        let end = self.text.bytes.len();
        if self.text.message(self.places, message).is_none() {
            self.text.bytes.truncate(end);
        }
    }

    /// The lines so far.
    pub fn bytes(&self) -> &[u8] {
        &self.text.bytes
    }

    /// Exchanges all lines for others, which must be whole.
    pub fn swap(&mut self, lines: &mut Vec<u8>) {
        std::mem::swap(&mut self.text.bytes, lines);
    }

    /// Forgets all lines.
    pub fn clear(&mut self) {
        self.text.bytes.clear();
    }
}

/// Collected text, and nanoseconds of its unit of time.
#[derive(Debug)]
struct Text {
    bytes: Vec<u8>,
    nanos: u64,
    /// The location and core that `place` is the text of.
    known: Option<(u32, u32)>,
    place: Vec<u8>,
}

impl Text {
    fn new(nanos: u64) -> Self {
        Self { bytes: Vec::new(), nanos, known: None, place: Vec::new() }
    }

    /// `:cpu:appl:task:thread`
    fn place(&mut self, places: &Locations, location: u32, cpu: u32) -> Option<()> {
        if self.known == Some((location, cpu)) {
            self.bytes.extend_from_slice(&self.place);
            return Some(());
        }
        let place = places.get(location)?;
        let begin = self.bytes.len();
        for number in [cpu, place.application, place.task, place.thread] {
            self.field(u64::from(number));
        }
        self.place.clear();
        self.place.extend_from_slice(&self.bytes[begin..]);
        self.known = Some((location, cpu));
        Some(())
    }

    fn state(&mut self, places: &Locations, state: &StateRecord) -> Option<()> {
        self.bytes.push(b'1');
        self.place(places, state.location, state.cpu)?;
        self.time(state.begin);
        self.time(state.end);
        self.field(u64::from(state.state));
        self.bytes.push(b'\n');
        Some(())
    }

    fn event(&mut self, places: &Locations, event: &EventRecord<'_>) -> Option<()> {
        // The format has no event without pairs.
        if event.types.is_empty() {
            return None;
        }
        self.bytes.push(b'2');
        self.place(places, event.location, event.cpu)?;
        self.time(event.time);
        for (&event_type, &value) in event.types.iter().zip(event.values) {
            self.field(u64::from(event_type));
            self.signed(value);
        }
        self.bytes.push(b'\n');
        Some(())
    }

    fn message(&mut self, places: &Locations, message: &MessageRecord) -> Option<()> {
        self.bytes.push(b'3');
        self.place(places, message.sender, message.sender_cpu)?;
        self.time(message.logical_send);
        self.time(message.physical_send);
        self.place(places, message.receiver, message.receiver_cpu)?;
        self.time(message.logical_receive);
        self.time(message.physical_receive);
        self.signed(message.size);
        self.signed(message.tag);
        self.bytes.push(b'\n');
        Some(())
    }

    fn number(&mut self, number: u64) {
        self.bytes.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    /// A colon and a number.
    fn field(&mut self, number: u64) {
        self.bytes.push(b':');
        self.number(number);
    }

    fn signed(&mut self, number: i64) {
        self.bytes.push(b':');
        self.bytes.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    fn time(&mut self, time: u64) {
        match time {
            UNKNOWN_TIME => self.bytes.extend_from_slice(b":-1"),
            _ if self.nanos == 1 => self.field(time),
            _ => self.field(time / self.nanos),
        }
    }

    fn list(&mut self, first: u8, numbers: impl Iterator<Item = u64>) {
        let mut separator = first;
        for number in numbers {
            self.bytes.push(separator);
            self.number(number);
            separator = b',';
        }
    }

    fn line(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.bytes.push(b'\n');
    }

    fn hand_on(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.bytes.len() >= PIECE {
            out.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }
}

//! Perfetto's own format: the protocol buffer `perfetto.protos.Trace`, packet after packet, so that
//! neither writer nor reader needs the whole.
//!
//! Owns the numbers of the fields used, and the texts that packets refer to by number: names,
//! categories and texts of arguments are stored once. [`super::layout`] has the rows; each is a
//! thread, as in [`super::Chrome`]. Source: `protos/perfetto/trace` of Perfetto, and the
//! behaviour of its importer, which sorts packets by time and keeps the order of those with the
//! same time.

use std::collections::HashMap;
use std::io::{self, Write};

use prost::Message;
use talea_model::Nanos;

use super::layout::{TimelineCounts, arrival, begun, ends_at, order, rows};
use super::{Argument, FlowEnd, Side, Slice, Track, TrackName, TrackWriter};

#[derive(Clone, PartialEq, Message)]
struct Packet {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    sequence: u32,
    #[prost(message, optional, tag = "11")]
    event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    interned: Option<Interned>,
    #[prost(uint32, tag = "13")]
    flags: u32,
    #[prost(message, optional, tag = "60")]
    track: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    uuid: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, optional, tag = "3")]
    process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    thread: Option<ThreadDescriptor>,
    #[prost(uint64, tag = "5")]
    parent: u64,
    #[prost(message, optional, tag = "8")]
    counter: Option<CounterDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(string, tag = "6")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct ThreadDescriptor {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    tid: Option<i32>,
    #[prost(string, tag = "5")]
    name: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct CounterDescriptor {}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    categories: Vec<u64>,
    #[prost(message, repeated, tag = "4")]
    arguments: Vec<Annotation>,
    #[prost(int32, tag = "9")]
    kind: i32,
    #[prost(uint64, tag = "10")]
    name: u64,
    #[prost(uint64, tag = "11")]
    track: u64,
    #[prost(double, optional, tag = "44")]
    value: Option<f64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flows: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    last_flows: Vec<u64>,
}

/// Values of [`TrackEvent::kind`].
const BEGIN: i32 = 1;
const END: i32 = 2;
const COUNTER: i32 = 4;

#[derive(Clone, PartialEq, Message)]
struct Annotation {
    #[prost(uint64, tag = "1")]
    name: u64,
    #[prost(int64, optional, tag = "4")]
    number: Option<i64>,
    #[prost(uint64, optional, tag = "17")]
    text: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Interned {
    #[prost(message, repeated, tag = "1")]
    categories: Vec<Named>,
    #[prost(message, repeated, tag = "2")]
    names: Vec<Named>,
    #[prost(message, repeated, tag = "3")]
    arguments: Vec<Named>,
    #[prost(message, repeated, tag = "29")]
    texts: Vec<Named>,
}

#[derive(Clone, PartialEq, Message)]
struct Named {
    #[prost(uint64, tag = "1")]
    number: u64,
    #[prost(string, tag = "2")]
    text: String,
}

/// All packets are of one sequence, whose numbers of names begin with the first.
const SEQUENCE: u32 = 1;
const NAMES_BEGIN: u32 = 1;
const NEEDS_NAMES: u32 = 2;

/// Numbers of texts, from 1.
#[derive(Default)]
struct Numbers(HashMap<String, u64>);

impl Numbers {
    /// The number of a text; a new one goes to `new` too.
    fn number(&mut self, text: &str, new: &mut Vec<Named>) -> u64 {
        if let Some(&number) = self.0.get(text) {
            return number;
        }
        let number = self.0.len() as u64 + 1;
        self.0.insert(text.to_owned(), number);
        new.push(Named { number, text: text.to_owned() });
        number
    }
}

/// Writer of a trace in which times are those of the tracks.
pub struct Perfetto<W> {
    out: W,
    buffer: Vec<u8>,
    is_first: bool,
    categories: Numbers,
    names: Numbers,
    arguments: Numbers,
    texts: Numbers,
    tracks: u64,
    /// The process of the track before, and the number of its own track.
    process: Option<(u32, u64)>,
    /// The next number of a thread that is not the first of its process.
    free: u32,
    counts: TimelineCounts,
}

impl<W: Write> Perfetto<W> {
    /// Of tracks whose processes have numbers up to `most`.
    pub fn new(most: u32, out: W) -> Self {
        Self {
            out,
            buffer: Vec::new(),
            is_first: true,
            categories: Numbers::default(),
            names: Numbers::default(),
            arguments: Numbers::default(),
            texts: Numbers::default(),
            tracks: 0,
            process: None,
            // The first thread of a process has its number, as in a system. Others have numbers
            // that no process has, and so has that of process 0, which would be the idle thread.
            free: most.saturating_add(1),
            counts: TimelineCounts::default(),
        }
    }
}

impl<W: Write> TrackWriter for Perfetto<W> {
    fn track(&mut self, track: &Track, ends: &[FlowEnd]) -> io::Result<()> {
        self.counts.flows += begun(ends);
        let known = self.process.filter(|&(number, _)| number == track.of.process);
        let is_first = known.is_none();
        let process = match known {
            Some((_, place)) => place,
            None => self.process(&track.of)?,
        };
        self.process = Some((track.of.process, process));
        let order = order(&track.slices);
        for (number, row) in rows(&track.slices, &order).into_iter().enumerate() {
            let is_main = is_first && number == 0 && track.of.process > 0;
            let thread = if is_main { track.of.process } else { self.free };
            self.free = self.free.saturating_add(u32::from(!is_main));
            let name = match number {
                0 => track.of.name.clone(),
                _ => format!("{}, beside ({number})", track.of.name),
            };
            let place = self.thread(&track.of, thread, name, process)?;
            let mut open: Vec<Nanos> = Vec::new();
            for slice in row {
                let own = &track.slices[slice];
                self.close(&mut open, own.begin, place)?;
                self.begin(own, place, ends_at(ends, slice))?;
                open.push(own.end.max(own.begin));
            }
            self.close(&mut open, Nanos(u64::MAX), place)?;
        }
        for series in &track.counters {
            // Viewers show a counter of Chrome's format by both names.
            let place = self.declare(TrackDescriptor {
                name: format!("{} {}", series.name, series.unit),
                parent: process,
                counter: Some(CounterDescriptor {}),
                ..TrackDescriptor::default()
            })?;
            for &(time, value) in series.values.iter().filter(|(_, value)| value.is_finite()) {
                let value = Some(value);
                let event = TrackEvent { kind: COUNTER, track: place, value, ..Default::default() };
                self.event(time, event, Interned::default())?;
                self.counts.values += 1;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<TimelineCounts> {
        self.out.flush()?;
        Ok(self.counts)
    }
}

impl<W: Write> Perfetto<W> {
    /// Writes one packet: field 1 of the trace.
    fn write(&mut self, packet: &Packet) -> io::Result<()> {
        // Key of field 1, with a length.
        const KEY: u8 = (1 << 3) | 2;
        self.buffer.clear();
        self.buffer.push(KEY);
        packet.encode_length_delimited(&mut self.buffer)?;
        self.out.write_all(&self.buffer)
    }

    /// Declares a track, and returns its number.
    fn declare(&mut self, track: TrackDescriptor) -> io::Result<u64> {
        self.tracks += 1;
        let track = Some(TrackDescriptor { uuid: self.tracks, ..track });
        self.write(&Packet { sequence: SEQUENCE, track, ..Packet::default() })?;
        Ok(self.tracks)
    }

    /// Declares a process, which the track is of.
    fn process(&mut self, track: &TrackName) -> io::Result<u64> {
        let (pid, name) = (Some(track.process as i32), track.process_name.clone());
        let process = Some(ProcessDescriptor { pid, name });
        self.declare(TrackDescriptor { process, ..TrackDescriptor::default() })
    }

    /// Declares a thread with this number.
    fn thread(
        &mut self,
        track: &TrackName,
        number: u32,
        name: String,
        parent: u64,
    ) -> io::Result<u64> {
        let (pid, tid) = (Some(track.process as i32), Some(number as i32));
        let thread = Some(ThreadDescriptor { pid, tid, name });
        self.declare(TrackDescriptor { thread, parent, ..TrackDescriptor::default() })
    }

    fn event(&mut self, time: Nanos, event: TrackEvent, new: Interned) -> io::Result<()> {
        let begin = if std::mem::take(&mut self.is_first) { NAMES_BEGIN } else { 0 };
        self.write(&Packet {
            timestamp: Some(time.0),
            sequence: SEQUENCE,
            event: Some(event),
            interned: (new != Interned::default()).then_some(new),
            flags: NEEDS_NAMES | begin,
            track: None,
        })
    }

    /// Begins a slice, with the messages that begin or end there.
    fn begin(&mut self, slice: &Slice, track: u64, ends: &[FlowEnd]) -> io::Result<()> {
        let mut new = Interned::default();
        let mut event = TrackEvent { kind: BEGIN, track, ..TrackEvent::default() };
        event.name = self.names.number(&slice.name, &mut new.names);
        event.categories = vec![self.categories.number(slice.category, &mut new.categories)];
        for (name, value) in &slice.arguments {
            let name = self.arguments.number(name, &mut new.arguments);
            event.arguments.push(match value {
                Argument::Number(number) => Annotation { name, number: Some(*number), text: None },
                Argument::Text(text) => {
                    let text = Some(self.texts.number(text, &mut new.texts));
                    Annotation { name, number: None, text }
                }
            });
        }
        // Numbers of messages from 1: 0 is none.
        let of = |wanted: Side| {
            let own = ends.iter().filter(move |end| end.side == wanted);
            own.map(|end| end.number + 1).collect()
        };
        (event.flows, event.last_flows) = (of(Side::Begin), of(Side::Finish));
        self.event(slice.begin, event, new)?;
        self.counts.slices += 1;
        for end in ends.iter().filter(|end| end.side == Side::FinishAtMark) {
            let (mark, mut new) = (arrival(end.at), Interned::default());
            let name = self.names.number(&mark.name, &mut new.names);
            let categories = vec![self.categories.number(mark.category, &mut new.categories)];
            let last_flows = vec![end.number + 1];
            let event = TrackEvent {
                kind: BEGIN,
                track,
                name,
                categories,
                last_flows,
                ..TrackEvent::default()
            };
            self.event(end.at, event, new)?;
            self.end(end.at, track)?;
            self.counts.slices += 1;
        }
        Ok(())
    }

    fn end(&mut self, time: Nanos, track: u64) -> io::Result<()> {
        let event = TrackEvent { kind: END, track, ..TrackEvent::default() };
        self.event(time, event, Interned::default())
    }

    /// Ends the open slices that end until `until`, the innermost first.
    fn close(&mut self, open: &mut Vec<Nanos>, until: Nanos, track: u64) -> io::Result<()> {
        while let Some(end) = open.pop_if(|end| *end <= until) {
            self.end(end, track)?;
        }
        Ok(())
    }
}

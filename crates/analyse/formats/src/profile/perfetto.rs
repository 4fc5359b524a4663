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
use std::sync::Arc;

use prost::Message;
use prost::encoding::{bytes, double, encode_varint, fixed64, int32, message, uint32, uint64};
use talea_model::Nanos;

use super::layout::{Ends, Forms, TimelineCounts, arrival, begun, order, rows};
use super::{Argument, FlowEnd, Label, Side, Track, TrackName, TrackWriter};

/// Fields of a packet.
mod packet {
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE: u32 = 10;
    pub(super) const EVENT: u32 = 11;
    pub(super) const INTERNED: u32 = 12;
    pub(super) const FLAGS: u32 = 13;
    pub(super) const TRACK: u32 = 60;
}

/// Fields of an event on a track; a label has those of numbers below.
mod event {
    pub(super) const KIND: u32 = 9;
    pub(super) const TRACK: u32 = 11;
    pub(super) const VALUE: u32 = 44;
    pub(super) const FLOW: u32 = 47;
    pub(super) const LAST_FLOW: u32 = 48;
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

/// The fields of an event that begins a slice with a label.
#[derive(Clone, PartialEq, Message)]
struct Labelled {
    #[prost(uint64, tag = "3")]
    category: u64,
    #[prost(message, repeated, tag = "4")]
    arguments: Vec<Annotation>,
    #[prost(int32, tag = "9")]
    kind: i32,
    #[prost(uint64, tag = "10")]
    name: u64,
}

/// Values of [`event::KIND`].
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

/// Numbers of all texts.
#[derive(Default)]
struct Numbering {
    categories: Numbers,
    names: Numbers,
    arguments: Numbers,
    texts: Numbers,
}

impl Numbering {
    /// The fields of a label; new texts go to `new` too.
    fn form(&mut self, label: &Label, new: &mut Interned) -> Vec<u8> {
        let name = self.names.number(&label.name, &mut new.names);
        let category = self.categories.number(label.category, &mut new.categories);
        let mut arguments = Vec::with_capacity(label.arguments.len());
        for (name, value) in &label.arguments {
            let name = self.arguments.number(name, &mut new.arguments);
            arguments.push(match value {
                Argument::Number(number) => Annotation { name, number: Some(*number), text: None },
                Argument::Text(text) => {
                    let text = Some(self.texts.number(text, &mut new.texts));
                    Annotation { name, number: None, text }
                }
            });
        }
        Labelled { category, arguments, kind: BEGIN, name }.encode_to_vec()
    }
}

/// Writer of a trace in which times are those of the tracks.
pub struct Perfetto<W> {
    out: W,
    /// The fields of the event that is written next, those of its packet, and that packet.
    event: Vec<u8>,
    packet: Vec<u8>,
    whole: Vec<u8>,
    is_first: bool,
    numbering: Numbering,
    /// Fields of labels.
    forms: Forms<Vec<u8>>,
    arrival: Arc<Label>,
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
            event: Vec::new(),
            packet: Vec::new(),
            whole: Vec::new(),
            is_first: true,
            numbering: Numbering::default(),
            forms: Forms::default(),
            arrival: arrival(),
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
            let mut ends = Ends(ends);
            for slice in row {
                let own = &track.slices[slice];
                self.close(&mut open, own.begin, place)?;
                let ends = ends.at(slice);
                self.begin(own.begin, &own.label, place, ends)?;
                self.arrivals(ends, place)?;
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
                int32::encode(event::KIND, &COUNTER, &mut self.event);
                uint64::encode(event::TRACK, &place, &mut self.event);
                double::encode(event::VALUE, &value, &mut self.event);
                self.write_event(time, &Interned::default())?;
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
    /// Writes the fields of a packet: field 1 of the trace.
    fn write(&mut self) -> io::Result<()> {
        // Key of field 1, with a length.
        const KEY: u8 = (1 << 3) | 2;
        self.whole.clear();
        self.whole.push(KEY);
        encode_varint(self.packet.len() as u64, &mut self.whole);
        self.whole.append(&mut self.packet);
        self.out.write_all(&self.whole)
    }

    /// Declares a track, and returns its number.
    fn declare(&mut self, track: TrackDescriptor) -> io::Result<u64> {
        self.tracks += 1;
        let track = TrackDescriptor { uuid: self.tracks, ..track };
        uint32::encode(packet::SEQUENCE, &SEQUENCE, &mut self.packet);
        message::encode(packet::TRACK, &track, &mut self.packet);
        self.write()?;
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

    /// Writes the event, with new texts.
    fn write_event(&mut self, time: Nanos, new: &Interned) -> io::Result<()> {
        let begin = if std::mem::take(&mut self.is_first) { NAMES_BEGIN } else { 0 };
        let out = &mut self.packet;
        uint64::encode(packet::TIMESTAMP, &time.0, out);
        uint32::encode(packet::SEQUENCE, &SEQUENCE, out);
        bytes::encode(packet::EVENT, &self.event, out);
        self.event.clear();
        if *new != Interned::default() {
            message::encode(packet::INTERNED, new, out);
        }
        uint32::encode(packet::FLAGS, &(NEEDS_NAMES | begin), out);
        self.write()
    }

    /// Begins a slice, with the messages that begin or end there.
    fn begin(
        &mut self,
        time: Nanos,
        label: &Arc<Label>,
        track: u64,
        ends: &[FlowEnd],
    ) -> io::Result<()> {
        let mut new = Interned::default();
        let form = self.forms.get_or_insert(label, |label| self.numbering.form(label, &mut new));
        self.event.extend_from_slice(form);
        uint64::encode(event::TRACK, &track, &mut self.event);
        for (side, field) in [(Side::Begin, event::FLOW), (Side::Finish, event::LAST_FLOW)] {
            for end in ends.iter().filter(|end| end.side == side) {
                // From 1: 0 is none.
                fixed64::encode(field, &(end.number + 1), &mut self.event);
            }
        }
        self.write_event(time, &new)?;
        self.counts.slices += 1;
        Ok(())
    }

    /// Slices for messages that end at slices of their own.
    fn arrivals(&mut self, ends: &[FlowEnd], track: u64) -> io::Result<()> {
        for end in ends.iter().filter(|end| end.side == Side::FinishAtMark) {
            let arrival = self.arrival.clone();
            self.begin(end.at, &arrival, track, &[FlowEnd { side: Side::Finish, ..*end }])?;
            self.end(end.at, track)?;
        }
        Ok(())
    }

    fn end(&mut self, time: Nanos, track: u64) -> io::Result<()> {
        int32::encode(event::KIND, &END, &mut self.event);
        uint64::encode(event::TRACK, &track, &mut self.event);
        self.write_event(time, &Interned::default())
    }

    /// Ends the open slices that end until `until`, the innermost first.
    fn close(&mut self, open: &mut Vec<Nanos>, until: Nanos, track: u64) -> io::Result<()> {
        while let Some(end) = open.pop_if(|end| *end <= until) {
            self.end(end, track)?;
        }
        Ok(())
    }
}

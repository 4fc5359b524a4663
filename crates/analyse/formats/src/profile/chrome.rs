//! The Trace Event Format: a complete event (`X`) for a slice, flow events (`s`, `f`) for a flow, a
//! counter event (`C`) for a value, names of processes and threads as metadata (`M`).
//!
//! Owns the syntax; [`super::layout`] has the rows. A flow event belongs to the slice of its row
//! that was opened last, so that it follows that slice in the file. Source: "Trace Event Format" of
//! Chromium, and the behaviour of Perfetto's importer.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use talea_model::Nanos;

use super::json::quoted;
use super::layout::{Ends, Forms, TimelineCounts, arrival, begun, order, rows};
use super::{Argument, FlowEnd, Label, Side, Slice, Track, TrackName, TrackWriter};

/// Writer of one JSON object, one event a line. Times there are microseconds; three decimals keep
/// nanoseconds exact.
pub struct Chrome<W> {
    out: W,
    text: String,
    /// The text of each label before the times of its slice, and after them.
    forms: Forms<[String; 2]>,
    arrival: Arc<Label>,
    is_first: bool,
    /// For each process a thread number that none of its threads has.
    free: BTreeMap<u32, u32>,
    counts: TimelineCounts,
}

impl<W: Write> Chrome<W> {
    /// Of these tracks, whose names come first.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(tracks: &[TrackName], out: W) -> io::Result<Self> {
        let mut free: BTreeMap<u32, u32> = BTreeMap::new();
        for track in tracks {
            let free = free.entry(track.process).or_default();
            *free = (*free).max(track.thread.saturating_add(1));
        }
        let (text, forms, counts) = (String::new(), Forms::default(), TimelineCounts::default());
        let arrival = arrival();
        let mut events = Self { out, text, forms, arrival, is_first: true, free, counts };
        events.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
        for (at, track) in tracks.iter().enumerate() {
            if at.checked_sub(1).is_none_or(|before| tracks[before].process != track.process) {
                events.name("process_name", (track.process, 0), &track.process_name)?;
                events.sort_index(track.process)?;
            }
            events.name("thread_name", (track.process, track.thread), &track.name)?;
        }
        Ok(events)
    }

    /// A thread number that no thread of the process has, for a further row of a track.
    fn beside(&self, track: &TrackName, row: usize) -> u32 {
        let threads = self.free.get(&track.process).copied().unwrap_or(1);
        threads.saturating_mul(row as u32).saturating_add(track.thread)
    }
}

impl<W: Write> TrackWriter for Chrome<W> {
    fn track(&mut self, track: &Track, ends: &[FlowEnd]) -> io::Result<()> {
        self.counts.flows += begun(ends);
        let of = &track.of;
        let order = order(&track.slices);
        for (number, row) in rows(&track.slices, &order).into_iter().enumerate() {
            let tid = if number == 0 { of.thread } else { self.beside(of, number) };
            let place = (of.process, tid);
            if number > 0 {
                let name = format!("{}, beside ({number})", of.name);
                self.name("thread_name", place, &name)?;
            }
            let mut ends = Ends(ends);
            for slice in row {
                self.slice(&track.slices[slice], place)?;
                for &end in ends.at(slice) {
                    if end.side == Side::FinishAtMark {
                        let (begin, end) = (end.at, end.at);
                        self.slice(&Slice { label: self.arrival.clone(), begin, end }, place)?;
                    }
                    self.flow(end, place)?;
                }
            }
        }
        let place = (of.process, of.thread);
        for series in &track.counters {
            for &(time, value) in &series.values {
                self.value(&series.name, series.unit, time, value, place)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<TimelineCounts> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()?;
        Ok(self.counts)
    }
}

impl<W: Write> Chrome<W> {
    /// Opens an event in `text`.
    fn open(&mut self, kind: char, (process, thread): (u32, u32)) {
        self.text.push_str(if self.is_first { "{\"ph\":\"" } else { ",\n{\"ph\":\"" });
        self.is_first = false;
        self.text.push(kind);
        self.text.push_str("\",\"pid\":");
        self.text.push_str(itoa::Buffer::new().format(process));
        self.text.push_str(",\"tid\":");
        self.text.push_str(itoa::Buffer::new().format(thread));
    }

    fn text_field(&mut self, key: &str, value: &str) {
        let _ = write!(self.text, ",\"{key}\":");
        quoted(value, &mut self.text);
    }

    fn close(&mut self) -> io::Result<()> {
        self.text.push('}');
        self.out.write_all(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }

    fn name(&mut self, what: &str, place: (u32, u32), name: &str) -> io::Result<()> {
        self.open('M', place);
        self.text_field("name", what);
        self.text.push_str(",\"args\":{\"name\":");
        quoted(name, &mut self.text);
        self.text.push('}');
        self.close()
    }

    fn sort_index(&mut self, process: u32) -> io::Result<()> {
        self.open('M', (process, 0));
        self.text_field("name", "process_sort_index");
        let _ = write!(self.text, ",\"args\":{{\"sort_index\":{process}}}");
        self.close()
    }

    fn slice(&mut self, slice: &Slice, place: (u32, u32)) -> io::Result<()> {
        self.open('X', place);
        let [before, after] = self.forms.get_or_insert(&slice.label, form);
        self.text.push_str(before);
        time_field("ts", slice.begin, &mut self.text);
        time_field("dur", slice.end.max(slice.begin) - slice.begin, &mut self.text);
        self.text.push_str(after);
        self.counts.slices += 1;
        self.close()
    }

    fn flow(&mut self, end: FlowEnd, place: (u32, u32)) -> io::Result<()> {
        let FlowEnd { side, number, at, .. } = end;
        self.open(if side == Side::Begin { 's' } else { 'f' }, place);
        // To the slice around it, not to the next one.
        self.text.push_str(if side == Side::Begin { "" } else { ",\"bp\":\"e\"" });
        let _ = write!(self.text, ",\"name\":\"message\",\"cat\":\"message\",\"id\":{number}");
        time_field("ts", at, &mut self.text);
        self.close()
    }

    /// Viewers name a counter by its own name and that of its value.
    fn value(
        &mut self,
        name: &str,
        unit: &str,
        at: Nanos,
        value: f64,
        place: (u32, u32),
    ) -> io::Result<()> {
        // JSON has no other numbers.
        if !value.is_finite() {
            return Ok(());
        }
        self.open('C', place);
        self.text_field("name", name);
        time_field("ts", at, &mut self.text);
        self.text.push_str(",\"args\":{");
        quoted(unit, &mut self.text);
        let _ = write!(self.text, ":{value}}}");
        self.counts.values += 1;
        self.close()
    }
}

fn time_field(key: &str, time: Nanos, text: &mut String) {
    for part in [",\"", key, "\":", itoa::Buffer::new().format(time.0 / 1000), "."] {
        text.push_str(part);
    }
    // A thousand more, so that there are three decimals behind the first digit.
    text.push_str(&itoa::Buffer::new().format(1000 + time.0 % 1000)[1..]);
}

/// The text of a label before the times of its slice, and after them.
fn form(label: &Label) -> [String; 2] {
    let [mut before, mut after] = [String::new(), String::new()];
    before.push_str(",\"name\":");
    quoted(&label.name, &mut before);
    before.push_str(",\"cat\":");
    quoted(label.category, &mut before);
    for (at, (name, value)) in label.arguments.iter().enumerate() {
        after.push_str(if at == 0 { ",\"args\":{" } else { "," });
        quoted(name, &mut after);
        after.push(':');
        match value {
            Argument::Number(number) => after.push_str(itoa::Buffer::new().format(*number)),
            Argument::Text(text) => quoted(text, &mut after),
        }
    }
    after.push_str(if label.arguments.is_empty() { "" } else { "}" });
    [before, after]
}

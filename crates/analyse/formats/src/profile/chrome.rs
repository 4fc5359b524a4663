//! The Trace Event Format: a complete event (`X`) for a slice, flow events (`s`, `f`) for a flow, a
//! counter event (`C`) for a value, names of processes and threads as metadata (`M`).
//!
//! Owns the syntax; [`super::layout`] has the rows. A flow event belongs to the slice of its row
//! that was opened last, so that it follows that slice in the file. Source: "Trace Event Format" of
//! Chromium, and the behaviour of Perfetto's importer.

use std::fmt::Write as _;
use std::io::{self, Write};

use talea_model::Nanos;

use super::json::quoted;
use super::layout::{Side, TimelineCounts, arrival, ends, order, rows};
use super::{Argument, Slice, Timeline, Track};

/// Writes one JSON object, one event a line. Times there are microseconds; three decimals keep
/// nanoseconds exact. Flows of unknown slices, or that end no later than they begin, are left out.
///
/// # Errors
/// Those of `out`.
pub fn chrome(timeline: &Timeline, out: impl Write) -> io::Result<TimelineCounts> {
    let mut events =
        Events { out, text: String::new(), is_first: true, counts: TimelineCounts::default() };
    events.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
    let ends = ends(timeline);
    events.counts.flows = ends.values().map(|all| all.len() as u64).sum::<u64>() / 2;
    let tracks = &timeline.tracks;
    for (at, track) in tracks.iter().enumerate() {
        if at.checked_sub(1).is_none_or(|before| tracks[before].process != track.process) {
            events.name("process_name", (track.process, 0), &track.process_name)?;
            events.sort_index(track.process)?;
        }
        events.name("thread_name", (track.process, track.thread), &track.name)?;
    }
    for (at, track) in tracks.iter().enumerate() {
        let order = order(&track.slices);
        for (number, row) in rows(&track.slices, &order).into_iter().enumerate() {
            let tid = if number == 0 { track.thread } else { beside(tracks, track, number) };
            if number > 0 {
                let name = format!("{}, beside ({number})", track.name);
                events.name("thread_name", (track.process, tid), &name)?;
            }
            for slice in row {
                events.slice(&track.slices[slice], (track.process, tid))?;
                for &(time, side, flow) in ends.get(&(at, slice)).into_iter().flatten() {
                    if side == Side::FinishAtMark {
                        events.slice(&arrival(time), (track.process, tid))?;
                    }
                    events.flow(side, flow, time, (track.process, tid))?;
                }
            }
        }
        for series in &track.counters {
            for &(time, value) in &series.values {
                events.value(
                    &series.name,
                    series.unit,
                    time,
                    value,
                    (track.process, track.thread),
                )?;
            }
        }
    }
    events.out.write_all(b"\n]}\n")?;
    events.out.flush()?;
    Ok(events.counts)
}

/// A thread number that no thread of the process has, for a further row of a track.
fn beside(tracks: &[Track], track: &Track, row: usize) -> u32 {
    let same = tracks.iter().filter(|one| one.process == track.process);
    let threads = same.map(|one| one.thread).max().unwrap_or_default().saturating_add(1);
    threads.saturating_mul(row as u32).saturating_add(track.thread)
}

/// Writer of events.
struct Events<W> {
    out: W,
    text: String,
    is_first: bool,
    counts: TimelineCounts,
}

impl<W: Write> Events<W> {
    /// Opens an event in `text`.
    fn open(&mut self, kind: char, (process, thread): (u32, u32)) {
        self.text.push_str(if self.is_first { "" } else { ",\n" });
        self.is_first = false;
        let _ = write!(self.text, "{{\"ph\":\"{kind}\",\"pid\":{process},\"tid\":{thread}");
    }

    fn text_field(&mut self, key: &str, value: &str) {
        let _ = write!(self.text, ",\"{key}\":");
        quoted(value, &mut self.text);
    }

    fn time_field(&mut self, key: &str, time: Nanos) {
        let _ = write!(self.text, ",\"{key}\":{}.{:03}", time.0 / 1000, time.0 % 1000);
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
        self.text_field("name", &slice.name);
        self.text_field("cat", &slice.category);
        self.time_field("ts", slice.begin);
        self.time_field("dur", slice.end.max(slice.begin) - slice.begin);
        for (at, (name, value)) in slice.arguments.iter().enumerate() {
            self.text.push_str(if at == 0 { ",\"args\":{" } else { "," });
            quoted(name, &mut self.text);
            self.text.push(':');
            match value {
                Argument::Number(number) => self.text.push_str(&number.to_string()),
                Argument::Text(text) => quoted(text, &mut self.text),
            }
        }
        self.text.push_str(if slice.arguments.is_empty() { "" } else { "}" });
        self.counts.slices += 1;
        self.close()
    }

    fn flow(&mut self, side: Side, id: usize, at: Nanos, place: (u32, u32)) -> io::Result<()> {
        self.open(if side == Side::Begin { 's' } else { 'f' }, place);
        // To the slice around it, not to the next one.
        self.text.push_str(if side == Side::Begin { "" } else { ",\"bp\":\"e\"" });
        let _ = write!(self.text, ",\"name\":\"message\",\"cat\":\"message\",\"id\":{id}");
        self.time_field("ts", at);
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
        self.time_field("ts", at);
        self.text.push_str(",\"args\":{");
        quoted(unit, &mut self.text);
        let _ = write!(self.text, ":{value}}}");
        self.counts.values += 1;
        self.close()
    }
}

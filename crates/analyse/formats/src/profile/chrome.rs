//! The Trace Event Format: a complete event (`X`) for a slice, flow events (`s`, `f`) for a flow, a
//! counter event (`C`) for a value, names of processes and threads as metadata (`M`).
//!
//! Owns the viewers' requirements for the events of one thread: intervals that overlap without
//! nesting, which Perfetto drops, stand on rows of their own beside the thread's. A flow event
//! belongs to the slice of its row that was opened last, so that it follows that slice in the file.
//! Perfetto draws every flow from the slice that begins first to the other one; a message to a call
//! that began before it was sent ends at an instant of its own, so that it keeps its direction.
//! Source: "Trace Event Format" of Chromium, and the behaviour of Perfetto's importer.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use talea_model::Nanos;

use super::json::quoted;
use super::{Argument, End, Slice, Timeline, Track};

/// Counts of a file's contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChromeCounts {
    /// Number of intervals.
    pub slices: u64,
    /// Number of flows with both ends.
    pub flows: u64,
    /// Number of values of counters.
    pub values: u64,
}

/// End of a flow that an event represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Begin,
    Finish,
    /// At a slice of its own.
    FinishAtMark,
}

/// Writes one JSON object, one event a line. Times there are microseconds; three decimals keep
/// nanoseconds exact. Flows of unknown slices, or that end no later than they begin, are left out.
///
/// # Errors
/// Those of `out`.
pub fn chrome(timeline: &Timeline, out: impl Write) -> io::Result<ChromeCounts> {
    let mut events =
        Events { out, text: String::new(), is_first: true, counts: ChromeCounts::default() };
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

/// The instant at which a flow ends where its slice began no later than the one that it comes from.
fn arrival(at: Nanos) -> Slice {
    let (name, category) = ("message arrives".to_owned(), "message".to_owned());
    Slice { name, category, begin: at, end: at, arguments: Vec::new() }
}

/// Ends of flows by slice (track, slice), with their times and the numbers of the flows.
type Ends = BTreeMap<(usize, usize), Vec<(Nanos, Side, usize)>>;

/// For each slice the ends of flows there by time, with the numbers of the flows.
fn ends(timeline: &Timeline) -> Ends {
    let mut found: Ends = BTreeMap::new();
    let slice =
        |end: &End| timeline.tracks.get(end.track).and_then(|track| track.slices.get(end.slice));
    for (number, flow) in timeline.flows.iter().enumerate() {
        let (Some(from), Some(to)) = (slice(&flow.from), slice(&flow.to)) else { continue };
        let sent = flow.from.at.clamp(from.begin, from.end.max(from.begin));
        let received = flow.to.at.clamp(to.begin, to.end.max(to.begin));
        if received <= sent {
            continue;
        }
        let finish = if to.begin <= from.begin { Side::FinishAtMark } else { Side::Finish };
        for (end, time, side) in [(flow.from, sent, Side::Begin), (flow.to, received, finish)] {
            found.entry((end.track, end.slice)).or_default().push((time, side, number));
        }
    }
    for all in found.values_mut() {
        all.sort_unstable();
    }
    found
}

/// By begin; of those that begin together the longest first, which contains the others.
fn order(slices: &[Slice]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..slices.len()).collect();
    order.sort_by_key(|&at| (slices[at].begin, std::cmp::Reverse(slices[at].end)));
    order
}

/// Rows in which slices nest: each slice on the first row where it does.
fn rows(slices: &[Slice], order: &[usize]) -> Vec<Vec<usize>> {
    let mut rows: Vec<(Vec<usize>, Vec<Nanos>)> = vec![(Vec::new(), Vec::new())];
    for &at in order {
        let slice = &slices[at];
        let fits = rows.iter_mut().position(|(_, open)| {
            while open.last().is_some_and(|&end| end <= slice.begin) {
                open.pop();
            }
            open.last().is_none_or(|&end| slice.end <= end)
        });
        let row = fits.unwrap_or_else(|| {
            rows.push((Vec::new(), Vec::new()));
            rows.len() - 1
        });
        rows[row].0.push(at);
        rows[row].1.push(slice.end);
    }
    rows.into_iter().map(|(row, _)| row).collect()
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
    counts: ChromeCounts,
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

//! From blocks of bytes to a trace: lines are joined, records go to the parsers, and gaps are
//! noted.
//!
//! Owns line numbers, lines torn between two blocks, and the gaps of a file as a whole. Blocks are
//! read in place; only a torn line is copied.

use talea_model::{Gap, GapKind, Nanos, Trace};

use super::careful::{self, Break};
use super::header::{self, Header};
use super::number::Cursor;
use super::place_cache::PlaceCache;
use super::record::{self, Clock, Tally};
use super::reserve::reserve;
use super::{Damage, Error, Fault, Options};

/// Number of bytes after which the numbers of the remaining records are estimated.
const ESTIMATE_AFTER: u64 = 1 << 20;

/// Reads a `.prv` that comes in blocks of any size.
#[derive(Debug)]
pub struct Reader {
    options: Options,
    trace: Trace,
    /// Absent until the first line has been read.
    clock: Option<Clock>,
    /// Number of communicators in the header.
    communicators: Option<u64>,
    tally: Tally,
    recent: PlaceCache,
    /// Number of whole lines so far.
    lines: u64,
    /// Bytes of whole lines so far, and whether columns were reserved after them.
    bytes: u64,
    reserved: bool,
    /// The beginning of a line whose end has not arrived yet.
    torn: Vec<u8>,
    /// Lines that were left out, with the first of them; records of kind 4; communicators kept as
    /// lines, with the first.
    skipped: (u64, Option<Fault>),
    global: u64,
    unread: (u64, Option<Fault>),
}

impl Reader {
    /// A reader that waits for the first block.
    pub fn new(options: &Options) -> Self {
        Self {
            options: *options,
            trace: Trace::default(),
            clock: None,
            communicators: None,
            tally: Tally::default(),
            recent: PlaceCache::new(),
            lines: 0,
            bytes: 0,
            reserved: false,
            torn: Vec::new(),
            skipped: (0, None),
            global: 0,
            unread: (0, None),
        }
    }

    /// Number of whole lines read so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Reads the next bytes.
    pub fn block(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        // Every record has more than one byte, so that rows stay numbers of 32 bits.
        let most = (u32::MAX as usize).saturating_sub(bytes.len());
        let trace = &self.trace;
        if trace.states.len().max(trace.events.len()).max(trace.messages.len()) > most {
            return Err(Error::TooMany { line: self.lines });
        }
        if !self.torn.is_empty() {
            let Some(end) = memchr::memchr(b'\n', bytes) else {
                self.torn.extend_from_slice(bytes);
                return Ok(());
            };
            self.torn.extend_from_slice(&bytes[..=end]);
            let mut torn = std::mem::take(&mut self.torn);
            self.whole(&torn, torn.len())?;
            torn.clear();
            self.torn = torn;
            bytes = &bytes[end + 1..];
        }
        let end = memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1);
        self.whole(bytes, end)?;
        self.torn.extend_from_slice(&bytes[end..]);
        if !self.reserved && self.bytes >= ESTIMATE_AFTER {
            self.reserved = true;
            if let Some(size) = self.options.size {
                reserve(&mut self.trace, size as f64 / self.bytes as f64);
            }
        }
        Ok(())
    }

    /// Reads whole lines, which are the first `end` bytes.
    fn whole(&mut self, bytes: &[u8], end: usize) -> Result<(), Error> {
        let mut cursor = Cursor { bytes, at: 0 };
        while cursor.at < end {
            let begin = cursor.at;
            if let Some(clock) = self.clock
                && let Some(&[kind, b':']) = bytes.get(begin..begin + 2)
            {
                cursor.at = begin + 2;
                let (trace, tally, recent) = (&mut self.trace, &mut self.tally, &mut self.recent);
                let behind = match kind {
                    b'2' => record::event(cursor, trace, clock, tally, recent),
                    b'1' => record::state(cursor, trace, clock, tally, recent),
                    b'3' => record::message(cursor, trace, clock, tally, recent),
                    _ => None,
                };
                if let Some(behind) = behind {
                    cursor.at = behind;
                    self.lines += 1;
                    continue;
                }
            }
            let rest = &bytes[begin..end];
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            cursor.at = begin + length + 1;
            self.line(&rest[..length])?;
        }
        self.bytes += end as u64;
        Ok(())
    }

    /// Reads any line without its end.
    fn line(&mut self, line: &[u8]) -> Result<(), Error> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.lines += 1;
        match self.one(line) {
            Ok(()) => Ok(()),
            Err(fault) if self.clock.is_some() && self.options.damage == Damage::Skip => {
                let fault = self.fault(fault);
                self.skipped.0 += 1;
                self.skipped.1.get_or_insert(fault);
                Ok(())
            }
            Err(fault) => Err(self.fault(fault).into()),
        }
    }

    fn one(&mut self, line: &[u8]) -> Result<(), Break> {
        let Some(clock) = self.clock else {
            // Old versions of the format have a line of their own for this.
            if self.lines == 1 && line == b"new format" {
                return Ok(());
            }
            self.start(header::header(line)?);
            return Ok(());
        };
        let kind = line.trim_ascii_start();
        match kind.first() {
            None => {}
            Some(b'#') => self.trace.push_line(line),
            Some(b'c' | b'C' | b'i' | b'I') => match careful::communicator(line) {
                Ok(communicator) => self.trace.communicators.push(communicator),
                Err(fault) => {
                    let fault = self.fault(fault);
                    self.unread.0 += 1;
                    self.unread.1.get_or_insert(fault);
                    self.trace.push_line(line);
                }
            },
            Some(b'4') if matches!(kind.get(1), None | Some(b':')) => {
                self.global += 1;
                self.trace.push_line(line);
            }
            _ => return careful::record(line, &mut self.trace, clock, &mut self.tally),
        }
        Ok(())
    }

    fn start(&mut self, header: Header) {
        let clock = Clock::new(header.unit.nanos());
        let duration = clock.time(header.duration);
        if duration.is_none() {
            self.note(GapKind::Damaged, 1, "the header's duration is more than 584 years".into());
        }
        if header.lost_tasks > 0 {
            let detail = "tasks run on nodes that the header does not list".into();
            self.note(GapKind::Damaged, header.lost_tasks, detail);
        }
        self.clock = Some(clock);
        self.communicators = header.communicators;
        self.trace.date = header.date;
        self.trace.unit = header.unit;
        self.trace.duration = Nanos(duration.unwrap_or(u64::MAX - 1));
        self.trace.locations = header.locations;
    }

    /// The trace, at the end of the source.
    pub fn finish(mut self) -> Result<Trace, Error> {
        if !self.torn.is_empty() {
            self.last_line()?;
        }
        if self.clock.is_none() {
            return Err(Error::Nothing);
        }
        self.gaps();
        Ok(self.trace)
    }

    /// The trace of a source that broke off, such as a compressed file that was cut; `why` is its
    /// error.
    pub fn finish_early(mut self, why: &str) -> Result<Trace, Error> {
        let detail = format!("the file breaks off after line {}: {why}", self.lines);
        if self.clock.is_some() {
            self.note(GapKind::Damaged, 0, detail);
        }
        self.finish()
    }

    /// The bytes after the last end of a line. A readable line is kept, but even a complete one may
    /// be cut.
    fn last_line(&mut self) -> Result<(), Error> {
        let torn = std::mem::take(&mut self.torn);
        let line = torn.strip_suffix(b"\r").unwrap_or(&torn);
        self.lines += 1;
        let number = self.lines;
        match self.one(line) {
            Ok(()) => {
                let detail = format!(
                    "line {number}, the last, has no end: expected a newline, it may be cut short"
                );
                self.note(GapKind::Estimated, 1, detail);
            }
            Err(fault) if self.clock.is_some() => {
                let fault = self.fault(fault);
                self.note(GapKind::Damaged, 1, format!("the file was cut: {fault}"));
            }
            Err(fault) => return Err(self.fault(fault).into()),
        }
        Ok(())
    }

    /// Gaps and contradictions of the file as a whole.
    fn gaps(&mut self) {
        let expected = self.communicators.unwrap_or_default();
        let found = self.trace.communicators.len() as u64 + self.unread.0;
        if self.communicators.is_some() && expected != found {
            let detail = format!("the header counts {expected} communicators, {found} follow");
            self.note(GapKind::Missing, expected.saturating_sub(found), detail);
        }
        if let (count, Some(first)) = std::mem::take(&mut self.unread) {
            let detail = format!("communicators could not be read, the first: {first}");
            self.note(GapKind::Damaged, count, detail);
        }
        if let (count, Some(first)) = std::mem::take(&mut self.skipped) {
            let detail = format!("damaged lines were left out, the first: {first}");
            self.note(GapKind::Damaged, count, detail);
        }
        if self.global > 0 {
            let detail = "records of kind 4 (global operations) are kept, not interpreted".into();
            self.note(GapKind::Unsupported, self.global, detail);
        }
        let Tally { most_cpu, latest, backwards, negative } = self.tally;
        let cpus: u64 = self.trace.locations.nodes.iter().map(|&cpus| u64::from(cpus)).sum();
        if cpus > 0 && u64::from(most_cpu) > cpus {
            let detail = format!("records name CPUs up to {most_cpu}, the header has {cpus}");
            self.note(GapKind::Damaged, 0, detail);
        }
        if latest > self.trace.duration.0 {
            let (latest, end) = (Nanos(latest), self.trace.duration);
            let detail =
                format!("records go on to {latest}, the header says that the trace ends at {end}");
            self.note(GapKind::Damaged, 0, detail);
        }
        if backwards > 0 {
            self.note(GapKind::Damaged, backwards, "states end before they begin".into());
        }
        if negative > 0 {
            let detail = "messages have a negative size, as of 2 GiB and more in 32 bits".into();
            self.note(GapKind::Damaged, negative, detail);
        }
    }

    fn fault(&self, broken: Break) -> Fault {
        Fault {
            line: self.lines,
            column: broken.at as u64 + 1,
            expected: broken.expected,
            found: broken.found,
        }
    }

    fn note(&mut self, kind: GapKind, count: u64, detail: String) {
        self.trace.gaps.note(Gap { kind, rank: None, detail, count });
    }
}

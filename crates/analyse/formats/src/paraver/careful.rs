//! Lines in unusual forms, field by field: readable ones are read, and errors are reported with
//! their column.
//!
//! Owns the exact syntax of records and communicators: blanks around numbers, signs, numbers of
//! twenty digits. It returns the same records as the fast parser where both can read a line.

use talea_model::Trace;
use talea_model::trace::{
    Communicator, Locations, Members, MessageRecord, StateRecord, UNKNOWN_TIME,
};

use super::record::{Clock, Tally};

/// An error of a line; the reader adds the line's number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Break {
    /// Column from 0, in bytes.
    pub(super) at: usize,
    pub(super) expected: String,
    pub(super) found: String,
}

/// Maximum length of a file's text in a message, in characters.
const SHOWN: usize = 40;

pub(super) fn wrong(line: &[u8], at: usize, expected: impl Into<String>) -> Break {
    let rest = line.get(at..).unwrap_or_default();
    // A character has up to four bytes.
    let head = String::from_utf8_lossy(&rest[..rest.len().min(4 * SHOWN + 4)]).into_owned();
    let shown: String = head.chars().take(SHOWN).filter(|one| !one.is_control()).collect();
    let found = match (rest.is_empty(), head.chars().nth(SHOWN)) {
        (true, _) => "the end of the line".to_owned(),
        (false, None) => format!("`{shown}`"),
        (false, Some(_)) => format!("`{shown}...`"),
    };
    Break { at, expected: expected.into(), found }
}

/// The fields of a line between colons.
pub(super) struct Fields<'a> {
    line: &'a [u8],
    /// Begin of the next field; beyond the line's end when there is none.
    next: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { line, next: 0 }
    }

    fn more(&self) -> bool {
        self.next <= self.line.len()
    }

    /// The next field without blanks around it, and its begin.
    fn field(&mut self, expected: &str) -> Result<(&'a [u8], usize), Break> {
        let Some(rest) = self.line.get(self.next..) else {
            return Err(wrong(self.line, self.line.len(), expected));
        };
        let length = memchr::memchr(b':', rest).unwrap_or(rest.len());
        let at = self.next;
        self.next += length + 1;
        let trimmed = rest[..length].trim_ascii_start();
        Ok((trimmed.trim_ascii_end(), at + length - trimmed.len()))
    }

    fn unsigned(&mut self, expected: &str, most: u64) -> Result<(u64, usize), Break> {
        let (field, at) = self.field(expected)?;
        match unsigned(field).filter(|&number| number <= most) {
            Some(number) => Ok((number, at)),
            None => Err(wrong(self.line, at, expected)),
        }
    }

    fn small(&mut self, expected: &str) -> Result<(u32, usize), Break> {
        self.unsigned(expected, u64::from(u32::MAX)).map(|(number, at)| (number as u32, at))
    }

    /// A number of 64 bits with or without sign.
    fn value(&mut self, expected: &str) -> Result<i64, Break> {
        let (field, at) = self.field(expected)?;
        value(field).ok_or_else(|| wrong(self.line, at, expected))
    }

    fn time(&mut self, expected: &str, clock: Clock) -> Result<u64, Break> {
        let (number, at) = self.unsigned(expected, u64::MAX)?;
        clock.time(number).ok_or_else(|| wrong(self.line, at, "a time within 584 years"))
    }

    /// A time, or -1 for an unknown one.
    fn time_or_unknown(&mut self, expected: &str, clock: Clock) -> Result<u64, Break> {
        let begin = self.next;
        if matches!(self.field(expected), Ok((b"-1", _))) {
            return Ok(UNKNOWN_TIME);
        }
        self.next = begin;
        self.time(expected, clock)
    }

    fn place(&mut self, locations: &Locations) -> Result<(u32, u32), Break> {
        let (cpu, _) = self.small("a cpu (0 or more)")?;
        let (application, application_at) = self.small("an application (1 or more)")?;
        let (task, task_at) = self.small("a task (1 or more)")?;
        let (thread, thread_at) = self.small("a thread (1 or more)")?;
        if let Some(location) = locations.find(application, task, thread) {
            return Ok((location, cpu));
        }
        let applications = locations.applications();
        let tasks = locations.tasks(application).len();
        let threads =
            locations.tasks(application).nth((task as usize).wrapping_sub(1)).map(|(n, _)| n);
        Err(match threads {
            _ if application == 0 || application as usize > applications => wrong(
                self.line,
                application_at,
                format!("an application of 1 to {applications}, as the header has"),
            ),
            None => wrong(
                self.line,
                task_at,
                format!("a task of 1 to {tasks}, as application {application} of the header has"),
            ),
            Some(threads) => wrong(
                self.line,
                thread_at,
                format!(
                    "a thread of 1 to {threads}, as task {application}.{task} of the header has"
                ),
            ),
        })
    }

    fn end(&mut self) -> Result<(), Break> {
        if self.more() {
            return Err(wrong(self.line, self.next, "the end of the record"));
        }
        Ok(())
    }
}

/// Digits only, 64 bits.
pub(super) fn unsigned(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, &byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| number.checked_mul(10)?.checked_add(u64::from(digit)))?
    })
}

/// A number of 64 bits; one too large for a signed number keeps its bits, as tools that print
/// unsigned numbers intend.
pub(super) fn value(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"-") {
        Some(digits) => 0_i64.checked_sub_unsigned(unsigned(digits)?),
        None => unsigned(text.strip_prefix(b"+").unwrap_or(text)).map(|number| number as i64),
    }
}

/// Reads one record of kind 1, 2 or 3 into the trace, which is unchanged if the record is invalid.
pub(super) fn record(
    line: &[u8],
    trace: &mut Trace,
    clock: Clock,
    tally: &mut Tally,
) -> Result<(), Break> {
    let mut fields = Fields::new(line);
    let kinds =
        "a record of kind 1, 2, 3 or 4, a communicator (c or i) or a line that begins with #";
    let (kind, at) = fields.field(kinds)?;
    match kind {
        b"1" => {
            let (location, cpu) = fields.place(&trace.locations)?;
            let begin = fields.time("the time that the state begins", clock)?;
            let end = fields.time_or_unknown("the time that the state ends", clock)?;
            let (state, _) = fields.small("a state of 32 bits")?;
            fields.end()?;
            tally.note(cpu, if end == UNKNOWN_TIME { begin } else { end });
            tally.backwards += u64::from(end < begin);
            trace.push_state(StateRecord { location, cpu, begin, end, state });
        }
        b"2" => {
            let (location, cpu) = fields.place(&trace.locations)?;
            let time = fields.time("the time of the event", clock)?;
            let known = trace.events.values.len();
            if let Err(error) = pairs(&mut fields, trace) {
                trace.events.types.truncate(known);
                trace.events.values.truncate(known);
                return Err(error);
            }
            tally.note(cpu, time);
            trace.events.close(location, cpu, time);
            trace.order.push(talea_model::trace::RecordKind::Event);
        }
        b"3" => {
            let message = message(&mut fields, &trace.locations, clock)?;
            let received = [message.logical_receive, message.physical_receive];
            let latest = received.into_iter().filter(|&time| time != UNKNOWN_TIME).max();
            let cpu = message.sender_cpu.max(message.receiver_cpu);
            tally.note(cpu, latest.unwrap_or(message.logical_send));
            tally.negative += u64::from(message.size < 0);
            trace.push_message(message);
        }
        _ => return Err(wrong(line, at, kinds)),
    }
    Ok(())
}

fn pairs(fields: &mut Fields, trace: &mut Trace) -> Result<(), Break> {
    loop {
        let (event_type, _) = fields.small("an event type of 32 bits")?;
        let value = fields.value("a value of 64 bits")?;
        trace.events.types.push(event_type);
        trace.events.values.push(value);
        if !fields.more() {
            return Ok(());
        }
    }
}

fn message(
    fields: &mut Fields,
    locations: &Locations,
    clock: Clock,
) -> Result<MessageRecord, Break> {
    let (sender, sender_cpu) = fields.place(locations)?;
    let logical_send = fields.time("the time of the logical send", clock)?;
    let physical_send = fields.time_or_unknown("the time of the physical send", clock)?;
    let (receiver, receiver_cpu) = fields.place(locations)?;
    let logical_receive = fields.time_or_unknown("the time of the logical receive", clock)?;
    let physical_receive = fields.time_or_unknown("the time of the physical receive", clock)?;
    let size = fields.value("a size in bytes")?;
    let tag = fields.value("a tag")?;
    fields.end()?;
    Ok(MessageRecord {
        sender,
        sender_cpu,
        logical_send,
        physical_send,
        receiver,
        receiver_cpu,
        logical_receive,
        physical_receive,
        size,
        tag,
    })
}

/// Reads `c:appl:id:tasks:task...` or `i:appl:id:comm:leader:comm:leader`.
pub(super) fn communicator(line: &[u8]) -> Result<Communicator, Break> {
    let mut fields = Fields::new(line);
    let (kind, _) = fields.field("c or i")?;
    let (application, _) = fields.small("an application (1 or more)")?;
    let (id, _) = fields.unsigned("the number of a communicator", u64::MAX)?;
    if kind != b"c" && kind != b"C" {
        let mut next = |expected| fields.unsigned(expected, u64::MAX).map(|(number, _)| number);
        let members = Members::Between {
            local: next("the communicator of the first group")?,
            local_leader: next("the leader of the first group")?,
            remote: next("the communicator of the second group")?,
            remote_leader: next("the leader of the second group")?,
        };
        fields.end()?;
        return Ok(Communicator { application, id, members });
    }
    let (count, at) = fields.unsigned("the number of its tasks", u64::MAX)?;
    let mut tasks = Vec::new();
    while fields.more() {
        tasks.push(fields.small("a task (1 or more)")?.0);
    }
    if tasks.len() as u64 != count {
        return Err(wrong(line, at, format!("{} tasks, as many as follow", tasks.len())));
    }
    Ok(Communicator { application, id, members: Members::Tasks(tasks) })
}

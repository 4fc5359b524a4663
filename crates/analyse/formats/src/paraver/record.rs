//! Records in their usual form, straight into columns.
//!
//! Owns the fast path only: it refuses an unknown record (blanks, signs, places that do not exist,
//! the last bytes of a block) and leaves the trace unchanged, and `careful` reads the line again.
//! Readers take the text after the kind and return the place after the line. It keeps the few
//! figures of gaps.

use talea_model::Trace;
use talea_model::trace::{Locations, MessageRecord, RecordKind, StateRecord};

use super::number::Cursor;
use super::place_cache::PlaceCache;

/// From the file's unit to nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) nanos: u64,
    /// Maximum number of units that fit; the largest time represents an unknown one.
    pub(super) most: u64,
}

impl Clock {
    pub(super) fn new(nanos: u64) -> Self {
        Self { nanos, most: (u64::MAX - 1) / nanos.max(1) }
    }

    #[inline]
    pub(super) fn time(self, units: u64) -> Option<u64> {
        (units <= self.most).then(|| units * self.nanos)
    }
}

/// Figures of records beside their values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) most_cpu: u32,
    pub(super) latest: u64,
    /// Number of states that end before they begin.
    pub(super) backwards: u64,
    /// Number of messages with a negative size.
    pub(super) negative: u64,
}

impl Tally {
    #[inline]
    pub(super) fn note(&mut self, cpu: u32, time: u64) {
        self.most_cpu = self.most_cpu.max(cpu);
        self.latest = self.latest.max(time);
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "four of them begin every record")]
fn small(cursor: &mut Cursor) -> Option<u32> {
    match cursor.number()? {
        (number, b':') => u32::try_from(number).ok(),
        _ => None,
    }
}

/// `cpu:appl:task:thread:` as location and CPU.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it begins every record")]
fn place(
    cursor: &mut Cursor,
    locations: &Locations,
    recent: &mut PlaceCache,
) -> Option<(u32, u32)> {
    match recent.find(cursor) {
        Ok(found) => Some(found),
        Err(miss) => {
            let (found, behind) = new_place(*cursor, locations)?;
            if let Some(miss) = miss {
                recent.put(&miss, behind - cursor.at, found);
            }
            cursor.at = behind;
            Some(found)
        }
    }
}

/// The same for a text that was not seen lately, and its end.
#[cold]
fn new_place(mut cursor: Cursor, locations: &Locations) -> Option<((u32, u32), usize)> {
    let cursor = &mut cursor;
    let cpu = small(cursor)?;
    let application = small(cursor)?;
    let task = small(cursor)?;
    let thread = small(cursor)?;
    Some(((locations.find(application, task, thread)?, cpu), cursor.at))
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "the cursor stays in registers")]
fn time(cursor: &mut Cursor, clock: Clock) -> Option<u64> {
    match cursor.number()? {
        (number, b':') => clock.time(number),
        _ => None,
    }
}

/// The rest after `1:`.
#[inline]
pub(super) fn state(
    mut cursor: Cursor,
    trace: &mut Trace,
    clock: Clock,
    tally: &mut Tally,
    recent: &mut PlaceCache,
) -> Option<usize> {
    let cursor = &mut cursor;
    let (location, cpu) = place(cursor, &trace.locations, recent)?;
    let begin = time(cursor, clock)?;
    let end = time(cursor, clock)?;
    let (state, stop) = cursor.number()?;
    let state = u32::try_from(state).ok()?;
    cursor.line_ends(stop)?;
    tally.note(cpu, end);
    tally.backwards += u64::from(end < begin);
    trace.states.push(StateRecord { location, cpu, begin, end, state });
    trace.order.push(RecordKind::State);
    Some(cursor.at)
}

/// The rest after `2:`.
#[inline]
pub(super) fn event(
    mut cursor: Cursor,
    trace: &mut Trace,
    clock: Clock,
    tally: &mut Tally,
    recent: &mut PlaceCache,
) -> Option<usize> {
    let cursor = &mut cursor;
    let (location, cpu) = place(cursor, &trace.locations, recent)?;
    let time = time(cursor, clock)?;
    let known = trace.events.values.len();
    if pairs(cursor, trace).is_none() {
        trace.events.types.truncate(known);
        trace.events.values.truncate(known);
        return None;
    }
    tally.note(cpu, time);
    trace.events.close(location, cpu, time);
    trace.order.push(RecordKind::Event);
    Some(cursor.at)
}

/// `type:value` once or more, up to the end of the line.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the cursor stays in registers")]
fn pairs(cursor: &mut Cursor, trace: &mut Trace) -> Option<()> {
    loop {
        let event_type = cursor.event_type()?;
        let (value, stop) = cursor.number()?;
        trace.events.types.push(event_type);
        trace.events.values.push(value as i64);
        if stop != b':' {
            return cursor.line_ends(stop);
        }
    }
}

/// The rest after `3:`.
#[inline]
pub(super) fn message(
    mut cursor: Cursor,
    trace: &mut Trace,
    clock: Clock,
    tally: &mut Tally,
    recent: &mut PlaceCache,
) -> Option<usize> {
    let cursor = &mut cursor;
    let (sender, sender_cpu) = place(cursor, &trace.locations, recent)?;
    let logical_send = time(cursor, clock)?;
    let physical_send = time(cursor, clock)?;
    let (receiver, receiver_cpu) = place(cursor, &trace.locations, recent)?;
    let logical_receive = time(cursor, clock)?;
    let physical_receive = time(cursor, clock)?;
    let (size, stop) = cursor.number()?;
    if stop != b':' {
        return None;
    }
    let (tag, stop) = cursor.number()?;
    cursor.line_ends(stop)?;
    tally.note(sender_cpu.max(receiver_cpu), physical_receive.max(logical_receive));
    trace.messages.push(MessageRecord {
        sender,
        sender_cpu,
        logical_send,
        physical_send,
        receiver,
        receiver_cpu,
        logical_receive,
        physical_receive,
        size: i64::try_from(size).ok()?,
        tag: i64::try_from(tag).ok()?,
    });
    trace.order.push(RecordKind::Message);
    Some(cursor.at)
}

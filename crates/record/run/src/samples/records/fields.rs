//! Fields of records as bytes, and back: headers, nodes of stacks, entries.
//!
//! Owns the form of each; bytes may be damaged, and claims of their number are checked before
//! memory is taken. The records are [`super::Record`]'s.

use talea_model::{Frame, Nanos};

use super::{ABSENT, Entries, Header, Record};
use crate::live::numbers::{Cursor, get_all, put_all, put_number, put_signed, put_text, zigzag};
use crate::samples::stacks::{Node, Stacks};
use crate::samples::{Counter, Trigger, Unwinding, VERSION};

/// Entries, and the event of each.
pub(super) fn get_happened(from: &mut Cursor<'_>) -> Option<(Entries, Vec<u64>)> {
    let entries = get_entries(from)?;
    let mut last = 0_u64;
    let what = |_| {
        last = last.wrapping_add(from.signed()? as u64);
        Some(last)
    };
    let whats = (0..entries.times.len()).map(what).collect::<Option<_>>()?;
    Some((entries, whats))
}

pub(super) fn small(from: &mut Cursor<'_>) -> Option<u32> {
    u32::try_from(from.number()?).ok()
}

pub(super) fn put_option(out: &mut Vec<u8>, value: Option<u64>) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        put_number(out, value);
    }
}

#[expect(clippy::option_option, reason = "the outer one is of the bytes")]
pub(super) fn get_option(from: &mut Cursor<'_>) -> Option<Option<u64>> {
    match from.byte()? {
        0 => Some(None),
        1 => from.number().map(Some),
        _ => None,
    }
}

pub(super) fn put_header(out: &mut Vec<u8>, header: &Header) {
    put_number(out, VERSION);
    put_text(out, &header.host);
    put_number(out, u64::from(header.pid));
    put_all(out, &header.command, |out, word| put_text(out, word));
    put_text(out, &header.executable);
    put_text(out, &header.talea);
    put_text(out, &header.trigger.counter);
    put_number(out, header.trigger.period);
    out.push(u8::from(header.unwinding == Unwinding::FramePointers));
    put_number(out, header.begin.0);
    put_all(out, &header.counters, |out, counter| {
        put_text(out, &counter.name);
        put_text(out, &counter.unit);
    });
    put_all(out, &header.sets, |out, set| {
        put_all(out, set, |out, &counter| put_number(out, u64::from(counter)));
    });
}

pub(super) fn get_header(from: &mut Cursor<'_>) -> Option<Header> {
    if from.number()? != VERSION {
        return None;
    }
    Some(Header {
        host: from.text()?,
        pid: small(from)?,
        command: get_all(from, Cursor::text)?,
        executable: from.text()?,
        talea: from.text()?,
        trigger: Trigger { counter: from.text()?, period: from.number()? },
        unwinding: match from.byte()? {
            0 => Unwinding::Dwarf,
            1 => Unwinding::FramePointers,
            _ => return None,
        },
        begin: Nanos(from.number()?),
        counters: get_all(from, |from| Some(Counter { name: from.text()?, unit: from.text()? }))?,
        sets: get_all(from, |from| get_all(from, small))?,
    })
}

pub(super) fn put_nodes(out: &mut Vec<u8>, first: u32, nodes: &[Node]) {
    put_number(out, u64::from(first));
    put_number(out, nodes.len() as u64);
    let mut last = 0_u64;
    for node in nodes {
        // Two means no parent; most parents are the node before.
        put_number(
            out,
            match node.parent {
                Stacks::OUTERMOST => 0,
                Stacks::CUT => 1,
                parent => u64::from(parent) + 2,
            },
        );
        put_number(out, u64::from(node.frame.module.wrapping_add(1)));
        put_signed(out, node.frame.offset.wrapping_sub(last) as i64);
        last = node.frame.offset;
    }
}

pub(super) fn get_nodes(from: &mut Cursor<'_>) -> Option<Record> {
    let first = small(from)?;
    let mut last = 0_u64;
    let nodes = get_all(from, |from| {
        let parent = match from.number()? {
            0 => Stacks::OUTERMOST,
            1 => Stacks::CUT,
            parent => u32::try_from(parent - 2).ok().filter(|&p| p < Stacks::CUT)?,
        };
        let module = small(from)?.wrapping_sub(1);
        last = last.wrapping_add(from.signed()? as u64);
        Some(Node { parent, frame: Frame { module, offset: last } })
    })?;
    Some(Record::Nodes { first, nodes })
}

pub(super) fn put_entries(out: &mut Vec<u8>, entries: &Entries) {
    let Entries { thread, set, turn, times, values } = entries;
    for number in [thread, set, turn] {
        put_number(out, u64::from(*number));
    }
    let width = values.len().checked_div(times.len()).unwrap_or(0);
    put_number(out, times.len() as u64);
    put_number(out, width as u64);
    let mut last = 0_u64;
    for &time in times {
        put_signed(out, time.wrapping_sub(last) as i64);
        last = time;
    }
    for column in 0..width {
        let mut last = 0_u64;
        for &value in values[column..].iter().step_by(width) {
            if value == ABSENT {
                put_number(out, 0);
            } else {
                put_number(out, zigzag(value.wrapping_sub(last) as i64).saturating_add(1));
                last = value;
            }
        }
    }
}

pub(super) fn get_entries(from: &mut Cursor<'_>) -> Option<Entries> {
    let (thread, set, turn) = (small(from)?, small(from)?, small(from)?);
    let (count, width) = (from.number()?, from.number()?);
    // At least a byte for each time, for each value, and for the event.
    let needed = count.checked_mul(width.checked_add(2)?)?;
    if needed > from.left() as u64 {
        return None;
    }
    let (count, width) = (count as usize, if count == 0 { 0 } else { width as usize });
    let mut last = 0_u64;
    let time = |_| {
        last = last.wrapping_add(from.signed()? as u64);
        Some(last)
    };
    let times = (0..count).map(time).collect::<Option<Vec<u64>>>()?;
    let mut values = vec![ABSENT; count * width];
    for column in 0..width {
        let mut last = 0_u64;
        for row in 0..count {
            if let Some(coded) = from.number()?.checked_sub(1) {
                let difference = (coded >> 1) as i64 ^ -((coded & 1) as i64);
                last = last.wrapping_add(difference as u64);
                values[row * width + column] = last;
            }
        }
    }
    Some(Entries { thread, set, turn, times, values })
}

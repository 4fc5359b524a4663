//! Messages between the calls of threads.
//!
//! Owns the assignment of each end of a message to a call, and the arrows, which go forward in
//! time. Ends are found thread by thread; of a message 64 bytes are kept.

use std::sync::Arc;

use talea_formats::profile::{Argument, FlowEnd, Label, Side, Slice};
use talea_model::trace::{self, MessageRecord, UNKNOWN_TIME};
use talea_model::{Nanos, Trace};

use super::labels::Known;

/// Maximum number of listed peer ranks of messages.
const PEERS: usize = 8;

/// A number that no call has.
const NONE: u32 = u32::MAX;

/// Begin and end of each call of a thread, in the order of its slices. Calls of a thread hardly
/// overlap.
pub(super) struct Calls(Vec<(u64, u64)>);

impl Calls {
    pub(super) fn new(mut calls: Vec<(u64, u64)>) -> Self {
        for (begin, end) in &mut calls {
            *end = (*end).max(*begin);
        }
        calls.sort_by_key(|&(begin, end)| super::key(begin, end));
        Self(calls)
    }

    /// The call that sent a message: the last that had begun.
    fn sender(&self, message: &MessageRecord) -> Option<Met> {
        let at = message.logical_send;
        let call = self.0.partition_point(|&(begin, _)| begin <= at).checked_sub(1)?;
        let (begin, end) = self.0[call];
        (at <= end).then_some(Met { call: call as u32, begin, end, at })
    }

    /// The call that received a message: the first that had not ended before.
    fn receiver(&self, message: &MessageRecord) -> Option<Met> {
        let in_call = |at: u64| {
            let call = self.0.partition_point(|&(_, end)| end < at);
            let &(begin, end) = self.0.get(call)?;
            (begin <= at).then_some(Met { call: call as u32, begin, end, at })
        };
        // Data may move outside of calls, and be found there later.
        let known = [message.physical_receive, message.logical_receive];
        let later = known.iter().filter(|&&time| time != UNKNOWN_TIME).max().copied()?;
        in_call(message.physical_receive).or_else(|| in_call(later))
    }
}

/// The call at an end of a message, and the time of that end.
#[derive(Clone, Copy)]
struct Met {
    call: u32,
    begin: u64,
    end: u64,
    at: u64,
}

/// Ends of messages in a thread: numbers of messages with their calls.
pub(super) struct Ends {
    sent: Vec<(u32, Met)>,
    received: Vec<(u32, Met)>,
}

/// A message as an arrow; without calls where it is none.
#[derive(Clone, Copy)]
struct Arrow {
    /// Numbers of the calls among those of their threads.
    calls: [u32; 2],
    /// Times of its ends.
    at: [u64; 2],
    /// Begin of the sending call.
    from: u64,
    /// Begin and end of the receiving call.
    to: (u64, u64),
    /// Number of the arrow.
    number: u32,
}

impl Arrow {
    const NONE: Self = Self { calls: [NONE; 2], at: [0; 2], from: 0, to: (0, 0), number: 0 };

    fn is_there(&self) -> bool {
        self.calls.iter().all(|&call| call != NONE)
    }

    fn end_side(&self) -> Side {
        if self.to.0 <= self.from { Side::FinishAtMark } else { Side::Finish }
    }
}

/// Rows of a column by their values.
struct Rows {
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Rows {
    fn new(column: &[u32], values: usize) -> Self {
        let mut starts = vec![0_u32; values + 1];
        for &value in column {
            if let Some(start) = starts.get_mut(value as usize + 1) {
                *start += 1;
            }
        }
        for value in 0..values {
            starts[value + 1] += starts[value];
        }
        let mut next = starts.clone();
        let mut rows = vec![0; starts.last().map_or(0, |&all| all as usize)];
        for (row, &value) in (0..).zip(column) {
            if (value as usize) < values {
                let place = &mut next[value as usize];
                rows[*place as usize] = row;
                *place += 1;
            }
        }
        Self { starts, rows }
    }

    fn of(&self, value: u32) -> &[u32] {
        let value = value as usize;
        &self.rows[self.starts[value] as usize..self.starts[value + 1] as usize]
    }
}

/// All messages.
pub(super) struct Messages<'a> {
    all: &'a trace::Messages,
    sent: Rows,
    received: Rows,
    arrows: Vec<Arrow>,
}

impl<'a> Messages<'a> {
    /// Between so many threads; the calls at their ends are not known yet.
    pub(super) fn new(all: &'a trace::Messages, locations: usize) -> Self {
        Self {
            all,
            sent: Rows::new(&all.sender, locations),
            received: Rows::new(&all.receiver, locations),
            arrows: vec![Arrow::NONE; all.len()],
        }
    }

    /// The ends of messages in a thread.
    pub(super) fn ends(&self, location: u32, calls: &Calls) -> Ends {
        let of = |rows: &[u32], met: &dyn Fn(&MessageRecord) -> Option<Met>| {
            let found =
                rows.iter().filter_map(|&row| Some((row, met(&self.all.get(row as usize)?)?)));
            found.collect()
        };
        Ends {
            sent: of(self.sent.of(location), &|message| calls.sender(message)),
            received: of(self.received.of(location), &|message| calls.receiver(message)),
        }
    }

    /// Keeps the ends of messages in a thread.
    pub(super) fn add(&mut self, ends: Ends) {
        for (row, Met { call, begin, at, .. }) in ends.sent {
            let arrow = &mut self.arrows[row as usize];
            (arrow.calls[0], arrow.at[0], arrow.from) = (call, at, begin);
        }
        for (row, Met { call, begin, end, at }) in ends.received {
            let arrow = &mut self.arrows[row as usize];
            (arrow.calls[1], arrow.at[1], arrow.to) = (call, at, (begin, end));
        }
    }

    /// Makes arrows of the messages with both ends, and returns the number of the others. An arrow
    /// goes forward in time. Restored times have a tolerance: where the receipt seems to precede
    /// the sending, it goes from the begin of the sending call to the end of the receiving one, if
    /// these are in order.
    pub(super) fn connect(&mut self) -> u64 {
        let (mut number, mut left_out) = (0, 0);
        for arrow in &mut self.arrows {
            let whole = [arrow.from, arrow.to.1];
            let is_forward = arrow.at[0] < arrow.at[1];
            if !arrow.is_there() || !is_forward && whole[0] >= whole[1] {
                *arrow = Arrow::NONE;
                left_out += 1;
                continue;
            }
            if !is_forward {
                arrow.at = whole;
            }
            arrow.number = number;
            number += 1;
        }
        left_out
    }

    /// Arrows at a thread: those that begin there, and those that end there.
    fn at(&self, location: u32) -> [impl Iterator<Item = (u32, &Arrow)>; 2] {
        [&self.sent, &self.received].map(|rows| {
            let arrows = rows.of(location).iter().map(|&row| (row, &self.arrows[row as usize]));
            arrows.filter(|(_, arrow)| arrow.is_there())
        })
    }

    /// The ends of arrows at a thread, by slice; `calls` are the places of its calls among them.
    pub(super) fn flow_ends(&self, location: u32, calls: &[usize]) -> Vec<FlowEnd> {
        let [begun, ended] = self.at(location);
        let end = |arrow: &Arrow, at: usize, side| {
            let slice = *calls.get(arrow.calls[at] as usize)?;
            Some(FlowEnd { slice, at: Nanos(arrow.at[at]), side, number: arrow.number.into() })
        };
        let begun = begun.filter_map(|(_, arrow)| end(arrow, 0, Side::Begin));
        let ended = ended.filter_map(|(_, arrow)| end(arrow, 1, arrow.end_side()));
        let mut ends: Vec<FlowEnd> = begun.chain(ended).collect();
        ends.sort_unstable();
        ends
    }

    /// Adds bytes and peers to the labels of the calls at the ends of arrows.
    pub(super) fn fill(&self, trace: &Trace, location: u32, calls: &[usize], slices: &mut [Slice]) {
        let rank = |location: u32| trace.locations.get(location).map_or(0, |place| place.task - 1);
        let [begun, ended] = self.at(location);
        let sent: Vec<(u32, u32)> = begun.map(|(row, arrow)| (arrow.calls[0], row)).collect();
        let received = ended.map(|(row, arrow)| (arrow.calls[1], row)).collect();
        let sides = [
            (sent, &self.all.receiver, ["bytes_sent", "to"]),
            (received, &self.all.sender, ["bytes_received", "from"]),
        ];
        let mut key = Vec::new();
        for (mut ends, peers, names) in sides {
            let mut filled = Known::default();
            ends.sort_unstable();
            for ends in ends.chunk_by(|one, other| one.0 == other.0) {
                let Some(&slice) = calls.get(ends[0].0 as usize) else { continue };
                let label = &mut slices[slice].label;
                let sizes = ends.iter().map(|&(_, row)| self.all.size[row as usize]);
                let bytes = sizes.fold(0, i64::saturating_add);
                key.clear();
                key.extend([Arc::as_ptr(label).addr() as i64, bytes]);
                key.extend(ends.iter().map(|&(_, row)| i64::from(rank(peers[row as usize]))));
                // Both labels are kept, so that no other one gets the address.
                let make = || (label.clone(), with_peers(label, names, bytes, &key[2..]));
                *label = filled.get_or_insert(&key, make).1;
            }
        }
    }
}

/// A label with the bytes of messages, and the ranks that they come from or go to.
fn with_peers(
    label: &Label,
    [size, peers]: [&'static str; 2],
    bytes: i64,
    ranks: &[i64],
) -> Arc<Label> {
    let mut label = label.clone();
    label.arguments.retain(|(name, _)| *name != size);
    label.arguments.push((size, Argument::Number(bytes)));
    label.arguments.push((peers, listed(ranks.to_vec())));
    Arc::new(label)
}

/// One rank as a number, some as a text.
fn listed(mut ranks: Vec<i64>) -> Argument {
    ranks.sort_unstable();
    ranks.dedup();
    if let [only] = ranks[..] {
        return Argument::Number(only);
    }
    let shown: Vec<String> = ranks.iter().take(PEERS).map(i64::to_string).collect();
    let more = ranks.len().saturating_sub(PEERS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Argument::Text(format!("{}{more}", shown.join(", ")).into())
}

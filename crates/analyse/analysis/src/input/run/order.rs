//! Records by time, as Paraver expects them; what happens at the same time stays in its order.
//!
//! Owns the merge of the records of threads. Those of one thread are sorted already or nearly so:
//! nothing is sorted as a whole.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use talea_model::Trace;
use talea_model::trace::RecordKind::{self, Event, Message, State};
use talea_model::trace::{Events, Messages, States};

/// Rows of one kind of record of one part, by time.
struct Stream<'a> {
    times: &'a [u64],
    /// Rows by time where they are not in that order.
    order: Option<Vec<u32>>,
    next: usize,
}

impl<'a> Stream<'a> {
    fn new(times: &'a [u64]) -> Self {
        let order = (!times.is_sorted()).then(|| {
            let mut rows: Vec<u32> = (0..times.len() as u32).collect();
            rows.sort_by_key(|&row| times[row as usize]);
            rows
        });
        Self { times, order, next: 0 }
    }

    fn row(&self) -> usize {
        self.order.as_ref().map_or(self.next, |order| order[self.next] as usize)
    }

    /// The time of the next row; `None` after the last.
    fn time(&self) -> Option<u64> {
        (self.next < self.times.len()).then(|| self.times[self.row()])
    }
}

/// Puts the states and events of all parts, and the messages, into the trace. Of records of the
/// same time states come first, then events, then messages, each in the order of the parts.
pub(super) fn merge(parts: &[(States, Events)], messages: &Messages, trace: &mut Trace) {
    let states = parts.iter().map(|(states, _)| (State, Stream::new(&states.begin)));
    let events = parts.iter().map(|(_, events)| (Event, Stream::new(&events.time)));
    let last = (Message, Stream::new(&messages.logical_send));
    let mut streams: Vec<(RecordKind, Stream<'_>)> = states.chain(events).chain([last]).collect();
    reserve(parts, messages, trace);
    // Streams are numbered in the order of kinds, then of parts.
    let mut ahead: BinaryHeap<Reverse<(u64, usize)>> = (0..)
        .zip(&streams)
        .filter_map(|(number, (_, stream))| Some(Reverse((stream.time()?, number))))
        .collect();
    while let Some(Reverse((_, number))) = ahead.pop() {
        let (kind, stream) = &mut streams[number];
        // As long as no other stream has an earlier record this one goes on.
        let until = ahead.peek().map(|Reverse(next)| *next);
        while let Some(time) = stream.time() {
            if until.is_some_and(|until| until < (time, number)) {
                ahead.push(Reverse((time, number)));
                break;
            }
            let row = stream.row();
            let part = number % parts.len().max(1);
            match *kind {
                State => parts[part].0.get(row).into_iter().for_each(|one| trace.push_state(one)),
                Event => {
                    if let Some(one) = parts[part].1.get(row) {
                        trace.push_event((one.location, one.cpu), one.time, one.types, one.values);
                    }
                }
                Message => messages.get(row).into_iter().for_each(|one| trace.push_message(one)),
            }
            stream.next += 1;
        }
    }
}

/// Makes room for all records, so that no column is copied as it grows.
fn reserve(parts: &[(States, Events)], messages: &Messages, trace: &mut Trace) {
    let states: usize = parts.iter().map(|(states, _)| states.len()).sum();
    let events: usize = parts.iter().map(|(_, events)| events.len()).sum();
    let pairs: usize = parts.iter().map(|(_, events)| events.types.len()).sum();
    trace.states.reserve(states);
    trace.events.reserve(events, pairs);
    trace.order.reserve_exact(states + events + messages.len());
}

//! Reservation for the rest of a trace, if it continues as it began.
//!
//! Owns the estimate: columns that are reserved at their final size are touched once, and never
//! hold more than they need.

use talea_model::Trace;
use talea_model::trace::{Events, Messages, States};

/// Estimates that are a little too low would double a column at its end.
const MARGIN: f64 = 1.02;

/// Makes room for `factor` times the records so far.
pub(super) fn reserve(trace: &mut Trace, factor: f64) {
    let more = |length: usize| ((length as f64 * factor * MARGIN) as usize).saturating_sub(length);
    let Trace { states, events, messages, order, .. } = trace;
    let States { location, cpu, begin, end, state } = states;
    let rows = more(location.len());
    room([location, cpu, state], rows);
    room([begin, end], rows);
    let Events { location, cpu, time, pairs_end, types, values } = events;
    let (rows, pairs) = (more(location.len()), more(types.len()));
    room([location, cpu], rows);
    room([time, pairs_end], rows);
    room([types], pairs);
    room([values], pairs);
    reserve_messages(messages, more(messages.len()));
    let rows = more(order.len());
    room([order], rows);
}

fn reserve_messages(messages: &mut Messages, rows: usize) {
    let Messages {
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
    } = messages;
    room([sender, sender_cpu, receiver, receiver_cpu], rows);
    room([logical_send, physical_send, logical_receive, physical_receive], rows);
    room([size, tag], rows);
}

/// Room for more rows; where it cannot be reserved at once, columns grow as rows come.
fn room<T, const N: usize>(columns: [&mut Vec<T>; N], rows: usize) {
    for column in columns {
        let _ = column.try_reserve_exact(rows);
    }
}

//! A trace in the form of viewers of slices: intervals with arguments, messages between them, and
//! counters.
//!
//! Owns the choice of the events that are slices (those whose value 0 ends an interval that another
//! value began), the assignment of each end of a message to a call, and the rates of counters: the
//! increase since the thread's probe before, divided by the time since then.

use std::collections::BTreeMap;

use talea_formats::profile::{Argument, End, Flow, Series, Slice, Timeline, Track};
use talea_model::trace::types::{self, is_counter};
use talea_model::trace::{EventRecord, MessageRecord, UNKNOWN_TIME};
use talea_model::{Gap, GapKind, Gaps, Nanos, Trace};

use crate::labels::{has_threads, named, process_name, site, thread_name};

/// Category of MPI calls in [`Slice::category`].
const CALL: &str = "mpi";
/// Maximum number of listed peer ranks of messages.
const PEERS: usize = 8;

/// Category of the intervals that values of a type begin and value 0 ends; `None` for other types.
fn category(event_type: u32) -> Option<&'static str> {
    match event_type {
        _ if types::MPI.contains(&event_type) => Some(CALL),
        types::USER_FUNCTION => Some("function"),
        types::ITERATION => Some("iteration"),
        types::CLUSTER => Some("cluster"),
        types::MARKED => Some("phase"),
        _ if types::LOOP.contains(&event_type) => Some("loop"),
        _ => None,
    }
}

/// All threads with activity; items without a place in a timeline are gaps.
pub(super) fn timeline(trace: &Trace, gaps: &mut Gaps) -> Timeline {
    let by_location = trace.events_by_location();
    let mut tracks = Vec::new();
    // For each location its track.
    let mut places: Vec<Option<usize>> = Vec::new();
    for location in 0..trace.locations.len() as u32 {
        let records =
            || by_location.rows(location).iter().filter_map(|&row| trace.events.get(row as usize));
        let track = Track {
            process: process(trace, location),
            process_name: process_name(trace, location),
            thread: trace.locations.get(location).map_or(location, |place| place.thread - 1),
            name: thread_name(trace, location),
            slices: slices(trace, records()),
            counters: counters(trace, location, records()),
        };
        let is_empty = track.slices.is_empty() && track.counters.is_empty();
        places.push((!is_empty).then_some(tracks.len()));
        tracks.extend((!is_empty).then_some(track));
    }
    let mut timeline = Timeline { tracks, flows: Vec::new() };
    let left_out = messages(trace, &places, &mut timeline);
    if left_out > 0 {
        gaps.note(Gap {
            kind: GapKind::Unsupported,
            rank: None,
            detail: format!(
                "{left_out} messages have no arrow: no call is at one of their ends, or they were received before they were sent"
            ),
            count: left_out,
        });
    }
    timeline
}

/// The number of a process over all applications; the rank, where there is one.
fn process(trace: &Trace, location: u32) -> u32 {
    let Some(place) = trace.locations.get(location) else { return 0 };
    let before = (1..place.application).map(|one| trace.locations.tasks(one).len() as u32);
    before.sum::<u32>() + place.task - 1
}

/// An open interval: its begin, its value, and its arguments.
type Open = (u64, i64, Vec<(&'static str, Argument)>);

fn slices<'a>(trace: &Trace, records: impl Iterator<Item = EventRecord<'a>>) -> Vec<Slice> {
    let mut open: BTreeMap<u32, Vec<Open>> = BTreeMap::new();
    let mut slices = Vec::new();
    let mut close = |kind: u32, (begin, value, arguments): Open, end: u64| {
        slices.push(Slice {
            name: name(trace, kind, value),
            category: category(kind).unwrap_or_default().to_owned(),
            begin: Nanos(begin),
            end: Nanos(end.max(begin)),
            arguments,
        });
    };
    for event in records {
        for (&kind, &value) in event.types.iter().zip(event.values) {
            if category(kind).is_none() {
                continue;
            }
            let open = open.entry(kind).or_default();
            // Phases nest; of all others one at a time is open.
            if (value == 0 || kind != types::MARKED)
                && let Some(before) = open.pop()
            {
                close(kind, before, event.time);
            }
            if value != 0 {
                let is_call = types::MPI.contains(&kind);
                let arguments = if is_call { arguments(trace, &event) } else { Vec::new() };
                open.push((event.time, value, arguments));
            }
        }
    }
    for (kind, all) in open {
        for before in all.into_iter().rev() {
            close(kind, before, trace.duration.0);
        }
    }
    slices.sort_by_key(|slice| (slice.begin, std::cmp::Reverse(slice.end)));
    slices
}

fn name(trace: &Trace, kind: u32, value: i64) -> String {
    match kind {
        types::ITERATION => format!("iteration {value}"),
        _ if types::LOOP.contains(&kind) => {
            let name = trace.labels.event_type(kind).map_or("Loop", |one| one.label.as_str());
            format!("{name} {value}")
        }
        _ => named(trace, kind, value),
    }
}

/// Arguments of a call at its begin.
fn arguments(trace: &Trace, event: &EventRecord<'_>) -> Vec<(&'static str, Argument)> {
    let number = |name, kind| Some((name, Argument::Number(event.value(kind)?)));
    let is_root = event.value(types::ROOT).is_some_and(|value| value != 0);
    [
        site(trace, event).map(|site| ("site", Argument::Text(site))),
        number("bytes_sent", types::SEND_SIZE),
        number("bytes_received", types::RECEIVE_SIZE),
        number("communicator", types::COMMUNICATOR),
        is_root.then(|| ("is_root", Argument::Text("yes".to_owned()))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Rates of the counters of a thread. A count over no time is added to the next one.
fn counters<'a>(
    trace: &Trace,
    location: u32,
    records: impl Iterator<Item = EventRecord<'a>>,
) -> Vec<Series> {
    let mut found: BTreeMap<u32, Series> = BTreeMap::new();
    let mut kept: BTreeMap<u32, i64> = BTreeMap::new();
    let mut before = None;
    for event in records {
        let values = event.types.iter().zip(event.values).filter(|(kind, _)| is_counter(**kind));
        let mut any = false;
        let since = before.filter(|&since| since < event.time);
        for (&kind, &value) in values {
            any = true;
            let sum = kept.entry(kind).or_default();
            *sum = sum.saturating_add(value);
            // The first probe's counts have no known begin.
            let Some(begin) = since else {
                if before.is_none() {
                    *sum = 0;
                }
                continue;
            };
            let rate = std::mem::take(sum) as f64 / (event.time - begin) as f64 * 1e9;
            let series = found.entry(kind).or_insert_with(|| Series {
                name: counter_name(trace, location, kind),
                unit: "per second",
                values: Vec::new(),
            });
            series.values.push((Nanos(begin), rate));
        }
        if any {
            before = Some(event.time);
        }
    }
    found.into_values().collect()
}

/// Counters stand beside the threads of a process, so that their names identify the thread.
fn counter_name(trace: &Trace, location: u32, kind: u32) -> String {
    let label = trace.labels.event_type(kind).map(|one| one.label.clone());
    let label = label.unwrap_or_else(|| kind.to_string());
    if has_threads(trace, location) {
        format!("{label}, {},", thread_name(trace, location))
    } else {
        label
    }
}

/// Messages of one call.
#[derive(Debug, Default)]
struct Met {
    sent: i64,
    received: i64,
    to: Vec<u32>,
    from: Vec<u32>,
}

/// Adds flows, and bytes and peers to the calls at their ends; returns the number of messages
/// without a flow.
fn messages(trace: &Trace, places: &[Option<usize>], timeline: &mut Timeline) -> u64 {
    let calls: Vec<Vec<usize>> = timeline.tracks.iter().map(calls).collect();
    let mut met: BTreeMap<(usize, usize), Met> = BTreeMap::new();
    let mut left_out = 0;
    for message in trace.messages.iter() {
        let ends = sender(&message, places, &calls, timeline)
            .zip(receiver(&message, places, &calls, timeline));
        let Some((from, to)) = ends.and_then(|(from, to)| in_order(from, to, timeline)) else {
            left_out += 1;
            continue;
        };
        let rank = |location: u32| trace.locations.get(location).map_or(0, |place| place.task - 1);
        let one = met.entry((from.track, from.slice)).or_default();
        one.sent = one.sent.saturating_add(message.size);
        one.to.push(rank(message.receiver));
        let one = met.entry((to.track, to.slice)).or_default();
        one.received = one.received.saturating_add(message.size);
        one.from.push(rank(message.sender));
        timeline.flows.push(Flow { from, to });
    }
    for ((track, slice), met) in met {
        let arguments = &mut timeline.tracks[track].slices[slice].arguments;
        for (bytes, peers, names) in [
            (met.sent, met.to, ("bytes_sent", "to")),
            (met.received, met.from, ("bytes_received", "from")),
        ] {
            if !peers.is_empty() {
                arguments.retain(|(name, _)| *name != names.0);
                arguments.push((names.0, Argument::Number(bytes)));
                arguments.push((names.1, listed(peers)));
            }
        }
    }
    left_out
}

/// The ends of an arrow, which goes forward in time. Restored times have a tolerance: where the
/// receipt seems to precede the sending, the arrow goes from the begin of the sending call to the
/// end of the receiving one, if these are in order.
fn in_order(from: End, to: End, timeline: &Timeline) -> Option<(End, End)> {
    let slice = |end: &End| &timeline.tracks[end.track].slices[end.slice];
    let (begin, end) = (slice(&from).begin, slice(&to).end);
    if from.at < to.at {
        Some((from, to))
    } else {
        (begin < end).then_some((End { at: begin, ..from }, End { at: end, ..to }))
    }
}

/// Calls of a track by time; they do not overlap.
fn calls(track: &Track) -> Vec<usize> {
    (0..track.slices.len()).filter(|&at| track.slices[at].category == CALL).collect()
}

/// The call that sent a message: the last that had begun.
fn sender(
    message: &MessageRecord,
    places: &[Option<usize>],
    calls: &[Vec<usize>],
    timeline: &Timeline,
) -> Option<End> {
    let track = (*places.get(message.sender as usize)?)?;
    let slices = &timeline.tracks[track].slices;
    let at = Nanos(message.logical_send);
    let begun = calls[track].partition_point(|&one| slices[one].begin <= at);
    let slice = calls[track][begun.checked_sub(1)?];
    (at <= slices[slice].end).then_some(End { track, slice, at })
}

/// The call that received a message: the first that had not ended before.
fn receiver(
    message: &MessageRecord,
    places: &[Option<usize>],
    calls: &[Vec<usize>],
    timeline: &Timeline,
) -> Option<End> {
    let track = (*places.get(message.receiver as usize)?)?;
    let slices = &timeline.tracks[track].slices;
    let in_call = |at: u64| {
        let at = Nanos(at);
        let ended = calls[track].partition_point(|&one| slices[one].end < at);
        let &slice = calls[track].get(ended)?;
        (slices[slice].begin <= at).then_some(End { track, slice, at })
    };
    // Data may move outside of calls, and be found there later.
    let known = [message.physical_receive, message.logical_receive];
    let later = known.iter().filter(|&&time| time != UNKNOWN_TIME).max().copied()?;
    in_call(message.physical_receive).or_else(|| in_call(later))
}

/// One rank as a number, some as a text.
fn listed(mut ranks: Vec<u32>) -> Argument {
    ranks.sort_unstable();
    ranks.dedup();
    if let [only] = ranks[..] {
        return Argument::Number(i64::from(only));
    }
    let shown: Vec<String> = ranks.iter().take(PEERS).map(u32::to_string).collect();
    let more = ranks.len().saturating_sub(PEERS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Argument::Text(format!("{}{more}", shown.join(", ")))
}

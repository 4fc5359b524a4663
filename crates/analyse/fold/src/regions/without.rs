//! A region without MPI: the time inside calls is cut out, with the counts in it.
//!
//! Owns the cut. On each location time stands still while it is in MPI, so that begin and end of a
//! call fall on one place. Readings inside a call are left out, and the one at its end counts
//! nothing; where a call has no reading at its begin, the count since the reading before it is lost
//! with it.

use std::collections::BTreeMap;

use talea_model::trace::{InMemory, types};
use talea_model::{GapKind, Nanos, Trace};

use super::spans::walk;
use super::{ProbeColumns, Spans, StackColumns};

/// Calls of one location: begin, end, and the time in calls before; ascending and disjoint.
type Calls = Vec<(u64, u64, u64)>;

fn calls(trace: &Trace) -> BTreeMap<u32, Calls> {
    let mut found = BTreeMap::<u32, Vec<(u64, u64)>>::new();
    walk(&InMemory::new(trace), |event_type| types::MPI.contains(&event_type), &mut |span| {
        found.entry(span.location).or_default().push((span.begin, span.end));
    });
    let merged = |(location, mut spans): (u32, Vec<(u64, u64)>)| {
        spans.sort_unstable();
        let mut calls: Calls = Vec::with_capacity(spans.len());
        let mut before = 0;
        for (begin, end) in spans {
            match calls.last_mut() {
                // Calls that overlap are one.
                Some(last) if begin < last.1 => {
                    before += end.saturating_sub(last.1);
                    last.1 = last.1.max(end);
                }
                _ => {
                    calls.push((begin, end, before));
                    before += end - begin;
                }
            }
        }
        (location, calls)
    };
    found.into_iter().map(merged).collect()
}

/// Place of a time among calls.
enum Place {
    /// Outside, or at the begin of a call.
    Outside(u64),
    /// Inside a call.
    Inside(u64),
    /// At the end of a call.
    End(u64),
}

fn place(calls: Option<&Calls>, time: u64) -> Place {
    let Some(calls) = calls else { return Place::Outside(time) };
    // The last call that begins before this time.
    let after = calls.partition_point(|call| call.0 < time);
    let Some(&(begin, end, before)) = after.checked_sub(1).and_then(|at| calls.get(at)) else {
        return Place::Outside(time);
    };
    match time {
        time if time < end => Place::Inside(begin - before),
        time if time == end => Place::End(begin - before),
        time => Place::Outside(time - before - (end - begin)),
    }
}

/// Time outside calls.
fn squeezed(calls: Option<&Calls>, time: u64) -> Nanos {
    match place(calls, time) {
        Place::Outside(time) | Place::Inside(time) | Place::End(time) => Nanos(time),
    }
}

/// Cuts MPI out of instances, readings and samples; all times are times outside calls afterwards.
/// Instances without a remaining part get length zero.
pub fn without_mpi(
    trace: &Trace,
    spans: &mut Spans,
    probes: &mut ProbeColumns,
    stacks: &mut StackColumns,
) {
    let calls = calls(trace);
    if calls.is_empty() {
        spans.note(
            GapKind::Missing,
            1,
            "the trace has no calls of MPI, nothing is cut out".to_owned(),
        );
        return;
    }
    for at in 0..spans.len() {
        let of = calls.get(&spans.location[at]);
        spans.begin[at] = squeezed(of, spans.begin[at].0);
        spans.end[at] = squeezed(of, spans.end[at].0);
    }
    let mut kept = Vec::with_capacity(probes.time.len());
    for at in 0..probes.time.len() {
        match place(calls.get(&probes.location[at]), probes.time[at].0) {
            Place::Inside(_) => continue,
            Place::Outside(time) => probes.time[at] = Nanos(time),
            Place::End(time) => {
                probes.time[at] = Nanos(time);
                for column in &mut probes.values {
                    // A NaN stays unread.
                    column[at] *= 0.0;
                }
            }
        }
        kept.push(at);
    }
    probes.location = kept.iter().map(|&at| probes.location[at]).collect();
    probes.time = kept.iter().map(|&at| probes.time[at]).collect();
    for column in &mut probes.values {
        *column = kept.iter().map(|&at| column[at]).collect();
    }
    let mut cut =
        StackColumns { starts: vec![0], nameless: stacks.nameless, ..StackColumns::default() };
    for at in 0..stacks.time.len() {
        let Place::Outside(time) = place(calls.get(&stacks.location[at]), stacks.time[at].0) else {
            continue;
        };
        let frames = stacks.starts[at]..stacks.starts[at + 1];
        cut.location.push(stacks.location[at]);
        cut.time.push(Nanos(time));
        cut.routines.extend_from_slice(&stacks.routines[frames.clone()]);
        cut.lines.extend_from_slice(&stacks.lines[frames]);
        cut.starts.push(cut.routines.len());
    }
    *stacks = cut;
}

//! Applications, tasks and threads of a run in its trace, and the threads with their records.
//!
//! Owns the order of locations: one application a world, one task a rank, also for ranks that left
//! no record.

use std::collections::BTreeMap;

use talea_model::trace::Level;
use talea_model::{Gap, GapKind, Nanos, Rank, Trace};
use talea_run::recording::{Process, Thread};

use super::samples::Sampled;
use crate::Analysis;
use crate::location::ThreadAt;

/// Where threads of the run are in the trace.
pub(in crate::input) struct Places {
    /// For each process the location of its first thread, and how many there are.
    first: Vec<(u32, u32)>,
}

/// A recorded thread and its place.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) process: &'a Process,
    pub(super) thread: &'a Thread,
    pub(super) at: ThreadAt,
    pub(super) location: u32,
    /// From the process's start to its end.
    whole: (Nanos, Nanos),
    /// When the thread was there; where nobody knows, it is from its first to its last call.
    present: Option<(Nanos, Nanos)>,
}

impl Places {
    /// The location of a thread of a process, by their places in the recording.
    pub(super) fn location(&self, process: usize, thread: usize) -> Option<u32> {
        let &(first, count) = self.first.get(process)?;
        let thread = u32::try_from(thread).ok().filter(|&thread| thread < count)?;
        Some(first + thread)
    }

    /// All recorded threads that have a location, in its order.
    pub(super) fn rows<'a>(
        &self,
        analysis: &Analysis<'a>,
        sampled: &[Option<Sampled<'_>>],
    ) -> Vec<Row<'a>> {
        let mut rows = Vec::new();
        for (at, process) in analysis.run.recording.processes.iter().enumerate() {
            for (number, thread) in process.threads.iter().enumerate() {
                let Some(location) = self.location(at, number) else { continue };
                let whole = (process.started.at, analysis.ranks[at].end);
                let sampled = sampled.get(at).and_then(Option::as_ref);
                let known = sampled.and_then(|sampled| sampled.presence(thread.number));
                // Nothing else says when a thread came that is not the process's first.
                let present = if number == 0 { Some(whole) } else { known };
                let at = ThreadAt { process: at, thread: number };
                rows.push(Row { process, thread, at, location, whole, present });
            }
        }
        rows
    }
}

impl Row<'_> {
    /// Start of the process, and the time at which the thread came, which calls first at `begin`.
    pub(super) fn came(&self, begin: Nanos) -> (Nanos, Nanos) {
        let (start, _) = self.whole;
        (start, self.present.map_or(begin, |(came, _)| came.max(start).min(begin)))
    }

    /// End of its last call or the start of the process, the time at which it went, and the end of
    /// the process.
    pub(super) fn went(&self, last: Option<Nanos>) -> [Nanos; 3] {
        let (start, end) = self.whole;
        let last = last.unwrap_or(start);
        [last, self.present.map_or(last, |(_, went)| went.min(end).max(last)), end]
    }
}

/// One application a world, one task a rank, also for ranks that left no record.
pub(super) fn locations(
    analysis: &Analysis<'_>,
    sampled: &[Option<Sampled<'_>>],
    trace: &mut Trace,
) -> Places {
    let recording = &analysis.run.recording;
    // World, rank, host, threads of each process.
    let extra = |at: usize| sampled.get(at).and_then(Option::as_ref).map_or(0, Sampled::others);
    let own = |(at, process): (usize, &'_ Process)| {
        let threads = (process.threads.len() as u32 + extra(at)).max(1);
        (process.location.world, process.location.rank.0, process.host.clone(), threads)
    };
    let mut rows: Vec<(u32, u32, String, u32)> =
        recording.processes.iter().enumerate().map(own).collect();
    if rows.is_empty() {
        let alone = sampled.iter().flatten().zip(0..);
        rows.extend(alone.map(|(one, at)| (0, at, one.host().to_owned(), one.others().max(1))));
    }
    let mut hosts: Vec<String> = Vec::new();
    let mut nodes: BTreeMap<String, usize> = BTreeMap::new();
    let mut first = Vec::new();
    let mut names = Vec::new();
    let mut before = None;
    let mut next = 0;
    for (world, rank, host, threads) in rows {
        if before != Some(world) {
            trace.locations.push_application();
            before = Some(world);
            next = 0;
        }
        let node = *nodes.entry(host).or_insert_with_key(|host| {
            hosts.push(host.clone());
            trace.locations.nodes.push(0);
            hosts.len() - 1
        });
        let application = trace.locations.applications();
        while next < rank && trace.locations.push_task(1, 0).is_ok() {
            names.push(format!("THREAD {application}.{}.1", next + 1));
            next += 1;
        }
        let location = trace.locations.len() as u32;
        if trace.locations.push_task(threads, node as u32 + 1).is_err() {
            trace.gaps.note(Gap {
                kind: GapKind::Unsupported,
                rank: Some(Rank(rank)),
                detail: "more threads than a trace can have; those of later ranks are left out"
                    .to_owned(),
                count: 0,
            });
            break;
        }
        names.extend((1..=threads).map(|n| format!("THREAD {application}.{}.{n}", next + 1)));
        next += 1;
        trace.locations.nodes[node] += threads;
        first.push((location, threads));
    }
    trace.locations.levels = vec![
        Level { name: "NODE".to_owned(), rows: hosts },
        Level { name: "THREAD".to_owned(), rows: names },
    ];
    Places { first }
}

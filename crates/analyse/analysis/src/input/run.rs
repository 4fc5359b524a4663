//! A run of ours as a trace: states, calls with their callers, messages and iterations.
//!
//! Owns the numbers that calls, callers and states get, which are those of Extrae where it has one,
//! so that Paraver and its configurations show them. Iterations of loops are events of
//! [`types::ITERATION`] and [`types::LOOP`], phases that the program marks those of
//! [`types::MARKED`]. An analysis of what lies between calls takes [`computation`], and one of what
//! happens inside iterations [`inside()`]: both hold no records of calls.

mod between;
mod calls;
mod inside;
mod loops;
mod names;
mod order;
mod places;
mod samples;
mod stream;

use std::borrow::Cow;

use rayon::prelude::*;
use talea_flow::iterations::TimedEvent;
use talea_model::trace::{
    Communicator, Events, Members, MessageRecord, Messages, StateRecord, States,
};
use talea_model::{Gap, GapKind, Nanos, Trace};
use talea_run::live::record;

pub use self::between::{Computation, Extent, Time, computation};
pub(crate) use self::between::{Stretch, Visited, Visitor, activities, visit};
use self::calls::{NodePlan, plans, records};
pub use self::inside::inside;
use self::loops::{Loops, turns};
pub use self::loops::{label, loop_names};
use self::names::{Callers, Calls};
use self::places::{Places, Row, locations};
use self::samples::{Pictures, Sampled};
pub(crate) use self::stream::{Additions, BurstValues, Values};
pub use self::stream::{Counts, Stream, stream};
use crate::Analysis;
use crate::messages;
use talea_run::sampled::SampleSites;
use talea_run::samples::RunSamples;

/// Everything that was recorded, as columns.
pub fn trace(analysis: &Analysis<'_>) -> Trace {
    let files = SampleFiles::load(analysis);
    let Setup { mut trace, places, sampled, rows, plans, calls, mut callers } =
        Setup::new(analysis, &files);
    let found: Vec<_> = rows
        .par_iter()
        .zip(&plans)
        .map(|(row, plans)| {
            let ((states, events), calls) = records(analysis, row, plans);
            // Probes of samples belong to calls.
            let is_sampled = sampled.get(row.at.process).is_some_and(Option::is_some);
            let kept = if is_sampled { calls.clone() } else { Vec::new() };
            (states, events, turns(analysis, row, calls), kept)
        })
        .collect();
    let mut loops = Loops::default();
    let mut pictures = Pictures::new(&files.sites, &mut callers);
    let mut parts: Vec<(States, Events)> = Vec::with_capacity(found.len() + 1);
    let sampling = Sampling { analysis, files: &files, sampled: &sampled };
    let of_samples = sampling.records(&rows, &places, &mut pictures, |at| {
        let (.., calls) = &found[at];
        Cow::Borrowed(calls)
    });
    for (row, (states, mut events, turns, _)) in rows.iter().zip(found) {
        loops.add(turns, row.location, &mut events);
        parts.push((states, events));
    }
    parts.push(of_samples);
    let levels = sampling.label(pictures, &mut trace);
    let messages = all_messages(analysis, &places, &mut trace);
    communicators(analysis, &mut trace);
    calls.label(&mut trace.labels);
    callers.label(levels, &mut trace.labels);
    names::states(&mut trace.labels);
    order::merge(&parts, &messages, &mut trace);
    loops.label(&mut trace);
    trace
}

/// True if the run has files of samples.
pub(crate) fn has_samples(analysis: &Analysis<'_>) -> bool {
    talea_run::samples::files(&analysis.run.directory).is_ok_and(|files| !files.is_empty())
}

/// The samples of a run, and their addresses in the source.
struct SampleFiles {
    samples: RunSamples,
    sites: SampleSites,
}

impl SampleFiles {
    fn load(analysis: &Analysis<'_>) -> Self {
        let samples = talea_run::samples::load(&analysis.run.directory);
        let sites = SampleSites::load(&analysis.run.directory, &samples);
        Self { samples, sites }
    }
}

/// Threads of a run, and the names of their calls, before any is read.
struct Setup<'a, 's> {
    /// The trace without records.
    trace: Trace,
    places: Places,
    /// The samples of each process.
    sampled: Vec<Option<Sampled<'s>>>,
    rows: Vec<Row<'a>>,
    /// For each row the plans of its nodes.
    plans: Vec<Vec<NodePlan>>,
    calls: Calls,
    callers: Callers<'a>,
}

impl<'a, 's> Setup<'a, 's> {
    fn new(analysis: &'a Analysis<'a>, files: &'s SampleFiles) -> Self {
        let sampled = sampled(analysis, &files.samples);
        let (trace, places) = beginning(analysis, &sampled);
        let calls = Calls::new(&analysis.run.recording);
        let mut callers = Callers::new(analysis);
        let rows = places.rows(analysis, &sampled);
        let plans = rows.iter().map(|row| plans(analysis, row, &calls, &mut callers)).collect();
        Self { trace, places, sampled, rows, plans, calls, callers }
    }
}

/// The samples of a run, and the threads that they belong to.
struct Sampling<'a, 's> {
    analysis: &'a Analysis<'a>,
    files: &'s SampleFiles,
    sampled: &'s [Option<Sampled<'s>>],
}

impl Sampling<'_, '_> {
    /// Records of all samples; `calls` gives the calls of the thread in a row, to which probes
    /// belong.
    fn records<'c>(
        &self,
        rows: &[Row<'_>],
        places: &Places,
        pictures: &mut Pictures<'_, '_>,
        mut calls: impl FnMut(usize) -> Cow<'c, [TimedEvent]>,
    ) -> (States, Events) {
        let mut found = Trace::default();
        let mut next = 0;
        for (at, sampled) in self.sampled.iter().enumerate() {
            let begin = next;
            next += rows[begin..].iter().take_while(|row| row.at.process == at).count();
            let Some(sampled) = sampled else { continue };
            for (number, row) in rows.iter().enumerate().take(next).skip(begin) {
                let calls = calls(number);
                sampled.add_caller(row.thread.number, row.location, &calls, pictures, &mut found);
            }
            if let Some(first) = self.first_of_others(places, at) {
                sampled.add_others(first, pictures, &mut found);
            }
        }
        (found.states, found.events)
    }

    /// The location of the first thread of a process that appears only in samples.
    fn first_of_others(&self, places: &Places, process: usize) -> Option<u32> {
        let recorded = self.analysis.run.recording.processes.get(process);
        places.location(process, recorded.map_or(0, |process| process.threads.len()))
    }

    /// The time of each thread that appears only in samples, in the order of locations.
    fn alone(&self, places: &Places) -> Vec<StateRecord> {
        let of_process = |(at, sampled): (usize, &Option<Sampled<'_>>)| {
            let first = self.first_of_others(places, at)?;
            Some(sampled.as_ref()?.states_of_others(first).collect::<Vec<_>>())
        };
        self.sampled.iter().enumerate().filter_map(of_process).flatten().collect()
    }

    /// Labels of samples, and what is not known of them; returns the number of levels of stacks.
    fn label(&self, pictures: Pictures<'_, '_>, trace: &mut Trace) -> u32 {
        let levels = pictures.label(&mut trace.labels, &mut trace.gaps);
        trace.gaps.merge(self.files.sites.gaps.clone());
        samples::note_unplaced(&self.files.samples, self.sampled.iter().flatten().count(), trace);
        levels
    }
}

/// The samples of each process, in the order of the recording.
fn sampled<'a>(analysis: &Analysis<'_>, run_samples: &'a RunSamples) -> Vec<Option<Sampled<'a>>> {
    let processes = &analysis.run.recording.processes;
    if processes.is_empty() {
        Sampled::alone(run_samples).into_iter().map(Some).collect()
    } else {
        processes.iter().map(|process| Sampled::for_process(run_samples, process)).collect()
    }
}

/// The trace without records, and where threads are in it.
fn beginning(analysis: &Analysis<'_>, sampled: &[Option<Sampled<'_>>]) -> (Trace, Places) {
    let start = analysis.run.metadata.start;
    let mut trace = Trace {
        date: start
            .map(|start| start.strftime("%d/%m/%Y at %H:%M").to_string())
            .unwrap_or_default(),
        duration: analysis.ranks.iter().map(|rank| rank.end).max().unwrap_or_default(),
        gaps: analysis.run.recording.gaps.clone(),
        ..Trace::default()
    };
    if let Some(reason) = &analysis.unusable {
        let detail = reason.to_string();
        trace.gaps.note(Gap { kind: GapKind::Damaged, rank: None, detail, count: 0 });
    }
    let ends = sampled.iter().flatten().map(Sampled::end);
    trace.duration = ends.fold(trace.duration, Nanos::max);
    let places = locations(analysis, sampled, &mut trace);
    (trace, places)
}

/// All messages between threads that have a place.
fn all_messages(analysis: &Analysis<'_>, places: &Places, trace: &mut Trace) -> Messages {
    let found = messages::messages(&analysis.run.recording, Nanos(u64::MAX));
    let mut all = Messages::default();
    for message in &found.all {
        let ends = places
            .location(message.from.0, message.from.1)
            .zip(places.location(message.to.0, message.to.1));
        let Some((sender, receiver)) = ends else { continue };
        all.push(MessageRecord {
            sender,
            sender_cpu: 0,
            logical_send: message.sent.0.0,
            physical_send: message.sent.1.0,
            receiver,
            receiver_cpu: 0,
            logical_receive: message.received.0.0,
            physical_receive: message.received.1.0,
            size: i64::try_from(message.bytes.0).unwrap_or(i64::MAX),
            tag: message.tag,
        });
    }
    found.note(&mut trace.gaps);
    all
}

/// Communicators that tasks of one world make up.
fn communicators(analysis: &Analysis<'_>, trace: &mut Trace) {
    let recording = &analysis.run.recording;
    if trace.locations.applications() != 1 {
        return;
    }
    let tasks = trace.locations.tasks(1).len() as i64;
    for (id, comm) in (1..).zip(&recording.comms) {
        if comm.inter || comm.name == "self" {
            continue;
        }
        let members = members(&comm.members);
        if members.iter().any(|&rank| rank < 0 || rank >= tasks) {
            continue;
        }
        let tasks = members.into_iter().map(|rank| rank as u32 + 1).collect();
        trace.communicators.push(Communicator {
            application: 1,
            id,
            members: Members::Tasks(tasks),
        });
    }
}

/// World ranks of the members. A file may claim any number; a trace's header has a maximum.
fn members(members: &record::Members) -> Vec<i64> {
    const MOST: u64 = 1 << 20;
    (0..members.len().min(MOST) as i64).filter_map(|rank| members.world_rank(rank)).collect()
}

#[cfg(test)]
pub(crate) mod tests;

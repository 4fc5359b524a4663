//! A run of ours as a trace: states, calls with their callers, messages and iterations.
//!
//! Owns the numbers that calls, callers and states get, which are those of Extrae where it has one,
//! so that Paraver and its configurations show them. Iterations of loops are events of
//! [`types::ITERATION`] and [`types::LOOP`], phases that the program marks those of
//! [`types::MARKED`]. An analysis of what lies between calls takes [`computation`], which holds no
//! records.

mod between;
mod calls;
mod loops;
mod names;
mod order;
mod places;
mod samples;
mod stream;

use rayon::prelude::*;
use talea_model::trace::{Communicator, Events, Members, MessageRecord, Messages, States};
use talea_model::{Gap, GapKind, Nanos, Trace};
use talea_run::live::record;

pub use self::between::{Computation, Extent, Time, computation};
pub(crate) use self::between::{Stretch, Visited, Visitor, activities, visit};
use self::calls::{plans, records};
use self::loops::{Loops, turns};
pub use self::loops::{label, loop_names};
use self::names::{Callers, Calls};
use self::places::{Places, locations};
use self::samples::{Pictures, Sampled};
pub use self::stream::{Counts, Stream, stream};
use crate::Analysis;
use crate::messages;
use talea_run::sampled::SampleSites;
use talea_run::samples::RunSamples;

/// Everything that was recorded, as columns.
pub fn trace(analysis: &Analysis<'_>) -> Trace {
    let recording = &analysis.run.recording;
    let run_samples = talea_run::samples::load(&analysis.run.directory);
    let sites = SampleSites::load(&analysis.run.directory, &run_samples);
    let unresolved = sites.gaps.clone();
    let sampled = sampled(analysis, &run_samples);
    let (mut trace, places) = beginning(analysis, &sampled);
    let calls = Calls::new(recording);
    let mut callers = Callers::new(analysis);
    let rows = places.rows(analysis, &sampled);
    let plans: Vec<_> = rows.iter().map(|row| plans(analysis, row, &calls, &mut callers)).collect();
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
    let mut pictures = Pictures::new(&sites, &mut callers);
    let mut parts: Vec<(States, Events)> = Vec::with_capacity(found.len() + 1);
    let mut of_samples = Trace::default();
    let mut done = 0;
    for (at, sampled) in sampled.iter().enumerate() {
        let process = recording.processes.get(at);
        let threads = process.map_or(0, |process| process.threads.len());
        if let Some(sampled) = sampled {
            let own = rows.iter().zip(&found).skip(done);
            let own = own.take_while(|(row, _)| row.at.process == at);
            for (row, (.., calls)) in own {
                let (number, location) = (row.thread.number, row.location);
                sampled.add_caller(number, location, calls, &mut pictures, &mut of_samples);
            }
            if let Some(first) = places.location(at, threads) {
                sampled.add_others(first, &mut pictures, &mut of_samples);
            }
        }
        done += rows[done..].iter().take_while(|row| row.at.process == at).count();
    }
    for (row, (states, mut events, turns, _)) in rows.iter().zip(found) {
        loops.add(turns, row.location, &mut events);
        parts.push((states, events));
    }
    parts.push((of_samples.states, of_samples.events));
    let levels = pictures.label(&mut trace.labels, &mut trace.gaps);
    trace.gaps.merge(unresolved);
    samples::note_unplaced(&run_samples, sampled.iter().flatten().count(), &mut trace);
    let messages = all_messages(analysis, &places, &mut trace);
    communicators(analysis, &mut trace);
    calls.label(&mut trace.labels);
    callers.label(levels, &mut trace.labels);
    names::states(&mut trace.labels);
    order::merge(&parts, &messages, &mut trace);
    loops.label(&mut trace);
    trace
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

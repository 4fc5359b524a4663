//! A run of ours as a trace: states, calls with their callers, messages and iterations.
//!
//! Owns the numbers that calls, callers and states get, which are those of Extrae where it has one,
//! so that Paraver and its configurations show them. Iterations of loops are events of
//! [`types::ITERATION`] and [`types::LOOP`], phases that the program marks those of
//! [`types::MARKED`].

mod loops;
mod names;
mod samples;

use std::collections::BTreeMap;

use talea_model::trace::{Communicator, Level, Members, MessageRecord, StateRecord, types};
use talea_model::{ArgKind, Gap, GapKind, Nanos, ProcedureSpec, Rank, Trace};
use talea_run::live::record;
use talea_run::recording::{Process, Thread};

use self::loops::{Loops, iterations};
pub use self::loops::{label, loop_names};
use self::names::{Callers, Calls, Kind};
use self::samples::{Pictures, Sampled};
use crate::Analysis;
use crate::arguments::SendPlan;
use crate::location::ThreadAt;
use crate::messages::{self, Messages};
use crate::procedures::Traffic;
use crate::walk::walk;
use talea_run::sampled::SampleSites;

/// Where threads of the run are in the trace.
pub(super) struct Places {
    /// For each process the location of its first thread, and how many there are.
    first: Vec<(u32, u32)>,
}

impl Places {
    /// The location of a thread of a process, by their places in the recording.
    pub(super) fn location(&self, process: usize, thread: usize) -> Option<u32> {
        let &(first, count) = self.first.get(process)?;
        let thread = u32::try_from(thread).ok().filter(|&thread| thread < count)?;
        Some(first + thread)
    }
}

/// Everything that was recorded, as columns.
pub fn trace(analysis: &Analysis<'_>) -> Trace {
    let recording = &analysis.run.recording;
    let run_samples = talea_run::samples::load(&analysis.run.directory);
    let sites = SampleSites::load(&analysis.run.directory, &run_samples);
    let unresolved = sites.gaps.clone();
    let sampled = if recording.processes.is_empty() {
        Sampled::alone(&run_samples).into_iter().map(Some).collect()
    } else {
        let of = |process| Sampled::for_process(&run_samples, process);
        recording.processes.iter().map(of).collect::<Vec<_>>()
    };
    let mut trace = Trace {
        date: analysis
            .run
            .metadata
            .start
            .map(|start| start.strftime("%d/%m/%Y at %H:%M").to_string())
            .unwrap_or_default(),
        duration: analysis.ranks.iter().map(|rank| rank.end).max().unwrap_or_default(),
        gaps: recording.gaps.clone(),
        ..Trace::default()
    };
    let ends = sampled.iter().flatten().map(Sampled::end);
    trace.duration = ends.fold(trace.duration, Nanos::max);
    let places = locations(analysis, &sampled, &mut trace);
    let mut calls = Calls::new(recording);
    let mut callers = Callers::new(analysis);
    let mut loops = Loops::default();
    for (at, process) in recording.processes.iter().enumerate() {
        for (number, thread) in process.threads.iter().enumerate() {
            if let Some(location) = places.location(at, number) {
                let whole = (process.started.at, analysis.ranks[at].end);
                let sampled = sampled.get(at).and_then(Option::as_ref);
                let known = sampled.and_then(|sampled| sampled.presence(thread.number));
                // Nothing else says when a thread came that is not the process's first.
                let present = if number == 0 { Some(whole) } else { known };
                Filler { analysis, process, thread, location, whole, present }.fill(
                    &mut trace,
                    &mut calls,
                    &mut callers,
                );
                let at = ThreadAt { process: at, thread: number };
                iterations(analysis, at, location, &mut loops, &mut trace);
            }
        }
    }
    let mut pictures = Pictures::new(&sites, &mut callers);
    for (at, sampled) in sampled.iter().enumerate() {
        let Some(sampled) = sampled else { continue };
        let process = recording.processes.get(at);
        let threads = process.map_or(&[][..], |process| &process.threads);
        for (number, thread) in threads.iter().enumerate() {
            if let (Some(location), Some(process)) = (places.location(at, number), process) {
                let events = walk(recording, process, thread).events;
                sampled.add_caller(thread.number, location, &events, &mut pictures, &mut trace);
            }
        }
        if let Some(first) = places.location(at, threads.len()) {
            sampled.add_others(first, &mut pictures, &mut trace);
        }
    }
    let levels = pictures.label(&mut trace.labels, &mut trace.gaps);
    trace.gaps.merge(unresolved);
    samples::note_unplaced(&run_samples, sampled.iter().flatten().count(), &mut trace);
    add_messages(&messages::messages(recording, Nanos(u64::MAX)), &places, &mut trace);
    communicators(analysis, &mut trace);
    calls.label(&mut trace.labels);
    callers.label(levels, &mut trace.labels);
    names::states(&mut trace.labels);
    loops.label(&mut trace);
    in_order(&mut trace);
    trace
}

/// One application a world, one task a rank, also for ranks that left no record.
fn locations(
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

/// Inputs of one thread's walk.
struct Filler<'a> {
    analysis: &'a Analysis<'a>,
    process: &'a Process,
    thread: &'a Thread,
    location: u32,
    /// From the process's start to its end.
    whole: (Nanos, Nanos),
    /// When the thread was there; where nobody knows, it is from its first to its last call.
    present: Option<(Nanos, Nanos)>,
}

/// Properties that are the same at every visit of a node.
struct NodePlan {
    kind: Kind,
    send: SendPlan,
    collective: bool,
    comm: Option<usize>,
    root: Option<usize>,
    callers: Vec<(u32, i64)>,
}

impl Filler<'_> {
    fn plan(&self, node: usize, calls: &mut Calls, callers: &mut Callers<'_>) -> NodePlan {
        let none = ProcedureSpec { name: "?".to_owned(), args: Vec::new() };
        let signature = self.thread.log.nodes[node].signature;
        let procedures = &self.analysis.run.recording.procedures;
        let spec = procedures.get(usize::from(signature.procedure.0)).unwrap_or(&none);
        let send = SendPlan::for_procedure(spec);
        NodePlan {
            kind: calls.kind(&spec.name),
            collective: matches!(send.traffic, Traffic::Collective(_)),
            send,
            comm: spec.args.iter().position(|arg| arg.kind == ArgKind::Comm),
            root: spec.args.iter().position(|arg| arg.kind == ArgKind::Root),
            callers: callers.pairs(signature.path),
        }
    }

    fn fill(&self, trace: &mut Trace, calls: &mut Calls, callers: &mut Callers<'_>) {
        let recording = &self.analysis.run.recording;
        let nodes = self.thread.log.nodes.len();
        let plans: Vec<NodePlan> = (0..nodes).map(|node| self.plan(node, calls, callers)).collect();
        let place = (self.location, 0);
        let (start, end) = self.whole;
        let mut before = None;
        let state = |trace: &mut Trace, begin: Nanos, end: Nanos, state: u32| {
            if end > begin {
                let (location, cpu) = place;
                trace.push_state(StateRecord { location, cpu, begin: begin.0, end: end.0, state });
            }
        };
        let mut lists = recording.lists.cursor();
        let mut events = self.process.events(recording, self.thread);
        while let Some(event) = events.next_event() {
            let (Some(begin), Some(duration)) = (event.begin, event.duration) else { break };
            let Some(plan) = plans.get(event.node.0 as usize) else { continue };
            let end = begin + duration;
            let since = before.unwrap_or_else(|| {
                let came = self.present.map_or(begin, |(came, _)| came.max(start).min(begin));
                state(trace, start, came, types::NOT_CREATED);
                came
            });
            state(trace, since, begin, types::RUNNING);
            state(trace, begin, end, plan.kind.state);
            let mut kinds = vec![plan.kind.event];
            let mut values = vec![plan.kind.value];
            let mut pair = |kind: u32, value: i64| {
                kinds.push(kind);
                values.push(value);
            };
            plan.callers.iter().for_each(|&(kind, value)| pair(kind, value));
            if plan.collective {
                let bytes = plan.send.bytes(recording, self.process, event.args, &mut lists);
                pair(types::SEND_SIZE, i64::try_from(bytes.0).unwrap_or(i64::MAX));
                if let Some(&comm) = plan.comm.and_then(|at| event.args.get(at)) {
                    pair(types::COMMUNICATOR, comm.saturating_add(1));
                    let root = plan.root.and_then(|at| event.args.get(at));
                    if let Some(&root) = root
                        && recording.world_rank(self.process, Some(comm), root)
                            == Some(self.process.location.rank)
                    {
                        pair(types::ROOT, 1);
                    }
                }
            }
            trace.push_event(place, begin.0, &kinds, &values);
            trace.push_event(place, end.0, &[plan.kind.event], &[0]);
            before = Some(end);
        }
        let last = before.unwrap_or(start);
        let went = self.present.map_or(last, |(_, went)| went.min(end).max(last));
        state(trace, last, went, types::RUNNING);
        state(trace, went, end, types::NOT_CREATED);
    }
}

fn add_messages(found: &Messages, places: &Places, trace: &mut Trace) {
    for message in &found.all {
        let ends = places
            .location(message.from.0, message.from.1)
            .zip(places.location(message.to.0, message.to.1));
        let Some((sender, receiver)) = ends else { continue };
        trace.push_message(MessageRecord {
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
    if found.unmatched > 0 {
        trace.gaps.note(Gap {
            kind: GapKind::Missing,
            rank: None,
            detail: format!(
                "{} sends or receives whose other end was not found have no line",
                found.unmatched
            ),
            count: found.unmatched,
        });
    }
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

/// Records by time, as Paraver expects them; what happens at the same time stays in its order.
fn in_order(trace: &mut Trace) {
    use talea_model::trace::RecordKind::{Event, Message, State};
    let states = std::mem::take(&mut trace.states);
    let events = std::mem::take(&mut trace.events);
    let all_messages = std::mem::take(&mut trace.messages);
    trace.order.clear();
    let mut keys: Vec<(u64, u8, u32)> = Vec::new();
    keys.extend(states.begin.iter().zip(0..).map(|(&time, row)| (time, State as u8, row)));
    keys.extend(events.time.iter().zip(0..).map(|(&time, row)| (time, Event as u8, row)));
    keys.extend(
        all_messages.logical_send.iter().zip(0..).map(|(&time, row)| (time, Message as u8, row)),
    );
    keys.sort_unstable();
    for (_, kind, row) in keys {
        let row = row as usize;
        if kind == State as u8 {
            states.get(row).into_iter().for_each(|state| trace.push_state(state));
        } else if kind == Event as u8 {
            if let Some(event) = events.get(row) {
                trace.push_event(
                    (event.location, event.cpu),
                    event.time,
                    event.types,
                    event.values,
                );
            }
        } else {
            all_messages.get(row).into_iter().for_each(|message| trace.push_message(message));
        }
    }
}

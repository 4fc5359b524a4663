//! Calls of some ranks as rows, in the order of their begins.
//!
//! Owns the merge of the threads' walks and the columns of a call. Each walk is one call ahead of
//! the written rows. Calls without times stand at the end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

use parquet::errors::ParquetError;
use talea_flow::iterations::Iteration;
use talea_model::{ArgKind, ProcedureSpec, Rank};
use talea_run::Recording;
use talea_run::recording::{self, Event, Process, Thread};

use super::part::{Cell, Column, Kind, Part, int};
use crate::Analysis;
use crate::iterations::read_iterations;
use crate::location::ThreadAt;
use crate::sends::{Sends, Transfer};
use crate::walk::specs;

/// Columns of a call. `calls` exceeds 1 for a series of unsuccessful polls.
pub(super) const COLUMNS: [Column; 11] = [
    ("rank", Kind::Number),
    ("thread", Kind::Number),
    ("iteration", Kind::Ascending),
    ("procedure", Kind::Text),
    ("site", Kind::Text),
    ("site_id", Kind::Number),
    ("begin_ns", Kind::Ascending),
    ("duration_ns", Kind::Optional),
    ("bytes", Kind::Optional),
    ("peer", Kind::Optional),
    ("calls", Kind::Number),
];
const PROCEDURE: usize = 3;
const SITE: usize = 4;

/// Writes the calls of some threads; returns how many have no times.
pub(super) fn write(
    analysis: &Analysis<'_>,
    threads: impl Iterator<Item = ThreadAt>,
    part: &mut Part,
) -> Result<u64, ParquetError> {
    let mut walks: Vec<Walk<'_>> = threads.map(|at| Walk::new(analysis, at, part)).collect();
    let mut untimed = 0;
    let mut ahead: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for (number, walk) in walks.iter_mut().enumerate() {
        ahead.extend(walk.advance().map(|time| Reverse((time, number))));
    }
    while let Some(mut first) = ahead.peek_mut() {
        let Reverse((_, number)) = *first;
        let walk = &mut walks[number];
        untimed += u64::from(walk.call.duration.is_none());
        part.push(&walk.row())?;
        match walk.advance() {
            Some(time) => *first = Reverse((time, number)),
            None => {
                PeekMut::pop(first);
            }
        }
    }
    Ok(untimed)
}

/// A call that is not written yet.
#[derive(Default)]
struct Call {
    node: usize,
    iteration: Option<u64>,
    begin: Option<u64>,
    duration: Option<u64>,
    bytes: Option<u64>,
    peer: Option<Rank>,
    calls: u64,
}

/// Properties that are the same at every visit of a node: numbers of the texts, and of the site.
struct Node {
    procedure: u32,
    site: u32,
    site_id: u32,
    peer: Peer,
}

/// The walk through a thread's calls.
struct Walk<'a> {
    rank: Rank,
    thread: u32,
    recording: &'a Recording,
    process: &'a Process,
    events: recording::Events<'a>,
    sends: Sends<'a>,
    nodes: Vec<Node>,
    iterations: Iterations,
    call: Call,
    has_holes: bool,
    /// Place in time of the call.
    place: u64,
}

impl<'a> Walk<'a> {
    fn new(analysis: &'a Analysis<'_>, at: ThreadAt, part: &mut Part) -> Self {
        let recording = &analysis.run.recording;
        let process = analysis.process(at.process);
        let thread = analysis.recorded(at);
        let specs = specs(recording, thread);
        let nodes = nodes(analysis, thread, &specs, part);
        Self {
            rank: analysis.ranks[at.process].rank,
            thread: thread.number,
            recording,
            process,
            events: process.events(recording, thread),
            sends: Sends::new(recording, process, &specs),
            nodes,
            iterations: Iterations { each: read_iterations(analysis, at), event: 0, done: 0 },
            call: Call::default(),
            has_holes: thread.has_holes(),
            place: 0,
        }
    }

    /// Reads the next call; the place in time of its row.
    fn advance(&mut self) -> Option<u64> {
        let event = self.events.next_event()?;
        let node = event.node.0 as usize;
        // The only rank that the call exchanges data with.
        let mut peers: (Option<Rank>, bool) = (None, true);
        let bytes = self.sends.event(&event, |transfer| {
            let (Transfer::To(rank, _) | Transfer::From(rank, _)) = transfer;
            peers.1 &= peers.0.is_none_or(|known| known == rank);
            peers.0 = Some(rank);
        });
        let peer = match peers {
            (Some(rank), true) => Some(rank),
            (Some(_), false) => None,
            (None, _) => self.nodes[node].peer.rank(self.recording, self.process, &event),
        };
        // Ranks of a spawned world are shown after those of the worlds before it.
        let before = self.rank.0 - self.process.location.rank.0;
        self.call = Call {
            node,
            iteration: self.iterations.next_number(),
            begin: event.begin.map(|begin| begin.0),
            duration: event.duration.map(|duration| duration.0),
            bytes: bytes.map(|bytes| bytes.0),
            peer: peer.map(|peer| Rank(peer.0.saturating_add(before))),
            calls: event.polls,
        };
        // Calls without times among others are where they were made.
        self.place = match self.call.begin {
            Some(begin) => begin,
            None if self.has_holes => self.place,
            None => u64::MAX,
        };
        Some(self.place)
    }

    /// The row of the call that was read last.
    fn row(&self) -> [Cell; COLUMNS.len()] {
        let Call { node, iteration, begin, duration, bytes, peer, calls } = self.call;
        let node = &self.nodes[node];
        [
            Cell::Number(i64::from(self.rank.0)),
            Cell::Number(i64::from(self.thread)),
            Cell::Optional(iteration.map(int)),
            Cell::Name(node.procedure),
            Cell::Name(node.site),
            Cell::Number(i64::from(node.site_id)),
            Cell::Optional(begin.map(int)),
            Cell::Optional(duration.map(int)),
            Cell::Optional(bytes.map(int)),
            Cell::Optional(peer.map(|peer| i64::from(peer.0))),
            Cell::Number(int(calls)),
        ]
    }
}

fn nodes(
    analysis: &Analysis<'_>,
    thread: &Thread,
    specs: &[ProcedureSpec],
    part: &mut Part,
) -> Vec<Node> {
    let nodes = thread.log.nodes.iter().zip(specs);
    nodes
        .map(|(node, spec)| Node {
            procedure: part.name(PROCEDURE, &spec.name),
            site: part.name(SITE, &analysis.places.short(node.signature.path)),
            // The table has a site for each node of each thread.
            site_id: analysis.calls.number(node.signature).unwrap_or(u32::MAX),
            peer: Peer::for_procedure(spec),
        })
        .collect()
}

/// Numbers of the iterations of a thread's calls.
struct Iterations {
    each: Arc<[Iteration]>,
    /// Place of the next call among those of the thread.
    event: usize,
    /// Number of those that have ended.
    done: usize,
}

impl Iterations {
    /// The iteration of the next call; absent outside.
    fn next_number(&mut self) -> Option<u64> {
        let event = self.event;
        self.event += 1;
        while self.each.get(self.done).is_some_and(|one| one.events.end <= event) {
            self.done += 1;
        }
        self.each.get(self.done)?.events.contains(&event).then_some(self.done as u64)
    }
}

/// Places of the arguments that name the other end of a message that the call itself does not send.
#[derive(Clone, Copy)]
struct Peer {
    rank: Option<usize>,
    /// The matched source, where the call may receive from any rank.
    matched: Option<usize>,
    comm: Option<usize>,
}

impl Peer {
    fn for_procedure(spec: &ProcedureSpec) -> Self {
        let place = |name: &str| spec.args.iter().position(|arg| arg.name == name);
        Self {
            rank: place("dest").or_else(|| place("source")),
            matched: place("status.source").filter(|_| place("source").is_some()),
            comm: spec.args.iter().position(|arg| arg.kind == ArgKind::Comm),
        }
    }

    /// The rank in the world; absent for wild cards, `MPI_PROC_NULL`, and other worlds.
    fn rank(self, recording: &Recording, process: &Process, event: &Event<'_>) -> Option<Rank> {
        let value = |at: Option<usize>| event.args.get(at?).copied();
        let known = |rank| recording.world_rank(process, value(self.comm), rank);
        value(self.rank).and_then(known).or_else(|| value(self.matched).and_then(known))
    }
}

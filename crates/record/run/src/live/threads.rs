//! Parses the threads of a live file: their nodes, and the streams of each.
//!
//! Owns the conversion from a thread's record to its log, and the table of call paths that nodes
//! share. Trusts nothing, like [`super::read`], which it is a part of.

use std::collections::HashMap;
use std::mem::offset_of;

use talea_flow::cycles::{Cycles, CyclesBuilder};
use talea_flow::log::{NodeLog, ThreadLog};
use talea_flow::times::Quantiser;
use talea_model::{Nanos, NodeId, PathId, ProcedureId, ProcedureSpec, Signature};

use super::layout::{Header, INLINE_FRAMES, Node, PathFrame, Thread, TimesMode};
use super::numbers::Cursor;
use super::pieces::{Joined, KeptThread, Piece, join};
use super::settle::settle;
use super::streams::{Circle, File};
use crate::limits::{MOST_EVENTS, MOST_FRAMES};

/// One thread of the recorded program.
#[derive(Debug)]
pub struct LiveThread {
    /// Its record in the file.
    pub thread: Thread,
    /// Graph and streams.
    pub log: ThreadLog,
    /// Exact sums for each node.
    pub sums: Vec<NodeSums>,
    /// Cells of gap and duration of each event, in the recorder's form; empty for a ring.
    pub times: Vec<u8>,
    /// Times of a ring.
    pub pieces: Vec<Piece>,
    /// Earlier times, which a reader of the ring kept.
    pub kept: KeptThread,
    /// Calls that were only counted, for each procedure number.
    pub counts: Vec<(u16, u64)>,
}

impl LiveThread {
    /// True if its times are in pieces.
    pub(crate) fn is_in_pieces(&self) -> bool {
        !self.pieces.is_empty() || !self.kept.pieces.is_empty()
    }

    /// Its pieces as one stream.
    pub(crate) fn joined(&self, mode: TimesMode, quantiser: &Quantiser) -> Joined {
        join(&self.kept, &self.pieces, self.log.events, mode, quantiser)
    }
}

/// Exact sums of the recorder for each node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeSums {
    /// Sum of durations in nanoseconds.
    pub duration: u64,
    /// Sum of the gaps before its visits in nanoseconds.
    pub gap: u64,
    /// Shortest duration.
    pub min: u64,
    /// Longest duration.
    pub max: u64,
}

impl NodeSums {
    /// The sums of no visit.
    pub const NONE: Self = Self { duration: 0, gap: 0, min: u64::MAX, max: 0 };

    /// Counts one visit.
    pub fn add(&mut self, gap: Nanos, duration: Nanos) {
        self.gap = self.gap.wrapping_add(gap.0);
        self.duration = self.duration.wrapping_add(duration.0);
        self.min = self.min.min(duration.0);
        self.max = self.max.max(duration.0);
    }
}

/// Common data of the threads of a process during reading.
pub(super) struct Threads<'a> {
    file: &'a File<'a>,
    /// Version of the layout.
    version: u32,
    is_ring: bool,
    procedure_count: u32,
    /// Places in the table by number.
    procedures: HashMap<u16, usize>,
    pub(super) paths: Vec<Vec<PathFrame>>,
    path_ids: HashMap<Vec<(u32, u64)>, u32>,
    pub(super) damage: Vec<String>,
}

impl<'a> Threads<'a> {
    /// Threads of a file with this head and table of procedures.
    pub(super) fn new(
        file: &'a File<'a>,
        version: u32,
        header: &Header,
        procedures: &[(u16, ProcedureSpec)],
    ) -> Self {
        let mut places = HashMap::new();
        for (place, (number, _)) in procedures.iter().enumerate() {
            places.entry(*number).or_insert(place);
        }
        Self {
            file,
            version,
            is_ring: header.ring != 0,
            procedure_count: header.procedure_count,
            procedures: places,
            paths: Vec::new(),
            path_ids: HashMap::new(),
            damage: Vec::new(),
        }
    }
    pub(super) fn read(&mut self, thread: &Thread) -> LiveThread {
        let file = self.file;
        if thread.events > MOST_EVENTS {
            self.damage.push(format!(
                "a thread claims {} calls, expected at most {MOST_EVENTS}",
                thread.events
            ));
        }
        let events = thread.events.min(MOST_EVENTS);
        let mut log = ThreadLog { nodes: Vec::new(), events };
        let mut sums = Vec::new();
        let mut offset = thread.first_node;
        let size = self.node_bytes();
        while let Some(node) = self.node_at(offset) {
            if node.index as usize != log.nodes.len() {
                self.damage.push(format!("node at offset {offset} has number {}", node.index));
                break;
            }
            if !file.spend(size) {
                break;
            }
            sums.push(NodeSums {
                duration: node.duration_sum,
                gap: node.gap_sum,
                min: node.duration_min,
                max: node.duration_max,
            });
            let node_log = self.node(&node, events);
            log.nodes.push(node_log);
            // Allocated in this order and without overlap, which also ends a cycle.
            if node.next < offset + size as u64 {
                break;
            }
            offset = node.next;
        }
        settle(&mut log);
        let mut counts = Vec::new();
        for index in 0..u64::from(self.procedure_count.min(4096)) {
            let offset = thread.counts.checked_add(8 * index).filter(|_| thread.counts != 0);
            if let Some(count) = offset.and_then(|o| file.get::<u64>(o)).filter(|&c| c > 0) {
                counts.push((index as u16, count.min(MOST_EVENTS)));
            }
        }
        let (times, pieces) = if self.is_ring {
            (Vec::new(), file.ring(&thread.times))
        } else {
            (file.stream(&thread.times), Vec::new())
        };
        LiveThread {
            thread: *thread,
            log,
            sums,
            times,
            pieces,
            kept: KeptThread::default(),
            counts,
        }
    }

    /// Bytes of a node in this version.
    fn node_bytes(&self) -> usize {
        if self.version < 2 { offset_of!(Node, outer_path) } else { size_of::<Node>() }
    }

    fn node_at(&self, offset: u64) -> Option<Node> {
        self.file.get_first(offset, self.node_bytes())
    }

    fn path(&mut self, node: &Node) -> PathId {
        let frames = usize::from(node.path_len).min(MOST_FRAMES);
        let mut path = node.path[..frames.min(INLINE_FRAMES)].to_vec();
        let outer = (0..frames.saturating_sub(INLINE_FRAMES) as u64)
            .map_while(|i| {
                let at = node.outer_path.checked_add(size_of::<PathFrame>() as u64 * i)?;
                self.file.get::<PathFrame>(at).filter(|_| node.outer_path != 0)
            })
            .take_while(|_| self.file.spend(size_of::<PathFrame>()));
        path.extend(outer);
        let key = path.iter().map(|frame| (frame.module, frame.offset)).collect();
        let next = self.paths.len() as u32;
        let id = *self.path_ids.entry(key).or_insert(next);
        if id == next {
            self.paths.push(path);
        }
        PathId(id)
    }

    fn node(&mut self, node: &Node, events: u64) -> NodeLog {
        let file = self.file;
        let path = self.path(node);
        let procedure = self.procedures.get(&node.procedure).copied();
        if procedure.is_none() {
            self.damage.push(format!(
                "node {}: procedure {} is not in the table",
                node.index, node.procedure
            ));
        }
        let successors = (0..u64::from(node.choices.count.min(node.successor_cap)))
            .map_while(|i| file.get::<u32>(node.successors.checked_add(4 * i)?))
            .take_while(|_| file.spend(size_of::<u32>()))
            .map(NodeId)
            .collect();
        let mut choices = CyclesBuilder::new();
        file.symbols(&node.choices, false, events, 1, |next| {
            choices.repeat(next.cycle, next.laps);
            choices.kept()
        });

        let columns_count = node.columns.min(64) as usize;
        let mut columns = vec![CyclesBuilder::new(); columns_count];
        let values = file.stream(&node.values);
        let mut from = Cursor::new(&values);
        let mut slots: Vec<Vec<i64>> = Vec::new();
        let mut newest = vec![0_i64; columns_count];
        let mut complete = true;
        let mut visits = 0_u64;
        let mut column_cycle = Vec::new();
        file.symbols(&node.tuples, true, events, 1 + columns_count as u64, |circle| {
            let Circle { cycle, laps, new } = circle;
            let lap = cycle.iter().fold(0_u64, |sum, &(_, run)| sum.saturating_add(run));
            visits = visits.saturating_add(lap.saturating_mul(laps));
            if new {
                complete &= next_tuple(&mut from, &mut newest).is_some();
                let slot = cycle[0].0 as usize;
                if slot == slots.len() {
                    slots.push(newest.clone());
                } else if let Some(place) = slots.get_mut(slot) {
                    place.clone_from(&newest);
                }
            }
            for (at, column) in columns.iter_mut().enumerate() {
                let value = |slot: u32| slots.get(slot as usize).and_then(|tuple| tuple.get(at));
                column_cycle.clear();
                column_cycle
                    .extend(cycle.iter().filter_map(|&(slot, run)| Some((*value(slot)?, run))));
                column.repeat(&column_cycle, laps);
            }
            columns.iter().map(CyclesBuilder::kept).sum::<u64>() + slots.len() as u64
        });
        if !complete {
            self.damage.push(format!("node {}: arguments end early", node.index));
        }
        let mut polls = CyclesBuilder::new();
        let content = file.stream(&node.polls);
        let mut from = Cursor::new(&content);
        while let (Some(single), Some(count)) = (from.number(), from.number()) {
            polls.push(1, single);
            polls.push(count, 1);
        }
        if !polls.is_empty() {
            polls.push(1, node.single);
        }
        NodeLog {
            signature: Signature { procedure: ProcedureId(procedure.unwrap_or(0) as u16), path },
            visits,
            successors,
            choices: choices.into(),
            columns: columns.into_iter().map(Cycles::from).collect(),
            polls: polls.into(),
        }
    }
}

fn next_tuple(from: &mut Cursor<'_>, tuple: &mut [i64]) -> Option<()> {
    let mut changed = from.number()?;
    while changed != 0 {
        let column = changed.trailing_zeros() as usize;
        changed &= changed - 1;
        let value = tuple.get_mut(column)?;
        *value = value.wrapping_add(from.signed()?);
    }
    Some(())
}

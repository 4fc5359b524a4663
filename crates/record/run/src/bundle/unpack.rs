//! From a bundle to a recording whose ids are the same for all ranks.
//!
//! Owns the translation of streams back, and all checks: a bundle read from a file may have any
//! content.

use std::collections::HashMap;

use talea_flow::cycles::Cycles;
use talea_flow::log::{NodeLog, ThreadLog};
use talea_model::{
    ArgKind, Frame, GapKind, Gaps, Location, NodeId, PathId, ProcedureId, Rank, Signature,
};

use super::decoded::{ColumnKey, Decoded, Meaning};
use super::gaps::{gap_of, note_missing, note_process};
use super::peers::value_of;
use super::source::{Opened, ProcessTimes};
use super::type_lists::TypeLists;
use super::{Bundle, Clock, Column, Process, Thread};
use crate::clock::ClockMap;
use crate::limits::{Limits, MOST_EVENTS};
use crate::lists::Lists;
use crate::live::layout::{TimesMode, state};
use crate::live::numbers::Cursor;
use crate::places::ThreadPlace;
use crate::pu_time;
use crate::recording::{self, Ended, Open, Recording, Sizes, Started};

impl Bundle {
    /// The recording; `times` has the times of each process. Worlds are numbered in the order of
    /// their earliest process.
    pub fn into_recording(
        self,
        times: impl IntoIterator<Item: Into<ProcessTimes>>,
        sizes: Sizes,
    ) -> Recording {
        let limits = Limits::of_processes(self.processes.len());
        self.into_recording_within(times, sizes, limits)
    }

    /// As [`Self::into_recording`], within these limits.
    pub fn into_recording_within(
        self,
        times: impl IntoIterator<Item: Into<ProcessTimes>>,
        sizes: Sizes,
        limits: Limits,
    ) -> Recording {
        let mut times = times.into_iter();
        let mut opened: Vec<Opened> = Vec::with_capacity(self.processes.len());
        for process in &self.processes {
            let own = times.next().map_or_else(|| ProcessTimes::Packed(Vec::new()), Into::into);
            opened.push(own.open(process.threads.len(), process.version));
        }
        let clocks: Vec<Clock> = opened.iter().map(|times| times.clock.clone()).collect();
        let worlds = self.worlds(&clocks);
        let start = clocks.iter().map(Clock::begin).min().unwrap_or(0);
        let mut gaps = Gaps::default();
        let decoded = Decoded::new(&self, limits);
        let mut processes: Vec<recording::Process> = Vec::new();
        let hosts = self.processes.iter().zip(&clocks);
        let mut hosts = hosts.filter(|(_, clock)| clock.offset[2] == 0);
        let reference = hosts.next().map(|(one, _)| one.host);
        for ((process, clock), times) in self.processes.iter().zip(&clocks).zip(opened) {
            let world = worlds.get(&process.world).copied().unwrap_or(0);
            let rank = Rank(process.rank.max(0) as u32);
            note_process(process, clock, rank, &mut gaps);
            // Ranks of a world measure the offsets of their clocks, and observers those of other
            // processes, to the one host without an observer.
            let is_reference = clock.offset[2] == 0;
            if process.world == 0
                && is_reference
                && reference.is_some_and(|one| one != process.host)
            {
                let what = "its times are from another clock, nobody knows how far apart";
                gaps.note(gap_of(GapKind::Estimated, rank, what, 0));
            }
            let clocks = (clock.started(start), clock.map(start));
            processes.push(self.process(process, world, rank, clocks, &decoded, times, &mut gaps));
        }
        processes.sort_by_key(|p| p.location);
        note_missing(&processes, &mut gaps);
        let start_realtime = clocks.iter().map(|c| c.start_realtime).min().unwrap_or(0);
        Recording {
            processes,
            procedures: self.procedures.values().to_vec(),
            modules: self.modules.values().to_vec(),
            paths: self
                .paths
                .values()
                .iter()
                .map(|path| path.iter().map(|&(module, offset)| Frame { module, offset }).collect())
                .collect(),
            comms: self.comms.values().to_vec(),
            datatypes: self.datatypes.values().to_vec(),
            ops: self.ops.values().to_vec(),
            lists: self.all_lists(),
            times: TimesMode::from_number(self.settings.times).unwrap_or(TimesMode::Bounded),
            bound: self.settings.bound,
            calls_all: self.settings.calls_all,
            start_realtime,
            sizes,
            identity: None,
            gaps,
        }
    }

    /// The table of lists, then that of lists of datatypes.
    fn all_lists(&self) -> Lists {
        let mut all = self.lists.lists().clone();
        for list in self.type_lists.values() {
            all.push(list);
        }
        all
    }

    /// Numbers of the worlds.
    fn worlds(&self, clocks: &[Clock]) -> HashMap<u64, u32> {
        let mut starts: HashMap<u64, (usize, u64)> = HashMap::new();
        for (process, clock) in self.processes.iter().zip(clocks) {
            let met = starts.len();
            let (_, start) = starts.entry(process.world).or_insert((met, u64::MAX));
            *start = (*start).min(clock.start_realtime);
        }
        let mut worlds: Vec<(u64, (usize, u64))> = starts.into_iter().collect();
        // Processes killed before they knew their world come last.
        worlds.sort_by_key(|&(world, (met, start))| (world == 0, start, met));
        worlds.iter().zip(0..).map(|(&(world, _), number)| (world, number)).collect()
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one place puts a process together from all its parts"
    )]
    fn process(
        &self,
        process: &Process,
        world: u32,
        rank: Rank,
        (started, clock): (Started, ClockMap),
        decoded: &Decoded<'_>,
        mut times: Opened,
        gaps: &mut Gaps,
    ) -> recording::Process {
        let mut threads: Vec<recording::Thread> = process
            .threads
            .iter()
            .zip(0..)
            .map(|(thread, number)| {
                let Some(thread) = self.thread(process, thread, number, decoded, &mut times) else {
                    let what = match decoded.refusal.take() {
                        Some(refusal) => format!("thread {number} {refusal}"),
                        None => format!("the streams of thread {number} cannot be read"),
                    };
                    gaps.note(gap_of(GapKind::Damaged, rank, &what, 0));
                    return recording::Thread::default();
                };
                let events = thread.log.events;
                let kept = thread.times.kept;
                let holes = thread.times.holes.iter();
                let left_out = holes.fold(0, |sum: u64, hole| sum.saturating_add(hole.events));
                if left_out > 0 {
                    let what = format!(
                        "times of {kept} of {events} calls were kept, of the others only sums"
                    );
                    gaps.note(gap_of(GapKind::Estimated, rank, &what, left_out));
                }
                let untimed = events.saturating_sub(kept).saturating_sub(left_out);
                if untimed > 0 && self.settings.times != TimesMode::Statistics as u32 {
                    let what = format!("the last {untimed} of {events} calls have no times");
                    // Times are dropped first, for lack of either kind of room.
                    let disk = process.lost[1] > 0;
                    let kind = if disk { GapKind::DiskFull } else { GapKind::MemoryBound };
                    gaps.note(gap_of(kind, rank, &what, untimed));
                }
                thread
            })
            .collect();
        let mut from = Cursor::new(&times.pu_times);
        for group in threads.iter_mut().flat_map(|thread| &mut thread.times.history) {
            group.begin = clock.nanos(group.begin.0);
        }
        for thread in &mut threads {
            let Some(readings) = pu_time::get(&mut from, |nominal| clock.nanos(nominal)) else {
                break;
            };
            thread.pu_times = readings;
        }
        let text = |id: u32| self.texts.get(id).cloned().unwrap_or_default();
        let places = process
            .places
            .iter()
            .map(|place| ThreadPlace {
                tid: place.tid,
                name: text(place.name),
                allowed: text(place.allowed),
                last: place.last,
                busy: ThreadPlace::of_steps(place.busy),
            })
            .collect();
        let mut open = process.open.iter().filter_map(|&[procedure, path, begin, polls]| {
            self.procedures.get(procedure as u32)?;
            self.paths.get(path as u32)?;
            Some(Open {
                procedure: ProcedureId(procedure as u16),
                path: PathId(path as u32),
                begin: clock.nanos(begin),
                polls,
            })
        });
        recording::Process {
            location: Location { world, rank, thread: 0 },
            world_size: process.size,
            host: text(process.host),
            pid: process.pid,
            library: text(process.library),
            started,
            ended: match process.state {
                state::FINALIZED => Ended::Finalized,
                state::ABORTED => Ended::Aborted(process.abort_code),
                state::EXITED => Ended::Exited,
                state::RUNNING => Ended::Running,
                _ => Ended::Killed,
            },
            open: open.next(),
            polling: open.collect(),
            threads,
            places,
            clock,
        }
    }

    fn thread(
        &self,
        process: &Process,
        thread: &Thread,
        number: u32,
        decoded: &Decoded<'_>,
        times: &mut Opened,
    ) -> Option<recording::Thread> {
        // First, so that the next thread gets its own also where this one cannot be read.
        let nodes = self.bodies.get(thread.body).and_then(|body| self.graphs.get(body.graph));
        let mode = TimesMode::from_number(self.settings.times).unwrap_or(TimesMode::Bounded);
        let (times, sums) = times.next_thread(nodes.map_or(0, |graph| graph.nodes.len()), mode);
        let body = self.bodies.get(thread.body)?;
        let graph = self.graphs.get(body.graph)?;
        decoded.claim(graph, body.columns.len())?;
        let mut columns = body.columns.iter();
        let mut peers = self.numbers.get(thread.peers)?.iter();
        let map = |id: u32| self.numbers.get(id).map_or(&[][..], Vec::as_slice);
        let first = self.lists.len() as i64;
        let type_lists = TypeLists::new(map(process.type_list_map), first);
        let mut nodes: Vec<NodeLog> = Vec::new();
        for (node, &polls) in graph.nodes.iter().zip(&body.polls) {
            let procedure = self.procedures.get(node.procedure)?;
            self.paths.get(node.path)?;
            let choices = if node.choices == 0 {
                // Only a last event without successors has no choice at all.
                let count = if node.successors.is_empty() { 0 } else { node.visits };
                Cycles::from_runs([(0, count)])
            } else {
                let last = u64::from(nodes.len() as u32 == graph.last);
                decoded.choices(node.choices - 1, node.visits.checked_sub(last)?)?
            };
            let mut node_columns = Vec::new();
            for arg in &procedure.args {
                let &Column { stream, base, step } = columns.next()?;
                let column =
                    |meaning| ColumnKey { stream, length: node.visits, base, step, meaning };
                let mapped = |id: u32| {
                    let map = map(id);
                    let meaning = |own| usize::try_from(own).ok().and_then(|own| map.get(own));
                    let meaning = |own| meaning(own).copied().unwrap_or(own);
                    decoded.column(column(Meaning::Map(id)), meaning)
                };
                node_columns.push(match arg.kind {
                    ArgKind::Peer => {
                        let count = usize::try_from(*peers.next()?).ok()?;
                        let meant = peers.by_ref().take(count);
                        let meant: Vec<i64> =
                            meant.map(|&one| value_of(one, process.rank)).collect();
                        let value = |own| usize::try_from(own).ok().and_then(|own| meant.get(own));
                        decoded.column(column(Meaning::OwnRank), |own| {
                            value(own).copied().unwrap_or_default()
                        })?
                    }
                    ArgKind::Comm => mapped(process.comm_map)?,
                    ArgKind::Datatype => mapped(process.datatype_map)?,
                    ArgKind::Op => mapped(process.op_map)?,
                    ArgKind::Datatypes => {
                        let meaning = Meaning::Types(process.type_list_map);
                        decoded.column(column(meaning), |own| type_lists.list(own))?
                    }
                    ArgKind::List | ArgKind::Peers | ArgKind::Requests => mapped(process.list_map)?,
                    _ => decoded.column(column(Meaning::Itself), |own| own)?,
                });
            }
            let polls =
                if polls == 0 { Cycles::new() } else { decoded.polls(polls - 1, node.visits)? };
            nodes.push(NodeLog {
                signature: Signature {
                    procedure: ProcedureId(node.procedure as u16),
                    path: PathId(node.path),
                },
                visits: node.visits,
                successors: node.successors.iter().map(|&n| NodeId(n)).collect(),
                choices,
                columns: node_columns,
                polls,
            });
        }
        let counts = map(thread.counts)
            .chunks_exact(2)
            .filter(|pair| {
                usize::try_from(pair[0]).is_ok_and(|p| p < self.procedures.values().len())
            })
            .map(|pair| {
                let count = u64::try_from(pair[1]).unwrap_or(0).min(MOST_EVENTS);
                (ProcedureId(pair[0] as u16), count)
            })
            .collect();
        Some(recording::Thread {
            number,
            sums,
            counts,
            log: ThreadLog { nodes, events: graph.events },
            times,
            ..recording::Thread::default()
        })
    }
}

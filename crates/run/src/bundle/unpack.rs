//! From a bundle to a recording whose ids are the same for all ranks.
//!
//! Owns the translation of streams back, and all checks: a bundle read from a file may say anything.

use talea_flow::codec::sequence;
use talea_flow::log::{NodeLog, Runs, ThreadLog};
use talea_model::{
    ArgKind, Frame, Gap, GapKind, Gaps, Location, Nanos, NodeId, PathId, ProcedureId, Rank,
    Signature,
};

use super::{Bundle, Clock, Process, Thread};
use crate::clock::{ClockMap, SyncPoint};
use crate::live::layout::{TimesMode, state};
use crate::live::read::{LiveProcess, NodeSums};
use crate::live::record::{Cursor, get_list, put_list, put_number, put_signed};
use crate::recording::{self, Ended, Open, Recording, Sizes, Times};

/// The call that had not returned: its node, ticks at its begin, and polls.
pub(super) fn open_of(live: &LiveProcess) -> Option<(&NodeLog, u64, u64)> {
    if live.header.state != state::RECORDING {
        return None;
    }
    let thread = live.threads.first()?;
    let record = &thread.thread;
    let (number, ticks) = if record.open_node > 0 {
        (record.open_node - 1, record.open_begin)
    } else if record.poll_node > 0 {
        (record.poll_node - 1, record.poll_begin)
    } else {
        return None;
    };
    let polls = if record.poll_node == number + 1 { record.poll_count } else { 1 };
    Some((thread.log.nodes.get(number as usize)?, ticks, polls))
}

impl Recording {
    /// Brings the processes of a run together, read from their mapped files.
    pub fn from_live(live: &[LiveProcess]) -> Self {
        let mut all: Option<Bundle> = None;
        for process in live {
            let bundle = Bundle::of(process);
            match &mut all {
                None => all = Some(bundle),
                Some(all) => all.merge(&bundle),
            }
        }
        let sizes = Sizes::default();
        let Some(mut all) = all else {
            return Bundle::empty(super::Settings::default()).into_recording(&[], sizes);
        };
        let times = all.take_times();
        all.into_recording(&times, sizes)
    }
}

impl Bundle {
    /// The recording; `times` has the packed times of each process (empty where they are lost). Worlds are numbered in the
    /// order of their earliest process.
    pub fn into_recording(self, times: &[Vec<u8>], sizes: Sizes) -> Recording {
        let mut times: Vec<Cursor<'_>> = times.iter().map(|t| Cursor::new(t)).collect();
        times.resize(self.processes.len(), Cursor::new(&[]));
        let clocks: Vec<Clock> =
            times.iter_mut().map(|t| Clock::get(t).unwrap_or_default()).collect();
        let mut worlds: Vec<(u64, u64)> = Vec::new();
        for (process, clock) in self.processes.iter().zip(&clocks) {
            match worlds.iter_mut().find(|(_, world)| *world == process.world) {
                Some((start, _)) => *start = (*start).min(clock.start_realtime),
                None => worlds.push((clock.start_realtime, process.world)),
            }
        }
        // Processes killed before they knew their world come last.
        worlds.sort_by_key(|&(start, world)| (world == 0, start));
        let start = clocks.iter().map(Clock::begin).min().unwrap_or(0);
        let mut gaps = Gaps::default();
        let decoded = Decoded::new(&self);
        let mut processes: Vec<recording::Process> = Vec::new();
        for ((process, clock), times) in self.processes.iter().zip(&clocks).zip(times) {
            let world = worlds.iter().position(|(_, w)| *w == process.world).unwrap_or(0) as u32;
            let rank = Rank(process.rank.max(0) as u32);
            note_gaps(process, clock, rank, &mut gaps);
            let clock = clock.map(start);
            processes.push(self.process(process, world, rank, clock, &decoded, times, &mut gaps));
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
            lists: self.lists.values().to_vec(),
            times: TimesMode::from_number(self.settings.times).unwrap_or(TimesMode::Bounded),
            bound: self.settings.bound,
            calls_all: self.settings.calls_all,
            start_realtime,
            sizes,
            gaps,
        }
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
        clock: ClockMap,
        decoded: &Decoded<'_>,
        mut from: Cursor<'_>,
        gaps: &mut Gaps,
    ) -> recording::Process {
        let threads = process
            .threads
            .iter()
            .zip(0..)
            .map(|(thread, number)| {
                let times = from
                    .number()
                    .and_then(|length| from.take(usize::try_from(length).ok()?))
                    .unwrap_or_default();
                let Some(thread) = self.thread(process, thread, number, decoded, times) else {
                    let what = format!("the streams of thread {number} cannot be read");
                    gaps.note(gap_of(GapKind::Damaged, rank, &what, 0));
                    return recording::Thread::default();
                };
                let events = thread.log.events;
                let untimed = events.saturating_sub(thread.times.kept);
                if untimed > 0 && self.settings.times != TimesMode::Statistics as u32 {
                    let what = format!("the last {untimed} of {events} calls have no times");
                    gaps.note(gap_of(GapKind::MemoryBound, rank, &what, untimed));
                }
                thread
            })
            .collect();
        recording::Process {
            location: Location { world, rank, thread: 0 },
            world_size: process.size,
            host: self.texts.get(process.host).cloned().unwrap_or_default(),
            pid: process.pid,
            library: self.texts.get(process.library).cloned().unwrap_or_default(),
            ended: match process.state {
                state::FINALIZED => Ended::Finalized,
                state::ABORTED => Ended::Aborted(process.abort_code),
                state::EXITED => Ended::Exited,
                _ => Ended::Killed,
            },
            open: process.open.and_then(|[procedure, path, begin, polls]| {
                self.procedures.get(procedure as u32)?;
                self.paths.get(path as u32)?;
                Some(Open {
                    procedure: ProcedureId(procedure as u16),
                    path: PathId(path as u32),
                    begin: clock.nanos(begin),
                    polls,
                })
            }),
            threads,
            clock,
        }
    }

    fn thread(
        &self,
        process: &Process,
        thread: &Thread,
        number: u32,
        decoded: &Decoded<'_>,
        times: &[u8],
    ) -> Option<recording::Thread> {
        let body = self.bodies.get(thread.body)?;
        let graph = self.graphs.get(body.graph)?;
        let columns_count = body.streams.len().checked_sub(graph.nodes.len())?;
        let (columns, polls) = body.streams.split_at(columns_count);
        let mut columns = columns.iter();
        let mut peers = self.numbers.get(thread.peers)?.iter();
        let map = |id: u32| self.numbers.get(id).map_or(&[][..], Vec::as_slice);
        let mut nodes = Vec::new();
        for (node, &polls) in graph.nodes.iter().zip(polls) {
            let procedure = self.procedures.get(node.procedure)?;
            self.paths.get(node.path)?;
            let choices = if node.choices == 0 {
                // Only a last event without successors has no choice at all.
                let count = if node.successors.is_empty() { 0 } else { node.visits };
                let mut runs = Runs::new();
                runs.push(0, count);
                runs
            } else {
                let last = u64::from(nodes.len() as u32 == graph.last);
                let choices = decoded.stream(node.choices - 1, node.visits.checked_sub(last)?)?;
                map_runs(&choices, |v| u32::try_from(v).unwrap_or(u32::MAX))
            };
            let mut node_columns = Vec::new();
            for arg in &procedure.args {
                let column = decoded.stream(*columns.next()?, node.visits)?;
                node_columns.push(match arg.kind {
                    ArgKind::Peer => {
                        let count = *peers.next()?;
                        let meant: Vec<i64> =
                            peers.by_ref().take(usize::try_from(count).ok()?).copied().collect();
                        map_runs(&column, |v| {
                            let meant = usize::try_from(v)
                                .ok()
                                .and_then(|v| meant.get(v))
                                .copied()
                                .unwrap_or(1);
                            super::pack::value_of(meant, process.rank)
                        })
                    }
                    ArgKind::Comm => mapped(&column, map(process.comm_map)),
                    ArgKind::Datatype => mapped(&column, map(process.datatype_map)),
                    ArgKind::Op => mapped(&column, map(process.op_map)),
                    ArgKind::List | ArgKind::Peers | ArgKind::Requests => {
                        mapped(&column, map(process.list_map))
                    }
                    _ => column,
                });
            }
            let polls = if polls == 0 {
                Runs::new()
            } else {
                map_runs(&decoded.stream(polls - 1, node.visits)?, |v| v.max(0) as u64)
            };
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
            .map(|pair| (ProcedureId(pair[0] as u16), pair[1].max(0) as u64))
            .collect();
        let statistics = self.settings.times == TimesMode::Statistics as u32;
        let times = read_times(times, nodes.len(), statistics);
        let sums = if statistics { times.corrections.clone() } else { Vec::new() };
        Some(recording::Thread {
            number,
            log: ThreadLog { nodes, events: graph.events },
            sums,
            counts,
            times,
        })
    }
}

/// Packed cells, and for each node what its exact sums are more than the sums of its restored times.
fn read_times(bytes: &[u8], nodes: usize, statistics: bool) -> Times {
    let mut from = Cursor::new(bytes);
    let mut read = || {
        let kept = from.number()?;
        let length = usize::try_from(from.number()?).ok()?;
        let cells = from.take(length)?.to_vec();
        let mut sums = Vec::new();
        for _ in 0..nodes {
            let (gap, duration) = (from.signed()?, from.signed()?);
            let (min, max) = if statistics { (from.number()?, from.number()?) } else { (0, 0) };
            sums.push(NodeSums { duration: duration as u64, gap: gap as u64, min, max });
        }
        Some(Times { kept, cells, corrections: sums })
    };
    read().unwrap_or_default()
}

fn map_runs<T: Copy + PartialEq>(runs: &Runs<i64>, mut meaning: impl FnMut(i64) -> T) -> Runs<T> {
    let mut out = Runs::new();
    for &(value, count) in runs.runs() {
        out.push(meaning(value), count);
    }
    out
}

fn mapped(runs: &Runs<i64>, map: &[i64]) -> Runs<i64> {
    map_runs(runs, |v| usize::try_from(v).ok().and_then(|v| map.get(v)).copied().unwrap_or(v))
}

/// Streams, decoded once each.
struct Decoded<'a> {
    bundle: &'a Bundle,
    cache: std::cell::RefCell<std::collections::HashMap<(u32, u64), Runs<i64>>>,
}

impl<'a> Decoded<'a> {
    fn new(bundle: &'a Bundle) -> Self {
        Self { bundle, cache: std::cell::RefCell::default() }
    }

    fn stream(&self, id: u32, length: u64) -> Option<Runs<i64>> {
        if let Some(runs) = self.cache.borrow().get(&(id, length)) {
            return Some(runs.clone());
        }
        let runs = sequence::decode_all(self.bundle.streams.get(id)?, length).ok()?;
        self.cache.borrow_mut().insert((id, length), runs.clone());
        Some(runs)
    }
}

impl Clock {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_number(out, self.start_realtime);
        put_number(out, self.start_nanos);
        self.offset.iter().for_each(|&n| put_signed(out, n));
        put_list(out, &self.readings);
    }

    fn get(from: &mut Cursor<'_>) -> Option<Self> {
        Some(Self {
            start_realtime: from.number()?,
            start_nanos: from.number()?,
            offset: [from.signed()?, from.signed()?, from.signed()?],
            readings: get_list(from)?,
        })
    }

    /// When the process began, on the clock of rank 0's host.
    fn begin(&self) -> u64 {
        self.start_nanos.saturating_add_signed(self.offset[0])
    }

    /// From nominal nanoseconds since the process's start to nanoseconds since the run's, on the clock of rank 0's host.
    fn map(&self, start: u64) -> ClockMap {
        let origin = self.begin().saturating_sub(start);
        let last = self.readings.last().copied().unwrap_or(0).max(1);
        let drift = self.offset[1].saturating_sub(self.offset[0]);
        let at = |nanos: i64| {
            let nanos = nanos.max(0);
            let added = i128::from(drift) * i128::from(nanos) / i128::from(last);
            Nanos(origin.saturating_add(nanos as u64).saturating_add_signed(added as i64))
        };
        let pairs = self.readings.chunks_exact(2);
        let mut points: Vec<SyncPoint> =
            pairs.map(|pair| SyncPoint { tick: pair[0].max(0) as u64, at: at(pair[1]) }).collect();
        if points.len() < 2 {
            // Killed before a second reading: the nominal rate has to do.
            points = vec![
                SyncPoint { tick: 0, at: at(0) },
                SyncPoint { tick: 1_000_000_000, at: at(1_000_000_000) },
            ];
        }
        ClockMap::new(points).unwrap_or_else(|_| ClockMap::identity())
    }
}

fn note_gaps(process: &Process, clock: &Clock, rank: Rank, gaps: &mut Gaps) {
    let mut note =
        |kind, detail: String, count| gaps.note(Gap { kind, rank: Some(rank), detail, count });
    if process.state == state::RECORDING {
        let detail =
            format!("rank {rank} ended without MPI_Finalize; recorded up to its last moments");
        note(GapKind::EndedEarly, detail, 0);
    }
    if clock.offset[2] > 0 {
        let detail = format!(
            "times of rank {rank} are from another clock, known to {}",
            Nanos(clock.offset[2] as u64)
        );
        note(GapKind::Estimated, detail, 0);
    }
    let [memory, disk, paused, threads] = process.lost;
    let lost = [
        (
            memory,
            GapKind::MemoryBound,
            "calls were not recorded because the memory bound was reached",
        ),
        (disk, GapKind::DiskFull, "calls were not recorded because the disk was full"),
        (paused, GapKind::Paused, "calls were made while MPI_Pcontrol(0) was in force"),
        (
            threads,
            GapKind::Unsupported,
            "calls were made by threads beyond the 256 that are recorded",
        ),
    ];
    for (count, kind, what) in lost {
        if count > 0 {
            note(kind, format!("rank {rank}: {count} {what}"), count);
        }
    }
    for damage in &process.damage {
        note(GapKind::Damaged, format!("rank {rank}: {damage}"), 0);
    }
}

fn gap_of(kind: GapKind, rank: Rank, what: &str, count: u64) -> Gap {
    Gap { kind, rank: Some(rank), detail: format!("rank {rank}: {what}"), count }
}

/// Ranks of the first world that left no record.
fn note_missing(processes: &[recording::Process], gaps: &mut Gaps) {
    let first = || processes.iter().filter(|p| p.location.world == 0);
    let Some(size) = first().map(|p| p.world_size).max() else { return };
    let here: std::collections::HashSet<u32> = first().map(|p| p.location.rank.0).collect();
    for rank in (0..size.min(1 << 22)).filter(|r| !here.contains(r)).take(10_000) {
        gaps.note(Gap {
            kind: GapKind::Missing,
            rank: Some(Rank(rank)),
            detail: format!("rank {rank} left no record"),
            count: 0,
        });
    }
}

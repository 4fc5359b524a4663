//! From the live file of one process to a bundle.
//!
//! Owns the sharing between ranks: graphs, streams and argument tables are put into tables of their
//! own, streams with the numbers of [`super::peers`] and `sequence::scaled`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use talea_flow::codec::sequence;
use talea_flow::cycles::Cycles;
use talea_flow::log::NodeLog;
use talea_flow::times::Quantiser;
use talea_model::{ArgKind, ProcedureSpec};

use super::lists::{self, ListTable};
use super::peers::by_first_use;
use super::times::{RecordedTimes, pack_times};
use super::{
    Body, Bundle, Clock, Column, Graph, MappedTimes, Node, Place, Process, Settings, Table, Thread,
};
use crate::live::layout::{MAX_PU_TIMES, PathFrame, state};
use crate::live::numbers::put_number;
use crate::live::pieces::Joined;
use crate::live::read::{LiveProcess, LiveThread};
use crate::live::record::{CommSymbol, Members};
use crate::places::ThreadPlace;
use crate::pu_time;

impl Bundle {
    /// The bundle of one process, with packed times.
    pub fn from_live(live: &LiveProcess) -> Self {
        let mut bundle = Self::structure(live);
        for process in &mut bundle.processes {
            process.times = packed_times(live);
        }
        bundle
    }

    /// The bundle of one process, and its times as they are in the mapped file: they are read
    /// without being packed, which takes longer than anything else.
    pub fn from_mapped(mut live: LiveProcess) -> (Self, MappedTimes) {
        let times = MappedTimes::take(&mut live);
        (Self::structure(&live), times)
    }

    /// The bundle of one process without times.
    fn structure(live: &LiveProcess) -> Self {
        let header = &live.header;
        let settings = Settings {
            times: header.times,
            bound: header.bound(),
            calls_all: header.calls_all != 0,
            callers: header.callers,
        };
        let mut bundle = Self::empty(settings);
        let modules: Vec<u32> = live.modules.iter().map(|m| bundle.modules.id(m.clone())).collect();
        let paths: Vec<u32> = live
            .paths
            .iter()
            .map(|path| {
                let frame = |f: &PathFrame| {
                    (modules.get(f.module as usize).copied().unwrap_or(u32::MAX), f.offset)
                };
                bundle.paths.id(path.iter().map(frame).collect())
            })
            .collect();
        let procedures: Vec<u32> =
            live.procedures.iter().map(|(_, p)| bundle.procedures.id(p.clone())).collect();
        let comms: Vec<i64> =
            live.comms.iter().map(|c| i64::from(bundle.comms.id(common(c)))).collect();
        let datatypes: Vec<i64> =
            live.datatypes.iter().map(|d| i64::from(bundle.datatypes.id(d.clone()))).collect();
        let ops: Vec<i64> = live.ops.iter().map(|o| i64::from(bundle.ops.id(o.clone()))).collect();
        let mut damage = live.damage.clone();
        let lists = bundle.add_lists(live, &mut damage);
        let type_lists = bundle.add_type_lists(live, &datatypes);
        let numbers: Vec<u16> = live.procedures.iter().map(|(number, _)| *number).collect();
        let nominal = header.nominal();
        let mut threads = Vec::new();
        let mut packer = Packer::default();
        for thread in &live.threads {
            threads.push(bundle.add_thread(
                thread,
                header.rank,
                &procedures,
                &paths,
                &numbers,
                &mut packer,
            ));
        }
        let open = open_of(live).into_iter().map(|(node, ticks, polls)| {
            let signature = node.signature;
            let procedure =
                procedures.get(usize::from(signature.procedure.0)).copied().unwrap_or(0);
            let path = paths.get(signature.path.0 as usize).copied().unwrap_or(0);
            [u64::from(procedure), u64::from(path), nominal(ticks), polls]
        });
        let open = open.collect();
        let places = bundle.add_places(live);
        let process = Process {
            world: header.world,
            rank: header.rank,
            size: header.size,
            pid: header.pid,
            state: header.state,
            abort_code: header.abort_code,
            host: bundle.texts.id(live.host.clone()),
            library: bundle.texts.id(live.library.clone()),
            comm_map: bundle.numbers.id(comms),
            datatype_map: bundle.numbers.id(datatypes),
            op_map: bundle.numbers.id(ops),
            list_map: bundle.numbers.id(lists),
            type_list_map: bundle.numbers.id(type_lists),
            open,
            lost: [header.lost_memory, header.lost_disk, header.paused, header.lost_threads],
            shortened_paths: header.shortened_paths,
            damage,
            threads,
            places,
            times: Vec::new(),
            version: super::VERSION,
        };
        bundle.processes.push(process);
        bundle
    }

    /// Puts the lists into their table; returns for each of them its number there.
    fn add_lists(&mut self, live: &LiveProcess, damage: &mut Vec<String>) -> Vec<i64> {
        let Some(own) = ListTable::from_lists(live.lists.clone()) else {
            damage.push("lists: they are made from each other in no order".to_owned());
            return vec![i64::from(lists::ABSENT); live.lists.len()];
        };
        self.lists.absorb(&own).into_iter().map(i64::from).collect()
    }

    fn add_places(&mut self, live: &LiveProcess) -> Vec<Place> {
        let place = |place: &ThreadPlace| Place {
            tid: place.tid,
            name: self.texts.id(place.name.clone()),
            allowed: self.texts.id(place.allowed.clone()),
            last: place.last,
            busy: place.steps(),
        };
        live.places.iter().map(place).collect()
    }

    fn add_thread(
        &mut self,
        live: &LiveThread,
        rank: i32,
        procedures: &[u32],
        paths: &[u32],
        numbers: &[u16],
        packer: &mut Packer,
    ) -> Thread {
        let mut columns = Vec::new();
        let mut polls = Vec::new();
        let mut nodes = Vec::new();
        let mut peers = Vec::new();
        // Only the last event of a thread has no successor; walking there may take as long as the
        // file claims.
        let without = |node: &NodeLog| node.choices.len() < node.visits;
        let last = live.log.nodes.iter().position(without).unwrap_or(0) as u32;
        for log in &live.log.nodes {
            let procedure =
                procedures.get(usize::from(log.signature.procedure.0)).copied().unwrap_or(0);
            let kinds: Vec<ArgKind> =
                self.procedures.get(procedure).map(kinds_of).unwrap_or_default();
            for (column, kind) in log.columns.iter().zip(&kinds) {
                columns.push(if *kind == ArgKind::Peer {
                    let numbers = by_first_use(column, rank, &mut peers);
                    Column { stream: packer.stream(self, numbers), base: 0, step: 1 }
                } else {
                    packer.column(self, column)
                });
            }
            let poll_counts = log.polls.map(|value| value as i64);
            polls.push(if poll_counts.is_empty() {
                0
            } else {
                packer.stream(self, poll_counts) + 1
            });
            nodes.push(Node {
                procedure,
                path: paths.get(log.signature.path.0 as usize).copied().unwrap_or(0),
                visits: log.visits,
                successors: log.successors.iter().map(|n| n.0).collect(),
                choices: if log.successors.len() > 1 {
                    packer.stream(self, choices_of(log)) + 1
                } else {
                    0
                },
            });
        }
        let graph = self.graphs.id(Graph { events: live.log.events, last, nodes });
        let counts = live
            .counts
            .iter()
            .filter_map(|(number, count)| {
                let place = numbers.iter().position(|n| n == number)?;
                Some([i64::from(procedures[place]), *count as i64])
            })
            .flatten()
            .collect();
        Thread {
            body: self.bodies.id(Body { graph, columns, polls }),
            peers: self.numbers.id(peers),
            counts: self.numbers.id(counts),
        }
    }

    pub(super) fn empty(settings: Settings) -> Self {
        Self {
            settings,
            modules: Table::default(),
            paths: Table::default(),
            procedures: Table::default(),
            comms: Table::default(),
            datatypes: Table::default(),
            ops: Table::default(),
            lists: ListTable::default(),
            type_lists: Table::default(),
            texts: Table::default(),
            streams: Table::default(),
            numbers: Table::default(),
            graphs: Table::default(),
            bodies: Table::default(),
            processes: Vec::new(),
        }
    }
}

/// The times of a process, packed: clock, times of each thread, readings of their CPU clocks.
fn packed_times(live: &LiveProcess) -> Vec<u8> {
    let quantiser = Quantiser::new(live.header.bound());
    let nominal = live.header.nominal();
    let mut all = Vec::new();
    Clock::of_process(live).put(&mut all);
    for thread in &live.threads {
        let joined = thread.is_in_pieces().then(|| thread.joined(live.times, &quantiser));
        let timed = match &joined {
            None => RecordedTimes { bytes: &thread.times, holes: &[], history: &[] },
            Some(Joined { bytes, holes, history, .. }) => RecordedTimes { bytes, holes, history },
        };
        let packed = pack_times(&thread.log, &timed, &thread.sums, live.times, &quantiser);
        put_number(&mut all, packed.len() as u64);
        all.extend_from_slice(&packed);
    }
    for LiveThread { thread, .. } in &live.threads {
        let count = thread.pu_time_count.min(MAX_PU_TIMES as u64) as usize;
        pu_time::put(&mut all, &thread.pu_times[..count], &nominal);
    }
    all
}

/// Streams that were packed already, as packing is slow.
#[derive(Default)]
struct Packer {
    packed: HashMap<Cycles<i64>, u32>,
}

/// Minimum number of runs of a stream that is scaled: for fewer the scale would take more room than
/// they do.
const SCALED_RUNS: u64 = 32;

impl Packer {
    fn stream(&mut self, bundle: &mut Bundle, numbers: Cycles<i64>) -> u32 {
        match self.packed.entry(numbers) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let id = bundle.streams.id(sequence::encode(place.key()));
                *place.insert(id)
            }
        }
    }

    fn column(&mut self, bundle: &mut Bundle, values: &Cycles<i64>) -> Column {
        let (base, step, numbers) = if values.run_count() < SCALED_RUNS {
            (0, 1, values.clone())
        } else {
            sequence::scaled(values)
        };
        Column { stream: self.stream(bundle, numbers), base, step }
    }
}

fn kinds_of(procedure: &ProcedureSpec) -> Vec<ArgKind> {
    procedure.args.iter().map(|a| a.kind).collect()
}

/// `MPI_COMM_SELF` is another group on each rank, but has the same meaning on all.
fn common(comm: &CommSymbol) -> CommSymbol {
    if comm.name != "self" {
        return comm.clone();
    }
    CommSymbol {
        leader: 0,
        members: Members::Range { first: 0, stride: 1, count: 1 },
        ..comm.clone()
    }
}

fn choices_of(log: &NodeLog) -> Cycles<i64> {
    log.choices.map(i64::from)
}

/// The call that had not returned, then the sites of the series of polls that had not ended;
/// without such a call, the first site represents it too. For each its node, ticks at the begin of
/// the call or series, and polls.
fn open_of(live: &LiveProcess) -> Vec<(&NodeLog, u64, u64)> {
    let is_inside = [state::RECORDING, state::RUNNING].contains(&live.header.state);
    let thread = live.threads.first().filter(|_| is_inside);
    let Some(thread) = thread else { return Vec::new() };
    let record = &thread.thread;
    let node = |number: u32| thread.log.nodes.get(number.checked_sub(1)? as usize);
    let sites: Vec<_> = record
        .polls
        .iter()
        .filter_map(|polls| Some((node(polls.node)?, record.poll_begin, polls.count)))
        .collect();
    let of_series = record.polls.iter().find(|p| p.node == record.open_node);
    let call = node(record.open_node)
        .map(|node| (node, record.open_begin, of_series.map_or(1, |polls| polls.count)));
    call.or(sites.first().copied()).into_iter().chain(sites).collect()
}

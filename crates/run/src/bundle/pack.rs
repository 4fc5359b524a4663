//! From the live file of one process to a bundle.
//!
//! Owns what makes ranks alike: peers become numbers in the order of first use in their column, and graphs, streams and
//! argument tables are put into tables of their own.

use talea_flow::codec::{sequence, times};
use talea_flow::log::{NodeLog, Runs, ThreadLog};
use talea_flow::times::{Bound, Cell, Quantiser};
use talea_model::args::special;
use talea_model::{ArgKind, Nanos, ProcedureSpec};

use super::{Body, Bundle, Clock, Graph, Node, Process, Settings, Thread};
use crate::live::layout::TimesMode;
use crate::live::read::{LiveProcess, LiveThread, NodeSums};
use crate::live::record::{CommSymbol, Cursor, Members, put_number, put_signed};

impl Bundle {
    /// The bundle of one process.
    pub fn of(live: &LiveProcess) -> Self {
        let header = &live.header;
        let settings = Settings {
            times: header.times,
            bound: Bound {
                relative_ppm: header.bound_relative,
                absolute: Nanos(u64::from(header.bound_absolute)),
                drift: Nanos(u64::from(header.bound_drift)),
            },
            calls_all: header.calls_all != 0,
            callers: header.callers,
        };
        let mut bundle = Self::empty(settings);
        let modules: Vec<u32> = live.modules.iter().map(|m| bundle.modules.id(m.clone())).collect();
        let paths: Vec<u32> = live
            .paths
            .iter()
            .map(|path| {
                let frame = |f: &crate::live::layout::PathFrame| {
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
        let lists: Vec<i64> =
            live.lists.iter().map(|l| i64::from(bundle.lists.id(l.clone()))).collect();
        let numbers: Vec<u16> = live.procedures.iter().map(|(number, _)| *number).collect();
        let quantiser = Quantiser::new(settings.bound);
        let nominal = |ticks: u64| {
            let ticks = ticks.saturating_sub(header.start_ticks);
            ((u128::from(ticks) * u128::from(header.tick_mult)) >> 32) as u64
        };
        let clock = Clock {
            start_realtime: header.start_realtime,
            start_nanos: header.start_nanos,
            offset: [header.offset_start, header.offset_end, header.offset_error as i64],
            readings: live
                .syncs
                .iter()
                .flat_map(|s| {
                    [nominal(s.ticks) as i64, s.nanos.saturating_sub(header.start_nanos) as i64]
                })
                .collect(),
        };
        let mut all_times = Vec::new();
        clock.put(&mut all_times);
        let mut threads = Vec::new();
        for thread in &live.threads {
            let packed =
                pack_times(&thread.log, &thread.times, &thread.sums, live.times, &quantiser);
            put_number(&mut all_times, packed.len() as u64);
            all_times.extend_from_slice(&packed);
            threads.push(bundle.add_thread(thread, header.rank, &procedures, &paths, &numbers));
        }
        let open = super::unpack::open_of(live).map(|(node, ticks, polls)| {
            let signature = node.signature;
            let procedure =
                procedures.get(usize::from(signature.procedure.0)).copied().unwrap_or(0);
            let path = paths.get(signature.path.0 as usize).copied().unwrap_or(0);
            [u64::from(procedure), u64::from(path), nominal(ticks), polls]
        });
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
            open,
            lost: [header.lost_memory, header.lost_disk, header.paused, header.lost_threads],
            damage: live.damage.clone(),
            threads,
            times: all_times,
        };
        bundle.processes.push(process);
        bundle
    }

    fn add_thread(
        &mut self,
        live: &LiveThread,
        rank: i32,
        procedures: &[u32],
        paths: &[u32],
        numbers: &[u16],
    ) -> Thread {
        let mut streams = Vec::new();
        let mut poll_streams = Vec::new();
        let mut nodes = Vec::new();
        let mut peers = Vec::new();
        let last = live.log.walk().last().map_or(0, |n| n.0);
        for log in &live.log.nodes {
            let procedure =
                procedures.get(usize::from(log.signature.procedure.0)).copied().unwrap_or(0);
            let kinds: Vec<ArgKind> =
                self.procedures.get(procedure).map(kinds_of).unwrap_or_default();
            for (column, kind) in log.columns.iter().zip(&kinds) {
                let packed = if *kind == ArgKind::Peer {
                    sequence::encode(&by_first_use(column, rank, &mut peers))
                } else {
                    sequence::encode(column)
                };
                streams.push(self.streams.id(packed));
            }
            let polls: Runs<i64> =
                log.polls.runs().iter().fold(Runs::new(), |mut all, &(value, count)| {
                    all.push(value as i64, count);
                    all
                });
            poll_streams.push(if polls.is_empty() {
                0
            } else {
                self.streams.id(sequence::encode(&polls)) + 1
            });
            nodes.push(Node {
                procedure,
                path: paths.get(log.signature.path.0 as usize).copied().unwrap_or(0),
                visits: log.visits,
                successors: log.successors.iter().map(|n| n.0).collect(),
                choices: if log.successors.len() > 1 {
                    self.streams.id(sequence::encode(&choices_of(log))) + 1
                } else {
                    0
                },
            });
        }
        streams.extend(poll_streams);
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
            body: self.bodies.id(Body { graph, streams }),
            peers: self.numbers.id(peers),
            counts: self.numbers.id(counts),
        }
    }

    pub(super) fn empty(settings: Settings) -> Self {
        Self {
            settings,
            modules: super::Table::default(),
            paths: super::Table::default(),
            procedures: super::Table::default(),
            comms: super::Table::default(),
            datatypes: super::Table::default(),
            ops: super::Table::default(),
            lists: super::Table::default(),
            texts: super::Table::default(),
            streams: super::Table::default(),
            numbers: super::Table::default(),
            graphs: super::Table::default(),
            bodies: super::Table::default(),
            processes: Vec::new(),
        }
    }
}

fn kinds_of(procedure: &ProcedureSpec) -> Vec<ArgKind> {
    procedure.args.iter().map(|a| a.kind).collect()
}

/// `MPI_COMM_SELF` is another group on each rank, but means the same on all.
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

fn choices_of(log: &NodeLog) -> Runs<i64> {
    log.choices.runs().iter().fold(Runs::new(), |mut all, &(choice, count)| {
        all.push(i64::from(choice), count);
        all
    })
}

/// A column of peers as numbers in the order of first use. What they stand for is appended to `peers`: their number,
/// then for each the difference to the own rank, doubled; odd numbers are values that are no ranks.
fn by_first_use(column: &Runs<i64>, rank: i32, peers: &mut Vec<i64>) -> Runs<i64> {
    let mut seen: Vec<i64> = Vec::new();
    let mut out = Runs::new();
    for &(value, count) in column.runs() {
        let number = seen.iter().position(|&v| v == value).unwrap_or_else(|| {
            seen.push(value);
            seen.len() - 1
        });
        out.push(number as i64, count);
    }
    peers.push(seen.len() as i64);
    peers.extend(seen.iter().map(|&value| meaning_of(value, rank)));
    out
}

/// The largest odd number stands for an argument without a value, whose own number has no double.
const ABSENT: i64 = i64::MAX;

/// What stands in the list of peers for a value.
const fn meaning_of(value: i64, rank: i32) -> i64 {
    match value {
        special::ABSENT => ABSENT,
        0.. => (value - rank as i64) * 2,
        _ => value * 2 + 1,
    }
}

/// The value for what stands in the list of peers.
pub(super) const fn value_of(meaning: i64, rank: i32) -> i64 {
    match meaning {
        ABSENT => special::ABSENT,
        even if even & 1 == 0 => (even >> 1) + rank as i64,
        odd => odd >> 1,
    }
}

/// Times of a thread: how many events have them, the packed cells, then for each node what its exact sums are more than the
/// sums of its restored times.
fn pack_times(
    log: &ThreadLog,
    live: &[u8],
    sums: &[NodeSums],
    mode: TimesMode,
    quantiser: &Quantiser,
) -> Vec<u8> {
    let mut from = Cursor::new(live);
    let mut walk = log.walk();
    let mut kept = 0_u64;
    let mut restored = vec![[0_u64; 2]; log.nodes.len()];
    let packed = match mode {
        TimesMode::Statistics => Vec::new(),
        TimesMode::Exact => {
            let mut encoder = times::exact::Encoder::new();
            while let Some((node, edge)) = walk.next_step() {
                let (Some(gap), Some(duration)) = (from.number(), from.number()) else { break };
                encoder.push(edge.map_or(0, |e| e + 1), gap, node.0, duration);
                let sums = &mut restored[node.0 as usize];
                sums[0] = sums[0].wrapping_add(gap);
                sums[1] = sums[1].wrapping_add(duration);
                kept += 1;
            }
            encoder.finish()
        }
        TimesMode::Bounded => {
            let mut encoder = times::Encoder::new(|index| quantiser.extra_bits(index));
            while let Some((node, edge)) = walk.next_step() {
                let (Some(gap), Some(duration)) =
                    (cell(&mut from, quantiser), cell(&mut from, quantiser))
                else {
                    break;
                };
                encoder.push(edge.map_or(0, |e| e + 1), gap, node.0, duration);
                let sums = &mut restored[node.0 as usize];
                sums[0] = sums[0].wrapping_add(quantiser.restore(gap).0);
                sums[1] = sums[1].wrapping_add(quantiser.restore(duration).0);
                kept += 1;
            }
            encoder.finish()
        }
    };
    let mut out = Vec::new();
    put_number(&mut out, kept);
    put_number(&mut out, packed.len() as u64);
    out.extend_from_slice(&packed);
    for (sums, restored) in sums.iter().zip(&restored) {
        put_signed(&mut out, sums.gap.wrapping_sub(restored[0]) as i64);
        put_signed(&mut out, sums.duration.wrapping_sub(restored[1]) as i64);
        if mode == TimesMode::Statistics {
            put_number(&mut out, sums.min);
            put_number(&mut out, sums.max);
        }
    }
    out
}

/// A cell as the recorder writes it.
pub(crate) fn cell(from: &mut Cursor<'_>, quantiser: &Quantiser) -> Option<Cell> {
    let first = from.byte()?;
    if first < 224 {
        return Some(Cell { index: u16::from(first), extra: 0 });
    }
    let index = u16::from(first & 31) << 8 | u16::from(from.byte()?);
    let bits = quantiser.extra_bits(index);
    let mut extra = [0; 4];
    let bytes = usize::from(bits).div_ceil(8);
    extra[..bytes].copy_from_slice(from.take(bytes)?);
    let mask = ((1_u64 << bits) - 1) as u32;
    Some(Cell {
        index: index.min(Quantiser::CELLS as u16 - 1),
        extra: u32::from_le_bytes(extra) & mask,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_mean_the_same_afterwards() {
        for rank in [0, 3, 1 << 20] {
            let specials =
                [special::ABSENT, special::PROC_NULL, special::ANY_SOURCE, special::ROOT];
            for value in specials.into_iter().chain([0, 1, 2, 3, 4095, i64::from(i32::MAX)]) {
                assert_eq!(value_of(meaning_of(value, rank), rank), value);
            }
        }
    }
}

//! Counters of tiles summed to links: the data that each link of a router moved, and its time
//! stalled.
//!
//! Owns the sums by destination (tiles that lead to the same router are one link, whatever their
//! labels: an axis of length two has one link of both directions) and figures derived from them.
//! Tiles count incoming data: a row of a link has the data from its destination, that of the host
//! the data that the nodes sent. Sums that lack a counter are absent. It refuses to name jobs.
//! Follows Pedretti et al. 2013.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use talea_model::{Gap, GapKind, Gaps, Nanos};

use super::tiles::{
    BITS, COUNTERS, Label, PHIT, READINGS, TICK, TILES, Tile, TileCounter, TileMap, Use, Wire,
    register,
};
use super::{Chip, Machine};
use crate::counters::{self, Lost, Width};
use crate::error::FabricError;
use crate::machine::{Fabric, RouterId};

/// The largest value of a counter.
const LARGEST: u64 = (1 << BITS) - 1;

/// Value of a counter that was not read.
pub const ABSENT: u64 = u64::MAX;

/// Two readings of the tiles of some routers.
#[derive(Clone, Copy, Debug)]
pub struct Readings<'a> {
    /// Routers of the tiles.
    pub routers: &'a [RouterId],
    /// 288 values of each router, in the order of [`super::tiles::registers`]; [`ABSENT`] where one
    /// could not be read.
    pub before: &'a [u64],
    /// As many, from the later reading.
    pub after: &'a [u64],
    /// Time between the two readings.
    pub interval: Nanos,
}

/// Counters of one link in the interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The router whose tiles counted.
    pub router: RouterId,
    /// Destination of the tiles; the router itself for its nodes.
    pub to: RouterId,
    /// Label of the direction; where two directions lead there, the one that does not go round the
    /// end of the axis.
    pub label: Label,
    /// Tiles of the link.
    pub tiles: u16,
    /// Bytes a second of all tiles, one way.
    pub capacity: Option<f64>,
    /// Sums over the tiles, in the order of [`TileCounter::ALL`].
    pub sums: [Option<u64>; COUNTERS],
}

/// Links of routers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Router after router in the given order; for each, by label, the host last.
    pub rows: Vec<Row>,
    /// Interval of the sums.
    pub interval: Nanos,
    /// Counters that are absent.
    pub gaps: Gaps,
}

impl Row {
    /// A sum.
    pub fn sum(&self, counter: TileCounter) -> Option<u64> {
        self.sums[counter.at()]
    }

    /// Phits of both channels.
    pub fn phits(&self) -> Option<u64> {
        self.sum(TileCounter::Vc0Phits)?.checked_add(self.sum(TileCounter::Vc1Phits)?)
    }

    /// Packets of both channels.
    pub fn packets(&self) -> Option<u64> {
        self.sum(TileCounter::Vc0Packets)?.checked_add(self.sum(TileCounter::Vc1Packets)?)
    }

    /// Share of its capacity that was used, from 0 to about 1.
    pub fn utilisation(&self, interval: Nanos) -> Option<f64> {
        let could = self.capacity? * interval.0 as f64 / 1e9;
        // Sums of many intervals may have more bytes than fit.
        (could > 0.0).then_some(self.phits()? as f64 * PHIT as f64 / could)
    }

    /// Mean share of the interval that a tile of the link was stalled, from 0 to about 1; `None`
    /// for counters that are no stalls.
    pub fn stalled(&self, counter: TileCounter, interval: Nanos) -> Option<f64> {
        if !matches!(counter, TileCounter::InqStalls | TileCounter::CreditStalls) {
            return None;
        }
        let could = f64::from(self.tiles) * interval.0 as f64;
        (could > 0.0).then_some(self.sum(counter)? as f64 * TICK / could)
    }

    /// Mean phits of a packet; `None` without packets.
    pub fn phits_a_packet(&self) -> Option<f64> {
        let packets = self.packets().filter(|&packets| packets > 0)?;
        Some(self.phits()? as f64 / packets as f64)
    }

    /// Mean bytes of a packet on the wire.
    pub fn bytes_a_packet(&self) -> Option<f64> {
        Some(self.phits_a_packet()? * PHIT as f64)
    }
}

/// Sums differences of counters to links.
///
/// # Errors
/// A router that is not in the machine or is given twice, or another number of values than 288
/// each.
pub fn link_table(machine: &Machine, readings: &Readings<'_>) -> Result<Table, FabricError> {
    let Readings { routers, before, after, interval } = *readings;
    let mut given = vec![false; machine.tiles.len()];
    for router in routers {
        let name = || router.0.to_string();
        let given = given
            .get_mut(router.at())
            .ok_or_else(|| FabricError::Unknown { what: "router", name: name() })?;
        if std::mem::replace(given, true) {
            return Err(FabricError::Twice { what: "router", name: name() });
        }
    }
    for values in [before, after] {
        if values.len() != routers.len() * READINGS {
            let (what, expected) = ("the number of readings", "288 of each router");
            return Err(FabricError::Size { what, found: values.len() as u64, expected });
        }
    }
    let pairs = before.par_chunks_exact(READINGS).zip(after.par_chunks_exact(READINGS));
    let parts: Vec<(Vec<Row>, Vec<Missing>)> = routers
        .par_iter()
        .zip(pairs)
        .with_min_len(64)
        .map(|(&router, (before, after))| of_router(machine, router, before, after))
        .collect();
    let mut table =
        Table { rows: Vec::with_capacity(routers.len() * 7), interval, gaps: Gaps::default() };
    let mut missing = Vec::new();
    for (mut rows, mut lost) in parts {
        table.rows.append(&mut rows);
        missing.append(&mut lost);
    }
    tell(machine, &missing, &mut table.gaps);
    let unknown = routers.iter().filter(|router| {
        machine.tiles(**router).is_none_or(|map| map.iter().all(|used| *used == Use::Unused))
    });
    let count = unknown.count() as u64;
    if count > 0 {
        let detail = "routers whose tiles are not known: they have no rows".to_owned();
        table.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count });
    }
    Ok(table)
}

/// A counter without a difference.
struct Missing {
    router: RouterId,
    tile: Tile,
    counter: TileCounter,
    /// `None` where it was not read.
    why: Option<Lost>,
}

/// Notes one gap per reason, with the first counter as an example.
fn tell(machine: &Machine, missing: &[Missing], gaps: &mut Gaps) {
    let losses = [Lost::Backwards, Lost::Stopped, Lost::Beyond].map(Some);
    for why in [None].into_iter().chain(losses) {
        let mut these = missing.iter().filter(|missing| missing.why == why);
        let Some(first) = these.next() else { continue };
        let router = &machine.fabric.routers()[first.router.at()].name;
        let name = register(first.tile, first.counter);
        let why = why.map_or_else(|| "were not read".to_owned(), |why| why.to_string());
        let detail = format!(
            "counters of tiles {why}, first {name} of {router}: sums of their links are absent"
        );
        let count = 1 + these.count() as u64;
        gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count });
    }
}

/// Row of a tile without one.
const NO_ROW: u8 = u8::MAX;

/// Rows of a router without their sums, in order, and the row of each tile.
fn rows_of(machine: &Machine, router: RouterId, map: &TileMap) -> (Vec<Row>, [u8; TILES]) {
    let mut rows: Vec<(Row, u8)> = Vec::with_capacity(7);
    let mut of_tile = [NO_ROW; TILES];
    for (of_tile, used) in of_tile.iter_mut().zip(map) {
        let Some((to, label, lane)) = end(machine, router, *used) else { continue };
        let host = label == Label::Host;
        let known =
            rows.iter().position(|(row, _)| row.to == to && (row.label == Label::Host) == host);
        let at = known.unwrap_or(rows.len());
        if known.is_none() {
            let (capacity, sums) = (Some(0.0), [None; COUNTERS]);
            rows.push((Row { router, to, label, tiles: 0, capacity, sums }, at as u8));
        }
        let (row, _) = &mut rows[at];
        row.tiles += 1;
        row.capacity = row.capacity.zip(lane).map(|(all, lane)| all + lane);
        if row.label != label && natural(&machine.fabric, router, to, label) {
            row.label = label;
        }
        *of_tile = at as u8;
    }
    rows.sort_by_key(|(row, _)| (row.label, row.to));
    let mut places = [NO_ROW; TILES];
    for (place, (_, was)) in rows.iter().enumerate() {
        places[usize::from(*was)] = place as u8;
    }
    for at in of_tile.iter_mut().filter(|at| **at != NO_ROW) {
        *at = places[usize::from(*at)];
    }
    (rows.into_iter().map(|(row, _)| row).collect(), of_tile)
}

fn of_router(
    machine: &Machine,
    router: RouterId,
    before: &[u64],
    after: &[u64],
) -> (Vec<Row>, Vec<Missing>) {
    let mut missing = Vec::new();
    let Some(map) = machine.tiles(router) else { return (Vec::new(), missing) };
    let (mut rows, of_tile) = rows_of(machine, router, map);
    let mut sums = [[0_u64; COUNTERS]; TILES];
    let mut absent = [0_u8; TILES];
    let readings = before.as_chunks::<COUNTERS>().0.iter().zip(after.as_chunks::<COUNTERS>().0);
    for ((tile, row), (before, after)) in Tile::all().zip(of_tile).zip(readings) {
        if row == NO_ROW {
            continue;
        }
        // Bits that no difference and no value may have, so that the common case has no branches.
        let mut odd = 0;
        for (sum, (before, after)) in
            sums[usize::from(row)].iter_mut().zip(before.iter().zip(after))
        {
            let steps = after.wrapping_sub(*before) & LARGEST;
            odd |= (steps >> (BITS - 1)) | ((before | after) >> BITS);
            *sum = sum.wrapping_add(steps);
        }
        if odd == 0 {
            continue;
        }
        for (counter, (before, after)) in TileCounter::ALL.into_iter().zip(before.iter().zip(after))
        {
            if let Err(why) = counters::delta(*before, *after, Width::Wraps(BITS)) {
                let why = Some(why).filter(|_| *before != ABSENT && *after != ABSENT);
                missing.push(Missing { router, tile, counter, why });
                absent[usize::from(row)] |= 1 << counter.at();
            }
        }
    }
    for ((row, sums), absent) in rows.iter_mut().zip(sums).zip(absent) {
        for (counter, (sum, value)) in row.sums.iter_mut().zip(sums).enumerate() {
            *sum = (absent >> counter & 1 == 0).then_some(value);
        }
    }
    (rows, missing)
}

/// Destination of a tile, its label, and its bytes a second.
fn end(machine: &Machine, router: RouterId, used: Use) -> Option<(RouterId, Label, Option<f64>)> {
    match used {
        Use::Unused => None,
        Use::Host => {
            let lane = (machine.chip == Chip::Gemini).then(|| Wire::Host.lane());
            Some((router, Label::Host, lane))
        }
        Use::Network(peer) => Some((peer.to, peer.label, Some(peer.wire.lane()))),
    }
}

/// True if a label agrees with the order of the two coordinates: it does not where the link goes
/// round the end of its axis.
fn natural(fabric: &Fabric, from: RouterId, to: RouterId, label: Label) -> bool {
    let (axis, up) = match label {
        Label::XPlus => (0, true),
        Label::XMinus => (0, false),
        Label::YPlus => (1, true),
        Label::YMinus => (1, false),
        Label::ZPlus => (2, true),
        Label::ZMinus => (2, false),
        _ => return false,
    };
    let value =
        |router: RouterId| fabric.routers().get(router.at())?.at?.values().get(axis).copied();
    value(from).zip(value(to)).is_some_and(|(from, to)| if up { to > from } else { to < from })
}

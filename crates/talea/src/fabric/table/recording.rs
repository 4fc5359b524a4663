//! From a recording of tiles to sums of links, interval by interval.
//!
//! Owns which port of the recording is which tile of the machine, and the sums over intervals, which hold where a counter wraps more than once and show where one was reset between two readings. A
//! tile is named by its router and its place, `c0-0c0s0g0l32`, and has the six counters of its registers. Ports that are no tile of the machine, tiles that were not recorded and readings that
//! were cut off are gaps. It refuses recordings without any tile of the machine.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use talea_fabric::RouterId;
use talea_fabric::gemini::table::ABSENT;
use talea_fabric::gemini::tiles::{BITS, COUNTERS, READINGS};
use talea_fabric::gemini::{self, Machine, Table, Tile, TileCounter, link_table};
use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_sampling::fabric::recorded::Recorded;
use talea_sampling::fabric::{CounterSource as _, Port, Readings, Unit, Width};

use crate::fabric::{FabricError, read};

/// Most rows that are kept of all intervals together.
const MOST_ROWS: usize = 1 << 21;
/// Characters of a tile behind the name of its router.
const TILE: usize = 3;

/// What links did.
#[derive(Debug)]
pub(super) struct Recording {
    /// What was recorded: `recorded simulated tiles`.
    pub(super) source: String,
    /// From the first reading to the last one.
    pub(super) total: Frame,
    /// Each interval, if these are wanted.
    pub(super) frames: Vec<Frame>,
    /// What is missing.
    pub(super) gaps: Gaps,
}

/// What links did in one interval.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) begin: Nanos,
    pub(super) end: Nanos,
    pub(super) table: Table,
}

/// Reads a recording; of these routers, in this order, or of all that it has.
pub(super) fn recording(
    path: &Path,
    machine: &Machine,
    chosen: Option<&[RouterId]>,
    each: bool,
) -> Result<Recording, FabricError> {
    let text = read(path)?;
    let mut recorded = Recorded::new(text)
        .map_err(|source| FabricError::Recorded { source, path: path.to_owned() })?;
    let mut gaps = Gaps::default();
    let places = places(recorded.ports(), machine, chosen, path, &mut gaps)?;
    let source = recorded.name().to_owned();
    if source.contains("simulated") {
        let detail = "counters of simulated tiles are computed, not measured";
        gaps.note(gap(GapKind::Estimated, detail.to_owned(), 0));
    }
    let first = recorded.read(Nanos(0), &mut gaps);
    let mut before = first.map(|readings| places.values(recorded.ports(), &readings));
    let mut total: Option<Frame> = None;
    let mut frames: Vec<Frame> = Vec::new();
    let (mut readings, mut rows, mut left, mut backwards) = (before.is_some().into(), 0, 0, 0);
    while let Some(next) = recorded.read(Nanos(0), &mut gaps) {
        readings += 1_u64;
        let after = places.values(recorded.ports(), &next);
        let Some((begin, earlier)) = before.replace(after.clone()) else { continue };
        let (end, later) = after;
        if end <= begin {
            backwards += 1;
        }
        let interval = Nanos(end.0.saturating_sub(begin.0));
        let given = gemini::Readings {
            routers: &places.routers,
            before: &earlier,
            after: &later,
            interval,
        };
        let mut table = link_table(machine, &given)?;
        gaps.merge(std::mem::take(&mut table.gaps));
        let frame = Frame { begin, end, table };
        match &mut total {
            Some(total) => total.add(&frame),
            None => total = Some(frame.clone()),
        }
        rows += frame.table.rows.len();
        if each && rows <= MOST_ROWS {
            frames.push(frame);
        } else if each {
            left += 1;
        }
    }
    if backwards > 0 {
        let detail = "times of readings do not grow: shares of these intervals are absent";
        gaps.note(gap(GapKind::Damaged, detail.to_owned(), backwards));
    }
    if left > 0 {
        let detail = "intervals that are in the sums alone, as they are too many to be shown";
        gaps.note(gap(GapKind::MemoryBound, detail.to_owned(), left));
    }
    match total {
        Some(total) => Ok(Recording { source, total, frames, gaps }),
        None => Err(FabricError::Readings { readings, path: path.to_owned() }),
    }
}

impl Frame {
    /// Adds what links did in a later interval.
    fn add(&mut self, later: &Self) {
        for (sum, next) in self.table.rows.iter_mut().zip(&later.table.rows) {
            for (sum, next) in sum.sums.iter_mut().zip(next.sums) {
                *sum = sum.zip(next).map(|(sum, next)| sum.saturating_add(next));
            }
        }
        self.end = later.end;
        self.table.interval = Nanos(self.end.0.saturating_sub(self.begin.0));
    }
}

/// Which ports are which counters.
struct Places {
    routers: Vec<RouterId>,
    /// By port: where the values of its tile begin, and which of its counters is each of the six.
    tiles: Vec<Option<(usize, [Option<usize>; COUNTERS])>>,
}

impl Places {
    /// When a reading was, and its values as [`link_table`] takes them.
    fn values(&self, ports: &[Port], readings: &Readings) -> (Nanos, Vec<u64>) {
        let mut values = vec![ABSENT; self.routers.len() * READINGS];
        let at = readings.all().iter().flatten().next().map(|reading| reading.at);
        for (port, place) in (0..ports.len()).zip(&self.tiles) {
            let Some((first, columns)) = place else { continue };
            let own = readings.port(port);
            for (value, column) in values[*first..].iter_mut().zip(columns) {
                let reading = column.and_then(|column| own.get(column).copied().flatten());
                if let Some(reading) = reading {
                    *value = reading.value;
                }
            }
        }
        (at.unwrap_or(Nanos(0)), values)
    }
}

fn places(
    ports: &[Port],
    machine: &Machine,
    chosen: Option<&[RouterId]>,
    path: &Path,
    gaps: &mut Gaps,
) -> Result<Places, FabricError> {
    let named: HashMap<&str, RouterId> = (0..)
        .map(RouterId)
        .zip(machine.fabric.routers())
        .map(|(id, router)| (router.name.as_str(), id))
        .collect();
    let mut routers: Vec<RouterId> = chosen.unwrap_or(&[]).to_vec();
    let mut slots: HashMap<RouterId, usize> =
        routers.iter().enumerate().map(|(slot, &router)| (router, slot)).collect();
    let mut tiles = Vec::with_capacity(ports.len());
    let mut taken: HashSet<(RouterId, usize)> = HashSet::new();
    let (mut found, mut strange) = (false, Vec::new());
    for port in ports {
        let split = port.name.len().checked_sub(TILE).and_then(|at| port.name.split_at_checked(at));
        let tile = split.and_then(|(router, tile)| {
            Some((*named.get(router)?, tile.parse::<Tile>().ok()?.at()))
        });
        let Some((router, tile)) = tile else {
            strange.push(port.name.as_str());
            tiles.push(None);
            continue;
        };
        found = true;
        if !taken.insert((router, tile)) {
            return Err(FabricError::TileTwice { name: port.name.clone(), path: path.to_owned() });
        }
        let columns = columns(port, path)?;
        let slot = match (slots.get(&router), chosen) {
            (Some(&slot), _) => slot,
            (None, Some(_)) => {
                tiles.push(None);
                continue;
            }
            (None, None) => {
                routers.push(router);
                slots.insert(router, routers.len() - 1);
                routers.len() - 1
            }
        };
        tiles.push(Some((slot * READINGS + tile * COUNTERS, columns)));
    }
    if !found {
        let found = strange.first().copied().unwrap_or_default().chars().take(60).collect();
        return Err(FabricError::NoTiles { found, path: path.to_owned() });
    }
    if let Some(first) = strange.first() {
        let first: String = first.chars().take(60).collect();
        let detail = format!("ports that are no tiles of the machine, first `{first}`");
        gaps.note(gap(GapKind::Missing, detail, strange.len() as u64));
    }
    Ok(Places { routers, tiles })
}

/// Which counter of a tile's port is each of the six.
fn columns(port: &Port, path: &Path) -> Result<[Option<usize>; COUNTERS], FabricError> {
    let mut columns = [None; COUNTERS];
    for (column, kind) in columns.iter_mut().zip(TileCounter::ALL) {
        let Some(at) = port.counters.iter().position(|counter| counter.name == kind.heading())
        else {
            continue;
        };
        let unit = match kind {
            TileCounter::Vc0Phits | TileCounter::Vc1Phits => Unit::Phits,
            TileCounter::Vc0Packets | TileCounter::Vc1Packets => Unit::Packets,
            TileCounter::InqStalls | TileCounter::CreditStalls => Unit::GeminiTicks,
        };
        let counter = &port.counters[at];
        if counter.width != Width::Wraps(BITS) || counter.unit != unit {
            let (name, tile) = (counter.name.clone(), port.name.clone());
            return Err(FabricError::TileCounter { name, tile, path: path.to_owned() });
        }
        *column = Some(at);
    }
    Ok(columns)
}

fn gap(kind: GapKind, detail: String, count: u64) -> Gap {
    Gap { kind, rank: None, detail, count }
}

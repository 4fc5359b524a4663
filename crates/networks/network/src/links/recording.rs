//! From a recording of tiles to sums of links, interval by interval.
//!
//! Owns the assignment of ports of the recording to tiles of the machine, and the sums over
//! intervals, which are right where a counter wraps more than once and show where one was reset
//! between two readings. A tile is named by its router and its place, `c0-0c0s0g0l32`, and has the
//! six counters of its registers. Gaps are ports that are no tile of the machine, tiles that were
//! not recorded, readings that were cut off, and readings with times before earlier ones, which are
//! left out. It refuses recordings without any tile of the machine.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use talea_fabric::RouterId;
use talea_fabric::gemini::table::ABSENT;
use talea_fabric::gemini::tiles::{BITS, COUNTERS, READINGS};
use talea_fabric::gemini::{self, Machine, Table, Tile, TileCounter, link_table};
use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_sampling::fabric::recorded::Recorded;
use talea_sampling::fabric::{CounterSource as _, Port, Readings, Unit, Width};

use crate::NetworkError;
use crate::input::text;

/// Maximum number of rows of all intervals together.
const MOST_ROWS: usize = 1 << 21;
/// Maximum number of routers of a recording, whose readings take 2.3 kB each, however few of their
/// tiles were recorded: three times as many as the largest Gemini machine had.
const MOST_ROUTERS: usize = 1 << 15;
/// Characters of a tile after the name of its router.
const TILE: usize = 3;

/// Traffic of links.
#[derive(Debug)]
pub struct Recording {
    /// Source of the recording: `recorded simulated tiles`.
    pub source: String,
    /// From the first reading to the last one.
    pub total: Frame,
    /// Each interval, if requested.
    pub frames: Vec<Frame>,
    /// Gaps of the recording and of everything beside it.
    pub gaps: Gaps,
}

/// Traffic of links in one interval.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Time of the reading before it.
    pub begin: Nanos,
    /// Time of the reading after it.
    pub end: Nanos,
    /// Sums of the counters of each link.
    pub table: Table,
}

impl Recording {
    /// Seconds since the first reading.
    pub fn since(&self, at: Nanos) -> f64 {
        Nanos(at.0.saturating_sub(self.total.begin.0)).seconds()
    }
}

/// Reads a recording; of these routers, in this order, or of all routers in it.
pub(super) fn recording(
    path: &Path,
    machine: &Machine,
    chosen: Option<&[RouterId]>,
    each: bool,
    gaps: &mut Gaps,
) -> Result<Recording, NetworkError> {
    let text = text(path)?;
    let mut recorded = Recorded::new(text)
        .map_err(|source| NetworkError::Recorded { source, path: path.to_owned() })?;
    let places = places(recorded.ports(), machine, chosen, path, gaps)?;
    let source = recorded.name().to_owned();
    if source.contains("simulated") {
        let detail = "counters of simulated tiles are computed, not measured";
        gaps.note(gap(GapKind::Estimated, detail.to_owned(), 0));
    }
    let mut earlier: Option<(Nanos, Vec<u64>)> = None;
    let mut total: Option<Frame> = None;
    let mut frames: Vec<Frame> = Vec::new();
    let (mut readings, mut rows, mut left, mut over) = (0_u64, 0, 0, 0);
    while let Some(next) = recorded.read(Nanos(0), gaps) {
        readings += 1;
        let end = recorded.time().unwrap_or_default();
        let after = places.values(recorded.ports(), &next);
        let Some((begin, before)) = earlier.replace((end, after)) else { continue };
        let Some((_, after)) = &earlier else { continue };
        let interval = Nanos(end.0.saturating_sub(begin.0));
        let routers = &places.routers;
        let given = gemini::Readings { routers, before: &before, after, interval };
        let mut table = link_table(machine, &given)?;
        gaps.merge(std::mem::take(&mut table.gaps));
        let frame = Frame { begin, end, table };
        match &mut total {
            Some(total) => over += total.add(&frame),
            None => total = Some(frame.clone()),
        }
        rows += frame.table.rows.len();
        if each && rows <= MOST_ROWS {
            frames.push(frame);
        } else if each {
            left += 1;
        }
    }
    if over > 0 {
        let detail = "sums that are above 2^64 are absent";
        gaps.note(gap(GapKind::Missing, detail.to_owned(), over));
    }
    if left > 0 {
        let detail = "intervals that are in the sums alone, as they are too many to be shown";
        gaps.note(gap(GapKind::MemoryBound, detail.to_owned(), left));
    }
    match total {
        Some(total) => Ok(Recording { source, total, frames, gaps: Gaps::default() }),
        None => Err(NetworkError::Readings { readings, path: path.to_owned() }),
    }
}

impl Frame {
    /// Adds the traffic of a later interval, and returns the number of sums that have become too
    /// large.
    fn add(&mut self, later: &Self) -> u64 {
        let mut over = 0;
        for (sum, next) in self.table.rows.iter_mut().zip(&later.table.rows) {
            for (sum, next) in sum.sums.iter_mut().zip(next.sums) {
                let both = sum.zip(next);
                *sum = both.and_then(|(sum, next)| sum.checked_add(next));
                over += u64::from(both.is_some() && sum.is_none());
            }
        }
        self.end = later.end;
        self.table.interval = Nanos(self.end.0.saturating_sub(self.begin.0));
        over
    }
}

/// Counters of the ports.
struct Places {
    routers: Vec<RouterId>,
    /// By port: first value of its tile, and the port's counter for each of the six.
    tiles: Vec<Option<(usize, [Option<usize>; COUNTERS])>>,
}

impl Places {
    /// The values of a reading in the form of [`link_table`].
    fn values(&self, ports: &[Port], readings: &Readings) -> Vec<u64> {
        let mut values = vec![ABSENT; self.routers.len() * READINGS];
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
        values
    }
}

fn places(
    ports: &[Port],
    machine: &Machine,
    chosen: Option<&[RouterId]>,
    path: &Path,
    gaps: &mut Gaps,
) -> Result<Places, NetworkError> {
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
            return Err(NetworkError::TileTwice { name: port.name.clone(), path: path.to_owned() });
        }
        let columns = columns(port, path)?;
        let slot = match (slots.get(&router), chosen) {
            (Some(&slot), _) => slot,
            (None, Some(_)) => {
                tiles.push(None);
                continue;
            }
            (None, None) => {
                if routers.len() == MOST_ROUTERS {
                    return Err(NetworkError::Routers {
                        most: MOST_ROUTERS,
                        path: path.to_owned(),
                    });
                }
                routers.push(router);
                slots.insert(router, routers.len() - 1);
                routers.len() - 1
            }
        };
        tiles.push(Some((slot * READINGS + tile * COUNTERS, columns)));
    }
    if !found {
        let found = strange.first().copied().unwrap_or_default().chars().take(60).collect();
        return Err(NetworkError::NoTiles { found, path: path.to_owned() });
    }
    if let Some(first) = strange.first() {
        let first: String = first.chars().take(60).collect();
        let detail = format!("ports that are no tiles of the machine, first `{first}`");
        gaps.note(gap(GapKind::Missing, detail, strange.len() as u64));
    }
    Ok(Places { routers, tiles })
}

/// The counter of a tile's port for each of the six.
fn columns(port: &Port, path: &Path) -> Result<[Option<usize>; COUNTERS], NetworkError> {
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
            return Err(NetworkError::TileCounter { name, tile, path: path.to_owned() });
        }
        *column = Some(at);
    }
    Ok(columns)
}

fn gap(kind: GapKind, detail: String, count: u64) -> Gap {
    Gap { kind, rank: None, detail, count }
}

#[cfg(test)]
mod tests {
    use talea_fabric::gemini::{Label, Row};

    use super::*;

    #[test]
    fn routers_are_bounded() {
        let machine = gemini::machine([32, 32, 33]).unwrap();
        let head = "talea-fabric-counters 1\nset\ncounter VC0_PHITS received 3B 48 wraps\n";
        let port = |name: &str| format!("port {name}l00 gemini 0 - -\n");
        let ports = machine.fabric.routers().iter().map(|router| port(&router.name));
        let text = head.to_owned() + &ports.take(MOST_ROUTERS + 1).collect::<String>();
        let recorded = Recorded::new(text).unwrap();
        let found = |chosen: Option<&[RouterId]>| {
            let (ports, path) = (recorded.ports(), Path::new("tiles.txt"));
            let found = places(ports, &machine, chosen, path, &mut Gaps::default());
            found.map(|found| found.routers.len()).map_err(|error| error.to_string())
        };
        assert_eq!(found(Some(&[RouterId(7)])), Ok(1));
        let expected = "tiles of more than 32768 routers, expected fewer, or --routers or --hosts with those that are wanted: `tiles.txt`";
        assert_eq!(found(None), Err(expected.to_owned()));
    }

    #[test]
    fn sums_that_do_not_fit_are_absent() {
        let frame = |begin, phits| {
            let sums = [Some(phits), Some(1), Some(1), Some(1), None, Some(0)];
            let (router, to, label) = (RouterId(0), RouterId(1), Label::XPlus);
            let row = Row { router, to, label, tiles: 8, capacity: Some(1e9), sums };
            let table = Table { rows: vec![row], interval: Nanos(1), gaps: Gaps::default() };
            Frame { begin: Nanos(begin), end: Nanos(begin + 1), table }
        };
        let mut total = frame(0, u64::MAX - 5);
        assert_eq!(total.add(&frame(1, 5)), 0);
        assert_eq!(total.table.rows[0].sums[0], Some(u64::MAX));
        assert_eq!((total.add(&frame(2, 1)), total.add(&frame(3, 1))), (1, 0));
        let row = &total.table.rows[0];
        assert_eq!((row.sums[0], row.sums[1], row.sums[4]), (None, Some(4), None));
        assert_eq!(total.table.interval, Nanos(4));
    }
}

//! `talea fabric counters`: rates of all ports of this node, or of a recording.
//!
//! Owns the table, and the file that keeps the totals. Readings and their times are
//! `talea-network`'s.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use talea_model::{Gaps, Nanos};
use talea_network::NetworkError;
use talea_network::intervals::{self, Frame, Frames, Meter};
use talea_network::rates::findings;
use talea_report::data::ports::PortRates;
use talea_sampling::fabric::{CounterSource, Port, Readings, recorded};
use talea_topology::svg::amount;

use super::cell::{known, percent, stalled};
use super::{FabricError, print_json};
use crate::table::{Column, Table};
use crate::terminal::{self, Palette};

/// Options of `talea fabric counters`.
#[derive(Debug)]
pub(crate) struct Options {
    /// Interval between two readings.
    pub(crate) interval: Nanos,
    /// Number of intervals; where absent one, or all of a recording.
    pub(crate) count: Option<u64>,
    /// File that keeps the totals.
    pub(crate) out: Option<PathBuf>,
    /// A recording to show.
    pub(crate) replay: Option<PathBuf>,
    /// JSON instead of tables.
    pub(crate) json: bool,
}

/// Prints intervals as they end.
pub(crate) fn counters(options: &Options) -> Result<(), FabricError> {
    let mut gaps = Gaps::default();
    let source = intervals::source(options.replay.as_deref(), &mut gaps)?;
    let mut out = match &options.out {
        Some(path) => Some(Kept::create(path, &*source)?),
        None => None,
    };
    let live = options.replay.is_none();
    let count = options.count.unwrap_or(if live { 1 } else { u64::MAX });
    let mut meter = Meter::new(source, live.then_some(options.interval));
    let mut frames = Frames::default();
    let (mut readings, mut shown) = (0, 0);
    while shown < count {
        let Some(round) = meter.read(&mut gaps) else { break };
        readings += 1;
        let source = meter.source();
        if let Some(out) = &mut out {
            out.add(source.ports(), round.at, &round.readings)?;
        }
        let Some(frame) = round.frame else { continue };
        shown += 1;
        if options.json {
            frames.add(|| frame.row(source.ports()));
        } else {
            print(&frame, source)?;
        }
    }
    gaps.merge(frames.gaps());
    if let Some(path) = options.replay.as_ref().filter(|_| shown == 0) {
        return Err(NetworkError::Readings { readings, path: path.clone() }.into());
    }
    let source = meter.source();
    let findings = findings(source.ports());
    if options.json {
        let source = source.name().to_owned();
        return print_json(&PortRates { source, frames: frames.kept, findings, gaps });
    }
    let palette = Palette::stdout();
    let lines = terminal::findings(&findings, palette).chain(terminal::gaps(&gaps, palette));
    let mut out = std::io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The table of an interval.
fn print(frame: &Frame, source: &dyn CounterSource) -> Result<(), FabricError> {
    let mut table = Table::new(&[
        ("port", Column::Yields),
        ("network", Column::Left),
        ("state", Column::Left),
        ("speed", Column::Right),
        ("sent", Column::Right),
        ("full", Column::Right),
        ("received", Column::Right),
        ("full", Column::Right),
        ("stalled", Column::Right),
        ("faults", Column::Right),
    ]);
    for (port, rates) in source.ports().iter().zip(&frame.rates) {
        let bytes = |value: Option<f64>| known(value, |value| amount(value, "B/s"));
        table.row([
            port.name.clone(),
            port.kind.word().to_owned(),
            port.state.clone().unwrap_or_else(|| "-".to_owned()),
            bytes(port.speed),
            bytes(rates.sent.bytes),
            percent(rates.sent.utilisation),
            bytes(rates.received.bytes),
            percent(rates.received.utilisation),
            stalled(rates.sent),
            known(rates.faults, |faults| faults.to_string()),
        ]);
    }
    let mut out = std::io::stdout().lock();
    let seconds = known(frame.seconds, |seconds| format!("{seconds:.3} s"));
    writeln!(out, "{}, {seconds}", terminal::cell(source.name(), terminal::width() - 20))?;
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Totals that are written while they are read.
struct Kept {
    file: std::fs::File,
    path: PathBuf,
}

impl Kept {
    fn create(path: &Path, source: &dyn CounterSource) -> Result<Self, FabricError> {
        let file = std::fs::File::create(path)
            .map_err(|source| FabricError::Write { source, path: path.to_owned() })?;
        let mut kept = Self { file, path: path.to_owned() };
        kept.write(&recorded::head(source))?;
        Ok(kept)
    }

    fn add(&mut self, ports: &[Port], at: Nanos, readings: &Readings) -> Result<(), FabricError> {
        self.write(&recorded::totals(ports, at, readings))
    }

    fn write(&mut self, text: &str) -> Result<(), FabricError> {
        self.file
            .write_all(text.as_bytes())
            .map_err(|source| FabricError::Write { source, path: self.path.clone() })
    }
}

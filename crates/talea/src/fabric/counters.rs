//! `talea fabric counters`: rates of all ports of this node, or of a recording.
//!
//! Owns the times of readings, and the table. An interval has its actual length, not the requested one.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_sampling::Root;
use talea_sampling::fabric::recorded::{self, Recorded};
use talea_sampling::fabric::{CounterSource, Port, Readings, of_machine};
use talea_topology::svg::amount;

use super::cell::{known, percent, stalled};
use super::rates::{Rates, findings};
use super::{FabricError, print_json, read};
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

/// Maximum number of intervals in JSON: all of it is in memory before it is printed.
const MOST_FRAMES: usize = 100_000;

/// Prints intervals as they end.
pub(crate) fn counters(options: &Options) -> Result<(), FabricError> {
    let mut gaps = Gaps::default();
    let mut source: Box<dyn CounterSource> = match &options.replay {
        Some(path) => {
            let recorded = Recorded::new(read(path)?);
            let error = |source| FabricError::Recorded { source, path: path.clone() };
            Box::new(recorded.map_err(error)?)
        }
        None => Box::new(of_machine(&Root::machine(), &mut gaps)),
    };
    if source.ports().is_empty() {
        return Err(match &options.replay {
            Some(path) => FabricError::NoRecordedPorts { path: path.clone() },
            None => FabricError::NoPorts,
        });
    }
    let mut out = match &options.out {
        Some(path) => Some(Kept::create(path, &*source)?),
        None => None,
    };
    let live = options.replay.is_none();
    let count = options.count.unwrap_or(if live { 1 } else { u64::MAX });
    let begin = (Nanos::now(), Instant::now());
    let mut before = None;
    let mut frames = Frames::default();
    let mut shown = 0;
    while shown < count {
        if live && before.is_some() {
            let due = Duration::from_nanos(options.interval.0.saturating_mul(shown + 1));
            std::thread::sleep(due.saturating_sub(begin.1.elapsed()));
        }
        // The date of the beginning, and steps of a monotonic clock.
        let at = Nanos(begin.0.0 + begin.1.elapsed().as_nanos() as u64);
        let Some(after) = source.read(at, &mut gaps) else { break };
        if let Some(out) = &mut out {
            out.add(source.ports(), at, &after)?;
        }
        let Some(before) = before.replace(after.clone()) else { continue };
        shown += 1;
        let frame = Frame::between(source.ports(), &before, &after, &mut gaps);
        if options.json {
            frames.add(|| frame.json(source.ports()));
        } else {
            print(&frame, &*source)?;
        }
    }
    gaps.merge(frames.gaps());
    if let Some(path) = options.replay.as_ref().filter(|_| shown == 0) {
        return Err(FabricError::Readings {
            readings: before.is_some().into(),
            path: path.clone(),
        });
    }
    let findings = findings(source.ports());
    if options.json {
        return print_json(
            &json!({ "source": source.name(), "frames": frames.kept, "findings": findings, "gaps": gaps }),
        );
    }
    let palette = Palette::stdout();
    let lines = terminal::findings(&findings, palette).chain(terminal::gaps(&gaps, palette));
    let mut out = std::io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Intervals of JSON.
#[derive(Debug, Default)]
struct Frames {
    kept: Vec<Value>,
    /// Number of intervals beyond the maximum.
    left: u64,
}

impl Frames {
    fn add(&mut self, frame: impl FnOnce() -> Value) {
        if self.kept.len() < MOST_FRAMES {
            self.kept.push(frame());
        } else {
            self.left += 1;
        }
    }

    fn gaps(&self) -> Gaps {
        let mut gaps = Gaps::default();
        if self.left > 0 {
            let detail = "intervals that JSON has not: it holds the first 100,000".to_owned();
            gaps.note(Gap { kind: GapKind::MemoryBound, rank: None, detail, count: self.left });
        }
        gaps
    }
}

/// An interval.
struct Frame {
    /// End of the interval.
    at: Option<Nanos>,
    /// Length of the interval.
    seconds: Option<f64>,
    rates: Vec<Rates>,
}

impl Frame {
    fn between(ports: &[Port], before: &Readings, after: &Readings, gaps: &mut Gaps) -> Self {
        let time = |readings: &Readings| {
            (0..ports.len()).find_map(|port| Some(readings.port(port).iter().flatten().next()?.at))
        };
        let rates = ports
            .iter()
            .enumerate()
            .map(|(place, port)| Rates::between(port, before.port(place), after.port(place), gaps));
        let rates = rates.collect();
        let (begin, at) = (time(before), time(after));
        Self { at, seconds: begin.zip(at).map(|(begin, at)| (at - begin).seconds()), rates }
    }

    fn json(&self, ports: &[Port]) -> Value {
        let ports: Vec<Value> =
            ports.iter().zip(&self.rates).map(|(port, rates)| rates.json(port)).collect();
        json!({ "at_ns": self.at, "seconds": self.seconds, "ports": ports })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_json_has_not_are_said() {
        let mut frames = Frames::default();
        (0..MOST_FRAMES).for_each(|_| frames.add(|| Value::Null));
        assert!(frames.gaps().is_empty());
        (0..3).for_each(|_| frames.add(|| panic!("nobody keeps it")));
        let told: Vec<_> = frames.gaps().iter().map(Gap::told).collect();
        assert_eq!(told, ["intervals that JSON has not: it holds the first 100,000 (3)"]);
        assert_eq!(frames.kept.len(), MOST_FRAMES);
    }
}

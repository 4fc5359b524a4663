//! `talea fabric counters`: rates of all ports of this node, or of a recording.
//!
//! Owns when counters are read, and the table. An interval is as long as it was, not as it was asked for.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_sampling::Root;
use talea_sampling::fabric::recorded::{self, Recorded};
use talea_sampling::fabric::{CounterSource, Port, Readings, of_machine};
use talea_topology::svg::amount;

use super::rates::{Rates, Way, findings};
use super::{FabricError, print_json, read};
use crate::table::{Column, Table};
use crate::terminal::{self, Palette};

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Options {
    /// Between two readings.
    pub(crate) interval: Nanos,
    /// How many intervals; one, or all of a recording.
    pub(crate) count: Option<u64>,
    /// Where totals are kept.
    pub(crate) out: Option<PathBuf>,
    /// A recording to show.
    pub(crate) replay: Option<PathBuf>,
    /// JSON instead of tables.
    pub(crate) json: bool,
}

/// Intervals that JSON holds at most.
const MOST_FRAMES: u64 = 100_000;

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
    let mut frames: Vec<Value> = Vec::new();
    let mut shown = 0;
    while shown < count && shown < MOST_FRAMES {
        if live && before.is_some() {
            let due = Duration::from_nanos(options.interval.0.saturating_mul(shown + 1));
            std::thread::sleep(due.saturating_sub(begin.1.elapsed()));
        }
        // The date of the begin, and steps of a clock that nobody sets.
        let at = Nanos(begin.0.0 + begin.1.elapsed().as_nanos() as u64);
        let Some(after) = source.read(at, &mut gaps) else { break };
        if let Some(out) = &mut out {
            out.add(source.ports(), at, &after)?;
        }
        let Some(before) = before.replace(after.clone()) else { continue };
        shown += 1;
        let frame = Frame::between(source.ports(), &before, &after, &mut gaps);
        if options.json {
            frames.push(frame.json(source.ports()));
        } else {
            print(&frame, &*source)?;
        }
    }
    let more = shown == MOST_FRAMES && shown < count;
    if more && (live || source.read(begin.0, &mut gaps).is_some()) {
        let detail = "intervals are shown up to the 100,000th";
        gaps.note(Gap {
            kind: GapKind::MemoryBound,
            rank: None,
            detail: detail.to_owned(),
            count: 0,
        });
    }
    if let Some(path) = options.replay.as_ref().filter(|_| shown == 0) {
        return Err(FabricError::Readings {
            readings: before.is_some().into(),
            path: path.clone(),
        });
    }
    let findings = findings(source.ports());
    if options.json {
        return print_json(
            &json!({ "source": source.name(), "frames": frames, "findings": findings, "gaps": gaps }),
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

/// An interval.
struct Frame {
    /// When it ended.
    at: Option<Nanos>,
    /// How long it was.
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
            share(rates.sent.utilisation),
            bytes(rates.received.bytes),
            share(rates.received.utilisation),
            stalled(rates.sent),
            rates.faults.map_or_else(|| "-".to_owned(), |faults| faults.to_string()),
        ]);
    }
    let mut out = std::io::stdout().lock();
    let seconds = known(frame.seconds, |seconds| format!("{seconds:.3} s"));
    writeln!(out, "{}, {seconds}", terminal::clean(source.name(), terminal::WIDTH - 20))?;
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn known(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), text)
}

fn share(value: Option<f64>) -> String {
    known(value, |value| amount(100.0 * value, "%"))
}

fn stalled(way: Way) -> String {
    match way.stalled {
        Some(_) => share(way.stalled),
        None => known(way.ticks, |ticks| amount(ticks, "ticks/s")),
    }
}

/// Totals that are kept while they are read.
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

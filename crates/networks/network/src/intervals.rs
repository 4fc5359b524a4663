//! Readings of all ports of this node, or of a recording, one after the other, and the intervals
//! between them.
//!
//! Owns the times of readings. An interval has its actual length, not the requested one. It refuses
//! to keep readings: a caller may write them while they are read.

use std::path::Path;
use std::time::{Duration, Instant};

use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_results::ports::PortFrame;
use talea_sampling::Root;
use talea_sampling::fabric::recorded::Recorded;
use talea_sampling::fabric::{CounterSource, Port, Readings, of_machine};

use crate::NetworkError;
use crate::input::text;
use crate::rates::Rates;

/// Maximum number of intervals in JSON: all of it is in memory before it is printed.
const MOST_FRAMES: usize = 100_000;

/// A source of counters that is read at intervals.
pub struct Meter {
    source: Box<dyn CounterSource>,
    /// Time between two readings of this node; `None` for a recording, which does not wait.
    interval: Option<Nanos>,
    /// Date and monotonic time of the beginning.
    begin: (Nanos, Instant),
    before: Option<Readings>,
    /// Number of intervals.
    intervals: u64,
}

/// A reading, and the interval that it ends.
#[derive(Debug)]
pub struct Round {
    /// The date of the reading.
    pub at: Nanos,
    /// The counters.
    pub readings: Readings,
    /// Absent for the first reading.
    pub frame: Option<Frame>,
}

/// The ports of this node, or of a recording.
///
/// Fails where there is no port.
pub fn source(
    recording: Option<&Path>,
    gaps: &mut Gaps,
) -> Result<Box<dyn CounterSource>, NetworkError> {
    let source: Box<dyn CounterSource> = match recording {
        Some(path) => {
            let recorded = Recorded::new(text(path)?);
            let error = |source| NetworkError::Recorded { source, path: path.to_owned() };
            Box::new(recorded.map_err(error)?)
        }
        None => Box::new(of_machine(&Root::machine(), gaps)),
    };
    if source.ports().is_empty() {
        return Err(match recording {
            Some(path) => NetworkError::NoRecordedPorts { path: path.to_owned() },
            None => NetworkError::NoPorts,
        });
    }
    Ok(source)
}

impl Meter {
    /// Time begins; `interval` is that of a live source.
    pub fn new(source: Box<dyn CounterSource>, interval: Option<Nanos>) -> Self {
        let begin = (Nanos::now(), Instant::now());
        Self { source, interval, begin, before: None, intervals: 0 }
    }

    /// The source.
    pub fn source(&self) -> &dyn CounterSource {
        &*self.source
    }

    /// Waits for the end of the interval, and reads; `None` at the end of a recording.
    pub fn read(&mut self, gaps: &mut Gaps) -> Option<Round> {
        if let (Some(interval), Some(_)) = (self.interval, &self.before) {
            let due = Duration::from_nanos(interval.0.saturating_mul(self.intervals + 1));
            std::thread::sleep(due.saturating_sub(self.begin.1.elapsed()));
        }
        // The date of the beginning, and steps of a monotonic clock.
        let at = Nanos(self.begin.0.0 + self.begin.1.elapsed().as_nanos() as u64);
        let readings = self.source.read(at, gaps)?;
        let before = self.before.replace(readings.clone());
        let frame = before.map(|before| {
            self.intervals += 1;
            Frame::between(self.source.ports(), &before, &readings, gaps)
        });
        Some(Round { at, readings, frame })
    }
}

/// Intervals of JSON.
#[derive(Debug, Default)]
pub struct Frames {
    /// The first intervals, with the public keys.
    pub kept: Vec<PortFrame>,
    /// Number of intervals beyond the maximum.
    left: u64,
}

impl Frames {
    /// Adds an interval, which is not made beyond the maximum.
    pub fn add(&mut self, frame: impl FnOnce() -> PortFrame) {
        if self.kept.len() < MOST_FRAMES {
            self.kept.push(frame());
        } else {
            self.left += 1;
        }
    }

    /// Gap: the intervals beyond the maximum.
    pub fn gaps(&self) -> Gaps {
        let mut gaps = Gaps::default();
        if self.left > 0 {
            let detail = "intervals that JSON has not: it holds the first 100,000".to_owned();
            gaps.note(Gap { kind: GapKind::MemoryBound, rank: None, detail, count: self.left });
        }
        gaps
    }
}

/// An interval between two readings.
#[derive(Debug)]
pub struct Frame {
    /// End of the interval.
    pub at: Option<Nanos>,
    /// Length of the interval, in seconds.
    pub seconds: Option<f64>,
    /// Rates of each port.
    pub rates: Vec<Rates>,
}

impl Frame {
    /// The interval between two readings of these ports.
    pub fn between(ports: &[Port], before: &Readings, after: &Readings, gaps: &mut Gaps) -> Self {
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

    /// With the public keys.
    pub fn row(&self, ports: &[Port]) -> PortFrame {
        let ports = ports.iter().zip(&self.rates).map(|(port, rates)| rates.row(port)).collect();
        PortFrame { at_ns: self.at, seconds: self.seconds, ports }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_json_has_not_are_said() {
        let mut frames = Frames::default();
        (0..MOST_FRAMES).for_each(|_| {
            frames.add(|| PortFrame { at_ns: None, seconds: None, ports: Vec::new() });
        });
        assert!(frames.gaps().is_empty());
        (0..3).for_each(|_| frames.add(|| panic!("nobody keeps it")));
        let told: Vec<_> = frames.gaps().iter().map(Gap::sentence).collect();
        assert_eq!(told, ["intervals that JSON has not: it holds the first 100,000 (3)"]);
        assert_eq!(frames.kept.len(), MOST_FRAMES);
    }
}

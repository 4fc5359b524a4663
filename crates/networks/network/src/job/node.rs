//! Traffic of a node's ports while a job ran.
//!
//! Owns the readings of a file one after the other and their totals over all ports; the sums of a
//! port are [`super::port`]'s. It refuses to compare nodes.

use std::path::Path;

use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_run::counters::{self, Notes};
use talea_sampling::fabric::recorded::{Recorded, RecordedError};
use talea_sampling::fabric::{CounterSource, Reading, Readings};

use super::port::PortRun;
use crate::NetworkError;

/// Maximum number of readings times ports that are kept one by one; of more each second one, and so
/// on.
const MOST_CELLS: usize = 1 << 20;

/// A node over the time of its readings.
#[derive(Debug)]
pub struct Node {
    /// Name in its processes' records.
    pub name: String,
    /// Notes in its file.
    pub notes: Notes,
    /// Source of the counters.
    pub source: String,
    /// Its ports.
    pub ports: Vec<PortRun>,
    /// Number of complete readings.
    pub readings: u64,
    /// The first and the last time, on the clock of its file.
    pub times: Option<(Nanos, Nanos)>,
    /// Bytes that each port sent and received up to each reading.
    pub steps: Vec<Step>,
    /// Gaps.
    pub gaps: Gaps,
}

/// Bytes that were sent and received since the first reading, by port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Time of the reading, on the clock of its file.
    pub at: Nanos,
    /// By port: bytes sent and received.
    pub bytes: Vec<[Option<u64>; 2]>,
}

impl Node {
    /// Reads a node's file.
    pub fn read(path: &Path) -> Result<Self, NetworkError> {
        let failed = |source| NetworkError::Read { source, path: path.to_owned() };
        let text = counters::read(path).map_err(failed)?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::parse(&stem, text)
            .map_err(|source| NetworkError::Recorded { source, path: path.to_owned() })
    }

    /// Reads a file's text; `stem` is its name where the text has none.
    pub fn parse(stem: &str, text: String) -> Result<Self, RecordedError> {
        let notes = Notes::parse(&text);
        let mut source = Recorded::new(text)?;
        let name = if notes.host.is_empty() { stem.to_owned() } else { notes.host.clone() };
        let mut gaps = Gaps::default();
        let named = |kind, text: &str| Gap {
            kind,
            rank: None,
            detail: format!("network of node `{name}`: {text}"),
            count: 0,
        };
        notes.gaps.iter().for_each(|text| gaps.note(named(GapKind::Missing, text)));
        let mut ports: Vec<PortRun> =
            source.ports().iter().map(|port| PortRun::new(port, &notes)).collect();
        let (mut readings, mut times) = (0_u64, None);
        let (mut steps, mut stride) = (Vec::new(), 1_u64);
        let most_steps = (MOST_CELLS / ports.len().max(1)).max(2);
        let mut before: Option<Readings> = None;
        let mut lost = Gaps::default();
        while let Some(after) = source.read(Nanos(0), &mut lost) {
            for (at, port) in ports.iter_mut().enumerate() {
                let before = before.as_ref().map(|before| before.port(at));
                port.add(before, after.port(at), notes.asked, &mut lost);
            }
            if let Some(Reading { at, .. }) = after.all().iter().flatten().next() {
                times = Some((times.map_or(*at, |(first, _)| first), *at));
                if readings.is_multiple_of(stride) {
                    steps.push(Step { at: *at, bytes: ports.iter().map(PortRun::bytes).collect() });
                }
                if steps.len() > most_steps {
                    stride *= 2;
                    let mut stays = false;
                    steps.retain(|_| {
                        stays = !stays;
                        stays
                    });
                }
            }
            readings += 1;
            before = Some(after);
        }
        lost.iter().for_each(|gap| gaps.note(named(gap.kind, &gap.detail)));
        if notes.ended.is_none() {
            let text = "readings end without a last one: their process was killed, or had no room";
            gaps.note(named(GapKind::EndedEarly, text));
        }
        ports.iter_mut().for_each(PortRun::settle);
        let source = source.name().to_owned();
        Ok(Self { name, notes, source, ports, readings, times, steps, gaps })
    }

    /// Seconds from the first to the last reading.
    pub fn seconds(&self) -> Option<f64> {
        self.times.map(|(first, last)| (last - first).seconds())
    }

    /// Bytes that all ports sent and received, without ports on top of others; absent if those of
    /// one are, or there is none.
    pub fn bytes(&self) -> [Option<u64>; 2] {
        let mut sums: [Option<u64>; 2] = [None, None];
        for (at, sum) in sums.iter_mut().enumerate() {
            let ports = self.ports.iter().filter(|port| !port.is_above);
            let mut ports = ports.map(|port| port.bytes()[at]);
            *sum = ports
                .next()
                .flatten()
                .and_then(|first| ports.try_fold(first, |sum, bytes| sum.checked_add(bytes?)));
        }
        sums
    }
}

#[cfg(test)]
#[path = "node_tests.rs"]
pub(super) mod tests;

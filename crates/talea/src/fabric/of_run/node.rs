//! What the ports of a node carried while a job ran.
//!
//! Owns the sums over all readings of a file: of each counter how far it grew, step by step, so that wraps are counted as often as they happened, and the largest rate of an interval. What
//! one step cannot say the whole cannot. It refuses to compare nodes.

use std::path::Path;

use serde_json::{Value, json};
use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_run::counters::{self, Notes};
use talea_sampling::fabric::recorded::{Recorded, RecordedError};
use talea_sampling::fabric::{Counter, CounterSource, Port, Reading, Readings, Role, Unit, Width};

use super::super::FabricError;
use super::super::rates::{Rates, Way};

/// Readings that are kept one by one, times ports; of more each second one, and so on.
const MOST_CELLS: usize = 1 << 20;

/// A node over the time that it was read.
#[derive(Debug)]
pub(crate) struct Node {
    /// As its processes call it.
    pub(crate) name: String,
    /// What its file says of itself.
    pub(crate) notes: Notes,
    /// Where the numbers are from.
    pub(crate) source: String,
    /// Its ports.
    pub(crate) ports: Vec<PortRun>,
    /// How often all of them were read.
    pub(crate) readings: u64,
    /// The first and the last time, as its file has them.
    pub(crate) times: Option<(Nanos, Nanos)>,
    /// What each port sent and received up to each reading.
    pub(crate) steps: Vec<Step>,
    /// What is missing.
    pub(crate) gaps: Gaps,
}

/// A port over that time.
#[derive(Debug)]
pub(crate) struct PortRun {
    /// The port.
    pub(crate) port: Port,
    /// It lies on top of other ports, which count the same bytes.
    pub(crate) is_above: bool,
    /// Rates over the whole time.
    pub(super) rates: Rates,
    /// How far each counter grew.
    sums: Vec<Sum>,
    /// The largest rates of an interval: what was sent, and what was received.
    pub(crate) most: [Option<Most>; 2],
}

/// The largest rate of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Most {
    /// Bytes a second.
    pub(crate) rate: f64,
    /// Of the port's speed.
    pub(crate) utilisation: Option<f64>,
    /// When the interval ended, as the file has it, and its seconds.
    pub(crate) at: Nanos,
    pub(crate) seconds: f64,
}

/// Bytes that were sent and received since the first reading, by port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) at: Nanos,
    pub(crate) bytes: Vec<[Option<u64>; 2]>,
}

/// The growth of a counter.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    first: Option<Reading>,
    last: Option<Reading>,
    grown: u64,
    /// One step is not known.
    is_lost: bool,
}

impl Sum {
    fn add(&mut self, counter: &Counter, port: &str, reading: Option<Reading>, gaps: &mut Gaps) {
        // Without one the step to the next one is longer.
        let Some(after) = reading else { return };
        self.first.get_or_insert(after);
        if let Some(before) = self.last.replace(after) {
            let grown = counter.grown(port, before, after, gaps);
            let sum = grown.and_then(|grown| self.grown.checked_add(grown));
            self.is_lost |= sum.is_none();
            self.grown = sum.unwrap_or(self.grown);
        }
    }

    /// Steps between the first and the last reading; none with less than two.
    fn known(&self) -> Option<u64> {
        let (first, last) = self.first.zip(self.last)?;
        (!self.is_lost && first.at < last.at).then_some(self.grown)
    }
}

impl Node {
    /// Reads a node's file.
    pub(crate) fn read(path: &Path) -> Result<Self, FabricError> {
        let failed = |source| FabricError::Read { source, path: path.to_owned() };
        let text = counters::read(path).map_err(failed)?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::of(&stem, text)
            .map_err(|source| FabricError::Recorded { source, path: path.to_owned() })
    }

    /// Of a file's text; `stem` is its name where the text says none.
    pub(super) fn of(stem: &str, text: String) -> Result<Self, RecordedError> {
        let notes = Notes::of(&text);
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
                port.add(before, after.port(at), notes.interval, &mut lost);
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
    pub(crate) fn seconds(&self) -> Option<f64> {
        self.times.map(|(first, last)| (last - first).seconds())
    }

    /// What all ports sent and received, but for those on top of others; absent if that of one is, or there is none.
    pub(crate) fn bytes(&self) -> [Option<u64>; 2] {
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

impl PortRun {
    fn new(port: &Port, notes: &Notes) -> Self {
        Self {
            is_above: notes.above.contains(&port.name),
            rates: Rates::between(port, &[], &[], &mut Gaps::default()),
            sums: vec![Sum::default(); port.counters.len()],
            most: [None, None],
            port: port.clone(),
        }
    }

    fn add(
        &mut self,
        before: Option<&[Option<Reading>]>,
        after: &[Option<Reading>],
        interval: Option<Nanos>,
        gaps: &mut Gaps,
    ) {
        for ((sum, counter), reading) in self.sums.iter_mut().zip(&*self.port.counters).zip(after) {
            sum.add(counter, &self.port.name, *reading, gaps);
        }
        let Some(before) = before else { return };
        let time = |readings: &[Option<Reading>]| Some(readings.iter().flatten().next()?.at);
        let Some((begin, at)) = time(before).zip(time(after)) else { return };
        // A part of an interval, as the last one is, is not compared with whole ones.
        if interval.is_some_and(|interval| (at - begin).0 < interval.0 / 2) {
            return;
        }
        let rates = Rates::between(&self.port, before, after, gaps);
        for (most, way) in self.most.iter_mut().zip([rates.sent, rates.received]) {
            if let Some(rate) = way.bytes
                && most.is_none_or(|most| most.rate < rate)
            {
                let (utilisation, seconds) = (way.utilisation, (at - begin).seconds());
                *most = Some(Most { rate, utilisation, at, seconds });
            }
        }
    }

    /// Rates of the whole, whose counters are the sums: they do not wrap.
    fn settle(&mut self) {
        let counters = self.port.counters.iter();
        let counters = counters.map(|counter| Counter { width: Width::FULL, ..counter.clone() });
        let whole = Port { counters: counters.collect(), ..self.port.clone() };
        let at = |reading: Option<Reading>| reading.map_or(Nanos(0), |reading| reading.at);
        let read = |sum: &Sum, reading, value: u64| {
            sum.known().is_some().then_some(Reading { at: at(reading), value })
        };
        let before: Vec<_> = self.sums.iter().map(|sum| read(sum, sum.first, 0)).collect();
        let after: Vec<_> = self.sums.iter().map(|sum| read(sum, sum.last, sum.grown)).collect();
        self.rates = Rates::between(&whole, &before, &after, &mut Gaps::default());
    }

    /// Bytes that were sent and received.
    pub(crate) fn bytes(&self) -> [Option<u64>; 2] {
        [Role::Sent, Role::Received].map(|role| {
            self.total(role, |counter, steps| Some(counter.unit.bytes(1)?.checked_mul(steps)))
        })
    }

    /// Packets that were sent and received.
    pub(crate) fn packets(&self) -> [Option<u64>; 2] {
        [Role::Sent, Role::Received].map(|role| {
            self.total(role, |counter, steps| {
                (counter.unit == Unit::Packets).then_some(Some(steps))
            })
        })
    }

    /// The sum over all counters of a role that are of this kind; absent if one is, or there is none.
    fn total(&self, role: Role, of: impl Fn(&Counter, u64) -> Option<Option<u64>>) -> Option<u64> {
        let counters = self.port.counters.iter().zip(&self.sums);
        let mut all = None;
        for (counter, sum) in counters.filter(|(counter, _)| counter.role == role) {
            if of(counter, 1).is_none() {
                continue;
            }
            let steps = of(counter, sum.known()?)??;
            all = Some(u64::checked_add(all.unwrap_or(0), steps)?);
        }
        all
    }

    /// With the public keys.
    pub(crate) fn json(&self, time: impl Fn(Nanos) -> Option<Nanos>) -> Value {
        let (bytes, packets) = (self.bytes(), self.packets());
        let way = |at: usize, way: Way| {
            let each = bytes[at].zip(packets[at]).filter(|&(_, packets)| packets > 0);
            let most = self.most[at].map(|most| {
                json!({
                    "bytes_per_second": most.rate, "utilisation": most.utilisation, "end_ns": time(most.at),
                    "seconds": most.seconds,
                })
            });
            json!({
                "bytes": bytes[at], "packets": packets[at],
                "bytes_per_packet": each.map(|(bytes, packets)| bytes as f64 / packets as f64),
                "bytes_per_second": way.bytes, "utilisation": way.utilisation, "stalled": way.stalled,
                "stall_ticks_per_second": way.ticks, "most": most,
            })
        };
        let counters = self.port.counters.iter().zip(&self.sums);
        let counters: Vec<Value> = counters
            .map(|(counter, sum)| {
                json!({ "name": counter.name, "unit": counter.unit, "hertz": counter.hertz, "grown": sum.known() })
            })
            .collect();
        json!({
            "port": self.port.name, "network": self.port.kind.word(), "state": self.port.state,
            "bytes_per_second": self.port.speed, "above_others": self.is_above,
            "sent": way(0, self.rates.sent), "received": way(1, self.rates.received),
            "faults": self.rates.faults, "counters": counters,
        })
    }
}

#[cfg(test)]
#[path = "node_tests.rs"]
pub(super) mod tests;

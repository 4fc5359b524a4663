//! Traffic of one port while a job ran.
//!
//! Owns the sums over all readings: the increase of each counter, step by step, so that all wraps
//! are counted, and the maximum rate of an interval. If one step is unknown the total is unknown.

use talea_model::{Gaps, Nanos};
use talea_results::ports::{BusiestInterval, CounterTotal, DirectionTotals, JobPort};
use talea_run::counters::Notes;
use talea_sampling::fabric::{Counter, Port, Reading, Role, Unit, Width};

use crate::rates::{Rates, Way};

/// A port over that time.
#[derive(Debug)]
pub struct PortRun {
    /// The port.
    pub port: Port,
    /// It lies on top of other ports, which count the same bytes.
    pub is_above: bool,
    /// Rates over the whole time.
    pub rates: Rates,
    /// Increase of each counter.
    sums: Vec<Sum>,
    /// The maximum rates of an interval: sent, and received.
    pub most: [Option<Most>; 2],
}

/// The maximum rate of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Most {
    /// Bytes a second.
    pub rate: f64,
    /// Share of the port's speed.
    pub utilisation: Option<f64>,
    /// End of the interval, on the clock of the file, and its seconds.
    pub at: Nanos,
    /// Length of the interval.
    pub seconds: f64,
}

/// The increase of a counter.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    first: Option<Reading>,
    last: Option<Reading>,
    grown: u64,
    /// One step is unknown.
    is_lost: bool,
}

impl Sum {
    fn add(&mut self, counter: &Counter, port: &str, reading: Option<Reading>, gaps: &mut Gaps) {
        // Without a reading the step to the next one is longer.
        let Some(after) = reading else { return };
        self.first.get_or_insert(after);
        if let Some(before) = self.last.replace(after) {
            let grown = counter.grown(port, before, after, gaps);
            let sum = grown.and_then(|grown| self.grown.checked_add(grown));
            self.is_lost |= sum.is_none();
            self.grown = sum.unwrap_or(self.grown);
        }
    }

    /// Increase between the first and the last reading; `None` with fewer than two.
    fn known(&self) -> Option<u64> {
        let (first, last) = self.first.zip(self.last)?;
        (!self.is_lost && first.at < last.at).then_some(self.grown)
    }
}

impl PortRun {
    pub(super) fn new(port: &Port, notes: &Notes) -> Self {
        Self {
            is_above: notes.above.contains(&port.name),
            rates: Rates::between(port, &[], &[], &mut Gaps::default()),
            sums: vec![Sum::default(); port.counters.len()],
            most: [None, None],
            port: port.clone(),
        }
    }

    pub(super) fn add(
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
    pub(super) fn settle(&mut self) {
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
    pub fn bytes(&self) -> [Option<u64>; 2] {
        [Role::Sent, Role::Received].map(|role| {
            self.total(role, |counter, steps| Some(counter.unit.bytes(1)?.checked_mul(steps)))
        })
    }

    /// Packets that were sent and received.
    pub fn packets(&self) -> [Option<u64>; 2] {
        [Role::Sent, Role::Received].map(|role| {
            self.total(role, |counter, steps| {
                (counter.unit == Unit::Packets).then_some(Some(steps))
            })
        })
    }

    /// The sum over all counters of a role that are of this kind; absent if one is, or there are
    /// none.
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
    pub fn row(&self, time: impl Fn(Nanos) -> Option<Nanos>) -> JobPort {
        let (bytes, packets) = (self.bytes(), self.packets());
        let way = |at: usize, way: Way| {
            let each = bytes[at].zip(packets[at]).filter(|&(_, packets)| packets > 0);
            let most = self.most[at].map(|most| BusiestInterval {
                bytes_per_second: most.rate,
                utilisation: most.utilisation,
                end_ns: time(most.at),
                seconds: most.seconds,
            });
            DirectionTotals {
                bytes: bytes[at],
                packets: packets[at],
                bytes_per_packet: each.map(|(bytes, packets)| bytes as f64 / packets as f64),
                bytes_per_second: way.bytes,
                utilisation: way.utilisation,
                stalled: way.stalled,
                stall_ticks_per_second: way.ticks,
                most,
            }
        };
        let counters = self.port.counters.iter().zip(&self.sums);
        let counters = counters.map(|(counter, sum)| CounterTotal {
            name: counter.name.clone(),
            unit: counter.unit.word(),
            hertz: counter.hertz,
            grown: sum.known(),
        });
        JobPort {
            port: self.port.name.clone(),
            network: self.port.kind.word(),
            state: self.port.state.clone(),
            bytes_per_second: self.port.speed,
            above_others: self.is_above,
            sent: way(0, self.rates.sent),
            received: way(1, self.rates.received),
            faults: self.rates.faults,
            counters: counters.collect(),
        }
    }
}

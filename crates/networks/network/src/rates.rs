//! From two readings of a port to its figures: rates, utilisation, and waiting time.
//!
//! Owns the sums over counters of one role. One that is absent makes its sum absent: half of the
//! traffic classes are not the traffic. The sum of faults has the available ones.

use talea_model::Gaps;
use talea_results::ports::{CounterRow, DirectionRates, PortRow};
use talea_sampling::fabric::{Counter, Port, PortKind, Reading, Role, Unit, Width};

/// A port over an interval.
#[derive(Debug)]
pub struct Rates {
    /// The direction away from the node.
    pub sent: Way,
    /// The direction to the node.
    pub received: Way,
    /// Number of faults.
    pub faults: Option<u64>,
    /// By counter: its total, and its increase.
    counters: Vec<(Option<u64>, Option<u64>)>,
}

/// One of its directions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Way {
    /// Bytes a second.
    pub bytes: Option<f64>,
    /// Share of the speed.
    pub utilisation: Option<f64>,
    /// Packets a second.
    pub packets: Option<f64>,
    /// Share of time; of several classes the maximum.
    pub stalled: Option<f64>,
    /// Ticks a second, where no clock is known.
    pub ticks: Option<f64>,
}

/// Increase of a counter, and its seconds.
type Step = Option<(u64, f64)>;

impl Rates {
    /// Rates between two readings.
    pub fn between(
        port: &Port,
        before: &[Option<Reading>],
        after: &[Option<Reading>],
        gaps: &mut Gaps,
    ) -> Self {
        let mut steps: Vec<(&Counter, Step)> = Vec::with_capacity(after.len());
        for ((counter, before), after) in port.counters.iter().zip(before).zip(after) {
            let step = before.zip(*after).and_then(|(before, after)| {
                let by = counter.grown(&port.name, before, after, gaps)?;
                Some((by, (after.at - before.at).seconds()))
            });
            steps.push((counter, step));
        }
        let way = |moved, stalled| {
            let bytes = rate(of(&steps, moved, |counter| counter.unit.bytes(1).is_some()));
            Way {
                bytes,
                utilisation: bytes.zip(port.speed).map(|(bytes, speed)| bytes / speed),
                packets: rate(of(&steps, moved, |counter| counter.unit == Unit::Packets)),
                stalled: most(of(&steps, stalled, |counter| counter.seconds(1).is_some())),
                ticks: rate(of(&steps, stalled, |counter| {
                    counter.is_time() && counter.seconds(1).is_none()
                })),
            }
        };
        let mut faults = None;
        for (_, step) in of(&steps, Role::Fault, |_| true) {
            faults = step.map(|(by, _)| faults.unwrap_or(0_u64).saturating_add(by)).or(faults);
        }
        let totals = after.iter().map(|reading| reading.map(|reading| reading.value));
        let grown = steps.iter().map(|(_, step)| step.map(|(by, _)| by));
        Self {
            sent: way(Role::Sent, Role::SentStalled),
            received: way(Role::Received, Role::ReceivedStalled),
            faults,
            counters: totals.zip(grown).collect(),
        }
    }

    /// With the public keys.
    pub fn row(&self, port: &Port) -> PortRow {
        let counters = port.counters.iter().zip(&self.counters);
        let counters = counters.map(|(counter, &(total, grown))| {
            let (Width::Wraps(bits) | Width::Stops(bits)) = counter.width;
            CounterRow {
                name: counter.name.clone(),
                unit: counter.unit.word(),
                hertz: counter.hertz,
                bits,
                total,
                grown,
            }
        });
        PortRow {
            port: port.name.clone(),
            network: port.kind.word(),
            state: port.state.clone(),
            bytes_per_second: port.speed,
            sent: self.sent.row(),
            received: self.received.row(),
            faults: self.faults,
            counters: counters.collect(),
        }
    }
}

impl Way {
    fn row(self) -> DirectionRates {
        DirectionRates {
            bytes_per_second: self.bytes,
            utilisation: self.utilisation,
            packets_per_second: self.packets,
            stalled: self.stalled,
            stall_ticks_per_second: self.ticks,
        }
    }
}

/// Increases of the counters of a role with a unit.
fn of<'a>(
    steps: &'a [(&'a Counter, Step)],
    role: Role,
    is: impl Fn(&Counter) -> bool + 'a,
) -> impl Iterator<Item = (&'a Counter, Step)> {
    steps.iter().copied().filter(move |(counter, _)| counter.role == role && is(counter))
}

/// Bytes, packets or ticks a second, of all counters; absent if one is, or there are none.
fn rate<'a>(steps: impl Iterator<Item = (&'a Counter, Step)>) -> Option<f64> {
    let mut sum = None;
    for (counter, step) in steps {
        let (by, seconds) = step.filter(|&(_, seconds)| seconds > 0.0)?;
        let each = counter.unit.bytes(1).unwrap_or(1) as f64;
        sum = Some(sum.unwrap_or(0.0) + by as f64 * each / seconds);
    }
    sum
}

/// The maximum share of time.
fn most<'a>(steps: impl Iterator<Item = (&'a Counter, Step)>) -> Option<f64> {
    let mut most: Option<f64> = None;
    for (counter, step) in steps {
        let (by, seconds) = step.filter(|&(_, seconds)| seconds > 0.0)?;
        let share = counter.seconds(by)? / seconds;
        most = Some(most.map_or(share, |most| most.max(share)));
    }
    most
}

/// Links of a network that are slower than the fastest one of this node, and those that are down: a
/// cable of the wrong kind, or a worn one.
pub fn findings(ports: &[Port]) -> Vec<String> {
    let mut findings = Vec::new();
    for port in ports.iter().filter(|port| is_of_a_machine(port.kind)) {
        let siblings = ports.iter().filter(|other| other.kind == port.kind);
        let fastest = siblings.filter_map(|other| Some((other.speed?, &other.name)));
        let fastest = fastest.max_by(|a, b| a.0.total_cmp(&b.0));
        if let (Some(speed), Some((best, name))) = (port.speed, fastest)
            && speed < best
        {
            findings.push(format!(
                "{} is slower than its sibling {name}: {:.2} GB/s of {:.2} GB/s",
                port.name,
                speed / 1e9,
                best / 1e9
            ));
        }
        let state = port.state.as_deref().unwrap_or_default();
        if matches!(state.to_ascii_lowercase().as_str(), "down" | "disabled") {
            findings.push(format!("{} is {state}", port.name));
        }
    }
    findings
}

/// Ethernet interfaces are of many kinds in one node; ports of these networks are alike.
fn is_of_a_machine(kind: PortKind) -> bool {
    matches!(kind, PortKind::InfiniBand | PortKind::OmniPath | PortKind::Slingshot)
}

#[cfg(test)]
mod tests {
    use talea_model::Nanos;

    use super::*;

    fn port(counters: &[(&str, Role, Unit)]) -> Port {
        let counter = |&(name, role, unit): &(&str, Role, Unit)| Counter {
            name: name.to_owned(),
            role,
            unit,
            hertz: name.starts_with("paused").then_some(1_000_000_000),
            width: Width::SLINGSHOT,
        };
        Port {
            name: "cxi0".to_owned(),
            kind: PortKind::Slingshot,
            speed: Some(25e9),
            state: None,
            counters: counters.iter().map(counter).collect(),
        }
    }

    fn readings(at: u64, values: &[u64]) -> Vec<Option<Reading>> {
        values.iter().map(|&value| Some(Reading { at: Nanos(at), value })).collect()
    }

    #[test]
    fn rates_shares_and_the_class_that_waited_most() {
        let port = port(&[
            ("data", Role::Sent, Unit::FourBytes),
            ("paused_0", Role::SentStalled, Unit::Ticks),
            ("paused_1", Role::SentStalled, Unit::Ticks),
            ("waited", Role::ReceivedStalled, Unit::Ticks),
            ("errors", Role::Fault, Unit::Events),
        ]);
        let before = readings(0, &[(1 << 56) - 10, 0, 0, 5, 2]);
        let after = readings(2_000_000_000, &[2_499_999_990, 500_000_000, 1_500_000_000, 25, 3]);
        let mut gaps = Gaps::default();
        let rates = Rates::between(&port, &before, &after, &mut gaps);
        assert_eq!((rates.sent.bytes, rates.sent.utilisation), (Some(5e9), Some(0.2)));
        assert_eq!((rates.sent.stalled, rates.received.ticks), (Some(0.75), Some(10.0)));
        assert_eq!((rates.sent.packets, rates.received.bytes, rates.faults), (None, None, Some(1)));
        assert!(gaps.is_empty());
        // One class that cannot be read, and no time.
        let mut cut = after.clone();
        cut[1] = None;
        assert_eq!(Rates::between(&port, &before, &cut, &mut gaps).sent.stalled, None);
        assert_eq!(Rates::between(&port, &before, &before, &mut gaps).sent.bytes, None);
    }

    #[test]
    fn a_slower_sibling_is_told() {
        let fast = port(&[]);
        let slow = Port { name: "cxi1".to_owned(), speed: Some(12.5e9), ..fast.clone() };
        let other = Port { kind: PortKind::Ethernet, speed: Some(1e6), ..fast.clone() };
        let down = Port { state: Some("down".to_owned()), speed: None, ..fast.clone() };
        let told = findings(&[fast, slow, other, down]);
        assert_eq!(
            told,
            ["cxi1 is slower than its sibling cxi0: 12.50 GB/s of 25.00 GB/s", "cxi0 is down"]
        );
    }
}

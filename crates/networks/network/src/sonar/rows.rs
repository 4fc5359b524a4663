//! Comparison of counters with the expected effect of the messages.
//!
//! Owns the expected value of each counter of bytes or packets, and the meaning of a difference. It
//! refuses other counters: their expected values are unknown.

use talea_model::Gaps;
use talea_model::notation::grouped;
use talea_results::ports::SonarCounter;
use talea_sampling::fabric::{Port, Reading, Role, Unit};

use super::pings::Heard;

/// A counter, and its expected value.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name of the counter.
    pub counter: String,
    /// `sent` or `received`.
    pub way: &'static str,
    /// `packets` or `bytes`.
    pub unit: &'static str,
    /// Increase by the messages alone.
    pub expected: u64,
    /// Increase that was read; absent where a counter cannot be read.
    pub seen: Option<u64>,
}

impl Row {
    /// Deviation in percent of the expected value.
    pub fn deviation(&self) -> Option<f64> {
        let expected = self.expected as f64;
        self.seen.filter(|_| self.expected > 0).map(|seen| (seen as f64 / expected - 1.0) * 100.0)
    }

    /// With the public keys.
    pub fn result(&self) -> SonarCounter {
        SonarCounter {
            counter: self.counter.clone(),
            way: self.way,
            unit: self.unit,
            expected: self.expected,
            seen: self.seen,
            deviation_percent: self.deviation(),
        }
    }
}

/// Each counter of bytes or packets.
pub(super) fn rows(
    port: &Port,
    [before, after]: [&[Option<Reading>]; 2],
    heard: &Heard,
    gaps: &mut Gaps,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, counter) in port.counters.iter().enumerate() {
        let (way, frames) = match counter.role {
            Role::Sent => ("sent", heard.sent),
            Role::Received => ("received", heard.received),
            _ => continue,
        };
        let (unit, expected, each) = match counter.unit {
            Unit::Packets => ("packets", frames.packets, 1),
            unit => match unit.bytes(1) {
                Some(each) => ("bytes", frames.bytes, each),
                None => continue,
            },
        };
        let reading = |readings: &[Option<Reading>]| readings.get(at).copied().flatten();
        let both = reading(before).zip(reading(after));
        let seen = both.and_then(|(before, after)| counter.grown(&port.name, before, after, gaps));
        let seen = seen.map(|seen| seen.saturating_mul(each));
        rows.push(Row { counter: counter.name.clone(), way, unit, expected, seen });
    }
    rows
}

/// Meaning of the difference, if it has one.
pub(super) fn findings(rows: &[Row], heard: &Heard, interface: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let lost = heard.pings.messages - heard.answered.min(heard.pings.messages);
    if lost > 0 {
        findings.push(format!(
            "{} of {} messages have no answer",
            grouped(lost.into()),
            heard.pings.messages
        ));
    }
    for way in ["sent", "received"] {
        let of = |unit| rows.iter().find(|row| row.way == way && row.unit == unit);
        let (Some(packets), Some(bytes)) = (of("packets"), of("bytes")) else { continue };
        let (Some(seen), Some(seen_bytes)) = (packets.seen, bytes.seen) else { continue };
        // Lost answers may or may not have been counted on the way.
        if lost == 0 && seen < packets.expected {
            let less = grouped(packets.expected - seen);
            let why = if seen == 0 {
                "the way to the other node leads through another interface"
            } else if seen_bytes >= bytes.expected {
                "the driver counts several frames as one"
            } else {
                "part of the way leads through another interface, or the driver updates its counters seldom"
            };
            findings
                .push(format!("{less} packets fewer {way} than expected at {interface}: {why}"));
        }
        if seen > packets.expected {
            let more = grouped(seen - packets.expected);
            findings.push(format!(
                "{more} packets more {way} than expected at {interface}: others use it too"
            ));
        }
        if seen == packets.expected && seen_bytes == bytes.expected + 4 * seen && seen > 0 {
            findings.push(format!(
                "{interface} counts 4 bytes more of each packet {way}: the frame's check sequence"
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::pings::Pings;
    use super::super::wire::Frames;
    use super::*;

    fn row(way: &'static str, unit: &'static str, expected: u64, seen: Option<u64>) -> Row {
        Row { counter: format!("{way}_{unit}"), way, unit, expected, seen }
    }

    fn check(seen: [u64; 2], answered: u32, expected: &[&str]) {
        let pings = Pings { messages: 100, bytes: 58 };
        let (sent, received) = (Frames { packets: 100, bytes: 10_000 }, Frames::default());
        let heard = Heard { pings, answered, sent, received };
        let [bytes, packets] = seen;
        let rows = [
            row("sent", "bytes", 10_000, Some(bytes)),
            row("sent", "packets", 100, Some(packets)),
            row("received", "bytes", 0, None),
        ];
        assert_eq!(findings(&rows, &heard, "eth0"), expected, "{seen:?}");
    }

    #[test]
    fn what_differences_say() {
        check([10_000, 100], 100, &[]);
        check([10_000, 100], 98, &["2 of 100 messages have no answer"]);
        check(
            [0, 0],
            100,
            &[
                "100 packets fewer sent than expected at eth0: the way to the other node leads through another interface",
            ],
        );
        check(
            [10_000, 50],
            100,
            &[
                "50 packets fewer sent than expected at eth0: the driver counts several frames as one",
            ],
        );
        check(
            [10_400, 100],
            100,
            &["eth0 counts 4 bytes more of each packet sent: the frame's check sequence"],
        );
        check(
            [10_084, 102],
            100,
            &["2 packets more sent than expected at eth0: others use it too"],
        );
    }

    #[test]
    fn deviations() {
        assert_eq!(
            row("sent", "bytes", 200, Some(201)).deviation().map(|d| (d * 10.0).round()),
            Some(5.0)
        );
        assert_eq!(row("sent", "bytes", 0, Some(201)).deviation(), None);
        assert_eq!(row("sent", "bytes", 200, None).deviation(), None);
    }
}

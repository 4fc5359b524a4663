//! Ports whose counters are files of one number each.
//!
//! Owns the reading: `value`, or `value@seconds.nanoseconds` where a driver says when it asked its
//! device. Files are opened anew each time, since a machine may have thousands of interfaces and a
//! process may not have as many descriptors.

use talea_model::{GapKind, Gaps, Nanos};

use super::{CounterSource, Port, Reading, Readings};
use crate::root::Root;
use crate::source::gap;

/// A port and, for each of its counters, the file below the root.
pub(super) struct Found {
    pub(super) port: Port,
    pub(super) paths: Vec<String>,
}

/// Ports of `/sys`.
#[derive(Debug)]
pub struct Files {
    root: Root,
    ports: Vec<Port>,
    paths: Vec<Vec<String>>,
}

impl Files {
    pub(super) fn new(root: Root, found: Vec<Found>) -> Self {
        let (ports, paths) = found.into_iter().map(|found| (found.port, found.paths)).unzip();
        Self { root, ports, paths }
    }
}

impl CounterSource for Files {
    fn name(&self) -> &'static str {
        "sysfs"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn read(&mut self, at: Nanos, gaps: &mut Gaps) -> Option<Readings> {
        let mut readings = Readings::absent(&self.ports);
        for (place, (port, paths)) in self.ports.iter().zip(&self.paths).enumerate() {
            let files = paths.iter().zip(&*port.counters);
            for ((path, counter), reading) in files.zip(readings.port_mut(place)) {
                let text = self.root.line(path);
                let found = text.as_deref().and_then(|text| value(text, at));
                *reading = found.filter(|found| found.value <= counter.width.largest());
                if reading.is_none() {
                    let (name, port) = (&counter.name, &port.name);
                    let why = match (text, found) {
                        (None, _) => "cannot be read".to_owned(),
                        (_, None) => "is no number".to_owned(),
                        _ => "is beyond the width that it seemed to have".to_owned(),
                    };
                    let detail = format!("counter `{name}` of port `{port}` {why}");
                    gaps.note(gap(GapKind::Missing, detail));
                }
            }
        }
        Some(readings)
    }
}

/// A number, with its own time behind `@`.
fn value(text: &str, at: Nanos) -> Option<Reading> {
    let Some((value, time)) = text.split_once('@') else {
        return Some(Reading { at, value: text.parse().ok()? });
    };
    let (seconds, nanos) = time.split_once('.').unwrap_or((time, "0"));
    // Nanoseconds, with leading zeros or without: no fraction.
    let nanos = nanos.parse::<u64>().ok().filter(|&nanos| nanos < 1_000_000_000)?;
    let seconds = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?;
    Some(Reading { at: Nanos(seconds.checked_add(nanos)?), value: value.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_with_and_without_times() {
        let at = Nanos(7);
        let reading = |at, value| Some(Reading { at: Nanos(at), value });
        assert_eq!(value("12", at), reading(7, 12));
        assert_eq!(
            value("72057594037927935@3.000000009", at),
            reading(3_000_000_009, (1 << 56) - 1)
        );
        assert_eq!(value("1@2", at), reading(2_000_000_000, 1));
        for wrong in ["", "-1", "N/A", "@", "1@", "1@x.1", "1@1.1000000000", "1@99999999999.0"] {
            assert_eq!(value(wrong, at), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "[-0-9@. a]{0,40}") {
            let _ = value(&text, Nanos(0));
        }
    }
}

//! Counters of InfiniBand ports in the form of `perfquery`.
//!
//! Owns heads (`# Port extended counters: Lid 1719 port 2 (CapMask: ...)`), lines
//! (`PortXmitData:....................26006570014026`), and the properties of each name: data count
//! units of four bytes, extended counters have 64 bits, others stop at the largest value of the
//! widths that the InfiniBand specification (16.1.3.5) gives them. The text may be of all ports of
//! a network, one query after the other: messages of failed queries are counted, and a time that a
//! script writes after them (`timestamp 1700000000.5`) is skipped. A file without a port is an
//! empty list: a query that failed prints nothing.

use talea_fabric::counters::{Counter, Unit, Width};
use talea_model::Gaps;

use super::{Error, missing, wrong};

/// Counters of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Local identifier of the switch or adapter; absent if the port was queried by a directed
    /// route.
    pub lid: Option<u32>,
    /// Number of the port; 255 means all of them together.
    pub number: u32,
    /// Values in the order of the file.
    pub values: Vec<(Counter, u64)>,
}

impl Port {
    /// The value of a counter, such as `PortXmitWait`.
    pub fn value(&self, name: &str) -> Option<u64> {
        self.values.iter().find(|(counter, _)| counter.name == name).map(|(_, value)| *value)
    }
}

/// Output of queries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// Ports in the order of the text.
    pub ports: Vec<Port>,
    /// Gaps of failed queries.
    pub gaps: Gaps,
}

/// Beginnings of lines of failures.
const FAILED: [&str; 5] = ["ibwarn:", "ibpanic:", "iberror:", "perfquery:", "src/"];

/// Maximum number of counters of a port.
const MOST: usize = 256;

/// Reads the output of one or more queries.
pub fn read(bytes: &[u8]) -> Result<Printed, Error> {
    let text = String::from_utf8_lossy(bytes);
    let mut ports: Vec<Port> = Vec::new();
    let mut failed = 0;
    let mut extended = false;
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with("timestamp ") {
            continue;
        }
        if FAILED.iter().any(|begin| line.starts_with(begin)) {
            failed += 1;
            continue;
        }
        if let Some(head) = line.strip_prefix('#') {
            // Other heads, such as that of link speeds, are followed by no counters of their own
            // form.
            if head.contains("counters:") {
                extended = head.contains("extended");
                ports.push(
                    of_head(head)
                        .ok_or_else(|| wrong(number, "`# Port counters: Lid N port N`", line))?,
                );
            }
            continue;
        }
        let expected = "a counter such as `PortXmitData:......17`";
        let (name, value) = line.split_once(':').ok_or_else(|| wrong(number, expected, line))?;
        let value = value.trim_start_matches('.');
        let value = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => value.parse().ok(),
        };
        let value = value.ok_or_else(|| wrong(number, expected, line))?;
        let port = ports.last_mut().ok_or_else(|| {
            wrong(number, "`# Port counters: Lid N port N` before counters", line)
        })?;
        if matches!(name, "PortSelect" | "CounterSelect" | "CounterSelect2") {
            continue;
        }
        if port.values.len() == MOST || port.value(name).is_some() {
            return Err(wrong(number, "each counter of the port once", name));
        }
        port.values.push((counter(name, extended), value));
    }
    let mut gaps = Gaps::default();
    if failed > 0 {
        let detail = "lines in which queries say that they failed";
        gaps.note(missing(detail.to_owned(), failed));
    }
    Ok(Printed { ports, gaps })
}

/// Port of `Port counters: Lid 6 port 1 (...)`, `Lid 6 Gid fe80:: port 1` and `DR path slid 0; dlid
/// 0; 0,1 port 1`.
fn of_head(head: &str) -> Option<Port> {
    let (_, behind) = head.split_once("counters:")?;
    let behind = behind.trim_start();
    let lid = match behind.strip_prefix("Lid ") {
        Some(rest) => Some(rest.split_whitespace().next()?.parse().ok()?),
        None if behind.starts_with("DR path ") => None,
        None => return None,
    };
    let mut words = behind.split_whitespace();
    words.find(|word| *word == "port")?;
    let number = words.next()?.parse().ok()?;
    Some(Port { lid, number, values: Vec::new() })
}

/// Properties of a counter by its name.
pub fn counter(name: &str, extended: bool) -> Counter {
    let (unit, bits) = match name {
        "PortXmitData" | "PortRcvData" => (Unit::FourBytes, 32),
        "PortXmitPkts" | "PortRcvPkts" => (Unit::Packets, 32),
        "PortXmitWait" => (Unit::Ticks, 32),
        "LinkErrorRecoveryCounter"
        | "LinkDownedCounter"
        | "PortXmitConstraintErrors"
        | "PortRcvConstraintErrors" => (Unit::Events, 8),
        "LocalLinkIntegrityErrors" | "ExcessiveBufferOverrunErrors" => (Unit::Events, 4),
        _ if name.ends_with("Pkts") => (Unit::Packets, 64),
        _ => (Unit::Events, 16),
    };
    let width = if extended || bits == 64 { Width::FULL } else { Width::Stops(bits) };
    Counter { name: name.to_owned(), unit, width }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fabric::damaged::{changed, changes};

    const SAMPLE: &str = "\
# Port counters: Lid 6 port 1 (CapMask: 0x1000)
PortSelect:......................1
CounterSelect:...................0x0000
PortXmitData:....................4294967295
PortRcvPkts:.....................12
# Port extended counters: Lid 6 port 2 (CapMask: 0x5300)
PortSelect:......................2
PortXmitData:....................178791657177235
";

    #[test]
    fn counters_and_their_widths() {
        let ports = read(SAMPLE.as_bytes()).unwrap().ports;
        let found = ports.iter().map(|port| (port.lid, port.number, port.values.len()));
        assert_eq!(found.collect::<Vec<_>>(), [(Some(6), 1, 2), (Some(6), 2, 1)]);
        assert_eq!(ports[0].values[0].0.width, Width::Stops(32));
        assert_eq!(ports[1].values[0].0.width, Width::FULL);
        assert_eq!(ports[1].values[0].0.unit, Unit::FourBytes);
        assert_eq!(ports[1].value("PortXmitData"), Some(178_791_657_177_235));
        assert_eq!(ports[1].value("PortRcvData"), None);
        assert_eq!(read(b""), Ok(Printed::default()));
    }

    #[test]
    fn a_text_of_many_queries() {
        let text = format!(
            "ibwarn: [21453] mad_rpc: _do_madrpc failed; dport (Lid 9)\n{SAMPLE}timestamp 1264494583.110014\nperfquery: iberror: failed: perfextquery\n\n# Port extended counters: Lid 7 Gid fe80::1 port 12 (CapMask: 0x5300)\nPortXmitData:....5\n# Port counters: DR path slid 0; dlid 0; 0,1,3 port 1 (CapMask: 0x1600)\nPortXmitData:....6\n"
        );
        let Printed { ports, gaps } = read(text.as_bytes()).unwrap();
        let found: Vec<_> = ports.iter().map(|port| (port.lid, port.number)).collect();
        assert_eq!(found, [(Some(6), 1), (Some(6), 2), (Some(7), 12), (None, 1)]);
        assert_eq!(ports[1].value("PortXmitData"), Some(178_791_657_177_235));
        let told: Vec<String> = gaps.iter().map(talea_model::Gap::sentence).collect();
        assert_eq!(told, ["lines in which queries say that they failed (2)"]);
    }

    #[test]
    fn what_is_wrong_with_prints() {
        let told = [
            SAMPLE[SAMPLE.find("PortSelect").unwrap()..].to_owned(),
            SAMPLE.replacen("Lid 6", "Lid x", 1),
            SAMPLE.replacen("....12", "....1.2", 1),
            SAMPLE.replacen("PortRcvPkts", "PortXmitData", 1),
            SAMPLE[..130].to_owned(),
        ]
        .map(|text| read(text.as_bytes()).unwrap_err().to_string());
        insta::assert_snapshot!(told.join("\n"));
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(changes in changes()) {
            let _ = read(&changed(SAMPLE, &changes));
        }
    }
}

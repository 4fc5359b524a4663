//! Ports of InfiniBand, RoCE and Omni-Path adapters, from
//! `/sys/class/infiniband/<device>/ports/<n>`.
//!
//! Owns the widths: data are counted in units of 4 bytes; where the port management agent has no
//! extended counters they have 32 bits and stay at the largest number, as the errors do at theirs.
//! Time waited is in ticks whose length the standard leaves to the device. Omni-Path's own numbers
//! are in `hw_counters`. Follows the InfiniBand architecture specification 1, chapter 16, and
//! `drivers/infiniband/core/sysfs.c`, `hw/hfi1/chip.c` of Linux.

use std::sync::Arc;

use talea_model::{GapKind, Gaps};

use super::files::Found;
use super::{Counter, Port, PortKind, Role, Unit, Width};
use crate::root::Root;
use crate::source::gap;

/// Name, what it counts, in what, bits.
type Row = (&'static str, Role, Unit, u8);

const DATA: Unit = Unit::FourBytes;
const TICKS: Unit = Unit::Ticks;

/// `counters`: where the extended ones are, the first four have 64 bits.
const PLAIN: [Row; 9] = [
    ("port_xmit_data", Role::Sent, DATA, 32),
    ("port_xmit_packets", Role::Sent, Unit::Packets, 32),
    ("port_rcv_data", Role::Received, DATA, 32),
    ("port_rcv_packets", Role::Received, Unit::Packets, 32),
    ("port_xmit_wait", Role::SentStalled, TICKS, 32),
    ("symbol_error", Role::Fault, Unit::Events, 16),
    ("link_downed", Role::Fault, Unit::Events, 8),
    ("port_rcv_errors", Role::Fault, Unit::Events, 16),
    ("port_xmit_discards", Role::Fault, Unit::Events, 16),
];
/// Of them those that may be extended.
const EXTENDED: usize = 4;

/// `hw_counters` of hfi1, all of 64 bits; words have 4 bytes.
const OMNI_PATH: [Row; 7] = [
    ("TxWords", Role::Sent, DATA, 64),
    ("TxPkt", Role::Sent, Unit::Packets, 64),
    ("RxWords", Role::Received, DATA, 64),
    ("RxPkt", Role::Received, Unit::Packets, 64),
    ("TxWait", Role::SentStalled, TICKS, 64),
    ("SwLinkDown", Role::Fault, Unit::Events, 64),
    ("TxDropped", Role::Fault, Unit::Events, 64),
];

pub(super) fn ports(root: &Root, gaps: &mut Gaps) -> Vec<Found> {
    const FOLDER: &str = "sys/class/infiniband";
    let mut found = Vec::new();
    for device in root.names(FOLDER) {
        for number in root.names(&format!("{FOLDER}/{device}/ports")) {
            let folder = format!("{FOLDER}/{device}/ports/{number}");
            let name = format!("{device}/{number}");
            found.extend(port(root, &folder, &device, name, gaps));
        }
    }
    found
}

fn port(root: &Root, folder: &str, device: &str, name: String, gaps: &mut Gaps) -> Option<Found> {
    let own = device.starts_with("hfi1") && root.exists(&format!("{folder}/hw_counters"));
    let (counters, below) = if own {
        (rows(&OMNI_PATH, 64), "hw_counters")
    } else {
        (rows(&PLAIN, extended(root, folder)), "counters")
    };
    // Not every adapter has every counter; one without any says nothing.
    let there = |counter: &Counter| root.exists(&format!("{folder}/{below}/{}", counter.name));
    let (counters, absent): (Vec<Counter>, Vec<Counter>) = counters.into_iter().partition(there);
    if counters.is_empty() {
        let detail = format!("port `{name}` has no counters: its adapter gives none to the host");
        gaps.note(gap(GapKind::Unsupported, detail));
        return None;
    }
    for counter in absent {
        let detail = format!("counter `{}` of port `{name}` is not there", counter.name);
        gaps.note(gap(GapKind::Unsupported, detail));
    }
    let kind = match root.line(&format!("{folder}/link_layer")).as_deref() {
        Some("Ethernet") => PortKind::Roce,
        _ if device.starts_with("hfi1") => PortKind::OmniPath,
        _ => PortKind::InfiniBand,
    };
    // `4: ACTIVE`.
    let state = root.line(&format!("{folder}/state"));
    let state = state.and_then(|state| Some(state.split_whitespace().last()?.to_owned()));
    let paths = counters.iter().map(|counter| format!("{folder}/{below}/{}", counter.name));
    let paths = paths.collect();
    let counters: Arc<[Counter]> = counters.into();
    let speed = root.line(&format!("{folder}/rate"));
    let speed = speed.as_deref().and_then(|text| rate(text, kind));
    Some(Found { port: Port { name, kind, speed, state, counters }, paths })
}

/// Width of the counters of data and packets. Only extended ones are distinguished by destination,
/// or count so far.
fn extended(root: &Root, folder: &str) -> u8 {
    let far = |&(name, ..): &Row| {
        let value = root.number(&format!("{folder}/counters/{name}"));
        value.is_some_and(|value| value > u64::from(u32::MAX))
    };
    let told = root.exists(&format!("{folder}/counters/unicast_xmit_packets"));
    if told || PLAIN[..EXTENDED].iter().any(far) { 64 } else { 32 }
}

/// Those of 64 bits wrap, others stop.
fn rows(rows: &[Row], extended: u8) -> Vec<Counter> {
    let counter = |(at, &(name, role, unit, bits)): (usize, &Row)| {
        let bits = if at < EXTENDED { extended } else { bits };
        let width = if bits == 64 { Width::FULL } else { Width::Stops(bits) };
        Counter { name: name.to_owned(), role, unit, hertz: None, width }
    };
    rows.iter().enumerate().map(counter).collect()
}

/// Bytes of data a second from `100 Gb/sec (4X EDR)`: the oldest generations state the rate of the
/// line, where one bit in five is coding. Adapters on Ethernet say the name of the generation whose
/// number is that of their data: 40 Gbit/s are `40 Gb/sec (4X QDR)`
/// (`translate_eth_legacy_proto_oper` of mlx5).
fn rate(text: &str, kind: PortKind) -> Option<f64> {
    let gigabits: f64 = text.split_whitespace().next()?.parse().ok()?;
    let generation = text.trim_end_matches(')').split_whitespace().next_back()?;
    let data = match generation {
        _ if kind == PortKind::Roce => 1.0,
        "SDR" | "DDR" | "QDR" => 0.8,
        // 14.0625 Gb/s a lane, which the kernel rounds down to 14; 64 of 66 bits.
        "FDR" => 14.0625 / 14.0 * 64.0 / 66.0,
        _ => 1.0,
    };
    let bytes = gigabits * data * 1e9 / 8.0;
    (bytes.is_finite() && bytes > 0.0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{PortKind, rate};

    #[test]
    fn rates_are_those_of_data() {
        let check = |text, gigabytes: f64| {
            let found = rate(text, PortKind::InfiniBand).unwrap() / 1e9;
            assert!((found - gigabytes).abs() < 1e-3, "{text}: {found}");
        };
        check("100 Gb/sec (4X EDR)", 12.5);
        check("40 Gb/sec (4X QDR)", 4.0);
        check("20 Gb/sec (4X DDR)", 2.0);
        check("56 Gb/sec (4X FDR)", 6.818);
        check("2.5 Gb/sec (1X SDR)", 0.25);
        check("200 Gb/sec (4X HDR)", 25.0);
        for wrong in ["", "fast", "NaN Gb/sec (4X EDR)", "inf", "-1 Gb/sec (1X SDR)", "0"] {
            assert_eq!(rate(wrong, PortKind::InfiniBand), None, "{wrong}");
        }
        assert_eq!(rate("40 Gb/sec (4X QDR)", PortKind::Roce), Some(5e9));
        assert_eq!(rate("100 Gb/sec (4X EDR)", PortKind::Roce), Some(12.5e9));
    }
}

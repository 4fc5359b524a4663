//! Ethernet interfaces, from `/sys/class/net/<interface>/statistics`.
//!
//! Owns which interfaces are ports: those whose frames are Ethernet's, so not the loop-back, and
//! not IP over InfiniBand, whose port counts the same bytes. Bytes are those of frames with their
//! 14 bytes of header, for most drivers without the 4 bytes of the check sequence. Follows
//! `Documentation/ABI/testing/sysfs-class-net` and `-net-statistics`.

use std::sync::Arc;

use super::files::Found;
use super::{Counter, Port, PortKind, Role, Unit, Width};
use crate::root::Root;

/// `ARPHRD_ETHER`.
const ETHER: u64 = 1;

const COUNTERS: [(&str, Role, Unit); 8] = [
    ("tx_bytes", Role::Sent, Unit::Bytes),
    ("tx_packets", Role::Sent, Unit::Packets),
    ("rx_bytes", Role::Received, Unit::Bytes),
    ("rx_packets", Role::Received, Unit::Packets),
    ("tx_dropped", Role::Fault, Unit::Events),
    ("tx_errors", Role::Fault, Unit::Events),
    ("rx_dropped", Role::Fault, Unit::Events),
    ("rx_errors", Role::Fault, Unit::Events),
];

/// The counters of every interface. Those of a 32-bit kernel would wrap at 32 bits; that one is
/// refused as a reset.
fn counters() -> Arc<[Counter]> {
    let counter = |&(name, role, unit): &(&str, Role, Unit)| Counter {
        name: name.to_owned(),
        role,
        unit,
        hertz: None,
        width: Width::FULL,
    };
    COUNTERS.iter().map(counter).collect()
}

pub(super) fn ports(root: &Root) -> Vec<Found> {
    const FOLDER: &str = "sys/class/net";
    let counters = counters();
    let mut found = Vec::new();
    for name in root.names(FOLDER) {
        let folder = format!("{FOLDER}/{name}");
        if root.number(&format!("{folder}/type")) != Some(ETHER) {
            continue;
        }
        // In Mbit/s; -1, or no answer at all, where there is no link or it has none.
        let speed = root.number(&format!("{folder}/speed"));
        let speed = speed.filter(|&speed| speed > 0 && speed < u64::from(u32::MAX));
        let port = Port {
            speed: speed.map(|megabits| megabits as f64 * 1e6 / 8.0),
            state: root.line(&format!("{folder}/operstate")),
            kind: PortKind::Ethernet,
            counters: counters.clone(),
            name,
        };
        let paths = COUNTERS.iter().map(|(name, ..)| format!("{folder}/statistics/{name}"));
        found.push(Found { paths: paths.collect(), port });
    }
    found
}

//! Ports of Cassini adapters, from `/sys/class/cxi/<device>/device/telemetry`.
//!
//! Owns which of the some thousand counters are read: octets, packets of each traffic class, and
//! how long each class was paused, in cycles of the adapter's clock of 1 GHz. Counters have 56 bits
//! and wrap; each file says `value@seconds.nanoseconds`. Follows what HPE's own `cxi_stat` reads,
//! and its two places of the link's speed (first and second generation).

use std::sync::Arc;

use talea_model::{GapKind, Gaps};

use super::files::Found;
use super::{Counter, Port, PortKind, Role, Unit, Width};
use crate::root::Root;
use crate::source::gap;

/// Traffic classes.
const CLASSES: u32 = 8;
/// The adapter's clock.
const HERTZ: u32 = 1_000_000_000;

fn counters() -> Arc<[Counter]> {
    let counter = |name, role, unit| {
        let hertz = (unit == Unit::Ticks).then_some(HERTZ);
        Counter { name, role, unit, hertz, width: Width::SLINGSHOT }
    };
    let mut all = vec![
        counter("hni_sts_tx_ok_octets".to_owned(), Role::Sent, Unit::Bytes),
        counter("hni_sts_rx_ok_octets".to_owned(), Role::Received, Unit::Bytes),
    ];
    let of_classes = [
        ("hni_pkts_sent_by_tc", Role::Sent, Unit::Packets),
        ("hni_pkts_recv_by_tc", Role::Received, Unit::Packets),
        ("hni_tx_paused", Role::SentStalled, Unit::Ticks),
        ("hni_rx_paused", Role::ReceivedStalled, Unit::Ticks),
    ];
    for (name, role, unit) in of_classes {
        all.extend((0..CLASSES).map(|class| counter(format!("{name}_{class}"), role, unit)));
    }
    all.into()
}

pub(super) fn ports(root: &Root, gaps: &mut Gaps) -> Vec<Found> {
    const FOLDER: &str = "sys/class/cxi";
    let counters = counters();
    let mut found = Vec::new();
    for name in root.names(FOLDER) {
        let device = format!("{FOLDER}/{name}/device");
        if !root.exists(&format!("{device}/telemetry")) {
            let detail = format!("port `{name}` has no folder `telemetry`: its driver is too old");
            gaps.note(gap(GapKind::Unsupported, detail));
            continue;
        }
        let either = |[first, second]: [&str; 2]| {
            root.line(&format!("{device}/port/{first}"))
                .or_else(|| root.line(&format!("{device}/port/0/{second}")))
        };
        let port = Port {
            speed: either(["speed", "link/speed"]).as_deref().and_then(speed),
            state: either(["link", "link/state"]),
            kind: PortKind::Slingshot,
            counters: counters.clone(),
            name,
        };
        let paths = counters.iter().map(|counter| format!("{device}/telemetry/{}", counter.name));
        found.push(Found { paths: paths.collect(), port });
    }
    found
}

/// Bytes a second of `BS_200G` or `ck400G`.
fn speed(text: &str) -> Option<f64> {
    let text = text.strip_suffix('G')?;
    let begin = text.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |last| last + 1);
    let gigabits = text.get(begin..)?.parse::<u32>().ok().filter(|&gigabits| gigabits > 0)?;
    Some(f64::from(gigabits) * 1e9 / 8.0)
}

#[cfg(test)]
mod tests {
    use super::speed;

    #[test]
    fn speeds_of_both_generations() {
        assert_eq!(speed("BS_200G"), Some(25e9));
        assert_eq!(speed("ck400G"), Some(50e9));
        for wrong in ["", "G", "na", "BS_0G", "200", "é", "BS_G"] {
            assert_eq!(speed(wrong), None, "{wrong}");
        }
    }
}

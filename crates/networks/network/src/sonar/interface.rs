//! The interface whose counters are checked.
//!
//! Owns the port, its counters before the messages, and the wait for their increase: drivers poll
//! their devices from time to time.

use std::time::{Duration, Instant};

use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_sampling::Root;
use talea_sampling::fabric::{CounterSource, Files, Port, PortKind, Reading, of_machine};

use super::pings::Heard;
use super::rows::{Row, rows};
use crate::NetworkError;

/// Drivers that poll their device from time to time have done so after this.
const SETTLED: Duration = Duration::from_secs(3);
/// Interval between two checks.
const AGAIN: Duration = Duration::from_millis(50);

/// The interface, and its counters before.
#[derive(Debug)]
pub(super) struct Interface {
    source: Files,
    place: usize,
    /// Maximum size of an IP packet in bytes.
    pub(super) mtu: u32,
    pub(super) before: Vec<Option<Reading>>,
}

impl Interface {
    pub(super) fn find(name: &str, gaps: &mut Gaps) -> Result<Self, NetworkError> {
        let root = Root::machine();
        let source = of_machine(&root, &mut Gaps::default());
        let is = |port: &Port| port.kind == PortKind::Ethernet && port.name == name;
        let place = source.ports().iter().position(is);
        let mtu = root.number(&format!("sys/class/net/{name}/mtu"));
        let mtu = mtu.and_then(|mtu| u32::try_from(mtu).ok());
        let (Some(place), Some(mtu)) = (place, mtu) else {
            let known = source.ports().iter().filter(|port| port.kind == PortKind::Ethernet);
            let known: Vec<&str> = known.map(|port| port.name.as_str()).take(8).collect();
            return Err(NetworkError::NoInterface {
                name: name.to_owned(),
                known: if known.is_empty() { "eth0".to_owned() } else { known.join(", ") },
            });
        };
        let mut interface = Self { source, place, mtu, before: Vec::new() };
        interface.before = interface.read(gaps);
        Ok(interface)
    }

    pub(super) fn port(&self) -> &Port {
        &self.source.ports()[self.place]
    }

    /// Its counters now.
    pub(super) fn read(&mut self, gaps: &mut Gaps) -> Vec<Option<Reading>> {
        // Gaps of other ports are not of interest.
        let readings = self.source.read(Nanos::now(), &mut Gaps::default());
        let readings = readings.map(|readings| readings.port(self.place).to_vec());
        let readings = readings.unwrap_or_default();
        if readings.iter().all(Option::is_none) {
            gaps.note(Gap {
                kind: GapKind::Missing,
                rank: None,
                detail: format!("the counters of {} cannot be read any more", self.port().name),
                count: 0,
            });
        }
        readings
    }

    /// Expected and seen values, as soon as all messages are counted, or will not be.
    pub(super) fn rows(&mut self, heard: &Heard, gaps: &mut Gaps) -> Vec<Row> {
        let begin = Instant::now();
        loop {
            let after = self.read(gaps);
            let mut own = Gaps::default();
            let rows = rows(self.port(), [&self.before, &after], heard, &mut own);
            let less = |row: &Row| row.seen.is_some_and(|seen| seen < row.expected);
            if !rows.iter().any(less) || begin.elapsed() > SETTLED {
                gaps.merge(own);
                return rows;
            }
            std::thread::sleep(AGAIN);
        }
    }
}

//! Traffic of each cable of an InfiniBand network, from the counters of all ports.
//!
//! Owns the assignment of counters to cables: the data that an end sent one way, or, where its
//! counters are absent, those that the other end received. All cables from a switch or host to
//! another one are one row; sums that lack a cable are absent. A port that was queried repeatedly
//! in different ways (`perfquery`, then `perfquery -x`) is one. It refuses sums of all ports of a
//! switch, which belong to no cable.

use std::collections::BTreeMap;

use talea_fabric::FabricError;
use talea_fabric::counters::{Counter, Width, delta};
use talea_model::Gaps;

use super::ibnetdiscover::{End, InfiniBand, Port};
use super::perfquery;
use super::{Error, missing};

/// Traffic from one end to another one, over all of their cables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The sending end.
    pub from: End,
    /// The receiving end.
    pub to: End,
    /// Width and speed of each cable.
    pub kinds: Vec<String>,
    /// Bytes of data with the headers of the network; absent if a cable's counters are.
    pub bytes: Option<u64>,
    /// Number of packets.
    pub packets: Option<u64>,
    /// Ticks of waiting to send, of an unspecified clock.
    pub waited: Option<u64>,
}

/// Number of all ports of a switch together.
const ALL: u32 = 255;

/// Counters of a port by name, the widest of each.
type Values = BTreeMap<(u32, u32), BTreeMap<String, (Counter, u64)>>;

/// Traffic between each two ends between two outputs, or since counters were cleared where there is
/// no earlier one.
///
/// # Errors
/// A duplicate counter of a port.
pub fn carried(
    network: &InfiniBand,
    before: Option<&[perfquery::Port]>,
    after: &[perfquery::Port],
) -> Result<(Vec<Carried>, Gaps), Error> {
    let mut gaps = Gaps::default();
    let before = before.map(|ports| values(ports, &mut Gaps::default())).transpose()?;
    let after = values(after, &mut gaps)?;
    let mut reader = Reader { before, after, lost: BTreeMap::new() };
    let mut all: BTreeMap<(End, End), Carried> = BTreeMap::new();
    let mut silent = 0;
    for port in &network.ports {
        let one = all.entry((port.of, port.to)).or_insert_with(|| Carried {
            from: port.of,
            to: port.to,
            kinds: Vec::new(),
            bytes: Some(0),
            packets: Some(0),
            waited: Some(0),
        });
        one.kinds.push(port.kind.clone());
        let add = |sum: Option<u64>, more: Option<u64>| Some(sum?.saturating_add(more?));
        let bytes = reader.either(port, ["PortXmitData", "PortRcvData"]);
        silent += u64::from(bytes.is_none());
        one.bytes = add(one.bytes, bytes.map(|words| words.saturating_mul(4)));
        one.packets = add(one.packets, reader.either(port, ["PortXmitPkts", "PortRcvPkts"]));
        one.waited = add(one.waited, reader.own(port, "PortXmitWait"));
    }
    if silent > 0 {
        let detail = "ports without counters of data at either end: their rows are absent";
        gaps.note(missing(detail.to_owned(), silent));
    }
    for (why, count) in reader.lost {
        gaps.note(missing(format!("counters that {why}: their differences are absent"), count));
    }
    Ok((all.into_values().collect(), gaps))
}

struct Reader {
    before: Option<Values>,
    after: Values,
    /// Reasons for absent differences, and the number of each.
    lost: BTreeMap<String, u64>,
}

impl Reader {
    /// Increase at the sending end, or else at the receiving one.
    fn either(&mut self, port: &Port, [sent, received]: [&str; 2]) -> Option<u64> {
        self.own(port, sent).or_else(|| {
            let (lid, number) = port.peer;
            self.grown((lid?, number), received)
        })
    }

    fn own(&mut self, port: &Port, name: &str) -> Option<u64> {
        self.grown((port.lid?, port.number), name)
    }

    fn grown(&mut self, port: (u32, u32), name: &str) -> Option<u64> {
        let (counter, after) = self.after.get(&port)?.get(name)?;
        let before = match &self.before {
            Some(before) => before.get(&port)?.get(name).filter(|(own, _)| own == counter)?.1,
            None => 0,
        };
        // Since it was cleared a counter of 64 bits may have advanced by more than half of its
        // range.
        if self.before.is_none() && !matches!(counter.width, Width::Stops(_)) {
            return Some(*after);
        }
        match delta(before, *after, counter.width) {
            Ok(steps) => Some(steps),
            Err(lost) => {
                *self.lost.entry(lost.to_string()).or_default() += 1;
                None
            }
        }
    }
}

/// Counters by port: those of 64 bits where available.
fn values(ports: &[perfquery::Port], gaps: &mut Gaps) -> Result<Values, Error> {
    let mut values = Values::new();
    let (mut sums, mut routed) = (0, 0);
    for port in ports {
        let Some(lid) = port.lid else {
            routed += 1;
            continue;
        };
        if port.number == ALL {
            sums += 1;
            continue;
        }
        let own = values.entry((lid, port.number)).or_default();
        for (counter, value) in &port.values {
            match own.get(&counter.name) {
                Some((known, _)) if known.width == counter.width => {
                    let name = format!("{} of Lid {lid} port {}", counter.name, port.number);
                    return Err(FabricError::Twice { what: "counter", name }.into());
                }
                Some((known, _)) if known.width.largest() > counter.width.largest() => {}
                _ => {
                    own.insert(counter.name.clone(), (counter.clone(), *value));
                }
            }
        }
    }
    let told = [
        ("sums over all ports of a switch (port 255): they identify no cable", sums),
        ("ports addressed by a directed route, not by a LID", routed),
    ];
    for (detail, count) in told.into_iter().filter(|(_, count)| *count > 0) {
        gaps.note(missing(detail.to_owned(), count));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use talea_fabric::{HostId, RouterId};

    use super::*;
    use crate::fabric::ibnetdiscover;

    const NETWORK: &str = "\
CA 5 1 0x0a 4x EDR - SW 8 4 0x02 ( 'n1 mlx5_0' - 'leaf' )
SW 8 1 0x02 4x EDR - SW 9 7 0x03 ( 'leaf' - 'top' )
SW 8 2 0x02 4x EDR - SW 9 8 0x03 ( 'leaf' - 'top' )
";

    /// Output for ports: Lid, port, data sent and received, and the wait of 64 bits.
    fn printed(ports: &[(u32, u32, u64, u64)]) -> Vec<perfquery::Port> {
        let text: Vec<String> = (ports.iter())
            .map(|(lid, port, sent, received)| {
                format!(
                    "# Port extended counters: Lid {lid} port {port} (CapMask: 0x5300)\nPortXmitData:...{sent}\nPortRcvData:....{received}\nPortXmitWait:...{sent}\n"
                )
            })
            .collect();
        perfquery::read(text.concat().as_bytes()).unwrap().ports
    }

    fn told(gaps: &Gaps) -> Vec<String> {
        gaps.iter().map(talea_model::Gap::sentence).collect()
    }

    #[test]
    fn what_one_end_sent_or_the_other_received() {
        let network = ibnetdiscover::read(NETWORK.as_bytes()).unwrap();
        // For the second cable between the switches only the upper end has counters, for the host's
        // only the switch.
        let before = printed(&[(8, 1, 100, 10), (9, 7, 10, 100), (9, 8, 5, 50), (8, 4, 7, 70)]);
        let after = printed(&[(8, 1, 150, 20), (9, 7, 20, 150), (9, 8, 6, 70), (8, 4, 8, 90)]);
        let (rows, gaps) = carried(&network, Some(&before), &after).unwrap();
        let (leaf, top) = (End::Router(RouterId(0)), End::Router(RouterId(1)));
        let host = End::Host(HostId(0));
        let bytes = |from, to| {
            let row = rows.iter().find(|row| (row.from, row.to) == (from, to)).unwrap();
            (row.kinds.len(), row.bytes, row.waited)
        };
        assert_eq!(bytes(leaf, top), (2, Some((50 + 20) * 4), None));
        assert_eq!(bytes(top, leaf), (2, Some((10 + 1) * 4), Some(11)));
        assert_eq!(bytes(leaf, host), (1, Some(4), Some(1)));
        assert_eq!(bytes(host, leaf), (1, Some(80), None));
        assert!(gaps.is_empty());
        let (since, _) = carried(&network, None, &after).unwrap();
        assert_eq!(since.iter().find(|row| row.from == host).unwrap().bytes, Some(360));
        // A reset in between, and a switch that did not answer.
        let reset = printed(&[(8, 1, 50, 20), (8, 4, 8, 90)]);
        let (rows, gaps) = carried(&network, Some(&before), &reset).unwrap();
        assert_eq!(rows.iter().filter(|row| row.bytes.is_none()).count(), 2);
        insta::assert_snapshot!(told(&gaps).join("\n"), @r"
        counters that ran backwards, as after a reset: their differences are absent (2)
        ports without counters of data at either end: their rows are absent (3)
        ");
    }

    #[test]
    fn ports_that_are_queried_twice() {
        let network = ibnetdiscover::read(NETWORK.as_bytes()).unwrap();
        let text = "\
# Port counters: Lid 8 port 4 (CapMask: 0x1000)
PortXmitData:....................4294967295
PortXmitWait:....................3
# Port extended counters: Lid 8 port 4 (CapMask: 0x5300)
PortXmitData:....................5000000000
# Port counters: Lid 8 port 255 (CapMask: 0x1000)
PortXmitData:....................9
";
        let ports = perfquery::read(text.as_bytes()).unwrap().ports;
        let (rows, gaps) = carried(&network, None, &ports).unwrap();
        let row = rows.iter().find(|row| matches!(row.to, End::Host(_))).unwrap();
        assert_eq!((row.bytes, row.waited), (Some(20_000_000_000), Some(3)));
        let sums = "sums over all ports of a switch (port 255): they identify no cable (1)";
        assert!(told(&gaps).iter().any(|gap| gap == sums), "{gaps:?}");
        let twice = [&ports[1..2], &ports[1..2]].concat();
        let error = carried(&network, None, &twice).unwrap_err().to_string();
        assert_eq!(error, "counter `PortXmitData of Lid 8 port 4` is there twice");
    }
}

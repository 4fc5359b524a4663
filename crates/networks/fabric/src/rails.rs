//! Choice of the ports of two hosts for a message, where hosts have several.
//!
//! Owns the rule: ports of a host are shared evenly among the slots of its ranks in their order, as
//! processes use the adapter near to them. Where a host has more ports than ranks, a rank has
//! several, and the ranks of the two ends select one. Ports without a route between them (rails
//! that are networks of their own) are not paired: the receiver's port of the same number is taken,
//! or the first two that are connected. It refuses networks and libraries that spread one message
//! over several ports.

use crate::machine::{Fabric, HostId, PortId};
use crate::route::parts;

/// Ports of ranks.
#[derive(Clone, Debug)]
pub struct Rails<'a> {
    fabric: &'a Fabric,
    /// Connected part of the network of each router; empty where each host has one port.
    parts: Vec<u32>,
    /// Number of ranks of each host.
    ranks: Vec<u32>,
}

/// Ports of a rank: the first, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    host: HostId,
    first: PortId,
    count: u32,
}

impl<'a> Rails<'a> {
    /// Ports of hosts that have these ranks; hosts that are not in the fabric have no share.
    pub fn new(fabric: &'a Fabric, hosts: &[HostId]) -> Self {
        let mut ranks = vec![0_u32; fabric.hosts().len()];
        for host in hosts {
            if let Some(ranks) = ranks.get_mut(host.at()) {
                *ranks += 1;
            }
        }
        let several = fabric.ports().len() > fabric.hosts().len();
        let parts = if several { parts(fabric).0 } else { Vec::new() };
        Self { fabric, parts, ranks }
    }

    /// Ports of the rank in this slot of a host.
    pub fn share(&self, host: HostId, slot: u16) -> Share {
        let (first, ports) = self.fabric.ports_of(host);
        let ports = ports.len() as u64;
        let ranks = self.ranks.get(host.at()).map_or(1, |&ranks| u64::from(ranks.max(1)));
        let slot = u64::from(slot) % ranks;
        // At least one, and not beyond the last.
        let begin = slot * ports / ranks;
        let count = ((slot + 1) * ports / ranks).saturating_sub(begin).max(1);
        Share { host, first: PortId(first.0 + begin as u32), count: count as u32 }
    }

    /// The sending and the receiving port of a message between these ranks.
    pub fn between(
        &self,
        (from, to): (Share, Share),
        (sender, receiver): (u32, u32),
    ) -> [PortId; 2] {
        if self.parts.is_empty() {
            return [from.first, to.first];
        }
        let which = sender.wrapping_add(receiver);
        let [out, into] =
            [from, to].map(|share| PortId(share.first.0 + which % share.count.max(1)));
        if self.joined(out, into) {
            return [out, into];
        }
        let [(first_out, outs), (first_into, intos)] =
            [from.host, to.host].map(|host| self.fabric.ports_of(host));
        let number = (out.0 - first_out.0) % (intos.len() as u32).max(1);
        let same = PortId(first_into.0 + number);
        if self.joined(out, same) {
            return [out, same];
        }
        let all = |first: PortId, count: usize| (first.0..first.0 + count as u32).map(PortId);
        let mut pairs = std::iter::once(out)
            .chain(all(first_out, outs.len()))
            .flat_map(|out| all(first_into, intos.len()).map(move |into| [out, into]));
        pairs.find(|[out, into]| self.joined(*out, *into)).unwrap_or([out, into])
    }

    fn joined(&self, one: PortId, other: PortId) -> bool {
        let part = |port: PortId| self.parts[self.fabric.ports()[port.at()].router.at()];
        part(one) == part(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Draft, RouterId};

    /// Two hosts with a port at each of `rails` switches, which a switch above may join.
    fn rails(rails: u32, joined: bool) -> Fabric {
        let mut draft = Draft::default();
        let kind = draft.kind("cable", None).unwrap();
        for rail in 0..rails {
            draft.router(format!("rail{rail}"), None).unwrap();
        }
        let above = draft.router("above".to_owned(), None).unwrap();
        for rail in (0..rails).filter(|_| joined) {
            draft.cable((RouterId(rail), above), kind, 1).unwrap();
        }
        let ports: Vec<_> = (0..rails).map(|rail| (RouterId(rail), None)).collect();
        for host in ["a", "b"] {
            draft.host_with_ports(host.to_owned(), &ports).unwrap();
        }
        draft.finish().unwrap()
    }

    /// Numbers of the ports of each slot of the first host, when each host has this many ranks.
    fn shares(ports: u32, ranks: usize) -> Vec<(u32, u32)> {
        let fabric = rails(ports, true);
        let hosts = [vec![HostId(0); ranks], vec![HostId(1); ranks]].concat();
        let rails = Rails::new(&fabric, &hosts);
        let share = |slot| rails.share(HostId(0), slot);
        (0..ranks as u16).map(|slot| (share(slot).first.0, share(slot).count)).collect()
    }

    #[test]
    fn ports_are_shared_among_slots() {
        assert_eq!(shares(1, 3), [(0, 1), (0, 1), (0, 1)]);
        assert_eq!(shares(2, 4), [(0, 1), (0, 1), (1, 1), (1, 1)]);
        assert_eq!(shares(4, 4), [(0, 1), (1, 1), (2, 1), (3, 1)]);
        assert_eq!(shares(4, 2), [(0, 2), (2, 2)]);
        assert_eq!(shares(4, 1), [(0, 4)]);
        assert_eq!(shares(4, 3), [(0, 1), (1, 1), (2, 2)]);
        assert_eq!(shares(3, 7).iter().map(|share| share.1).max(), Some(1));
    }

    #[test]
    fn rails_that_are_not_joined_are_kept() {
        let pairs = |joined| {
            let fabric = rails(2, joined);
            let hosts = [0, 0, 1, 1].map(HostId);
            let rails = Rails::new(&fabric, &hosts);
            let shares = [(0, 0), (0, 1), (1, 0), (1, 1)];
            let shares = shares.map(|(host, slot)| rails.share(HostId(host), slot));
            [(0, 2), (0, 3), (1, 2), (3, 0)].map(|(from, to): (usize, usize)| {
                let ranks = (from as u32, to as u32);
                rails.between((shares[from], shares[to]), ranks).map(|port| port.0)
            })
        };
        assert_eq!(pairs(true), [[0, 2], [0, 3], [1, 2], [3, 0]]);
        assert_eq!(pairs(false), [[0, 2], [0, 2], [1, 3], [3, 1]]);
    }

    #[test]
    fn one_rank_uses_all_its_ports() {
        let fabric = rails(4, false);
        let rails = Rails::new(&fabric, &[0, 1].map(HostId));
        let shares = (rails.share(HostId(0), 0), rails.share(HostId(1), 0));
        let ports = |to| rails.between(shares, (0, to)).map(|port| port.0);
        assert_eq!([1, 2, 3, 4].map(ports), [[1, 5], [2, 6], [3, 7], [0, 4]]);
    }
}

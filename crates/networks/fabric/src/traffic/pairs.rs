//! Messages summed by the routers of their ends.
//!
//! Owns the sums, in the order of routers, whatever the order of messages and the number of
//! threads; where speeds of hosts' ports are known, sums are by ports. A stencil of 131,072 ranks
//! has 3.4 million messages and some ten thousand pairs of routers: routes are computed once for
//! each pair. It refuses routes.

use rayon::prelude::*;

use super::{Cost, Load, Messages, Protocol, TrafficError};
use crate::machine::{Fabric, HostId, PortId, RouterId};
use crate::rails::{Rails, Share};
use crate::route::Routing;

/// All messages between two routers on the same routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The router of the sender.
    pub from: RouterId,
    /// The router of the receiver, which may be the same one.
    pub to: RouterId,
    /// The route to the receiver.
    pub choice: u32,
    /// The route back to the sender.
    pub back_choice: u32,
    /// Ports of the sender's and of the receiver's host; absent where no speed of a port is known.
    pub ports: Option<[PortId; 2]>,
    /// Number of entries of messages: pairs of ranks, unless some occur twice.
    pub flows: u64,
    /// Their cost in both directions.
    pub cost: Cost,
}

/// Pairs by sender, receiver and choices; bytes within a host are separate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Between different hosts.
    pub pairs: Vec<Pair>,
    /// Bytes within hosts.
    pub within: u64,
    /// Bytes between hosts.
    pub between: u64,
}

/// Key of a pair: receiver and choices, sender, ports.
type Key = (RouterId, u32, u32, RouterId, Option<[PortId; 2]>);

impl Pairs {
    /// The sums of these messages, with each rank on its host, in its slot; ranks without a slot
    /// are in slot 0.
    ///
    /// # Errors
    /// A rank without a host, or a host that is not in the fabric.
    pub fn new(
        messages: &Messages,
        (hosts, slots): (&[HostId], &[u16]),
        fabric: &Fabric,
        routing: &dyn Routing,
        protocol: &Protocol,
    ) -> Result<Self, TrafficError> {
        let ranks = hosts.len();
        if messages.ranks() > ranks {
            return Err(TrafficError::Rank { rank: messages.ranks() as u32 - 1, ranks });
        }
        if let Some(host) = hosts.iter().find(|host| host.at() >= fabric.hosts().len()) {
            return Err(TrafficError::Host { host: host.0, hosts: fabric.hosts().len() });
        }
        // By rank, as hosts have names and lie far apart in memory.
        let rails = Rails::new(fabric, hosts);
        let slots = slots.iter().copied().chain(std::iter::repeat(0));
        let places: Vec<Place> = (hosts.iter().zip(slots))
            .map(|(&host, slot)| Place { host, share: rails.share(host, slot) })
            .collect();
        let limited = fabric.tells_ports();
        let known: Vec<Known> = (0..)
            .map(PortId)
            .zip(fabric.ports())
            .map(|(id, port)| Known { router: port.router, choice: routing.choice(id) })
            .collect();
        let question = Ends { rails: &rails, places: &places, known: &known, limited };
        // Messages by router of the sender, by counting: messages stay in order within each.
        let first = |from: u32| fabric.hosts()[places[from as usize].host.at()].router.at();
        let mut ends = vec![0_u32; fabric.routers().len() + 1];
        for &from in &messages.from {
            ends[first(from) + 1] += 1;
        }
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        let mut sorted = vec![0_u32; messages.len()];
        let mut next = ends.clone();
        for (place, &from) in (0..).zip(&messages.from) {
            let next = &mut next[first(from)];
            sorted[*next as usize] = place;
            *next += 1;
        }
        let sum = |at: usize| {
            let mut sums = Sums::default();
            for some in sorted[ends[at] as usize..ends[at + 1] as usize].chunks(PIECE) {
                sums.add(some, messages, &question, protocol);
            }
            sums.finish()
        };
        let all: Vec<Self> = (0..fabric.routers().len()).into_par_iter().map(sum).collect();
        let mut pairs = Self::default();
        pairs.pairs.reserve_exact(all.iter().map(|one| one.pairs.len()).sum());
        for one in all {
            pairs.pairs.extend(one.pairs);
            pairs.within = pairs.within.saturating_add(one.within);
            pairs.between = pairs.between.saturating_add(one.between);
        }
        Ok(pairs)
    }

    /// Share of the bytes that leave their host; `None` without bytes.
    pub fn off_node_share(&self) -> Option<f64> {
        let all = self.between as f64 + self.within as f64;
        (all > 0.0).then(|| self.between as f64 / all)
    }
}

/// Place of a rank, and its ports.
#[derive(Clone, Copy)]
struct Place {
    host: HostId,
    share: Share,
}

/// Properties of a port.
#[derive(Clone, Copy)]
struct Known {
    router: RouterId,
    choice: u32,
}

/// Lookup of the ends of a message.
struct Ends<'a> {
    rails: &'a Rails<'a>,
    places: &'a [Place],
    known: &'a [Known],
    /// True if sums are by ports.
    limited: bool,
}

impl Ends<'_> {
    /// The key of a message between two hosts.
    fn key(&self, ranks: (u32, u32), (from, to): (Place, Place)) -> Key {
        let ports = self.rails.between((from.share, to.share), ranks);
        let [out, into] = ports.map(|port| self.known[port.at()]);
        let ports = self.limited.then_some(ports);
        (into.router, into.choice, out.choice, out.router, ports)
    }
}

/// Maximum number of messages that are sorted at once: bounds the memory of a router that sends all
/// of them.
const PIECE: usize = 1 << 16;

/// Sums of one router's messages.
#[derive(Default)]
struct Sums {
    /// Messages of a piece between hosts.
    piece: Vec<(Key, u32)>,
    /// By key; a key repeats for each piece that has it until they are settled.
    found: Vec<(Key, u64, Cost)>,
    /// Number of settled entries.
    settled: usize,
    within: u64,
    between: u64,
}

impl Sums {
    fn add(&mut self, some: &[u32], messages: &Messages, all: &Ends<'_>, protocol: &Protocol) {
        self.piece.clear();
        for &at in some {
            let message = at as usize;
            let ranks = [messages.from[message], messages.to[message]];
            let [from, to] = ranks.map(|rank| all.places[rank as usize]);
            let bytes = messages.bytes[message];
            if from.host == to.host {
                self.within = self.within.saturating_add(bytes);
            } else {
                self.between = self.between.saturating_add(bytes);
                self.piece.push((all.key(ranks.into(), (from, to)), at));
            }
        }
        self.piece.sort_unstable();
        let begin = self.found.len();
        for &(key, at) in &self.piece {
            let Some(message) = messages.get(at as usize) else { continue };
            if self.found.len() == begin || self.found.last().is_none_or(|last| last.0 != key) {
                self.found.push((key, 0, Cost::default()));
            }
            if let Some((_, flows, sum)) = self.found.last_mut() {
                let cost = protocol.cost(&message);
                *flows += 1;
                sum.there.sum(&cost.there);
                sum.back.sum(&cost.back);
            }
        }
        if self.found.len() >= self.settled * 2 + PIECE {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.found.sort_unstable_by_key(|entry| entry.0);
        self.found.dedup_by(|next, sum| {
            let same = next.0 == sum.0;
            if same {
                sum.1 += next.1;
                sum.2.there.sum(&next.2.there);
                sum.2.back.sum(&next.2.back);
            }
            same
        });
        self.settled = self.found.len();
    }

    fn finish(mut self) -> Pairs {
        self.settle();
        let pair = |((to, choice, back_choice, from, ports), flows, cost)| Pair {
            from,
            to,
            choice,
            back_choice,
            ports,
            flows,
            cost,
        };
        let pairs = self.found.into_iter().map(pair).collect();
        Pairs { pairs, within: self.within, between: self.between }
    }
}

/// Load that the two ends inject: the sender's router the load there, the receiver's the load back.
impl Pair {
    /// Each end with the load that its hosts send.
    pub fn injected(&self) -> [(RouterId, &Load); 2] {
        [(self.from, &self.cost.there), (self.to, &self.cost.back)]
    }
}

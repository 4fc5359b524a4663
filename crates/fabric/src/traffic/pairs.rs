//! Messages summed by the routers that they go between.
//!
//! Owns the sums, in the order of routers, whatever the order of messages and the number of threads. A stencil of 131,072 ranks has 3.4 million messages and some ten thousand pairs of
//! routers: ways are found once for each pair. It refuses ways.

use rayon::prelude::*;

use super::{Cost, Load, Message, Messages, Protocol, TrafficError};
use crate::machine::{Fabric, HostId, RouterId};
use crate::route::Routing;

/// All that goes between two routers on the same ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The router of the sender.
    pub from: RouterId,
    /// The router of the receiver, which may be the same one.
    pub to: RouterId,
    /// Which of the ways leads to the receiver.
    pub choice: u32,
    /// Which of the ways leads back to the sender.
    pub back_choice: u32,
    /// Entries of messages: pairs of ranks, unless some are there twice.
    pub flows: u64,
    /// What they do to both directions.
    pub cost: Cost,
}

/// Pairs by sender, receiver and choices; what stays within a host is apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Between different hosts.
    pub pairs: Vec<Pair>,
    /// Bytes within hosts.
    pub within: u64,
    /// Bytes between hosts.
    pub between: u64,
}

/// What a pair is known by, without its sender: receiver and choices.
type Key = (RouterId, u32, u32);

impl Pairs {
    /// The sums of these messages, when each rank is on its host.
    ///
    /// # Errors
    /// A rank without a host, or a host that the fabric has not.
    pub fn new(
        messages: &Messages,
        hosts: &[HostId],
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
        let router = |rank: u32| fabric.hosts()[hosts[rank as usize].at()].router;
        let first = |from: u32| router(from).at();
        // Messages by router of the sender, by counting: places of a message stay in order within each.
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
        let of_router = |at: usize| &sorted[ends[at] as usize..ends[at + 1] as usize];
        let sum = |at: usize| {
            let mut sums = Sums::default();
            for message in of_router(at).iter().filter_map(|&place| messages.get(place as usize)) {
                sums.add(&message, hosts, fabric, routing, protocol);
            }
            sums.finish(RouterId(at as u32))
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

    /// Share of the bytes that leave their host; none without bytes.
    pub fn off_node_share(&self) -> Option<f64> {
        let all = self.between as f64 + self.within as f64;
        (all > 0.0).then(|| self.between as f64 / all)
    }
}

/// Sums of one router's messages.
#[derive(Default)]
struct Sums {
    /// By key, to be sorted.
    found: Vec<(Key, u64, Cost)>,
    /// How many of them are sorted, each key once.
    sorted: usize,
    within: u64,
    between: u64,
}

impl Sums {
    /// Entries beyond those that are sums, at which they are summed: bounds memory.
    const FEW: usize = 4096;

    fn add(
        &mut self,
        message: &Message,
        hosts: &[HostId],
        fabric: &Fabric,
        routing: &dyn Routing,
        protocol: &Protocol,
    ) {
        let [from, to] = [message.from, message.to].map(|rank| hosts[rank as usize]);
        if from == to {
            self.within = self.within.saturating_add(message.bytes);
            return;
        }
        self.between = self.between.saturating_add(message.bytes);
        let router = fabric.hosts()[to.at()].router;
        let key = (router, routing.choice(to), routing.choice(from));
        self.found.push((key, 1, protocol.cost(message)));
        if self.found.len() >= self.sorted * 2 + Self::FEW {
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
        self.sorted = self.found.len();
    }

    fn finish(mut self, from: RouterId) -> Pairs {
        self.settle();
        let pair = |((to, choice, back_choice), flows, cost)| Pair {
            from,
            to,
            choice,
            back_choice,
            flows,
            cost,
        };
        let pairs = self.found.into_iter().map(pair).collect();
        Pairs { pairs, within: self.within, between: self.between }
    }
}

/// What two ends inject: the sender's router what goes there, the receiver's what comes back.
impl Pair {
    /// Each end with what its hosts send.
    pub fn injected(&self) -> [(RouterId, &Load); 2] {
        [(self.from, &self.cost.there), (self.to, &self.cost.back)]
    }
}

//! Tiles of routers that are only computed: what messages that a model knows put on links, as the
//! counters of a Cray Gemini would show it.
//!
//! Owns the way from links to tiles: counters count what comes INTO a tile, so that the tiles of
//! router R towards D show what the link from D to R carries, and the tiles of its hosts show what
//! these inject; lanes share evenly. It adds a little noise, begins at any number, and says
//! `simulated` in its name. It refuses to know how messages become phits.
//!
//! On a real Cray the same 288 numbers come from the library `gpcd` of the Gemini driver, which
//! traps into the kernel for them (154 us to 305 us for all, which is slow):
//!
//! ```c
//! gpcd_context_t *ctx = gpcd_create_context();
//! /* for each row 0..6, column 0..8, counter 0..6 */
//! gpcd_mmr_desc_t *desc = gpcd_lookup_mmr_byname("GM_0_0_TILE_PERFORMANCE_COUNTERS_0");
//! gpcd_context_add_mmr(ctx, desc);
//! /* each time */
//! gpcd_context_read_mmr_vals(ctx);
//! for (gpcd_mmr_list_t *p = ctx->list; p; p = p->next)
//!     use(p->item->name, p->value);
//! ```
//!
//! Talea does not link that library: its numbers come as a text of
//! [`talea_sampling::fabric::recorded`], whose ports are tiles. Follows Pedretti et al., "Using the
//! Cray Gemini Performance Counters", 2013.

use std::sync::Arc;

use talea_fabric::gemini::{self, TileCounter, Use, tiles as grid};
use talea_fabric::{Fabric, LinkId, RouterId};
use talea_model::random::Random;
use talea_model::{GapKind, Gaps, Nanos};

use talea_sampling::fabric::{
    Counter, CounterSource, Port, PortKind, Reading, Readings, Role, Unit, Width,
};
use talea_sampling::source::gap;

/// Quantities of the six counters, in the order of [`TileCounter`].
fn counters() -> Arc<[Counter]> {
    let counter = |counter: TileCounter| {
        let (role, unit) = match counter {
            TileCounter::Vc0Phits | TileCounter::Vc1Phits => (Role::Received, Unit::Phits),
            TileCounter::Vc0Packets | TileCounter::Vc1Packets => (Role::Received, Unit::Packets),
            TileCounter::InqStalls => (Role::ReceivedStalled, Unit::GeminiTicks),
            TileCounter::CreditStalls => (Role::SentStalled, Unit::GeminiTicks),
        };
        let name = counter.heading().to_owned();
        Counter { name, role, unit, hertz: None, width: Width::GEMINI }
    };
    TileCounter::ALL.into_iter().map(counter).collect()
}

/// Traffic over a link, or from the hosts of a router. Channel 0 has requests, channel 1 responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Phits of each channel.
    pub phits: [u64; 2],
    /// Packets of each channel.
    pub packets: [u64; 2],
    /// Ticks that its end waited to pass something on (input), and that the sender on this link
    /// waited (output).
    pub stalls: [u64; 2],
}

impl Traffic {
    /// As the counters are in order. Output stalls are counted where something waits to leave, so
    /// not with what came in.
    fn incoming(self) -> [u64; 5] {
        let Self { phits, packets, stalls } = self;
        [phits[0], phits[1], packets[0], packets[1], stalls[0]]
    }
}

/// A tile of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Its own name, one word.
    pub name: String,
    /// Where it is.
    pub router: RouterId,
    /// The router that it leads to; none of a tile of hosts.
    pub towards: Option<RouterId>,
}

/// Traffic beside known messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise {
    /// Seed of all of it.
    pub seed: u64,
    /// Most packets a router's hosts add between two readings; 0 is none. One link in eight carries
    /// as much.
    pub packets: u64,
}

/// The simulated tiles.
#[derive(Debug)]
pub struct Simulated {
    ports: Vec<Port>,
    /// For each tile: where its traffic comes from, where it goes, and which lane of how many it
    /// is.
    lanes: Vec<Lane>,
    totals: Vec<[u64; 6]>,
    noise: Noise,
    random: Random,
    links: usize,
    routers: usize,
}

#[derive(Clone, Copy, Debug)]
struct Lane {
    /// Place of the link into the tile; behind all links, of the router whose hosts it has.
    from: Option<usize>,
    /// The same of the link out of the tile.
    to: Option<usize>,
    number: u64,
    of: u64,
}

/// Tiles of a fabric for which nobody has a map: one for each lane of a link, and so many for the
/// hosts of each router that has some.
pub fn tiles(fabric: &Fabric, of_hosts: u16) -> Vec<Tile> {
    let mut with_hosts = vec![false; fabric.routers().len()];
    fabric.hosts().iter().for_each(|host| with_hosts[host.router.at()] = true);
    let mut tiles = Vec::new();
    for (at, router) in fabric.routers().iter().enumerate() {
        let id = RouterId(at as u32);
        for link in fabric.from(id).1 {
            let lanes: u32 = link.lanes.iter().map(|lanes| u32::from(lanes.count)).sum();
            let to = &fabric.routers()[link.to.at()].name;
            let name = |lane| format!("{}->{to}.{lane}", router.name);
            let towards = Some(link.to);
            tiles.extend((0..lanes).map(|lane| Tile { name: name(lane), router: id, towards }));
        }
        if with_hosts[at] {
            let name = |lane| format!("{}.host.{lane}", router.name);
            let host = |lane| Tile { name: name(lane), router: id, towards: None };
            tiles.extend((0..of_hosts).map(host));
        }
    }
    tiles
}

/// All 48 tiles of each of these routers of a machine whose tile maps are known, router after
/// router, named `c0-0c0s0g0l32`.
pub fn tiles_of(machine: &gemini::Machine, routers: &[RouterId]) -> Vec<Tile> {
    let mut tiles = Vec::with_capacity(routers.len() * grid::TILES);
    for &id in routers {
        let known = machine.fabric.routers().get(id.at()).zip(machine.tiles(id));
        let Some((router, map)) = known else { continue };
        for (tile, used) in gemini::Tile::all().zip(map) {
            let towards = match used {
                Use::Network(peer) => Some(peer.to),
                Use::Host => None,
                // A tile that leads to its own router has no link, and counts nothing.
                Use::Unused => Some(id),
            };
            tiles.push(Tile { name: format!("{}{tile}", router.name), router: id, towards });
        }
    }
    tiles
}

/// Values of tiles as [`gemini::link_table`] takes them: six of each, and beyond their 48 bits
/// where one is absent.
pub fn values(readings: &Readings) -> Vec<u64> {
    let value = |reading: &Option<Reading>| reading.map_or(u64::MAX, |reading| reading.value);
    readings.all().iter().map(value).collect()
}

impl Simulated {
    /// Tiles of a fabric; those that lead nowhere in it count nothing.
    pub fn new(fabric: &Fabric, tiles: Vec<Tile>, noise: Noise) -> Self {
        let counters = counters();
        let links = fabric.links().len();
        let place = |from, to| fabric.link(from, to).map(LinkId::at);
        let lane = |tile: &Tile| Lane {
            from: match tile.towards {
                Some(other) => place(other, tile.router),
                None => Some(links + tile.router.at()),
            },
            to: match tile.towards {
                Some(other) => place(tile.router, other),
                None => Some(links + tile.router.at()),
            },
            number: 0,
            of: 0,
        };
        let mut lanes: Vec<Lane> = tiles.iter().map(lane).collect();
        let routers = fabric.routers().len();
        let mut of = vec![0_u64; links + routers];
        for lane in &mut lanes {
            if let Some(count) = lane.from.and_then(|from| of.get_mut(from)) {
                lane.number = *count;
                *count += 1;
            }
        }
        for lane in &mut lanes {
            lane.of = lane.from.and_then(|from| of.get(from)).copied().unwrap_or(0);
        }
        let speed = |tile: &Tile| {
            let link = fabric.links().get(fabric.link(tile.router, tile.towards?)?.at())?;
            let lanes: u32 = link.lanes.iter().map(|lanes| u32::from(lanes.count)).sum();
            Some(link.capacity? / f64::from(lanes.max(1)))
        };
        let port = |tile: Tile| Port {
            speed: speed(&tile),
            name: tile.name,
            kind: PortKind::Gemini,
            state: None,
            counters: counters.clone(),
        };
        let ports: Vec<Port> = tiles.into_iter().map(port).collect();
        let mut random = Random::new(noise.seed);
        let any = |_| std::array::from_fn(|_| random.number() >> (64 - grid::BITS));
        let totals = (0..ports.len()).map(any).collect();
        Self { ports, lanes, totals, noise, random, links, routers }
    }

    /// Messages went over the network: what they put on each link, by [`LinkId`], and what the
    /// hosts of each router injected, by [`RouterId`]. What a list does not reach carried nothing.
    pub fn carry(&mut self, links: &[Traffic], hosts: &[Traffic]) {
        let of = |place: usize| match place.checked_sub(self.links) {
            None => links.get(place),
            Some(router) => hosts.get(router),
        };
        for (lane, totals) in self.lanes.iter().zip(&mut self.totals) {
            let into = lane.from.and_then(of).copied().unwrap_or_default();
            let out = lane.to.and_then(of).copied().unwrap_or_default();
            add(totals, *lane, into, out.stalls[1]);
        }
    }

    /// Traffic of the system itself: small requests, each with its response on the way back.
    fn disturb(&mut self) {
        let Noise { packets: most @ 1.., .. } = self.noise else { return };
        let mut some = |one_in: u64| {
            let packets = self.random.number() % (most + 1);
            let there = self.random.number().is_multiple_of(one_in);
            // Requests have 8 to 32 phits, responses 3.
            let phits = 8 + self.random.number() % 25;
            let packets = if there { packets } else { 0 };
            Traffic { phits: [packets * phits, packets * 3], packets: [packets; 2], stalls: [0, 0] }
        };
        let links: Vec<Traffic> = (0..self.links).map(|_| some(8)).collect();
        let hosts: Vec<Traffic> = (0..self.routers).map(|_| some(1)).collect();
        self.carry(&links, &hosts);
    }
}

/// Adds a lane's share.
fn add(totals: &mut [u64; 6], lane: Lane, into: Traffic, output_stalls: u64) {
    let share = |all: u64| match lane.of {
        0 => 0,
        of => all / of + u64::from(lane.number < all % of),
    };
    let incoming = into.incoming();
    let more = incoming.into_iter().chain([output_stalls]).map(share);
    for (total, more) in totals.iter_mut().zip(more) {
        *total = total.wrapping_add(more) & (u64::MAX >> (64 - grid::BITS));
    }
}

impl CounterSource for Simulated {
    fn name(&self) -> &'static str {
        "simulated tiles"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn read(&mut self, at: Nanos, gaps: &mut Gaps) -> Option<Readings> {
        let detail = "counters of `simulated tiles` are computed, not measured".to_owned();
        gaps.note(gap(GapKind::Estimated, detail));
        self.disturb();
        let mut readings = Readings::absent(&self.ports);
        for (port, totals) in self.totals.iter().enumerate() {
            for (reading, &value) in readings.port_mut(port).iter_mut().zip(totals) {
                *reading = Some(Reading { at, value });
            }
        }
        Some(readings)
    }
}

#[cfg(test)]
#[path = "tiles_tests.rs"]
mod tests;

//! Routers whose links are made of tiles: Cray's Gemini, and Aries, whose grid of tiles is the
//! same.
//!
//! Owns the uses of tiles ([`Machine`]), machines of any size ([`generate`]), names and places
//! ([`geometry`]), and counters of tiles summed to links ([`table`]). It refuses to read counters;
//! other modules read the lists that Crays print. Follows Pedretti et al., "Using the Cray Gemini
//! Performance Counters", Cray User Group 2013.

pub mod generate;
pub mod geometry;
pub mod print;
pub mod table;
#[cfg(test)]
mod tests;
pub mod tiles;

use talea_model::Gaps;

use crate::machine::{Fabric, RouterId};
use crate::shape::Torus;

pub use generate::{machine, machine_of, rtr, rtr_lines};
pub use geometry::{Geometry, Place};
pub use table::{Readings, Row, Table, link_table};
pub use tiles::{Label, Peer, Tile, TileCounter, TileMap, Use, Wire};

/// Bytes a second between a Gemini and its two nodes, one way: eight tiles.
pub const HOST_CAPACITY: f64 = 8.0 * 1.300_125e9;

/// Router chip of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chip {
    /// A torus of three axes, two nodes at each router.
    Gemini,
    /// A dragonfly, four nodes at each router; coordinates are group, chassis and slot.
    Aries,
}

/// A network with the tiles of its links.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Router chip.
    pub chip: Chip,
    /// Routers, links and hosts.
    pub fabric: Fabric,
    /// Lengths of the axes of a Gemini machine. In a machine without missing Geminis, routers are
    /// in its order.
    pub torus: Option<Torus>,
    /// Uses of the tiles of each router, by [`RouterId`].
    pub tiles: Vec<TileMap>,
    /// Gaps.
    pub gaps: Gaps,
}

impl Machine {
    /// Tiles of a router; `None` for an unknown one.
    pub fn tiles(&self, router: RouterId) -> Option<&TileMap> {
        self.tiles.get(router.at())
    }
}

//! The network between nodes: routers, links and hosts, what counters of routers say of links, the ways that messages take, and where ranks should lie.
//!
//! A [`Fabric`] is data, whoever described it: a generator ([`shape`]), a Cray's own list of tiles, the discovery of an InfiniBand network, a scheduler's file.
//! Everything else asks it alone. This crate refuses to read files or counters, and to draw.

mod coordinate;
pub mod counters;
pub mod degraded;
mod error;
pub mod fair;
pub mod gemini;
mod levels;
mod machine;
pub mod place;
pub mod rails;
pub mod route;
pub mod shape;
pub mod traffic;

pub use coordinate::{Coordinate, MOST_AXES};
pub use error::FabricError;
pub use levels::levels;
pub use machine::{
    Draft, Fabric, Host, HostId, Kind, Lanes, Link, LinkId, Port, PortId, Router, RouterId,
};

//! The network between nodes: routers, links and hosts, counters of links at routers, the routes of
//! messages, and the placement of ranks.
//!
//! A [`Fabric`] is data, from any source: a generator ([`shape`]), a Cray's own list of tiles, the
//! discovery of an InfiniBand network, a scheduler's file. Everything else uses it alone. This
//! crate refuses to read files or counters, and to draw.

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

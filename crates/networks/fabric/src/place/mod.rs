//! Placements: the host and the slot of each rank, their quality, the search for a better one, and
//! the files that launchers read.
//!
//! Owns placements as data. Blocks of a grid, orders of nodes, cuts of a matrix and swaps make
//! them; [`Evaluation`] compares them; [`text`] writes them, [`read`] reads them. It refuses to
//! start anything.

mod blocks;
mod choose;
mod evaluate;
pub mod order;
mod partition;
pub mod read;
mod search;
pub mod text;

use serde::{Deserialize, Serialize};

pub use blocks::blocks;
pub use choose::{Reason, best, is_better, is_timed};
pub use evaluate::{Dimension, Evaluation, Figures, Question};
pub use partition::{Cut, Edge, Graph, partition};
pub use search::{Search, Swap, improve};

use crate::machine::HostId;

/// Host and slot of each rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    hosts: Vec<HostId>,
    slots: Vec<u16>,
}

/// Errors of placements.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// Blocks that do not fill the grid.
    #[error("blocks of {block} ranks on an axis of {grid}, expected a divisor of it")]
    Block {
        /// Ranks of a block on the axis.
        block: u32,
        /// Ranks on the axis.
        grid: u32,
    },
    /// More ranks than there is room for.
    #[error(
        "{ranks} ranks on {nodes} node{} that take{} {cores} each, expected up to {}",
        if *nodes == 1 { "" } else { "s" },
        if *nodes == 1 { "s" } else { "" },
        (*nodes as u64).saturating_mul((*cores).into())
    )]
    Room {
        /// Ranks to be placed.
        ranks: usize,
        /// Nodes.
        nodes: usize,
        /// Slots of a node.
        cores: u32,
    },
    /// An order for another shape.
    #[error("{order} is asked for on {axes} axes, expected {expected}")]
    Axes {
        /// The order.
        order: &'static str,
        /// Axes of the machine.
        axes: usize,
        /// Shapes that it supports.
        expected: &'static str,
    },
    /// A host name that cannot be written.
    #[error("host name `{name}`, expected letters, digits, `.`, `_` and `-`")]
    Name {
        /// Its name, or its beginning.
        name: String,
    },
    /// A rank on an unknown host.
    #[error("rank {rank} is on host `{name}`, expected one of the network's {hosts}")]
    NoHost {
        /// The rank.
        rank: u32,
        /// The host's name, or its beginning.
        name: String,
        /// Number of hosts of the network.
        hosts: usize,
    },
    /// A form that cannot express a placement.
    #[error("{what}")]
    Form {
        /// The limit of the form, and the expected form.
        what: &'static str,
    },
    /// Messages that do not fit the placement.
    #[error(transparent)]
    Traffic(#[from] crate::traffic::TrafficError),
}

impl Placement {
    /// Ranks on these hosts, in order of ranks; slots of a host are given in that order.
    pub fn from_hosts(hosts: Vec<HostId>) -> Self {
        let most = hosts.iter().map(|host| host.at() + 1).max().unwrap_or(0);
        let mut used = vec![0_u16; most];
        let slots = hosts.iter().map(|host| {
            let next = &mut used[host.at()];
            *next = next.saturating_add(1);
            *next - 1
        });
        let slots = slots.collect();
        Self { hosts, slots }
    }

    /// Ranks in order, `cores` on each of these nodes.
    ///
    /// # Errors
    /// More ranks than there is room for.
    pub fn filled(ranks: usize, cores: u16, nodes: &[HostId]) -> Result<Self, PlaceError> {
        room(ranks, nodes.len(), cores.into())?;
        let cores = usize::from(cores.max(1));
        Ok(Self::from_hosts((0..ranks).map(|rank| nodes[rank / cores]).collect()))
    }

    /// The host of each rank.
    pub fn hosts(&self) -> &[HostId] {
        &self.hosts
    }

    /// The slot of each rank on its host, from 0.
    pub fn slots(&self) -> &[u16] {
        &self.slots
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.hosts.len()
    }
}

fn room(ranks: usize, nodes: usize, cores: u32) -> Result<(), PlaceError> {
    if ranks as u64 > (nodes as u64).saturating_mul(cores.into()) {
        return Err(PlaceError::Room { ranks, nodes, cores });
    }
    Ok(())
}

/// A router with hosts of these names, for tests.
#[cfg(test)]
fn hosts_of_a_router(names: &[&str]) -> crate::Fabric {
    let mut draft = crate::Draft::default();
    let router = draft.router("r".to_owned(), None).unwrap();
    for name in names {
        draft.host((*name).to_owned(), router).unwrap();
    }
    draft.finish().unwrap()
}

//! Options of a comparison of placements.
//!
//! Owns the methods and orders that can be compared, with their words of the command line.

use crate::messages::Sent;
use crate::network;
use crate::places::Placed;

/// Order in which nodes are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As the description of the network has them.
    Plain,
    /// Along the last axis and back.
    Serpentine,
    /// Cabinet by cabinet, as they stand.
    Cabinets,
    /// At random, the same each time.
    Random,
    /// Along Morton's curve.
    Morton,
    /// Along Hilbert's curve.
    Hilbert,
}

/// Method of placing ranks on nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Blocks of a grid of ranks, the axis of successive ranks last.
    Blocks([u32; 3]),
    /// In the order of ranks.
    Filled,
    /// Node by node, each with the rank that exchanges most with those it has.
    Greedy,
    /// By halves between which the fewest bytes are sent.
    Bisection,
    /// From a file or the run, unchanged by orders and swaps.
    Placed(Placed),
}

/// Options of a comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// Source of the network, and its routes.
    pub network: network::Options,
    /// Names of the nodes, in place of those of the network.
    pub hosts: Vec<String>,
    /// Source of the messages.
    pub sent: Sent,
    /// Methods to compare.
    pub ways: Vec<Way>,
    /// Orders of nodes; empty for the default of the network.
    pub orders: Vec<Order>,
    /// Ranks on a node; where absent, the maximum of a run's nodes.
    pub cores: Option<u16>,
    /// Number of swaps to try on each placement.
    pub swaps: u32,
    /// True if the loads of links are kept, for pictures.
    pub loads: bool,
}

impl Order {
    /// The word of the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Serpentine => "serpentine",
            Self::Cabinets => "cabinets",
            Self::Random => "random",
            Self::Morton => "morton",
            Self::Hilbert => "hilbert",
        }
    }
}

impl Way {
    /// The form of the command line.
    pub fn name(&self) -> String {
        match self {
            Self::Blocks([x, y, z]) => format!("{x}x{y}x{z}"),
            Self::Filled => "filled".to_owned(),
            Self::Greedy => "greedy".to_owned(),
            Self::Bisection => "bisection".to_owned(),
            Self::Placed(placed) => placed.to_string(),
        }
    }
}

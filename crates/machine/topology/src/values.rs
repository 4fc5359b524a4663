//! Readings of counters at places of a node, and values of monitors on its objects.
//!
//! Owns the two records that pass between sources, monitors, recordings and views. An unavailable
//! value is `NaN` here and missing in files, never zero.

use talea_model::Nanos;

/// Place of a reading. Sources read each counter at all places of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// The PU with this number of the operating system.
    Pu(u32),
    /// The NUMA node with this number of the operating system.
    Numa(u32),
    /// The package with this number of the operating system.
    Package(u32),
    /// The device with this name of the operating system.
    Device(String),
    /// The whole machine.
    Machine,
}

/// Increase of each counter (or, for gauges, its value), since the reading before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// Time since the recording began.
    pub at: Nanos,
    /// Time since the reading before.
    pub span: Nanos,
    /// For each counter, in the order of the request, a number for each of its places; `NaN` where
    /// there is none.
    pub numbers: Vec<Vec<f64>>,
}

/// The values of monitors on their objects at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Time since the recording began.
    pub at: Nanos,
    /// Time since the frame before.
    pub span: Nanos,
    /// The user's phase; 0 at first.
    pub phase: u32,
    /// For each monitor a value for each of its objects, in the order of the tree; `NaN` where
    /// there is none.
    pub values: Vec<Vec<f64>>,
}

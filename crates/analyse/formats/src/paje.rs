//! The Paje-like trace of "A Topology-Aware Performance Monitoring Tool for Shared Resource
//! Management in Multicore Systems" (Denoyelle, Goglin, Jeannot, 2015): performance values of
//! containers, which are monitors on objects of a topology.
//!
//! Owns its text. Definitions (`%EventDef NAME NUMBER`, `%  FIELD TYPE`, `%EndEventDef`) give the
//! fields of each event's lines and their order; two events are known, `val` and `container`, lines
//! of others are skipped and counted. Numbers may have a decimal comma, also with a blank before
//! it, as the tool printed them (`67 ,00`). Follows the Paje trace file format (B. de Oliveira
//! Stein, J. Chassin de Kergommeaux, G. Mounié, 2002) for definitions, comments and quoted texts.
//!
//! ```text
//! %EventDef val 0
//! %  Id int
//! %  Phase int
//! %  Time_us date
//! %  Value double
//! %EndEventDef
//! 0 2 0 962832762224 67 ,00
//! ```

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::read;
pub use write::{write, write_containers, write_values};

/// A container: one monitor on one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Id that values refer to.
    pub id: u64,
    /// Kind of the object, with hwloc's name: `PU`, `L3`.
    pub level: String,
    /// Number of the object among its kind, in the order of the tree.
    pub sibling: u32,
    /// The monitor.
    pub name: String,
    /// True if it is shown on a logarithmic scale.
    pub log_scale: bool,
}

/// A value of a container.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The container's id.
    pub id: u64,
    /// The user's phase.
    pub phase: u32,
    /// Microseconds on the recording machine's clock.
    pub time_us: u64,
    /// Value of the monitor's expression.
    pub value: f64,
}

/// A whole trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Containers in the order of the file.
    pub containers: Vec<Container>,
    /// Values in the order of the file, which is nearly that of time.
    pub values: Vec<Value>,
    /// Number of lines of events that are neither values nor containers.
    pub skipped: u64,
    /// Number of values of containers that no line before them defines.
    pub orphans: u64,
}

/// Errors of reading a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A line that violates the format.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Line {
        /// Line number, from 1.
        line: u64,
        /// The expected form.
        expected: String,
        /// The text that was found, shortened.
        found: String,
    },
    /// A definition that does not end.
    #[error("line {line}: the definition that starts here does not end with %EndEventDef")]
    Open {
        /// Line number, from 1.
        line: u64,
    },
    /// Neither values nor containers are defined.
    #[error("no Paje trace: expected a line such as `%EventDef val 0`, found none")]
    Nothing,
}

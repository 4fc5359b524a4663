//! The objects of a node - packages, NUMA nodes, caches, cores, PUs, devices - and performance
//! values on them.
//!
//! Owns the tree of objects ([`Topology`]), its files (hwloc's XML of versions 1 to 3, synthetic
//! descriptions), the monitors that users write, the accumulation of counters over the tree, the
//! layout of its picture, and hints. It refuses reading files, counters and clocks: bytes and
//! readings come in, values and pictures go out.
//!
//! Words follow hwloc (<https://www.open-mpi.org/projects/hwloc/>): an *object* has a *kind*; a
//! *PU* is a hardware thread.

pub mod accumulate;
pub mod cpuset;
pub mod hints;
pub mod layout;
pub mod levels;
pub mod monitors;
pub mod name;
pub mod objects;
pub mod phases;
pub mod restrict;
#[cfg(test)]
mod sample;
pub mod scale;
pub mod svg;
pub mod synthetic;
pub mod values;
pub mod xml;

pub use accumulate::Plan;
pub use cpuset::CpuSet;
pub use levels::levels;
pub use monitors::{Monitor, MonitorInfo, ObjectsOf};
pub use objects::{Attributes, Object, ObjectId, ObjectKind, Topology};
pub use values::{Frame, Place, Readings};

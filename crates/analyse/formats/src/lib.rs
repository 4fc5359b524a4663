//! Files of other tools: bytes in, records out, and back.
//!
//! Owns the syntax of each format, one module a format, and gives line and expectation of a
//! violation. The crates that use records define their meaning. It refuses opening files and never
//! panics on any bytes.

mod definitions;
pub mod fabric;
pub mod likwid;
pub mod models;
pub mod paje;
pub mod paraver;
pub mod perfmon;
pub mod pmu_events;
pub mod profile;
pub mod table;

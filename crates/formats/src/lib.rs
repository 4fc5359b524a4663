//! Files of other tools: bytes in, records out, and back.
//!
//! Owns the syntax of each format, one module a format, and says line and expectation where bytes break it. What records mean
//! is decided by the crates that use them. It refuses opening files and never panics, whatever the bytes are.

pub mod fabric;
pub mod likwid;
pub mod models;
pub mod paje;
pub mod paraver;
pub mod perfmon;
pub mod pmu_events;
pub mod profile;
pub mod table;

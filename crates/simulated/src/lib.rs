//! Sources of counters that are only computed, for machines without the hardware: demonstrations,
//! tests and benchmarks.
//!
//! [`node`] has the caches and memory of a node, [`tiles`] the router tiles of a Gemini, and
//! [`experiment`] known messages between two of its routers. Each source implements the trait of
//! the measured one, and its name begins with `simulated` in every output. Refuses clocks and
//! measured values.

pub mod experiment;
pub mod node;
pub mod tiles;

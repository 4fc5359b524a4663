//! The node daemon: what every core was at, named, counted and sent.
//!
//! Owns the names of what samplers hit (jobs, users, modules, phases), the batch of each interval,
//! the agent's own budget, and the order of things: collect, name, count, keep in the spool,
//! deliver. It refuses to take samples ([`talea_sampling::system`]), to resolve functions, and to
//! answer questions ([`talea_store`]). Memory is bounded everywhere: tables of files and processes,
//! rows of a batch, bytes of the spool.

pub mod allotted;
pub mod budget;
#[doc(hidden)]
pub mod damaged;
mod delivery;
mod files;
pub mod jobs;
pub mod modules;
mod node;
pub mod notices;
pub mod phases;
pub mod processes;
mod progress;
mod queue;
mod rates;
pub mod send;
pub mod slots;
pub mod tally;

pub use budget::{Budget, Cost};
pub use delivery::Delivery;
pub use files::Files;
pub use node::{Agent, AgentError, Options, Progress};

//! The server: takes batches of agents, and answers browsers, scripts and Grafana.
//!
//! Owns HTTP: routes, users and their permissions, pages. It refuses to compute anything that a
//! store or a rule does not give. docs/server.md is its contract.
//!
//! ```text
//! agents --- batches ---> ingest (one thread) ---> store
//! browsers, scripts, Grafana --- query + Visible of its user ---> state (few readers)
//!     ---> answer as JSON
//! ```

pub mod access;
mod ahead;
mod askers;
mod connections;
mod counts;
mod error;
mod evaluations;
mod findings;
mod heard;
mod ingest;
mod log;
mod pages;
mod prometheus;
mod question;
mod refusal;
mod rejected_nodes;
mod replies;
mod room;
mod routes;
mod server;
mod state;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tls;
mod turns;

pub use connections::{MOST as MOST_CONNECTIONS, MOST_OF_ADDRESS, Patience};
pub use error::ServeError;
pub use findings::RuleFindings;
pub use question::moment;
pub use server::{Options, serve};
pub use state::{
    Findings, Functions, LONGEST as LONGEST_QUERY, MEMORY as MEMORY_OF_QUERY, NoFindings,
};

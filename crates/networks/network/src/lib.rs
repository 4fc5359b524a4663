//! Answers about networks between nodes: rates and traffic of ports and links, loads of messages,
//! placements of ranks.
//!
//! Descriptions of networks, recordings of counters, runs and tables of messages flow in, as paths
//! or as an [`talea_analysis::Analysis`]. Typed results flow out, each with the sentences, gaps and
//! public keys of its JSON, and with its picture in the form of [`talea_report::network`]. Routers,
//! routes and loads are `talea-fabric`'s, formats `talea-formats`', readings `talea-sampling`'s.
//!
//! It refuses to print, to write files and to choose exit codes. Callers follow long work by
//! [`talea_analysis::Progress`].

mod error;
mod input;
pub mod intervals;
pub mod job;
pub mod links;
pub mod messages;
pub mod network;
pub mod pictures;
pub mod place;
pub mod places;
pub mod rates;
pub mod regions;
pub mod report;
pub mod sonar;

pub use error::NetworkError;

//! Known messages between two nodes, and their effect on the counters of a port.
//!
//! Owns the order of the steps. Messages are [`exchange`]'s, counters [`interface`]'s, their
//! comparison [`rows`]'s. Follows the experiments of Pedretti et al., "Using the Cray Gemini
//! Performance Counters", 2013: a request with its response, on an otherwise idle network.

mod exchange;
mod interface;
mod pings;
mod rows;
mod wire;

use std::net::SocketAddr;

use talea_model::{Gaps, Nanos};
use talea_results::ports::SonarResult;

use crate::NetworkError;
use exchange::{listen, send};
use interface::Interface;
use rows::findings;

pub use pings::{End, Heard, Pings};
pub use rows::Row;
pub use wire::Frames;

/// Options of an exchange.
#[derive(Debug)]
pub struct Options {
    /// The interface whose counters are read.
    pub interface: String,
    /// Role of this end.
    pub end: End,
    /// Time to wait for the other end.
    pub wait: Nanos,
}

/// Comparison of an exchange with the counters of the interface.
#[derive(Debug)]
pub struct Sonar {
    /// The interface.
    pub interface: String,
    /// Maximum size of an IP packet in bytes.
    pub mtu: u32,
    /// The exchange.
    pub heard: Heard,
    /// Each counter of bytes or packets.
    pub rows: Vec<Row>,
    /// Sentences on differences.
    pub findings: Vec<String>,
    /// Counters that cannot be read.
    pub gaps: Gaps,
}

/// Exchanges messages, and compares them with the counters. `listening` is called with the address
/// of a listener as soon as it listens.
///
/// Fails without the interface, and where the other end is silent.
pub fn exchange(
    options: &Options,
    listening: &mut dyn FnMut(SocketAddr),
) -> Result<Sonar, NetworkError> {
    let mut gaps = Gaps::default();
    let mut interface = Interface::find(&options.interface, &mut gaps)?;
    let heard = match options.end {
        End::Sends { to, pings } => send(to, pings, options.wait, &mut interface, &mut gaps)?,
        End::Listens { at } => listen(at, options.wait, listening, &mut interface, &mut gaps)?,
    };
    let rows = interface.rows(&heard, &mut gaps);
    let findings = findings(&rows, &heard, &interface.port().name);
    let (mtu, interface) = (interface.mtu, interface.port().name.clone());
    Ok(Sonar { interface, mtu, heard, rows, findings, gaps })
}

impl Sonar {
    /// With the public keys.
    pub fn result(&self) -> SonarResult {
        let Heard { pings, answered, .. } = self.heard;
        SonarResult {
            interface: self.interface.clone(),
            mtu: self.mtu,
            messages: pings.messages,
            bytes: pings.bytes,
            answered,
            rows: self.rows.iter().map(Row::result).collect(),
            findings: self.findings.clone(),
            gaps: self.gaps.clone(),
        }
    }
}

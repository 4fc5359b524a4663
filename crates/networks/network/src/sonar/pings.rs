//! Known messages, and the two ends that exchange them.
//!
//! Owns what an end is asked to do, and what it heard.

use std::net::SocketAddr;

use super::wire::Frames;

/// Role of this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It sends to this address.
    Sends {
        /// Address of the listener.
        to: SocketAddr,
        /// The messages to send.
        pings: Pings,
    },
    /// It answers at this address.
    Listens {
        /// Address to listen at.
        at: SocketAddr,
    },
}

/// Known messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pings {
    /// Number of messages.
    pub messages: u32,
    /// Bytes of each, without headers.
    pub bytes: u32,
}

/// Result of an exchange at either end.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// The messages that were agreed.
    pub pings: Pings,
    /// Number of messages that were answered.
    pub answered: u32,
    /// Frames sent after the counters were read.
    pub sent: Frames,
    /// Frames received after the counters were read.
    pub received: Frames,
}

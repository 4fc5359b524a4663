//! Reasons why a server does not start.
//!
//! Owns their texts, which name the option or file to change.

use std::net::SocketAddr;

use talea_store::StoreError;

use crate::access::AccessError;

/// Reasons why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The files of users or tokens cannot be used.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The address is not free, or not this machine's.
    #[error("cannot listen: {source}: `{address}`")]
    Listen {
        /// Error of the system.
        source: std::io::Error,
        /// The address.
        address: SocketAddr,
    },
    /// Passwords and tokens could be read on the way.
    #[error(
        "without TLS, others can read passwords and tokens on the way to `{address}`: expected --tls-cert and --tls-key, an address of 127.0.0.0/8 behind a proxy that has TLS, or --insecure"
    )]
    Insecure {
        /// The address.
        address: SocketAddr,
    },
    /// Certificates or key cannot be used.
    #[error("TLS: {source}")]
    Tls {
        /// The error, with the expected content and the path of the file.
        source: std::io::Error,
    },
    /// Threads, signals or connections.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

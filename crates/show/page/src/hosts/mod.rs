//! Hosts of a watched job: the state of their processes, over HTTP.
//!
//! Owns the tree. Its root is the command that watches ([`Job`]), which is there only while
//! somebody looks: without it hosts send nothing. The observer of each other host ([`Branch`]) asks
//! the root for its place, and sends its state to the root or to another host, which adds its own.
//! Normally at most [`FANOUT`] hosts send to one, and no message has more than 64 KiB. The answer
//! is the common knowledge of all hosts. A host that is late is a gap; hosts below it go to the
//! root.

mod branch;
mod children;
mod job;
mod server;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use branch::Branch;
pub use children::parent_of;
pub use job::Job;

/// Maximum number of hosts that send to one.
pub const FANOUT: usize = 32;
/// Time between two questions of a host for its place.
const ASK: Duration = Duration::from_secs(5);
/// Maximum number of bytes of an answer.
const MAX_ANSWER: u64 = 64 << 10;

/// The place of a host in the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Position {
    /// Addresses of the host to send to; none: the root.
    parent: Vec<SocketAddr>,
    /// True if other hosts need its server.
    serves: bool,
}

//! Knowledge that the root of a tree of hosts sends to all of them, so that they count alike.

use serde::{Deserialize, Serialize};

use super::spread::Kind;
use super::wire::{DecodeError, MAX_BYTES};

/// Maximum number of calls: the most regular one may change from look to look.
pub(super) const CALLS: usize = 4;
/// Maximum number of ranges of durations.
pub(super) const KINDS: usize = 256;
/// Version of the form, its first byte.
const VERSION: u8 = 1;

/// The common knowledge of all hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guide {
    /// Shorter bursts are not kept in order, in nanoseconds.
    pub(super) floor: u64,
    /// Calls that counted the iterations of the main loop at the last looks, the newest first.
    pub(super) calls: Vec<String>,
    /// Ranges of durations of the clusters.
    pub(super) kinds: Vec<Kind>,
}

impl Guide {
    /// The bytes that travel, with as many clusters as have room.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut short = self.clone();
        loop {
            let mut bytes = vec![VERSION];
            // All keys are texts or numbers, and the writer is memory.
            bytes.extend(rmp_serde::to_vec(&short).unwrap_or_default());
            if bytes.len() <= MAX_BYTES || short.kinds.is_empty() {
                return bytes;
            }
            short.kinds.truncate(short.kinds.len() / 2);
        }
    }

    /// The guide in `bytes`.
    ///
    /// # Errors
    /// Other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let plain = bytes.strip_prefix(&[VERSION]).ok_or(DecodeError::Version)?;
        rmp_serde::from_slice(plain).map_err(|error| DecodeError::Damaged(error.to_string()))
    }
}

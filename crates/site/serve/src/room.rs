//! Memory of the bodies of requests with batches.
//!
//! Owns how many bytes bodies may have, alone and together, and how long one waits for others. It
//! refuses reading them.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::refusal::Refusal;

/// Longest body, in bytes.
pub(crate) const LONGEST: usize = 16 << 20;

/// How long a body waits until others have come.
const WAITS: Duration = Duration::from_secs(5);

/// Maximum of the sum of bodies that are being received, in pieces of 64 KiB: 256 MiB.
const PIECES: usize = 4096;

const PIECE: usize = 64 << 10;

/// Bodies that are unpacked at a time: each may become much more than it was.
const UNPACKED_AT_ONCE: usize = 2;

/// Bound on the memory of bodies.
#[derive(Debug)]
pub(crate) struct Room {
    pieces: Arc<Semaphore>,
    pub(crate) unpacking: Arc<Semaphore>,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            pieces: Arc::new(Semaphore::new(PIECES)),
            unpacking: Arc::new(Semaphore::new(UNPACKED_AT_ONCE)),
        }
    }
}

impl Room {
    pub(crate) async fn take(&self, headers: &HeaderMap) -> Result<OwnedSemaphorePermit, Refusal> {
        let length = headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        let length = length.unwrap_or(LONGEST);
        if length > LONGEST {
            return Err(too_long());
        }
        let pieces = (length / PIECE + 1) as u32;
        let taken = Arc::clone(&self.pieces).acquire_many_owned(pieces);
        let taken = tokio::time::timeout(WAITS, taken).await;
        let busy = |_| Refusal::busy("too many bodies at a time");
        taken.map_err(busy)?.map_err(|_| Refusal::bug())
    }
}

pub(crate) fn too_long() -> Refusal {
    Refusal::too_long(format!("expected a body of at most {LONGEST} bytes"))
}

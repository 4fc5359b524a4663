//! The format of files that grow during a recording: a header, then blocks one after the other.
//!
//! Owns bytes and their checks. A block counts from the moment it is written whole, so that a
//! killed writer loses the last one at most; damage is confined to a block, since the next one is
//! found by its marker. The header may stand again between blocks, so that several writers append
//! to one file without knowing which is the first. The meaning of a block is its owner's. All
//! numbers are little-endian.
//!
//! ```text
//! header   24   the header of `container`, with the file's kind
//! block    20   marker 4 | tag 4 | length u32 | CRC-32 of the payload
//!               | CRC-32 of the 16 bytes before
//!               then the payload
//! ```

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{Block, Journal};
pub use write::Writer;

/// The first bytes of every block; no text contains them.
const MARKER: [u8; 4] = *b"\x1aBK\n";
/// Bytes of a block before its payload.
pub(crate) const BLOCK: usize = 20;

/// Maximum bytes of a block's payload.
pub const MOST: usize = 1 << 28;

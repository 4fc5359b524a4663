//! Bounds of what hosts send to each other, and its errors.

/// Maximum number of bytes of a message.
pub const MAX_BYTES: usize = 64 << 10;

/// Reasons why bytes are no message.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Another version of the program.
    #[error("the other host has another version of talea")]
    Version,
    /// Other bytes.
    #[error("damaged message of a host: {0}")]
    Damaged(String),
}

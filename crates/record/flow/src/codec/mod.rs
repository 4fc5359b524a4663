//! Entropy coding of a recording: integer streams with repeats, and quantised or exact times.
//!
//! From the bottom: [`range`] writes bits of given probability, `mix` estimates the probability of
//! a bit from several contexts, `number` turns integers into bits. On them stand [`sequence`] for
//! the streams of a node and exact times; quantised ones in [`times`] have a faster coder of their
//! own, of symbols instead of bits. Nothing here knows of files,
//! threads or MPI. No table is transmitted: encoder and decoder learn the same statistics from what
//! was coded before.

use thiserror::Error;

mod form;
mod mix;
mod number;
mod pieces;
mod plan;
mod range;
mod repeats;
pub mod rows;
pub mod sequence;
pub mod times;

/// Errors of decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The bytes end before the values do.
    #[error("coded stream ends early")]
    Truncated,
    /// Bytes are left over after the last value.
    #[error("coded stream has bytes after its last value")]
    Trailing,
    /// Repeated runs cost nothing, so that few bytes may represent more than memory holds.
    #[error("coded stream unfolds to more runs than are allowed")]
    TooLong,
    /// No encoder writes this.
    #[error("coded stream is malformed: {0}")]
    Malformed(&'static str),
}

//! The end of a recording, and what ranks exchange for it.
//!
//! Owns messages of our own between ranks. Refuses anything while the program communicates.

pub mod gather;
pub mod offsets;
pub mod world;

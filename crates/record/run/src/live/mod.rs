//! The mapped file of a process while the program runs, and its recovery afterwards.
//!
//! Owns the layout ([`layout`]), the small binary records inside it ([`record`], of [`numbers`])
//! and the reader ([`read`]) which converts it to plain logs, also when the process was killed in
//! the middle of a call. [`follow`] reads it while the program runs. The writer, which needs raw
//! memory, is the interposition library's recorder.

pub(crate) mod cells;
pub mod follow;
mod header;
pub(crate) mod history;
pub mod layout;
pub mod numbers;
pub mod pieces;
pub mod read;
pub mod record;
pub mod selection;
mod settle;
mod streams;
mod threads;

pub use read::{LiveError, LiveProcess, LiveThread};

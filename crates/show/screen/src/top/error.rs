//! Errors of the program.

use std::io;

use talea_sampling::system::OpenError;
use talea_store::StoreError;

use crate::terminal::ScreenError;

/// Errors of `talea top`.
#[derive(Debug, thiserror::Error)]
pub enum TopError {
    /// The store, or the batches kept in memory.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// This machine lets nobody sample its cores, or not at this rate.
    #[error(transparent)]
    Sampler(#[from] OpenError),
    /// The sampler's thread.
    #[error("a thread cannot be started: {0}")]
    Thread(#[source] io::Error),
    /// The terminal.
    #[error(transparent)]
    Screen(#[from] ScreenError),
}

//! Records of a trace that is written thread by thread, with its messages.
//!
//! Owns their two sources: a trace in memory, and a run whose records are made as they are read.

use talea_model::trace::{InMemory, Messages, Records};

use crate::input::run::Stream;

/// Records with all messages.
pub(crate) trait WithMessages: Records {
    /// The messages, by the time of sending.
    fn messages(&self) -> &Messages;

    /// Begin and end of each call of MPI of a thread, in their order, where this is known without
    /// all its records, and no calls overlap.
    fn calls(&self, _location: u32) -> Option<Vec<(u64, u64)>> {
        None
    }
}

impl WithMessages for InMemory<'_> {
    fn messages(&self) -> &Messages {
        &self.trace().messages
    }
}

impl WithMessages for Stream<'_> {
    fn messages(&self) -> &Messages {
        &self.messages
    }

    fn calls(&self, location: u32) -> Option<Vec<(u64, u64)>> {
        Stream::calls(self, location)
    }
}

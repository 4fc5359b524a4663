//! Records of a trace by thread.
//!
//! Owns their two sources: a trace in memory, and a run whose records are made as they are read.

use talea_model::Trace;
use talea_model::trace::{ByLocation, EventRecord, Messages};

use crate::input::run::Stream;

/// Records of a trace that is written thread by thread.
pub(crate) trait Records: Sync {
    /// The trace; it may be without records.
    fn head(&self) -> &Trace;

    /// Passes the events of a thread, in the order of time, to `found`.
    fn events(&self, location: u32, found: &mut dyn FnMut(EventRecord<'_>));

    /// All messages, by the time of sending.
    fn messages(&self) -> &Messages;
}

/// A trace that is in memory.
pub(crate) struct InMemory<'a> {
    trace: &'a Trace,
    events: ByLocation,
}

impl<'a> InMemory<'a> {
    /// All of a trace.
    pub(crate) fn new(trace: &'a Trace) -> Self {
        Self { trace, events: trace.events_by_location() }
    }
}

impl Records for InMemory<'_> {
    fn head(&self) -> &Trace {
        self.trace
    }

    fn events(&self, location: u32, found: &mut dyn FnMut(EventRecord<'_>)) {
        let rows = self.events.rows(location).iter();
        rows.filter_map(|&row| self.trace.events.get(row as usize)).for_each(found);
    }

    fn messages(&self) -> &Messages {
        &self.trace.messages
    }
}

impl Records for Stream<'_> {
    fn head(&self) -> &Trace {
        &self.head
    }

    fn events(&self, location: u32, found: &mut dyn FnMut(EventRecord<'_>)) {
        self.thread_events(location, found);
    }

    fn messages(&self) -> &Messages {
        &self.messages
    }
}

//! Records of a trace by location, in memory or made on request.
//!
//! Owns the trait, and its form for a trace in memory.

use std::sync::OnceLock;

use super::{ByLocation, EventRecord, StateRecord, Trace};

/// Records of a trace that come location by location.
pub trait Records: Sync {
    /// The trace; it may be without records.
    fn head(&self) -> &Trace;

    /// Passes the events of a location, in the order of time, to `found`.
    fn events(&self, location: u32, found: &mut dyn FnMut(EventRecord<'_>));

    /// Passes the states of a location, in the order of their begins, to `found`.
    fn states(&self, location: u32, found: &mut dyn FnMut(StateRecord));
}

/// The records of a trace that is in memory.
#[derive(Debug)]
pub struct InMemory<'a> {
    trace: &'a Trace,
    events: ByLocation,
    states: OnceLock<ByLocation>,
}

impl<'a> InMemory<'a> {
    /// All records of a trace.
    pub fn new(trace: &'a Trace) -> Self {
        Self { trace, events: trace.events_by_location(), states: OnceLock::new() }
    }

    /// The trace.
    pub fn trace(&self) -> &'a Trace {
        self.trace
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

    fn states(&self, location: u32, found: &mut dyn FnMut(StateRecord)) {
        let states = self.states.get_or_init(|| self.trace.states_by_location());
        let rows = states.rows(location).iter();
        rows.filter_map(|&row| self.trace.states.get(row as usize)).for_each(found);
    }
}

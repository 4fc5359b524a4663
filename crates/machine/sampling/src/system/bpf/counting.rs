//! The counters of cores where the program in the kernel finds them.
//!
//! Owns opening and closing them: an array of events keeps an event open, and the program reads
//! that of its core. It refuses to know what they count.

use std::os::fd::AsFd;

use aya::maps::MapData;
use talea_model::shares::Counter;
use talea_model::{GapKind, Gaps};

use crate::source::gap;
use crate::sys::bpf;
use crate::system::counters::Counters;

/// The counters that the program reads, in an array of all cores' events.
pub(super) struct Counting {
    pub(super) counters: Counters,
    /// Their names.
    pub(super) names: Vec<Counter>,
    /// For each counter its events, by core.
    pub(super) events: Vec<MapData>,
    /// Another tool has them.
    pub(super) released: bool,
    /// Counters that cannot be counted here; reported with the next samples.
    pub(super) untold: Gaps,
}

impl Counting {
    /// Opens the counters of a core; says which are refused.
    pub(super) fn put(&self, core: u32) -> Vec<String> {
        if self.released {
            return Vec::new();
        }
        let mut refused = Vec::new();
        let all = self.names.iter().zip(&self.events).zip(self.counters.open(core, None));
        for ((counter, events), event) in all {
            let put =
                event.and_then(|event| bpf::set_event(events.fd().as_fd(), core, Some(&event)));
            if let Err(error) = put {
                let name = &counter.name;
                refused.push(format!("counter `{name}` is not read on core {core}: {error}"));
            }
        }
        refused
    }

    /// Closes them.
    pub(super) fn clear(&self, core: u32) {
        for events in self.events.iter().take(self.names.len()) {
            // Those that were never there neither are now.
            let _ = bpf::set_event(events.fd().as_fd(), core, None);
        }
    }

    /// Says what was refused.
    pub(super) fn note(untold: &mut Gaps, refused: Vec<String>) {
        for detail in refused {
            untold.note(gap(GapKind::Missing, detail));
        }
    }
}

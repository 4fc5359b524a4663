//! Bursts of a trace: stretches of computation, with their counter values and the calls that end
//! them.
//!
//! Owns the definition of a burst: one state `Running`; where states do not repeat, one instance of
//! an instrumented function; where there are no states, the time between two MPI calls. Counters of
//! a trace hold their increase since the thread's last probe, so that those of a burst are summed
//! over the probes after its begin up to its end, where one must stand. A counter that a burst did
//! not count is NaN. It refuses records without end and values below zero: they are gaps.
//!
//! Follows the BSC `ClusteringSuite`, which reads the probe at the end alone: the same where
//! nothing samples.

mod counters;
mod edges;
mod names;
mod sites;
mod spans;
#[cfg(test)]
#[allow(clippy::float_cmp, reason = "figures that are exact")]
mod tests;

use std::collections::BTreeSet;

use talea_model::trace::Trace;
use talea_model::{Gap, GapKind, Gaps, Rank};

pub use counters::{CounterEvents, CounterReader};
pub use names::counter_name;
pub use sites::{Site, Sites};

use crate::thinning::Durations;

/// Maximum number of counters kept; of more, those with most values.
pub const MOST_COUNTERS: usize = 64;

/// Source of bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// States `Running`.
    #[default]
    States,
    /// Time between MPI calls.
    Calls,
    /// Instances of instrumented functions.
    Regions,
    /// Rows of a table.
    Table,
}

/// One counter of all bursts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counter {
    /// Its event type; 0 where it has none.
    pub event_type: u32,
    /// Its short name, such as `PAPI_TOT_INS`; the number of an unnamed one.
    pub name: String,
    /// Its count in each burst, `NaN` where it did not count.
    pub values: Vec<f64>,
}

/// Bursts in columns of the same length, by location and then time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bursts {
    /// Their source.
    pub source: Source,
    /// Location, as [`talea_model::trace::Locations`] numbers them; also the row of a timeline.
    pub rank: Vec<Rank>,
    /// Nanoseconds since the start of the trace.
    pub begin: Vec<u64>,
    /// Nanoseconds since the start of the trace.
    pub end: Vec<u64>,
    /// Nanoseconds; `NaN` where a table has none.
    pub duration: Vec<f64>,
    /// Counters, by event type.
    pub counters: Vec<Counter>,
    /// For each burst the place of its end in [`Self::sites`]; empty for a table.
    pub site: Vec<u32>,
    /// Ends of bursts.
    pub sites: Vec<Site>,
    /// Numbers of edges of the flow graph: the same where the calls at both ends are the same.
    /// Empty where no call is known.
    pub edge: Vec<u32>,
    /// The counter set that was active; empty where there is only one.
    pub set: Vec<i64>,
    /// True for bursts whose neighbours in their thread are there too; empty where all bursts are
    /// there. See [`crate::thinning`].
    pub in_window: Vec<bool>,
    /// Durations of all bursts, where only some are there.
    pub all_durations: Option<Durations>,
    /// Event types that name functions and lines of [`Self::sites`].
    pub site_types: [u32; 2],
    /// Gaps.
    pub gaps: Gaps,
}

impl Bursts {
    /// Number of bursts.
    pub fn len(&self) -> usize {
        self.duration.len()
    }

    /// True without bursts.
    pub fn is_empty(&self) -> bool {
        self.duration.is_empty()
    }

    /// A counter by its name, or by the digits of its event type.
    pub fn counter(&self, name: &str) -> Option<&Counter> {
        let number = name.parse::<u32>().ok().filter(|&number| number > 0);
        let named = self.counters.iter().find(|counter| counter.name == name);
        named.or_else(|| self.counters.iter().find(|counter| Some(counter.event_type) == number))
    }

    /// Notes a gap.
    pub fn gap(&mut self, kind: GapKind, count: u64, detail: String) {
        self.gaps.note(Gap { kind, rank: None, detail, count });
    }

    /// The bursts for whose begin and end `holds` is true, and the number of the others.
    #[must_use]
    pub fn within(mut self, holds: impl Fn(u64, u64) -> bool) -> (Self, u64) {
        fn keep<T: Copy>(column: &mut Vec<T>, places: &[u32]) {
            let mut count = 0;
            for &place in places {
                if let Some(&value) = column.get(place as usize) {
                    column[count] = value;
                    count += 1;
                }
            }
            column.truncate(count);
        }
        let is_inside = |&place: &u32| holds(self.begin[place as usize], self.end[place as usize]);
        let places: Vec<u32> = (0..self.len() as u32).filter(is_inside).collect();
        let outside = self.len() - places.len();
        // Bursts may be most of the memory: none is copied elsewhere.
        if outside > 0 {
            keep(&mut self.rank, &places);
            keep(&mut self.begin, &places);
            keep(&mut self.end, &places);
            keep(&mut self.duration, &places);
            self.counters.iter_mut().for_each(|one| keep(&mut one.values, &places));
            keep(&mut self.site, &places);
            keep(&mut self.edge, &places);
            keep(&mut self.set, &places);
            keep(&mut self.in_window, &places);
        }
        (self, outside as u64)
    }

    /// The bursts at `places`, in that order; places beyond the last are skipped.
    #[must_use]
    pub fn select(&self, places: &[u32]) -> Self {
        fn of<T: Copy>(column: &[T], places: &[u32]) -> Vec<T> {
            places.iter().filter_map(|&place| column.get(place as usize).copied()).collect()
        }
        Self {
            source: self.source,
            rank: of(&self.rank, places),
            begin: of(&self.begin, places),
            end: of(&self.end, places),
            duration: of(&self.duration, places),
            counters: self
                .counters
                .iter()
                .map(|one| Counter { values: of(&one.values, places), ..one.named() })
                .collect(),
            site: of(&self.site, places),
            sites: self.sites.clone(),
            edge: of(&self.edge, places),
            set: of(&self.set, places),
            in_window: of(&self.in_window, places),
            all_durations: self.all_durations.clone(),
            site_types: self.site_types,
            gaps: self.gaps.clone(),
        }
    }
}

impl Counter {
    /// The same counter without values.
    fn named(&self) -> Self {
        Self { event_type: self.event_type, name: self.name.clone(), values: Vec::new() }
    }
}

/// The bursts of a trace. A trace without any yields none, and a gap with the reason.
pub fn bursts(trace: &Trace) -> Bursts {
    let events = trace.events_by_location();
    let mut bursts = Bursts::default();
    let mut sites = Sites::default();
    bursts.source = spans::find(trace, &events, &mut bursts, &mut sites);
    counters::fill(trace, &events, &mut bursts, sites);
    bursts.complete(trace.locations.len());
    bursts
}

impl Bursts {
    /// Reads the counters of bursts that are known with their sites from the events of a trace,
    /// which may lack those of calls.
    pub fn read_counters(&mut self, trace: &Trace) {
        counters::columns(trace, &trace.events_by_location(), self, |_, _, _| ());
    }

    /// Numbers the edges, and notes the absence of bursts on some or all of `locations`.
    pub fn complete(&mut self, locations: usize) {
        edges::fill(self);
        let of_one = self.rank.chunk_by(|a, b| a == b);
        let with: BTreeSet<Rank> = of_one.filter_map(|same| same.first().copied()).collect();
        let without = locations.saturating_sub(with.len());
        if self.is_empty() {
            let detail = "no burst: the trace has neither states `Running`, nor instances of functions, nor calls of MPI";
            self.gap(GapKind::Missing, 0, detail.into());
        } else if without > 0 {
            let detail = format!("{without} of {locations} threads have no burst");
            self.gap(GapKind::Missing, without as u64, detail);
        }
    }
}

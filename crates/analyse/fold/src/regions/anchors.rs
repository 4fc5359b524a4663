//! Unmarked iterations: an MPI call that repeats at even distances on every location that has it.
//!
//! Owns the search. An anchor must occur four times at least, with three even distances, and cover
//! much of the trace's time; of several the one with the longest distances wins, collective
//! operations first, as they belong to the outer loop and not to its details.

use std::collections::BTreeMap;

use talea_model::trace::{InMemory, Records, types};
use talea_model::{Nanos, Trace};

use super::Region;
use crate::select::median;

/// Minimum number of occurrences of a call on a location.
const FEWEST: usize = 4;
/// Largest median deviation of distances, as a share of their median.
const UNEVEN: f64 = 0.1;
/// Minimum share of the trace from the first to the last.
const COVERED: f64 = 0.4;
/// Maximum number of values of calls that are examined.
const MOST: usize = 1024;
/// Collective operations.
const COLLECTIVE: u32 = 50_000_002;

/// A call that repeats evenly.
#[derive(Clone, Debug, PartialEq)]
pub struct Anchor {
    /// [`Region::Between`] two occurrences of it.
    pub region: Region,
    /// Number of distances, over all locations.
    pub instances: u64,
    /// Their sum.
    pub time: Nanos,
    /// Number of locations that have the call.
    pub locations: u32,
    /// Median distance.
    pub distance: Nanos,
}

/// All anchors of a trace, the best first.
pub fn anchors(trace: &Trace) -> Vec<Anchor> {
    anchors_within(&InMemory::new(trace), &|_, _| true)
}

/// The same of a part of a trace: calls that begin `inside`.
pub fn anchors_within(records: &dyn Records, inside: &dyn Fn(u64, u64) -> bool) -> Vec<Anchor> {
    // Times of each call, by location.
    let mut calls = BTreeMap::<(u32, i64), BTreeMap<u32, Vec<u64>>>::new();
    let (mut begin, mut end) = (u64::MAX, 0);
    for location in 0..records.head().locations.len() as u32 {
        records.events(location, &mut |event| {
            if !inside(event.time, event.time) {
                return;
            }
            (begin, end) = (begin.min(event.time), end.max(event.time));
            for (&event_type, &value) in event.types.iter().zip(event.values) {
                let call = (event_type, value);
                let is_call = value != 0 && types::MPI.contains(&event_type);
                if is_call && (calls.len() < MOST || calls.contains_key(&call)) {
                    let times = calls.entry(call).or_default();
                    times.entry(location).or_default().push(event.time);
                }
            }
        });
    }
    let whole = end.saturating_sub(begin) as f64;
    let mut found = Vec::new();
    for ((event_type, value), by_location) in calls {
        let mut distances = Vec::new();
        let (mut covered, mut fewest) = (0.0, usize::MAX);
        for times in by_location.values() {
            fewest = fewest.min(times.len());
            distances.extend(times.windows(2).map(|pair| (pair[1] - pair[0]) as f64));
            if let (Some(first), Some(last)) = (times.first(), times.last()) {
                covered += (last - first) as f64;
            }
        }
        let locations = by_location.len();
        if fewest < FEWEST || covered < COVERED * whole * locations as f64 || whole <= 0.0 {
            continue;
        }
        distances.sort_unstable_by(f64::total_cmp);
        let middle = median(&distances);
        let mut deviations: Vec<f64> = distances.iter().map(|d| (d - middle).abs()).collect();
        deviations.sort_unstable_by(f64::total_cmp);
        if middle <= 0.0 || median(&deviations) > UNEVEN * middle {
            continue;
        }
        found.push(Anchor {
            region: Region::Between { event_type, value },
            instances: distances.len() as u64,
            time: Nanos(covered as u64),
            locations: locations as u32,
            distance: Nanos(middle as u64),
        });
    }
    let collective = |anchor: &Anchor| match anchor.region {
        Region::Between { event_type, .. } => event_type == COLLECTIVE,
        _ => false,
    };
    found.sort_by(|a, b| {
        let first = collective(b).cmp(&collective(a));
        first.then(b.distance.cmp(&a.distance)).then(a.region.cmp(&b.region))
    });
    found
}

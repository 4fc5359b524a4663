//! The regions of a trace that can be folded.

use talea_fold::regions::{Names, Possible, possible_within};
use talea_metric::measure::{Chosen, Span};
use talea_model::{Nanos, Trace};
use talea_results::regions::RegionRow;

/// Regions of a trace within a part of it, by falling time.
pub fn regions(trace: &Trace, span: Span) -> Vec<RegionRow> {
    let inside = |begin, end| span.chosen == Chosen::Whole || span.holds(begin, end);
    let names = Names::new(trace);
    let row = |one: Possible| RegionRow {
        region: names.argument(one.region),
        mean_ns: Nanos(one.time.0 / one.instances.max(1)),
        name: one.name,
        of: one.of,
        instances: one.instances,
        time_ns: one.time,
        locations: one.locations,
    };
    possible_within(trace, &inside).into_iter().map(row).collect()
}

//! A second reading of the stretches of a run's threads.
//!
//! Owns the visit of each thread, side by side, and sums of activity that need no burst in memory.
//! Threads without calls, which appear only in samples, are visited too: they compute all the time.

use rayon::prelude::*;
use talea_cluster::bursts::Site;
use talea_metric::measure::{Activity, Readings, Span};
use talea_model::trace::StateRecord;
use talea_model::{Nanos, Trace};

use super::super::calls::NodePlan;
use super::super::places::Row;
use super::outside::Outside;
use super::walk::{Stretch, Visitor, walk};
use super::{Extent, OfSamples, Threads, range};
use crate::Analysis;

/// A thread that was visited.
pub(crate) struct Visited<V> {
    /// Its location.
    pub(crate) location: u32,
    /// The sites of its stretches, by number.
    pub(crate) sites: Vec<Site>,
    /// The visitor.
    pub(crate) visitor: V,
}

/// Threads that are visited side by side, before `done` takes them.
const TOGETHER: usize = 256;

/// A thread before its visit.
enum Member<'a> {
    /// One that makes calls.
    Recorded(&'a Row<'a>, &'a [NodePlan]),
    /// One without calls, which appears only in samples.
    Alone(StateRecord),
}

impl Member<'_> {
    fn location(&self) -> u32 {
        match self {
            Self::Recorded(row, _) => row.location,
            Self::Alone(state) => state.location,
        }
    }

    /// Passes the thread's stretches to a visitor; `None` where calls are not in the order of time.
    fn visited<V: Visitor>(
        &self,
        analysis: &Analysis<'_>,
        part: Option<(Nanos, Nanos)>,
        mut visitor: V,
    ) -> Option<Visited<V>> {
        let location = self.location();
        let sites = match self {
            Self::Recorded(row, plans) => {
                walk(analysis, row, plans, part, &mut visitor)?.sites.into_all()
            }
            Self::Alone(StateRecord { begin, end, .. }) => {
                if begin < end {
                    visitor.stretch(Stretch { begin: *begin, end: *end, site: 0 });
                }
                visitor.end(u64::MAX);
                vec![Site::default()]
            }
        };
        Some(Visited { location, sites, visitor })
    }
}

/// Reads what [`computation`] read once more: each thread meets a visitor of its own, which `done`
/// takes in the order of locations. Nothing where there is no computation.
pub(crate) fn visit<V: Visitor + Send>(
    analysis: &Analysis<'_>,
    extent: Extent,
    visitor: impl Fn(u32) -> V + Sync,
    mut done: impl FnMut(Visited<V>),
) {
    let Threads { rows, plans, alone, .. } = Threads::new(analysis, OfSamples::LeftOut);
    let part = range(analysis, extent);
    let recorded = rows.iter().zip(&plans).map(|(row, plans)| Member::Recorded(row, plans));
    let mut members: Vec<Member<'_>> =
        recorded.chain(alone.into_iter().map(Member::Alone)).collect();
    members.sort_by_key(Member::location);
    for members in members.chunks(TOGETHER) {
        let each = members
            .par_iter()
            .filter_map(|member| member.visited(analysis, part, visitor(member.location())));
        each.collect::<Vec<_>>().into_iter().for_each(&mut done);
    }
}

/// Sums of a thread's activity in a part of the run.
struct Active {
    span: Span,
    /// Times at which the thread's counters were read.
    readings: Vec<u64>,
    outside: Outside,
    sums: Activity,
}

impl Visitor for Active {
    fn stretch(&mut self, stretch: Stretch) {
        self.sums.running.add(self.span, &self.readings, stretch.begin, stretch.end);
    }

    fn call(&mut self, begin: u64, end: u64) {
        let (span, readings, sums) = (self.span, &self.readings, &mut self.sums.outside);
        self.outside.call(begin, end, |from, to| sums.add(span, readings, from, to));
    }

    fn end(&mut self, until: u64) {
        let (span, readings, sums) = (self.span, &self.readings, &mut self.sums.outside);
        self.outside.until(until, |from, to| sums.add(span, readings, from, to));
        // Threads may be many.
        self.readings = Vec::new();
    }
}

/// Reads a run once more for the activity of each location in a part of it. `trace` comes from the
/// first reading.
pub(crate) fn activities(
    analysis: &Analysis<'_>,
    trace: &Trace,
    extent: Extent,
    span: Span,
) -> Vec<Activity> {
    let readings = Readings::from_trace(trace);
    let mut all = vec![Activity::default(); trace.locations.len()];
    let active = |location| Active {
        span,
        readings: readings.times(location),
        outside: Outside::new(),
        sums: Activity::default(),
    };
    visit(analysis, extent, active, |visited| {
        if let Some(place) = all.get_mut(visited.location as usize) {
            *place = visited.visitor.sums;
        }
    });
    all
}

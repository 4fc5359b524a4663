//! A second reading of the stretches of a run's threads.
//!
//! Owns the visit of each thread, side by side, and sums of activity that need no burst in memory.

use rayon::prelude::*;
use talea_cluster::bursts::Site;
use talea_metric::measure::{Activity, Span};

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

/// Reads what [`computation`] read once more: each thread meets a visitor of its own, which `done`
/// takes in the order of locations. Nothing where there is no computation.
pub(crate) fn visit<V: Visitor + Send>(
    analysis: &Analysis<'_>,
    extent: Extent,
    visitor: impl Fn(u32) -> V + Sync,
    mut done: impl FnMut(Visited<V>),
) {
    let Threads { rows, plans, .. } = Threads::new(analysis, OfSamples::LeftOut);
    let part = range(analysis, extent);
    for (rows, plans) in rows.chunks(TOGETHER).zip(plans.chunks(TOGETHER)) {
        let each = rows.par_iter().zip(plans).filter_map(|(row, plans)| {
            let mut visitor = visitor(row.location);
            let records = walk(analysis, row, plans, part, &mut visitor)?;
            let sites = records.sites.into_all();
            Some(Visited { location: row.location, sites, visitor })
        });
        each.collect::<Vec<_>>().into_iter().for_each(&mut done);
    }
}

/// Sums of a thread's activity in a part of the run.
struct Active {
    span: Span,
    outside: Outside,
    sums: Activity,
}

impl Visitor for Active {
    fn stretch(&mut self, stretch: Stretch) {
        self.sums.running.add(self.span, stretch.begin, stretch.end);
    }

    fn call(&mut self, begin: u64, end: u64) {
        let sums = &mut self.sums.outside;
        self.outside.call(begin, end, |from, to| sums.add(self.span, from, to));
    }

    fn end(&mut self, until: u64) {
        let sums = &mut self.sums.outside;
        self.outside.until(until, |from, to| sums.add(self.span, from, to));
    }
}

/// The activity of each of so many locations in a part of the run, which is read once more.
pub(crate) fn activities(
    analysis: &Analysis<'_>,
    locations: usize,
    extent: Extent,
    span: Span,
) -> Vec<Activity> {
    let mut all = vec![Activity::default(); locations];
    let active = |_| Active { span, outside: Outside::new(), sums: Activity::default() };
    visit(analysis, extent, active, |visited| {
        if let Some(place) = all.get_mut(visited.location as usize) {
            *place = visited.visitor.sums;
        }
    });
    all
}

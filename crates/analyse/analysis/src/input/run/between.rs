//! Computation of a run's threads between their calls, without the calls.
//!
//! Owns the way from a recording to bursts that holds no record: each thread is read once, without
//! arguments, and a burst takes some thirty bytes. The result is that of
//! [`talea_cluster::bursts::bursts`] for the whole trace. Of more calls than memory should hold
//! bursts, some are kept, by [`Thinning`]; [`visit`] meets all of them once more. Where computation
//! takes more than the times of calls, as with samples, there is none.

mod outside;
mod walk;

use rayon::prelude::*;
use talea_cluster::bursts::{Bursts, Site, Sites, Source};
use talea_cluster::thinning::{Kept, Thinning};
use talea_metric::measure::{Activity, Part, Span};
use talea_model::notation::grouped;
use talea_model::trace::types;
use talea_model::{Gap, GapKind, Nanos, Rank, Trace};
use talea_run::recording::Thread;
use talea_run::sampled::SampleSites;

use self::outside::Outside;
use self::walk::{Records, walk};
pub(crate) use self::walk::{Stretch, Visitor};
use super::calls::{NodePlan, plans};
use super::names::{self, Callers, Calls};
use super::places::{Places, Row};
use super::{beginning, order, sampled, samples};
use crate::Analysis;

/// Extent of the computation that is read.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The part of the run that will be analysed. Of a run with more than [`Self::most`] calls no
    /// more than this part is read, if it lies between two times.
    pub part: Part,
    /// Calls up to which all bursts are kept. Of more, at most two fifths of this number.
    pub most: u64,
}

impl Extent {
    /// Calls up to which all bursts of a run are kept: those take 64 bytes each at most.
    pub const MOST: u64 = 10_000_000;
}

impl Default for Extent {
    fn default() -> Self {
        Self { part: Part::default(), most: Self::MOST }
    }
}

/// The time that a computation shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// That of bursts.
    Computing,
    /// That outside MPI too.
    OutsideMpi,
}

/// Computation of the threads of a trace, in place of its records.
#[derive(Debug)]
pub struct Computation {
    /// Stretches of computation, by location and time; with [`Bursts::in_window`] some of them.
    pub bursts: Bursts,
    /// Number of all bursts that were read.
    pub all: u64,
    is_thinned: bool,
    /// For each location its time outside MPI, where that is wanted.
    outside: Option<Vec<Vec<(u64, u64)>>>,
}

impl Computation {
    /// True if only some of the bursts were kept.
    pub fn is_thinned(&self) -> bool {
        self.is_thinned
    }

    /// The activity of each location in a part of the run, where time outside MPI is wanted, and
    /// all bursts were kept.
    pub fn activities(&self, span: Span) -> Option<Vec<Activity>> {
        let mut all = Vec::new();
        let mut begin = 0;
        for (location, outside) in (0..).zip(self.outside.as_ref()?) {
            let own = &self.bursts.rank[begin..];
            let end = begin + own.partition_point(|rank| rank.0 <= location);
            let mut activity = Activity::default();
            for (&from, &to) in self.bursts.begin[begin..end].iter().zip(&self.bursts.end[begin..])
            {
                activity.running.add(span, from, to);
            }
            for &(from, to) in outside {
                activity.outside.add(span, from, to);
            }
            all.push(activity);
            begin = end;
        }
        Some(all)
    }
}

/// Bursts of one thread that are kept.
#[derive(Default)]
struct Own {
    begins: Vec<u64>,
    ends: Vec<u64>,
    /// Numbers of the walk's sites.
    site: Vec<u32>,
    /// Where bursts are thinned, one for each.
    in_window: Vec<bool>,
    thinning: Option<Thinning>,
    /// Time outside MPI, where it is wanted and nothing is thinned.
    outside: Option<(Outside, Vec<(u64, u64)>)>,
}

impl Visitor for Own {
    fn stretch(&mut self, Stretch { begin, end, site }: Stretch) {
        if let Some(thinning) = &mut self.thinning {
            let kept = thinning.next(site, end - begin);
            if kept == Kept::No {
                return;
            }
            self.in_window.push(kept == Kept::Window);
        }
        self.begins.push(begin);
        self.ends.push(end);
        self.site.push(site);
    }

    fn call(&mut self, begin: u64, end: u64) {
        if let Some((outside, found)) = &mut self.outside {
            outside.call(begin, end, |from, to| found.push((from, to)));
        }
    }

    fn end(&mut self, until: u64) {
        if let Some((outside, found)) = &mut self.outside {
            outside.until(until, |from, to| found.push((from, to)));
        }
    }
}

/// Threads, and what their calls are called.
struct Threads<'a> {
    /// The trace without records.
    trace: Trace,
    rows: Vec<Row<'a>>,
    plans: Vec<Vec<NodePlan>>,
    calls: Calls,
    callers: Callers<'a>,
}

impl<'a> Threads<'a> {
    /// Those of a run without samples.
    fn new(analysis: &'a Analysis<'a>) -> Option<Self> {
        let run_samples = talea_run::samples::load(&analysis.run.directory);
        if !run_samples.processes.is_empty() {
            return None;
        }
        let unresolved = SampleSites::load(&analysis.run.directory, &run_samples).gaps;
        let sampled = sampled(analysis, &run_samples);
        let (mut trace, places): (Trace, Places) = beginning(analysis, &sampled);
        trace.gaps.merge(unresolved);
        samples::note_unplaced(&run_samples, 0, &mut trace);
        let calls = Calls::new(&analysis.run.recording);
        let mut callers = Callers::new(analysis);
        let rows = places.rows(analysis, &sampled);
        let plans = rows.iter().map(|row| plans(analysis, row, &calls, &mut callers)).collect();
        Some(Self { trace, rows, plans, calls, callers })
    }
}

/// The two times between which a run with more than `most` calls is read; all where absent.
fn range(analysis: &Analysis<'_>, extent: Extent) -> Option<(Nanos, Nanos)> {
    let threads = analysis.run.recording.processes.iter().flat_map(|process| &process.threads);
    let calls: u64 = threads.map(Thread::timed).sum();
    match extent.part {
        Part::Between(from, to) if calls > extent.most => {
            Some((from.unwrap_or_default(), to.unwrap_or(Nanos(u64::MAX))))
        }
        _ => None,
    }
}

/// Number of calls of a thread in a part of the run.
fn calls_in(analysis: &Analysis<'_>, row: &Row<'_>, part: Option<(Nanos, Nanos)>) -> u64 {
    let kept = row.thread.timed();
    let Some((from, to)) = part else { return kept };
    let before = |time: Nanos| -> u64 {
        let mut events = row.process.events(&analysis.run.recording, row.thread);
        events.skip_to(time).iter().sum()
    };
    // Those that begin before the end of the part, and one after it.
    let end = if to == Nanos(u64::MAX) { kept } else { before(to) + before(to) / 512 + 2 };
    end.min(kept).saturating_sub(before(from))
}

/// A trace without most of its records, and the computation that they show; none where the records
/// have more to say about it, or where nothing was computed between calls.
pub fn computation(
    analysis: &Analysis<'_>,
    wanted: Time,
    extent: Extent,
) -> Option<(Trace, Computation)> {
    let Threads { mut trace, rows, plans, calls, callers } = Threads::new(analysis)?;
    let part = range(analysis, extent);
    let counts: Vec<u64> = rows.par_iter().map(|row| calls_in(analysis, row, part)).collect();
    let all: u64 = counts.iter().sum();
    let is_thinned = all > extent.most;
    let room = extent.most / 5;
    let rare = room / rows.len().max(1) as u64;
    let each = rows.par_iter().zip(&plans).zip(&counts).map(|((row, plans), &count)| {
        let in_windows = (u128::from(room) * u128::from(count) / u128::from(all.max(1))) as u64;
        let mut own = Own {
            thinning: is_thinned.then(|| Thinning::new(count, in_windows, rare)),
            outside: (wanted == Time::OutsideMpi && !is_thinned)
                .then(|| (Outside::new(), Vec::new())),
            ..Own::default()
        };
        let records = walk(analysis, row, plans, part, &mut own)?;
        Some((records, own))
    });
    let found = each.collect::<Option<Vec<(Records, Own)>>>()?;
    // Without repetition other records say what a burst is.
    if found.iter().all(|(records, _)| records.stretches < 2) {
        return None;
    }
    calls.label(&mut trace.labels);
    callers.label(0, &mut trace.labels);
    names::states(&mut trace.labels);
    let last = found.iter().map(|(records, _)| Nanos(records.last)).max().unwrap_or_default();
    trace.duration = trace.duration.max(last);
    if let Some((from, to)) = part {
        let to = to.min(trace.duration);
        note(
            &mut trace,
            format!(
                "of the run only {from} to {to} were read, as it has more than {} calls",
                grouped(extent.most)
            ),
        );
    }
    let (trace, mut computation) = together(&rows, found, trace);
    if is_thinned {
        computation.is_thinned = true;
        let (kept, all) = (computation.bursts.len(), computation.all);
        let detail = format!(
            "{} of {} bursts are held in memory: even windows of each thread, and the first bursts \
             of each call site and length",
            grouped(kept as u64),
            grouped(all)
        );
        computation.bursts.gap(GapKind::MemoryBound, all - kept as u64, detail);
    }
    if wanted != Time::OutsideMpi || is_thinned {
        computation.outside = None;
    }
    Some((trace, computation))
}

fn note(trace: &mut Trace, detail: String) {
    trace.gaps.note(Gap { kind: GapKind::MemoryBound, rank: None, detail, count: 0 });
}

fn together(
    rows: &[Row<'_>],
    found: Vec<(Records, Own)>,
    mut trace: Trace,
) -> (Trace, Computation) {
    let mut bursts = Bursts {
        source: Source::States,
        site_types: [*types::CALLER.start(), *types::CALLER_LINE.start()],
        ..Bursts::default()
    };
    let count = found.iter().map(|(_, own)| own.begins.len()).sum();
    bursts.rank.reserve_exact(count);
    bursts.begin.reserve_exact(count);
    bursts.end.reserve_exact(count);
    bursts.site.reserve_exact(count);
    let mut outside = vec![Vec::new(); trace.locations.len()];
    let mut sites = Sites::default();
    let mut parts = Vec::with_capacity(rows.len());
    let mut all = 0;
    for (row, (records, own)) in rows.iter().zip(found) {
        let numbers: Vec<u32> =
            records.sites.into_all().into_iter().map(|site| sites.number(site)).collect();
        bursts.rank.resize(bursts.rank.len() + own.begins.len(), Rank(row.location));
        bursts.begin.extend_from_slice(&own.begins);
        bursts.end.extend_from_slice(&own.ends);
        bursts.site.extend(own.site.iter().map(|&site| numbers[site as usize]));
        bursts.in_window.extend_from_slice(&own.in_window);
        if let Some((place, (_, own))) = outside.get_mut(row.location as usize).zip(own.outside) {
            *place = own;
        }
        parts.push((records.states, records.events));
        all += records.stretches;
    }
    let spans = bursts.begin.iter().zip(&bursts.end);
    bursts.duration = spans.map(|(begin, end)| (end - begin) as f64).collect();
    bursts.sites = sites.into_all();
    bursts.complete(trace.locations.len());
    order::merge(&parts, &talea_model::trace::Messages::default(), &mut trace);
    (trace, Computation { bursts, all, is_thinned: false, outside: Some(outside) })
}

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
    let Some(Threads { rows, plans, .. }) = Threads::new(analysis) else { return };
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

//! Computation of a run's threads between their calls, without the calls.
//!
//! Owns the way from a recording to bursts that holds no record: each thread is read once, without
//! arguments, and a burst takes some thirty bytes. The result is that of
//! [`talea_cluster::bursts::bursts`] for the whole trace. Of more calls than memory should hold
//! bursts, some are kept, by [`Thinning`]; [`visit`] meets all of them once more. Samples and
//! readings of counters are few beside calls: they stay records, and bursts get their counters from
//! them, in a second reading too.

mod again;
mod outside;
mod walk;

use std::borrow::Cow;

use rayon::prelude::*;
use talea_cluster::bursts::{Bursts, Site, Sites, Source};
use talea_cluster::thinning::{Durations, Kept, Thinning};
use talea_metric::measure::{Part, Stretches};
use talea_model::notation::grouped;
use talea_model::trace::{Events, StateRecord, States, types};
use talea_model::{Gap, GapKind, Nanos, Rank, Trace};
use talea_run::recording::Thread;

pub(crate) use self::again::{Visited, activities, visit};
use self::outside::Outside;
use self::walk::{Records, walk};
pub(crate) use self::walk::{Stretch, Visitor};
use super::calls::{NodePlan, times};
use super::names::{self, Callers, Calls};
use super::places::Row;
use super::samples::Pictures;
use super::{SampleFiles, Sampling, Setup, order};
use crate::Analysis;

/// Extent of the computation that is read.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The part of the run that will be analysed. Of a run with more than [`Self::most`] calls no
    /// more than this part is read, if it lies between two times.
    pub part: Part,
    /// Maximum number of calls whose bursts are all kept. Of more calls at most two fifths of
    /// this number of bursts are kept, and the one burst of each thread without calls.
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

    /// The stretches of a location, those outside MPI only where they were wanted; not all where
    /// bursts are thinned.
    pub fn stretches(&self, location: u32) -> Stretches {
        let bursts = &self.bursts;
        let begin = bursts.rank.partition_point(|rank| rank.0 < location);
        let end = bursts.rank.partition_point(|rank| rank.0 <= location);
        let (begins, ends) = (&bursts.begin[begin..end], &bursts.end[begin..end]);
        let outside = self.outside.as_ref().and_then(|all| all.get(location as usize));
        Stretches {
            running: begins.iter().copied().zip(ends.iter().copied()).collect(),
            outside: outside.cloned().unwrap_or_default(),
        }
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
    /// Of all bursts but the first and the last, which precede and follow MPI, where bursts are
    /// thinned.
    durations: Durations,
    /// The duration of the last burst so far, which is not the first.
    last: Option<u64>,
    is_begun: bool,
    /// Time outside MPI, where it is wanted and nothing is thinned.
    outside: Option<(Outside, Vec<(u64, u64)>)>,
}

impl Visitor for Own {
    fn stretch(&mut self, Stretch { begin, end, site }: Stretch) {
        if let Some(thinning) = &mut self.thinning {
            let kept = thinning.next(site, end - begin);
            if self.is_begun
                && let Some(before) = self.last.replace(end - begin)
            {
                self.durations.add(before);
            }
            self.is_begun = true;
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
        // Its cells may be many.
        self.thinning = None;
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
    /// Records of samples, where the run has some and they are wanted.
    samples: Option<(States, Events)>,
    /// Number of levels of their stacks.
    levels: u32,
    /// The time of each thread that appears only in samples, in the order of locations.
    alone: Vec<StateRecord>,
}

/// Records of samples.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OfSamples {
    /// They are read.
    Read,
    /// They are left out: a second reading uses those of the first.
    LeftOut,
}

impl<'a> Threads<'a> {
    fn new(analysis: &'a Analysis<'a>, records: OfSamples) -> Self {
        let files = SampleFiles::load(analysis);
        let Setup { mut trace, places, sampled, rows, plans, calls, mut callers } =
            Setup::new(analysis, &files);
        let mut pictures = Pictures::new(&files.sites, &mut callers);
        let sampling = Sampling { analysis, files: &files, sampled: &sampled };
        let samples =
            (records == OfSamples::Read && sampled.iter().any(Option::is_some)).then(|| {
                let calls = |at: usize| Cow::Owned(times(analysis, &rows[at]));
                sampling.records(&rows, &places, &mut pictures, calls)
            });
        let levels = sampling.label(pictures, &mut trace);
        let alone = sampling.alone(&places);
        Self { trace, rows, plans, calls, callers, samples, levels, alone }
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
        let passed = events.skip_to(time).iter().sum();
        if row.thread.has_holes() { events.timed_before() } else { passed }
    };
    // Those that begin before the end of the part, and one after it; some that end up to a
    // thousandth before a time are not left out before it.
    let past = Nanos(to.0.saturating_add(to.0 / 1023 + 1));
    let end = if past == Nanos(u64::MAX) { kept } else { before(past) + 2 };
    end.min(kept).saturating_sub(before(from))
}

/// A trace without most of its records, and the computation that they show; none where the records
/// have more to say about it, or where nothing was computed between calls.
pub fn computation(
    analysis: &Analysis<'_>,
    wanted: Time,
    extent: Extent,
) -> Option<(Trace, Computation)> {
    let Threads { mut trace, rows, plans, calls, callers, samples, levels, .. } =
        Threads::new(analysis, OfSamples::Read);
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
    if part.is_none() && found.iter().all(|(records, _)| records.stretches < 2) {
        return None;
    }
    calls.label(&mut trace.labels);
    callers.label(levels, &mut trace.labels);
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
    let (trace, mut computation) = together(&rows, found, (samples, is_thinned), trace);
    if is_thinned {
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

/// The bursts of all threads, and the trace with the records that are left. Threads that only
/// samples know compute all the time.
fn together(
    rows: &[Row<'_>],
    found: Vec<(Records, Own)>,
    (samples, is_thinned): (Option<(States, Events)>, bool),
    mut trace: Trace,
) -> (Trace, Computation) {
    let mut bursts = Bursts {
        source: Source::States,
        site_types: [*types::CALLER.start(), *types::CALLER_LINE.start()],
        ..Bursts::default()
    };
    let alone: Vec<StateRecord> = samples.iter().flat_map(|(states, _)| states.iter()).collect();
    let count = alone.len() + found.iter().map(|(_, own)| own.begins.len()).sum::<usize>();
    bursts.rank.reserve_exact(count);
    bursts.begin.reserve_exact(count);
    bursts.end.reserve_exact(count);
    bursts.site.reserve_exact(count);
    // A thread without calls is outside MPI.
    let mut outside = vec![vec![(0, u64::MAX)]; trace.locations.len()];
    let mut sites = Sites::default();
    let mut parts = Vec::with_capacity(rows.len() + 1);
    let mut all = alone.len() as u64;
    let mut durations = Durations::default();
    let mut alone = alone.into_iter().peekable();
    // Durations leave out each thread's first and last burst: the only burst of a thread is both.
    let add_alone = |state: StateRecord, bursts: &mut Bursts, sites: &mut Sites| {
        bursts.rank.push(Rank(state.location));
        bursts.begin.push(state.begin);
        bursts.end.push(state.end);
        bursts.site.push(sites.number(Site::default()));
        if is_thinned {
            bursts.in_window.push(true);
        }
    };
    for (row, (records, own)) in rows.iter().zip(found) {
        while let Some(state) = alone.next_if(|state| state.location < row.location) {
            add_alone(state, &mut bursts, &mut sites);
        }
        let numbers: Vec<u32> =
            records.sites.into_all().into_iter().map(|site| sites.number(site)).collect();
        bursts.rank.resize(bursts.rank.len() + own.begins.len(), Rank(row.location));
        bursts.begin.extend_from_slice(&own.begins);
        bursts.end.extend_from_slice(&own.ends);
        bursts.site.extend(own.site.iter().map(|&site| numbers[site as usize]));
        bursts.in_window.extend_from_slice(&own.in_window);
        durations.merge(&own.durations);
        if let Some((place, (_, own))) = outside.get_mut(row.location as usize).zip(own.outside) {
            *place = own;
        }
        parts.push((records.states, records.events));
        all += records.stretches;
    }
    for state in alone {
        add_alone(state, &mut bursts, &mut sites);
    }
    bursts.all_durations = is_thinned.then_some(durations);
    let has_samples = samples.is_some();
    parts.extend(samples);
    let spans = bursts.begin.iter().zip(&bursts.end);
    bursts.duration = spans.map(|(begin, end)| (end - begin) as f64).collect();
    bursts.sites = sites.into_all();
    order::merge(&parts, &talea_model::trace::Messages::default(), &mut trace);
    if has_samples {
        bursts.read_counters(&trace);
    }
    bursts.complete(trace.locations.len());
    (trace, Computation { bursts, all, is_thinned, outside: Some(outside) })
}

//! From traces to a folded region: the one analysis that the command and reports share.
//!
//! Owns the order of the steps - region, instances, readings and samples, selection, projection - for each input, and how inputs, ranks and
//! groups become what is folded together. What a group of instances gives is [`super::group`]'s, sentences are [`super::findings`]'.

use std::collections::BTreeMap;

use talea_fold::regions::{
    self, Choice, ChooseError, Names, ProbeColumns, Spans, StackColumns, Wanted, choose,
};
use talea_fold::score::part;
use talea_fold::{Outliers, Projected, SelectOptions, project, select};
use talea_metric::suggest;
use talea_model::trace::types;
use talea_model::{Gap, GapKind, Gaps, Nanos, Rank, Trace};
use talea_report::data::folded::{FoldedData, FoldedRegion};

use super::group::{Group, Sample, Work, fold_group};
use super::models::{Model, ModelError};
use super::{differences, findings};

/// Most parts that are folded each for itself.
const MOST_PARTS: usize = 64;

/// What is folded, and how.
#[derive(Clone, Debug)]
pub(crate) struct What {
    /// Region; the trace's main one where absent.
    pub(crate) region: Option<String>,
    /// Value of it.
    pub(crate) value: Option<String>,
    /// What of it.
    pub(crate) extent: Extent,
    /// Whose instances.
    pub(crate) ranks: Ranks,
    /// Counters; empty for all.
    pub(crate) counters: Vec<String>,
    /// Models beside the usual ones.
    pub(crate) models: Vec<String>,
    /// How.
    pub(crate) fit: Fit,
    /// Which instances are left out.
    pub(crate) outliers: Outliers,
    /// What becomes of groups of instances.
    pub(crate) groups: Groups,
    /// Instances that begin before are left out.
    pub(crate) from: Option<Nanos>,
    /// Instances that end after are left out.
    pub(crate) to: Option<Nanos>,
    /// How errors are found.
    pub(crate) trial: Trial,
    /// Points of curves.
    pub(crate) points: usize,
}

impl Default for What {
    fn default() -> Self {
        Self {
            region: None,
            value: None,
            extent: Extent::Whole,
            ranks: Ranks::Together,
            counters: Vec::new(),
            models: Vec::new(),
            fit: Fit::Spline,
            outliers: SelectOptions::default().outliers,
            groups: Groups::Largest,
            from: None,
            to: None,
            trial: Trial::Quick,
            points: 501,
        }
    }
}

/// What of the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All.
    Whole,
    /// Without the time in MPI.
    WithoutMpi,
}

/// Whose instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ranks {
    /// All together.
    Together,
    /// Of one rank.
    One(Rank),
    /// All together, and each for itself.
    Overlaid,
}

/// How curves are fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Fit {
    /// Smoothing spline with jumps and band, as smooth as foretells held-out instances best
    Spline,
    /// As the reference tool does: fixed smoothing, at most 1500 samples, no band
    Kriging,
}

/// What becomes of instances whose durations are of several kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Groups {
    /// The kind with the most time is folded.
    Largest,
    /// Each kind is folded for itself.
    Each,
}

/// How errors are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trial {
    /// Two halves.
    Quick,
    /// All halves of six groups, each fitted from the start.
    Whole,
}

/// A trace and its name.
pub(crate) type Named<'a> = (String, &'a Trace);

/// Why nothing is folded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnalyseError {
    /// No such region.
    #[error("{source}: `{input}`")]
    Choose {
        /// Why.
        source: ChooseError,
        /// Of which trace.
        input: String,
    },
    /// A rank that the trace does not have.
    #[error(
        "expected a rank with instances of `{region}`, found {rank}; the trace has {known}: `{input}`"
    )]
    Rank {
        /// Asked for.
        rank: Rank,
        /// The region.
        region: String,
        /// What there is.
        known: String,
        /// Of which trace.
        input: String,
    },
    /// Nothing left to fold.
    #[error("expected instances of `{region}` {what}, the trace has {found}: `{input}`")]
    Instances {
        /// The region.
        region: String,
        /// Which.
        what: &'static str,
        /// How many.
        found: String,
        /// Of which trace.
        input: String,
    },
    /// A counter that was not read.
    #[error("expected a counter that is read around `{region}`, found `{counter}`{}", hint(nearest.as_ref()))]
    Counter {
        /// The region.
        region: String,
        /// Asked for.
        counter: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// A model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Neither counters nor samples.
    #[error("expected readings of counters, or samples with call stacks, inside `{region}`, the trace has none{}", because(why.as_ref()))]
    NoData {
        /// The region.
        region: String,
        /// The first gap.
        why: Option<String>,
    },
}

fn hint(nearest: Option<&String>) -> String {
    nearest.map_or_else(String::new, |name| format!("; the nearest is `{name}`"))
}

fn because(why: Option<&String>) -> String {
    why.map_or_else(String::new, |why| format!(" ({why})"))
}

/// One input, with all that folding needs of it.
pub(super) struct Prepared {
    pub(super) choice: Choice,
    /// After what was cut out.
    pub(super) spans: Spans,
    /// Groups of instances, as places in `spans`.
    pub(super) modes: Vec<Vec<u32>>,
    probes: ProbeColumns,
    stacks: StackColumns,
    /// Rank of each location, counted over the applications that the trace has.
    ranks: BTreeMap<u32, Rank>,
    gaps: Gaps,
}

/// Everything of the analysis.
pub(crate) struct Folded {
    /// The result.
    pub(crate) data: FoldedData,
    /// Curves of all instances together.
    pub(super) curves: Vec<(u32, talea_fold::Curve)>,
    /// The first input.
    pub(super) first: Prepared,
}

fn note(gaps: &mut Gaps, kind: GapKind, count: usize, detail: String) {
    gaps.note(Gap { kind, rank: None, detail, count: count as u64 });
}

/// Ranks of locations: tasks, counted from 0 in each application; those of a second one go on where the first ended.
fn ranks(trace: &Trace) -> BTreeMap<u32, Rank> {
    let mut found = BTreeMap::new();
    let (mut rank, mut location) = (0, 0_u32);
    for application in 1..=trace.locations.applications() as u32 {
        for (threads, _) in trace.locations.tasks(application) {
            for thread in location..location.saturating_add(threads) {
                // Only locations with events matter, and headers may claim many.
                if found.len() < 1 << 20 {
                    found.insert(thread, Rank(rank));
                }
            }
            location = location.saturating_add(threads);
            rank += 1;
        }
    }
    found
}

/// Reads what folding needs of one trace.
fn prepare(
    (input, trace): &Named<'_>,
    what: &What,
    region: Option<&str>,
) -> Result<Prepared, AnalyseError> {
    let wanted = Wanted { region, value: what.value.as_deref() };
    let choice = choose(trace, &wanted)
        .map_err(|source| AnalyseError::Choose { source, input: input.clone() })?;
    let mut spans = regions::instances(trace, choice.region);
    let ranks = ranks(trace);
    let of = |location: u32| ranks.get(&location).copied();
    let empty = |what, found: usize| AnalyseError::Instances {
        region: choice.name.clone(),
        what,
        found: if found == 0 { "none".to_owned() } else { format!("{found} others") },
        input: input.clone(),
    };
    if let Ranks::One(rank) = what.ranks {
        let mut known: Vec<u32> =
            spans.location.iter().filter_map(|&at| of(at)).map(|r| r.0).collect();
        known.dedup();
        if !known.contains(&rank.0) {
            return Err(AnalyseError::Rank {
                rank,
                region: choice.name.clone(),
                known: crate::analysis::classes::ranges(known),
                input: input.clone(),
            });
        }
        let kept: Vec<bool> = spans.location.iter().map(|&at| of(at) == Some(rank)).collect();
        spans.retain(|at| kept[at]);
    }
    let all = spans.len();
    if all == 0 {
        return Err(empty("that end", 0));
    }
    if what.from.is_some() || what.to.is_some() {
        let (from, to) = (what.from.unwrap_or_default(), what.to.unwrap_or(Nanos(u64::MAX)));
        let inside: Vec<bool> =
            (0..all).map(|at| spans.begin[at] >= from && spans.end[at] <= to).collect();
        spans.retain(|at| inside[at]);
        if spans.is_empty() {
            return Err(empty("between the times asked for", all));
        }
    }
    let mut probes = regions::probes(trace, &spans, &[]);
    regions::borders(&mut probes, &spans);
    let mut stacks = regions::stacks(trace, &spans);
    if what.extent == Extent::WithoutMpi {
        regions::without_mpi(trace, &mut spans, &mut probes, &mut stacks);
    }
    pick(&mut probes, what, &choice.name)?;
    let options = SelectOptions { outliers: what.outliers, ..SelectOptions::default() };
    let selection = select(&spans.durations(), &options);
    let mut gaps = trace.gaps.clone();
    gaps.merge(spans.gaps.clone());
    gaps.merge(probes.gaps.clone());
    gaps.merge(selection.gaps);
    if selection.modes.is_empty() {
        return Err(empty("that last longer than 0", 0));
    }
    if stacks.nameless > 0 {
        let (count, all) = (stacks.nameless as usize, stacks.time.len());
        let detail = format!("{count} of {all} samples have no routine with a name");
        note(&mut gaps, GapKind::Unresolved, count, detail);
    }
    Ok(Prepared { choice, spans, modes: selection.modes, probes, stacks, ranks, gaps })
}

/// Keeps the counters that were asked for.
fn pick(probes: &mut ProbeColumns, what: &What, region: &str) -> Result<(), AnalyseError> {
    if what.counters.is_empty() {
        return Ok(());
    }
    let mut kept = Vec::new();
    for wanted in &what.counters {
        let number = wanted.parse::<u32>().ok();
        let found = probes.names.iter().zip(&probes.types).position(|(name, &event_type)| {
            name.eq_ignore_ascii_case(wanted) || Some(event_type) == number
        });
        match found {
            Some(at) if !kept.contains(&at) => kept.push(at),
            Some(_) => {}
            None => {
                let nearest = suggest(wanted, probes.names.iter().map(String::as_str));
                let (region, counter) = (region.to_owned(), wanted.clone());
                return Err(AnalyseError::Counter { region, counter, nearest });
            }
        }
    }
    probes.types = kept.iter().map(|&at| probes.types[at]).collect();
    probes.names = kept.iter().map(|&at| probes.names[at].clone()).collect();
    probes.values = kept.iter().map(|&at| std::mem::take(&mut probes.values[at])).collect();
    Ok(())
}

impl Prepared {
    /// Counters on the instances of one mode, the type beside each.
    fn projected(&self, mode: usize) -> Vec<(u32, Projected)> {
        let counters = self.probes.counters();
        let wanted = self.modes.get(mode).map(Vec::as_slice).unwrap_or_default();
        let found = project(&self.spans.columns(), &self.probes.probes(&counters), wanted);
        self.probes.types.iter().copied().zip(found).collect()
    }

    /// Samples with stacks in the instances of one mode.
    fn samples<'a>(&'a self, mode: usize, names: &'a Routines) -> Vec<Sample<'a>> {
        let mut wanted = self.modes.get(mode).cloned().unwrap_or_default();
        let key = |at: u32| (self.spans.location[at as usize], self.spans.begin[at as usize]);
        wanted.sort_by_key(|&at| key(at));
        let stacks = &self.stacks;
        let mut found = Vec::new();
        for (at, frames) in stacks.starts.windows(2).enumerate() {
            let (location, time) = (stacks.location[at], stacks.time[at]);
            let after = wanted.partition_point(|&one| key(one) <= (location, time));
            let Some(&one) = after.checked_sub(1).and_then(|at| wanted.get(at)) else { continue };
            let (begin, end) = (self.spans.begin[one as usize], self.spans.end[one as usize]);
            if self.spans.location[one as usize] != location || time >= end {
                continue;
            }
            let x = (time - begin).0 as f64 / (end - begin).0 as f64;
            let frames = frames[0]..frames[1];
            let (routines, lines) = (&stacks.routines[frames.clone()], &stacks.lines[frames]);
            found.push(Sample { instance: one, time, location, x, routines, lines, names });
        }
        found
    }
}

/// Names of routines and lines of one trace.
pub(super) struct Routines {
    routines: BTreeMap<u32, String>,
    lines: BTreeMap<u32, String>,
}

impl Routines {
    fn new(trace: &Trace, stacks: &StackColumns) -> Self {
        let names = Names::new(trace);
        let of = |values: &[u32], types: std::ops::RangeInclusive<u32>| {
            let mut seen: Vec<u32> = values.to_vec();
            seen.sort_unstable();
            seen.dedup();
            let label = |value: u32| {
                let known = types.clone().find_map(|one| names.value(one, i64::from(value)));
                (value, known.map_or_else(|| format!("#{value}"), str::to_owned))
            };
            seen.into_iter().map(label).collect::<BTreeMap<_, _>>()
        };
        // Levels share one table of names; a few of them are looked at, should the first have none.
        let first = |range: std::ops::RangeInclusive<u32>| *range.start()..=*range.start() + 4;
        Self {
            routines: of(&stacks.routines, first(types::SAMPLE_CALLER)),
            lines: of(&stacks.lines, first(types::SAMPLE_LINE)),
        }
    }

    pub(super) fn routine(&self, value: u32) -> &str {
        self.routines.get(&value).map_or("?", String::as_str)
    }

    pub(super) fn line(&self, value: u32) -> Option<&str> {
        self.lines.get(&value).map(String::as_str).filter(|_| value > 2)
    }
}

/// Folds a region of one or several traces.
pub(crate) fn analyse(inputs: &[Named<'_>], what: &What) -> Result<Folded, AnalyseError> {
    let models =
        what.models.iter().map(|text| Model::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let mut prepared: Vec<Prepared> = Vec::with_capacity(inputs.len());
    for input in inputs {
        // What was chosen in the first is meant in all.
        let region = match prepared.first() {
            Some(first) if what.region.is_none() && what.value.is_none() => {
                let names = Names::new(input.1);
                match first.choice.region {
                    regions::Region::Value { value: Some(_), .. } => {
                        Some(first.choice.name.clone())
                    }
                    other => Some(names.argument(other)),
                }
            }
            _ => what.region.clone(),
        };
        prepared.push(prepare(input, what, region.as_deref())?);
    }
    let routines: Vec<Routines> = inputs
        .iter()
        .zip(&prepared)
        .map(|(input, prepared)| Routines::new(input.1, &prepared.stacks))
        .collect();
    let work = Work { fit: what.fit, trial: what.trial, points: what.points, models: &models };
    let whole = together(inputs, &prepared, &routines, what.ranks);
    let mut gaps = Gaps::default();
    for one in &prepared {
        gaps.merge(one.gaps.clone());
    }
    let (all, curves, lost) = fold_group(&whole, &work)?;
    gaps.merge(lost);
    let choice = prepared[0].choice.clone();
    if all.counters.is_empty() && all.stack.is_empty() {
        let why = gaps.iter().next().map(|gap| gap.detail.clone());
        return Err(AnalyseError::NoData { region: choice.name, why });
    }
    let mut parts = Vec::new();
    let groups = parts_of(inputs, &prepared, &routines, what, &whole);
    if groups.len() > MOST_PARTS {
        let left = groups.len() - MOST_PARTS;
        note(
            &mut gaps,
            GapKind::Unsupported,
            left,
            format!("{left} parts beyond the first {MOST_PARTS} are not folded for themselves"),
        );
    }
    let mut of_parts = Vec::new();
    for group in groups.iter().take(MOST_PARTS) {
        let (part, curves, lost) = fold_group(group, &work)?;
        // What all instances lack their parts lack too; only what is new is said, and whose it is.
        let new: Vec<&Gap> =
            lost.iter().filter(|gap| !gaps.iter().any(|one| one == *gap)).collect();
        for gap in new {
            let detail = format!("{}: {}", group.name, gap.detail);
            gaps.note(Gap { detail, ..gap.clone() });
        }
        parts.push(part);
        of_parts.push(curves);
    }
    let names = Names::new(inputs[0].1);
    let mut data = FoldedData {
        inputs: inputs.iter().map(|input| input.0.clone()).collect(),
        region: FoldedRegion {
            argument: names.argument(choice.region),
            name: choice.name.clone(),
            of: choice.of.clone(),
            without_mpi: what.extent == Extent::WithoutMpi,
            why: choice.why.clone(),
        },
        fit: match what.fit {
            Fit::Spline => "spline",
            Fit::Kriging => "kriging",
        }
        .to_owned(),
        scored: what.trial == Trial::Whole,
        differences: differences::between(&parts, &of_parts),
        all,
        parts,
        findings: Vec::new(),
        gaps,
    };
    say_units(&mut data, inputs[0].1);
    data.findings = findings::of(&data, prepared[0].modes.len(), what.groups);
    Ok(Folded { data, curves, first: prepared.swap_remove(0) })
}

/// Counters of time are in nanoseconds where their labels say so.
fn say_units(data: &mut FoldedData, trace: &Trace) {
    let groups = std::iter::once(&mut data.all).chain(&mut data.parts);
    for counter in groups.flat_map(|group| &mut group.counters) {
        let label = trace.labels.event_type(counter.event_type).map(|kind| kind.label.as_str());
        if label.is_some_and(|label| label.ends_with("(ns)")) {
            "ns/s".clone_into(&mut counter.unit);
        }
    }
}

/// All instances of all inputs that are folded together: the mode with the most time of each.
fn together<'a>(
    inputs: &[Named<'_>],
    prepared: &'a [Prepared],
    routines: &'a [Routines],
    ranks: Ranks,
) -> Group<'a> {
    let mut groups = prepared.iter().zip(routines).map(|(one, names)| mode(one, names, 0));
    let mut whole = groups.next().unwrap_or_default();
    for more in groups {
        whole.add(more);
    }
    whole.name = match ranks {
        Ranks::One(rank) => format!("rank {rank}"),
        _ if inputs.len() > 1 => format!("{} inputs", inputs.len()),
        _ if whole.locations() > 1 => "all ranks".to_owned(),
        _ => "all".to_owned(),
    };
    whole
}

/// One mode of one input.
fn mode<'a>(one: &'a Prepared, names: &'a Routines, mode: usize) -> Group<'a> {
    let wanted = one.modes.get(mode).cloned().unwrap_or_default();
    Group {
        name: String::new(),
        found: one.spans.len(),
        instances: wanted
            .iter()
            .map(|&at| {
                (
                    one.spans.location[at as usize],
                    one.spans.end[at as usize] - one.spans.begin[at as usize],
                )
            })
            .collect(),
        places: wanted,
        counters: one.projected(mode),
        samples: one.samples(mode, names),
        inputs: vec![0],
    }
}

/// Ranks, groups of instances or inputs, each for itself.
fn parts_of<'a>(
    inputs: &[Named<'_>],
    prepared: &'a [Prepared],
    routines: &'a [Routines],
    what: &What,
    whole: &Group<'a>,
) -> Vec<Group<'a>> {
    let one = &prepared[0];
    if inputs.len() > 1 {
        let of = |((input, one), names): ((&Named<'_>, &'a Prepared), &'a Routines)| Group {
            name: input.0.clone(),
            ..mode(one, names, 0)
        };
        return inputs.iter().zip(prepared).zip(routines).map(of).collect();
    }
    if what.groups == Groups::Each && one.modes.len() > 1 {
        let of =
            |at: usize| Group { name: format!("group {}", at + 1), ..mode(one, &routines[0], at) };
        return (0..one.modes.len()).map(of).collect();
    }
    if what.ranks != Ranks::Overlaid {
        return Vec::new();
    }
    let rank = |location: u32| one.ranks.get(&location).copied();
    let mut ranks: Vec<Rank> = whole.instances.iter().filter_map(|i| rank(i.0)).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let of = |wanted: Rank| {
        let own = |at: u32| rank(one.spans.location[at as usize]) == Some(wanted);
        let kept: Vec<usize> =
            (0..whole.places.len()).filter(|&at| own(whole.places[at])).collect();
        Group {
            name: format!("rank {wanted}"),
            found: one.spans.location.iter().filter(|&&at| rank(at) == Some(wanted)).count(),
            instances: kept.iter().map(|&at| whole.instances[at]).collect(),
            places: kept.iter().map(|&at| whole.places[at]).collect(),
            counters: whole
                .counters
                .iter()
                .map(|(event_type, all)| (*event_type, part(all, |at| own(all.instances[at]))))
                .collect(),
            samples: whole.samples.iter().filter(|sample| own(sample.instance)).copied().collect(),
            inputs: vec![0],
        }
    };
    ranks.into_iter().map(of).collect()
}

//! One input of `talea fold`: its region, instances, readings and samples.
//!
//! Owns the preparation of each trace, before instances of several are combined.

use std::collections::BTreeMap;

use talea_fold::regions::{self, Choice, ProbeColumns, Spans, StackColumns, Wanted, choose};
use talea_fold::{Projected, SelectOptions, project, select};
use talea_metric::measure::{Chosen, Span};
use talea_metric::{suggest, synonyms};
use talea_model::{Gap, GapKind, Gaps, Rank, Trace};

use super::error::{AnalyseError, Named};
use super::options::{Extent, FoldOptions, Ranks};
use super::samples::{Routines, Sample};

/// One input, with all data for folding.
pub(super) struct Prepared {
    pub(super) choice: Choice,
    /// Spans after cutting.
    pub(super) spans: Spans,
    /// Groups of instances, as places in `spans`.
    pub(super) modes: Vec<Vec<u32>>,
    pub(super) probes: ProbeColumns,
    /// Counters of nodes, which other processes read at other times.
    nodes: ProbeColumns,
    /// Folded counters, as places in `probes` and then `nodes`; the others show where a set of
    /// counters changed.
    pub(super) wanted: Vec<usize>,
    pub(super) stacks: StackColumns,
    /// Number of samples with stacks in the whole trace, or of the rank that is folded alone.
    pub(super) sampled: usize,
    /// Rank of each location, counted over the applications of the trace.
    pub(super) ranks: BTreeMap<u32, Rank>,
    pub(super) gaps: Gaps,
}

pub(super) fn note(gaps: &mut Gaps, kind: GapKind, count: usize, detail: String) {
    gaps.note(Gap { kind, rank: None, detail, count: count as u64 });
}

/// Ranks of locations: tasks, counted from 0 in each application; those of a second one continue
/// where the first ended.
pub(super) fn ranks(trace: &Trace) -> BTreeMap<u32, Rank> {
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

/// Reads the data for folding from one trace.
pub(super) fn prepare(
    (input, trace): &Named<'_>,
    what: &FoldOptions,
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
                known: crate::ranges::ranges(known),
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
    let mut gaps = trace.gaps.clone();
    let part = Span::select(trace, what.part, &mut gaps)
        .map_err(|source| AnalyseError::Part { source, input: input.clone() })?;
    let inside: Vec<bool> = (0..all)
        .map(|at| part.chosen == Chosen::Whole || part.holds(spans.begin[at].0, spans.end[at].0))
        .collect();
    spans.retain(|at| inside[at]);
    if spans.is_empty() {
        let of = match part.chosen {
            Chosen::Asked => "between the times asked for",
            _ => "after MPI_Init and before MPI_Finalize (--with-init has the others)",
        };
        return Err(empty(of, all));
    }
    let mut probes = regions::probes(trace, &spans);
    regions::borders(&mut probes, &spans);
    let mut stacks = regions::stacks(trace, &spans);
    let mut nodes = regions::node_probes(trace, &spans);
    regions::borders(&mut nodes, &spans);
    if what.extent == Extent::WithoutMpi {
        // Nodes continue counting while a rank is in MPI.
        nodes = ProbeColumns::default();
        regions::without_mpi(trace, &mut spans, &mut probes, &mut stacks);
    }
    let wanted = pick(&probes, &nodes, what, &choice.name)?;
    let options = SelectOptions { outliers: what.outliers, ..SelectOptions::default() };
    let selection = select(&spans.durations(), &options);
    gaps.merge(spans.gaps.clone());
    gaps.merge(probes.gaps.clone());
    gaps.merge(nodes.gaps.clone());
    gaps.merge(selection.gaps);
    if selection.modes.is_empty() {
        return Err(empty("that last longer than 0", 0));
    }
    if stacks.nameless > 0 {
        let (count, all) = (stacks.nameless as usize, stacks.time.len());
        let detail = format!("{count} of {all} samples have no routine with a name");
        note(&mut gaps, GapKind::Unresolved, count, detail);
    }
    let modes = selection.modes;
    let is_own = |location: u32| match what.ranks {
        Ranks::One(rank) => of(location) == Some(rank),
        _ => true,
    };
    let sampled = regions::samples(trace).filter(|&location| is_own(location)).count();
    Ok(Prepared { choice, spans, modes, probes, nodes, wanted, stacks, sampled, ranks, gaps })
}

/// The requested counters.
fn pick(
    probes: &ProbeColumns,
    nodes: &ProbeColumns,
    what: &FoldOptions,
    region: &str,
) -> Result<Vec<usize>, AnalyseError> {
    let names = || probes.names.iter().chain(&nodes.names).map(String::as_str);
    let types = || probes.types.iter().chain(&nodes.types).copied();
    if what.counters.is_empty() {
        return Ok((0..names().count()).collect());
    }
    let mut kept = Vec::new();
    for wanted in &what.counters {
        let number = wanted.parse::<u32>().ok();
        let exact = names()
            .zip(types())
            .position(|(name, one)| name.eq_ignore_ascii_case(wanted) || Some(one) == number);
        match exact.or_else(|| names().position(|name| synonyms::same(name, wanted))) {
            Some(at) if !kept.contains(&at) => kept.push(at),
            Some(_) => {}
            None => {
                let nearest = suggest(wanted, names());
                let (region, counter) = (region.to_owned(), wanted.clone());
                return Err(AnalyseError::Counter { region, counter, nearest });
            }
        }
    }
    Ok(kept)
}

impl Prepared {
    /// Counters on the instances of one mode, the type beside each.
    pub(super) fn projected(&self, mode: usize) -> Vec<(u32, Projected)> {
        let wanted = self.modes.get(mode).map(Vec::as_slice).unwrap_or_default();
        let mut found = Vec::new();
        for columns in [&self.probes, &self.nodes] {
            let counters = columns.counters();
            let projected = project(&self.spans.columns(), &columns.probes(&counters), wanted);
            found.extend(columns.types.iter().copied().zip(projected));
        }
        let one = |&at: &usize| std::mem::take(&mut found[at]);
        self.wanted.iter().map(one).collect()
    }

    /// Samples with stacks in the instances of one mode.
    pub(super) fn samples<'a>(&'a self, mode: usize, names: &'a Routines) -> Vec<Sample<'a>> {
        self.samples_of(self.modes.get(mode).cloned().unwrap_or_default(), names)
    }

    /// Number of samples with stacks in all instances, also those that are left out.
    pub(super) fn samples_inside(&self, names: &Routines) -> usize {
        self.samples_of((0..self.spans.len() as u32).collect(), names).len()
    }

    fn samples_of<'a>(&'a self, mut wanted: Vec<u32>, names: &'a Routines) -> Vec<Sample<'a>> {
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

//! From traces to a folded region: the analysis that the command and reports share.
//!
//! Owns the order of the steps - region, instances, readings and samples, selection, projection -
//! for each input, and the combination of inputs, ranks and groups for folding. The result of a
//! group of instances is [`super::group`]'s, sentences are [`super::findings`]'.

use talea_fold::regions::{self, Names};
use talea_fold::score::part;
use talea_model::{Gap, GapKind, Gaps, Rank, Trace};
use talea_report::data::folded::{FoldedData, FoldedRegion};

use super::error::{AnalyseError, Named};
use super::group::{Group, Work, fold_group};
use super::models::Model;
use super::options::{Extent, FoldOptions, Groups, Ranks, Trial};
use super::prepare::{Prepared, note, prepare};
use super::samples::Routines;
use super::{differences, findings, models};

/// Maximum number of parts that are folded separately.
const MOST_PARTS: usize = 64;

/// Complete result of the analysis.
pub struct Folded {
    /// The result.
    pub data: FoldedData,
    /// Curves of all instances together.
    pub(super) curves: Vec<(u32, talea_fold::Curve)>,
    /// The first input.
    pub(super) first: Prepared,
}

/// Folds a region of one or several traces.
pub fn analyse(inputs: &[Named<'_>], what: &FoldOptions) -> Result<Folded, AnalyseError> {
    let own = what.models.iter().map(|text| Model::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let mut prepared: Vec<Prepared> = Vec::with_capacity(inputs.len());
    for input in inputs {
        // The choice in the first input applies to all.
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
    let work = Work { trial: what.trial, points: what.points, models: &own };
    let whole = together(inputs, &prepared, &routines, what.ranks);
    let mut gaps = Gaps::default();
    for one in &prepared {
        gaps.merge(one.gaps.clone());
    }
    let (all, curves, lost) = fold_group(&whole, &work)?;
    gaps.merge(lost);
    models::check(&own, &curves)?;
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
        // Gaps of all instances apply to their parts too; only new ones are noted, with their part.
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
        inputs: Vec::new(),
        names: inputs.iter().map(|input| input.0.clone()).collect(),
        region: FoldedRegion {
            argument: names.argument(choice.region),
            name: choice.name.clone(),
            of: choice.of.clone(),
            without_mpi: what.extent == Extent::WithoutMpi,
            why: choice.why.clone(),
        },
        scored: what.trial == Trial::Whole,
        differences: differences::between(&parts, &of_parts),
        all,
        parts,
        findings: Vec::new(),
        gaps,
    };
    say_units(&mut data, inputs[0].1);
    data.findings = findings::sentences(&data, prepared[0].modes.len(), what.groups);
    Ok(Folded { data, curves, first: prepared.swap_remove(0) })
}

/// Counters of time are in nanoseconds if their labels say so.
fn say_units(data: &mut FoldedData, trace: &Trace) {
    let groups = std::iter::once(&mut data.all).chain(&mut data.parts);
    for counter in groups.flat_map(|group| &mut group.counters) {
        let label = trace.labels.event_type(counter.event_type).map(|kind| kind.label.as_str());
        if label.is_some_and(|label| label.ends_with("(ns)")) {
            "ns/s".clone_into(&mut counter.unit);
        }
    }
}

/// All instances of all inputs that are folded together: for each input the mode with the most
/// time.
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
        inside: one.samples_inside(names),
        sampled: one.sampled,
        inputs: vec![0],
    }
}

/// Ranks, groups of instances or inputs, each folded separately.
fn parts_of<'a>(
    inputs: &[Named<'_>],
    prepared: &'a [Prepared],
    routines: &'a [Routines],
    what: &FoldOptions,
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
            // Only the whole says where the other samples are.
            inside: 0,
            sampled: 0,
            inputs: vec![0],
        }
    };
    ranks.into_iter().map(of).collect()
}

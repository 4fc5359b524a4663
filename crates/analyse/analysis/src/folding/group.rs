//! Result for a group of instances: curves of its counters, models, coverage, and the call stack.
//!
//! Owns the steps from projected samples to the public data of one group, and the merging of
//! several inputs' groups. Curves themselves stay with the caller too, for uses of their evidence.

use std::collections::BTreeMap;

use rayon::prelude::*;
use talea_fold::score::{ALL_SPLITS, score};
use talea_fold::{
    Band, Curve, FitError, FitOptions, Projected, StackOptions, Stacks, cover, fit, lines, runs,
};
use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_report::data::folded::{
    FoldedBand, FoldedCounter, FoldedCoverage, FoldedGroup, FoldedJump, FoldedLine, FoldedPhase,
    FoldedRun, FoldedShare,
};

use super::error::AnalyseError;
use super::models::{self, Model};
use super::options::Trial;
use super::samples::Sample;

/// Maximum number of samples of each counter that are kept for pictures.
const SHOWN: usize = 500;
/// Number of parts of the region with their most frequent line.
const PARTS: usize = 200;
/// Maximum number of lines and routines that are named for a stretch.
const NAMED: usize = 3;

/// Instances that are folded together.
#[derive(Default)]
pub(super) struct Group<'a> {
    pub(super) name: String,
    /// Number of instances found, those left out included.
    pub(super) found: usize,
    /// Location and duration of the folded ones.
    pub(super) instances: Vec<(u32, Nanos)>,
    /// Their places in the spans of their input.
    pub(super) places: Vec<u32>,
    /// Event type and samples of each counter.
    pub(super) counters: Vec<(u32, Projected)>,
    pub(super) samples: Vec<Sample<'a>>,
    /// Number of samples in all instances found.
    pub(super) inside: usize,
    /// Number of samples of the inputs.
    pub(super) sampled: usize,
    /// First instance of each input.
    pub(super) inputs: Vec<usize>,
}

/// Options of folding groups.
pub(super) struct Work<'a> {
    pub(super) trial: Trial,
    pub(super) points: usize,
    pub(super) models: &'a [Model],
}

/// A group's data, its curves with their types, and its gaps.
pub(super) type Done = (FoldedGroup, Vec<(u32, Curve)>, Gaps);

impl<'a> Group<'a> {
    /// Number of locations of its instances; those of different inputs are different.
    pub(super) fn locations(&self) -> usize {
        let ends = self.inputs.iter().skip(1).copied().chain([self.instances.len()]);
        let mut count = 0;
        for (&begin, end) in self.inputs.iter().zip(ends) {
            let mut of: Vec<u32> =
                self.instances[begin..end.max(begin)].iter().map(|one| one.0).collect();
            of.sort_unstable();
            of.dedup();
            count += of.len();
        }
        count
    }

    /// Adds the instances of another input.
    pub(super) fn add(&mut self, other: Group<'a>) {
        // Places of instances identify counters that were read together, so that those of different
        // inputs must differ.
        let moved = u32::try_from(self.found).unwrap_or(u32::MAX);
        let place = |at: u32| at.saturating_add(moved);
        self.inputs.push(self.instances.len());
        self.found += other.found;
        self.instances.extend(other.instances);
        self.places.extend(other.places.into_iter().map(place));
        for (event_type, more) in other.counters {
            let known = self.counters.iter_mut().find(|(_, known)| known.counter == more.counter);
            let Some((_, known)) = known else {
                let instances = more.instances.iter().copied().map(place).collect();
                self.counters.push((event_type, Projected { instances, ..more }));
                continue;
            };
            let samples = known.x.len();
            known.instances.extend(more.instances.into_iter().map(place));
            known.starts.extend(more.starts.into_iter().skip(1).map(|start| start + samples));
            known.x.extend(more.x);
            known.y.extend(more.y);
            known.durations.extend(more.durations);
            known.totals.extend(more.totals);
            known.idle += more.idle;
            known.gaps.merge(more.gaps);
        }
        self.samples.extend(other.samples);
        self.inside += other.inside;
        self.sampled += other.sampled;
    }
}

/// Folds one group.
pub(super) fn fold_group(group: &Group<'_>, work: &Work<'_>) -> Result<Done, AnalyseError> {
    let options = FitOptions { points: work.points, ..FitOptions::default() };
    let mut gaps = Gaps::default();
    let one = |(event_type, projected): &(u32, Projected)| {
        let curve = fit(projected, &options)?;
        let found = match work.trial {
            Trial::Quick => None,
            Trial::Whole => score(projected, ALL_SPLITS, |part| fit(part, &options).ok()),
        };
        Ok::<_, FitError>((*event_type, curve, found))
    };
    let fitted: Vec<_> = group.counters.par_iter().map(one).collect();
    let mut data = FoldedGroup {
        name: group.name.clone(),
        found: group.found as u64,
        folded: group.instances.len() as u64,
        outliers: group.found.saturating_sub(group.instances.len()) as u64,
        locations: group.locations() as u64,
        ..FoldedGroup::default()
    };
    (data.mean_ns, data.median_ns, data.spread) = durations(&group.instances);
    let mut curves = Vec::new();
    for ((_, projected), result) in group.counters.iter().zip(fitted) {
        match result {
            Ok((event_type, curve, found)) => {
                gaps.merge(curve.gaps.clone());
                let mut one = counter(event_type, &curve, projected);
                if work.trial == Trial::Whole {
                    one.error_held_out = found.map(|found| found.error);
                    one.band_coverage = found.map(|found| found.coverage).filter(|c| c.is_finite());
                }
                data.counters.push(one);
                curves.push((event_type, curve));
            }
            Err(error) => {
                gaps.merge(projected.gaps.clone());
                gaps.note(Gap {
                    kind: GapKind::Missing,
                    rank: None,
                    detail: error.to_string(),
                    count: 0,
                });
            }
        }
    }
    data.coverage = coverage(group, data.mean_ns, &mut gaps);
    data.models = models::evaluate(work.models, &curves)?;
    (data.stack, data.lines) = stack(&group.samples);
    Ok((data, curves, gaps))
}

/// Mean, and standard deviation as a share of it.
fn durations(instances: &[(u32, Nanos)]) -> (Nanos, Nanos, f64) {
    let count = instances.len() as f64;
    let mean = instances.iter().map(|one| one.1.0 as f64).sum::<f64>() / count;
    let squares: f64 = instances.iter().map(|one| (one.1.0 as f64 - mean).powi(2)).sum();
    let spread = if count > 1.0 { (squares / (count - 1.0)).sqrt() / mean } else { f64::NAN };
    let mut sorted: Vec<Nanos> = instances.iter().map(|one| one.1).collect();
    sorted.sort_unstable();
    let median = sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or_default();
    (Nanos(mean as u64), median, spread)
}

fn scaled(band: &Band, factor: f64) -> FoldedBand {
    let of = |values: &[f64]| values.iter().map(|value| value * factor).collect();
    FoldedBand { value: of(&band.value), low: of(&band.low), high: of(&band.high) }
}

/// The public data of one counter.
fn counter(event_type: u32, curve: &Curve, projected: &Projected) -> FoldedCounter {
    let mean_rate = curve.per_second();
    let mut edges = vec![0.0];
    edges.extend(curve.jumps.iter().map(|jump| jump.at));
    edges.push(1.0);
    let phase = |ends: &[f64]| {
        let counted = curve.share(ends[1]) - curve.share(ends[0]);
        FoldedPhase { from: ends[0], to: ends[1], rate: mean_rate * counted / (ends[1] - ends[0]) }
    };
    FoldedCounter {
        name: curve.counter.clone(),
        event_type,
        unit: "/s".to_owned(),
        samples: curve.samples as u64,
        instances: curve.instances as u64,
        smoothing: curve.lambda,
        error_held_out: curve.held_out_error,
        error_estimated: curve.estimated_error,
        band_coverage: None,
        jumps: curve
            .jumps
            .iter()
            .map(|jump| FoldedJump {
                at: jump.at,
                within: jump.within,
                height: jump.height * mean_rate,
            })
            .collect(),
        phases: edges.windows(2).filter(|ends| ends[1] > ends[0]).map(phase).collect(),
        mean_total: curve.mean_total,
        mean_rate,
        rate: scaled(&curve.rate, mean_rate),
        accumulated: scaled(&curve.accumulated, 1.0),
        points: points(projected),
    }
}

/// Evenly chosen samples: place, and counts a second since the sample before.
fn points(of: &Projected) -> Vec<[f64; 2]> {
    let step = of.x.len().div_ceil(SHOWN).max(1);
    let mut found = Vec::with_capacity(SHOWN);
    for at in 0..of.instances.len() {
        let (x, y) = of.samples(at);
        let scale = of.totals[at] / of.durations[at].seconds();
        for (i, (&x1, &y1)) in x.iter().zip(y).enumerate() {
            let (x0, y0) = if i > 0 { (x[i - 1], y[i - 1]) } else { (0.0, 0.0) };
            if (of.starts[at] + i).is_multiple_of(step) && x1 > x0 {
                found.push([f64::midpoint(x0, x1), scale * (y1 - y0) / (x1 - x0)]);
            }
        }
    }
    found
}

/// Coverage of the region by samples.
fn coverage(group: &Group<'_>, mean: Nanos, gaps: &mut Gaps) -> FoldedCoverage {
    let most = group.counters.iter().map(|one| &one.1).max_by_key(|one| one.x.len());
    let stacks: Vec<f64> = group.samples.iter().map(|sample| sample.x).collect();
    // Where stacks were sampled they describe the sampling, and probes at events do not count.
    let (x, instances) = match most {
        Some(most) if stacks.len() < most.x.len() => (most.x.as_slice(), most.instances.len()),
        _ => (stacks.as_slice(), group.instances.len()),
    };
    let period = period(&group.samples);
    let found = cover(x, instances, period.unwrap_or_default(), mean);
    for warning in &found.warnings {
        gaps.note(warning.clone());
    }
    FoldedCoverage {
        samples: found.samples as u64,
        hole_at: found.hole.0,
        hole: found.hole.1,
        hole_expected: found.expected_hole,
        empty: found.empty,
        period_ns: period,
        stacks: group.samples.len() as u64,
        left_out: group.inside.saturating_sub(group.samples.len()) as u64,
        outside: group.sampled.saturating_sub(group.inside) as u64,
    }
}

/// The median time from one sample to the next on the same location.
fn period(samples: &[Sample<'_>]) -> Option<Nanos> {
    let mut steps: Vec<u64> = samples
        .windows(2)
        .filter(|pair| pair[0].location == pair[1].location && pair[0].instance == pair[1].instance)
        .map(|pair| (pair[1].time - pair[0].time).0)
        .filter(|&step| step > 0)
        .collect();
    let middle = steps.len() / 2;
    (!steps.is_empty()).then(|| Nanos(*steps.select_nth_unstable(middle).1))
}

/// The routine and the lines at each place.
fn stack(samples: &[Sample<'_>]) -> (Vec<FoldedRun>, Vec<FoldedLine>) {
    // Inputs have numbers of their own: routines are matched by name.
    let mut names = BTreeMap::<&str, u32>::new();
    let mut known: Vec<&str> = Vec::new();
    let mut places = BTreeMap::<&str, u32>::new();
    let mut known_lines: Vec<&str> = Vec::new();
    let (mut x, mut starts) = (Vec::new(), vec![0]);
    let (mut routines, mut of_lines) = (Vec::new(), Vec::new());
    for sample in samples {
        for (&routine, &line) in sample.routines.iter().zip(sample.lines) {
            let name = sample.names.routine(routine);
            routines.push(*names.entry(name).or_insert_with(|| {
                known.push(name);
                known.len() as u32 - 1
            }));
            let text = sample.names.line(line).unwrap_or_default();
            of_lines.push(*places.entry(text).or_insert_with(|| {
                known_lines.push(text);
                known_lines.len() as u32 - 1
            }));
        }
        x.push(sample.x);
        starts.push(routines.len());
    }
    let stacks = Stacks { x: &x, starts: &starts, routines: &routines, lines: &of_lines };
    let options = StackOptions::default();
    let name = |at: u32| known.get(at as usize).map_or_else(String::new, |name| (*name).to_owned());
    let inside = |from: f64, to: f64| {
        let (mut by_routine, mut by_line) =
            (BTreeMap::<u32, u64>::new(), BTreeMap::<u32, u64>::new());
        let mut all = 0;
        for (&x, frames) in x.iter().zip(starts.windows(2)) {
            if (from..to).contains(&x) && frames[1] > frames[0] {
                all += 1;
                *by_routine.entry(routines[frames[0]]).or_default() += 1;
                *by_line.entry(of_lines[frames[0]]).or_default() += 1;
            }
        }
        (most(by_routine), most(by_line), all)
    };
    let run = |run: talea_fold::Run| {
        let (by_routine, by_line, all) = inside(run.begin, run.end);
        let mixed = if run.routine.is_none() {
            by_routine.iter().take(NAMED).map(|one| name(one.0)).collect()
        } else {
            Vec::new()
        };
        let line = |(at, count): &(u32, u64)| FoldedShare {
            name: known_lines[*at as usize].to_owned(),
            share: *count as f64 / f64::from(all),
        };
        FoldedRun {
            from: run.begin,
            to: run.end,
            routine: run.routine.map(name),
            samples: run.samples as u64,
            purity: run.purity,
            mixed,
            lines: by_line
                .iter()
                .map(line)
                .filter(|one| !one.name.is_empty())
                .take(NAMED)
                .collect(),
        }
    };
    let found: Vec<FoldedRun> = runs(&stacks, &options).into_iter().map(run).collect();
    if found.is_empty() {
        return (found, Vec::new());
    }
    let parts = (x.len() / 10).clamp(1, PARTS);
    let line = |(at, one): (usize, talea_fold::LineShare)| {
        let text = one.line.map(|(_, line)| known_lines[line as usize]).unwrap_or_default();
        let (number, file) = split_line(text);
        FoldedLine {
            from: one.begin,
            to: (at + 1) as f64 / parts as f64,
            routine: one.line.map(|(routine, _)| name(routine)),
            line: number,
            file,
            share: one.share,
            samples: one.samples as u64,
        }
    };
    let by_part = lines(&stacks, &options, parts).into_iter().enumerate().map(line).collect();
    (found, by_part)
}

/// Entries by falling count.
fn most(counts: BTreeMap<u32, u64>) -> Vec<(u32, u64)> {
    let mut found: Vec<(u32, u64)> = counts.into_iter().collect();
    found.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    found
}

/// `184 (spec_namd.C)` or `101 (lulesh-comm.cc, lulesh2.0)`: line and file.
fn split_line(text: &str) -> (Option<u32>, Option<String>) {
    let (number, rest) = text.split_once(' ').unwrap_or((text, ""));
    let inside = rest.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let file = inside.and_then(|inside| inside.split(',').next()).map(str::trim);
    let file = file.filter(|file| !file.is_empty()).map(str::to_owned);
    (number.parse().ok().filter(|&line| line > 0), file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_as_tools_label_them() {
        assert_eq!(split_line("184 (spec_namd.C)"), (Some(184), Some("spec_namd.C".to_owned())));
        assert_eq!(split_line("101 (comm.cc, app2.0)"), (Some(101), Some("comm.cc".to_owned())));
        assert_eq!(split_line("0 (Unresolved)"), (None, Some("Unresolved".to_owned())));
        assert_eq!(split_line(""), (None, None));
    }
}

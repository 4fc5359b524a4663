//! Objects of one level with unequal amounts.
//!
//! Owns the conditions under which max/mean is worth a sentence. A small amount, unequally spread,
//! is not.

use super::extent::Span;
use super::inputs::Input;
use super::spans::longest;
use super::{Hint, HintKind};
use crate::monitors::MonitorInfo;
use crate::objects::{Attributes, ObjectId, ObjectKind};

/// Max/mean: then a quarter of the time or of the capacity of all others is spent waiting.
pub(super) const UNEQUAL: f64 = 1.25;
/// Frames with less than this share of the maximum of a frame are quiet: nothing waits.
pub(super) const QUIET: f64 = 0.05;
/// Minimum share of a PU's time in events of the kernel for their spread to be worth a sentence.
const WORTH: f64 = 0.01;
/// Maximum number of objects that a finding names.
const NAMED: usize = 8;

/// Monitors whose values are unequal for long.
pub(super) fn unequal(input: &Input<'_>) -> Vec<Hint> {
    (0..input.monitors.len()).filter_map(|number| one_monitor(input, number)).collect()
}

fn one_monitor(input: &Input<'_>, number: usize) -> Option<Hint> {
    let monitor = &input.monitors[number];
    let first = *monitor.objects.first()?;
    let kind = input.topology.objects.get(first.0 as usize)?.kind;
    // Devices are not meant to be equal, nor are cores or memories of different kinds.
    if monitor.objects.len() < 2 || !(kind.is_normal() || kind.is_memory()) || unlike(input, kind) {
        return None;
    }
    // A quotient has no amount that could be waited for.
    if monitor.unit.is_empty() && monitor.counter.contains('/')
        || super::inputs::mentions(monitor, "mem:*")
    {
        return None;
    }
    let cost = seconds_each(monitor);
    let rates = |frame: usize| -> Vec<(usize, f64)> {
        let all = 0..monitor.objects.len();
        all.filter_map(|at| input.rate(number, frame, at).map(|rate| (at, rate))).collect()
    };
    let sums: Vec<f64> = (0..input.frames.len())
        .map(|frame| rates(frame).iter().map(|one| one.1.max(0.0)).sum())
        .collect();
    let most = sums.iter().copied().fold(0.0, f64::max);
    let holds: Vec<Option<f64>> = (0..input.frames.len())
        .map(|frame| {
            let rates = rates(frame);
            if rates.len() < 2 || sums[frame] <= QUIET * most || rates.iter().any(|one| one.1 < 0.0)
            {
                return None;
            }
            let max = rates.iter().map(|one| one.1).fold(0.0, f64::max);
            let pus = pus_of(input, first);
            if cost.is_some_and(|seconds| max * seconds < WORTH * pus) {
                return None;
            }
            Some(max / (sums[frame] / rates.len() as f64)).filter(|&part| part > UNEQUAL)
        })
        .collect();
    let mut span = longest(input, first, &holds)?;
    // A single frame's maximum may be another one's minimum: only the maximum over the whole
    // stretch counts.
    let mut means: Vec<(usize, f64)> = (0..monitor.objects.len())
        .filter_map(|at| {
            let all = span.frames.clone().filter_map(|frame| input.rate(number, frame, at));
            let (sum, count) = all.fold((0.0, 0_usize), |(s, n), rate| (s + rate, n + 1));
            (count > 0).then(|| (at, sum / count as f64))
        })
        .collect();
    let mean = means.iter().map(|one| one.1).sum::<f64>() / means.len().max(1) as f64;
    means.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let (_, largest) = *means.first()?;
    span.figure = largest / mean;
    // Not "at most", so that a mean of nothing stops here too.
    if span.figure.is_nan() || span.figure <= UNEQUAL {
        return None;
    }
    let ahead = means.iter().filter(|one| one.1 > UNEQUAL * mean).take(NAMED);
    let mut objects: Vec<ObjectId> = ahead.map(|one| monitor.objects[one.0]).collect();
    objects.sort_unstable();
    span.objects = objects;
    let figure = format!("{:.2}", span.figure);
    let sentence = sentence(input, number, kind, &span, &figure);
    let excess = (span.figure - UNEQUAL) / 2.0;
    let mut hint = input.hint(HintKind::Imbalance, span, figure, excess.min(1.5), sentence);
    // It only shows that something is wrong; the other findings show the cause.
    hint.weight *= 0.5;
    Some(hint)
}

/// Seconds of an event of the kernel, where a monitor counts nothing else: a switch with the caches
/// that it empties, a small fault. As long as they take almost none of their PU's time, an uneven
/// number of them makes nothing wait.
fn seconds_each(monitor: &MonitorInfo) -> Option<f64> {
    const EVENTS: [(&str, f64); 8] = [
        ("context-switches", 5e-6),
        ("cpu-migrations", 20e-6),
        ("page-faults", 1e-6),
        ("minor-faults", 1e-6),
        ("proc:context-switches", 5e-6),
        ("proc:minor-faults", 1e-6),
        ("proc:interrupts", 2e-6),
        ("proc:softirqs", 2e-6),
    ];
    let counter = monitor.counter.trim_matches('"');
    EVENTS.iter().find(|(name, _)| *name == counter).map(|&(_, seconds)| seconds)
}

/// Number of PUs of an object; all of a level have about as many.
fn pus_of(input: &Input<'_>, id: ObjectId) -> f64 {
    input.topology.get(id).cpuset.len().max(1) as f64
}

fn sentence(
    input: &Input<'_>,
    number: usize,
    kind: ObjectKind,
    span: &Span,
    figure: &str,
) -> String {
    let name = &input.monitors[number].name;
    let (names, lasting) = (input.names(&span.objects), input.lasting(span));
    let verb = if span.objects.len() == 1 { "has" } else { "have" };
    format!(
        "{name} is unequal at {}: {names} {verb} up to {figure} times the mean {lasting}.",
        kind.short()
    )
}

/// True if the machine has objects of this kind that cannot be equal: several kinds of cores,
/// memories of different sizes.
fn unlike(input: &Input<'_>, kind: ObjectKind) -> bool {
    if !kind.is_memory() {
        return input.topology.cpu_kinds.len() > 1;
    }
    let sizes =
        input.topology.of_kind(ObjectKind::NumaNode).map(|(_, node)| match node.attributes {
            Attributes::Numa { memory, .. } => memory,
            _ => 0,
        });
    let (least, most) = sizes.fold((u64::MAX, 0), |(a, b), size| (a.min(size), b.max(size)));
    most / 2 > least
}

//! Shared resources at their limits: caches, memory controllers, links between NUMA nodes.
//!
//! Owns the comparison with the possible maximum: the topology's own figure where it has one, else
//! the maximum seen here - which alone would call any peak saturated, so that then the users of the
//! object must also slow down.

use super::inputs::{Input, mentions, percent};
use super::spans::{longest, together};
use super::{Hint, HintKind};
use crate::monitors::MonitorInfo;
use crate::objects::{ObjectId, ObjectKind};
use crate::svg::amount;

/// Controllers reach about this share of their theoretical maximum; above it, waiting times rise
/// steeply.
pub(super) const SATURATED: f64 = 0.8;
/// Maximum ratio of its users' own rate to that while the object was little used.
pub(super) const SLOWED: f64 = 0.8;
/// Little used: less than this share of the maximum.
pub(super) const LITTLE: f64 = 0.5;
/// A share of remote pages beyond what system services and start-up cause.
pub(super) const REMOTE: f64 = 0.1;
/// Minimum number of pages in a frame for meaningful shares.
pub(super) const LEAST_PAGES: f64 = 100.0;

/// Caches and memory at their limits.
pub(super) fn saturated(input: &Input<'_>) -> Vec<Hint> {
    let own = [ObjectKind::Pu, ObjectKind::Core].into_iter().find_map(|kind| {
        let named = input.find(|one| input.at(one, kind) && one.name.eq_ignore_ascii_case("ipc"));
        named.or_else(|| input.counting(kind, &["instructions", "PAPI_TOT_INS", "INST_RETIRED*"]))
    });
    let mut out = Vec::new();
    for (number, monitor) in input.monitors.iter().enumerate() {
        let cache = uses_cache(input, monitor);
        let memory = input.at(monitor, ObjectKind::NumaNode)
            && ["B", "B/s"].contains(&monitor.unit.as_str());
        // Full memory is no traffic.
        if !cache && (!memory || mentions(monitor, "mem:*")) {
            continue;
        }
        out.extend(one_monitor(input, number, own, cache));
    }
    out
}

/// True if it counts the use of a cache that several cores share.
fn uses_cache(input: &Input<'_>, monitor: &MonitorInfo) -> bool {
    const USES: [&str; 5] = ["PAPI_L2_*", "PAPI_L3_*", "LLC-*", "cache-misses", "cache-references"];
    let shared = |id: &ObjectId| {
        let object = input.topology.objects.get(id.0 as usize);
        object.is_some_and(|one| one.kind.is_cache() && one.cpuset.len() > 1)
    };
    // A quotient of two uses is no use.
    !monitor.counter.contains('/')
        && monitor.objects.iter().any(shared)
        && USES.iter().any(|counter| mentions(monitor, counter))
}

fn one_monitor(input: &Input<'_>, number: usize, own: Option<usize>, cache: bool) -> Vec<Hint> {
    let monitor = &input.monitors[number];
    let rates: Vec<Vec<Option<f64>>> = (0..monitor.objects.len())
        .map(|object| {
            (0..input.frames.len()).map(|frame| input.rate(number, frame, object)).collect()
        })
        .collect();
    let most = rates.iter().flatten().flatten().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return Vec::new();
    }
    let mut spans = Vec::new();
    let mut known = false;
    for (object, &id) in monitor.objects.iter().enumerate() {
        let attribute = bandwidth(input, id).filter(|_| !cache);
        let limit = attribute.unwrap_or(most);
        let full = |frame: usize| rates[object][frame].filter(|&rate| rate >= SATURATED * limit);
        let slow = match (attribute, own) {
            (Some(_), _) => {
                known = true;
                vec![true; input.frames.len()]
            }
            (None, Some(own)) => slowed(input, own, id, &rates[object], limit),
            (None, None) => continue,
        };
        let holds: Vec<_> = (0..input.frames.len())
            .map(|at| full(at).filter(|_| slow[at]).map(|rate| rate / limit))
            .collect();
        spans.extend(longest(input, id, &holds));
    }
    let kind = if cache { HintKind::SaturatedCache } else { HintKind::SaturatedMemory };
    let hint = |span: super::extent::Span| {
        let share = percent(span.figure);
        let unit = if monitor.unit.ends_with("/s") {
            monitor.unit.clone()
        } else {
            format!("{}/s", monitor.unit)
        };
        let against = if known { "what the memory can do" } else { "the most seen here" };
        let then = if known { "" } else { ", while those who share it slow down" };
        let sentence = format!(
            "{} {} at {share} of {against}{} ({}) {}{then}.",
            input.names(&span.objects),
            if span.objects.len() == 1 { "is" } else { "are" },
            if known { String::new() } else { format!(", {}", amount(most, &unit)) },
            monitor.name,
            input.lasting(&span),
        );
        let excess = (span.figure - SATURATED) / (1.0 - SATURATED);
        input.hint(kind, span, share, 1.0 + excess, sentence)
    };
    together(spans).into_iter().map(hint).collect()
}

/// Maximum B/s of a NUMA node's memory, by the topology's memory attribute in MB/s; the maximum of
/// all initiators.
fn bandwidth(input: &Input<'_>, node: ObjectId) -> Option<f64> {
    let is = |name: &str| {
        name.eq_ignore_ascii_case("Bandwidth") || name.eq_ignore_ascii_case("ReadBandwidth")
    };
    let attributes = input.topology.memory_attributes.iter().filter(|one| is(&one.name));
    let values = attributes.flat_map(|one| &one.values).filter(|one| one.0 == node);
    values.map(|one| one.2 as f64 * 1e6).reduce(f64::max).filter(|&most| most > 0.0)
}

/// Frames in which the users of the object are clearly slower than while it was little used.
fn slowed(
    input: &Input<'_>,
    own: usize,
    shared: ObjectId,
    rates: &[Option<f64>],
    limit: f64,
) -> Vec<bool> {
    let inside = &input.topology.get(shared).cpuset;
    let users: Vec<usize> = (input.monitors[own].objects.iter().enumerate())
        .filter(|(_, id)| {
            let set = input.topology.objects.get(id.0 as usize).map(|one| &one.cpuset);
            set.and_then(crate::CpuSet::first).is_some_and(|pu| inside.contains(pu))
        })
        .map(|(at, _)| at)
        .collect();
    let mean = |frame: usize| {
        let all = users.iter().filter_map(|&user| input.rate(own, frame, user));
        // Idle users do not share it.
        let (sum, count) =
            all.filter(|&rate| rate > 0.0).fold((0.0, 0_usize), |(s, n), rate| (s + rate, n + 1));
        (count > 0).then(|| sum / count as f64)
    };
    let means: Vec<Option<f64>> = (0..rates.len()).map(mean).collect();
    let little = |at: usize| rates[at].is_some_and(|rate| rate < LITTLE * limit);
    let mut before: Vec<f64> =
        (0..rates.len()).filter(|&at| little(at)).filter_map(|at| means[at]).collect();
    if before.len() < super::spans::LEAST_FRAMES {
        return vec![false; rates.len()];
    }
    before.sort_by(f64::total_cmp);
    let usual = before[before.len() / 2];
    means.iter().map(|mean| mean.is_some_and(|mean| mean <= SLOWED * usual)).collect()
}

/// Pages on another node than their users.
pub(super) fn remote(input: &Input<'_>) -> Vec<Hint> {
    const PAIRS: [(&str, &str, &str); 3] = [
        ("numa:other", "numa:local", "is given to programs on other nodes"),
        ("numa:foreign", "numa:hit", "that was wanted here is on other nodes"),
        ("numa:miss", "numa:hit", "was wanted on other nodes"),
    ];
    let node = ObjectKind::NumaNode;
    for (far, near, words) in PAIRS {
        let alone =
            |counter: &str| input.find(|one| input.at(one, node) && one.counter.trim() == counter);
        let ratio = input
            .find(|one| input.at(one, node) && mentions(one, far) && one.counter.contains('/'));
        let (monitor, near) = match (alone(far), alone(near), ratio) {
            (Some(far), Some(near), _) => (far, Some(near)),
            (_, _, Some(ratio)) => (ratio, None),
            _ => continue,
        };
        let share = |frame: usize, object: usize| {
            let Some(near) = near else {
                let value = input.rate(monitor, frame, object)?;
                return Some(if input.monitors[monitor].unit == "%" {
                    value / 100.0
                } else {
                    value
                });
            };
            let pages =
                |number: usize| input.frames[frame].values.get(number)?.get(object).copied();
            let (far, near) = (pages(monitor)?, pages(near)?);
            (far + near >= LEAST_PAGES).then(|| far / (far + near))
        };
        let mut spans = Vec::new();
        for (object, &id) in input.monitors[monitor].objects.iter().enumerate() {
            let holds: Vec<_> = (0..input.frames.len())
                .map(|at| share(at, object).filter(|&share| share > REMOTE))
                .collect();
            spans.extend(longest(input, id, &holds));
        }
        let hint = |span: super::extent::Span| {
            let figure = percent(span.figure);
            let names = input.names(&span.objects);
            let sentence =
                format!("{figure} of the memory of {names} {words}, {}.", input.lasting(&span));
            let excess = (span.figure - REMOTE) / REMOTE / 4.0;
            input.hint(HintKind::RemoteMemory, span, figure, excess, sentence)
        };
        let found: Vec<Hint> = together(spans).into_iter().map(hint).collect();
        // The three show the same from different sides: one is enough.
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

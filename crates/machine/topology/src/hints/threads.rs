//! Threads at the wrong places: sharing a core or a PU while others are idle, bound too narrowly,
//! unused cores.
//!
//! Owns the comparison of actual and possible places of threads. Idle PUs count only where a thread
//! is allowed to use them.

use std::collections::{BTreeMap, BTreeSet};

use super::extent::Span;
use super::inputs::{BUSY, Busy, IDLE, Input};
use super::spans::{longest, together};
use super::{Hint, HintKind, PlacementSample};
use crate::cpuset::CpuSet;
use crate::objects::ObjectId;

/// Minimum share of allowed cores that are unused for a sentence.
pub(super) const UNUSED: f64 = 0.1;

/// All PUs that a running thread may use; `None` if there is none.
fn allowed(sample: Option<&PlacementSample>) -> Option<CpuSet> {
    let mut set = CpuSet::default();
    for thread in sample?.threads.iter().filter(|thread| thread.running) {
        thread.allowed.iter().for_each(|pu| set.insert(pu));
    }
    (!set.is_empty()).then_some(set)
}

fn os_index(input: &Input<'_>, pu: ObjectId) -> usize {
    input.topology.get(pu).os_index.unwrap_or(u32::MAX) as usize
}

/// Number of idle cores with a PU that may be used.
fn idle_cores(input: &Input<'_>, busy: &Busy, frame: usize, allowed: Option<&CpuSet>) -> usize {
    let idle = |pus: &&Vec<ObjectId>| {
        pus.iter().all(|&pu| busy.get(frame, pu).is_some_and(|share| share <= IDLE))
            && pus.iter().any(|&pu| allowed.is_none_or(|set| set.contains(os_index(input, pu))))
    };
    input.cores.values().filter(idle).count()
}

/// Hardware threads of one core are busy while whole cores are idle.
pub(super) fn siblings(input: &Input<'_>) -> Vec<Hint> {
    let Some(busy) = input.busy() else { return Vec::new() };
    let samples = input.samples();
    let idle: Vec<usize> = (samples.iter().enumerate())
        .map(|(frame, sample)| idle_cores(input, &busy, frame, allowed(*sample).as_ref()))
        .collect();
    let mut spans = Vec::new();
    for (&core, pus) in input.cores.iter().filter(|(_, pus)| pus.len() > 1) {
        let crowded = |frame: usize| {
            let active = |pu: &&ObjectId| busy.get(frame, **pu).is_some_and(|share| share >= BUSY);
            let count = pus.iter().filter(active).count();
            (count > 1 && idle[frame] > 0).then_some(idle[frame] as f64)
        };
        let holds: Vec<_> = (0..idle.len()).map(crowded).collect();
        spans.extend(longest(input, core, &holds));
    }
    let hint = |span: Span| {
        let cores = span.objects.len();
        let idle = span.figure.round();
        let figure = format!("{idle:.0} idle cores");
        let sentence = format!(
            "{} run{} several busy hardware threads while {idle:.0} core{} {}, {}.",
            input.names(&span.objects),
            if cores == 1 { "s" } else { "" },
            if idle < 1.5 { " is" } else { "s are" },
            // Other programs may use them: only threads of the program are watched.
            if input.placement.is_empty() { "idle" } else { "not used by the program" },
            input.lasting(&span)
        );
        let excess = 0.5 + idle.min(cores as f64) / input.cores.len().max(1) as f64;
        input.hint(HintKind::SmtSiblings, span, figure, excess, sentence)
    };
    together(spans).into_iter().map(hint).collect()
}

/// Several threads want one PU while none of the program uses another one. Other programs may: only
/// its threads are watched.
pub(super) fn queues(input: &Input<'_>) -> Vec<Hint> {
    let samples = input.samples();
    // For each PU that ever has a queue, the number of its threads in each frame in which that is
    // needless.
    let mut crowded: BTreeMap<ObjectId, Vec<Option<f64>>> = BTreeMap::new();
    let mut idle_most = 0;
    for (frame, sample) in samples.iter().enumerate() {
        let Some(sample) = sample else { continue };
        let mut at: BTreeMap<u32, Vec<&super::ThreadAt>> = BTreeMap::new();
        for thread in sample.threads.iter().filter(|thread| thread.running) {
            at.entry(thread.pu).or_default().push(thread);
        }
        for (pu, threads) in at.iter().filter(|(_, threads)| threads.len() > 1) {
            let free = |one: &u32| {
                !at.contains_key(one)
                    && threads.iter().any(|thread| thread.allowed.contains(*one as usize))
            };
            let idle = input.pus.keys().filter(|one| free(one)).count();
            let Some(&id) = input.pus.get(pu).filter(|_| idle > 0) else { continue };
            idle_most = idle_most.max(idle);
            crowded.entry(id).or_insert_with(|| vec![None; samples.len()])[frame] =
                Some(threads.len() as f64);
        }
    }
    let spans = crowded.iter().filter_map(|(&id, holds)| longest(input, id, holds)).collect();
    let hint = |span: Span| {
        let figure = format!("{:.1} threads", span.figure);
        let other = match idle_most {
            1 => "another PU".to_owned(),
            _ => format!("up to {idle_most} other PUs"),
        };
        let sentence = format!(
            "{} {} {:.1} running threads while no thread of the program runs on {other} that they may use, {}.",
            input.names(&span.objects),
            if span.objects.len() == 1 { "has" } else { "have up to" },
            span.figure,
            input.lasting(&span)
        );
        let excess = span.figure - 1.0;
        input.hint(HintKind::RunQueue, span, figure, excess, sentence)
    };
    together(spans).into_iter().map(hint).collect()
}

/// Threads of one process that may all use the same single PU only.
pub(super) fn bound(input: &Input<'_>) -> Vec<Hint> {
    if input.pus.len() < 2 {
        return Vec::new();
    }
    let samples = input.samples();
    // For each process and PU the number of threads that are bound there.
    let mut stuck: BTreeMap<(u32, u32), Vec<Option<f64>>> = BTreeMap::new();
    let mut labels: BTreeMap<u32, &str> = BTreeMap::new();
    for (frame, sample) in samples.iter().enumerate() {
        let mut counts: BTreeMap<(u32, u32), (usize, usize)> = BTreeMap::new();
        for thread in sample.iter().flat_map(|sample| &sample.threads) {
            if thread.allowed.len() != 1 {
                continue;
            }
            let Some(pu) = thread.allowed.first() else { continue };
            let count = counts.entry((thread.pid, pu as u32)).or_default();
            count.0 += 1;
            count.1 += usize::from(thread.running);
            labels.entry(thread.pid).or_insert(&thread.label);
        }
        for (key, (threads, running)) in counts {
            // One working thread and others that wait for it do not need more.
            if threads > 1 && running > 1 {
                stuck.entry(key).or_insert_with(|| vec![None; samples.len()])[frame] =
                    Some(threads as f64);
            }
        }
    }
    let mut out = Vec::new();
    for ((pid, pu), holds) in &stuck {
        let Some(&id) = input.pus.get(pu) else { continue };
        let Some(span) = longest(input, id, holds) else { continue };
        let figure = format!("{:.0} threads", span.figure);
        let sentence = format!(
            "{:.0} threads of process {pid} ({}) may only use {} of {} PUs, {}.",
            span.figure,
            labels.get(pid).copied().unwrap_or_default(),
            input.topology.label(id),
            input.pus.len(),
            input.lasting(&span)
        );
        out.push(input.hint(HintKind::BoundToOne, span, figure, 1.5, sentence));
    }
    out
}

/// Cores that threads may use, but none does, over the whole recording.
pub(super) fn unused(input: &Input<'_>) -> Vec<Hint> {
    let samples = input.samples();
    let sets: Vec<CpuSet> = samples.iter().filter_map(|sample| allowed(*sample)).collect();
    if sets.len() < super::spans::LEAST_FRAMES {
        return Vec::new();
    }
    let may: BTreeSet<usize> = sets.iter().flat_map(CpuSet::iter).collect();
    let mut used: BTreeSet<ObjectId> = BTreeSet::new();
    for thread in
        samples.iter().flatten().flat_map(|sample| &sample.threads).filter(|thread| thread.running)
    {
        used.extend(input.pus.get(&thread.pu));
    }
    if let Some(busy) = input.busy() {
        let active = |pu: ObjectId| {
            (0..input.frames.len()).any(|at| busy.get(at, pu).is_some_and(|share| share > IDLE))
        };
        used.extend(input.pus.values().copied().filter(|&pu| active(pu)));
    }
    let possible = |pus: &&Vec<ObjectId>| pus.iter().any(|&pu| may.contains(&os_index(input, pu)));
    let all = input.cores.values().filter(possible).count();
    let idle: Vec<ObjectId> = (input.cores.iter())
        .filter(|(_, pus)| possible(pus) && !pus.iter().any(|pu| used.contains(pu)))
        .map(|(&core, _)| core)
        .collect();
    if idle.is_empty() || (idle.len() as f64) < UNUSED * all as f64 {
        return Vec::new();
    }
    let share = idle.len() as f64 / all as f64;
    let figure = format!("{} of {all} cores", idle.len());
    let sentence = format!(
        "The threads never use {} of {all} cores that they may use: {}.",
        idle.len(),
        input.names(&idle)
    );
    let span = Span { objects: idle, frames: 0..input.frames.len(), share: 1.0, figure: share };
    // It may be the user's intention: below all findings that certainly cost time.
    let mut hint = input.hint(HintKind::UnusedCores, span, figure, 0.0, sentence);
    hint.weight = 0.5 * share;
    vec![hint]
}

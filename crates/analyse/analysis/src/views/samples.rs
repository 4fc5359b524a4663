//! Samples of processes by function and line.
//!
//! Owns the counting: a sample counts for the function that it is in, inlined or not, and once for
//! each of the functions that led there.

use std::collections::{BTreeMap, BTreeSet};

use talea_model::{Frame, ResolvedFrame};
use talea_results::views::{
    FunctionSamples, LineSamples, PhaseCounts, SampleRow, SampledThread, SamplesData,
};
use talea_run::sampled::SampleSites;
use talea_run::samples::{PhaseKind, ProcessSamples, Stacks, ThreadSamples, Unwinding};

/// Functions and lines of a process.
#[derive(Debug, Default)]
struct Places {
    functions: Vec<FunctionSamples>,
    lines: Vec<LineSamples>,
}

/// Samples of a process, which has this number in `sites`.
pub fn samples(process: &ProcessSamples, number: usize, sites: &SampleSites) -> SamplesData {
    let Places { functions, lines } = places(process, |frame| sites.frames(number, frame));
    let sum = |of: fn(&ThreadSamples) -> u64| process.threads.iter().map(of).sum::<u64>();
    SamplesData {
        rank: process.world.map(|world| world.rank),
        world: process.world.map(|world| world.id),
        host: process.host.clone(),
        pid: process.pid,
        command: process.command.clone(),
        trigger: process.trigger.counter.clone(),
        period: process.trigger.period,
        unwinding: match process.unwinding {
            Unwinding::Dwarf => "dwarf",
            Unwinding::FramePointers => "fp",
        },
        seconds: (process.end - process.begin).seconds(),
        complete: process.complete,
        counters: process.counters.iter().map(|counter| counter.name.clone()).collect(),
        sets: process.sets.clone(),
        samples: process.samples() as u64,
        lost_samples: sum(|thread| thread.lost_samples),
        probes: sum(|thread| thread.probes.series.len() as u64),
        lost_probes: sum(|thread| thread.lost_probes),
        phases: phases(process),
        lost_phases: sum(|thread| thread.lost_phases),
        threads: process.threads.iter().map(thread).collect(),
        functions,
        lines,
        gaps: process.gaps.clone(),
    }
}

/// Single samples of a process, which has this number in `sites`: threads one after the other, each
/// by time.
pub fn rows<'a>(
    process: &'a ProcessSamples,
    number: usize,
    sites: &'a SampleSites,
) -> impl Iterator<Item = SampleRow> + 'a {
    let stack = move |stack: u32| -> Vec<ResolvedFrame> {
        let of_frame = |frame| match sites.frames(number, frame) {
            [] => vec![nowhere(process, frame)],
            frames => frames.to_vec(),
        };
        process.stacks.frames(stack).flat_map(of_frame).collect()
    };
    process.threads.iter().flat_map(move |thread| {
        let series = thread.samples.series.times.iter().zip(&thread.samples.stacks);
        series.map(move |(&time_ns, &at)| {
            let frames = stack(at);
            let name = |frame: &ResolvedFrame| {
                frame.function.clone().unwrap_or_else(|| frame.address.clone())
            };
            let first = frames.first();
            SampleRow {
                rank: process.world.map(|world| world.rank),
                host: process.host.clone(),
                pid: process.pid,
                tid: thread.tid,
                thread: thread.number,
                time_ns,
                function: first.map(name),
                file: first.and_then(|frame| frame.file.clone()),
                line: first.and_then(|frame| frame.line),
                stack: frames.iter().map(name).collect(),
            }
        })
    })
}

fn thread(thread: &ThreadSamples) -> SampledThread {
    SampledThread {
        tid: thread.tid,
        name: thread.name.clone(),
        number: thread.number,
        samples: thread.samples.series.len(),
        probes: thread.probes.series.len(),
        lost_samples: thread.lost_samples,
        lost_probes: thread.lost_probes,
        phases: thread.phases.series.len(),
        lost_phases: thread.lost_phases,
    }
}

/// Counts samples by function and by line; `frames` gives the places in the source of an address.
fn places<'a>(process: &ProcessSamples, frames: impl Fn(Frame) -> &'a [ResolvedFrame]) -> Places {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for thread in &process.threads {
        for &stack in &thread.samples.stacks {
            *counts.entry(stack).or_default() += 1;
        }
    }
    let mut functions: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut lines: BTreeMap<(String, Option<String>, Option<u32>), u64> = BTreeMap::new();
    for (&stack, &count) in &counts {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        if stack == Stacks::UNKNOWN {
            functions.entry("(unknown)".to_owned()).or_default().0 += count;
            seen.insert("(unknown)".to_owned());
        }
        for (depth, frame) in process.stacks.frames(stack).enumerate() {
            let nowhere = [nowhere(process, frame)];
            let frames =
                Some(frames(frame)).filter(|frames| !frames.is_empty()).unwrap_or(&nowhere);
            for (inline, place) in frames.iter().enumerate() {
                let name = place.function.clone().unwrap_or_else(|| place.address.clone());
                if depth == 0 && inline == 0 {
                    functions.entry(name.clone()).or_default().0 += count;
                    let key = (name.clone(), place.file.clone(), place.line);
                    *lines.entry(key).or_default() += count;
                }
                seen.insert(name);
            }
        }
        for name in seen {
            functions.entry(name).or_default().1 += count;
        }
    }
    let all = process.samples().max(1) as f64;
    let mut functions: Vec<FunctionSamples> = functions
        .into_iter()
        .map(|(function, (own, total))| FunctionSamples {
            function,
            own,
            self_share: own as f64 / all,
            total,
            total_share: total as f64 / all,
        })
        .collect();
    functions.sort_by_key(|function| std::cmp::Reverse((function.own, function.total)));
    let mut lines: Vec<LineSamples> = lines
        .into_iter()
        .map(|((function, file, line), samples)| LineSamples {
            function,
            file,
            line,
            samples,
            share: samples as f64 / all,
        })
        .collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.samples));
    Places { functions, lines }
}

/// An address without a known function or line.
fn nowhere(process: &ProcessSamples, frame: Frame) -> ResolvedFrame {
    let offset = frame.offset.saturating_sub(1);
    let address = match process.modules.get(frame.module as usize) {
        Some(module) => {
            let name = module.path.rsplit('/').next().unwrap_or(&module.path);
            format!("{name}+{offset:#x}")
        }
        None => format!("{offset:#x}"),
    };
    ResolvedFrame { address, ..ResolvedFrame::default() }
}

/// The phases of a process, those that were entered most first.
fn phases(process: &ProcessSamples) -> Vec<PhaseCounts> {
    let mut found: BTreeMap<&str, PhaseCounts> = BTreeMap::new();
    for phases in process.threads.iter().map(|thread| &thread.phases) {
        for (at, (&phase, &kind)) in phases.phases.iter().zip(&phases.kinds).enumerate() {
            let name = process.phases.get(phase as usize).map_or("(unknown)", String::as_str);
            let one = found.entry(name).or_default();
            one.entered += u64::from(kind == PhaseKind::Enter);
            one.left += u64::from(kind == PhaseKind::Leave);
            // An instance's end has counters only where its begin has; it has none, or those of
            // another set, where the set changed meanwhile.
            let counted = kind == PhaseKind::Leave && !phases.series.row(at).is_empty();
            one.counted += u64::from(counted);
        }
    }
    let named = |(name, one): (&str, PhaseCounts)| PhaseCounts { phase: name.to_owned(), ..one };
    let mut all: Vec<PhaseCounts> = found.into_iter().map(named).collect();
    // Stable: those that were entered as often stay in the order of their names.
    all.sort_by_key(|one| std::cmp::Reverse(one.entered));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_entered_most_come_first() {
        let mut thread = ThreadSamples::default();
        for (phase, entered) in [(0, 1), (1, 1), (2, 3)] {
            for kind in [PhaseKind::Enter, PhaseKind::Leave].repeat(entered) {
                thread.phases.phases.push(phase);
                thread.phases.kinds.push(kind);
            }
        }
        let process = ProcessSamples {
            phases: ["one", "two", "three"].map(str::to_owned).into(),
            threads: vec![thread],
            ..ProcessSamples::default()
        };
        let found: Vec<(String, u64)> =
            phases(&process).into_iter().map(|one| (one.phase, one.entered)).collect();
        let expected = [("three", 3), ("one", 1), ("two", 1)];
        assert_eq!(found, expected.map(|(name, entered)| (name.to_owned(), entered)));
    }
}

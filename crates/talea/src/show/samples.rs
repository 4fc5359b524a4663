//! `talea show RUN samples`: functions and lines where threads spent their time.
//!
//! Owns the counting and the public keys of its JSON. A sample counts for the function that it is in, inlined or not, and once for each of
//! the functions that led there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json as object};
use talea_model::{Frame, Rank, ResolvedFrame};
use talea_run::RunDirectory;
use talea_run::samples::{self, PhaseKind, ProcessSamples, Stacks, Unwinding};

use super::{Format, ShowError, joined, json};
use crate::table::{Column, Table};
use crate::terminal::{prose, wrapped};
use talea_run::load::LoadError;
use talea_run::sampled::SampleSites;

/// Rows of a table in text.
const SHOWN: usize = 20;

#[derive(Debug, Default, Serialize)]
struct InFunction {
    function: String,
    #[serde(rename = "self")]
    own: u64,
    self_share: f64,
    total: u64,
    total_share: f64,
}

#[derive(Debug, Serialize)]
struct AtLine {
    function: String,
    file: Option<String>,
    line: Option<u32>,
    samples: u64,
    share: f64,
}

/// Where a process was.
#[derive(Debug, Default)]
struct Places {
    functions: Vec<InFunction>,
    lines: Vec<AtLine>,
}

/// The view's text.
pub(super) fn show(run: &Path, rank: Option<Rank>, format: Format) -> Result<String, ShowError> {
    let directory = RunDirectory::open(run).map_err(LoadError::from)?;
    let all = samples::load(&directory);
    if all.processes.is_empty() && all.gaps.is_empty() {
        return Err(ShowError::NoSamples(run.to_owned()));
    }
    let sites = SampleSites::load(&directory, &all);
    let mut shown: Vec<(&ProcessSamples, Places)> = Vec::new();
    for (number, process) in all.processes.iter().enumerate() {
        if rank.is_none_or(|rank| process.world.is_some_and(|world| world.rank == rank)) {
            let frames = |frame| sites.frames(number, frame);
            shown.push((process, places(process, frames)));
        }
    }
    if let (Some(rank), true) = (rank, shown.is_empty()) {
        let ranks = all.processes.iter().filter_map(|process| Some(process.world?.rank.0));
        let known = talea_analysis::classes::ranges(ranks.collect::<BTreeSet<_>>());
        return Err(ShowError::Rank { rank, known, path: run.to_owned() });
    }
    if format == Format::Json {
        let rows = shown.iter().map(|(process, places)| described(process, places));
        return Ok(json(&rows.collect::<Vec<Value>>()));
    }
    let mut lines = Vec::new();
    for (process, places) in &shown {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        text(process, places, &mut lines);
    }
    let gaps = all.gaps.iter().flat_map(|gap| wrapped(&format!("gap: {}", gap.detail), prose()));
    lines.extend(gaps);
    Ok(joined(lines))
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
    let mut functions: Vec<InFunction> = functions
        .into_iter()
        .map(|(function, (own, total))| InFunction {
            function,
            own,
            self_share: own as f64 / all,
            total,
            total_share: total as f64 / all,
        })
        .collect();
    functions.sort_by_key(|function| std::cmp::Reverse((function.own, function.total)));
    let mut lines: Vec<AtLine> = lines
        .into_iter()
        .map(|((function, file, line), samples)| AtLine {
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

/// An address of which nothing more is known.
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

fn described(process: &ProcessSamples, places: &Places) -> Value {
    let counters: Vec<&str> = process.counters.iter().map(|c| c.name.as_str()).collect();
    let threads: Vec<Value> = process
        .threads
        .iter()
        .map(|thread| {
            object!({
                "tid": thread.tid,
                "name": thread.name,
                "number": thread.number,
                "samples": thread.samples.series.len(),
                "probes": thread.probes.series.len(),
                "lost_samples": thread.lost_samples,
                "lost_probes": thread.lost_probes,
                "phases": thread.phases.series.len(),
                "lost_phases": thread.lost_phases,
            })
        })
        .collect();
    let sum = |of: fn(&samples::ThreadSamples) -> u64| process.threads.iter().map(of).sum::<u64>();
    object!({
        "rank": process.world.map(|world| world.rank.0),
        "world": process.world.map(|world| world.id),
        "host": process.host,
        "pid": process.pid,
        "command": process.command,
        "trigger": process.trigger.counter,
        "period": process.trigger.period,
        "unwinding": unwinding(process),
        "seconds": (process.end - process.begin).seconds(),
        "complete": process.complete,
        "counters": counters,
        "sets": process.sets,
        "samples": process.samples(),
        "lost_samples": sum(|thread| thread.lost_samples),
        "probes": sum(|thread| thread.probes.series.len() as u64),
        "lost_probes": sum(|thread| thread.lost_probes),
        "phases": marked(process),
        "lost_phases": sum(|thread| thread.lost_phases),
        "threads": threads,
        "functions": places.functions,
        "lines": places.lines,
        "gaps": process.gaps,
    })
}

/// What was recorded of one phase in all threads of a process.
#[derive(Debug, Default, Serialize)]
struct Marked {
    phase: String,
    entered: u64,
    left: u64,
    counted: u64,
}

/// The phases of a process, those that were entered most first.
fn marked(process: &ProcessSamples) -> Vec<Marked> {
    let mut found: BTreeMap<&str, Marked> = BTreeMap::new();
    for phases in process.threads.iter().map(|thread| &thread.phases) {
        for (at, (&phase, &kind)) in phases.phases.iter().zip(&phases.kinds).enumerate() {
            let name = process.phases.get(phase as usize).map_or("(unknown)", String::as_str);
            let one = found.entry(name).or_default();
            one.entered += u64::from(kind == PhaseKind::Enter);
            one.left += u64::from(kind == PhaseKind::Leave);
            // An instance's end has counters only where its begin has; it has none, or those of another set, where the set changed meanwhile.
            let counted = kind == PhaseKind::Leave && !phases.series.row(at).is_empty();
            one.counted += u64::from(counted);
        }
    }
    let named = |(name, one): (&str, Marked)| Marked { phase: name.to_owned(), ..one };
    let mut all: Vec<Marked> = found.into_iter().map(named).collect();
    // Stable: those that were entered as often stay in the order of their names.
    all.sort_by_key(|one| std::cmp::Reverse(one.entered));
    all
}

fn unwinding(process: &ProcessSamples) -> &'static str {
    match process.unwinding {
        Unwinding::Dwarf => "dwarf",
        Unwinding::FramePointers => "fp",
    }
}

fn text(process: &ProcessSamples, places: &Places, lines: &mut Vec<String>) {
    let who = match process.world {
        Some(world) => format!("rank {}", world.rank),
        None => process.command.first().cloned().unwrap_or_default(),
    };
    let with = process.threads.iter().filter(|thread| !thread.samples.series.is_empty()).count();
    let trigger = &process.trigger;
    let clock = trigger.counter == "task-clock";
    let every = if clock {
        format!("every {} of a thread's time", talea_model::Nanos(trigger.period))
    } else {
        format!("every {} {}", trigger.period, trigger.counter)
    };
    let (host, pid, samples) = (&process.host, process.pid, process.samples());
    let s = if with == 1 { "" } else { "s" };
    let line = format!("{who} ({host}, pid {pid}): {samples} samples of {with} thread{s}, {every}");
    lines.extend(wrapped(&line, prose()));
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let mut table = Table::new(&[
        ("self", Column::Right),
        ("with calls", Column::Right),
        ("samples", Column::Right),
        ("function", Column::Yields),
    ]);
    for function in places.functions.iter().take(SHOWN) {
        table.row([
            percent(function.self_share),
            percent(function.total_share),
            function.own.to_string(),
            function.function.clone(),
        ]);
    }
    lines.extend(table.lines());
    lines.push(String::new());
    let mut table = Table::new(&[
        ("share", Column::Right),
        ("samples", Column::Right),
        ("line", Column::Left),
        ("function", Column::Yields),
    ]);
    for line in places.lines.iter().filter(|line| line.file.is_some()).take(SHOWN) {
        let file = line.file.as_deref().unwrap_or_default();
        let file = file.rsplit('/').next().unwrap_or(file);
        let number = line.line.map_or_else(|| "?".to_owned(), |line| line.to_string());
        table.row([
            percent(line.share),
            line.samples.to_string(),
            format!("{file}:{number}"),
            line.function.clone(),
        ]);
    }
    lines.extend(table.lines());
    let marked = marked(process);
    if marked.is_empty() {
        return;
    }
    lines.push(String::new());
    let mut table = Table::new(&[
        ("entered", Column::Right),
        ("left", Column::Right),
        ("with counters", Column::Right),
        ("phase", Column::Yields),
    ]);
    let more = marked.len().saturating_sub(SHOWN);
    for one in marked.into_iter().take(SHOWN) {
        let numbers = [one.entered, one.left, one.counted].map(|number| number.to_string());
        let [entered, left, counted] = numbers;
        table.row([entered, left, counted, one.phase]);
    }
    lines.extend(table.lines());
    if more > 0 {
        let s = if more == 1 { "" } else { "s" };
        lines.push(format!("and {more} phase{s} more; all of them with --json"));
    }
}

#[cfg(test)]
mod tests {
    use talea_run::samples::ThreadSamples;

    use super::*;

    #[test]
    fn phases_that_were_entered_most_are_shown_and_the_others_counted() {
        let mut thread = ThreadSamples::default();
        for phase in 0..SHOWN as u32 + 2 {
            let entered = if phase == 21 { 3 } else { 1 };
            for kind in [PhaseKind::Enter, PhaseKind::Leave].repeat(entered) {
                thread.phases.phases.push(phase);
                thread.phases.kinds.push(kind);
            }
        }
        let process = ProcessSamples {
            phases: (0..SHOWN + 2).map(|phase| format!("phase {phase:02}")).collect(),
            threads: vec![thread],
            ..ProcessSamples::default()
        };
        let mut lines = Vec::new();
        text(&process, &Places::default(), &mut lines);
        let rows: Vec<&String> = lines.iter().filter(|line| line.contains(" phase ")).collect();
        assert_eq!(rows.len(), SHOWN);
        assert!(rows[0].ends_with("phase 21") && rows[1].ends_with("phase 00"), "{lines:?}");
        assert_eq!(lines.last().unwrap(), "and 2 phases more; all of them with --json");
    }
}

//! `talea show RUN collection`: iterations that smart collection kept or would keep.
//!
//! Owns the lines; the figures are `talea_analysis::views`'.

use std::path::Path;

use talea_analysis::Analysis;
use talea_analysis::location::ThreadAt;
use talea_analysis::views::{self, Plan, ViewError};
use talea_model::Nanos;
use talea_model::notation::grouped;
use talea_report::data::collection::{CollectionData, GroupData, PhaseData, TotalData};

use super::{Format, joined, json};
use crate::table::{Column, Table};
use crate::terminal::{blocks, prose, wrapped};

/// Maximum number of phases and of call sites in the text.
const SHOWN: usize = 12;

/// The view's text; `path` is the run's name in errors.
pub(super) fn show(
    analysis: &Analysis<'_>,
    path: &Path,
    (thread, plan): (Option<ThreadAt>, Plan),
    format: Format,
) -> Result<String, ViewError> {
    let largest = || analysis.classes.first().map(|class| class.representative);
    let Some(thread) = thread.or_else(largest) else {
        return Ok(joined(["no thread with calls".to_owned()]));
    };
    let collection = views::collection(analysis, thread, plan)
        .map_err(|source| ViewError::Growth { source, path: path.to_owned() })?;
    Ok(if format == Format::Json { json(&collection) } else { text(&collection) })
}

fn text(collection: &CollectionData) -> String {
    let CollectionData { rank, iterations, kept, events, kept_events, .. } = collection;
    if collection.phases.is_empty() {
        let none = format!("rank {rank} has no loop, so that there are no iterations to keep");
        return joined([none].into_iter().chain(durations(&collection.history)));
    }
    let steady = match collection.steady_at_ns {
        Some(at) => format!("its structure was known to be steady at {at}"),
        None => "its structure never became steady".to_owned(),
    };
    let part = *kept_events as f64 / (*events).max(1) as f64;
    let mut lines = wrapped(
        &format!(
            "rank {rank}: {} of {} iterations {} kept, {} of {} calls ({:.2} %)",
            grouped(*kept),
            grouped(*iterations),
            if collection.smart { "were" } else { "would be" },
            grouped(*kept_events),
            grouped(*events),
            part * 100.0
        ),
        prose(),
    );
    lines.push(steady);
    lines.extend(durations(&collection.history));
    lines.push(String::new());
    let mut phases = Table::new(&[
        ("iterations", Column::Right),
        ("first", Column::Right),
        ("last", Column::Right),
        ("time", Column::Right),
        ("kept", Column::Yields),
    ]);
    for phase in collection.phases.iter().take(SHOWN) {
        phases.row([
            grouped(phase.iterations),
            phase.first.to_string(),
            phase.last.to_string(),
            phase.time_ns.to_string(),
            numbers(phase),
        ]);
    }
    lines.extend(phases.lines());
    lines.extend(more(collection.phases.len()));
    if collection.phases.iter().any(|phase| phase.mixed) {
        let kinds = collection.phases.len();
        lines.push(format!("iterations of further kinds are counted with kind {kinds}"));
    }
    lines.push(String::new());
    if collection.smart {
        lines.extend(sums(&collection.totals));
        return joined(lines);
    }
    let mut totals = Table::new(&[
        ("estimate", Column::Right),
        ("95 % interval", Column::Right),
        ("recorded", Column::Right),
        ("error", Column::Right),
        ("call site", Column::Place),
    ]);
    for total in collection.totals.iter().take(SHOWN) {
        totals.row(estimate(total));
    }
    lines.extend(totals.lines());
    lines.extend(more(collection.totals.len()));
    joined(lines)
}

/// Mean and maximum durations of iterations over time.
fn durations(history: &[GroupData]) -> Vec<String> {
    const NAME: usize = 6;
    const VALUE: usize = 18;
    if history.len() < 2 {
        return Vec::new();
    }
    let width = prose().saturating_sub(NAME + VALUE).clamp(10, history.len().max(10));
    let columns: Vec<&[GroupData]> = history.chunks(history.len().div_ceil(width)).collect();
    let sum = |groups: &[GroupData], of: fn(&GroupData) -> u64| {
        groups.iter().fold(0_u64, |sum, group| sum.saturating_add(of(group)))
    };
    let mean = |groups: &[GroupData]| {
        sum(groups, |one| one.time_ns.0) as f64 / sum(groups, |one| one.iterations).max(1) as f64
    };
    let longest = |groups: &[GroupData]| groups.iter().map(|one| one.max_ns.0).max().unwrap_or(0);
    let row = |name: &str, value: &dyn Fn(&[GroupData]) -> f64, all: Nanos| {
        let values: Vec<f64> = columns.iter().map(|groups| value(groups)).collect();
        format!("{name:<NAME$}{}  {all}", blocks(&values, values.len()))
    };
    vec![
        String::new(),
        "Durations of iterations over time, mean and maximum:".to_owned(),
        row("mean", &mean, Nanos(mean(history) as u64)),
        row("max", &|groups| longest(groups) as f64, Nanos(longest(history))),
    ]
}

/// Exact times of call sites.
fn sums(totals: &[TotalData]) -> Vec<String> {
    let mut table = Table::new(&[("time in the run", Column::Right), ("call site", Column::Place)]);
    for total in totals.iter().take(SHOWN) {
        table.row([total.time_ns.to_string(), total.site.clone()]);
    }
    let mut lines = table.lines();
    lines.extend(more(totals.len()));
    lines
}

fn numbers(phase: &PhaseData) -> String {
    let numbers: Vec<String> = phase.kept.iter().take(SHOWN).map(u64::to_string).collect();
    let left = phase.kept.len().saturating_sub(SHOWN);
    let more = if left > 0 { format!(" and {} more", grouped(left as u64)) } else { String::new() };
    numbers.join(" ") + &more
}

fn estimate(total: &TotalData) -> [String; 5] {
    let nanos = |value: f64| Nanos(value.max(0.0).round() as u64);
    // The begin is cut at zero.
    let half = total.high_ns - total.estimate_ns;
    let band = if half.is_nan() { "-".to_owned() } else { format!("± {}", nanos(half)) };
    let error = (total.estimate_ns / total.time_ns.0.max(1) as f64 - 1.0) * 100.0;
    [
        nanos(total.estimate_ns).to_string(),
        band,
        total.time_ns.to_string(),
        format!("{error:+.2} %"),
        total.site.clone(),
    ]
}

fn more(count: usize) -> Option<String> {
    (count > SHOWN).then(|| format!("{} more; --json has all", count - SHOWN))
}

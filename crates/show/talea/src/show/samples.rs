//! `talea show RUN samples`: functions and lines where threads spent their time.
//!
//! Owns the columns; counting is `talea_analysis::views`'.

use std::path::Path;

use talea_analysis::views;
use talea_model::Rank;
use talea_report::data::views::SamplesData;

use super::{Format, ShowError, joined, json};
use crate::table::{Column, Table};
use crate::terminal::{prose, wrapped};

/// Rows of a table in text.
const SHOWN: usize = 20;

/// The view's text.
pub(super) fn show(run: &Path, rank: Option<Rank>, format: Format) -> Result<String, ShowError> {
    let (shown, gaps) = views::sampled(run, rank)?;
    if format == Format::Json {
        return Ok(json(&shown));
    }
    let mut lines = Vec::new();
    for process in &shown {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        text(process, &mut lines);
    }
    let gaps = gaps.iter().flat_map(|gap| wrapped(&format!("gap: {}", gap.detail), prose()));
    lines.extend(gaps);
    Ok(joined(lines))
}

fn text(process: &SamplesData, lines: &mut Vec<String>) {
    let who = match process.rank {
        Some(rank) => format!("rank {rank}"),
        None => process.command.first().cloned().unwrap_or_default(),
    };
    let with = process.threads.iter().filter(|thread| thread.samples > 0).count();
    let clock = process.trigger == "task-clock";
    let every = if clock {
        format!("every {} of a thread's time", talea_model::Nanos(process.period))
    } else {
        format!("every {} {}", process.period, process.trigger)
    };
    let (host, pid, samples) = (&process.host, process.pid, process.samples);
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
    for function in process.functions.iter().take(SHOWN) {
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
    for line in process.lines.iter().filter(|line| line.file.is_some()).take(SHOWN) {
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
    let marked = &process.phases;
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
    for one in marked.iter().take(SHOWN) {
        let numbers = [one.entered, one.left, one.counted].map(|number| number.to_string());
        let [entered, left, counted] = numbers;
        table.row([entered, left, counted, one.phase.clone()]);
    }
    lines.extend(table.lines());
    if more > 0 {
        let s = if more == 1 { "" } else { "s" };
        lines.push(format!("and {more} phase{s} more; all of them with --json"));
    }
}

#[cfg(test)]
mod tests {
    use talea_report::data::views::PhaseCounts;

    use super::*;

    #[test]
    fn the_first_phases_are_shown_and_the_others_counted() {
        let phase = |number: usize| PhaseCounts {
            phase: format!("phase {number:02}"),
            ..PhaseCounts::default()
        };
        let process =
            SamplesData { phases: (0..SHOWN + 2).map(phase).collect(), ..SamplesData::default() };
        let mut lines = Vec::new();
        text(&process, &mut lines);
        let rows: Vec<&String> = lines.iter().filter(|line| line.contains(" phase ")).collect();
        assert_eq!(rows.len(), SHOWN);
        assert!(rows[0].ends_with("phase 00") && rows[1].ends_with("phase 01"), "{lines:?}");
        assert_eq!(lines.last().unwrap(), "and 2 phases more; all of them with --json");
    }
}

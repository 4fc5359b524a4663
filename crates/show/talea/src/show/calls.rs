//! `talea show RUN calls`: call sites over all ranks, by path or summed by line or routine, those
//! with most time first.
//!
//! Owns the columns; figures and JSON keys are those of the report's table.

use talea_model::Nanos;
use talea_model::units::{at_most, percent};

use super::{CallsBy, Format, gaps, joined, json};
use crate::table::{Column, Table};
use crate::terminal::{Palette, prose, wrapped};
use talea_analysis::Analysis;
use talea_analysis::groups::By;
use talea_analysis::report::{group_rows, site_rows};

/// The view's text; without `by` lines for people, and each path for programs.
pub(super) fn show(analysis: &Analysis<'_>, by: Option<CallsBy>, format: Format) -> String {
    let by = by.unwrap_or(match format {
        Format::Text => CallsBy::Line,
        Format::Json => CallsBy::Path,
    });
    match by {
        CallsBy::Path => paths(analysis, format),
        CallsBy::Line => groups(analysis, By::Line, format),
        CallsBy::Routine => groups(analysis, By::Routine, format),
    }
}

fn groups(analysis: &Analysis<'_>, by: By, format: Format) -> String {
    let rows = group_rows(analysis, by);
    if format == Format::Json {
        return json(&rows);
    }
    let medians = analysis.groups(by).into_iter().map(|group| group.stats.durations.median());
    // A routine is called by its own name, a line by its procedure and place.
    let of_line = by == By::Line;
    let call = |time: Nanos| at_most(time, analysis.resolution());
    let mut table = Table::new(&[
        (
            if of_line { "call" } else { "routine" },
            if of_line { Column::Left } else { Column::Yields },
        ),
        (
            if of_line { "from" } else { "calls of" },
            if of_line { Column::Place } else { Column::Yields },
        ),
        ("paths", Column::Right),
        ("calls", Column::Right),
        ("time", Column::Right),
        ("share", Column::Right),
        ("median", Column::Right),
        ("max", Column::Right),
        ("bytes", Column::Right),
        ("uneven", Column::Right),
    ]);
    for (row, median) in rows.iter().zip(medians) {
        let first = row.procedures.first().cloned().unwrap_or_default();
        let more = row.procedures.len().saturating_sub(1);
        let names = if more > 0 { format!("{first} and {more} more") } else { first.clone() };
        let place = row.label.strip_prefix(&first).unwrap_or(&row.label).trim_start().to_owned();
        let (name, from) = if of_line { (first, place) } else { (row.label.clone(), names) };
        table.row([
            name,
            from,
            row.paths.to_string(),
            row.count.to_string(),
            row.time.to_string(),
            if row.share == 0.0 { String::new() } else { percent(row.share) },
            median.map_or_else(|| "?".to_owned(), call),
            call(row.max),
            row.bytes.map_or_else(String::new, |bytes| bytes.to_string()),
            format!("{:.2}", row.imbalance),
        ]);
    }
    let palette = Palette::stdout();
    let mut lines: Vec<String> = table.lines();
    for (line, row) in lines.iter_mut().skip(1).zip(&rows) {
        *line = palette.category(row.category, line);
    }
    lines.extend(explained(analysis));
    lines.push("paths: call paths that lead there; --by path shows each".to_owned());
    lines.extend(gaps(analysis));
    joined(lines)
}

/// The meaning of the columns.
fn explained(analysis: &Analysis<'_>) -> Vec<String> {
    let whose = if analysis.has_threads() { "threads" } else { "ranks" };
    let share = format!("share: of the time of all {whose} between MPI_Init and MPI_Finalize");
    let mut lines = vec![String::new()];
    lines.extend(wrapped(&share, prose()));
    lines.extend(wrapped("uneven: time of the slowest rank by the mean; 1.00 is even", prose()));
    lines
}

fn paths(analysis: &Analysis<'_>, format: Format) -> String {
    let rows = site_rows(analysis);
    let order = analysis.calls.by_time();
    if format == Format::Json {
        return json(&order.iter().map(|&at| &rows[at as usize]).collect::<Vec<_>>());
    }
    let call = |time: Nanos| at_most(time, analysis.resolution());
    let mut table = Table::new(&[
        ("call", Column::Left),
        ("from", Column::Place),
        ("calls", Column::Right),
        ("time", Column::Right),
        ("share", Column::Right),
        ("median", Column::Right),
        ("max", Column::Right),
        ("bytes", Column::Right),
        ("uneven", Column::Right),
    ]);
    for row in order.iter().map(|&at| &rows[at as usize]) {
        let site = &analysis.calls.sites()[row.id as usize];
        table.row([
            row.procedure.clone(),
            analysis.places.distinct(site.signature.path),
            row.count.to_string(),
            row.time.to_string(),
            if site.bracket { String::new() } else { percent(row.share) },
            site.stats.durations.median().map_or_else(|| "?".to_owned(), call),
            call(row.max),
            row.bytes.map_or_else(String::new, |bytes| bytes.to_string()),
            format!("{:.2}", row.imbalance),
        ]);
    }
    let palette = Palette::stdout();
    let mut lines: Vec<String> = table.lines();
    for (line, &at) in lines.iter_mut().skip(1).zip(&order) {
        *line = palette.category(rows[at as usize].category, line);
    }
    lines.extend(explained(analysis));
    lines.extend(gaps(analysis));
    joined(lines)
}

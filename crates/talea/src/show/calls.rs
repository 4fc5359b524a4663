//! `talea show RUN calls`: call sites over all ranks, those with most time first.
//!
//! Owns the columns; figures and JSON keys are those of the report's table.

use super::{Format, gaps, joined, json};
use crate::analysis::Analysis;
use crate::analysis::findings::percent;
use crate::report::site_rows;
use crate::table::{Column, Table};
use crate::terminal::Palette;

/// The view's text.
pub(super) fn show(analysis: &Analysis<'_>, format: Format) -> String {
    let rows = site_rows(analysis);
    let order = analysis.calls.by_time();
    if format == Format::Json {
        return json(&order.iter().map(|&at| &rows[at as usize]).collect::<Vec<_>>());
    }
    let mut table = Table::new(&[
        ("call", Column::Left),
        ("from", Column::Yields),
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
            site.stats
                .durations
                .median()
                .map_or_else(|| "?".to_owned(), |median| median.to_string()),
            row.max.to_string(),
            row.bytes.map_or_else(String::new, |bytes| bytes.to_string()),
            format!("{:.2}", row.imbalance),
        ]);
    }
    let palette = Palette::stdout();
    let mut lines: Vec<String> = table.lines();
    for (line, &at) in lines.iter_mut().skip(1).zip(&order) {
        *line = palette.category(rows[at as usize].category, line);
    }
    lines.push(String::new());
    lines.push("share: of the time of all ranks between MPI_Init and MPI_Finalize".to_owned());
    lines.push("uneven: time of the slowest rank by the mean; 1.00 is even".to_owned());
    lines.extend(gaps(analysis));
    joined(lines)
}

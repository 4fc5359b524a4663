//! `talea show RUN hosts`: where ranks ran.
//!
//! Owns the columns and keys; the rows are the report's.

use super::{Format, gaps, joined, json};
use crate::table::{Column, Table};
use crate::terminal::{fitted, prose, wrapped};
use talea_analysis::Analysis;
use talea_analysis::report::host_rows;

/// The view's text.
pub(super) fn show(analysis: &Analysis<'_>, format: Format) -> String {
    let mut hosts = host_rows(analysis);
    if format == Format::Json {
        for host in &mut hosts {
            host.picture = None;
        }
        return json(&hosts);
    }
    let mut lines = Vec::new();
    for host in hosts {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(fitted(&format!("{}: {}", host.name, host.machine)));
        let mut table = Table::new(&[
            ("rank", Column::Right),
            ("may run on PUs", Column::Yields),
            ("inside", Column::Left),
            ("ran last on", Column::Left),
            ("threads", Column::Right),
            ("working", Column::Right),
        ]);
        let known = |text: &str| if text.is_empty() { "-" } else { text }.to_owned();
        for row in &host.ranks {
            table.row([
                row.rank.to_string(),
                known(&row.allowed),
                known(&row.inside),
                known(&row.last),
                row.threads.to_string(),
                row.working.to_string(),
            ]);
        }
        lines.extend(table.lines());
        lines.extend(host.notes.iter().flat_map(|note| wrapped(&format!("note: {note}"), prose())));
        lines.extend(host.gaps.iter().flat_map(|gap| wrapped(&format!("gap: {gap}"), prose())));
    }
    lines.extend(gaps(analysis));
    joined(lines)
}

//! `talea show RUN classes`: threads that behave alike, ranks where each has one.
//!
//! Owns the columns and keys.

use talea_model::units::percent;

use super::{Format, gaps, joined, json};
use crate::table::{Column, Table};
use talea_analysis::Analysis;
use talea_analysis::views;

/// The view's text.
pub(super) fn show(analysis: &Analysis<'_>, format: Format) -> String {
    if format == Format::Json {
        return json(&views::classes(analysis));
    }
    let threads = analysis.has_threads();
    let mut table = Table::new(&[
        ("class", Column::Left),
        (if threads { "threads" } else { "ranks" }, Column::Right),
        ("shown", Column::Right),
        ("identical", Column::Right),
        ("events", Column::Right),
        ("nodes", Column::Right),
        ("edges", Column::Right),
        ("in MPI", Column::Right),
        ("which", Column::Yields),
    ]);
    for class in &analysis.classes {
        let study = analysis.thread(class.representative);
        let mpi = class.members.iter().map(|&at| analysis.thread(at).mpi_share()).sum::<f64>();
        table.row([
            class.name.clone(),
            class.members.len().to_string(),
            analysis.locations(&[class.representative]),
            if class.exact == 1 { "all".to_owned() } else { format!("{} groups", class.exact) },
            study.events.to_string(),
            study.graph.nodes.to_string(),
            study.graph.edges.to_string(),
            percent(mpi / class.members.len() as f64),
            analysis.locations(&class.members),
        ]);
    }
    let mut lines = table.lines();
    if threads {
        lines.push(String::new());
        lines.push("0-3.1-2: threads 1 and 2 of each of ranks 0 to 3".to_owned());
    }
    lines.extend(gaps(analysis));
    joined(lines)
}

//! `talea show RUN classes`: ranks that behave alike.
//!
//! Owns the columns and keys.

use serde_json::json;

use super::{Format, gaps, joined, json};
use crate::analysis::Analysis;
use crate::analysis::classes::ranges;
use crate::analysis::findings::percent;
use crate::table::{Column, Table};

/// The view's text.
pub(super) fn show(analysis: &Analysis<'_>, format: Format) -> String {
    let ranks = |class: &crate::analysis::classes::Class| {
        ranges(class.members.iter().map(|&at| analysis.ranks[at].rank.0))
    };
    if format == Format::Json {
        let class = |(id, class): (usize, &crate::analysis::classes::Class)| {
            let study = &analysis.ranks[class.representative];
            json!({
                "id": id,
                "name": class.name,
                "ranks": ranks(class),
                "count": class.members.len(),
                "representative": study.rank,
                "exact_classes": class.exact,
                "events": study.events,
                "nodes": study.graph.nodes,
                "edges": study.graph.edges,
            })
        };
        return json(&analysis.classes.iter().enumerate().map(class).collect::<Vec<_>>());
    }
    let mut table = Table::new(&[
        ("class", Column::Left),
        ("ranks", Column::Right),
        ("shown", Column::Right),
        ("identical", Column::Right),
        ("events", Column::Right),
        ("nodes", Column::Right),
        ("edges", Column::Right),
        ("in MPI", Column::Right),
        ("which", Column::Yields),
    ]);
    for class in &analysis.classes {
        let study = &analysis.ranks[class.representative];
        let mpi = class.members.iter().map(|&at| analysis.ranks[at].mpi_share()).sum::<f64>();
        table.row([
            class.name.clone(),
            class.members.len().to_string(),
            study.rank.to_string(),
            if class.exact == 1 { "all".to_owned() } else { format!("{} groups", class.exact) },
            study.events.to_string(),
            study.graph.nodes.to_string(),
            study.graph.edges.to_string(),
            percent(mpi / class.members.len() as f64),
            ranks(class),
        ]);
    }
    let mut lines = table.lines();
    lines.extend(gaps(analysis));
    joined(lines)
}

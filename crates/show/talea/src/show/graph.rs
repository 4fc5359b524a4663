//! `talea show RUN graph`: the event flow graph as text, DOT, SVG or JSON.
//!
//! Owns the text form: a line for each node, with where it goes from there.

use std::path::Path;

use talea_report::{graph_dot, graph_svg};
use talea_run::directory::{WriteError, replace};

use super::{Format, GraphFormat, joined, json};
use crate::table::{Column, Table};
use crate::terminal::{cell, fitted, say};
use talea_analysis::location::ThreadAt;
use talea_analysis::{Analysis, views};

/// The view's text; a picture is written to `svg`.
pub(super) fn show(
    analysis: &Analysis<'_>,
    which: Option<ThreadAt>,
    svg: Option<&Path>,
    format: GraphFormat,
) -> Result<String, WriteError> {
    let first = || analysis.classes.first().map(|class| class.representative);
    let Some(at) = which.or_else(first) else { return Ok(String::new()) };
    let view = views::flow_graph(analysis, at);
    let graph = &view.graph;
    if let Some(path) = svg {
        replace(path, graph_svg(graph).as_bytes())?;
        say(&format!("graph    {}", path.display()));
    }
    let stats = view.stats;
    Ok(match format {
        GraphFormat::Dot => graph_dot(graph),
        GraphFormat::Other(Format::Json) => json(&view),
        GraphFormat::Other(Format::Text) if svg.is_some() => String::new(),
        GraphFormat::Other(Format::Text) => {
            let mut lines = vec![
                format!(
                    "{}: {} events, {} nodes, {} edges, {:.1} events a node",
                    analysis.location(at),
                    stats.events,
                    stats.nodes,
                    stats.edges,
                    stats.cardinality
                ),
                format!(
                    "with chains drawn as one: {} nodes, {} edges",
                    graph.nodes.len(),
                    graph.edges.len()
                ),
                String::new(),
            ];
            let mut table = Table::new(&[
                ("node", Column::Right),
                ("call", Column::Yields),
                ("visits", Column::Right),
                ("time", Column::Right),
                ("then node (times)", Column::Left),
            ]);
            for node in &graph.nodes {
                let next: Vec<String> = graph
                    .edges
                    .iter()
                    .filter(|edge| edge.from == node.id)
                    .map(|edge| format!("{} ({}x)", edge.to, edge.transitions))
                    .collect();
                table.row([
                    node.id.to_string(),
                    node.label.clone(),
                    node.visits.to_string(),
                    node.time.to_string(),
                    cell(&next.join(", "), 40),
                ]);
            }
            lines.extend(table.lines());
            joined(lines.into_iter().map(|line| fitted(&line)))
        }
    })
}

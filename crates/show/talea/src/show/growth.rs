//! `talea show RUN growth`: nodes and edges of the event flow graph over time.
//!
//! Owns the lines; the figures are `talea_analysis::views`'.

use std::path::Path;

use talea_analysis::Analysis;
use talea_analysis::location::ThreadAt;
use talea_analysis::views::{self, ViewError};
use talea_model::Nanos;
use talea_report::data::growth::{GrowthData, GrowthLook};

use super::{Format, joined, json};
use crate::terminal::{blocks, prose};

/// The view's text; `path` is the run's name in errors.
pub(super) fn show(
    analysis: &Analysis<'_>,
    path: &Path,
    threads: &[ThreadAt],
    format: Format,
) -> Result<String, ViewError> {
    let growth = views::growth(analysis, threads)
        .map_err(|source| ViewError::Growth { source, path: path.to_owned() })?;
    Ok(if format == Format::Json { json(&growth) } else { text(&growth) })
}

fn text(growth: &GrowthData) -> String {
    const NAME: usize = 8;
    const VALUE: usize = 13;
    let width = prose().saturating_sub(NAME + VALUE).clamp(10, growth.looks.len().max(10));
    let row = |name: &str, value: &dyn Fn(&GrowthLook) -> f64, last: String| {
        let values: Vec<f64> = growth.looks.iter().map(value).collect();
        let picture = blocks(&values, width);
        let line = format!("{name:<NAME$}{picture:<width$}  {last}");
        line.trim_end().to_owned()
    };
    let Some(last) = growth.looks.last() else {
        return joined(["no calls with times".to_owned()]);
    };
    let change = |look: &GrowthLook| look.change.unwrap_or(f64::NAN);
    let most = growth.looks.iter().filter_map(|look| look.change).fold(0.0, f64::max);
    let mut lines = vec![
        row("nodes", &|look| look.nodes as f64, last.nodes.to_string()),
        row("edges", &|look| look.edges as f64, last.edges.to_string()),
        row("change", &change, format!("up to {:.0} %", most * 100.0)),
    ];
    let end = last.until_ns.to_string();
    lines.push(format!("{:NAME$}0 s{end:>space$}", "", space = width.saturating_sub(3)));
    lines.push(String::new());
    if growth.steady.is_empty() {
        lines.push("The structure never became steady.".to_owned());
    }
    for one in &growth.steady {
        let until: Nanos = one.until_ns;
        let end = if until >= last.until_ns { "the end".to_owned() } else { until.to_string() };
        lines.push(format!("steady from {} to {end}, known at {}", one.from_ns, one.known_ns));
    }
    joined(lines)
}

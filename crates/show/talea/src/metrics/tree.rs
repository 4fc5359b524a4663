//! Models as trees, and reasons, for people.
//!
//! Owns indentation, the comparison of parts with their whole, and lists of metrics without a
//! value: each reason once, with the names that it concerns.

use std::collections::BTreeMap;

use talea_analysis::metrics::{ModelLine, Outcome, Study};

use super::figure::figure;
use super::heads::{aligned, head};
use crate::terminal::{cell, fitted, prose, width, wrapped};

/// Maximum difference of parts from their whole without a note.
const TOLERATED: f64 = 0.05;
const PROBLEMS: usize = 10;

/// A model with its values, the metrics without one, and the problems of its file.
pub(super) fn model(outcome: &Outcome, study: &Study, inputs: usize) -> Vec<String> {
    let of = if inputs > 1 { format!(", {}", head(study)) } else { String::new() };
    let rows = outcome.lines.iter().filter_map(|line| {
        let value = figure(*line.value.as_ref().ok()?, &line.unit);
        let mark = if line.exceeded == Some(true) { " !" } else { "" };
        Some((format!("{}{}{mark}", "  ".repeat(line.depth.min(12)), line.name), vec![value]))
    });
    let rows: Vec<_> = rows.collect();
    let mut lines = Vec::new();
    let title = cell(&format!("Model {}{of}", outcome.name), width() - 20);
    if rows.is_empty() {
        lines.push(format!("{title}: none of its {} metrics has a value", outcome.lines.len()));
    } else {
        if outcome.lines.iter().any(|line| line.exceeded == Some(true)) {
            lines.push("(! above the threshold of the model's author)".to_owned());
        }
        lines.extend(aligned(&title, &["value".to_owned()], rows));
        lines.extend(outcome.lines.iter().filter_map(split));
    }
    let absent = outcome
        .lines
        .iter()
        .filter_map(|line| Some((line.value.as_ref().err()?.to_string(), line.name.clone())));
    lines.extend(reasons(absent, "  without value: "));
    for problem in outcome.problems.iter().take(PROBLEMS) {
        let text = wrapped(&format!("problem: {problem}"), prose() - 4);
        lines.extend(text.into_iter().map(|line| format!("  {line}")));
    }
    if outcome.problems.len() > PROBLEMS {
        lines
            .push(format!("  and {} more problems, see --json", outcome.problems.len() - PROBLEMS));
    }
    lines
}

/// Note on a metric whose parts do not add up to it. Deeper than the second level parts overlap by
/// their authors' intent.
fn split(line: &ModelLine) -> Option<String> {
    let (whole, parts) = (*line.value.as_ref().ok()?, line.children_sum?);
    let rest = (whole - parts) / whole;
    (line.depth < 2 && rest.abs() > TOLERATED && rest.is_finite()).then(|| {
        fitted(&format!(
            "  the parts of {} add up to {} of its {}",
            line.name,
            figure(parts, &line.unit),
            figure(whole, &line.unit)
        ))
    })
}

/// Names by their reasons, in the order in which reasons first come.
pub(super) fn reasons(absent: impl Iterator<Item = (String, String)>, before: &str) -> Vec<String> {
    const NAMES: usize = 12;
    const REASONS: usize = 40;
    let mut order: Vec<String> = Vec::new();
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (reason, name) in absent {
        let of = names.entry(reason.clone()).or_default();
        if of.is_empty() {
            order.push(reason);
        }
        of.push(name);
    }
    let mut lines = Vec::new();
    for reason in order.iter().take(REASONS) {
        let names = &names[reason];
        let mut list = names.iter().take(NAMES).cloned().collect::<Vec<_>>().join(", ");
        if names.len() > NAMES {
            list = format!("{list} and {} more", names.len() - NAMES);
        }
        for (at, line) in
            wrapped(&format!("{before}{list}: {reason}"), prose() - 6).into_iter().enumerate()
        {
            lines.push(format!("{}{line}", if at == 0 { "  " } else { "    " }));
        }
    }
    if order.len() > REASONS {
        lines.push(format!("  and {} more reasons, see --json", order.len() - REASONS));
    }
    lines
}

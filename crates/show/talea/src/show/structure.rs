//! `talea show RUN structure`: the structure tree in the form of [`talea_flow::structure`], with
//! times.
//!
//! Owns the columns: the tree at the left, calls, time and share of the run at the right.

use talea_report::data::{TreeKind, TreeNode};

use talea_model::Nanos;
use talea_model::units::{at_most, percent};

use super::{Format, gaps, joined, json};
use crate::terminal::{Palette, bar, cell, prose, width, wrapped};
use talea_analysis::findings::findings;
use talea_analysis::location::ThreadAt;
use talea_analysis::views::{Drawn, structure, trees};
use talea_analysis::{Analysis, tree};

/// Columns at the right: calls, time, share.
const FIGURES: usize = 9 + 10 + 8;
/// Columns of the bar behind them, which narrow terminals have no room for.
const BAR: usize = 8;
const ROOMY: usize = 80;
/// Calls in a row; of more, the first ones and the last one are shown.
const ROW: usize = 12;

/// The view's text, of one thread of each class unless some are chosen.
pub(super) fn show(analysis: &Analysis<'_>, which: &[ThreadAt], format: Format) -> String {
    let trees = trees(analysis, which);
    match format {
        Format::Json => {
            json(&trees.iter().map(|drawn| structure(analysis, drawn)).collect::<Vec<_>>())
        }
        Format::Text => {
            let mut lines: Vec<String> = Vec::new();
            let sentences = findings(analysis);
            lines.extend(
                sentences
                    .iter()
                    .take(5)
                    .flat_map(|found| wrapped(&found.text.replace('`', ""), prose())),
            );
            lines.extend(gaps(analysis));
            for Drawn { members, shown, tree } in &trees {
                lines.push(String::new());
                let head = if let [one] = members.as_slice() {
                    analysis.location(*one)
                } else {
                    let what = if analysis.has_threads() { "threads" } else { "ranks" };
                    let members = cell(&analysis.locations(members), 34);
                    format!("{what} {members}, shown: {}", analysis.location(*shown))
                };
                lines.push(format!(
                    "{:<width$}{:>9}{:>10}{:>8}",
                    cell(&head, names() - 1),
                    "calls",
                    "time",
                    "share",
                    width = names()
                ));
                let palette = Palette::stdout();
                write(analysis, palette, tree, 0, &mut lines);
            }
            joined(lines)
        }
    }
}

fn write(
    analysis: &Analysis<'_>,
    palette: Palette,
    node: &TreeNode,
    depth: usize,
    lines: &mut Vec<String>,
) {
    lines.push(line(analysis, palette, node, depth));
    let children = &node.children;
    let mut at = 0;
    while at < children.len() {
        let leaves = children[at..].iter().take_while(|child| child.kind == TreeKind::Call).count();
        if leaves > ROW {
            for child in &children[at..at + ROW - 2] {
                write(analysis, palette, child, depth + 1, lines);
            }
            let hidden = &children[at + ROW - 2..at + leaves - 1];
            let events: u64 = hidden.iter().map(|child| child.events).sum();
            let time = hidden.iter().map(|child| child.time).sum::<Nanos>();
            let share: f64 = hidden.iter().map(|child| child.share).sum();
            let text =
                format!("{:indent$}... {} more ...", "", hidden.len(), indent = 2 * (depth + 1));
            lines.push(figures(&text, events, &together(analysis, time, events), share));
            write(analysis, palette, &children[at + leaves - 1], depth + 1, lines);
            at += leaves;
        } else {
            write(analysis, palette, &children[at], depth + 1, lines);
            at += 1;
        }
    }
}

fn line(analysis: &Analysis<'_>, palette: Palette, node: &TreeNode, depth: usize) -> String {
    let guard = if node.guard.is_empty() {
        String::new()
    } else {
        format!(" [{}]", tree::guard_in_words(&node.guard))
    };
    let label = if node.label.is_empty() { String::new() } else { format!(" {}", node.label) };
    let text = match node.kind {
        TreeKind::Root => "+ROOT".to_owned(),
        TreeKind::Sequence => format!("+SEQUENCE{guard}{label}"),
        TreeKind::Loop => {
            let count = node.count.map_or_else(|| node.range.clone(), |count| count.to_string());
            format!("+LOOP ({count}x){guard}{label}")
        }
        TreeKind::Call => format!("-{guard}{label}"),
    };
    let text = format!("{:indent$}{text}", "", indent = 2 * depth);
    let site = node.site.and_then(|site| analysis.calls.sites().get(site as usize));
    let bracket = site.is_some_and(|site| site.bracket);
    let share = if bracket { f64::NAN } else { node.share };
    let line = figures(&text, node.events, &together(analysis, node.time, node.events), share);
    match (node.kind, site) {
        (TreeKind::Call, Some(site)) if node.share >= 0.01 => {
            palette.category(site.category, &line)
        }
        (TreeKind::Loop | TreeKind::Root, _) => palette.strong(&line),
        (TreeKind::Call, _) => palette.faint(&line),
        _ => line,
    }
}

/// The time of some calls; where each is below the resolution, so is a multiple of it.
fn together(analysis: &Analysis<'_>, time: Nanos, events: u64) -> String {
    at_most(time, Nanos(analysis.resolution().0.saturating_mul(events)))
}

/// Columns of the tree.
fn names() -> usize {
    let width = width();
    width - FIGURES - if width >= ROOMY { BAR } else { 0 }
}

/// A line with its figures; no share where it has none.
fn figures(text: &str, events: u64, time: &str, share: f64) -> String {
    let width = names();
    let text = cell(text, width);
    let (share, bar) = if share.is_nan() {
        (String::new(), String::new())
    } else {
        let wide = self::width() >= ROOMY;
        (percent(share), if wide { bar(share, BAR - 1) } else { String::new() })
    };
    format!("{text:<width$}{events:>9}{time:>10}{share:>8} {bar}").trim_end().to_owned()
}

//! `talea show RUN structure`: the structure tree in the form of [`talea_flow::structure`], with times.
//!
//! Owns the columns: the tree at the left, calls, time and share of the run at the right.

use serde_json::{Value, json};
use talea_report::data::{TreeKind, TreeNode};

use super::{Format, gaps, joined, json};
use crate::analysis::classes::{Shown, ranges};
use crate::analysis::findings::{findings, percent};
use crate::analysis::{Analysis, tree};
use crate::terminal::{Palette, WIDTH, bar, clean, wrapped};

/// Columns at the right: calls, time, share, bar.
const FIGURES: usize = 9 + 10 + 8 + 8;
/// Calls in a row; of more, the first ones and the last one are shown.
const ROW: usize = 12;

/// The view's text.
pub(super) fn show(analysis: &Analysis<'_>, rank: Option<usize>, format: Format) -> String {
    let trees: Vec<(String, usize, TreeNode)> = match rank {
        Some(at) => {
            let (recording, process) = (&analysis.run.recording, analysis.process(at));
            let shown =
                process.threads.first().map(|thread| Shown::new(recording, process, thread));
            let shown = process.threads.first().zip(shown.as_ref());
            let ranks = analysis.ranks[at].rank.to_string();
            shown
                .map(|(thread, shown)| (ranks, at, tree::tree(analysis, thread, shown, 0)))
                .into_iter()
                .collect()
        }
        None => analysis
            .classes
            .iter()
            .map(|class| {
                let thread = &analysis.process(class.representative).threads[0];
                let ranks = ranges(class.members.iter().map(|&at| analysis.ranks[at].rank.0));
                (ranks, class.representative, tree::tree(analysis, thread, &class.shown, 0))
            })
            .collect(),
    };
    match format {
        Format::Json => json(
            &trees
                .iter()
                .map(|(ranks, at, tree)| document(analysis, ranks, *at, tree))
                .collect::<Vec<_>>(),
        ),
        Format::Text => {
            let mut lines: Vec<String> = Vec::new();
            let sentences = findings(analysis);
            lines.extend(
                sentences
                    .iter()
                    .take(5)
                    .flat_map(|found| wrapped(&found.text.replace('`', ""), WIDTH)),
            );
            lines.extend(gaps(analysis));
            for (ranks, at, tree) in &trees {
                lines.push(String::new());
                let study = &analysis.ranks[*at];
                let head = if ranks.contains(['-', ',']) {
                    format!("ranks {}, shown: rank {}", clean(ranks, 40), study.rank)
                } else {
                    format!("rank {ranks}")
                };
                lines.push(format!(
                    "{head:<width$}{:>9}{:>10}{:>8}",
                    "calls",
                    "time",
                    "share",
                    width = WIDTH - FIGURES
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
            let time = hidden.iter().map(|child| child.time).sum::<talea_model::Nanos>();
            let share: f64 = hidden.iter().map(|child| child.share).sum();
            let text =
                format!("{:indent$}... {} more ...", "", hidden.len(), indent = 2 * (depth + 1));
            lines.push(figures(&text, events, &time.to_string(), share));
            write(analysis, palette, &children[at + leaves - 1], depth + 1, lines);
            at += leaves;
        } else {
            write(analysis, palette, &children[at], depth + 1, lines);
            at += 1;
        }
    }
}

fn line(analysis: &Analysis<'_>, palette: Palette, node: &TreeNode, depth: usize) -> String {
    let guard = if node.guard.is_empty() { String::new() } else { format!(" [{}]", node.guard) };
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
    let line = figures(&text, node.events, &node.time.to_string(), share);
    match (node.kind, site) {
        (TreeKind::Call, Some(site)) if node.share >= 0.01 => {
            palette.category(site.category, &line)
        }
        (TreeKind::Loop | TreeKind::Root, _) => palette.strong(&line),
        (TreeKind::Call, _) => palette.faint(&line),
        _ => line,
    }
}

/// A line with its figures; no share where it has none.
fn figures(text: &str, events: u64, time: &str, share: f64) -> String {
    let width = WIDTH - FIGURES;
    let text = clean(text, width);
    let (share, bar) = if share.is_nan() {
        (String::new(), String::new())
    } else {
        (percent(share), bar(share, 7))
    };
    format!("{text:<width$}{events:>9}{time:>10}{share:>8} {bar}").trim_end().to_owned()
}

fn document(analysis: &Analysis<'_>, ranks: &str, at: usize, tree: &TreeNode) -> Value {
    let study = &analysis.ranks[at];
    json!({
        "ranks": ranks,
        "representative": study.rank,
        "run_ns": study.run,
        "tree": node(tree),
    })
}

fn node(tree: &TreeNode) -> Value {
    let kind = match tree.kind {
        TreeKind::Root => "root",
        TreeKind::Sequence if tree.children.is_empty() => "mixed",
        TreeKind::Sequence => "sequence",
        TreeKind::Loop => "loop",
        TreeKind::Call => "call",
    };
    json!({
        "kind": kind,
        "label": tree.label,
        "count": tree.count,
        "range": tree.range,
        "guard": tree.guard,
        "time_ns": tree.time,
        "share": tree.share,
        "mpi_share": tree.mpi_share,
        "events": tree.events,
        "site": tree.site,
        "children": tree.children.iter().map(node).collect::<Vec<_>>(),
    })
}

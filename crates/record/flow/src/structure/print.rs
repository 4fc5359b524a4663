//! The structure tree as text, in the form of slide 21.
//!
//! Owns the layout only: the caller supplies the text of a leaf, and the note after a line.

use std::fmt::Write as _;

use talea_model::NodeId;

use super::{Guard, Kind, Tree};
use crate::labels::{Counting, Notation, Partition};

/// Options of abbreviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintOptions {
    /// Maximum number of lines of leaves in a row; of more, the first ones and the last one are
    /// shown.
    pub row: usize,
    /// Maximum number of parts of a guard; of more, the first ones and the number of iterations are
    /// shown.
    pub parts: usize,
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self { row: 12, parts: 4 }
    }
}

/// The tree with a line for each node; `label` names a leaf.
pub fn print(tree: &Tree, options: &PrintOptions, label: impl Fn(NodeId) -> String) -> String {
    print_with(tree, options, label, |_| String::new())
}

/// As [`print()`], with the text of `note` after each line except those of several leaves.
pub fn print_with(
    tree: &Tree,
    options: &PrintOptions,
    label: impl Fn(NodeId) -> String,
    note: impl Fn(&Tree) -> String,
) -> String {
    let mut printer = Printer { options, label, note, text: String::new() };
    printer.node(tree, 0);
    printer.text
}

struct Printer<'a, L, N> {
    options: &'a PrintOptions,
    label: L,
    note: N,
    text: String,
}

impl<L: Fn(NodeId) -> String, N: Fn(&Tree) -> String> Printer<'_, L, N> {
    fn node(&mut self, tree: &Tree, depth: usize) {
        let mut line = match &tree.kind {
            Kind::Root => "+ROOT".to_owned(),
            Kind::Sequence => "+SEQUENCE".to_owned(),
            Kind::Loop { trips } => format!("+LOOP ({}x)", range(trips.runs())),
            Kind::Leaf { node } => format!("- {}", (self.label)(*node)),
            Kind::Mixed { nodes, .. } => {
                format!(
                    "+MIXED ({} calls at {} places, in no simple order)",
                    tree.events,
                    nodes.len()
                )
            }
        };
        if let Some(guard) = &tree.guard {
            line.push(' ');
            line += &guard_text(guard, self.options.parts);
        }
        let note = (self.note)(tree);
        self.line(depth, &line, &note);
        let mut children = tree.children.as_slice();
        while let Some(first) = children.first() {
            let leaves = children.iter().take_while(|child| child.is_leaf()).count();
            if leaves == 0 {
                self.node(first, depth + 1);
                children = &children[1..];
            } else {
                self.row(&children[..leaves], depth + 1);
                children = &children[leaves..];
            }
        }
    }

    /// Leaves in a row; neighbours of the same name share a line.
    fn row(&mut self, leaves: &[Tree], depth: usize) {
        let mut lines: Vec<(String, String, usize)> = Vec::new();
        for leaf in leaves {
            let Kind::Leaf { node } = leaf.kind else {
                continue;
            };
            let label = (self.label)(node);
            match lines.last_mut() {
                Some((same, note, count)) if *same == label => {
                    *count += 1;
                    note.clear();
                }
                _ => lines.push((label, (self.note)(leaf), 1)),
            }
        }
        // A line with the text "2 more" is no shorter than the lines it hides.
        let limit = self.options.row.max(4);
        let shown = if lines.len() > limit { limit - 2 } else { lines.len() };
        let hidden = lines.len() - shown;
        for (i, (label, note, count)) in lines.iter().enumerate() {
            if hidden > 0 && i + 1 == shown {
                let calls: usize = lines[i..lines.len() - 1].iter().map(|line| line.2).sum();
                self.line(depth, &format!("... {calls} more calls ..."), "");
            }
            if i + 1 < shown || i + 1 == lines.len() || hidden == 0 {
                let times = if *count > 1 { format!(" ({count} in a row)") } else { String::new() };
                self.line(depth, &format!("- {label}{times}"), note);
            }
        }
    }

    fn line(&mut self, depth: usize, text: &str, note: &str) {
        let gap = if note.is_empty() { "" } else { "  " };
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:indent$}{text}{gap}{note}", "", indent = 2 * depth);
    }
}

fn range(runs: &[(u64, u64)]) -> String {
    let values = || runs.iter().map(|&(value, _)| value);
    match (values().min(), values().max()) {
        (Some(min), Some(max)) if min < max => format!("{min}-{max}"),
        (Some(same), _) => same.to_string(),
        _ => "0".to_owned(),
    }
}

fn guard_text(guard: &Guard, parts: usize) -> String {
    match guard {
        Guard::Each { iterations } => format!("[{}]", partition(iterations, parts, None)),
        Guard::Whole { iterations, of } => format!("[{}]", partition(iterations, parts, Some(*of))),
        Guard::NotLast => "[all but the last]".to_owned(),
        Guard::Last => "[the last]".to_owned(),
    }
}

/// `of` is the number of iterations in the whole run where the partition counts through all
/// executions.
fn partition(iterations: &Partition, parts: usize, of: Option<u64>) -> String {
    let label = iterations.label(Notation::Full, Counting::FromZero);
    let count = iterations.parts().len();
    let of = of.map(|of| format!(" of {of} in all")).unwrap_or_default();
    if count <= parts {
        return format!("{label}{of}");
    }
    let first: Vec<&str> = label.split('|').take(parts).collect();
    let some = if of.is_empty() { " iterations" } else { "" };
    format!("{}|... {}{some}{of}", first.join("|"), iterations.len())
}

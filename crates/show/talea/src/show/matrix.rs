//! `talea show RUN matrix`: bytes and messages from rank to rank.
//!
//! Owns the text form: a square of bytes where it fits, else the largest cells as a list.

use talea_model::{Bytes, Rank};

use super::{Format, gaps, joined, json};
use crate::table::{Column, Table};
use crate::terminal::limit;
use talea_analysis::{Analysis, matrix, views};

/// Ranks that fit beside each other.
const SQUARE: u32 = 8;
/// Cells of the list.
const LIST: usize = 40;

/// The view's text.
pub(super) fn show(analysis: &Analysis<'_>, format: Format) -> String {
    if format == Format::Json {
        return json(&views::matrix(analysis));
    }
    let matrix = matrix::matrix(analysis);
    let total = analysis.matrix.total();
    let mut lines =
        vec![format!("{} in {} messages; rows send, columns receive", total.bytes, total.messages)];
    if !analysis.matrix.is_empty() {
        lines.push(String::new());
        lines.extend(if matrix.ranks <= SQUARE && 5 + 10 * matrix.ranks as usize <= limit() {
            square(analysis, matrix.ranks)
        } else {
            list(analysis)
        });
    }
    if !analysis.collectives.is_empty() {
        lines.push(String::new());
        let mut table = Table::new(&[
            ("collective", Column::Left),
            ("calls", Column::Right),
            ("contributed", Column::Right),
        ]);
        for (procedure, sum) in &analysis.collectives {
            table.row([procedure.clone(), sum.calls.to_string(), sum.bytes.to_string()]);
        }
        lines.extend(table.lines());
    }
    lines.extend(gaps(analysis));
    joined(lines)
}

fn square(analysis: &Analysis<'_>, ranks: u32) -> Vec<String> {
    let row = |from: u32| {
        let cell = |to: u32| {
            let cell = analysis.matrix.sum(|a, b| (a, b) == (Rank(from), Rank(to)));
            if cell.messages == 0 { ".".to_owned() } else { cell.bytes.to_string() }
        };
        (0..ranks).map(|to| format!("{:>10}", cell(to))).collect::<Vec<_>>().concat()
    };
    let head = (0..ranks).map(|to| format!("{to:>10}")).collect::<Vec<_>>().concat();
    let rows = (0..ranks).map(|from| format!("{from:>5}{}", row(from)));
    std::iter::once(format!("     {head}")).chain(rows).collect()
}

fn list(analysis: &Analysis<'_>) -> Vec<String> {
    let mut cells: Vec<_> = analysis.matrix.cells().collect();
    cells.sort_by_key(|(from, to, cell)| (std::cmp::Reverse(cell.bytes), *from, *to));
    let more = cells.len().saturating_sub(LIST);
    let mut table = Table::new(&[
        ("from", Column::Right),
        ("to", Column::Right),
        ("bytes", Column::Right),
        ("messages", Column::Right),
    ]);
    for (from, to, cell) in cells.iter().take(LIST) {
        table.row([
            from.to_string(),
            to.to_string(),
            cell.bytes.to_string(),
            cell.messages.to_string(),
        ]);
    }
    let mut lines = table.lines();
    if more > 0 {
        let rest: Bytes = cells[LIST..].iter().map(|(_, _, cell)| cell.bytes).sum();
        lines.push(format!("and {more} pairs more with {rest}; all of them with --json"));
    }
    lines
}

//! Tables in a terminal: columns that never jump, in lines that fit.
//!
//! Owns the widths. Columns that may give way are cut where the line would be too long, the widest
//! first; where that does not help, columns that have no room stand in a table below, behind the
//! first column again. In a pipe a long cell pushes what follows to the right, and nothing is cut.

use crate::terminal::{both_ends, cell, clean, limit, width};

/// Columns that a name needs to be known again: where there are fewer, columns stand below each
/// other.
const READABLE: usize = 16;
/// The same in a pipe, where lines may be long.
const READABLE_IN_PIPES: usize = 40;

/// How a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// Text.
    Left,
    /// Numbers.
    Right,
    /// Text that is cut where there is no room.
    Yields,
    /// The same; of a path the begin is cut, which says less than its end.
    #[cfg_attr(not(feature = "site"), allow(dead_code, reason = "columns of sites"))]
    Path,
    /// The same; of a place in the source the middle is cut: its end tells calls of one function
    /// apart.
    Place,
}

/// A table with a head.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns and their heads.
    pub(crate) fn new(columns: &[(&str, Column)]) -> Self {
        Self {
            columns: columns.iter().map(|(_, column)| *column).collect(),
            rows: vec![columns.iter().map(|(head, _)| (*head).to_owned()).collect()],
        }
    }

    /// Adds a row with one cell for each column.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// Adds a row of cells whose number is not known beforehand; missing ones stay empty.
    pub(crate) fn row_of(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines of the table, each without blanks at its end.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines_within(width(), limit())
    }

    /// The lines, laid out for `room` columns, none of them longer than `limit`.
    fn lines_within(&self, room: usize, limit: usize) -> Vec<String> {
        let signs = |text: &String| text.chars().count();
        let mut widths: Vec<usize> = (0..self.columns.len())
            .map(|at| self.rows.iter().filter_map(|row| row.get(at)).map(signs).max().unwrap_or(0))
            .collect();
        let yields =
            |at: usize| matches!(self.columns[at], Column::Yields | Column::Path | Column::Place);
        let whole = widths.clone();
        let readable = if limit > room { READABLE_IN_PIPES } else { READABLE };
        narrow(&mut widths, room, readable, yields);
        let blocks: Vec<(Vec<usize>, Vec<usize>)> = if length(widths.iter()) <= limit {
            vec![((0..widths.len()).collect(), widths)]
        } else {
            self.below_each_other(&whole, room)
        };
        let of_block = |(block, widths): &(Vec<usize>, Vec<usize>)| -> Vec<String> {
            self.rows.iter().map(|row| self.line(row, block, widths)).collect()
        };
        blocks.iter().map(of_block).collect::<Vec<_>>().join(&String::new())
    }

    /// Places and widths of the columns of tables that stand below each other.
    fn below_each_other(&self, whole: &[usize], room: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
        let capped: Vec<usize> = whole.iter().map(|&width| width.min(room / 2)).collect();
        let fitted = |block: Vec<usize>| {
            let mut own: Vec<usize> = block.iter().map(|&at| whole[at]).collect();
            narrow(&mut own, room, READABLE, |at| self.columns[block[at]] != Column::Right);
            (block, own)
        };
        blocks(&capped, room).into_iter().map(fitted).collect()
    }

    /// Some cells of a row with their widths.
    fn line(&self, row: &[String], block: &[usize], widths: &[usize]) -> String {
        let cells = block.iter().zip(widths).filter_map(|(&at, &width)| {
            let text = row.get(at)?;
            Some(match self.columns[at] {
                Column::Right => format!("{:>width$}", clean(text, width)),
                Column::Path => format!("{:<width$}", path(text, width)),
                Column::Place => format!("{:<width$}", both_ends(text, width)),
                _ => format!("{:<width$}", cell(text, width)),
            })
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    }
}

/// Takes from the widest of the columns that may give way until the line fits.
fn narrow(widths: &mut [usize], room: usize, readable: usize, yields: impl Fn(usize) -> bool) {
    loop {
        let too_long = length(widths.iter()).saturating_sub(room);
        let yielding = (0..widths.len()).filter(|&at| yields(at));
        let Some(widest) = yielding.clone().max_by_key(|&at| (widths[at], at)) else { return };
        if too_long == 0 || widths[widest] <= readable {
            return;
        }
        let next = yielding.filter(|&at| at != widest).map(|at| widths[at]).max();
        // Down to the next one, then both in turn.
        let least = next.unwrap_or(0).min(widths[widest] - 1).max(readable);
        widths[widest] = widths[widest].saturating_sub(too_long).max(least);
    }
}

/// Columns of a line with these cells.
fn length<'a>(widths: impl ExactSizeIterator<Item = &'a usize>) -> usize {
    let between = 2 * widths.len().saturating_sub(1);
    widths.sum::<usize>() + between
}

/// Places of columns that fit beside each other; the first column begins each block.
fn blocks(widths: &[usize], room: usize) -> Vec<Vec<usize>> {
    let mut blocks: Vec<Vec<usize>> = vec![Vec::new()];
    let mut used = 0;
    for (at, &width) in widths.iter().enumerate() {
        let fits = used + width <= room;
        match blocks.last_mut() {
            Some(block) if fits || block.len() < 2 => block.push(at),
            _ => {
                used = widths[0] + 2;
                blocks.push(vec![0, at]);
            }
        }
        used += width + 2;
    }
    blocks
}

/// A path without its begin where it is too long.
fn path(text: &str, width: usize) -> String {
    let length = text.chars().count();
    let text = clean(text, length);
    if length <= width || !text.starts_with('/') {
        return cell(&text, width);
    }
    let end: String = text.chars().skip(length - width.saturating_sub(1)).collect();
    let cut = format!("…{end}");
    // In a pipe nothing is cut.
    if cell(&text, width) == text { text } else { cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_pipe_nothing_is_cut() {
        let mut table =
            Table::new(&[("call", Column::Yields), ("n", Column::Right), ("at", Column::Path)]);
        let path = format!("/{}/end", "y".repeat(200));
        table.row(["x".repeat(200), "12".to_owned(), path.clone()]);
        table.row(["short".to_owned(), "7".to_owned(), "/here".to_owned()]);
        let lines = table.lines();
        assert_eq!(lines[1], format!("{}  12  {path}", "x".repeat(200)));
        assert!(lines[2].starts_with("short  ") && lines[2].ends_with("   7  /here"), "{lines:?}");
    }

    #[test]
    fn of_several_columns_the_widest_give_way() {
        let mut widths = [90, 5, 150, 7];
        narrow(&mut widths, 100, 8, |at| at != 1);
        assert_eq!(length(widths.iter()), 100);
        assert_eq!((widths[1], widths[3]), (5, 7));
        assert!(widths[0].abs_diff(widths[2]) <= 1, "{widths:?}");
        let mut narrow_ones = [9, 60];
        narrow(&mut narrow_ones, 20, 8, |at| at == 0);
        assert_eq!(narrow_ones, [8, 60], "down to what can be read");
    }

    #[test]
    fn columns_without_room_stand_below() {
        let mut table = Table::new(&[("name", Column::Left), ("a", Column::Right)]);
        table.columns.extend([Column::Right; 3]);
        for row in 0..2 {
            let cells = (1..5).map(|at| format!("{row}-{at}-{}", "z".repeat(12)));
            table.rows.push(std::iter::once(format!("row {row}")).chain(cells).collect());
        }
        let lines = table.lines_within(60, 60);
        assert!(lines.iter().all(|line| line.chars().count() <= 60), "{lines:?}");
        assert_eq!(lines.iter().filter(|line| line.starts_with("row 0")).count(), 2, "{lines:?}");
        for at in 1..5 {
            assert_eq!(lines.iter().filter(|line| line.contains(&format!("1-{at}-"))).count(), 1);
        }
        assert_eq!(lines[3], "");
    }
}

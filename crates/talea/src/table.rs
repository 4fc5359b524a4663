//! Tables in a terminal: columns that never jump, in at most 100 columns of text.
//!
//! Owns the widths. Columns that may give way are cut where the line would be too long, the widest first.

use crate::terminal::{WIDTH, clean};

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
    Path,
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
        let length = |text: &String| text.chars().count();
        let mut widths: Vec<usize> = (0..self.columns.len())
            .map(|at| self.rows.iter().filter_map(|row| row.get(at)).map(length).max().unwrap_or(0))
            .collect();
        self.narrow(&mut widths);
        let line = |row: &Vec<String>| {
            let cells =
                row.iter().zip(&self.columns).zip(&widths).map(|((cell, column), &width)| {
                    match column {
                        Column::Right => format!("{:>width$}", clean(cell, width)),
                        Column::Path => format!("{:<width$}", path(cell, width)),
                        _ => format!("{:<width$}", clean(cell, width)),
                    }
                });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }

    /// Takes from the widest of the columns that may give way until the line fits.
    fn narrow(&self, widths: &mut [usize]) {
        const LEAST: usize = 8;
        let yields = |at: &usize| matches!(self.columns[*at], Column::Yields | Column::Path);
        loop {
            let total = widths.iter().sum::<usize>() + 2 * (widths.len().saturating_sub(1));
            let too_long = total.saturating_sub(WIDTH);
            let yielding = (0..widths.len()).filter(yields);
            let Some(widest) = yielding.clone().max_by_key(|&at| (widths[at], at)) else { return };
            if too_long == 0 || widths[widest] <= LEAST {
                return;
            }
            let next = yielding.filter(|&at| at != widest).map(|at| widths[at]).max();
            // Down to the next one, then both in turn.
            let least = next.unwrap_or(0).min(widths[widest] - 1).max(LEAST);
            widths[widest] = widths[widest].saturating_sub(too_long).max(least);
        }
    }
}

/// A path without its begin where it is too long.
fn path(text: &str, width: usize) -> String {
    let length = text.chars().count();
    let text = clean(text, length);
    if length <= width || !text.starts_with('/') {
        return clean(&text, width);
    }
    let end: String = text.chars().skip(length - width.saturating_sub(1)).collect();
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_yielding_column_gives_way() {
        let mut table = Table::new(&[("call", Column::Yields), ("n", Column::Right)]);
        table.row(["x".repeat(200), "12".to_owned()]);
        table.row(["short".to_owned(), "7".to_owned()]);
        let lines = table.lines();
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:?}");
        assert_eq!(lines[1].chars().count(), WIDTH);
        assert!(lines[2].ends_with("   7"));
    }

    #[test]
    fn of_several_the_widest_give_way_and_paths_keep_their_ends() {
        let mut table =
            Table::new(&[("a", Column::Path), ("n", Column::Right), ("b", Column::Path)]);
        let [long, longer] = [90, 150].map(|length| format!("/{}/end", "x".repeat(length)));
        table.row([long, "12".to_owned(), longer]);
        table.row(["/short".to_owned(), "7".to_owned(), "not a path".repeat(20)]);
        let lines = table.lines();
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:?}");
        assert_eq!(lines[1].matches("xx/end").count(), 2, "{lines:?}");
        assert!(lines[2].starts_with("/short ") && lines[2].ends_with('…'), "{lines:?}");
    }
}

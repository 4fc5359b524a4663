//! Tables in a terminal: columns that never jump, in at most 100 columns of text.
//!
//! Owns the widths. One column may give way: it is cut where the line would be too long.

use crate::terminal::{WIDTH, clean};

/// How a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// Text.
    Left,
    /// Numbers.
    Right,
    /// Text that is cut first where there is no room.
    Yields,
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
        let total = widths.iter().sum::<usize>() + 2 * (widths.len().saturating_sub(1));
        if let (true, Some(at)) =
            (total > WIDTH, self.columns.iter().position(|column| *column == Column::Yields))
        {
            widths[at] = widths[at].saturating_sub(total - WIDTH).max(8);
        }
        let line = |row: &Vec<String>| {
            let cells =
                row.iter().zip(&self.columns).zip(&widths).map(|((cell, column), &width)| {
                    match column {
                        Column::Right => format!("{:>width$}", clean(cell, width)),
                        _ => format!("{:<width$}", clean(cell, width)),
                    }
                });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }
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
}

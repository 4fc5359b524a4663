//! Tables of numbers as text: names in the first line, a row in each other, cells between commas
//! (or semicolons, or tabs).
//!
//! Owns that syntax, RFC 4180's with other separators beside the comma, and the choice of kept
//! columns. An empty cell, `NaN` and `NA` are a missing value, `NaN` in memory; anything else that
//! is no number is an error with its line and column. Memory is 8 bytes for each kept value, and
//! one line: rows are read one by one. Cells of other columns may hold any text.

use std::io::BufRead;

/// Longest line in bytes.
pub const LONGEST_LINE: usize = 1 << 20;
/// Maximum number of columns.
pub const MOST_COLUMNS: usize = 4096;
/// Maximum number of rows.
pub const MOST_ROWS: usize = 1 << 31;

/// Columns of a table, row after row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Names of the kept columns, in the requested order, else that of the file.
    pub names: Vec<String>,
    /// Names of all columns of the file.
    pub all: Vec<String>,
    /// Kept values, row after row.
    pub values: Vec<f64>,
    /// Number of rows.
    pub rows: usize,
}

/// Errors of reading a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// An empty file.
    #[error("expected names of columns in the first line, found an empty file")]
    Empty,
    /// Numbers in the place of names.
    #[error("line 1: expected names of columns, found only numbers")]
    NoNames,
    /// More columns than the maximum.
    #[error("line 1: expected at most {MOST_COLUMNS} columns, found more")]
    Columns,
    /// An unknown column.
    #[error("expected a column of the table ({there}), found `{name}`")]
    Unknown {
        /// Requested name.
        name: String,
        /// The available ones.
        there: String,
    },
    /// A name that two columns have.
    #[error("expected one column `{0}`, found more")]
    Twice(String),
    /// A cell that is no number.
    #[error("line {line}, column {column} ({name}): expected a number, found `{found}`")]
    Cell {
        /// Line number, from 1.
        line: u64,
        /// Number of the cell, from 1.
        column: usize,
        /// Its name.
        name: String,
        /// The text that was found, shortened.
        found: String,
    },
    /// The numbers of cells and of names differ.
    #[error("line {line}: expected {expected} cells, found {found}")]
    Cells {
        /// Line number, from 1.
        line: u64,
        /// Number of names.
        expected: usize,
        /// Number of cells.
        found: usize,
    },
    /// A quote that does not end, or text after it.
    #[error("line {line}, column {column}: expected a quote at the end of the cell")]
    Quote {
        /// Line number, from 1.
        line: u64,
        /// Number of the cell, from 1.
        column: usize,
    },
    /// A line that is too long for text of this kind.
    #[error("line {line}: expected at most {LONGEST_LINE} bytes")]
    Long {
        /// Line number, from 1.
        line: u64,
    },
    /// Bytes that are not UTF-8.
    #[error("line {line}: expected UTF-8 text")]
    NotText {
        /// Line number, from 1.
        line: u64,
    },
    /// More rows than the maximum.
    #[error("expected fewer than {MOST_ROWS} rows")]
    Rows,
    /// An error of the source.
    #[error("cannot read: {0}")]
    Read(#[from] std::io::Error),
}

impl Table {
    /// The values of a kept column; `None` for another one.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let at = self.names.iter().position(|one| one == name)?;
        Some(self.values.iter().skip(at).step_by(self.names.len()).copied().collect())
    }
}

/// Reads a table; keeps the `wanted` columns in that order, or all whose first value is a number.
pub fn read(mut source: impl BufRead, wanted: Option<&[String]>) -> Result<Table, TableError> {
    let mut line = Vec::new();
    let mut number = 0_u64;
    if !next_line(&mut source, &mut line, &mut number)? {
        return Err(TableError::Empty);
    }
    let head = text(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line), number)?;
    let mut quoted = false;
    let separates = |c: &char| {
        quoted ^= *c == '"';
        !quoted && ",;\t".contains(*c)
    };
    let separator = head.chars().find(separates).unwrap_or(',');
    let mut all = Vec::new();
    cells(head, separator, number, |_, cell| {
        all.push(cell.replace("\"\"", "\"").trim().to_owned());
        if all.len() > MOST_COLUMNS { Err(TableError::Columns) } else { Ok(()) }
    })?;
    if all.iter().all(|name| name.parse::<f64>().is_ok()) {
        return Err(TableError::NoNames);
    }
    let mut kept = wanted.map(|wanted| choose(&all, wanted)).transpose()?;
    let mut table = Table { all, ..Table::default() };
    // For each column of the file the place of its value; duplicate places of a column are refused
    // before.
    let mut place = vec![None; table.all.len()];
    // The first row determines the numeric columns, once.
    let mut decided = wanted.is_some();
    let mut row = Vec::new();
    while next_line(&mut source, &mut line, &mut number)? {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let content = text(&line, number)?;
        let chosen = match kept.take() {
            Some(chosen) => Some(chosen),
            None if !decided => Some(numeric(content, separator, number, table.all.len())?),
            None => None,
        };
        decided = true;
        if let Some(chosen) = chosen {
            table.take(&chosen, &mut place);
            row = vec![f64::NAN; chosen.len()];
        }
        if table.rows + 1 >= MOST_ROWS {
            return Err(TableError::Rows);
        }
        let mut found = 0;
        cells(content, separator, number, |at, cell| {
            found = at + 1;
            if let Some(&Some(to)) = place.get(at) {
                let value = value(cell).ok_or_else(|| TableError::Cell {
                    line: number,
                    column: at + 1,
                    name: table.all.get(at).cloned().unwrap_or_default(),
                    found: cell.chars().take(40).collect(),
                })?;
                if let Some(slot) = row.get_mut::<usize>(to) {
                    *slot = value;
                }
            }
            Ok(())
        })?;
        if found != table.all.len() {
            return Err(TableError::Cells { line: number, expected: table.all.len(), found });
        }
        table.values.extend_from_slice(&row);
        table.rows += 1;
    }
    // Without a row the numeric columns are unknown.
    if let Some(chosen) = kept {
        table.take(&chosen, &mut place);
    }
    Ok(table)
}

impl Table {
    fn take(&mut self, chosen: &[usize], place: &mut [Option<usize>]) {
        for (to, &at) in chosen.iter().enumerate() {
            if let (Some(place), Some(name)) = (place.get_mut(at), self.all.get(at)) {
                *place = Some(to);
                self.names.push(name.clone());
            }
        }
    }
}

/// Places of the wanted columns.
fn choose(all: &[String], wanted: &[String]) -> Result<Vec<usize>, TableError> {
    let mut chosen = Vec::new();
    for name in wanted {
        let mut places = all.iter().enumerate().filter(|(_, one)| *one == name).map(|(at, _)| at);
        let Some(at) = places.next() else {
            const SHOWN: usize = 12;
            let mut there =
                all.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
            if all.len() > SHOWN {
                there.push_str(", ...");
            }
            return Err(TableError::Unknown {
                name: name.clone(),
                there: there.chars().take(200).collect(),
            });
        };
        if places.next().is_some() || chosen.contains(&at) {
            return Err(TableError::Twice(name.clone()));
        }
        chosen.push(at);
    }
    Ok(chosen)
}

/// Places of the columns whose cell of this row is a number, or missing.
fn numeric(
    line: &str,
    separator: char,
    number: u64,
    columns: usize,
) -> Result<Vec<usize>, TableError> {
    let mut chosen = Vec::new();
    cells(line, separator, number, |at, cell| {
        if at < columns && value(cell).is_some() {
            chosen.push(at);
        }
        Ok(())
    })?;
    Ok(chosen)
}

fn value(cell: &str) -> Option<f64> {
    let cell = cell.trim();
    if cell.is_empty() || cell == "NA" { Some(f64::NAN) } else { cell.parse().ok() }
}

fn text(line: &[u8], number: u64) -> Result<&str, TableError> {
    std::str::from_utf8(line).map_err(|_| TableError::NotText { line: number })
}

/// The next line without its end; false after the last.
fn next_line(
    source: &mut impl BufRead,
    line: &mut Vec<u8>,
    number: &mut u64,
) -> Result<bool, TableError> {
    line.clear();
    *number += 1;
    loop {
        let block = source.fill_buf()?;
        if block.is_empty() {
            return Ok(!line.is_empty());
        }
        let end = memchr::memchr(b'\n', block);
        line.extend_from_slice(&block[..end.unwrap_or(block.len())]);
        let taken = end.map_or(block.len(), |end| end + 1);
        source.consume(taken);
        if line.len() > LONGEST_LINE {
            return Err(TableError::Long { line: *number });
        }
        if end.is_some() {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(true);
        }
    }
}

/// Calls `each` with every cell and its place. Quotes inside of a quoted cell stay doubled: no
/// number has any, and the reader corrects names.
fn cells<'a>(
    line: &'a str,
    separator: char,
    number: u64,
    mut each: impl FnMut(usize, &'a str) -> Result<(), TableError>,
) -> Result<(), TableError> {
    let separator = separator as u8;
    let mut rest = line;
    for at in 0.. {
        let bytes = rest.as_bytes();
        let (cell, behind) = if bytes.first() == Some(&b'"') {
            let mut end = 1;
            loop {
                let quote = || TableError::Quote { line: number, column: at + 1 };
                end += memchr::memchr(b'"', &bytes[end..]).ok_or_else(quote)?;
                match bytes.get(end + 1) {
                    Some(b'"') => end += 2,
                    Some(&c) if c != separator => return Err(quote()),
                    _ => break,
                }
            }
            (&rest[1..end], end + 1)
        } else {
            let end = memchr::memchr(separator, bytes).unwrap_or(bytes.len());
            (&rest[..end], end)
        };
        each(at, cell)?;
        if behind >= rest.len() {
            break;
        }
        rest = &rest[behind + 1..];
    }
    Ok(())
}

/// A value in the form of a table, so that reading returns the same; empty for a missing one.
pub fn cell(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

/// A text as a cell: quoted if necessary.
pub fn quoted(text: &str) -> String {
    if text.contains([',', ';', '\t', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"").replace(['\n', '\r'], " "))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, clippy::format_push_string, reason = "figures that are exact")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, wanted: &[&str]) -> Result<Table, String> {
        let wanted: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
        let wanted = (!wanted.is_empty()).then_some(&wanted[..]);
        read(text.as_bytes(), wanted).map_err(|error| error.to_string())
    }

    #[test]
    fn tables_of_many_programs() {
        let table = check("a,b,c\n1,2,x\n3,,y\n", &["b", "a"]).unwrap();
        assert_eq!((table.names.join(" "), table.rows), ("b a".into(), 2));
        assert_eq!((table.values[0], table.values[1]), (2.0, 1.0));
        assert!(table.values[2].is_nan());
        assert_eq!(table.column("a").unwrap(), [1.0, 3.0]);
        // All numeric columns; other separators, quotes, line ends, blank lines.
        let table =
            check("\u{feff}\"a \"\"x\"\"\";b;c\r\n\r\n\"1\";NaN;text\r\n 2 ; 4e3;-", &[]).unwrap();
        assert_eq!(table.names, ["a \"x\"", "b"]);
        assert_eq!(check("\"a, b\";c\n1;2\n", &[]).unwrap().names, ["a, b", "c"]);
        assert_eq!((table.values[0], table.values[2], table.values[3]), (1.0, 2.0, 4000.0));
        assert_eq!(check("a\tb\n1\t2\n", &[]).unwrap().values, [1.0, 2.0]);
        // No number in the first row: there is no column of numbers.
        let none = check("a\nx\n1\n", &[]).unwrap();
        assert_eq!((none.rows, none.values.len(), none.names.len()), (2, 0, 0));
        assert_eq!(check("a,b\n", &["b"]).unwrap().names, ["b"]);
    }

    #[test]
    fn what_is_no_table_is_said_with_its_place() {
        let said = |text: &str, wanted: &[&str]| check(text, wanted).unwrap_err();
        assert_eq!(
            said("", &[]),
            "expected names of columns in the first line, found an empty file"
        );
        assert_eq!(said("1,2\n3,4", &[]), "line 1: expected names of columns, found only numbers");
        assert_eq!(
            said("a,b\n1,2\n1,x\n", &[]),
            "line 3, column 2 (b): expected a number, found `x`"
        );
        assert_eq!(said("a,b\n1,2,3\n", &["a"]), "line 2: expected 2 cells, found 3");
        assert_eq!(said("a,b\n1\n", &["a"]), "line 2: expected 2 cells, found 1");
        assert_eq!(said("a,b\n", &["c"]), "expected a column of the table (a, b), found `c`");
        assert_eq!(said("a,a\n", &["a"]), "expected one column `a`, found more");
        assert_eq!(
            said("a,b\n\"1,2", &["a"]),
            "line 2, column 1: expected a quote at the end of the cell"
        );
        assert_eq!(
            said("a,b\n\"1\"2,2", &["a"]),
            "line 2, column 1: expected a quote at the end of the cell"
        );
        let long = format!("a\n{}", "1".repeat(LONGEST_LINE + 1));
        assert_eq!(said(&long, &[]), "line 2: expected at most 1048576 bytes");
        let wide = format!("a{}", ",a".repeat(MOST_COLUMNS));
        assert_eq!(said(&wide, &[]), "line 1: expected at most 4096 columns, found more");
        assert!(matches!(read(&b"a\n\xff\n"[..], None), Err(TableError::NotText { line: 2 })));
    }

    proptest! {
        #[test]
        fn values_come_back(rows in prop::collection::vec((any::<f64>(), any::<f64>()), 0..30)) {
            let mut text = String::from("x,\"y, quoted\",name\n");
            for (x, y) in &rows {
                text.push_str(&format!("{},{},{}\n", cell(*x), cell(*y), quoted("a\"b,c")));
            }
            let table = check(&text, &["y, quoted", "x"]).unwrap();
            prop_assert_eq!(table.rows, rows.len());
            for (row, (x, y)) in table.values.chunks(2).zip(&rows) {
                for (found, value) in [(row[1], x), (row[0], y)] {
                    prop_assert!(found == *value || !value.is_finite() && found.is_nan());
                }
            }
        }

        #[test]
        fn any_bytes_end_well(bytes in prop::collection::vec(prop::sample::select(&b"a1,;\t\"\n\r.-e\xffN"[..]), 0..200)) {
            let _ = read(&bytes[..], None);
            let _ = read(&bytes[..], Some(&["a".to_owned()]));
        }
    }
}

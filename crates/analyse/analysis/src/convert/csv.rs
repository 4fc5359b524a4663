//! Tables as text: names of columns in the first line, a row in each other (RFC 4180).

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use talea_model::Trace;

use super::file::Draft;
use super::tables::{self, Piece, Table};
use super::{ConvertError, Count};

/// Rows that are looked up together: bounds the memory for them.
const GROUP: usize = 1 << 16;

/// Writes all tables of a trace; returns counts of the rows written.
pub(super) fn save(trace: &Trace, path: &Path) -> Result<Vec<Count>, ConvertError> {
    tables::save(trace, path, |table, path| {
        write_table(table, path)
            .map_err(|source| ConvertError::Write { source, path: path.to_owned() })
    })
}

fn write_table(table: &Table<'_>, path: &Path) -> io::Result<Option<PathBuf>> {
    let mut out = Draft::create(path)?;
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    write!(out, "{}\r\n", names.join(","))?;
    for from in (0..table.rows).step_by(GROUP) {
        let range = from..table.rows.min(from + GROUP);
        let columns: Vec<Piece<'_>> =
            (0..names.len()).map(|column| table.piece(column, range.clone())).collect();
        for row in 0..range.len() {
            for (at, column) in columns.iter().enumerate() {
                out.write_all(if at == 0 { b"" } else { b"," })?;
                match column {
                    Piece::Numbers(all) => write!(out, "{}", all[row])?,
                    Piece::Texts(all) => cell(&mut out, all[row])?,
                }
            }
            out.write_all(b"\r\n")?;
        }
    }
    out.finish()
}

/// Quotes a text that contains a delimiter.
fn cell(out: &mut impl Write, text: &str) -> io::Result<()> {
    if text.contains([',', '"', '\r', '\n']) {
        write!(out, "\"{}\"", text.replace('"', "\"\""))
    } else {
        out.write_all(text.as_bytes())
    }
}

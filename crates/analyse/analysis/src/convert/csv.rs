//! Tables as text: names of columns in the first line, a row in each other (RFC 4180).
//!
//! Owns the files of the tables: events have the name that was given, states and messages stand
//! beside them (`OUT.states.csv`).

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use talea_model::Trace;

use super::file::Draft;
use super::tables::{self, Piece, Table};
use super::{ConvertError, Count};

/// Rows that are looked up together: bounds the memory for them.
const GROUP: usize = 1 << 16;

/// Writes all tables of a trace; a pipe or a device gets the events alone. Returns counts of the
/// rows written.
pub(super) fn save(trace: &Trace, path: &Path) -> Result<Vec<Count>, ConvertError> {
    let write = |table: &Table<'_>, path: &Path| {
        write_table(table, path)
            .map_err(|source| ConvertError::Write { source, path: path.to_owned() })
    };
    let [events, states, messages] = tables::all(trace);
    let mut counts = vec![Count(events.rows as u64, events.noun)];
    let Some(path) = write(&events, path)? else { return Ok(counts) };
    let ending = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    for table in [states, messages] {
        write(&table, &path.with_extension(format!("{}.{ending}", table.name)))?;
        counts.push(Count(table.rows as u64, table.noun));
    }
    Ok(counts)
}

/// Writes a table; returns the file's name, as [`Draft::finish`] does.
fn write_table(table: &Table<'_>, path: &Path) -> io::Result<Option<PathBuf>> {
    let mut out = Draft::create(path)?;
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    write!(out, "{}\r\n", names.join(","))?;
    for from in (0..table.rows).step_by(GROUP) {
        let rows: Vec<usize> = (from..table.rows.min(from + GROUP)).collect();
        let columns: Vec<Piece<'_>> =
            (0..names.len()).map(|column| table.piece(column, &rows)).collect();
        for row in 0..rows.len() {
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

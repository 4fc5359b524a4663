//! A run or a trace as a data set of Apache Parquet, for the site's own engine.
//!
//! Owns the number of ranks or tasks of a folder, and the tables of a trace. The files are
//! [`part`]'s, their folder is [`dataset`]'s, the tables of a run are [`run`]'s. Needs the feature
//! `parquet`; without it nothing of this is built.

mod calls;
mod dataset;
mod part;
mod run;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use rayon::prelude::*;
use talea_model::Trace;

use super::Count;
use super::tables::{self, Piece, Table};
use dataset::DataSet;
pub(super) use dataset::check_name;
use part::{Cell, Column, GROUP, Kind, Part};
pub(super) use run::save_run;

/// Errors of writing a data set.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// A table.
    #[error("cannot write the table: {source}: `{}`", path.display())]
    Table {
        /// The error of its writer.
        source: ParquetError,
        /// The folder of the table.
        path: PathBuf,
    },
    /// The folder.
    #[error("cannot write the data set: {source}: `{}`", path.display())]
    Folder {
        /// Error of the system.
        source: std::io::Error,
        /// The folder.
        path: PathBuf,
    },
    /// Something else has the name.
    #[error(
        "expected a new name or a data set that talea wrote, found {found}; remove it, or give another name: `{}`",
        path.display()
    )]
    Taken {
        /// The thing that has it.
        found: String,
        /// The name.
        path: PathBuf,
    },
    /// Standard output.
    #[error(
        "a Parquet data set is a folder, which standard output cannot hold; give a name, such as `run.parquet`, or write a `.csv`"
    )]
    Stream,
}

/// Rows of a folder, as far as whole ranks or tasks allow: readers and writers take one each at a
/// time.
const ROWS: u64 = 1 << 22;
/// Maximum number of ranks or tasks of a folder.
const MEMBERS: u64 = 256;

/// Number of ranks or tasks whose rows stand in one folder, a power of two.
fn members_of_folder(rows: u64, members: usize) -> u32 {
    let each = (rows / (members as u64).max(1)).max(1);
    1 << (ROWS / each).clamp(1, MEMBERS).ilog2()
}

impl DataSet {
    /// Writes a table, or a part of one; returns the number of its rows, and what `fill` returns.
    fn write<T>(
        &self,
        table: &str,
        columns: &[Column],
        fill: impl FnOnce(&mut Part) -> Result<T, ParquetError>,
    ) -> Result<(u64, T), SaveError> {
        let write = || -> Result<(u64, T), ParquetError> {
            let mut part = Part::create(&self.folder(table), columns)?;
            let filled = fill(&mut part)?;
            Ok((part.finish()?, filled))
        };
        write().map_err(|source| SaveError::Table { source, path: self.path_of(table) })
    }
}

/// Writes all tables of a trace, in folders of its tasks; returns counts of the rows written.
pub(super) fn save(trace: &Trace, path: &Path) -> Result<Vec<Count>, SaveError> {
    let set = DataSet::create(path)?;
    let mut counts = Vec::new();
    for table in tables::all(trace) {
        let written: Vec<u64> = folders(trace, &table)
            .par_iter()
            .map(|(first, rows)| {
                let folder = format!("{}/first_task={first}", table.name);
                let columns = columns(&table);
                set.write(&folder, &columns, |part| write_rows(&table, rows, part))
                    .map(|(rows, ())| rows)
            })
            .collect::<Result<_, SaveError>>()?;
        counts.push(Count(written.iter().sum(), table.noun));
    }
    set.finish()?;
    Ok(counts)
}

/// Rows of a table by folder, with the first task that can be in it.
fn folders(trace: &Trace, table: &Table<'_>) -> BTreeMap<u32, Vec<usize>> {
    let tasks = (1..=trace.locations.applications() as u32)
        .map(|application| trace.locations.tasks(application).len());
    let each = members_of_folder(table.rows as u64, tasks.sum());
    let mut folders = BTreeMap::new();
    for row in 0..table.rows {
        let task = trace.locations.get((table.location)(row)).map_or(1, |place| place.task.max(1));
        let rows: &mut Vec<usize> = folders.entry((task - 1) / each * each + 1).or_default();
        rows.push(row);
    }
    if folders.is_empty() {
        folders.insert(1, Vec::new());
    }
    folders
}

fn columns(table: &Table<'_>) -> Vec<Column> {
    let kind = |is_text: bool, name: &str| match name {
        _ if is_text => Kind::Text,
        "time_ns" | "begin_ns" | "sent_ns" => Kind::Ascending,
        _ => Kind::Number,
    };
    table.columns.iter().map(|&(name, is_text)| (name, kind(is_text, name))).collect()
}

fn write_rows(table: &Table<'_>, rows: &[usize], part: &mut Part) -> Result<(), ParquetError> {
    let kinds = columns(table);
    let mut row: Vec<Cell> = Vec::with_capacity(kinds.len());
    for rows in rows.chunks(GROUP) {
        let pieces: Vec<Piece<'_>> = (0..kinds.len()).map(|at| table.piece(at, rows)).collect();
        for at in 0..rows.len() {
            row.clear();
            for (column, (piece, (_, kind))) in pieces.iter().zip(&kinds).enumerate() {
                row.push(match piece {
                    Piece::Numbers(all) if *kind == Kind::Ascending => {
                        Cell::Optional(Some(all[at]))
                    }
                    Piece::Numbers(all) => Cell::Number(all[at]),
                    Piece::Texts(all) => Cell::Name(part.name(column, all[at])),
                });
            }
            part.push(&row)?;
        }
    }
    Ok(())
}

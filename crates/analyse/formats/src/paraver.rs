//! Paraver's traces: `.prv` (records), `.pcf` (labels and colours) and `.row` (names of rows), read
//! into a [`Trace`] and written back.
//!
//! Owns the syntax of the three files, as BSC's tools write and read them. The caller opens and
//! decompresses: `.prv` comes as any [`std::io::Read`] or as blocks of bytes, the other two as
//! bytes. Lines are read by a fast parser that knows the usual form only; other lines go to a
//! careful one, which also reports column and expectation. Follows "Paraver Trace Generation" (BSC)
//! and, where that leaves questions open, the behaviour of Extrae and Paraver:
//!
//! - no suffix of the header's time means microseconds; dates contain ':'; any character may stand
//!   between applications;
//! - resources `0` are none, a cpu of 0 is unknown; communicators are counted at the end of the
//!   header, or after each application;
//! - values may be written as unsigned 64-bit numbers: their bits are kept; sizes of messages of 2
//!   GiB and more are written negative;
//! - an end of -1 is unknown; records need not be sorted.
//!
//! Where a file was cut, the part before the cut is kept, with a gap. A damaged line before that is
//! an error, or is left out by [`Options::damage`]. Memory is that of the columns; nothing is
//! allocated for mere claims of a header.

pub mod bench;
mod careful;
mod header;
mod labels;
mod number;
mod place_cache;
mod reader;
mod record;
mod reserve;
mod rows;
#[cfg(test)]
mod tests;
mod write;
mod write_labels;

use std::io::Read;

pub use bench::Measure;
pub use labels::read_labels;
pub use reader::Reader;
pub use rows::read_rows;
use talea_model::Trace;
pub use write::{RecordLines, WriteError, write, write_head};
pub use write_labels::{write_labels, write_rows};

/// Treatment of a line in the middle of the records that violates the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Damage {
    /// Reading ends with an error.
    #[default]
    Refuse,
    /// The line is left out; a gap counts such lines and describes the first.
    Skip,
}

/// Options of reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Number of bytes of the source, if known: columns are then reserved once and at the right
    /// size.
    pub size: Option<u64>,
    /// Treatment of damaged lines.
    pub damage: Damage,
}

/// A place in a text and the expected form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: expected {expected}, found {found}")]
pub struct Fault {
    /// Line number, from 1.
    pub line: u64,
    /// Column, from 1, in bytes.
    pub column: u64,
    /// The expected form.
    pub expected: String,
    /// The text that was found, shortened and in quotes, or `the end of the line`.
    pub found: String,
}

/// Errors of reading a trace.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A line that violates the format.
    #[error(transparent)]
    Line(#[from] Fault),
    /// The source has no header.
    #[error("no Paraver trace: expected a first line such as `#Paraver (...`, found no bytes")]
    Nothing,
    /// More records of one kind than an index can number.
    #[error("line {line}: expected at most 4294967295 records of a kind")]
    TooMany {
        /// Line number, from 1.
        line: u64,
    },
    /// The source failed. One that only ended too early is no error but a gap.
    #[error("reading failed after line {line}")]
    Read {
        /// Number of lines read before.
        line: u64,
        /// Error of the source.
        source: std::io::Error,
    },
}

/// Number of bytes per request: they and the ends of all columns stay in the second-level cache.
const BLOCK: usize = 1 << 17;

/// Reads a `.prv` from any source. Labels and names of rows stay empty: [`read_labels`] and
/// [`read_rows`] read them.
pub fn read(mut source: impl Read, options: &Options) -> Result<Trace, Error> {
    let mut reader = Reader::new(options);
    let mut block = vec![0; BLOCK];
    loop {
        match source.read(&mut block) {
            Ok(0) => return reader.finish(),
            Ok(size) => reader.block(&block[..size.min(BLOCK)])?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return reader.finish_early(&error.to_string());
            }
            Err(source) => return Err(Error::Read { line: reader.lines(), source }),
        }
    }
}

/// Reads a `.prv` that is in memory, or mapped.
pub fn read_bytes(bytes: &[u8], options: &Options) -> Result<Trace, Error> {
    let mut reader =
        Reader::new(&Options { size: options.size.or(Some(bytes.len() as u64)), ..*options });
    for block in bytes.chunks(BLOCK) {
        reader.block(block)?;
    }
    reader.finish()
}

//! One file of a data set.
//!
//! Owns the row groups: at most one is held, and each has the minimum and maximum of every column,
//! by which readers leave out what a question does not need. Texts are in dictionaries; times that
//! ascend are coded by their differences; all is packed by zstd.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

/// Rows that are written together: bounds the memory for them.
pub(super) const GROUP: usize = 1 << 17;
/// Texts that are handed to the writer together.
const BATCH: usize = 1 << 12;

/// Kind of the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    /// A number, or null.
    Optional,
    /// The same, ascending for the most part.
    Ascending,
    Text,
}

/// A column: its name and kind.
pub(super) type Column = (&'static str, Kind);

/// A cell.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell {
    Number(i64),
    Optional(Option<i64>),
    /// A text, by its number in [`Part::name`].
    Name(u32),
}

/// Cells of a row group.
enum Cells {
    Numbers(Vec<i64>),
    /// Values, and for each row 1 if it has one.
    Optional(Vec<i64>, Vec<i16>),
    Names(Names),
}

/// Texts by number, and the number for each row.
#[derive(Default)]
struct Names {
    texts: Vec<ByteArray>,
    known: HashMap<String, u32>,
    rows: Vec<u32>,
}

/// An unfinished file.
pub(super) struct Part {
    writer: SerializedFileWriter<BufWriter<File>>,
    columns: Vec<Cells>,
    /// Rows that are held.
    rows: usize,
    /// Rows of all groups before.
    written: u64,
}

impl Part {
    /// Creates `part-0.parquet` in a folder, which is created too.
    pub(super) fn create(folder: &Path, columns: &[Column]) -> Result<Self, ParquetError> {
        let path = folder.join("part-0.parquet");
        fs::create_dir_all(folder)?;
        let file = File::options().write(true).create_new(true).open(path)?;
        let field = |(name, kind): &Column| match kind {
            Kind::Number => format!("required int64 {name}; "),
            Kind::Optional | Kind::Ascending => format!("optional int64 {name}; "),
            Kind::Text => format!("required binary {name} (STRING); "),
        };
        let fields: String = columns.iter().map(field).collect();
        let schema = Arc::new(parse_message_type(&format!("message talea {{ {fields}}}"))?);
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by(concat!("talea ", env!("CARGO_PKG_VERSION")).to_owned());
        for (name, _) in columns.iter().filter(|(_, kind)| *kind == Kind::Ascending) {
            let path = ColumnPath::from(*name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        let out = BufWriter::with_capacity(1 << 20, file);
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties.build()))?;
        let cells = |(_, kind): &Column| match kind {
            Kind::Number => Cells::Numbers(Vec::new()),
            Kind::Optional | Kind::Ascending => Cells::Optional(Vec::new(), Vec::new()),
            Kind::Text => Cells::Names(Names::default()),
        };
        Ok(Self { writer, columns: columns.iter().map(cells).collect(), rows: 0, written: 0 })
    }

    /// The number of a text of a column, which it keeps.
    pub(super) fn name(&mut self, column: usize, text: &str) -> u32 {
        let Some(Cells::Names(names)) = self.columns.get_mut(column) else { return 0 };
        if let Some(&number) = names.known.get(text) {
            return number;
        }
        let number = names.texts.len() as u32;
        names.texts.push(ByteArray::from(text));
        names.known.insert(text.to_owned(), number);
        number
    }

    /// Adds a row; cells are of the columns' kinds.
    pub(super) fn push(&mut self, row: &[Cell]) -> Result<(), ParquetError> {
        for (cells, cell) in self.columns.iter_mut().zip(row) {
            match (cells, *cell) {
                (Cells::Numbers(all), Cell::Number(value)) => all.push(value),
                (Cells::Optional(values, levels), Cell::Optional(value)) => {
                    values.extend(value);
                    levels.push(i16::from(value.is_some()));
                }
                (Cells::Names(names), Cell::Name(number)) => names.rows.push(number),
                (_, cell) => debug_assert!(false, "a cell of another kind: {cell:?}"),
            }
        }
        self.rows += 1;
        if self.rows == GROUP { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for cells in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            match cells {
                Cells::Numbers(all) => {
                    write::<Int64Type>(&mut column, all, None)?;
                    all.clear();
                }
                Cells::Optional(values, levels) => {
                    write::<Int64Type>(&mut column, values, Some(levels))?;
                    values.clear();
                    levels.clear();
                }
                Cells::Names(names) => {
                    let text = |&number: &u32| names.texts[number as usize].clone();
                    for rows in names.rows.chunks(BATCH) {
                        let texts: Vec<ByteArray> = rows.iter().map(text).collect();
                        write::<ByteArrayType>(&mut column, &texts, None)?;
                    }
                    names.rows.clear();
                }
            }
            column.close()?;
        }
        group.close()?;
        self.written += self.rows as u64;
        self.rows = 0;
        Ok(())
    }

    /// Completes the file; returns the number of its rows.
    pub(super) fn finish(mut self) -> Result<u64, ParquetError> {
        if self.rows > 0 {
            self.write_group()?;
        }
        let out = self.writer.into_inner()?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        // Without this a crash of the machine can leave the new name without contents.
        file.sync_all()?;
        Ok(self.written)
    }
}

fn write<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    column.typed::<T>().write_batch(values, levels, None).map(|_| ())
}

/// A count or a time as a cell.
pub(super) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

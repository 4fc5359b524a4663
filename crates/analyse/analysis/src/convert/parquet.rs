//! Tables as Apache Parquet, for the site's own engine.
//!
//! Owns the files' properties. Texts repeat, so that dictionaries and zstd compress them. Needs the
//! feature `parquet`; without it nothing of this is built.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use talea_model::Trace;

use super::Count;
use super::file::Draft;
use super::tables::{self, Piece, Table};

/// Rows that are written together: bounds the memory for them.
const GROUP: usize = 1 << 20;

/// Error of saving a table.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the table: {source}: `{}`", path.display())]
pub struct SaveError {
    source: ParquetError,
    path: PathBuf,
}

/// Writes all tables of a trace; returns counts of the rows written.
pub(super) fn save(trace: &Trace, path: &Path) -> Result<Vec<Count>, SaveError> {
    tables::save(trace, path, |table, path| {
        write_table(table, path).map_err(|source| SaveError { source, path: path.to_owned() })
    })
}

/// Writes a table; returns the file's name, as [`Draft::finish`] does.
fn write_table(table: &Table<'_>, path: &Path) -> Result<Option<PathBuf>, ParquetError> {
    let (columns, rows) = (table.columns, table.rows);
    let fields: String = columns
        .iter()
        .map(|(name, is_text)| {
            if *is_text {
                format!("required binary {name} (STRING); ")
            } else {
                format!("required int64 {name}; ")
            }
        })
        .collect();
    let schema = Arc::new(parse_message_type(&format!("message talea {{ {fields}}}"))?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by(concat!("talea ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let file = Draft::create(path)?;
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    for from in (0..rows).step_by(GROUP) {
        let range = from..rows.min(from + GROUP);
        let mut group = writer.next_row_group()?;
        for at in 0..columns.len() {
            match table.piece(at, range.clone()) {
                Piece::Numbers(values) => write::<Int64Type>(&mut group, &values)?,
                Piece::Texts(values) => {
                    let values: Vec<ByteArray> = values.into_iter().map(ByteArray::from).collect();
                    write::<ByteArrayType>(&mut group, &values)?;
                }
            }
        }
        group.close()?;
    }
    Ok(writer.into_inner()?.finish()?)
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Draft>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, None, None)?;
        column.close()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use talea_model::trace::{MessageRecord, StateRecord, ValueSet};

    use super::*;

    #[test]
    fn what_is_written_is_read_by_others() {
        let mut trace = Trace::default();
        trace.locations.push_task(2, 1).unwrap();
        trace.push_event((1, 0), 7, &[50_000_001, 42], &[3, -5]);
        trace.push_state(StateRecord { location: 0, cpu: 0, begin: 1, end: 9, state: 1 });
        trace.push_message(MessageRecord {
            sender: 0,
            sender_cpu: 0,
            logical_send: 2,
            physical_send: 3,
            receiver: 1,
            receiver_cpu: 0,
            logical_receive: 2,
            physical_receive: 8,
            size: 64,
            tag: 5,
        });
        let mut set = ValueSet::default();
        set.push(3, "MPI_Isend".to_owned());
        trace.labels.value_sets.push(set);
        trace.labels.event_types.push(talea_model::trace::EventType {
            number: 50_000_001,
            label: "MPI".to_owned(),
            values: Some(0),
            ..Default::default()
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        save(&trace, &path).unwrap();
        let rows = |name: &str| -> Vec<parquet::record::Row> {
            let file = File::open(folder.path().join(name)).unwrap();
            let reader = SerializedFileReader::new(file).unwrap();
            let rows = reader.get_row_iter(None).unwrap();
            rows.map(Result::unwrap).collect()
        };
        let events = rows("t.parquet");
        assert_eq!(events.len(), 2);
        assert_eq!((events[0].get_long(2).unwrap(), events[0].get_long(3).unwrap()), (2, 7));
        assert_eq!(events[0].get_string(7).unwrap(), "MPI_Isend");
        assert_eq!((events[1].get_long(4).unwrap(), events[1].get_long(6).unwrap()), (42, -5));
        assert_eq!(rows("t.states.parquet")[0].get_long(4).unwrap(), 9);
        let message = &rows("t.messages.parquet")[0];
        assert_eq!((message.get_long(5).unwrap(), message.get_long(8).unwrap()), (2, 64));
    }
}

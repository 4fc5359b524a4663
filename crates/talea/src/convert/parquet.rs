//! A trace as Apache Parquet: tables of events, states and messages, for the engine that a site has.
//!
//! Owns the columns. Each pair of type and value is a row; applications, tasks and threads count from 1, times are nanoseconds. Texts
//! repeat, which dictionaries and zstd take out again. Needs the feature `parquet`; without it nothing of this is built.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use talea_model::Trace;

use super::file::Draft;

/// Rows that are written together: bounds the memory for them.
const GROUP: usize = 1 << 20;

/// Why a table was not written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the table: {source}: `{}`", path.display())]
pub(crate) struct SaveError {
    source: ParquetError,
    path: PathBuf,
}

/// A column of a table, a piece at a time.
enum Piece {
    Numbers(Vec<i64>),
    Texts(Vec<ByteArray>),
}

/// Writes `OUT.parquet` with the events, and `OUT.states.parquet` and `OUT.messages.parquet` beside it; a pipe or a device gets the
/// events alone.
pub(crate) fn save(trace: &Trace, path: &Path) -> Result<(), SaveError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| SaveError { source, path: path.clone() }
    };
    if let Some(path) = events(trace, path).map_err(failed(path))? {
        let states_path = path.with_extension("states.parquet");
        states(trace, &states_path).map_err(failed(&states_path))?;
        let messages_path = path.with_extension("messages.parquet");
        messages(trace, &messages_path).map_err(failed(&messages_path))?;
    }
    Ok(())
}

/// Writes a table; the file's name as [`Draft::finish`] has it. Columns that begin with `=` are texts.
fn table(
    path: &Path,
    columns: &[&str],
    rows: usize,
    piece: impl Fn(usize, std::ops::Range<usize>) -> Piece,
) -> Result<Option<PathBuf>, ParquetError> {
    let fields: String = columns
        .iter()
        .map(|name| match name.strip_prefix('=') {
            Some(name) => format!("required binary {name} (STRING); "),
            None => format!("required int64 {name}; "),
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
            match piece(at, range.clone()) {
                Piece::Numbers(values) => write::<Int64Type>(&mut group, &values)?,
                Piece::Texts(values) => write::<ByteArrayType>(&mut group, &values)?,
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

/// Application, task and thread of a location, by column.
fn place(trace: &Trace, location: u32, column: usize) -> i64 {
    let place = trace.locations.get(location);
    place.map_or(0, |place| i64::from([place.application, place.task, place.thread][column]))
}

fn numbers(values: impl Iterator<Item = i64>) -> Piece {
    Piece::Numbers(values.collect())
}

fn texts<'a>(values: impl Iterator<Item = &'a str>) -> Piece {
    Piece::Texts(values.map(ByteArray::from).collect())
}

fn time(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

fn events(trace: &Trace, path: &Path) -> Result<Option<PathBuf>, ParquetError> {
    let events = &trace.events;
    // The record of each pair.
    let mut records: Vec<u32> = Vec::with_capacity(events.types.len());
    for (record, &end) in (0..).zip(&events.pairs_end) {
        records.resize(end as usize, record);
    }
    let record = |pair: usize| records[pair] as usize;
    let columns = [
        "application",
        "task",
        "thread",
        "time_ns",
        "type",
        "=type_label",
        "value",
        "=value_label",
    ];
    table(path, &columns, records.len(), |column, range| match column {
        0..=2 => numbers(range.map(|pair| place(trace, events.location[record(pair)], column))),
        3 => numbers(range.map(|pair| time(events.time[record(pair)]))),
        4 => numbers(range.map(|pair| i64::from(events.types[pair]))),
        5 => texts(range.map(|pair| {
            trace.labels.event_type(events.types[pair]).map_or("", |kind| kind.label.as_str())
        })),
        6 => numbers(range.map(|pair| events.values[pair])),
        _ => texts(range.map(|pair| {
            trace.labels.value(events.types[pair], events.values[pair]).unwrap_or_default()
        })),
    })
}

fn states(trace: &Trace, path: &Path) -> Result<Option<PathBuf>, ParquetError> {
    let states = &trace.states;
    let columns = ["application", "task", "thread", "begin_ns", "end_ns", "state", "=state_label"];
    table(path, &columns, states.len(), |column, range| match column {
        0..=2 => numbers(range.map(|row| place(trace, states.location[row], column))),
        3 => numbers(range.map(|row| time(states.begin[row]))),
        4 => numbers(range.map(|row| time(states.end[row]))),
        5 => numbers(range.map(|row| i64::from(states.state[row]))),
        _ => texts(range.map(|row| trace.labels.state(states.state[row]).unwrap_or_default())),
    })
}

fn messages(trace: &Trace, path: &Path) -> Result<Option<PathBuf>, ParquetError> {
    let messages = &trace.messages;
    let columns = [
        "application",
        "task",
        "thread",
        "to_application",
        "to_task",
        "to_thread",
        "sent_ns",
        "received_ns",
        "bytes",
        "tag",
    ];
    table(path, &columns, messages.len(), |column, range| match column {
        0..=2 => numbers(range.map(|row| place(trace, messages.sender[row], column))),
        3..=5 => numbers(range.map(|row| place(trace, messages.receiver[row], column - 3))),
        6 => numbers(range.map(|row| time(messages.logical_send[row]))),
        7 => numbers(range.map(|row| time(messages.physical_receive[row]))),
        8 => numbers(range.map(|row| messages.size[row])),
        _ => numbers(range.map(|row| messages.tag[row])),
    })
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

//! A trace as three tables: events, states and messages.
//!
//! Owns the columns, and the files of the tables. Each pair of type and value is a row;
//! applications, tasks and threads count from 1, times are nanoseconds.

use std::ops::Range;
use std::path::{Path, PathBuf};

use talea_model::Trace;

use super::Count;

/// Cells of a column, a piece at a time.
pub(super) enum Piece<'a> {
    Numbers(Vec<i64>),
    Texts(Vec<&'a str>),
}

/// A column: its name, and true if its cells are texts.
pub(super) type Column = (&'static str, bool);

/// One table.
pub(super) struct Table<'a> {
    pub(super) columns: &'static [Column],
    pub(super) rows: usize,
    piece: Box<dyn Fn(usize, Range<usize>) -> Piece<'a> + 'a>,
}

impl<'a> Table<'a> {
    /// Cells of a column.
    pub(super) fn piece(&self, column: usize, rows: Range<usize>) -> Piece<'a> {
        (self.piece)(column, rows)
    }
}

/// Writes the events to `path`, and states and messages beside it (`OUT.states.csv`); a pipe or a
/// device gets the events alone. `write` writes one table, and returns the file's name where others
/// can stand beside it. Returns counts of the rows written.
pub(super) fn save<E>(
    trace: &Trace,
    path: &Path,
    write: impl Fn(&Table<'_>, &Path) -> Result<Option<PathBuf>, E>,
) -> Result<Vec<Count>, E> {
    let events = events(trace);
    let mut counts = vec![Count(events.rows as u64, "value of events")];
    let Some(path) = write(&events, path)? else { return Ok(counts) };
    let ending = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    for (table, name, noun) in
        [(states(trace), "states", "state"), (messages(trace), "messages", "message")]
    {
        write(&table, &path.with_extension(format!("{name}.{ending}")))?;
        counts.push(Count(table.rows as u64, noun));
    }
    Ok(counts)
}

/// Application, task and thread of a location, by column.
fn place(trace: &Trace, location: u32, column: usize) -> i64 {
    let place = trace.locations.get(location);
    place.map_or(0, |place| i64::from([place.application, place.task, place.thread][column]))
}

fn numbers<'a>(values: impl Iterator<Item = i64>) -> Piece<'a> {
    Piece::Numbers(values.collect())
}

fn texts<'a>(values: impl Iterator<Item = &'a str>) -> Piece<'a> {
    Piece::Texts(values.collect())
}

fn time(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

fn events(trace: &Trace) -> Table<'_> {
    const COLUMNS: [Column; 8] = [
        ("application", false),
        ("task", false),
        ("thread", false),
        ("time_ns", false),
        ("type", false),
        ("type_label", true),
        ("value", false),
        ("value_label", true),
    ];
    let events = &trace.events;
    // The record of each pair.
    let mut records: Vec<u32> = Vec::with_capacity(events.types.len());
    for (record, &end) in (0..).zip(&events.pairs_end) {
        records.resize(end as usize, record);
    }
    let rows = records.len();
    let record = move |pair: usize| records[pair] as usize;
    let piece = move |column: usize, range: Range<usize>| match column {
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
    };
    Table { columns: &COLUMNS, rows, piece: Box::new(piece) }
}

fn states(trace: &Trace) -> Table<'_> {
    const COLUMNS: [Column; 7] = [
        ("application", false),
        ("task", false),
        ("thread", false),
        ("begin_ns", false),
        ("end_ns", false),
        ("state", false),
        ("state_label", true),
    ];
    let states = &trace.states;
    let piece = move |column: usize, range: Range<usize>| match column {
        0..=2 => numbers(range.map(|row| place(trace, states.location[row], column))),
        3 => numbers(range.map(|row| time(states.begin[row]))),
        4 => numbers(range.map(|row| time(states.end[row]))),
        5 => numbers(range.map(|row| i64::from(states.state[row]))),
        _ => texts(range.map(|row| trace.labels.state(states.state[row]).unwrap_or_default())),
    };
    Table { columns: &COLUMNS, rows: states.len(), piece: Box::new(piece) }
}

fn messages(trace: &Trace) -> Table<'_> {
    const COLUMNS: [Column; 10] = [
        ("application", false),
        ("task", false),
        ("thread", false),
        ("to_application", false),
        ("to_task", false),
        ("to_thread", false),
        ("sent_ns", false),
        ("received_ns", false),
        ("bytes", false),
        ("tag", false),
    ];
    let messages = &trace.messages;
    let piece = move |column: usize, range: Range<usize>| match column {
        0..=2 => numbers(range.map(|row| place(trace, messages.sender[row], column))),
        3..=5 => numbers(range.map(|row| place(trace, messages.receiver[row], column - 3))),
        6 => numbers(range.map(|row| time(messages.logical_send[row]))),
        7 => numbers(range.map(|row| time(messages.physical_receive[row]))),
        8 => numbers(range.map(|row| messages.size[row])),
        _ => numbers(range.map(|row| messages.tag[row])),
    };
    Table { columns: &COLUMNS, rows: messages.len(), piece: Box::new(piece) }
}

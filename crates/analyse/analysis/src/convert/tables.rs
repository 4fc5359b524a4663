//! A trace as three tables: events, states and messages.
//!
//! Owns the columns. Each pair of type and value is a row; applications, tasks and threads count
//! from 1, times are nanoseconds.

use std::sync::Arc;

use talea_model::Trace;

/// Cells of a column, a piece at a time.
pub(super) enum Piece<'a> {
    Numbers(Vec<i64>),
    Texts(Vec<&'a str>),
}

/// A column: its name, and true if its cells are texts.
pub(super) type Column = (&'static str, bool);

/// Cells of a column in some rows.
type Pieces<'a> = dyn Fn(usize, &[usize]) -> Piece<'a> + Sync + 'a;

/// One table.
pub(super) struct Table<'a> {
    pub(super) name: &'static str,
    /// The noun for a row.
    pub(super) noun: &'static str,
    pub(super) columns: &'static [Column],
    pub(super) rows: usize,
    /// The location of a row; of a message, its sender's.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(dead_code, reason = "rows of a text stay together")
    )]
    pub(super) location: Box<dyn Fn(usize) -> u32 + Sync + 'a>,
    piece: Box<Pieces<'a>>,
}

impl<'a> Table<'a> {
    /// Cells of a column in some rows.
    pub(super) fn piece(&self, column: usize, rows: &[usize]) -> Piece<'a> {
        (self.piece)(column, rows)
    }
}

/// All tables of a trace; events come first.
pub(super) fn all(trace: &Trace) -> [Table<'_>; 3] {
    [events(trace), states(trace), messages(trace)]
}

/// Application, task and thread of a location, by column.
fn place(trace: &Trace, location: u32, column: usize) -> i64 {
    let place = trace.locations.get(location);
    place.map_or(0, |place| i64::from([place.application, place.task, place.thread][column]))
}

fn numbers<'a>(rows: &[usize], value: impl Fn(usize) -> i64) -> Piece<'a> {
    Piece::Numbers(rows.iter().map(|&row| value(row)).collect())
}

fn texts<'a>(rows: &[usize], text: impl Fn(usize) -> &'a str) -> Piece<'a> {
    Piece::Texts(rows.iter().map(|&row| text(row)).collect())
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
    let records: Arc<[u32]> = records.into();
    let owners = Arc::clone(&records);
    let location = move |pair: usize| events.location[owners[pair] as usize];
    let record = move |pair: usize| records[pair] as usize;
    let piece = move |column: usize, rows: &[usize]| match column {
        0..=2 => numbers(rows, |pair| place(trace, events.location[record(pair)], column)),
        3 => numbers(rows, |pair| time(events.time[record(pair)])),
        4 => numbers(rows, |pair| i64::from(events.types[pair])),
        5 => texts(rows, |pair| {
            trace.labels.event_type(events.types[pair]).map_or("", |kind| kind.label.as_str())
        }),
        6 => numbers(rows, |pair| events.values[pair]),
        _ => texts(rows, |pair| {
            trace.labels.value(events.types[pair], events.values[pair]).unwrap_or_default()
        }),
    };
    Table {
        name: "events",
        noun: "value of events",
        columns: &COLUMNS,
        rows,
        location: Box::new(location),
        piece: Box::new(piece),
    }
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
    let piece = move |column: usize, rows: &[usize]| match column {
        0..=2 => numbers(rows, |row| place(trace, states.location[row], column)),
        3 => numbers(rows, |row| time(states.begin[row])),
        4 => numbers(rows, |row| time(states.end[row])),
        5 => numbers(rows, |row| i64::from(states.state[row])),
        _ => texts(rows, |row| trace.labels.state(states.state[row]).unwrap_or_default()),
    };
    Table {
        name: "states",
        noun: "state",
        columns: &COLUMNS,
        rows: states.len(),
        location: Box::new(move |row: usize| states.location[row]),
        piece: Box::new(piece),
    }
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
    let piece = move |column: usize, rows: &[usize]| match column {
        0..=2 => numbers(rows, |row| place(trace, messages.sender[row], column)),
        3..=5 => numbers(rows, |row| place(trace, messages.receiver[row], column - 3)),
        6 => numbers(rows, |row| time(messages.logical_send[row])),
        7 => numbers(rows, |row| time(messages.physical_receive[row])),
        8 => numbers(rows, |row| messages.size[row]),
        _ => numbers(rows, |row| messages.tag[row]),
    };
    Table {
        name: "messages",
        noun: "message",
        columns: &COLUMNS,
        rows: messages.len(),
        location: Box::new(move |row: usize| messages.sender[row]),
        piece: Box::new(piece),
    }
}

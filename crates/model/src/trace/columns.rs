//! The columns of states and events, and their rows.
//!
//! Owns pushing, reading and checking of rows. Columns are public for analyses that take slices;
//! code that writes to them keeps them equally long. Locations are rows of [`super::Locations`],
//! CPUs are numbered from 1 over all nodes (0: none is known), times are nanoseconds from the start
//! of the trace.

use super::Shape;

/// A time that the source does not know, such as the end of a state that was never left.
pub const UNKNOWN_TIME: u64 = u64::MAX;

pub(super) fn same_length(name: &str, rows: usize, lengths: &[usize]) -> Result<(), Shape> {
    match lengths.iter().find(|&&length| length != rows) {
        None => Ok(()),
        Some(found) => Err(Shape {
            what: format!("expected {rows} rows in every column of {name}, found {found}"),
        }),
    }
}

/// States, one a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct States {
    /// Location of the state.
    pub location: Vec<u32>,
    /// CPU that it ran on, from 1; 0: not known.
    pub cpu: Vec<u32>,
    /// Nanoseconds.
    pub begin: Vec<u64>,
    /// Nanoseconds; [`UNKNOWN_TIME`] where the source does not say it.
    pub end: Vec<u64>,
    /// The state, named by [`super::Labels::states`].
    pub state: Vec<u32>,
}

/// One row of [`States`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as the columns of the same names")]
pub struct StateRecord {
    pub location: u32,
    pub cpu: u32,
    pub begin: u64,
    pub end: u64,
    pub state: u32,
}

impl States {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.location.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.location.is_empty()
    }

    /// Adds a row. Use [`super::Trace::push_state`] where the order is kept too.
    #[inline]
    pub fn push(&mut self, row: StateRecord) {
        self.location.push(row.location);
        self.cpu.push(row.cpu);
        self.begin.push(row.begin);
        self.end.push(row.end);
        self.state.push(row.state);
    }

    /// Makes room for exactly this many more rows.
    pub fn reserve(&mut self, rows: usize) {
        self.location.reserve_exact(rows);
        self.cpu.reserve_exact(rows);
        self.begin.reserve_exact(rows);
        self.end.reserve_exact(rows);
        self.state.reserve_exact(rows);
    }

    /// A row; absent behind the last.
    pub fn get(&self, row: usize) -> Option<StateRecord> {
        Some(StateRecord {
            location: *self.location.get(row)?,
            cpu: *self.cpu.get(row)?,
            begin: *self.begin.get(row)?,
            end: *self.end.get(row)?,
            state: *self.state.get(row)?,
        })
    }

    /// All rows in the order of the source.
    pub fn iter(&self) -> impl Iterator<Item = StateRecord> + '_ {
        (0..self.len()).map_while(|row| self.get(row))
    }

    pub(super) fn check(&self) -> Result<(), Shape> {
        let lengths = [self.cpu.len(), self.begin.len(), self.end.len(), self.state.len()];
        same_length("states", self.len(), &lengths)
    }
}

/// Events, one a row; each has one or more pairs of type and value, which lie in columns of their
/// own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Where.
    pub location: Vec<u32>,
    /// CPU, from 1; 0: not known.
    pub cpu: Vec<u32>,
    /// Nanoseconds.
    pub time: Vec<u64>,
    /// One past the last pair of each row; its first is where the row before ends.
    pub pairs_end: Vec<u64>,
    /// Type of each pair, in the order of the source.
    pub types: Vec<u32>,
    /// Value of each pair. Values that the source wrote as unsigned keep their 64 bits.
    pub values: Vec<i64>,
}

/// One row of [`Events`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as the columns of the same names")]
pub struct EventRecord<'a> {
    pub location: u32,
    pub cpu: u32,
    pub time: u64,
    pub types: &'a [u32],
    pub values: &'a [i64],
}

impl EventRecord<'_> {
    /// The first value of a type in this record.
    pub fn value(&self, event_type: u32) -> Option<i64> {
        let pair = self.types.iter().position(|&one| one == event_type)?;
        self.values.get(pair).copied()
    }
}

/// One pair of a certain type: where and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// Row of [`Events`].
    pub record: usize,
    /// Where.
    pub location: u32,
    /// Nanoseconds.
    pub time: u64,
    /// The pair's value.
    pub value: i64,
}

impl Events {
    /// Number of rows, not of pairs.
    pub fn len(&self) -> usize {
        self.location.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.location.is_empty()
    }

    /// Adds a row with its pairs. Use [`super::Trace::push_event`] where the order is kept too.
    pub fn push(&mut self, row: EventRecord<'_>) {
        let pairs = row.types.len().min(row.values.len());
        self.types.extend_from_slice(&row.types[..pairs]);
        self.values.extend_from_slice(&row.values[..pairs]);
        self.close(row.location, row.cpu, row.time);
    }

    /// Makes room for exactly this many more rows, and for their pairs.
    pub fn reserve(&mut self, rows: usize, pairs: usize) {
        self.location.reserve_exact(rows);
        self.cpu.reserve_exact(rows);
        self.time.reserve_exact(rows);
        self.pairs_end.reserve_exact(rows);
        self.types.reserve_exact(pairs);
        self.values.reserve_exact(pairs);
    }

    /// Makes a row of the pairs that were added to `types` and `values` since the last row.
    #[inline]
    pub fn close(&mut self, location: u32, cpu: u32, time: u64) {
        self.location.push(location);
        self.cpu.push(cpu);
        self.time.push(time);
        self.pairs_end.push(self.values.len() as u64);
    }

    /// The places of a row's pairs in `types` and `values`; absent behind the last row.
    #[inline]
    pub fn pairs(&self, row: usize) -> Option<std::ops::Range<usize>> {
        let end = *self.pairs_end.get(row)? as usize;
        let begin = match row.checked_sub(1) {
            Some(before) => *self.pairs_end.get(before)? as usize,
            None => 0,
        };
        Some(begin..end)
    }

    /// A row; absent behind the last.
    pub fn get(&self, row: usize) -> Option<EventRecord<'_>> {
        let pairs = self.pairs(row)?;
        Some(EventRecord {
            location: *self.location.get(row)?,
            cpu: *self.cpu.get(row)?,
            time: *self.time.get(row)?,
            types: self.types.get(pairs.clone())?,
            values: self.values.get(pairs)?,
        })
    }

    /// All rows in the order of the source.
    pub fn iter(&self) -> impl Iterator<Item = EventRecord<'_>> + '_ {
        (0..self.len()).map_while(|row| self.get(row))
    }

    /// Every pair of a type, in the order of the source.
    pub fn of_type(&self, event_type: u32) -> impl Iterator<Item = Occurrence> + '_ {
        let mut record = 0;
        let pairs = self.types.iter().zip(&self.values).enumerate();
        pairs.filter(move |(_, (one, _))| **one == event_type).map_while(
            move |(pair, (_, &value))| {
                // Pairs come in the order of rows, so that the row only moves on.
                while *self.pairs_end.get(record)? as usize <= pair {
                    record += 1;
                }
                Some(Occurrence {
                    record,
                    location: *self.location.get(record)?,
                    time: *self.time.get(record)?,
                    value,
                })
            },
        )
    }

    /// The types that occur, each once, in ascending order.
    pub fn distinct_types(&self) -> Vec<u32> {
        let mut seen = std::collections::BTreeSet::new();
        let mut last = None;
        for &one in &self.types {
            if last != Some(one) {
                seen.insert(one);
                last = Some(one);
            }
        }
        seen.into_iter().collect()
    }

    pub(super) fn check(&self) -> Result<(), Shape> {
        let lengths = [self.cpu.len(), self.time.len(), self.pairs_end.len()];
        same_length("events", self.len(), &lengths)?;
        same_length("pairs", self.values.len(), &[self.types.len()])?;
        let pairs = self.values.len() as u64;
        let last = self.pairs_end.last().copied().unwrap_or_default();
        if last != pairs || !self.pairs_end.is_sorted() {
            return Err(Shape {
                what: format!("expected ascending ends of pairs up to {pairs}, found {last}"),
            });
        }
        Ok(())
    }
}

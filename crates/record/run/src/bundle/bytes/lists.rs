//! The bytes of a bundle's lists.
//!
//! Owns their two forms: records one after the other between ranks, and in files, where some lists
//! are changes of others, the numbers of all records in a column for each kind.

use talea_model::args::age;

use super::columns::{Columns, Form};
use crate::bundle::lists::ListTable;
use crate::lists::record::flags;
use crate::lists::{self, Change, Lists};
use crate::live::numbers::{Cursor, get_all, get_list, put_list, put_number};

impl ListTable {
    pub(in crate::bundle::bytes) fn put(&self, out: &mut Vec<u8>, form: Form) {
        put_number(out, self.len() as u64);
        if form == Form::Plain {
            return self.lists().put(out);
        }
        put_number(out, u64::from(!self.lists().are_full()));
        let all = || (0..self.len() as u32).filter_map(|id| Some((id, self.lists().get(id)?)));
        if self.lists().are_full() {
            for (_, list) in all() {
                if let lists::Form::Full(list) = list {
                    put_list(out, list);
                }
            }
            return;
        }
        let mut heads = Vec::new();
        let mut parts = Parts::default();
        for (id, list) in all() {
            match list {
                lists::Form::Full(list) => {
                    heads.push(0);
                    parts.lengths.push(list.len() as i64);
                    parts.entries.extend(differences(list));
                }
                lists::Form::Changed(change) => {
                    let length = self.lists().length(change.base);
                    heads.push(change.head(id, length) as i64);
                    parts.add(&change, id, length);
                }
            }
        }
        form.put(out, heads.into_iter());
        for column in parts.columns() {
            put_number(out, column.len() as u64);
            form.put(out, column.iter().copied());
        }
    }

    /// Reads the output of [`Self::put`]; in the first version of bundles all lists are full.
    pub(in crate::bundle::bytes) fn get(
        from: &mut Cursor<'_>,
        version: u64,
        form: Form,
    ) -> Option<Self> {
        let lists = match form {
            _ if version == 1 => get_all(from, get_list)?.into_iter().collect(),
            Form::Plain => {
                let mut lists = Lists::default();
                for _ in 0..from.number()? {
                    lists.read(from)?;
                }
                lists
            }
            Form::Packed => Self::packed(from)?,
        };
        Self::from_lists(lists)
    }

    fn packed(from: &mut Cursor<'_>) -> Option<Lists> {
        let count = from.number()?;
        if from.number()? == 0 {
            let count = usize::try_from(count).ok().filter(|&count| count <= from.left())?;
            return (0..count).map(|_| get_list(from)).collect();
        }
        let mut columns = Columns::new(Form::Packed);
        let heads = columns.get(from, count)?;
        let mut parts = Parts::default();
        for column in parts.columns_mut() {
            let count = from.number()?;
            *column = columns.get(from, count)?;
        }
        let mut parts = parts.read();
        let mut lists = Lists::default();
        for (head, id) in heads.into_iter().zip(0..) {
            match u64::try_from(head).ok()? {
                0 => lists.push(&parts.full()?)?,
                head => {
                    let change = parts.change(head - 1, id, &lists)?;
                    lists.push_change(&change)?
                }
            };
        }
        Some(lists)
    }
}

/// The content of records, each kind of number in a column of its own.
#[derive(Debug, Default)]
struct Parts {
    /// Lengths of full lists.
    lengths: Vec<i64>,
    /// Differences from entry to entry.
    entries: Vec<i64>,
    /// Distance back to the base list of each.
    bases: Vec<i64>,
    shifts: Vec<i64>,
    /// Differences of lengths.
    longer: Vec<i64>,
    /// Distance back to the list of positions.
    nulls: Vec<i64>,
    positions: Vec<i64>,
    values: Vec<i64>,
}

fn differences(list: &[i64]) -> impl Iterator<Item = i64> {
    let before = std::iter::once(0).chain(list.iter().copied());
    list.iter().zip(before).map(|(now, before)| now.wrapping_sub(before))
}

impl Parts {
    fn columns(&self) -> [&Vec<i64>; 8] {
        let Self { lengths, entries, bases, shifts, longer, nulls, positions, values } = self;
        [lengths, entries, bases, shifts, longer, nulls, positions, values]
    }

    fn columns_mut(&mut self) -> [&mut Vec<i64>; 8] {
        let Self { lengths, entries, bases, shifts, longer, nulls, positions, values } = self;
        [lengths, entries, bases, shifts, longer, nulls, positions, values]
    }

    fn add(&mut self, change: &Change, id: u32, length: u32) {
        let flags = change.head(id, length) - 1;
        if flags & flags::BASE != 0 {
            self.bases.push(i64::from(id - change.base));
        }
        if flags & flags::SHIFT != 0 {
            self.shifts.push(change.shift);
        }
        if flags & flags::LENGTH != 0 {
            self.longer.push(i64::from(change.length) - i64::from(length));
        }
        if let Some(nulls) = change.nulls {
            self.nulls.push(i64::from(id - nulls));
        }
        let (mut next, mut last) = (0, 0_i64);
        for &(position, value) in &change.entries {
            self.positions.push(i64::from(position) - next);
            next = i64::from(position) + 1;
            if flags & flags::ALL_NULL == 0 {
                self.values.push(value.wrapping_sub(last));
                last = value;
            }
        }
    }

    fn read(self) -> Reading {
        let Self { lengths, entries, bases, shifts, longer, nulls, positions, values } = self;
        Reading {
            lengths: lengths.into_iter(),
            entries: entries.into_iter(),
            bases: bases.into_iter(),
            shifts: shifts.into_iter(),
            longer: longer.into_iter(),
            nulls: nulls.into_iter(),
            positions: positions.into_iter(),
            values: values.into_iter(),
        }
    }
}

type Column = std::vec::IntoIter<i64>;

/// [`Parts`] during reading.
struct Reading {
    lengths: Column,
    entries: Column,
    bases: Column,
    shifts: Column,
    longer: Column,
    nulls: Column,
    positions: Column,
    values: Column,
}

impl Reading {
    fn full(&mut self) -> Option<Vec<i64>> {
        let length = usize::try_from(self.lengths.next()?).ok()?;
        if length > self.entries.len() {
            return None;
        }
        let mut last = 0_i64;
        let entries = self.entries.by_ref().take(length);
        let entry = |difference: i64| {
            last = last.wrapping_add(difference);
            last
        };
        Some(entries.map(entry).collect())
    }

    fn change(&mut self, flags: u64, id: u32, lists: &Lists) -> Option<Change> {
        let back = |column: &mut Column| id.checked_sub(u32::try_from(column.next()?).ok()?);
        let base =
            if flags & flags::BASE != 0 { back(&mut self.bases)? } else { id.checked_sub(1)? };
        if base >= id {
            return None;
        }
        let shift = if flags & flags::SHIFT != 0 { self.shifts.next()? } else { 0 };
        let more = if flags & flags::LENGTH != 0 { self.longer.next()? } else { 0 };
        let length = i64::from(lists.length(base)).checked_add(more)?;
        let nulls = if flags & flags::NULLS != 0 { Some(back(&mut self.nulls)?) } else { None };
        let count = usize::try_from(flags >> flags::BITS).ok()?;
        if count > self.positions.len() {
            return None;
        }
        let (mut next, mut last) = (0_u32, 0_i64);
        let mut entries = Vec::with_capacity(count);
        for _ in 0..count {
            let position = next.checked_add(u32::try_from(self.positions.next()?).ok()?)?;
            next = position.checked_add(1)?;
            last = if flags & flags::ALL_NULL != 0 {
                age::NULL
            } else {
                last.wrapping_add(self.values.next()?)
            };
            entries.push((position, last));
        }
        Some(Change { base, length: u32::try_from(length).ok()?, shift, nulls, entries })
    }
}

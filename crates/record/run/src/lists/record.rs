//! The bytes of a list in a mapped file and between ranks.
//!
//! Owns the record: a full list, or the differences from an earlier one. A number leads it, 0 for a
//! full list; else, minus one, it has the number of changed entries above five flags, for the parts
//! that follow: the base list, if it is not the one before; the increment of ages; the increment of
//! the length; the list with positions of entries that are null; and whether all entries become
//! null. Then come the entries, ordered by position, each as the distance to the position before
//! and the difference from the value before.

use talea_model::args::age;

use super::{Form, Lists};
use crate::live::numbers::{Cursor, get_list, put_list, put_number, put_signed};

/// The changes that derive a list from an earlier one: ages grow, the length changes, entries
/// become null, entries change; in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The earlier list.
    pub base: u32,
    /// Number of entries of the new one.
    pub length: u32,
    /// Added to each entry that is the age of an own request.
    pub shift: i64,
    /// A full list of positions whose entries become null.
    pub nulls: Option<u32>,
    /// Positions, in order, and their values.
    pub entries: Vec<(u32, i64)>,
}

/// Flags of a record.
pub(crate) mod flags {
    pub(crate) const BASE: u64 = 1;
    pub(crate) const SHIFT: u64 = 2;
    pub(crate) const LENGTH: u64 = 4;
    pub(crate) const NULLS: u64 = 8;
    pub(crate) const ALL_NULL: u64 = 16;
    /// Bits below the number of entries.
    pub(crate) const BITS: u32 = 5;
}

impl Change {
    /// The number that leads its record, as list `id`; its base has `length` entries.
    pub(crate) fn head(&self, id: u32, length: u32) -> u64 {
        let all_null = self.entries.iter().all(|&(_, value)| value == age::NULL);
        let flag = |set: bool, flag: u64| if set { flag } else { 0 };
        let flags = flag(self.base + 1 != id, flags::BASE)
            | flag(self.shift != 0, flags::SHIFT)
            | flag(self.length != length, flags::LENGTH)
            | flag(self.nulls.is_some(), flags::NULLS)
            | flag(all_null, flags::ALL_NULL);
        1 + ((self.entries.len() as u64) << flags::BITS | flags)
    }

    /// Appends its record, as list `id`; its base has `length` entries.
    pub fn put(&self, out: &mut Vec<u8>, id: u32, length: u32) {
        let head = self.head(id, length);
        let flags = head - 1;
        put_number(out, head);
        if flags & flags::BASE != 0 {
            put_number(out, u64::from(id - self.base));
        }
        if flags & flags::SHIFT != 0 {
            put_signed(out, self.shift);
        }
        if flags & flags::LENGTH != 0 {
            put_signed(out, i64::from(self.length) - i64::from(length));
        }
        if let Some(nulls) = self.nulls {
            put_number(out, u64::from(id - nulls));
        }
        let (mut next, mut last) = (0, 0_i64);
        for &(position, value) in &self.entries {
            put_number(out, u64::from(position - next));
            next = position + 1;
            if flags & flags::ALL_NULL == 0 {
                put_signed(out, value.wrapping_sub(last));
                last = value;
            }
        }
    }

    /// Reads the rest after `head`, which is not 0, in the record of list `id`.
    fn get(from: &mut Cursor<'_>, head: u64, id: u32, lists: &Lists) -> Option<Self> {
        let head = head.checked_sub(1)?;
        let back = |from: &mut Cursor<'_>| id.checked_sub(u32::try_from(from.number()?).ok()?);
        let base = if head & flags::BASE != 0 { back(from)? } else { id.checked_sub(1)? };
        let shift = if head & flags::SHIFT != 0 { from.signed()? } else { 0 };
        let more = if head & flags::LENGTH != 0 { from.signed()? } else { 0 };
        let length = i64::from(lists.spans.get(base as usize)?.length).checked_add(more)?;
        let nulls = if head & flags::NULLS != 0 { Some(back(from)?) } else { None };
        let count = usize::try_from(head >> flags::BITS).ok()?;
        // Each takes a byte at least.
        if count > from.left() {
            return None;
        }
        let (mut next, mut last) = (0_u32, 0_i64);
        let entries = (0..count).map(|_| {
            let position = next.checked_add(u32::try_from(from.number()?).ok()?)?;
            next = position.checked_add(1)?;
            last = if head & flags::ALL_NULL != 0 {
                age::NULL
            } else {
                last.wrapping_add(from.signed()?)
            };
            Some((position, last))
        });
        let entries = entries.collect::<Option<_>>()?;
        Some(Self { base, length: u32::try_from(length).ok()?, shift, nulls, entries })
    }
}

/// Appends the record of a full list.
pub fn put_full(out: &mut Vec<u8>, list: &[i64]) {
    put_number(out, 0);
    put_list(out, list);
}

impl Lists {
    /// Adds the list of the next record; `None` where it cannot be read.
    pub(crate) fn read(&mut self, from: &mut Cursor<'_>) -> Option<u32> {
        let id = u32::try_from(self.len()).ok()?;
        match from.number()? {
            0 => self.push(&get_list(from)?),
            head => {
                let change = Change::get(from, head, id, self)?;
                self.push_change(&change)
            }
        }
    }

    /// The lists of these records, up to the first that cannot be read.
    pub fn of_records(bytes: &[u8]) -> Self {
        let (mut from, mut lists) = (Cursor::new(bytes), Self::default());
        while !from.is_done() && lists.read(&mut from).is_some() {}
        lists
    }

    /// Appends the records of all lists.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        for id in 0..self.len() as u32 {
            match self.get(id) {
                Some(Form::Full(list)) => put_full(out, list),
                Some(Form::Changed(change)) => {
                    change.put(out, id, self.spans[change.base as usize].length);
                }
                None => {}
            }
        }
    }
}

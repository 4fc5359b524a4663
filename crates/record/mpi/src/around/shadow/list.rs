//! The list of ages of an array of requests, in the file.
//!
//! Owns the choice of its form: a whole list, or its difference from the list of an earlier state.

use talea_run::lists::record::put_full;
use talea_run::lists::{Change, key_weight};

use super::Shadow;
use crate::process::handles::lists::{Known, Lists};
use crate::record::memory::Memory;

/// The list in the file for an earlier state of the array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base {
    list: Known,
    length: u32,
    /// Number of requests that the thread had created then.
    made: u64,
}

impl Shadow {
    /// The list of ages; `None` where there was no room for it. The thread has created `made`
    /// requests.
    pub(in crate::around) fn list(
        &mut self,
        made: u64,
        memory: &Memory,
        lists: &mut Lists,
    ) -> Option<Known> {
        let length = self.len() as u32;
        let sum = self.sum.number(self.len(), made as i64);
        let list = lists.find(sum).or_else(|| self.write(sum, made, memory, lists));
        self.base = list.map(|list| Base { list, length, made });
        self.pending.clear();
        self.nulls = None;
        list
    }

    fn write(&mut self, sum: u128, made: u64, memory: &Memory, lists: &mut Lists) -> Option<Known> {
        let id = lists.next()?;
        let length = self.len() as u32;
        self.pending.sort_unstable();
        self.pending.dedup();
        let entries = &self.entries;
        let changed = self.pending.iter().take_while(|&&position| position < length);
        let count = changed.clone().count() as u32;
        let nulls = self.nulls.map_or(0, |(_, count)| count);
        if let Some(base) = self.base {
            let weight = u64::from(base.list.weight) + 1 + u64::from(count) + u64::from(nulls);
            // A change takes about two bytes, an entry of a full list one.
            if 2 * count <= length && weight <= key_weight(u64::from(length)) {
                let change = Change {
                    base: base.list.id,
                    length,
                    shift: made as i64 - base.made as i64,
                    nulls: self.nulls.map(|(list, _)| list),
                    entries: changed.map(|&at| (at, entries[at as usize].age(made))).collect(),
                };
                return lists.add(memory, sum, weight as u32, |out| {
                    change.put(out, id, base.length);
                });
            }
        }
        let ages: Vec<i64> = entries.iter().map(|entry| entry.age(made)).collect();
        lists.add(memory, sum, 0, |out| put_full(out, &ages))
    }
}

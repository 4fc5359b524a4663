//! The lists of a bundle: those with the same entries occur once.
//!
//! Owns their numbers. A list that is the difference from another one stays that, so that merging
//! bundles costs only their changes; [`Sum`](crate::lists::sum) identifies equal lists.

use std::collections::HashMap;

use crate::lists::{self, Change, Lists, States};

/// In the place of an unavailable list.
pub(super) const ABSENT: u32 = u32::MAX;

/// Lists that are all different, unless a file violates this.
#[derive(Clone, Debug, Default)]
pub(super) struct ListTable {
    lists: Lists,
    /// For each list the sum of its entries.
    sums: Vec<u128>,
    ids: HashMap<u128, u32>,
}

impl ListTable {
    /// The table of these lists, with their numbers. `None` for lists that take much longer to
    /// compare than to read.
    pub(super) fn from_lists(lists: Lists) -> Option<Self> {
        let mut states = States::default();
        let mut sums = Vec::with_capacity(lists.len());
        let mut ids = HashMap::with_capacity(lists.len());
        let most = crate::limits::most_list_steps(lists.numbers() + lists.len());
        for id in 0..lists.len() as u32 {
            let sum = states.sum(&lists, id)?;
            if states.steps > most {
                return None;
            }
            sums.push(sum);
            ids.entry(sum).or_insert(id);
        }
        Some(Self { lists, sums, ids })
    }

    pub(super) fn lists(&self) -> &Lists {
        &self.lists
    }

    pub(super) fn len(&self) -> usize {
        self.lists.len()
    }

    /// Adds all lists of `other`; returns for each of them its number here.
    pub(super) fn absorb(&mut self, other: &Self) -> Vec<u32> {
        let mut ids = Vec::with_capacity(other.len());
        let mut states = States::default();
        for (id, &sum) in (0..other.len() as u32).zip(&other.sums) {
            if let Some(&known) = self.ids.get(&sum) {
                ids.push(known);
                continue;
            }
            let added = match other.lists.get(id) {
                Some(lists::Form::Full(list)) => self.lists.push(list),
                Some(lists::Form::Changed(change)) => {
                    let of = |id: u32| ids.get(id as usize).copied().unwrap_or(ABSENT);
                    let nulls = change.nulls.map(of);
                    let change = Change { base: of(change.base), nulls, ..change };
                    // Here its base may be far from a full list, or be derived from the list of
                    // positions.
                    self.lists.push_change(&change).or_else(|| {
                        let list: Vec<i64> = states.list(&other.lists, id)?.iter().collect();
                        self.lists.push(&list)
                    })
                }
                None => None,
            };
            ids.push(added.unwrap_or(ABSENT));
            if let Some(added) = added {
                self.sums.push(sum);
                self.ids.insert(sum, added);
            }
        }
        ids
    }
}

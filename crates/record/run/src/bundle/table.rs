//! Values with ids in the order of first use.

use std::collections::HashMap;
use std::hash::Hash;

/// A table of values that are all different.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    values: Vec<T>,
    ids: HashMap<T, u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { values: Vec::new(), ids: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Table<T> {
    /// The id of a value, which is added if it is new.
    pub(super) fn id(&mut self, value: T) -> u32 {
        if let Some(&id) = self.ids.get(&value) {
            return id;
        }
        let id = self.values.len() as u32;
        self.values.push(value.clone());
        self.ids.insert(value, id);
        id
    }

    /// Adds all of `values`.
    pub(super) fn fill(&mut self, values: Vec<T>) {
        for value in values {
            self.id(value);
        }
    }

    pub(super) fn get(&self, id: u32) -> Option<&T> {
        self.values.get(id as usize)
    }

    pub(super) fn values(&self) -> &[T] {
        &self.values
    }

    /// Adds all values of `other`; returns for each of them its id here.
    pub(super) fn absorb(&mut self, other: &Self) -> Vec<u32> {
        other.values.iter().map(|value| self.id(value.clone())).collect()
    }
}

//! Iterations by kind, and a part of each kind that is kept.
//!
//! Owns the maximum number of kinds: iterations of further kinds are counted with the last one.
//! Which iterations of a kind are kept is the choice of [`crate::collection`].

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use crate::collection::{Behaviour, Plan, Turn};

/// Iterations of one kind.
#[derive(Clone, Debug)]
pub struct Kind<T> {
    /// All of them.
    pub behaviour: Behaviour,
    /// The kept ones by number.
    pub kept: BTreeMap<u64, T>,
}

/// Iterations by kind, which is a key of any type; `T` is the kept part of an iteration.
#[derive(Clone, Debug)]
pub struct Kinds<K, T> {
    plan: Plan,
    all: Vec<Kind<T>>,
    by_key: HashMap<K, usize>,
    is_mixed: bool,
}

impl<K: Eq + Hash, T> Kinds<K, T> {
    /// Maximum number of kinds.
    pub const MAX: usize = 32;

    /// Without iterations.
    pub fn new(plan: Plan) -> Self {
        Self { plan, all: Vec::new(), by_key: HashMap::new(), is_mixed: false }
    }

    /// Place of the kind of iterations with this key.
    pub fn place(&mut self, key: K) -> usize {
        if let Some(&kind) = self.by_key.get(&key) {
            return kind;
        }
        if self.all.len() == Self::MAX {
            self.is_mixed = true;
            return Self::MAX - 1;
        }
        self.by_key.insert(key, self.all.len());
        self.all.push(Kind { behaviour: Behaviour::new(self.plan), kept: BTreeMap::new() });
        self.all.len() - 1
    }

    /// True if the kind at this place may have iterations of several kinds.
    pub fn may_be_mixed(place: usize) -> bool {
        place + 1 == Self::MAX
    }

    /// True if the kind at this place has iterations of several kinds.
    pub fn is_mixed(&self, place: usize) -> bool {
        self.is_mixed && Self::may_be_mixed(place)
    }

    /// Counts an iteration of the kind at this place, which has one; true if it is to be kept.
    pub fn count(&mut self, place: usize, turn: Turn) -> bool {
        let behaviour = &mut self.all[place].behaviour;
        behaviour.add(turn);
        behaviour.keeps(turn.number)
    }

    /// Keeps an iteration; `dropped` gets those that make room for it.
    pub fn keep(&mut self, place: usize, number: u64, value: T, mut dropped: impl FnMut(&T)) {
        let Kind { behaviour, kept } = &mut self.all[place];
        kept.insert(number, value);
        kept.retain(|&number, value| {
            let stays = behaviour.keeps(number);
            if !stays {
                dropped(value);
            }
            stays
        });
    }

    /// Keeps an iteration that was chosen elsewhere.
    pub fn keep_anyway(&mut self, place: usize, number: u64, value: T) {
        self.all[place].kept.insert(number, value);
    }

    /// Drops iterations for which later ones were chosen without being kept.
    pub fn settle(&mut self) {
        for Kind { behaviour, kept } in &mut self.all {
            kept.retain(|&number, _| behaviour.keeps(number));
        }
    }

    /// All kinds, in the order of their first iterations.
    pub fn iter(&self) -> impl Iterator<Item = &Kind<T>> {
        self.all.iter()
    }
}

#[cfg(test)]
mod tests {
    use talea_model::Nanos;

    use super::*;

    fn add(kinds: &mut Kinds<u64, u64>, key: u64, number: u64, dropped: &mut Vec<u64>) {
        let place = kinds.place(key);
        if kinds.count(place, Turn { number, duration: Nanos(1000 - number % 7) }) {
            kinds.keep(place, number, number, |&value| dropped.push(value));
        }
    }

    #[test]
    fn kept_iterations_are_those_of_the_choice() {
        let mut kinds = Kinds::new(Plan::new(10, 0));
        let mut dropped = Vec::new();
        (0..10_000).for_each(|number| add(&mut kinds, number % 3, number, &mut dropped));
        kinds.settle();
        assert_eq!(kinds.iter().count(), 3);
        for (key, Kind { behaviour, kept }) in (0..).zip(kinds.iter()) {
            assert_eq!(behaviour.kept(), kept.keys().copied().collect::<Vec<_>>());
            assert!(kept.values().all(|value| value % 3 == key) && kept.len() <= 10);
        }
        assert!(!dropped.is_empty());
        assert!(!kinds.is_mixed(2));
    }

    #[test]
    fn kinds_beyond_the_most_are_counted_together() {
        let mut kinds = Kinds::new(Plan::new(10, 0));
        let most = Kinds::<u64, u64>::MAX;
        (0..most as u64).for_each(|number| add(&mut kinds, number, number, &mut Vec::new()));
        assert!(!kinds.is_mixed(most - 1));
        (100..200).for_each(|number| add(&mut kinds, number, number, &mut Vec::new()));
        assert!(kinds.is_mixed(most - 1) && !kinds.is_mixed(0));
        assert_eq!(kinds.iter().count(), most);
        assert_eq!(kinds.iter().map(|kind| kind.behaviour.count()).sum::<u64>(), 132);
    }
}

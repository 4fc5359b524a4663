//! Counting many threads with one event each, where one for each PU would be too many.
//!
//! Owns the list of threads, looked at by each reading, and the PU on which each ran last: what a
//! thread counted since the reading before is put there. That is an estimate, and a gap says so;
//! threads that live between two readings only are missed. A thread that is new is counted from the
//! reading that finds it.

use std::collections::{BTreeMap, BTreeSet};

use talea_topology::Place;

use super::groups::{Group, Slot};
use crate::family::{Family, Stat};
use crate::root::Root;
use crate::sys::perf::{Attributes, Whose};

/// Threads and what is counted on each.
#[derive(Debug)]
pub(super) struct Follow {
    family: Family,
    /// Lists of events that are counted together.
    wanted: Vec<Vec<(Attributes, Slot)>>,
    /// For each counter, where each PU stands among its places.
    places: Vec<BTreeMap<u32, usize>>,
    /// Threads that were there at the last look.
    seen: BTreeSet<u32>,
}

impl Follow {
    pub(super) fn new(
        family: Family,
        wanted: Vec<Vec<(Attributes, Slot)>>,
        places: &[Vec<Place>],
    ) -> Self {
        let number = |(at, place): (usize, &Place)| match place {
            Place::Pu(pu) => Some((*pu, at)),
            _ => None,
        };
        let of = |places: &Vec<Place>| places.iter().enumerate().filter_map(number).collect();
        Self { family, wanted, places: places.iter().map(of).collect(), seen: BTreeSet::new() }
    }

    /// Opens events of new threads. Those that ended since the last look keep theirs for one more
    /// reading, which tells what they did until then.
    pub(super) fn look(&mut self, root: &Root, groups: &mut Vec<Group>) {
        groups.retain(|group| group.whose.thread.is_none_or(|tid| self.seen.contains(&tid)));
        let mut pus = BTreeMap::new();
        for (pid, tid) in self.family.threads(root) {
            if let Some(stat) = Stat::of_thread(root, pid, tid) {
                pus.insert(tid, stat.pu);
                if !self.seen.contains(&tid) {
                    self.open(tid, groups);
                }
            }
        }
        for (lane, group) in groups.iter_mut().enumerate() {
            // Each thread has one PU only, so that nothing is shared between groups.
            group.lane = lane;
            if let Some(&pu) = group.whose.thread.and_then(|tid| pus.get(&tid)) {
                group.ran_on = pu;
            }
        }
        self.seen = pus.into_keys().collect();
    }

    /// Where a count belongs among the places of its counter; none on a PU that came after the
    /// start.
    pub(super) fn place(&self, counter: usize, group: &Group) -> Option<usize> {
        self.places.get(counter)?.get(&group.ran_on).copied()
    }

    fn open(&self, tid: u32, groups: &mut Vec<Group>) {
        for wanted in &self.wanted {
            let mut wanted = wanted.clone();
            while !wanted.is_empty() {
                let whose = Whose { thread: Some(tid), pu: None };
                let mut rest = Vec::new();
                // A thread that ended meanwhile has nothing to count.
                groups.extend(Group::open(whose, 0, wanted, &mut rest));
                wanted = rest;
            }
        }
    }
}

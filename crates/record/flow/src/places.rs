//! Places of nodes in a list, by their ids.
//!
//! Owns a table for ids that count from 0, as those of a thread's graph do: it is asked once for
//! each event. Ids far above the number of nodes are in a map beside it.

use std::collections::HashMap;

use talea_model::NodeId;

/// Ids below this are in the table.
const TABLE: usize = 1 << 20;
/// Stands for no place.
const NONE: u32 = u32::MAX;

/// Places of nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    table: Vec<u32>,
    beyond: HashMap<NodeId, u32>,
}

impl Places {
    /// The place of a node.
    pub(crate) fn get(&self, id: NodeId) -> Option<u32> {
        match self.table.get(id.0 as usize) {
            Some(&place) => (place != NONE).then_some(place),
            None => self.beyond.get(&id).copied(),
        }
    }

    /// The place of a node, `place` where it has none yet.
    pub(crate) fn get_or_insert(&mut self, id: NodeId, place: u32) -> u32 {
        let at = id.0 as usize;
        if at >= TABLE {
            return *self.beyond.entry(id).or_insert(place);
        }
        if at >= self.table.len() {
            self.table.resize(at + 1, NONE);
        }
        if self.table[at] == NONE {
            self.table[at] = place;
        }
        self.table[at]
    }
}

impl FromIterator<NodeId> for Places {
    /// The place of each node is its position; of equal ones the last counts.
    fn from_iter<T: IntoIterator<Item = NodeId>>(ids: T) -> Self {
        let mut places = Self::default();
        for (place, id) in (0..).zip(ids) {
            if places.get_or_insert(id, place) == place {
                continue;
            }
            match places.table.get_mut(id.0 as usize) {
                Some(known) => *known = place,
                None => drop(places.beyond.insert(id, place)),
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_are_those_of_a_map(
            ids in prop::collection::vec(prop_oneof![0..50_u32, any::<u32>()], 0..100),
            others: Vec<u32>,
        ) {
            let ids: Vec<NodeId> = ids.into_iter().map(NodeId).collect();
            let map: HashMap<NodeId, u32> = ids.iter().copied().zip(0..).collect();
            let places: Places = ids.iter().copied().collect();
            for id in ids.into_iter().chain(others.into_iter().map(NodeId)) {
                prop_assert_eq!(places.get(id), map.get(&id).copied());
            }
        }
    }
}

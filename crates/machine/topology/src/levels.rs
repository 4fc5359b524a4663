//! The order of objects, their levels, and their logical numbers.
//!
//! Owns the last steps of all sources of a topology (XML, synthetic descriptions, restriction):
//! objects into depth-first order, levels as hwloc builds them (all objects of one kind, the
//! topmost first; groups of different kinds stand on different levels), and `logical_index` by
//! level, or by kind for memory, I/O and Misc. It refuses cycles: an object that is reached twice
//! counts once.

use std::collections::BTreeMap;

use crate::objects::{Attributes, Object, ObjectId, ObjectKind, Topology};

/// Maximum number of distinct levels; a machine has about ten.
const MOST_LEVELS: usize = 512;
/// Maximum number of distinct kinds (kinds, and groups by hwloc's kind and subkind).
const MOST_SORTS: usize = 128;

/// Puts objects, whose links are places in `objects`, into depth-first order from `root`: memory
/// first, then normal children, I/O and Misc. Objects that are not connected to the root are
/// dropped. Also returns the new place of each object.
pub(crate) fn arrange(objects: Vec<Object>, root: usize) -> (Vec<Object>, Vec<Option<ObjectId>>) {
    let mut places = vec![None; objects.len()];
    let mut waiting: Vec<Option<Object>> = objects.into_iter().map(Some).collect();
    let mut arranged = Vec::with_capacity(waiting.len());
    let mut next = vec![root];
    while let Some(at) = next.pop() {
        let Some(object) = waiting.get_mut(at).and_then(Option::take) else { continue };
        let first = next.len();
        next.extend(object.all_children().map(|child| child.0 as usize));
        next[first..].reverse();
        places[at] = Some(ObjectId(arranged.len() as u32));
        arranged.push(object);
    }
    let place = |id: &ObjectId| places.get(id.0 as usize).copied().flatten();
    for object in &mut arranged {
        object.parent = object.parent.as_ref().and_then(place);
        for list in object.lists() {
            *list = list.iter().filter_map(place).collect();
        }
    }
    (arranged, places)
}

/// Puts normal children in the order of their first PUs, as in hwloc, and objects in depth-first
/// order from the first. Objects without PUs come last; without sets the order is kept.
pub(crate) fn sort(mut objects: Vec<Object>) -> (Vec<Object>, Vec<Option<ObjectId>>) {
    let first: Vec<usize> = objects
        .iter()
        .map(|object| {
            let whole = object.complete_cpuset.first().or_else(|| object.cpuset.first());
            whole.unwrap_or(usize::MAX)
        })
        .collect();
    for object in &mut objects {
        if !object.children.is_sorted_by_key(|child| first[child.0 as usize]) {
            object.children.sort_by_key(|child| first[child.0 as usize]);
        }
    }
    arrange(objects, 0)
}

/// The levels of normal objects: the root alone, then each level in the order of the tree. PUs are
/// last.
pub fn levels(topology: &Topology) -> Vec<Vec<ObjectId>> {
    of(&topology.objects)
}

fn of(objects: &[Object]) -> Vec<Vec<ObjectId>> {
    let mut sorts: BTreeMap<(ObjectKind, u32, u32), usize> = BTreeMap::new();
    let sort_of: Vec<usize> = objects
        .iter()
        .map(|object| {
            let key = match object.attributes {
                Attributes::Group { kind, subkind } => (object.kind, kind, subkind),
                _ => (object.kind, 0, 0),
            };
            let fresh = sorts.len().min(MOST_SORTS - 1);
            *sorts.entry(key).or_insert(fresh)
        })
        .collect();
    // Kinds below each object. Children come after their parents.
    let mut below = vec![0_u128; objects.len()];
    for (at, object) in objects.iter().enumerate().rev() {
        if let Some(parent) = object.parent
            && object.kind.is_normal()
        {
            below[parent.0 as usize] |= below[at] | 1 << sort_of[at];
        }
    }
    let mut all = Vec::new();
    let mut front: Vec<usize> = if objects.is_empty() { Vec::new() } else { vec![0] };
    while !front.is_empty() && all.len() < MOST_LEVELS {
        // PUs stay at the bottom: they are taken when nothing else is left.
        let mut top =
            *front.iter().find(|&&at| objects[at].kind != ObjectKind::Pu).unwrap_or(&front[0]);
        for &at in &front {
            if sort_of[at] != sort_of[top] && below[at] >> sort_of[top] & 1 == 1 {
                top = at;
            }
        }
        let sort = sort_of[top];
        let mut rest = Vec::with_capacity(front.len());
        let mut level = Vec::new();
        for at in front {
            if sort_of[at] == sort {
                level.push(ObjectId(at as u32));
                rest.extend(objects[at].children.iter().map(|child| child.0 as usize));
            } else {
                rest.push(at);
            }
        }
        all.push(level);
        front = rest;
    }
    all
}

/// Sets every object's logical number. hwloc counts memory, I/O and Misc below normal children
/// before those beside them.
pub(crate) fn number(objects: &mut [Object]) {
    for level in of(objects) {
        for (index, id) in (0..).zip(level) {
            objects[id.0 as usize].logical_index = index;
        }
    }
    let mut counts: BTreeMap<ObjectKind, u32> = BTreeMap::new();
    let mut next = if objects.is_empty() { Vec::new() } else { vec![0_usize] };
    while let Some(at) = next.pop() {
        let object = &mut objects[at];
        if !object.kind.is_normal() {
            let count = counts.entry(object.kind).or_default();
            object.logical_index = *count;
            *count += 1;
        }
        let lists =
            [&object.children, &object.memory_children, &object.io_children, &object.misc_children];
        let first = next.len();
        next.extend(lists.into_iter().flatten().map(|child| child.0 as usize));
        next[first..].reverse();
    }
}

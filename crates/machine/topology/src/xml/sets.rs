//! Sets of PUs and NUMA nodes that a file leaves out, and checks of those that it has.
//!
//! Owns the rules: a PU's set is its number, a normal object's the union of its children's, a
//! memory object's that of its parent; a node belongs to its parent object, to all above and to all
//! below that. Contradictions are gaps and stay as they are, except PUs without a number or with
//! another's.

use std::collections::{BTreeMap, BTreeSet};

use crate::cpuset::{CpuSet, MOST, MOST_PUS};
use crate::objects::{Object, ObjectKind};

use super::attributes::{HAS_COMPLETE_CPUSET, HAS_COMPLETE_NODESET, HAS_CPUSET, HAS_NODESET};
use super::{Faults, MOST_SET_BYTES, XmlError};

/// Derives missing sets and checks the rest. Objects are in depth-first order.
pub(super) fn derive(
    objects: &mut [Object],
    has: &[u8],
    at: &[usize],
    line: &impl Fn(usize) -> usize,
    faults: &mut Faults,
) -> Result<(), XmlError> {
    number_pus(objects, at, line, faults)?;
    let lacks = |at: usize, flag: u8| has[at] & flag == 0;
    let mut bytes = 0;
    let mut bound = |object: &Object, place: usize| -> Result<(), XmlError> {
        let sets =
            [&object.cpuset, &object.complete_cpuset, &object.nodeset, &object.complete_nodeset];
        bytes += sets.into_iter().map(CpuSet::bytes).sum::<usize>();
        if bytes > MOST_SET_BYTES {
            Err(XmlError::TooMany {
                line: line(at[place]),
                limit: MOST_SET_BYTES,
                what: "bytes of sets",
            })
        } else {
            Ok(())
        }
    };
    // Children come after their parents, so that a backward pass meets them first.
    for place in (0..objects.len()).rev() {
        let object = &objects[place];
        if object.kind.is_io() || object.kind == ObjectKind::Misc {
            continue;
        }
        let mut cpuset = None;
        if object.kind.is_normal() && lacks(place, HAS_CPUSET) {
            let mut set = CpuSet::default();
            match (object.kind, object.os_index) {
                (ObjectKind::Pu, Some(number)) => set.insert(number as usize),
                _ => object
                    .children
                    .iter()
                    .for_each(|child| set = set.or(&objects[child.0 as usize].cpuset)),
            }
            cpuset = Some(set);
        }
        // Nodes below, or beside in memory; those above follow.
        let mut nodeset = None;
        if lacks(place, HAS_NODESET) {
            let mut set = CpuSet::default();
            if let (ObjectKind::NumaNode, Some(number)) = (object.kind, object.os_index) {
                set.insert(number as usize);
            }
            for child in object.children.iter().chain(&object.memory_children) {
                set = set.or(&objects[child.0 as usize].nodeset);
            }
            nodeset = Some(set);
        }
        let object = &mut objects[place];
        object.cpuset = cpuset.unwrap_or_else(|| std::mem::take(&mut object.cpuset));
        object.nodeset = nodeset.unwrap_or_else(|| std::mem::take(&mut object.nodeset));
        bound(object, place)?;
    }
    // Nodes beside an object belong to all of its contents: here each object's, and those from
    // above, for its children.
    let mut inherited: Vec<CpuSet> = vec![CpuSet::default(); objects.len()];
    for place in 0..objects.len() {
        let kind = objects[place].kind;
        if kind.is_io() || kind == ObjectKind::Misc {
            continue;
        }
        let parent = objects[place].parent.map(|id| id.0 as usize);
        if kind.is_memory() {
            if let Some(parent) = parent.filter(|_| lacks(place, HAS_CPUSET)) {
                objects[place].cpuset = objects[parent].cpuset.clone();
            }
            continue;
        }
        let mut nodes = CpuSet::default();
        if let Some(parent) = parent.filter(|_| lacks(place, HAS_NODESET)) {
            objects[place].nodeset = objects[place].nodeset.or(&inherited[parent]);
            nodes.clone_from(&inherited[parent]);
        }
        if parent.is_some() {
            bound(&objects[place], place)?;
        }
        if !objects[place].children.is_empty() {
            for node in &objects[place].memory_children {
                nodes = nodes.or(&objects[node.0 as usize].nodeset);
            }
            inherited[place] = nodes;
        }
    }
    drop(inherited);
    for (place, object) in objects.iter_mut().enumerate() {
        if object.kind.is_io() || object.kind == ObjectKind::Misc {
            continue;
        }
        if lacks(place, HAS_COMPLETE_CPUSET) {
            object.complete_cpuset = object.cpuset.clone();
        }
        if lacks(place, HAS_COMPLETE_NODESET) {
            object.complete_nodeset = object.nodeset.clone();
        }
        bound(object, place)?;
    }
    check(objects, at, line, faults);
    Ok(())
}

/// Every PU has a number, and none has another's.
fn number_pus(
    objects: &mut [Object],
    at: &[usize],
    line: &impl Fn(usize) -> usize,
    faults: &mut Faults,
) -> Result<(), XmlError> {
    let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
    for (object, &at) in
        objects.iter_mut().zip(at).filter(|(object, _)| object.kind == ObjectKind::Pu)
    {
        let number = match (object.os_index, object.cpuset.first()) {
            (Some(number), _) => number,
            (None, Some(only)) if object.cpuset.len() == 1 => {
                faults.damaged(
                    line(at),
                    &format!("a PU without os_index got {only} from its cpuset"),
                );
                object.os_index = Some(only as u32);
                only as u32
            }
            _ => return Err(XmlError::unexpected(line(at), "a PU with os_index", "none")),
        };
        if number as usize >= MOST {
            let expected = format!("os_index of a PU below {MOST} (Talea's limit)");
            return Err(XmlError::unexpected(line(at), &expected, &number.to_string()));
        }
        if let Some(&first) = seen.get(&number) {
            return Err(XmlError::DoubledPu {
                line: line(at),
                first: line(first),
                os_index: number,
            });
        }
        if seen.len() == MOST_PUS {
            return Err(XmlError::TooMany { line: line(at), limit: MOST_PUS, what: "PUs" });
        }
        seen.insert(number, at);
    }
    Ok(())
}

/// Notes sets that are not within their parent's, and PUs whose set is not their number.
fn check(objects: &[Object], at: &[usize], line: &impl Fn(usize) -> usize, faults: &mut Faults) {
    let mut nodes = BTreeSet::new();
    for (object, &at) in objects.iter().zip(at) {
        let node = object.os_index.filter(|_| object.kind == ObjectKind::NumaNode);
        if let Some(number) = node.filter(|&number| !nodes.insert(number)) {
            faults.damaged(line(at), &format!("a second NUMA node P#{number}"));
        }
        if object.kind == ObjectKind::Pu {
            let own =
                object.os_index.map(|number| CpuSet::single(number as usize)).unwrap_or_default();
            if object.complete_cpuset != own {
                let number = object.os_index.unwrap_or_default();
                faults.damaged(
                    line(at),
                    &format!("PU P#{number} has cpuset {}", object.complete_cpuset),
                );
            }
        }
        let Some(parent) = object.parent.map(|id| &objects[id.0 as usize]) else { continue };
        if !object.cpuset.is_subset(&parent.cpuset) {
            let detail = format!(
                "the cpuset of a {} is not within that of its {}: {} is outside",
                object.kind,
                parent.kind,
                object.cpuset.without(&parent.cpuset)
            );
            faults.damaged(line(at), &super::cut(&detail));
        }
        if !object.cpuset.is_subset(&object.complete_cpuset) {
            let detail = format!("the cpuset of a {} is not within its complete one", object.kind);
            faults.damaged(line(at), &detail);
        }
        let is_within = object.complete_cpuset.is_subset(&parent.complete_cpuset);
        if !is_within && object.cpuset.is_subset(&parent.cpuset) {
            let detail = format!(
                "the complete cpuset of a {} is not within its {}'s",
                object.kind, parent.kind
            );
            faults.damaged(line(at), &detail);
        }
    }
}

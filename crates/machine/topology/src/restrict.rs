//! Parts of a topology: some PUs, the contents of one object, or all except devices.
//!
//! Owns the choice of remaining objects and the adjustment of sets, distances, attributes of memory
//! and kinds of PUs. It does as `hwloc_topology_restrict` with
//! `HWLOC_RESTRICT_FLAG_REMOVE_CPULESS`: objects that lose their last PU vanish with their devices;
//! nodes that never had PUs stay. Unlike it, groups with one object stay.

use std::collections::BTreeSet;

use crate::cpuset::CpuSet;
use crate::levels;
use crate::objects::{ObjectId, ObjectKind, Topology};

/// Errors of a restriction without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestrictError {
    /// No PU of the set exists.
    #[error("expected some of the PUs {there}, found {}", only(asked))]
    NoPus {
        /// PUs of the topology.
        there: CpuSet,
        /// Requested PUs.
        asked: CpuSet,
    },
    /// The object has no PUs.
    #[error("expected an object with PUs, found {0}")]
    NotNormal(String),
}

fn only(asked: &CpuSet) -> String {
    if asked.is_empty() { "none".to_owned() } else { format!("only {asked}") }
}

/// The same machine with these PUs only (by the operating system's numbers).
pub fn to_cpuset(topology: &Topology, pus: &CpuSet) -> Result<Topology, RestrictError> {
    let Some(root) = topology.objects.first() else { return Ok(topology.clone()) };
    if !root.cpuset.intersects(pus) {
        return Err(RestrictError::NoPus { there: root.cpuset.clone(), asked: pus.clone() });
    }
    let stays: Vec<bool> = topology
        .objects
        .iter()
        .map(|object| {
            let has_sets = object.kind.is_normal() || object.kind.is_memory();
            !has_sets || object.complete_cpuset.is_empty() || object.complete_cpuset.intersects(pus)
        })
        .collect();
    let mut cut = topology.clone();
    for object in &mut cut.objects {
        object.cpuset = object.cpuset.and(pus);
        object.complete_cpuset = object.complete_cpuset.and(pus);
    }
    let mut part = keep(&cut, &stays);
    let gone = gone_nodes(topology, &part);
    for object in &mut part.objects {
        object.nodeset = object.nodeset.without(&gone);
        object.complete_nodeset = object.complete_nodeset.without(&gone);
    }
    part.allowed_cpuset = part.allowed_cpuset.map(|set| set.and(pus));
    part.allowed_nodeset = part.allowed_nodeset.map(|set| set.without(&gone));
    for attribute in &mut part.memory_attributes {
        attribute.values.retain_mut(|(_, initiator, _)| match initiator {
            None => true,
            Some(set) => {
                *set = set.and(pus);
                !set.is_empty()
            }
        });
    }
    for kind in &mut part.cpu_kinds {
        kind.cpuset = kind.cpuset.and(pus);
    }
    part.cpu_kinds.retain(|kind| !kind.cpuset.is_empty());
    for tier in &mut part.memory_tiers {
        tier.nodeset = tier.nodeset.without(&gone);
    }
    part.memory_tiers.retain(|tier| !tier.nodeset.is_empty());
    Ok(part)
}

/// One object, its contents, the chain above it, and its local memory. Devices beside the chain
/// vanish.
pub fn to_subtree(topology: &Topology, id: ObjectId) -> Result<Topology, RestrictError> {
    let object = topology.get(id);
    if object.cpuset.is_empty() {
        return Err(RestrictError::NotNormal(topology.label(id)));
    }
    let above: BTreeSet<ObjectId> = topology.ancestors(id).into_iter().collect();
    let stays: Vec<bool> = topology
        .objects
        .iter()
        .map(|other| {
            let is_beside = other.kind.is_io() || other.kind == ObjectKind::Misc;
            !(is_beside && other.parent.is_some_and(|parent| above.contains(&parent)))
        })
        .collect();
    to_cpuset(&keep(topology, &stays), &object.cpuset)
}

/// All objects except bridges and devices.
#[must_use]
pub fn without_io(topology: &Topology) -> Topology {
    let stays: Vec<bool> = topology.objects.iter().map(|object| !object.kind.is_io()).collect();
    keep(topology, &stays)
}

/// The objects that stay and whose parents stay; data about several objects is reduced to these.
fn keep(topology: &Topology, stays: &[bool]) -> Topology {
    let mut objects = topology.objects.clone();
    for object in &mut objects {
        for list in object.lists() {
            list.retain(|id| stays[id.0 as usize]);
        }
    }
    let (mut objects, places) = levels::sort(objects);
    levels::number(&mut objects);
    let place = |id: ObjectId| places.get(id.0 as usize).copied().flatten();
    let mut part = Topology { objects, ..Topology::default() };
    for distances in &topology.distances {
        let count = distances.objects.len();
        let kept: Vec<usize> =
            (0..count).filter(|&at| place(distances.objects[at]).is_some()).collect();
        // A matrix of one object has no information, unless it always had one only.
        if kept.is_empty() || kept.len() == 1 && count > 1 {
            continue;
        }
        let mut shorter = distances.clone();
        shorter.objects = kept.iter().filter_map(|&at| place(distances.objects[at])).collect();
        shorter.values = kept
            .iter()
            .flat_map(|from| {
                kept.iter().filter_map(move |to| distances.values.get(from * count + to).copied())
            })
            .collect();
        part.distances.push(shorter);
    }
    for attribute in &topology.memory_attributes {
        let mut shorter = attribute.clone();
        shorter.values.retain_mut(|(target, _, _)| match place(*target) {
            Some(there) => {
                *target = there;
                true
            }
            None => false,
        });
        part.memory_attributes.push(shorter);
    }
    part.allowed_cpuset.clone_from(&topology.allowed_cpuset);
    part.allowed_nodeset.clone_from(&topology.allowed_nodeset);
    part.cpu_kinds.clone_from(&topology.cpu_kinds);
    part.memory_tiers.clone_from(&topology.memory_tiers);
    part.support.clone_from(&topology.support);
    part.infos.clone_from(&topology.infos);
    part
}

/// NUMA nodes that the part lacks.
fn gone_nodes(topology: &Topology, part: &Topology) -> CpuSet {
    let nodes = |of: &Topology| -> CpuSet {
        of.of_kind(ObjectKind::NumaNode)
            .filter_map(|(_, node)| node.os_index.map(|number| number as usize))
            .collect()
    };
    nodes(topology).without(&nodes(part))
}

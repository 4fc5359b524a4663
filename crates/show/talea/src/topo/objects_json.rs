//! The objects of a machine as JSON.
//!
//! Owns the keys, which docs/topo.md lists.

use serde_json::{Map, Value, json};
use talea_topology::{Attributes, CpuSet, ObjectId, Topology};

/// `counts`, `objects`, and the properties of several objects at once.
pub(super) fn objects_json(topology: &Topology) -> Value {
    let counts: Map<String, Value> = topology
        .counts()
        .into_iter()
        .map(|(kind, count)| (kind.name().to_owned(), json!(count)))
        .collect();
    let objects: Vec<Value> = topology.iter().map(|(id, _)| object(topology, id)).collect();
    let kinds = topology.cpu_kinds.iter().enumerate().map(|(number, kind)| {
        json!({
            "name": topology.cpu_kind_name(number),
            "cpuset": kind.cpuset.to_string(),
            "efficiency": (kind.efficiency >= 0).then_some(kind.efficiency),
            "infos": infos(&kind.infos),
        })
    });
    json!({
        "counts": counts,
        "allowed_cpuset": topology.allowed_cpuset.as_ref().map(CpuSet::to_string),
        "allowed_nodeset": topology.allowed_nodeset.as_ref().map(CpuSet::to_string),
        "cpu_kinds": kinds.collect::<Vec<_>>(),
        "objects": objects,
    })
}

fn object(topology: &Topology, id: ObjectId) -> Value {
    let object = topology.get(id);
    let set = |set: &CpuSet| (!set.is_empty()).then(|| set.to_string());
    let (memory, cache) = match &object.attributes {
        Attributes::Numa { memory, .. } => (Some(*memory), None),
        Attributes::Cache { size, .. } => (None, Some(*size)),
        _ => (None, None),
    };
    let pci = match &object.attributes {
        Attributes::Pci(pci) | Attributes::Bridge { pci: Some(pci), .. } => json!({
            "bus_id": pci.bus_id(),
            "class": format!("{:04x}", pci.class),
            "ids": format!("{:04x}:{:04x}", pci.ids.0, pci.ids.1),
            "link_speed": (pci.link_speed > 0.0).then_some(pci.link_speed * 1e9),
        }),
        _ => Value::Null,
    };
    let uses = match &object.attributes {
        Attributes::Os { uses } => Some(uses),
        _ => None,
    };
    let has_sets = !object.cpuset.is_empty() || !object.nodeset.is_empty();
    json!({
        "id": id.0,
        "type": object.kind.name(),
        "label": topology.label(id),
        "name": object.name,
        "subtype": object.subtype,
        "os_index": object.os_index,
        "logical_index": object.logical_index,
        "cpuset": set(&object.cpuset),
        "nodeset": set(&object.nodeset),
        "parent": object.parent.map(|parent| parent.0),
        "memory": memory,
        "cache_size": cache,
        "allowed": has_sets.then(|| topology.is_allowed(id)),
        "cpu_kind": topology.cpu_kind(id),
        "pci": pci,
        "uses": uses,
        "vendor": object.vendor(),
        "model": object.model(),
        "device_memory": object.device_memory(),
        "capacity": object.capacity(),
        "infos": infos(&object.infos),
    })
}

/// Facts by name; of several with the same name the last.
fn infos(infos: &[(String, String)]) -> Map<String, Value> {
    infos.iter().map(|(name, value)| (name.clone(), json!(value))).collect()
}

//! Distances and attributes of memory in version 2.
//!
//! Owns the numbers by which they name objects: the operating system's for nodes and PUs, hwloc's
//! unique ones for all others.

use std::fmt::{self, Write as _};

use crate::objects::{Distances, Object, ObjectId, ObjectKind, Topology};

use super::Quoted;

/// Numbers in one `<indexes>` or `<u64values>`, as in hwloc.
const IN_A_LINE: usize = 10;

pub(super) fn write_distances(
    topology: &Topology,
    distances: &Distances,
    numbers: &[u64],
    out: &mut String,
) -> fmt::Result {
    let objects: Vec<&Object> = distances.objects.iter().map(|&id| topology.get(id)).collect();
    let Some(kind) = objects.first().map(|object| object.kind) else { return Ok(()) };
    let is_mixed = objects.iter().any(|object| object.kind != kind);
    // Numbers of the operating system name nodes and PUs, unless a file gave one twice.
    let is_only = |id: &ObjectId| {
        let os = topology.get(*id).os_index;
        os.is_some()
            && topology.of_kind(kind).filter(|(_, other)| other.os_index == os).count() == 1
    };
    let by_os = matches!(kind, ObjectKind::NumaNode | ObjectKind::Pu)
        && distances.objects.iter().all(is_only);
    let tag = if is_mixed { "distances2hetero" } else { "distances2" };
    write!(out, "  <{tag}")?;
    if !is_mixed {
        write!(out, " type=\"{kind}\"")?;
    }
    write!(out, " nbobjs=\"{}\" kind=\"{}\"", objects.len(), distances.kind)?;
    if !distances.name.is_empty() {
        write!(out, " name=\"{}\"", Quoted(&distances.name))?;
    }
    if !is_mixed {
        write!(out, " indexing=\"{}\"", if by_os { "os" } else { "gp" })?;
    }
    out.push_str(">\n");
    let names: Vec<String> = objects
        .iter()
        .zip(&distances.objects)
        .map(|(object, id)| {
            let number = numbers[id.0 as usize];
            match object.os_index {
                _ if is_mixed => format!("{}:{number}", object.kind),
                Some(os) if by_os => os.to_string(),
                _ => number.to_string(),
            }
        })
        .collect();
    let values: Vec<String> = distances.values.iter().map(u64::to_string).collect();
    for (tag, words) in [("indexes", &names), ("u64values", &values)] {
        for line in words.chunks(IN_A_LINE) {
            let text: String = line.iter().flat_map(|word| [word.as_str(), " "]).collect();
            writeln!(out, "    <{tag} length=\"{}\">{text}</{tag}>", text.len())?;
        }
    }
    writeln!(out, "  </{tag}>")
}

pub(super) fn write_memory_attributes(
    topology: &Topology,
    numbers: &[u64],
    out: &mut String,
) -> fmt::Result {
    for attribute in &topology.memory_attributes {
        let (name, flags) = (Quoted(&attribute.name), attribute.flags);
        writeln!(out, "  <memattr name=\"{name}\" flags=\"{flags}\">")?;
        for (target, initiator, value) in &attribute.values {
            let kind = topology.get(*target).kind;
            let number = numbers[target.0 as usize];
            write!(out, "    <memattr_value target_obj_type=\"{kind}\"")?;
            write!(out, " target_obj_gp_index=\"{number}\" value=\"{value}\"")?;
            if let Some(initiator) = initiator {
                write!(out, " initiator_cpuset=\"{}\"", initiator.to_mask())?;
            }
            out.push_str("/>\n");
        }
        out.push_str("  </memattr>\n");
    }
    Ok(())
}

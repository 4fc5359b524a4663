//! Devices of an object, and those that share a mark.
//!
//! Owns the path through bridges and the kinds of devices. A PCI device and the operating system's
//! devices on it are one item.

use crate::objects::{Attributes, ObjectId, ObjectKind, Topology};

/// A mark in the strip of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    /// The device; the first where several share the mark.
    pub object: ObjectId,
    /// The operating system's devices on it, one below the other.
    pub inner: Vec<ObjectId>,
    /// All of a shared mark, else empty.
    pub folded: Vec<ObjectId>,
}

/// The devices below these objects. Each is visited once, so that even a damaged tree does not take
/// long.
pub(super) fn items(
    topology: &Topology,
    starts: &[ObjectId],
    seen: &mut [bool],
    fold_above: usize,
) -> Vec<Item> {
    let mut out: Vec<Item> = Vec::new();
    // An entry is an object, and its item.
    let mut stack: Vec<(ObjectId, Option<usize>)> =
        starts.iter().rev().map(|&id| (id, None)).collect();
    while let Some((id, owner)) = stack.pop() {
        match seen.get_mut(id.0 as usize) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        let object = topology.get(id);
        let owner = match (object.kind, owner) {
            (ObjectKind::Bridge, owner) => owner,
            (ObjectKind::OsDevice, Some(owner)) => {
                out[owner].inner.push(id);
                Some(owner)
            }
            _ => {
                out.push(Item { object: id, inner: Vec::new(), folded: Vec::new() });
                Some(out.len() - 1)
            }
        };
        let below = object.io_children.iter().chain(&object.misc_children).rev();
        stack.extend(below.map(|&id| (id, owner)));
    }
    fold(topology, out, fold_above)
}

/// Too many marks of one kind become one, at the place of the first.
fn fold(topology: &Topology, items: Vec<Item>, fold_above: usize) -> Vec<Item> {
    let sorts: Vec<String> = items.iter().map(|item| sort(topology, item)).collect();
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for sort in &sorts {
        *counts.entry(sort).or_default() += 1;
    }
    let many = |sort: &str| {
        let wanted = ["GPU", "Network", "OpenFabrics", "CoProc"].contains(&sort);
        counts[sort] > if wanted { fold_above.saturating_mul(2) } else { fold_above }
    };
    let mut out: Vec<Item> = Vec::new();
    let mut firsts = std::collections::BTreeMap::<&str, usize>::new();
    for (item, sort) in items.into_iter().zip(&sorts) {
        if !many(sort) {
            out.push(item);
            continue;
        }
        let first = *firsts.entry(sort).or_insert_with(|| {
            out.push(Item { object: item.object, inner: Vec::new(), folded: Vec::new() });
            out.len() - 1
        });
        out[first].folded.push(item.object);
        out[first].folded.extend(item.inner);
    }
    out
}

/// A word for the use of a device.
fn sort(topology: &Topology, item: &Item) -> String {
    let use_of = |id: ObjectId| match &topology.get(id).attributes {
        Attributes::Os { uses } => uses.first().cloned(),
        _ => None,
    };
    let object = topology.get(item.object);
    let used = item.inner.iter().copied().chain([item.object]).find_map(use_of);
    used.unwrap_or_else(|| match &object.attributes {
        Attributes::Pci(pci) => class(pci.class).to_owned(),
        _ => object.subtype.clone().unwrap_or_else(|| object.kind.short().to_owned()),
    })
}

/// The word of a PCI class, by its upper byte (PCI Code and ID Assignment Specification).
pub(crate) fn class(class: u16) -> &'static str {
    match class >> 8 {
        0x01 => "storage",
        0x02 => "network",
        0x03 => "display",
        0x05 => "memory",
        0x06 => "bridge",
        0x0b => "processor",
        0x0c => "bus",
        0x12 => "accelerator",
        _ => "PCI",
    }
}

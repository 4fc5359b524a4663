//! Differences of version 1: NUMA nodes between normal objects, distances by depth, memory of the
//! machine.
//!
//! Owns the move of nodes as hwloc 2 does it when it reads version 1: a node hangs on its parent
//! where both have the same PUs, else on a group of its own that takes its children; groups that
//! then add nothing to the tree are dropped, and their nodes hang on the contents of these. Unlike
//! hwloc 2 it keeps distances of all kinds of objects.

use std::collections::{BTreeMap, BTreeSet};

use crate::objects::{Attributes, Distances, Object, ObjectId, ObjectKind, Topology};

use super::attributes::{HAS_COMPLETE_CPUSET, HAS_COMPLETE_NODESET, HAS_CPUSET, HAS_NODESET};
use super::draft::Draft;
use super::fields::skip_unknown;
use super::raw::DepthDistances;
use super::scan::{Element, Scanner, Token};
use super::{Faults, XmlError};

/// hwloc's kind of groups that exist for a memory object.
const FOR_MEMORY: u32 = 1001;
/// hwloc's bits for "from the operating system" and "latency", which all distances of version 1
/// were.
const LATENCY: u64 = 1 | 4;

/// Maximum number of `<distances>` of a file; each searches the tree.
const MOST_DISTANCES: usize = 256;

/// Reads `<distances>` of an object.
pub(super) fn read_distances(
    scan: &mut Scanner<'_>,
    element: &Element<'_>,
    draft: &mut Draft,
    within: usize,
) -> Result<(), XmlError> {
    let text = |name| element.attribute(scan.text, name);
    let count = text("nbobjs")?.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    let depth = text("relative_depth")?.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    let base =
        text("latency_base")?.and_then(|text| text.trim().parse::<f64>().ok()).unwrap_or(1.0);
    let mut values = Vec::new();
    let mut is_whole = depth > 0;
    loop {
        match scan.next()? {
            Token::Open(value) if value.name() == "latency" => {
                let number = value.attribute(scan.text, "value")?;
                let number = number
                    .and_then(|text| text.trim().parse::<f64>().ok())
                    .map(|number| number * base);
                match number.filter(|number| (0.0..1e18).contains(number)) {
                    Some(number) => values.push(number.round() as u64),
                    None => is_whole = false,
                }
                scan.skip()?;
            }
            Token::Open(other) => skip_unknown(scan, &other, &mut draft.faults)?,
            Token::Text(_) => {}
            Token::Close | Token::End => break,
        }
    }
    if draft.depth_distances.len() >= MOST_DISTANCES {
        let line = scan.line(element.at);
        return Err(XmlError::TooMany { line, limit: MOST_DISTANCES, what: "`<distances>`" });
    }
    if is_whole {
        let (at, objects) = (element.at, Vec::new());
        draft.depth_distances.push(DepthDistances { at, within, depth, count, values, objects });
    } else {
        draft.faults.damaged(
            scan.line(element.at),
            "distances without a depth or with a latency that is none",
        );
    }
    Ok(())
}

/// Converts version 1's objects to hwloc 2's model.
pub(super) fn convert(draft: &mut Draft) {
    find_levels(draft);
    let mut groups = Vec::new();
    // The first memory child of each object, and the number of these.
    let mut memory: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for at in 0..draft.objects.len() {
        // Contents of a node are now beside it; nodes come before their contents.
        let is_memory = |above: &usize| draft.objects[*above].kind.is_memory();
        while let Some(memory) = draft.above[at].filter(is_memory) {
            if draft.objects[at].kind.is_memory()
                && draft.objects[memory].kind == ObjectKind::MemCache
            {
                break;
            }
            draft.above[at] = draft.above[memory];
        }
        if draft.objects[at].kind != ObjectKind::NumaNode {
            continue;
        }
        let above = draft.above[at];
        let above = match above {
            None => add_above(draft, at, None, ObjectKind::Machine),
            Some(above) if draft.objects[above].kind.is_memory() => above,
            Some(above) if own_pus(draft, at) == own_pus(draft, above) => above,
            Some(above) if is_mcdram(draft, at, memory.get(&above)) => above,
            Some(above) => {
                let group = add_above(draft, at, Some(above), ObjectKind::Group);
                groups.push(group);
                group
            }
        };
        draft.above[at] = Some(above);
        memory.entry(above).or_insert((at, 0)).1 += 1;
    }
    drop_groups(draft, &groups);
    add_missing_node(draft);
    // In version 1 a core was in one node, and nodes beside it did not count; the root knows nodes
    // that are offline.
    for (has, above) in draft.has.iter_mut().zip(&draft.above) {
        if above.is_some() {
            *has &= !(HAS_NODESET | HAS_COMPLETE_NODESET);
        }
    }
}

fn own_pus(draft: &Draft, at: usize) -> crate::CpuSet {
    let object = &draft.objects[at];
    match draft.has[at] & HAS_COMPLETE_CPUSET {
        0 => object.cpuset.clone(),
        _ => object.complete_cpuset.clone(),
    }
}

/// KNL's memory without PUs belongs to the node before it; both then have the PUs of their parent.
fn is_mcdram(draft: &mut Draft, at: usize, memory: Option<&(usize, usize)>) -> bool {
    let Some(&(sibling, 1)) = memory else { return false };
    let is_near = draft.objects[sibling].subtype.is_none()
        && draft.objects[at].subtype.as_deref() == Some("MCDRAM")
        && own_pus(draft, at).is_empty();
    if is_near {
        draft.has[at] &= !(HAS_CPUSET | HAS_COMPLETE_CPUSET);
    }
    is_near
}

/// Inserts an object between a node and its parent.
fn add_above(draft: &mut Draft, node: usize, above: Option<usize>, kind: ObjectKind) -> usize {
    let from = &draft.objects[node];
    let mut object = Object::new(kind);
    object.cpuset = from.cpuset.clone();
    object.complete_cpuset = from.complete_cpuset.clone();
    object.nodeset = from.nodeset.clone();
    object.complete_nodeset = from.complete_nodeset.clone();
    if kind == ObjectKind::Group {
        object.attributes = Attributes::Group { kind: FOR_MEMORY, subkind: 0 };
    } else {
        // Facts of a root are facts of the machine.
        object.os_index = Some(0);
        object.infos.clone_from(&from.infos);
    }
    let has =
        draft.has[node] & (HAS_CPUSET | HAS_COMPLETE_CPUSET | HAS_NODESET | HAS_COMPLETE_NODESET);
    // A node's children come after it in the file: they find the new object as its parent.
    draft.push(object, above, draft.at[node], has)
}

/// Groups are dropped, all or none, where each contains just one object with the same PUs, and
/// these are all of their kind.
fn drop_groups(draft: &mut Draft, groups: &[usize]) {
    let mut only: BTreeMap<usize, Option<usize>> =
        groups.iter().map(|&group| (group, None)).collect();
    for at in 0..draft.objects.len() {
        if !draft.objects[at].kind.is_normal() {
            continue;
        }
        let Some(first) = draft.above[at].and_then(|above| only.get_mut(&above)) else { continue };
        if first.replace(at).is_some() {
            return;
        }
    }
    let mut kinds = only.values().filter_map(|child| child.map(|child| draft.objects[child].kind));
    let Some(kind) = kinds.next() else { return };
    let fits = |(&group, child): (&usize, &Option<usize>)| {
        child.is_some_and(|child| {
            draft.objects[child].kind == kind && own_pus(draft, child) == own_pus(draft, group)
        })
    };
    let of_kind = draft.objects.iter().filter(|object| object.kind == kind).count();
    if kind == ObjectKind::Pu || of_kind != groups.len() || !only.iter().all(fits) {
        return;
    }
    for at in 0..draft.objects.len() {
        let Some(above) = draft.above[at] else { continue };
        if let Some(&Some(child)) = only.get(&above) {
            draft.above[at] = if at == child { draft.above[above] } else { Some(child) };
        }
    }
    for &group in groups {
        draft.dead[group] = true;
    }
}

/// A machine without any node has one with its memory.
fn add_missing_node(draft: &mut Draft) {
    if draft.objects.iter().any(|object| object.kind == ObjectKind::NumaNode) {
        return;
    }
    let (memory, pages) = std::mem::take(&mut draft.machine_memory);
    let mut node = Object::new(ObjectKind::NumaNode);
    node.os_index = Some(0);
    node.attributes = Attributes::Numa { memory, pages };
    draft.push(node, Some(0), 0, 0);
    // Sets of nodes without any node have no meaning.
    for has in &mut draft.has {
        *has &= !(HAS_NODESET | HAS_COMPLETE_NODESET);
    }
}

/// Finds the objects of distances: those of the level that far below, within the object that has
/// the distances.
fn find_levels(draft: &mut Draft) {
    if draft.depth_distances.is_empty() {
        return;
    }
    let levels = levels(draft);
    let mut level_of = vec![None; draft.objects.len()];
    for (depth, level) in levels.iter().enumerate() {
        for &at in level {
            level_of[at] = Some(depth);
        }
    }
    // The file is depth first: the contents of an object come after it, up to the next object
    // outside.
    let mut end: Vec<usize> = (1..=draft.objects.len()).collect();
    for at in (0..draft.objects.len()).rev() {
        if let Some(above) = draft.above[at] {
            end[above] = end[above].max(end[at]);
        }
    }
    for distances in &mut draft.depth_distances {
        let within = distances.within;
        let depth = level_of[within].map(|own| own.saturating_add(distances.depth));
        let level = depth.and_then(|depth| levels.get(depth)).map_or(&[][..], Vec::as_slice);
        let inside = level.iter().copied().filter(|at| (within..end[within]).contains(at));
        distances.objects = inside.collect();
    }
}

/// The levels that version 1 counted as depths, nodes among them. All objects of a level are alike;
/// an object may hang several levels above, as nodes without PUs hang on a machine whose other
/// nodes are in groups. So an object waits until no other has objects of its kind below itself.
fn levels(draft: &Draft) -> Vec<Vec<usize>> {
    let is_level = |at: usize| {
        let kind = draft.objects[at].kind;
        kind.is_normal() || kind == ObjectKind::NumaNode
    };
    // A group in a group is another level, as caches of different depths are.
    let mut groups = vec![0_u32; draft.objects.len()];
    for at in 0..draft.objects.len() {
        if let Some(above) = draft.above[at] {
            let is_group = draft.objects[above].kind == ObjectKind::Group;
            groups[at] = groups[above] + u32::from(is_group);
        }
    }
    let sort = |at: usize| {
        let kind = draft.objects[at].kind;
        (kind, if kind == ObjectKind::Group { groups[at] } else { 0 })
    };
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); draft.objects.len()];
    let mut root = None;
    for at in (0..draft.objects.len()).filter(|&at| is_level(at)) {
        match draft.above[at] {
            Some(above) => children[above].push(at),
            None => root = Some(at),
        }
    }
    // Kinds below each object.
    let mut below: Vec<BTreeSet<(ObjectKind, u32)>> = vec![BTreeSet::new(); draft.objects.len()];
    for at in (0..draft.objects.len()).rev().filter(|&at| is_level(at)) {
        if let Some(above) = draft.above[at] {
            let mut inside = below[at].clone();
            inside.insert(sort(at));
            below[above].extend(inside);
        }
    }
    let mut open: Vec<usize> = root.into_iter().collect();
    let mut levels = Vec::new();
    while let Some(&first) = open.first() {
        let is_below = |wanted| open.iter().any(|&at| below[at].contains(&wanted));
        // PUs are the last level, wherever some hang.
        let mut others =
            open.iter().map(|&at| sort(at)).filter(|&(kind, _)| kind != ObjectKind::Pu);
        let next = others.clone().find(|&one| !is_below(one)).or_else(|| others.next());
        let next = next.unwrap_or_else(|| sort(first));
        let mut rest = Vec::new();
        let mut level = Vec::new();
        for at in open {
            if sort(at) == next {
                level.push(at);
                rest.extend(&children[at]);
            } else {
                rest.push(at);
            }
        }
        levels.push(level);
        open = rest;
    }
    levels
}

/// Puts version 1's distances into the topology; those with wrong counts are left out.
pub(super) fn add_distances(
    topology: &mut Topology,
    distances: Vec<DepthDistances>,
    places: &[Option<ObjectId>],
    line: &impl Fn(usize) -> usize,
    faults: &mut Faults,
) {
    for DepthDistances { at, count, values, objects, .. } in distances {
        let found = objects.len();
        if count != found as u64 || found.checked_mul(found) != Some(values.len()) {
            let values = values.len();
            let detail =
                format!("distances of {count} objects have {found} objects and {values} values");
            faults.damaged(line(at), &detail);
            continue;
        }
        let place = |&object: &usize| places.get(object).copied().flatten();
        match objects.iter().map(place).collect() {
            Some(objects) => {
                let name = String::new();
                topology.distances.push(Distances { name, kind: LATENCY, objects, values });
            }
            None => faults.damaged(line(at), "distances of objects that fell away"),
        }
    }
}

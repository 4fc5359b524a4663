//! Groups of a monitor's objects on the screen: panels (packages) of blocks (L3, dies, NUMA nodes)
//! of cells.
//!
//! Owns the choice of panels and blocks on a given machine, and their names. Pure: it sees the tree
//! of objects and a list of them. Objects keep the order of the tree, so that neighbours on the
//! screen are neighbours on the chip.

use talea_topology::{ObjectId, ObjectKind, Topology};

/// Imbalance is computed inside objects of these kinds, outermost first.
pub(crate) const HOLDERS: [ObjectKind; 4] =
    [ObjectKind::Package, ObjectKind::NumaNode, ObjectKind::L3Cache, ObjectKind::Core];

/// Objects of a package, or of the machine where they are in none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Panel {
    /// `Package P#0 · NUMANode P#0`.
    pub(crate) title: String,
    /// The object of the panel.
    pub(crate) object: Option<ObjectId>,
    /// At least one.
    pub(crate) blocks: Vec<Block>,
}

/// Objects that share a cache, a die or a NUMA node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    /// `N0 L3 4`; empty where the panel is one block.
    pub(crate) label: String,
    /// The object of the block.
    pub(crate) object: Option<ObjectId>,
    /// Places in the monitor's list of objects.
    pub(crate) cells: Vec<usize>,
}

/// Objects of one monitor, grouped.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Groups {
    /// In the order of the tree.
    pub(crate) panels: Vec<Panel>,
    /// Number of cells on top of each other: the PUs of a core, else 1.
    pub(crate) stack: usize,
    /// Objects of the kinds of [`HOLDERS`] that contain at least two but not all of the objects,
    /// with these.
    pub(crate) holders: Vec<(ObjectKind, ObjectId, Vec<usize>)>,
}

impl Groups {
    /// Groups the objects of a monitor.
    pub(crate) fn new(topology: &Topology, objects: &[ObjectId]) -> Self {
        let panel_of = |&id: &ObjectId| parent_of_kind(topology, id, ObjectKind::Package);
        let by_panel = runs(objects.iter().map(panel_of).enumerate());
        let block_kind = block_kind(topology, objects, by_panel.len());
        let panels: Vec<Panel> = by_panel
            .into_iter()
            .map(|(object, cells)| panel(topology, objects, object, &cells, block_kind))
            .collect();
        Self { panels, stack: stack(topology, objects), holders: holders(topology, objects) }
    }

    /// All blocks.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.panels.iter().flat_map(|panel| &panel.blocks)
    }
}

fn panel(
    topology: &Topology,
    objects: &[ObjectId],
    object: Option<ObjectId>,
    cells: &[usize],
    kind: Option<ObjectKind>,
) -> Panel {
    let of_block = |&cell: &usize| kind.and_then(|kind| holder(topology, objects[cell], kind));
    let parts = runs(cells.iter().map(of_block).zip(cells.iter().copied()).map(|(k, c)| (c, k)));
    let nodes: Vec<Option<ObjectId>> = parts
        .iter()
        .map(|(_, cells)| numa_of(topology, cells.iter().map(|&cell| objects[cell])))
        .collect();
    let several = nodes.iter().any(|node| *node != nodes[0]);
    let single = parts.len() == 1;
    let mut title = match object.or(topology.root()) {
        Some(object) => topology.label(object),
        None => String::new(),
    };
    let lists_nodes = cells.first().is_some_and(|&c| topology.get(objects[c]).kind.is_memory());
    if let (Some(Some(node)), false, false) = (nodes.first(), several, lists_nodes) {
        title = format!("{title} · NUMA {}", number(topology, *node));
    }
    let blocks = parts.into_iter().zip(nodes).map(|((object, cells), node)| {
        // hwloc makes a group for each node of a package: the node has the same information and
        // more.
        let same = |id| node.is_some_and(|n| topology.get(n).cpuset == topology.get(id).cpuset);
        let known =
            |id: &ObjectId| several && topology.get(*id).kind == ObjectKind::Group && same(*id);
        let own = object.filter(|id| !known(id)).map(|id| match topology.get(id).kind {
            ObjectKind::NumaNode => format!("N{}", number(topology, id)),
            kind => format!("{} {}", kind.short(), number(topology, id)),
        });
        let in_node = node.filter(|_| several && object != node);
        let in_node = in_node.map(|node| format!("N{}", number(topology, node)));
        let names: Vec<String> = in_node.into_iter().chain(own).collect();
        Block { label: if single { String::new() } else { names.join(" ") }, object, cells }
    });
    Panel { title, object, blocks: blocks.collect() }
}

/// An object's usual number: the operating system's, else the logical one.
pub(crate) fn number(topology: &Topology, id: ObjectId) -> u32 {
    let object = topology.get(id);
    object.os_index.unwrap_or(object.logical_index)
}

/// Runs of neighbours with the same key.
fn runs<K: PartialEq>(items: impl Iterator<Item = (usize, K)>) -> Vec<(K, Vec<usize>)> {
    let mut runs: Vec<(K, Vec<usize>)> = Vec::new();
    for (item, key) in items {
        match runs.last_mut() {
            Some((last, cells)) if *last == key => cells.push(item),
            _ => runs.push((key, vec![item])),
        }
    }
    runs
}

/// The innermost kind that makes blocks of at least two objects, and more blocks than there are
/// panels.
fn block_kind(topology: &Topology, objects: &[ObjectId], panels: usize) -> Option<ObjectKind> {
    use ObjectKind as K;
    let kinds = [K::L3Cache, K::Die, K::L4Cache, K::Group, K::NumaNode, K::L2Cache];
    kinds.into_iter().find(|&kind| {
        let mut holders: Vec<Option<ObjectId>> =
            objects.iter().map(|&id| holder(topology, id, kind)).collect();
        let known = holders.iter().all(Option::is_some);
        holders.dedup();
        known && holders.len() > panels && holders.len() * 2 <= objects.len()
    })
}

/// The object of this kind that contains another, which is not that object.
fn holder(topology: &Topology, id: ObjectId, kind: ObjectKind) -> Option<ObjectId> {
    match kind {
        ObjectKind::NumaNode => numa_of(topology, std::iter::once(id)),
        _ => parent_of_kind(topology, id, kind),
    }
}

/// The nearest ancestor of a kind.
fn parent_of_kind(topology: &Topology, id: ObjectId, kind: ObjectKind) -> Option<ObjectId> {
    let mut at = topology.get(id).parent;
    while let Some(id) = at {
        let object = topology.get(id);
        if object.kind == kind {
            return Some(id);
        }
        at = object.parent;
    }
    None
}

/// The one NUMA node to which all these objects are local; `None` if there are several, or if they
/// are nodes themselves.
fn numa_of(topology: &Topology, objects: impl Iterator<Item = ObjectId>) -> Option<ObjectId> {
    let mut common = None;
    for id in objects {
        let object = topology.get(id);
        if object.kind.is_memory() {
            return None;
        }
        let mut nodes = topology.of_kind(ObjectKind::NumaNode);
        let local = nodes
            .find(|(_, node)| !object.cpuset.is_empty() && object.cpuset.is_subset(&node.cpuset))?;
        match common {
            None => common = Some(local.0),
            Some(known) if known != local.0 => return None,
            Some(_) => {}
        }
    }
    common
}

/// The objects inside each holder. Computed once, as it compares each object with each holder.
fn holders(topology: &Topology, objects: &[ObjectId]) -> Vec<(ObjectKind, ObjectId, Vec<usize>)> {
    let holders = HOLDERS.into_iter().flat_map(|kind| topology.of_kind(kind));
    let inside = holders.map(|(id, holder)| {
        let is_inside = |&cell: &usize| {
            let object = topology.get(objects[cell]);
            let set = &object.cpuset;
            object.kind != holder.kind && !set.is_empty() && set.is_subset(&holder.cpuset)
        };
        (holder.kind, id, (0..objects.len()).filter(is_inside).collect::<Vec<_>>())
    });
    inside.filter(|(.., cells)| cells.len() > 1 && cells.len() < objects.len()).collect()
}

/// The PUs of a core if all cores have as many.
fn stack(topology: &Topology, objects: &[ObjectId]) -> usize {
    let core = |&id: &ObjectId| parent_of_kind(topology, id, ObjectKind::Core);
    let are_pus = objects.iter().all(|&id| topology.get(id).kind == ObjectKind::Pu);
    let cores = runs(objects.iter().map(core).enumerate());
    let count = cores.first().map_or(1, |(_, pus)| pus.len());
    let equal = cores.iter().all(|(core, pus)| core.is_some() && pus.len() == count);
    if are_pus && equal { count.max(1) } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::simulated::node;

    fn check(topology: &Topology, kind: ObjectKind, expected: &str) {
        let objects: Vec<ObjectId> = topology.of_kind(kind).map(|(id, _)| id).collect();
        let groups = Groups::new(topology, &objects);
        let panels = groups.panels.iter().map(|panel| {
            let blocks = panel.blocks.iter().map(|b| format!("{}={}", b.label, b.cells.len()));
            format!("{}[{}]", panel.title, blocks.collect::<Vec<_>>().join(","))
        });
        let text = panels.collect::<Vec<_>>().join(" ");
        assert_eq!(format!("{text} x{}", groups.stack), expected);
        let cells: Vec<usize> = groups.blocks().flat_map(|block| block.cells.clone()).collect();
        assert_eq!(cells, (0..objects.len()).collect::<Vec<_>>());
    }

    #[test]
    fn a_laptop_is_one_block() {
        check(&node(1, 1, 1, 4, 1), ObjectKind::Pu, "Package P#0 · NUMA 0[=4] x1");
    }

    #[test]
    fn packages_hold_nodes_hold_caches() {
        let node = node(2, 2, 2, 2, 2);
        check(
            &node,
            ObjectKind::Pu,
            "Package P#0[N0 L3 0=4,N0 L3 1=4,N1 L3 2=4,N1 L3 3=4] \
             Package P#1[N2 L3 4=4,N2 L3 5=4,N3 L3 6=4,N3 L3 7=4] x2",
        );
        check(&node, ObjectKind::L3Cache, "Package P#0[N0=2,N1=2] Package P#1[N2=2,N3=2] x1");
        check(&node, ObjectKind::NumaNode, "Package P#0[=2] Package P#1[=2] x1");
        check(&node, ObjectKind::Package, "Machine[=2] x1");
        check(&node, ObjectKind::Machine, "Machine[=1] x1");
    }

    #[test]
    fn no_objects_have_no_groups() {
        assert_eq!(Groups::new(&Topology::default(), &[]).panels, []);
    }
}

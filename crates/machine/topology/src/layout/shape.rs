//! The tree that is drawn, and the shapes of its parts.
//!
//! Owns the order of objects and their shapes: two objects have the same shape if everything in
//! them is arranged alike. A machine of a thousand objects has about ten shapes, so that trying
//! many arrangements is cheap.

use std::collections::HashMap;

use super::devices::{Item, items};
use crate::objects::{ObjectId, ObjectKind, Topology};

/// An object that is drawn.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub object: ObjectId,
    pub shape: usize,
    /// Places of packages, caches, cores, PUs in [`Tree::nodes`].
    pub kids: Vec<usize>,
    /// Places of memory there.
    pub memory: Vec<usize>,
    pub items: Vec<Item>,
}

/// Properties that determine the size of an object.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub kind: ObjectKind,
    /// Shapes of its children.
    pub kids: Vec<usize>,
    pub memory: Vec<usize>,
    /// For each device the number of the operating system's devices on it.
    pub items: Vec<usize>,
    /// Equal for shapes that differ in devices only: they are arranged alike.
    pub skeleton: usize,
    /// Number of cores in it; PUs outside cores count as cores.
    pub cores: usize,
}

impl Shape {
    /// True if it contains more than one core.
    pub(super) fn several(&self) -> bool {
        self.cores > 1
    }

    /// True if all normal children look alike.
    pub(super) fn uniform(&self) -> bool {
        self.kids.windows(2).all(|pair| pair[0] == pair[1])
    }
}

/// The complete drawing.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// Parents before children; the first is the root.
    pub nodes: Vec<Node>,
    /// Shapes, each after those of its contents.
    pub shapes: Vec<Shape>,
}

/// The drawn tree of a topology. Objects that the lists of children name twice, or not at all, are
/// drawn once or not at all.
pub(super) fn tree(topology: &Topology, fold_above: usize) -> Tree {
    let mut nodes = walk(topology, fold_above);
    let mut shapes: Vec<Shape> = Vec::new();
    let mut known: HashMap<Vec<usize>, usize> = HashMap::new();
    let mut skeletons: HashMap<Vec<usize>, usize> = HashMap::new();
    for at in (0..nodes.len()).rev() {
        let kind = topology.get(nodes[at].object).kind;
        let of = |list: &[usize]| list.iter().map(|&kid| nodes[kid].shape).collect::<Vec<_>>();
        let (kids, memory) = (of(&nodes[at].kids), of(&nodes[at].memory));
        let items: Vec<usize> = nodes[at].items.iter().map(|item| item.inner.len()).collect();
        // Lengths between the lists make the keys of two different ones differ.
        let mut key = vec![kind as usize, kids.len(), memory.len(), items.len()];
        key.extend(kids.iter().chain(&memory).chain(&items));
        nodes[at].shape = *known.entry(key).or_insert_with(|| {
            let below: usize = kids.iter().map(|&kid| shapes[kid].cores).sum();
            let cores = if kind == ObjectKind::Core { 1 } else { below };
            let cores = if kind == ObjectKind::Pu { cores.max(1) } else { cores };
            let mut key = vec![kind as usize, kids.len()];
            key.extend(kids.iter().map(|&kid| shapes[kid].skeleton).chain(memory.iter().copied()));
            let next = skeletons.len();
            let skeleton = *skeletons.entry(key).or_insert(next);
            shapes.push(Shape { kind, kids, memory, items, skeleton, cores });
            shapes.len() - 1
        });
    }
    Tree { nodes, shapes }
}

fn walk(topology: &Topology, fold_above: usize) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut seen = vec![false; topology.objects.len()];
    // An entry is an object, its container, and true if it is memory there.
    let mut stack: Vec<(ObjectId, Option<usize>, bool)> =
        topology.root().map(|id| (id, None, false)).into_iter().collect();
    let mut devices: Vec<Vec<ObjectId>> = Vec::new();
    let mut owner: Vec<usize> = Vec::new();
    while let Some((id, parent, memory)) = stack.pop() {
        match seen.get_mut(id.0 as usize) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        let object = topology.get(id);
        let at = nodes.len();
        nodes.push(Node {
            object: id,
            shape: 0,
            kids: Vec::new(),
            memory: Vec::new(),
            items: Vec::new(),
        });
        if let Some(parent) = parent {
            let list = if memory { &mut nodes[parent].memory } else { &mut nodes[parent].kids };
            list.push(at);
        }
        // Devices of memory and of PUs stand at the enclosing box, as those have no room inside.
        let inside = memory || object.kind == ObjectKind::Pu;
        let holder = if inside { parent.map_or(at, |parent| owner[parent]) } else { at };
        owner.push(holder);
        devices.push(Vec::new());
        devices[holder].extend(object.io_children.iter().chain(&object.misc_children));
        if !inside {
            stack.extend(object.children.iter().rev().map(|&kid| (kid, Some(at), false)));
        }
        if object.kind != ObjectKind::Pu {
            stack.extend(object.memory_children.iter().rev().map(|&kid| (kid, Some(at), true)));
        }
    }
    for (node, devices) in nodes.iter_mut().zip(&devices) {
        node.items = items(topology, devices, &mut seen, fold_above);
    }
    nodes
}

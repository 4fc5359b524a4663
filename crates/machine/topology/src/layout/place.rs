//! Puts every object at its place, from the outermost inwards.
//!
//! Owns coordinates and the room for text. It follows the chosen arrangement and makes no new
//! decisions.

use super::measure::{Arranged, between, gap, rows};
use super::shape::{Node, Tree};
use super::strips::{MEMORY_INSET, Parts, item_height};
use super::{Area, Detail, Rect};
use crate::objects::{ObjectId, ObjectKind, Topology};

/// Width of a character of the text in bars and cells.
pub(crate) const CHARACTER: f64 = 6.1;
/// Minimum height of a line of text.
pub(crate) const LINE: f64 = 10.0;
/// Characters of a value with its unit, such as `12.3 GB/s`.
const VALUE: f64 = 9.0;

/// All areas, each after the one that contains it.
pub(super) fn place(topology: &Topology, tree: &Tree, arranged: &Arranged) -> Vec<Area> {
    let size = arranged.plans[tree.nodes[0].shape][arranged.target].size;
    let whole = Rect { x: 0.0, y: 0.0, width: size.0, height: size.1 };
    let mut places = vec![(Rect::default(), 0); tree.nodes.len()];
    places[0] = (whole, arranged.target);
    let longest = longest(topology, tree);
    let mut out = Vec::with_capacity(tree.nodes.len());
    for (at, node) in tree.nodes.iter().enumerate() {
        let (rect, target) = places[at];
        let kind = topology.get(node.object).kind;
        let several = tree.shapes[node.shape].several();
        let mut bar = rect;
        if kind != ObjectKind::Pu {
            bar.height = arranged.level.bar(kind, several).min(rect.height);
        }
        let detail = detail(topology, node.object, bar, longest[kind as usize]);
        out.push(Area { object: node.object, rect, bar, detail, folded: Vec::new() });
        if kind.is_memory() {
            inside_memory(tree, arranged, node, rect, &mut places);
        } else if kind != ObjectKind::Pu {
            inside(topology, tree, arranged, node, (rect, target), &mut places, &mut out);
        }
    }
    out
}

/// Places memory, children and devices of an object.
fn inside(
    topology: &Topology,
    tree: &Tree,
    arranged: &Arranged,
    node: &Node,
    (rect, target): (Rect, usize),
    places: &mut [(Rect, usize)],
    out: &mut Vec<Area>,
) {
    let (level, shape) = (&arranged.level, &tree.shapes[node.shape]);
    let kind = shape.kind;
    let plan = &arranged.plans[node.shape][target];
    let inset = level.inset(kind, shape.several());
    let width = rect.width - 2.0 * inset;
    // Heights were computed with the width of the plan; a box that got more keeps the same rows.
    let parts = Parts::measure(shape, tree, level, plan.size.0 - 2.0 * inset);
    let step = between(level, inset);
    let thin = level.gap.min(4.0);
    let left = rect.x + inset;
    let mut y = rect.y + level.bar(kind, shape.several());
    if !node.memory.is_empty() {
        y += step;
        for row in node.memory.chunks(parts.memory_columns) {
            let each = (width - (row.len() - 1) as f64 * level.gap) / row.len() as f64;
            let mut tallest = 0.0_f64;
            for (column, &one) in row.iter().enumerate() {
                let height = arranged.plans[tree.nodes[one].shape][0].size.1;
                let x = left + column as f64 * (each + level.gap);
                places[one] = (Rect { x, y, width: each, height }, 0);
                tallest = tallest.max(height);
            }
            y += tallest + thin;
        }
        y -= thin;
    }
    if !node.kids.is_empty() {
        y += step;
        let gap = gap(shape, level);
        for row in rows(&plan.rows, node.kids.len()) {
            let mut x = left;
            let mut tallest = 0.0_f64;
            for &one in &node.kids[row] {
                let (mut w, h) = arranged.plans[tree.nodes[one].shape][plan.kid].size;
                tallest = tallest.max(h);
                // A bar above one object is as wide as its container; cells stay alike.
                if node.kids.len() == 1
                    && topology.get(tree.nodes[one].object).kind != ObjectKind::Pu
                {
                    w = width;
                }
                places[one] = (Rect { x, y, width: w, height: h }, plan.kid);
                x += w + gap;
            }
            y += tallest + gap;
        }
        y -= gap;
    }
    if node.items.is_empty() {
        return;
    }
    y += step;
    for row in node.items.chunks(parts.item_columns) {
        let mut tallest = 0.0_f64;
        for (column, item) in row.iter().enumerate() {
            let x = left + column as f64 * (level.device.0 + level.gap);
            let inner = item.inner.len();
            let height = item_height(inner, level);
            tallest = tallest.max(height);
            let rect = Rect { x, y, width: level.device.0, height };
            let bar = Rect { height: level.device.1, ..rect };
            let area = |object: ObjectId, rect: Rect, bar: Rect| Area {
                object,
                rect,
                bar,
                detail: detail(topology, object, bar, 0),
                folded: Vec::new(),
            };
            let mut first = area(item.object, rect, bar);
            first.folded.clone_from(&item.folded);
            if let [one] = item.inner[..] {
                // The operating system's name is more informative than the bus; the PCI device is
                // the edge at its left.
                first.bar.width = 4.0_f64.min(rect.width / 3.0);
                first.detail = Detail::Bare;
                out.push(first);
                let (x, width) = (rect.x + 4.0_f64.min(rect.width / 3.0), rect.right());
                let rect = Rect { x, width: width - x, ..rect };
                out.push(area(one, rect, rect));
                continue;
            }
            out.push(first);
            for (line, &one) in item.inner.iter().enumerate() {
                let y = y + (line + 1) as f64 * level.device.1 + 1.0;
                let rect =
                    Rect { x: x + 2.0, y, width: rect.width - 4.0, height: level.device.1 - 1.0 };
                out.push(area(one, rect, rect));
            }
        }
        y += tallest + thin;
    }
}

/// Places the memory after a memory-side cache, one below the other.
fn inside_memory(
    tree: &Tree,
    arranged: &Arranged,
    node: &Node,
    rect: Rect,
    places: &mut [(Rect, usize)],
) {
    let mut y = rect.y + arranged.level.memory.1;
    for &one in &node.memory {
        let height = arranged.plans[tree.nodes[one].shape][0].size.1;
        let (x, width) = (rect.x + MEMORY_INSET, (rect.width - 2.0 * MEMORY_INSET).max(0.0));
        places[one] = (Rect { x, y: y + MEMORY_INSET, width, height }, 0);
        y += height + 2.0 * MEMORY_INSET;
    }
}

/// Characters of the longest name of each kind: names of a kind are shown everywhere or nowhere, as
/// far as bars are alike.
fn longest(topology: &Topology, tree: &Tree) -> [usize; ObjectKind::ALL.len()] {
    let mut longest = [0; ObjectKind::ALL.len()];
    for node in &tree.nodes {
        let most = &mut longest[topology.get(node.object).kind as usize];
        *most = topology.label(node.object).chars().count().max(*most);
    }
    longest
}

/// Text that fits into a bar.
fn detail(topology: &Topology, object: ObjectId, bar: Rect, longest: usize) -> Detail {
    let text = |characters: f64| characters * CHARACTER + 6.0;
    let kind = topology.get(object).kind;
    let name = topology.label(object).chars().count().max(longest);
    // Names of devices may be long, and are cut; a part of them still identifies the device.
    let name = name.min(if kind.is_io() || kind == ObjectKind::Misc { 8 } else { 40 }) as f64;
    let pu = topology.get(object).kind == ObjectKind::Pu;
    // A PU in a grid of PUs is identified by its number.
    let least = if pu { 3.0 } else { name };
    if bar.height < LINE || bar.width < text(2.0) {
        Detail::Bare
    } else if bar.height >= 2.0 * LINE + 3.0 && bar.width >= text(least.max(6.0)) && pu {
        Detail::Two
    } else if bar.width >= text(least + 1.0 + VALUE) {
        Detail::Line
    } else if bar.width >= text(name) {
        Detail::Name
    } else if pu {
        Detail::Number
    } else {
        Detail::Bare
    }
}

//! Places of nodes, edges and loops of a flow graph on the paper.
//!
//! Owns coordinates for the page and for pictures alike. Each loop is a region laid out by itself,
//! inner loops first, and stands in the region around it as one item, so that areas nest and never
//! overlap. Inside a region: layers from top to bottom (Sugiyama, Tagawa, Toda 1981) with items in
//! order of first execution, forward edges between layers, edges that close a cycle in lanes on the
//! left and edges that would pass many layers in lanes on the right. Input that contradicts itself
//! is left out, never a panic.

mod assemble;
mod piece;
mod place;
mod region;
mod route;

use std::collections::HashMap;

use serde::Serialize;
use talea_model::Nanos;

use crate::data::{GraphData, GraphLoop};
use assemble::assemble;
use piece::{End, Kind};
use region::Region;

/// Height of a node that took no time.
const NODE_HEIGHT: f64 = 36.0;
/// Added height of a node that took all the time of the graph.
const TIME_HEIGHT: f64 = 96.0;
/// Width of one character of a node's label.
const CHARACTER: f64 = 7.3;
/// Characters of a label that are shown.
pub(crate) const LABEL_CHARACTERS: usize = 30;

/// Coordinates in CSS pixels, origin top left.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct GraphLayout {
    /// Width of the paper.
    pub(crate) width: f64,
    /// Height of the paper.
    pub(crate) height: f64,
    /// One for each node.
    pub(crate) nodes: Vec<Area>,
    /// One for each edge: corners `x, y, x, y, ...` from the source's bottom to the target's top.
    /// Two corners that differ in both are joined by a curve with upright ends. Empty for an edge
    /// whose node does not exist.
    pub(crate) edges: Vec<Vec<f64>>,
    /// One for each loop.
    pub(crate) loops: Vec<Area>,
    /// One for each edge: place of the text for the computation before its target, `null` where it
    /// takes less than 2 % or there is no room.
    pub(crate) labels: Vec<Option<Label>>,
}

/// The place of a text; in JSON the array `[x, y, end]` with `end` 1 where the text ends there,
/// else 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "(f64, f64, u8)")]
pub(crate) struct Label {
    /// Its start, or its end.
    pub(crate) x: f64,
    /// Its base line.
    pub(crate) y: f64,
    /// True when the text ends at `x`.
    pub(crate) end: bool,
}

impl From<Label> for (f64, f64, u8) {
    fn from(label: Label) -> Self {
        (tenth(label.x), tenth(label.y), u8::from(label.end))
    }
}

/// A rectangle; in JSON the array `[x, y, width, height]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(into = "[f64; 4]")]
pub(crate) struct Area {
    /// Left.
    pub(crate) x: f64,
    /// Top.
    pub(crate) y: f64,
    /// To the right.
    pub(crate) width: f64,
    /// Downwards.
    pub(crate) height: f64,
}

impl From<Area> for [f64; 4] {
    fn from(area: Area) -> Self {
        [area.x, area.y, area.width, area.height].map(tenth)
    }
}

/// Lays out one graph.
///
/// Three times: inner loops come first, and only when the region around a loop is done can its
/// edges leave it in the order in which they continue.
pub(crate) fn layout(graph: &GraphData) -> GraphLayout {
    let around = enclosing(graph);
    let mut done = regions(graph, &around, &Hints::new());
    for _ in 0..2 {
        done = regions(graph, &around, &hints(&around, &done));
    }
    assemble(graph, &around, &done)
}

/// Continuation of an edge outside a region, by region, edge, and whether it leaves: x in the
/// region's own coordinates.
type Hints = HashMap<(usize, usize, bool), f64>;

/// All regions with coordinates, and the item of each loop and edge in them.
struct Regions {
    all: Vec<Region>,
    item_of_loop: Vec<Option<usize>>,
    steps: Vec<Steps>,
}

fn hints(around: &[usize], rough: &Regions) -> Hints {
    let mut out = Hints::new();
    for (edge, steps) in rough.steps.iter().enumerate() {
        for pair in steps.windows(2) {
            let ((from, from_piece), (to, to_piece)) = (pair[0], pair[1]);
            let left = |region: usize| {
                let item = region.checked_sub(1).and_then(|at| rough.item_of_loop[at]);
                item.map_or(0.0, |item| rough.all[around[region]].items[item].x)
            };
            // One of the two contains the other.
            if around[from] == to && from != 0 {
                let next = rough.all[to].after(to_piece);
                out.insert((from, edge, true), next - left(from));
            } else {
                let before = rough.all[from].before(from_piece);
                out.insert((to, edge, false), before - left(to));
            }
        }
    }
    out
}

fn regions(graph: &GraphData, around: &[usize], hints: &Hints) -> Regions {
    let mut regions: Vec<Region> = (0..=graph.loops.len()).map(|_| Region::default()).collect();
    // Items in order of first execution: a loop has the place of its first node.
    let total = graph.nodes.iter().map(|node| node.time).sum::<Nanos>().0.max(1);
    let mut item_of_loop: Vec<Option<usize>> = vec![None; graph.loops.len()];
    let mut item_of_node = Vec::with_capacity(graph.nodes.len());
    for (index, node) in graph.nodes.iter().enumerate() {
        let region = node.loop_id.and_then(|id| region_of(graph, id)).unwrap_or(0);
        let mark = if node.calls.is_empty() { 0 } else { 2 };
        let shown = (node.label.chars().take(LABEL_CHARACTERS + 1).count() + mark) as f64;
        let width = (shown * CHARACTER + 20.0).max(112.0);
        let height = NODE_HEIGHT + TIME_HEIGHT * node.time.0 as f64 / total as f64;
        item_of_node.push((region, regions[region].push(Kind::Node(index), width, height)));
        let mut inner = region;
        while inner > 0 && item_of_loop[inner - 1].is_none() {
            let item = regions[around[inner]].push(Kind::Loop(inner - 1), 0.0, 0.0);
            item_of_loop[inner - 1] = Some(item);
            inner = around[inner];
        }
    }
    // A loop entered above its first own node still keeps its item's order, since nodes come in
    // order of first execution and push appends.
    let steps = split_edges(graph, around, &item_of_node, &item_of_loop, &mut regions);
    for (&(region, edge, leaves), &x) in hints {
        regions[region].hint(edge, leaves, x);
    }

    for index in (0..regions.len()).rev() {
        let (outer, inner) = regions.split_at_mut(index);
        let region = &mut inner[0];
        let title = |one: &GraphLoop| one.label.chars().count().min(LABEL_CHARACTERS) as f64;
        let frame = index.checked_sub(1).map(|at| title(&graph.loops[at]) * CHARACTER + 28.0);
        region.arrange(frame);
        if index > 0
            && let Some(item) = item_of_loop[index - 1]
        {
            outer[around[index]].adopt(item, region);
        }
    }
    Regions { all: regions, item_of_loop, steps }
}

/// Region of a loop: 0 is the paper, `1 + i` is loop `i`.
fn region_of(graph: &GraphData, id: u32) -> Option<usize> {
    graph.loops.iter().position(|one| one.id == id).map(|at| at + 1)
}

/// The region around each region; a loop whose parent does not come before it stands on the paper.
fn enclosing(graph: &GraphData) -> Vec<usize> {
    let mut around = vec![0];
    for (index, one) in graph.loops.iter().enumerate() {
        let parent = one.parent.and_then(|id| region_of(graph, id)).unwrap_or(0);
        around.push(if parent <= index { parent } else { 0 });
    }
    around
}

/// The pieces of one edge, one for each region that it passes, in order.
type Steps = Vec<(usize, usize)>;

fn split_edges(
    graph: &GraphData,
    around: &[usize],
    item_of_node: &[(usize, usize)],
    item_of_loop: &[Option<usize>],
    regions: &mut [Region],
) -> Vec<Steps> {
    let chain = |mut region: usize| {
        let mut out = vec![region];
        while region > 0 {
            region = around[region];
            out.push(region);
        }
        out
    };
    let mut all = Vec::with_capacity(graph.edges.len());
    for (number, edge) in graph.edges.iter().enumerate() {
        let mut steps = Steps::new();
        let ends = (item_of_node.get(edge.from as usize), item_of_node.get(edge.to as usize));
        if let (Some(&(from_region, from_item)), Some(&(to_region, to_item))) = ends {
            let (up, down) = (chain(from_region), chain(to_region));
            let shared = up.iter().copied().find(|region| down.contains(region)).unwrap_or(0);
            // The item that contains an end, seen from `region`.
            let item = |chain: &[usize], own: usize, region: usize| match chain
                .iter()
                .position(|&one| one == region)
            {
                Some(at) if at > 0 => item_of_loop[chain[at - 1] - 1].unwrap_or(0),
                _ => own,
            };
            for &region in up.iter().take_while(|&&region| region != shared) {
                let from = End::Item(item(&up, from_item, region));
                steps.push((region, regions[region].join(number, from, End::Outside)));
            }
            let from = End::Item(item(&up, from_item, shared));
            let to = End::Item(item(&down, to_item, shared));
            steps.push((shared, regions[shared].join(number, from, to)));
            let inward = down.iter().take_while(|&&region| region != shared);
            for &region in inward.collect::<Vec<_>>().into_iter().rev() {
                let to = End::Item(item(&down, to_item, region));
                steps.push((region, regions[region].join(number, End::Outside, to)));
            }
        }
        all.push(steps);
    }
    all
}

/// Rounded to a tenth of a pixel, so that pictures are short and the same everywhere.
fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests;

//! Assembly of separately laid out regions into one picture.
//!
//! Owns the conversion from a region's coordinates to the paper's, the corners of whole edges, and
//! the places of gap texts.

use talea_model::Nanos;

use super::piece::{Kind, Segment};
use super::{Area, GraphLayout, Label, Regions, tenth};
use crate::data::GraphData;

pub(super) fn assemble(graph: &GraphData, around: &[usize], done: &Regions) -> GraphLayout {
    let Regions { all: regions, item_of_loop, steps } = done;
    let mut origin = vec![(0.0, 0.0); regions.len()];
    let mut out = GraphLayout {
        width: tenth(regions[0].width),
        height: tenth(regions[0].height),
        nodes: vec![Area::default(); graph.nodes.len()],
        edges: Vec::with_capacity(steps.len()),
        loops: vec![Area::default(); graph.loops.len()],
        labels: vec![None; graph.edges.len()],
    };
    for index in 0..regions.len() {
        if index > 0 {
            let Some(item) = item_of_loop[index - 1] else {
                continue;
            };
            let (outer, item) = (origin[around[index]], &regions[around[index]].items[item]);
            origin[index] = (outer.0 + item.x, outer.1 + item.y);
            out.loops[index - 1] = Area {
                x: origin[index].0,
                y: origin[index].1,
                width: regions[index].width,
                height: regions[index].height,
            };
        }
        for item in &regions[index].items {
            if let Kind::Node(node) = item.kind {
                out.nodes[node] = Area {
                    x: origin[index].0 + item.x,
                    y: origin[index].1 + item.y,
                    width: item.width,
                    height: item.height,
                };
            }
        }
    }
    for pieces in steps {
        let mut corners: Vec<(f64, f64)> = Vec::new();
        for &(region, piece) in pieces {
            let Segment { corners: own, .. } = &regions[region].segments[piece];
            corners.extend(own.iter().map(|at| (at.0 + origin[region].0, at.1 + origin[region].1)));
        }
        out.edges.push(straighten(&corners));
    }
    label(graph, &mut out);
    out
}

/// A target has room for two texts above it: of its labelled edges the leftmost writes to the left
/// where there are several, the rightmost to the right.
fn label(graph: &GraphData, out: &mut GraphLayout) {
    let times = graph.nodes.iter().map(|node| node.time);
    let total = times.chain(graph.edges.iter().map(|edge| edge.gap)).sum::<Nanos>().0;
    let mut arrivals: Vec<Vec<(f64, f64, usize)>> = vec![Vec::new(); graph.nodes.len()];
    for (at, (edge, corners)) in graph.edges.iter().zip(&out.edges).enumerate() {
        let worth = edge.gap.0 > 0 && edge.gap.0.saturating_mul(50) >= total;
        if let ([.., x, y], true) = (corners.as_slice(), worth) {
            arrivals[edge.to as usize].push((*x, *y, at));
        }
    }
    for list in &mut arrivals {
        list.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let [(x, y, at), _, ..] = list[..] {
            out.labels[at] = Some(Label { x: x - 7.0, y: y - 5.0, end: true });
        }
        if let Some(&(x, y, at)) = list.last() {
            out.labels[at] = Some(Label { x: x + 8.0, y: y - 5.0, end: false });
        }
    }
}

/// Leaves out corners that lie on the line between their neighbours.
fn straighten(corners: &[(f64, f64)]) -> Vec<f64> {
    let same = |a: f64, b: f64| (a - b).abs() < 0.05;
    let mut kept: Vec<(f64, f64)> = Vec::with_capacity(corners.len());
    for &at in corners {
        if let Some(&last) = kept.last() {
            if same(last.0, at.0) && same(last.1, at.1) {
                continue;
            }
            if let Some(&before) = kept.len().checked_sub(2).and_then(|index| kept.get(index)) {
                let upright = same(before.0, last.0) && same(last.0, at.0);
                let level = same(before.1, last.1) && same(last.1, at.1);
                if upright || level {
                    kept.pop();
                }
            }
        }
        kept.push(at);
    }
    kept.into_iter().flat_map(|at| [tenth(at.0), tenth(at.1)]).collect()
}

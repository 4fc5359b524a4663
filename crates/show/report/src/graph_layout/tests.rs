//! For any graph, areas nest and never overlap, and edges join the right items.

use proptest::prelude::*;

use super::*;
use crate::data::{Category, GraphEdge, GraphNode};

fn node(id: u32, loop_id: Option<u32>, time: u64) -> GraphNode {
    GraphNode {
        id,
        label: format!("MPI_Call{id}"),
        procedure: format!("MPI_Call{id}"),
        site: None,
        visits: 1,
        time: Nanos(time),
        loop_id,
        category: Category::Transfer,
        calls: Vec::new(),
    }
}

fn edge(from: u32, to: u32) -> GraphEdge {
    GraphEdge { from, to, transitions: 1, gap: Nanos(0), label: String::new(), back: to <= from }
}

/// Any graph, loops that name missing or later parents and edges to missing nodes included.
fn graphs() -> impl Strategy<Value = GraphData> {
    let loops = prop::collection::vec(prop::option::of(0_u32..6), 0..5);
    // Damaged recordings have times that add up to more than 64 bits.
    let time = prop_oneof![9 => 0_u64..1000, 1 => Just(u64::MAX)];
    let nodes = prop::collection::vec((prop::option::of(0_u32..6), time), 0..24);
    let edges = prop::collection::vec((0_u32..26, 0_u32..26), 0..60);
    (loops, nodes, edges).prop_map(|(loops, nodes, edges)| GraphData {
        nodes: (0..).zip(nodes).map(|(id, (inside, time))| node(id, inside, time)).collect(),
        edges: edges.into_iter().map(|(from, to)| edge(from, to)).collect(),
        loops: (0..)
            .zip(loops)
            .map(|(id, parent)| GraphLoop { id, parent, iterations: 2, label: "×2".to_owned() })
            .collect(),
    })
}

fn contains(outer: &Area, inner: &Area) -> bool {
    outer.x <= inner.x + 0.1
        && outer.y <= inner.y + 0.1
        && inner.x + inner.width <= outer.x + outer.width + 0.1
        && inner.y + inner.height <= outer.y + outer.height + 0.1
}

fn apart(a: &Area, b: &Area) -> bool {
    a.x + a.width <= b.x + 0.1
        || b.x + b.width <= a.x + 0.1
        || a.y + a.height <= b.y + 0.1
        || b.y + b.height <= a.y + 0.1
}

proptest! {
    #[test]
    fn areas_nest_and_edges_arrive(graph in graphs()) {
        let layout = layout(&graph);
        let around = enclosing(&graph);
        let paper = Area { x: 0.0, y: 0.0, width: layout.width, height: layout.height };
        // Every area with its region.
        let mut areas: Vec<(usize, Area)> = Vec::new();
        for (index, area) in layout.loops.iter().enumerate().filter(|one| one.1.width > 0.0) {
            areas.push((around[index + 1], *area));
        }
        for (node, area) in graph.nodes.iter().zip(&layout.nodes) {
            areas.push((node.loop_id.and_then(|id| region_of(&graph, id)).unwrap_or(0), *area));
        }
        for (at, (region, area)) in areas.iter().enumerate() {
            let frame = region.checked_sub(1).map_or(paper, |one| layout.loops[one]);
            prop_assert!(contains(&frame, area), "{area:?} leaves {frame:?}");
            for (_, other) in areas[at + 1..].iter().filter(|one| one.0 == *region) {
                prop_assert!(apart(area, other), "{area:?} meets {other:?}");
            }
        }
        for (edge, corners) in graph.edges.iter().zip(&layout.edges) {
            let ends = (layout.nodes.get(edge.from as usize), layout.nodes.get(edge.to as usize));
            let (Some(from), Some(to)) = ends else {
                prop_assert!(corners.is_empty());
                continue;
            };
            let [x, y, ..] = corners.as_slice() else { panic!("an edge without corners") };
            prop_assert!(
                (y - from.y - from.height).abs() < 0.2 && *x > from.x && *x < from.x + from.width
            );
            let [.., x, y] = corners.as_slice() else { panic!("an edge without corners") };
            prop_assert!((y - to.y).abs() < 0.2 && *x > to.x && *x < to.x + to.width);
        }
    }
}

#[test]
fn a_chain_runs_straight_down() {
    let graph = GraphData {
        nodes: (0..4).map(|id| node(id, None, 10)).collect(),
        edges: (0..3).map(|id| edge(id, id + 1)).collect(),
        loops: Vec::new(),
    };
    let layout = layout(&graph);
    for corners in &layout.edges {
        assert_eq!(corners.len(), 4, "one straight piece: {corners:?}");
        assert!((corners[0] - corners[2]).abs() < 0.1);
    }
}

#[test]
fn a_long_chain_needs_no_deep_stack() {
    let graph = GraphData {
        nodes: (0..10_000).map(|id| node(id, None, 10)).collect(),
        edges: (0..9_999).map(|id| edge(id, id + 1)).collect(),
        loops: Vec::new(),
    };
    assert_eq!(layout(&graph).nodes.len(), 10_000);
}

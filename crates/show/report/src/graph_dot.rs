//! A flow graph in the DOT language of Graphviz, loops as clusters.
//!
//! Owns the text form; Graphviz places the nodes itself.

use std::fmt::Write;

use talea_model::both_ends;

use crate::data::{GraphData, GraphNode};
use crate::graph_svg::colour;
use crate::text::plain;

/// Maximum number of lines for the calls of a chain.
const CHAIN: usize = 8;

/// The graph as a DOT file.
pub fn graph_dot(graph: &GraphData) -> String {
    let mut out = String::from(
        "digraph flow {\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\"];\n",
    );
    let known = |id| graph.loops.iter().any(|one| one.id == id);
    for node in graph.nodes.iter().filter(|node| !node.loop_id.is_some_and(known)) {
        write_node(&mut out, graph, node.id, 1);
    }
    // Loops nest, outer ones first in the list: a stack of open clusters would need recursion, a
    // list of children per loop does not.
    let mut stack: Vec<(usize, bool)> = Vec::new();
    let children = |parent: Option<u32>| {
        let wanted = move |at: &usize| graph.loops[*at].parent.filter(|&id| known(id)) == parent;
        (0..graph.loops.len()).rev().filter(wanted).collect::<Vec<_>>()
    };
    stack.extend(children(None).into_iter().map(|at| (at, false)));
    let mut depth = 1;
    while let Some((at, open)) = stack.pop() {
        if open {
            depth -= 1;
            let _ = writeln!(out, "{}}}", "  ".repeat(depth));
            continue;
        }
        let one = &graph.loops[at];
        let indent = "  ".repeat(depth);
        let _ = writeln!(out, "{indent}subgraph cluster_{} {{", one.id);
        let _ = writeln!(out, "{indent}  label={}; style=rounded;", quoted(&one.label));
        depth += 1;
        for node in graph.nodes.iter().filter(|node| node.loop_id == Some(one.id)) {
            write_node(&mut out, graph, node.id, depth);
        }
        stack.push((at, true));
        stack.extend(children(Some(one.id)).into_iter().map(|inner| (inner, false)));
    }
    for edge in &graph.edges {
        let mut label = format!("{}×", edge.transitions);
        if !edge.label.is_empty() {
            let _ = write!(label, " [{}]", plain(&edge.label, 40));
        }
        let _ = writeln!(
            out,
            "  n{} -> n{} [label={}{}];",
            edge.from,
            edge.to,
            quoted(&label),
            if edge.back { ", constraint=false" } else { "" }
        );
    }
    out.push_str("}\n");
    out
}

fn write_node(out: &mut String, graph: &GraphData, id: u32, depth: usize) {
    let Some(node) = graph.nodes.get(id as usize) else {
        return;
    };
    let label = format!("{}\n{}× {}", names(node).join("\n"), node.visits, node.time);
    let _ = writeln!(
        out,
        "{}n{id} [label={}, color=\"{}\"];",
        "  ".repeat(depth),
        quoted(&label),
        colour(node.category).0
    );
}

/// The name of the call; of a chain the names of its calls in order, without the middle of a long
/// one.
fn names(node: &GraphNode) -> Vec<String> {
    let name = |label: &str| plain(&both_ends(label, 60), 60);
    if node.calls.is_empty() {
        return vec![name(&node.label)];
    }
    let calls = || node.calls.iter().map(|call| name(&call.label));
    if node.calls.len() <= CHAIN {
        return calls().collect();
    }
    let (first, last) = (CHAIN / 2, CHAIN / 2 - 1);
    let hidden = node.calls.len() - first - last;
    let middle = std::iter::once(format!("({hidden} more calls)"));
    calls().take(first).chain(middle).chain(calls().skip(first + hidden)).collect()
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use talea_model::Nanos;

    use super::*;
    use crate::data::{Category, ChainCall};

    #[test]
    fn chains_have_the_names_of_their_calls() {
        let lines = |calls: usize| {
            let call = |at: usize| ChainCall {
                label: format!("MPI_Send a.c:{at}"),
                site: None,
                time: Nanos(1),
                category: Category::Setup,
            };
            let node = GraphNode {
                id: 0,
                label: "MPI_Wait a.c:1".to_owned(),
                procedure: String::new(),
                site: None,
                visits: 1,
                time: Nanos(1),
                loop_id: None,
                category: Category::Setup,
                calls: (1..=calls).map(call).collect(),
            };
            names(&node)
        };
        assert_eq!(lines(0), ["MPI_Wait a.c:1"]);
        assert_eq!(lines(2), ["MPI_Send a.c:1", "MPI_Send a.c:2"]);
        assert_eq!(lines(CHAIN).len(), CHAIN);
        let long = lines(20);
        assert_eq!(long.len(), CHAIN);
        assert_eq!(long[3..5], ["MPI_Send a.c:4", "(13 more calls)"]);
        assert_eq!(long[7], "MPI_Send a.c:20");
    }
}

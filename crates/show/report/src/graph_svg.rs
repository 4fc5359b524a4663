//! A flow graph as an SVG picture that needs no browser: the same coordinates and marks as on the
//! page.
//!
//! Owns the drawing of a standalone picture, in light and dark. Interaction is the page's.

use std::fmt::Write;

use talea_model::{Nanos, both_ends};

use crate::data::{Category, GraphData, GraphEdge, GraphNode};
use crate::graph_fold::fold;
use crate::graph_layout::{Area, LABEL_CHARACTERS, Label, layout};
use crate::text::xml;

/// Room around the drawing.
const MARGIN: f64 = 16.0;

/// Colours of light and dark pictures; the page's style sheet has the same.
pub(crate) fn colour(category: Category) -> (&'static str, &'static str) {
    match category {
        Category::Computation => ("#0072b2", "#4aa3df"),
        Category::Waiting => ("#e69f00", "#f2b134"),
        Category::Transfer => ("#009e73", "#2fc79a"),
        Category::Collective => ("#b0649a", "#d68fc3"),
        Category::Io => ("#8c5a2b", "#bd8852"),
        Category::Setup => ("#87919c", "#8d97a3"),
    }
}

const CATEGORIES: [(Category, &str, &str); 6] = [
    (Category::Computation, "computation", "computation"),
    (Category::Waiting, "waiting", "waiting"),
    (Category::Transfer, "transfer", "transfer"),
    (Category::Collective, "collective", "collective"),
    (Category::Io, "io", "I/O"),
    (Category::Setup, "setup", "set-up"),
];

fn class_of(category: Category) -> &'static str {
    CATEGORIES.iter().find(|one| one.0 == category).map_or("setup", |one| one.1)
}

/// The graph as one SVG document.
pub fn graph_svg(graph: &GraphData) -> String {
    let folded = fold(graph);
    let graph = folded.as_ref();
    let layout = layout(graph);
    let used: Vec<_> = CATEGORIES
        .iter()
        .filter(|one| graph.nodes.iter().any(|node| node.category == one.0))
        .collect();
    let legend: f64 = used.iter().map(|one| legend_width(one.2)).sum();
    let width = (layout.width + 60.0).max(legend) + 2.0 * MARGIN;
    let height = layout.height + 2.0 * MARGIN + 24.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"event flow graph\">\n<style>\n{}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
        style()
    );
    let _ = writeln!(out, "<g transform=\"translate({MARGIN} {MARGIN})\">");
    for area in &layout.loops {
        let _ = writeln!(out, "<g class=\"loop\">{}</g>", rect(*area, 8.0));
    }
    let most = graph.edges.iter().map(|edge| edge.transitions).max().unwrap_or(1).max(1);
    for (at, edge) in graph.edges.iter().enumerate() {
        draw_edge(&mut out, edge, &layout.edges[at], layout.labels[at], most);
    }
    for (one, area) in graph.loops.iter().zip(&layout.loops) {
        let _ = writeln!(
            out,
            "<g class=\"loop\"><text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            area.x + 10.0,
            area.y + 15.0,
            xml(&both_ends(&one.label, LABEL_CHARACTERS), LABEL_CHARACTERS)
        );
    }
    for (node, area) in graph.nodes.iter().zip(&layout.nodes) {
        draw_node(&mut out, node, *area);
    }
    out.push_str("</g>\n");
    let mut x = MARGIN;
    for (_, class, name) in used {
        let _ = writeln!(
            out,
            "<g class=\"node {class}\"><g class=\"bar\"><rect x=\"{x:.1}\" y=\"{:.1}\" width=\"9\" height=\"9\" \
             rx=\"2\"/></g><text class=\"small\" x=\"{:.1}\" y=\"{:.1}\">{name}</text></g>",
            height - 22.0,
            x + 13.0,
            height - 14.0
        );
        x += legend_width(name);
    }
    out.push_str("</svg>\n");
    out
}

fn draw_edge(out: &mut String, edge: &GraphEdge, corners: &[f64], label: Option<Label>, most: u64) {
    let [.., x, y] = corners else { return };
    let gap = Nanos(edge.gap.0);
    let visits = match edge.label.as_str() {
        "" => String::new(),
        label => format!(" · {}", xml(label, 120)),
    };
    let _ = write!(
        out,
        "<g class=\"edge{}\"><path d=\"{}\" stroke-width=\"{:.1}\"/>\
         <path class=\"tip\" d=\"M{x:.1} {y:.1}l-4 -7h8z\"/><title>{}× · {gap} between{visits}</title>",
        if label.is_some() { " work" } else { "" },
        path(corners),
        edge_width(edge.transitions, most),
        edge.transitions,
    );
    if let Some(Label { x, y, end }) = label {
        let anchor = if end { " text-anchor=\"end\"" } else { "" };
        let _ = write!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\"{anchor}>{gap}</text>");
    }
    out.push_str("</g>\n");
}

fn draw_node(out: &mut String, node: &GraphNode, area: Area) {
    let side = Area { width: 4.0, ..area };
    let (x, y) = (area.x + 12.0, area.y + area.height / 2.0);
    let _ = writeln!(
        out,
        "<g class=\"node {}\">{}<g class=\"bar\">{}</g><text x=\"{x:.1}\" y=\"{:.1}\">{}{}</text>\
         <text class=\"small\" x=\"{x:.1}\" y=\"{:.1}\">{}× · {}</text><title>{}</title></g>",
        class_of(node.category),
        rect(area, 4.0),
        rect(side, 2.0),
        y - 3.0,
        if node.calls.is_empty() { "" } else { "▸ " },
        xml(&both_ends(&node.label, LABEL_CHARACTERS), LABEL_CHARACTERS),
        y + 11.0,
        node.visits,
        Nanos(node.time.0),
        xml(&node.label, 400)
    );
}

fn legend_width(name: &str) -> f64 {
    28.0 + name.len() as f64 * 7.0
}

fn style() -> String {
    let mut out = String::from(
        ".paper{fill:#fff}\n.loop rect{fill:#0a2a4a;fill-opacity:.035;stroke:#8a96a3}\n\
         .loop text,.small{font:11px ui-monospace,monospace;fill:#59636e}\n\
         .node>rect{fill:#fff;stroke:#8a96a3}\n.node>text:first-of-type{font:12px ui-monospace,monospace;fill:#1b2128}\n\
         .node>.small{font-size:11px;fill:#59636e}\n\
         .edge path{fill:none;stroke:#8a96a3}\n.edge .tip{fill:#8a96a3;stroke:none}\n\
         .edge text,.loop text{paint-order:stroke;stroke:#fff;stroke-width:3px}.edge text{font:600 11px ui-monospace,monospace}\n\
         .work path{stroke:#0072b2}.work .tip,.work text{fill:#0072b2}\n",
    );
    for (category, class, _) in CATEGORIES {
        let _ = writeln!(out, ".{class} .bar rect{{fill:{}}}", colour(category).0);
    }
    out.push_str("@media (prefers-color-scheme: dark){\n.paper{fill:#14181d}\n.loop rect{fill:#cfe3ff;stroke:#6b7682}\n");
    out.push_str(
        ".node>rect{fill:#1c2229;stroke:#6b7682}\n.node>text:first-of-type{fill:#e4e8ec}\n",
    );
    out.push_str(".edge text,.loop text{stroke:#14181d}.loop text,.small,.node>.small{fill:#9aa5b1}\n.edge path{stroke:#8a95a1}\n.edge .tip{fill:#8a95a1}\n.work path{stroke:#4aa3df}.work .tip,.work text{fill:#4aa3df}\n");
    for (category, class, _) in CATEGORIES {
        let _ = writeln!(out, ".{class} .bar rect{{fill:{}}}", colour(category).1);
    }
    out.push_str("}\n");
    out
}

fn rect(area: Area, radius: f64) -> String {
    let Area { x, y, width, height } = area;
    format!(
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{radius}\"/>"
    )
}

/// 1 to 4 pixels, by the logarithm of the transitions.
fn edge_width(transitions: u64, most: u64) -> f64 {
    1.0 + 3.0 * (transitions as f64).max(1.0).ln() / (most as f64).ln().max(1.0)
}

/// The line through the corners: straight pieces with rounded corners, curves where both
/// coordinates change.
fn path(corners: &[f64]) -> String {
    let at: Vec<(f64, f64)> = corners.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let Some(first) = at.first() else {
        return String::new();
    };
    let mut out = format!("M{:.1} {:.1}", first.0, first.1);
    for (index, pair) in at.windows(2).enumerate() {
        let (from, to) = (pair[0], pair[1]);
        let straight =
            |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).abs() < 0.05 || (a.1 - b.1).abs() < 0.05;
        let next = at.get(index + 2);
        if !straight(from, to) {
            let middle = f64::midpoint(from.1, to.1);
            let _ = write!(
                out,
                "C{:.1} {middle:.1} {:.1} {middle:.1} {:.1} {:.1}",
                from.0, to.0, to.0, to.1
            );
        } else if let Some(&next) = next.filter(|&&next| straight(to, next)) {
            let (before, after) = (toward(to, from), toward(to, next));
            let _ = write!(
                out,
                "L{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}",
                before.0, before.1, to.0, to.1, after.0, after.1
            );
        } else {
            let _ = write!(out, "L{:.1} {:.1}", to.0, to.1);
        }
    }
    out
}

/// The point at most 5 pixels and at most half the way from `from` to `to`.
fn toward(from: (f64, f64), to: (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1e-9);
    let step = (length / 2.0).min(5.0) / length;
    (from.0 + dx * step, from.1 + dy * step)
}

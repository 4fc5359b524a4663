//! A node's objects with performance values, as an SVG picture that needs no browser and runs no
//! script.
//!
//! Owns the document: title, objects, legend, findings. Each object is a group with a stable id
//! (`o-PU-3`: kind and logical index), classes for its kind and the colour of its value, and a
//! tooltip with exact figures. Name and value stand in it as far as there is room; the legend has
//! counter, unit, level, scale and the number of cut values. Light and dark follow the reader's
//! system. The data come in as [`Shown`]; it computes no values.

mod colours;
mod content;
mod legend;
mod names;
mod objects;
#[cfg(test)]
mod tests;
mod text;

use std::fmt::Write;

pub use colours::{CHANGES, STEPS};
pub use content::{Placed, Range, Shown, ShownHint, ShownMonitor};
pub use names::facts;
pub use objects::ids;
pub use text::amount;

use crate::layout::{Area, Options, layout};
use crate::objects::Topology;
use text::xml;

/// Margin around the picture.
const MARGIN: f64 = 16.0;
/// Width of the column at the right.
const LEGEND: f64 = 262.0;
/// Between picture and legend.
const BETWEEN: f64 = 18.0;
/// Between the objects and the findings below.
const APART: f64 = 10.0;
/// Minimum width of text below the objects.
const LEAST: f64 = 420.0;

/// The objects with values and legend as one SVG document. `options` is the room for all of it.
pub fn picture(topology: &Topology, shown: &Shown, options: &Options) -> String {
    let room = Options {
        width: (options.width - 2.0 * MARGIN - BETWEEN - LEGEND).max(LEAST),
        height: (options.height - around(shown, options.width)).max(options.height / 2.0),
        ..options.clone()
    };
    picture_of(topology, &layout(topology, &room), shown)
}

/// Height of everything above and below the objects.
fn around(shown: &Shown, width: f64) -> f64 {
    let left = width - 2.0 * MARGIN - BETWEEN - LEGEND;
    let findings = legend::findings(shown, left.max(LEAST)).1;
    2.0 * MARGIN
        + legend::head(shown, width).1
        + if findings > 0.0 { findings + APART } else { 0.0 }
}

/// As [`picture`], with known places: for many pictures of one machine.
pub fn picture_of(topology: &Topology, areas: &[Area], shown: &Shown) -> String {
    let room = areas.first().map(|area| area.rect).unwrap_or_default();
    let left = room.width.max(LEAST);
    let head = legend::head(shown, left + BETWEEN + LEGEND);
    let side = legend::side(topology, areas, shown);
    let findings = legend::findings(shown, left);
    let below = findings.1 > 0.0;
    let top = MARGIN + head.1;
    let left_height = room.height + if below { findings.1 + APART } else { 0.0 };
    let width = 2.0 * MARGIN + left + BETWEEN + LEGEND;
    let height = top + left_height.max(side.1) + MARGIN;
    let mut out = String::with_capacity(1024 * (areas.len() + 16));
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"topo {}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{}\">\n<style>\n{}@media (prefers-color-scheme: dark){{\n{}}}\n</style>\n{}\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
        if shown.monitors.is_empty() { "plain" } else { "valued" },
        xml(if shown.title.is_empty() { "topology" } else { &shown.title }, 200),
        style(""),
        colours::rules(true, ""),
        DEFS,
    );
    let _ = writeln!(out, "<g transform=\"translate({MARGIN} {MARGIN})\">\n{}</g>", head.0);
    let _ = writeln!(out, "<g transform=\"translate({MARGIN} {top:.1})\">");
    objects::write(&mut out, topology, areas, shown, false);
    let _ = writeln!(out, "</g>");
    let x = MARGIN + left + BETWEEN;
    let _ = writeln!(
        out,
        "<g transform=\"translate({x:.1} {top:.1})\" class=\"legend\">\n{}</g>",
        side.0
    );
    if below {
        let y = top + room.height + APART;
        let _ = writeln!(
            out,
            "<g transform=\"translate({MARGIN} {y:.1})\" class=\"findings\">\n{}</g>",
            findings.0
        );
    }
    out.push_str("</svg>\n");
    out
}

/// The objects alone, with their threads, as an `<svg>` element for a page that colours them and
/// writes values itself. Every object has `data-o`, its place in the topology; a mark that devices
/// share has `data-folded`, theirs; and every text for a value has `data-room`, the number of
/// characters that fit.
pub fn fragment(topology: &Topology, areas: &[Area], shown: &Shown) -> String {
    let room = areas.first().map(|area| area.rect).unwrap_or_default();
    let mut out = format!(
        "<svg class=\"topo plain\" width=\"{:.0}\" height=\"{:.0}\" viewBox=\"-1 -1 {:.0} {:.0}\" role=\"group\">\n{DEFS}",
        room.width + 2.0,
        room.height + 2.0,
        room.width + 2.0,
        room.height + 2.0
    );
    objects::write(&mut out, topology, areas, shown, true);
    out.push_str("</svg>\n");
    out
}

/// The rules of [`fragment`] for a page whose reader may choose light or dark by `data-theme` at
/// the root.
pub fn page_style() -> String {
    format!(
        "{}@media (prefers-color-scheme: dark){{\n{}}}\n{}",
        style(""),
        colours::rules(true, ":root:not([data-theme=light]) "),
        colours::rules(true, ":root[data-theme=dark] ")
    )
}

fn style(before: &str) -> String {
    format!("{}{}", colours::SHAPES, colours::rules(false, before))
}

/// The pattern of absent values.
const DEFS: &str = "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
<rect class=\"ground\" width=\"6\" height=\"6\"/><path class=\"hatch\" d=\"M-1.5 1.5l3-3M0 6l6-6M4.5 7.5l3-3\"/></pattern></defs>\n";

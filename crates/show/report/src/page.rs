//! One file of HTML that contains a whole report: style, program and data.
//!
//! Owns the page's data: the report's public JSON with the places of its graphs, compressed where
//! it is long. The frame is [`Document`]'s.

use std::borrow::Cow;

use serde::Serialize;

use crate::data::{GraphData, ReportData};
use crate::document::{Document, base64, harmless};
use crate::graph_fold::fold;
use crate::graph_layout::{GraphLayout, layout};

const PROGRAM: &str = include_str!("../../../../web/dist/report.js");
const STYLE: &str = include_str!("../../../../web/dist/report.css");
/// SHA-256 of the program in base64, written when it was built.
const PROGRAM_HASH: &str = include_str!("../../../../web/dist/report.sha256");

/// Data longer than this are compressed.
const PACK_ABOVE: usize = 256 << 10;

/// Data of the page: the report's public JSON, and the places of its graphs.
#[derive(Serialize)]
struct Payload<'a> {
    version: u32,
    report: &'a ReportData,
    /// One for each class, in their order.
    layouts: Vec<GraphLayout>,
    /// Graph that is drawn instead of a class's graph where that is too large; else null.
    drawn: Vec<Option<GraphData>>,
}

/// The report as one self-contained HTML document.
pub fn html(report: &ReportData) -> String {
    let folds: Vec<_> = report.classes.iter().map(|class| fold(&class.graph)).collect();
    let layouts = folds.iter().map(|graph| layout(graph)).collect();
    let other = |graph| {
        if let Cow::Owned(graph) = graph { Some(graph) } else { None }
    };
    let payload =
        Payload { version: 1, report, layouts, drawn: folds.into_iter().map(other).collect() };
    // Writing to a string fails only for maps with keys that are not text; there are no maps.
    let json = serde_json::to_string(&payload).unwrap_or_default();
    let (encoding, body) = if json.len() > PACK_ABOVE {
        ("deflate", base64(&miniz_oxide::deflate::compress_to_vec_zlib(json.as_bytes(), 7)))
    } else {
        ("json", harmless(&json))
    };
    let drawn = report.hosts.iter().any(|host| host.picture.is_some());
    let machines = if drawn { talea_topology::svg::page_style() } else { String::new() };
    Document {
        title: &report.run.command,
        product: "talea",
        styles: &[STYLE, &machines],
        without: "This report draws itself with JavaScript, which is off here. \
                  `talea show RUN structure` prints the same in a terminal.",
        body: "",
        attribute: ("encoding", encoding),
        data: &body,
        program: PROGRAM,
        hash: PROGRAM_HASH,
    }
    .html()
}

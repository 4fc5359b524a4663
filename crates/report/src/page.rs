//! One file of HTML that holds a whole report: style, program and data.
//!
//! Owns the frame of the page and how data get into it. The program and the style are built from `web/` and
//! kept in the repository, so that building this crate needs no JavaScript tools. The page's policy lets
//! only that one program run and refuses every request.

use std::borrow::Cow;

use serde::Serialize;

use crate::data::{GraphData, ReportData};
use crate::graph_fold::fold;
use crate::graph_layout::{GraphLayout, layout};
use crate::text;

const PROGRAM: &str = include_str!("../../../web/dist/report.js");
const STYLE: &str = include_str!("../../../web/dist/report.css");
/// SHA-256 of the program in base64, written when it was built.
const PROGRAM_HASH: &str = include_str!("../../../web/dist/report.sha256");

/// Data longer than this are packed.
const PACK_ABOVE: usize = 256 << 10;

/// What the page reads: the report's public JSON, and where its graphs stand.
#[derive(Serialize)]
struct Payload<'a> {
    version: u32,
    report: &'a ReportData,
    /// One for each class, in their order.
    layouts: Vec<GraphLayout>,
    /// What is drawn instead of a class's graph where that is too large; else null.
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
    let title = text::xml(&report.run.command, 120);
    let drawn = report.hosts.iter().any(|host| host.picture.is_some());
    let machines = if drawn { talea_topology::svg::page_style() } else { String::new() };
    let hash = PROGRAM_HASH.trim();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; \
         script-src 'sha256-{hash}'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title} · talea</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <style>\n{STYLE}{machines}</style>\n</head>\n<body>\n\
         <noscript>This report draws itself with JavaScript, which is off here. \
         `talea show RUN structure` prints the same in a terminal.</noscript>\n\
         <div id=\"app\"></div>\n\
         <script type=\"text/plain\" id=\"talea-data\" data-encoding=\"{encoding}\">{body}</script>\n\
         <script>{PROGRAM}</script>\n</body>\n</html>\n"
    )
}

/// JSON in which no text can end the element around it: `<` stands only inside strings, where an escape
/// means the same.
pub(crate) fn harmless(json: &str) -> String {
    json.replace('<', "\\u003c")
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let value = chunk.iter().fold(0_u32, |sum, &byte| sum << 8 | u32::from(byte))
            << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            if digit <= chunk.len() {
                out.push(char::from(DIGITS[(value >> (18 - 6 * digit)) as usize & 63]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_the_standard() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn the_program_cannot_end_its_own_element() {
        assert!(!PROGRAM.to_ascii_lowercase().contains("</script"));
        assert!(!PROGRAM.contains("<!--"));
        assert!(!STYLE.to_ascii_lowercase().contains("</style"));
    }
}

//! One file of HTML that shows a network: views beside each other, a torus that turns, routes,
//! histograms, tables.
//!
//! Owns the embedding of the data. The program in `web/src/network` draws them; where JavaScript is
//! off the page shows its initial display as SVG. Data are compressed JSON: a Gemini machine of
//! 4,608 routers with ten views stays below three MB. It refuses every request.

use super::{Network, NetworkData, Picture, data, draw};
use crate::document::{Document, base64};

const PROGRAM: &str = include_str!("../../../../../web/dist/network.js");
const STYLE: &str = include_str!("../../../../../web/dist/network.css");
/// SHA-256 of the program in base64, written when it was built.
const PROGRAM_HASH: &str = include_str!("../../../../../web/dist/network.sha256");

/// The page as HTML.
pub(super) fn page(network: &Network<'_>, opens: &Picture) -> String {
    let views = draw::drawn_views(network, opens);
    let data = NetworkData { opens: Some(data::opens(network, opens, &views)), ..data(network) };
    // Writing to a string fails only for maps with keys that are not text; there are no maps.
    let json = serde_json::to_vec(&data).unwrap_or_default();
    let body = base64(&miniz_oxide::deflate::compress_to_vec_zlib(&json, 6));
    let picture = draw::svg(network, opens);
    let which = match (views.len(), network.views.len()) {
        (2, 3..) => "below are two of them",
        (1, 2..) => "below is one of them",
        _ => "below is all that this page has",
    };
    Document {
        title: &network.title,
        product: "talea fabric",
        styles: &[STYLE],
        without: &format!(
            "<p>Views are chosen with JavaScript, which is off here; {which}.</p>{picture}"
        ),
        body: "",
        attribute: ("encoding", "deflate"),
        data: &body,
        program: PROGRAM,
        hash: PROGRAM_HASH,
    }
    .html()
}

//! The self-contained HTML report of a run, and SVG pictures.
//!
//! The caller fills [`ReportData`] from an analysed run and gets one file of HTML from [`html`], or
//! a picture of one flow graph from [`graph_svg`] and [`graph_dot`]. The page makes no requests,
//! and no text inside the data can become markup or code. It refuses computing results.
//!
//! The page's program is TypeScript in `web/`; its build is kept in `web/dist` and embedded here,
//! so that building this crate needs no JavaScript tools (`npm run build` renews it, `npm run
//! check-dist` compares). `cargo run -p talea-report --example samples -- DIR` writes reports of
//! simulated runs to look at.

mod cluster_marks;
mod cluster_page;
mod cluster_svg;
mod cluster_timeline_svg;
mod document;
mod fold_page;
mod fold_strip;
mod fold_svg;
mod graph_dot;
mod graph_fold;
mod graph_layout;
mod graph_svg;
pub mod network;
mod page;
mod plot;
mod text;
pub mod topo_page;
mod track_svg;

pub use cluster_page::{cluster_html, track_html};
pub use cluster_svg::cluster_svg;
pub use cluster_timeline_svg::cluster_timeline_svg;
pub use data::{GraphData, ReportData};
pub use fold_page::fold_html;
pub use fold_svg::fold_svg;
pub use graph_dot::graph_dot;
pub use graph_svg::graph_svg;
pub use page::html;
pub use talea_results as data;
pub use track_svg::track_svg;

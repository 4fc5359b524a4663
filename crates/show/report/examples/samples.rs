//! Writes the made-up reports, and a picture of one graph, into a folder: `samples DIR`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/sample/mod.rs"]
mod sample;

use std::path::PathBuf;

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("usage: samples DIR"));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, make) in sample::ALL {
        let report = make();
        std::fs::write(folder.join(format!("{name}.html")), talea_report::html(&report)).unwrap();
        for class in &report.classes {
            let stem = format!("{name}-{}", class.id);
            let write = |ending: &str, text: String| {
                std::fs::write(folder.join(format!("{stem}.{ending}")), text).unwrap();
            };
            write("svg", talea_report::graph_svg(&class.graph));
            write("dot", talea_report::graph_dot(&class.graph));
        }
    }
    let graph = sample::irregular::irregular();
    std::fs::write(folder.join("irregular.svg"), talea_report::graph_svg(&graph)).unwrap();
}

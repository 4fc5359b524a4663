//! Generated descriptions of tori: the map of nodes of a Cray with Gemini routers, and tables of a
//! Blue Gene.
//!
//! Owns both texts and their truth: coordinates of each node, and packets of each link in each
//! region of the code.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Lengths of the three axes.
pub type Lengths = [usize; 3];

/// Coordinates of a place; the last one counts fastest.
#[must_use]
pub fn at(lengths: Lengths, place: usize) -> [usize; 3] {
    let [_, y, z] = lengths;
    [place / (y * z), place / z % y, place % z]
}

/// Number of places.
#[must_use]
pub fn places(lengths: Lengths) -> usize {
    lengths.iter().product()
}

/// A map of nodes: `nid00003 0 0 1 1`, two nodes at each router, whose numbers begin at `first`.
#[must_use]
pub fn nodemap(lengths: Lengths, first: usize) -> String {
    let mut text = format!("{} 4\n", 2 * places(lengths));
    for place in 0..places(lengths) {
        let [x, y, z] = at(lengths, place);
        for slot in 0..2 {
            let _ = writeln!(text, "nid{:05} {x} {y} {z} {slot}", first + 2 * place + slot);
        }
    }
    text
}

/// Regions of the code in the tables of [`blue_gene`]: the whole, one without packets, two others.
pub const REGIONS: [i64; 4] = [-2, 0, 1, 2];

/// The place behind a link of a place: two links each along x, y and z, in both directions.
#[must_use]
pub fn behind(lengths: Lengths, place: usize, link: usize) -> usize {
    let mut to = at(lengths, place);
    let axis = link / 2;
    let step = if link.is_multiple_of(2) { 1 } else { lengths[axis] - 1 };
    to[axis] = (to[axis] + step) % lengths[axis];
    (to[0] * lengths[1] + to[1]) * lengths[2] + to[2]
}

/// Packets of one of the six links of a place in a region.
#[must_use]
pub fn packets(place: usize, link: usize, region: i64) -> u64 {
    match region {
        -2 => packets(place, link, 1) + packets(place, link, 2),
        0 => 0,
        region => (place as u64 * 7 + link as u64 * 13) % 97 * region as u64,
    }
}

/// Writes the tables of a Blue Gene with a rank on each node. The path of the description.
///
/// Nodes are numbered by their places, and rank `r` is on node `all - 1 - r`. Rows of a region are
/// in two parts, as regions are left and entered again.
///
/// # Panics
///
/// If the folder cannot be written.
#[must_use]
pub fn blue_gene(folder: &Path, lengths: Lengths) -> PathBuf {
    let all = places(lengths);
    let [x, y, z] = lengths;
    let meta = format!(
        "---\nkey: GENERATED\nhardware: {{\n type: bgp,\n network: torus,\n nodes: {all},\n \
         coords: [x, y, z],\n coords_table: nodes.yaml,\n dim: {{x: {x}, y: {y}, z: {z}}},\n \
         link_coords_table: links.yaml\n}}\n---\nfiletype: table\nfilename: nodes.yaml\n---\n\
         filetype: table\nfilename: links.yaml\n---\nfiletype: projection\n\
         filename: ranks.yaml\nsubdomain:\n- {{ domain: HW, type: NODE, field: nodeid }}\n\
         - {{ domain: COMM, type: RANK, field: mpirank }}\n...\n"
    );
    let head = |columns: &[&str]| {
        let columns: Vec<String> =
            columns.iter().map(|name| format!("- [{name}, int64]")).collect();
        format!("---\nkey: GENERATED\n---\n{}\n...\n", columns.join("\n"))
    };
    let mut nodes = head(&["nodeid", "x", "y", "z", "muls"]);
    let mut links = head(&["linkid", "sx", "sy", "sz", "tx", "ty", "tz", "code_region", "packets"]);
    let mut ranks = head(&["mpirank", "nodeid"]);
    for place in 0..all {
        let [x, y, z] = at(lengths, place);
        let _ = writeln!(nodes, "{place} {x} {y} {z} {}", place * 3);
        let _ = writeln!(ranks, "{} {place}", all - 1 - place);
        for region in REGIONS {
            for link in 0..6 {
                let [tx, ty, tz] = at(lengths, behind(lengths, place, link));
                let (id, sum) = (6 * place + link, packets(place, link, region));
                for part in [sum / 3, sum - sum / 3] {
                    let _ = writeln!(links, "{id} {x} {y} {z} {tx} {ty} {tz} {region} {part}");
                }
            }
        }
    }
    let path = |name: &str| folder.join(name);
    let files = [("nodes.yaml", nodes), ("links.yaml", links), ("ranks.yaml", ranks)];
    for (name, text) in files.into_iter().chain([("meta.yaml", meta)]) {
        std::fs::write(path(name), text).expect("the folder can be written");
    }
    path("meta.yaml")
}

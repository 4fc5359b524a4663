//! A tree of switches: levels as rows, those with hosts below.
//!
//! Owns the order of switches in a row (by the places of their neighbours below, which leaves
//! generated trees in their numbering) and the folding of large trees: of more than 40 switches in
//! a level, successive ones are one box, and a line represents all links from a box to another one.
//! Links up are at the right of those down.

use std::collections::BTreeMap;

use super::scene::{Label, Mark, Node, Scene, beside};
use super::{Form, Network};

/// Maximum number of boxes of a level.
const MOST: usize = 40;

const LEFT: f64 = 96.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 32.0;
const BELOW: f64 = 34.0;

/// Levels in a room of this width.
pub(super) fn scene(network: &Network<'_>, [width, height]: [f64; 2]) -> Scene {
    let Form::Levels(of) = &network.form else { return Scene::default() };
    let routers = network.fabric.routers().len();
    let mut levels: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for router in 0..routers {
        levels.entry(of.get(router).copied().unwrap_or(0)).or_default().push(router);
    }
    let between = ((height - TOP - BELOW) / (levels.len().max(2) - 1) as f64).clamp(70.0, 260.0);
    let height = TOP + BELOW + between * (levels.len().max(1) - 1) as f64;
    let mut scene = Scene { width, height, ..Scene::default() };
    scene.node_of = vec![0; routers];
    let mut x = vec![0.0; routers];
    let mut hosts = vec![0_usize; routers];
    for port in network.fabric.ports() {
        hosts[port.router.at()] += 1;
    }
    let mut folded = false;
    let rows = levels.len();
    for (row, (level, members)) in levels.iter_mut().enumerate() {
        if row > 0 {
            order(network, of, &x, members);
        }
        let share = members.len().div_ceil(MOST);
        folded |= share > 1;
        let boxes = members.len().div_ceil(share);
        let apart = (width - LEFT - RIGHT) / boxes as f64;
        let y = height - BELOW - between * row as f64;
        let name = if members.iter().any(|&router| hosts[router] > 0) { "with hosts" } else { "" };
        let mut label = |at, anchor, strong, text| {
            scene.labels.push(Label { at, anchor, strong, text });
        };
        label([4.0, y + 3.5], "start", true, format!("level {level}"));
        label([4.0, y + 16.0], "start", false, name.to_owned());
        let longest = ((apart - 4.0) / 6.2).max(0.0) as usize;
        for (place, members) in members.chunks(share).enumerate() {
            let at = [LEFT + apart * (place as f64 + 0.5), y];
            for &router in members {
                scene.node_of[router] = scene.nodes.len() as u32;
                x[router] = at[0];
            }
            let names = [members.first(), members.last()].map(|end| {
                end.map_or("", |&router| network.fabric.routers()[router].name.as_str())
            });
            let text = if members.len() == 1 {
                names[0].to_owned()
            } else {
                format!("{} \u{2026} {}", names[0], names[1])
            };
            let radius = (apart * 0.3).clamp(2.0, 7.0);
            // Names are written only where they have room: below the lowest boxes, above the
            // highest, beside those between, where no links lead up or down.
            let (at_name, anchor, longest) = match row {
                0 => ([at[0], y + 20.0], "middle", longest),
                row if row + 1 == rows => ([at[0], y - 12.0], "middle", longest),
                _ => {
                    let beside = radius + 5.0;
                    let room = (apart - 2.0 * beside).max(0.0);
                    ([at[0] + beside, y + 3.5], "start", (room / 6.6) as usize)
                }
            };
            if text.chars().count() <= longest {
                let text = text.clone();
                scene.labels.push(Label { at: at_name, anchor, strong: false, text });
            }
            let routers = members.len();
            scene.nodes.push(Node { at, radius, label: text, inside: Vec::new(), routers });
        }
    }
    marks(network, &mut scene);
    if folded {
        scene.note.push_str("successive switches of a level are one box");
    }
    scene
}

/// Sorts switches by the mean place of those below; equal ones stay.
fn order(network: &Network<'_>, of: &[u32], x: &[f64], members: &mut [usize]) {
    let mean = |router: &usize| {
        let router = *router;
        let links = network.fabric.from(talea_fabric::RouterId(router as u32)).1;
        let below = links.iter().filter(|link| of.get(link.to.at()) < of.get(router));
        let (sum, count) =
            below.fold((0.0, 0.0), |(sum, count), link| (sum + x[link.to.at()], count + 1.0));
        if count > 0.0 { sum / count } else { 0.0 }
    };
    members.sort_by(|one, other| (mean(one).round()).total_cmp(&mean(other).round()));
}

fn marks(network: &Network<'_>, scene: &mut Scene) {
    let bundles = scene.bundles(network);
    let room = match bundles.len() {
        0..80 => 6.0,
        80..600 => 3.6,
        _ => 2.0,
    };
    for ((one, other), links) in bundles {
        let [a, b] = [one, other].map(|node| &scene.nodes[node as usize]);
        let (from, to) = beside(a.at, b.at, room / 2.0 + 0.3);
        let middle = [0, 1].map(|i| f64::midpoint(from[i], to[i]));
        let beside = (a.at[1] - b.at[1]).abs() < 1.0;
        let sag = 14.0 + (a.at[0] - b.at[0]).abs() * 0.08;
        let bend = beside.then(|| [middle[0], middle[1] + sag.min(40.0)]);
        let free = [a.radius + 1.5, b.radius + 1.5];
        scene.marks.push(Mark { from, to, bend, free, room, links });
    }
}

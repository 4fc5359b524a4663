//! A dragonfly: groups on a circle, global links as chords between them.
//!
//! Owns the places of groups and their routers (drawn as in Kim et al., "Technology-Driven,
//! Highly-Scalable Dragonfly Topology", 2008). Up to 80 routers are drawn each; of larger machines
//! a group is one disk, coloured by the maximum of the links inside it, and a chord represents all
//! links from a group to another one.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use super::scene::{Label, Mark, Node, Point, Scene, beside};
use super::{Form, Network};

/// Maximum number of routers that are drawn each.
const MOST_ROUTERS: usize = 80;

/// Groups on a circle in a square of this side.
pub(super) fn scene(network: &Network<'_>, side: f64) -> Scene {
    let Form::Groups(of) = &network.form else { return Scene::default() };
    let routers = network.fabric.routers().len();
    let mut members: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for router in 0..routers {
        members.entry(of.get(router).copied().unwrap_or(u32::MAX)).or_default().push(router);
    }
    let circle = Circle::new(members.len(), side);
    let open = routers <= MOST_ROUTERS;
    let mut scene = Scene { width: side, height: side, ..Scene::default() };
    scene.node_of = vec![0; routers];
    for (place, (group, members)) in members.iter().enumerate() {
        let name = if *group == u32::MAX { "?".to_owned() } else { group.to_string() };
        let middle = circle.at(place, circle.radius);
        if open {
            for (within, &router) in members.iter().enumerate() {
                scene.node_of[router] = scene.nodes.len() as u32;
                let label = network.fabric.routers()[router].name.clone();
                let at = circle.member(place, within, members.len());
                scene.nodes.push(Node { at, radius: 4.0, label, inside: Vec::new(), routers: 1 });
            }
        } else {
            for &router in members {
                scene.node_of[router] = scene.nodes.len() as u32;
            }
            let label = format!("group {name}");
            let (at, radius) = (middle, circle.disk * 0.8);
            let routers = members.len();
            scene.nodes.push(Node { at, radius, label, inside: Vec::new(), routers });
        }
        let at = circle.at(place, circle.radius + circle.disk + 11.0);
        let anchor = match at[0] - side / 2.0 {
            x if x < -12.0 => "end",
            x if x > 12.0 => "start",
            _ => "middle",
        };
        // Names of many groups would overlap.
        if place % (1 + members_apart(circle.apart)) == 0 {
            let text = if circle.apart > 60.0 { format!("group {name}") } else { name };
            scene.labels.push(Label { at: [at[0], at[1] + 4.0], anchor, strong: false, text });
        }
    }
    marks(network, of, &circle, open, &mut scene);
    if !open {
        scene.note =
            format!("each of {} groups is one disk, coloured by the most of its own links", {
                members.len()
            });
    }
    scene
}

fn members_apart(apart: f64) -> usize {
    (16.0 / apart.max(0.1)) as usize
}

struct Circle {
    groups: f64,
    side: f64,
    radius: f64,
    /// Half of the room of a group.
    disk: f64,
    /// Pixels between neighbours.
    apart: f64,
}

impl Circle {
    fn new(groups: usize, side: f64) -> Self {
        let groups = groups.max(1) as f64;
        let outer = side / 2.0 - 62.0;
        // Disks on the circle do not touch.
        let part = (TAU / 2.0 / groups).sin();
        let disk = (outer * part / (1.0 + part) * 0.86).clamp(2.0, side / 7.0);
        let radius = if groups < 1.5 { 0.0 } else { outer - disk };
        Self { groups, side, radius, disk, apart: TAU * radius / groups }
    }

    /// A point at this radius from the centre, the first group at the top.
    fn at(&self, place: usize, radius: f64) -> Point {
        let angle = TAU * (place as f64 / self.groups - 0.25);
        [self.side / 2.0 + radius * angle.cos(), self.side / 2.0 + radius * angle.sin()]
    }

    fn member(&self, place: usize, within: usize, members: usize) -> Point {
        let middle = self.at(place, self.radius);
        let angle = TAU * (place as f64 / self.groups + within as f64 / members as f64 + 0.25);
        let around = if members < 2 { 0.0 } else { self.disk * 0.8 };
        [middle[0] + around * angle.cos(), middle[1] + around * angle.sin()]
    }
}

fn marks(network: &Network<'_>, of: &[u32], circle: &Circle, open: bool, scene: &mut Scene) {
    let bundles = scene.bundles(network);
    let room = if open { 4.0 } else { (circle.apart * 0.12).clamp(1.2, 7.0) };
    let centre = [circle.side / 2.0; 2];
    for ((one, other), links) in bundles {
        let [a, b] = [one, other].map(|node| &scene.nodes[node as usize]);
        let local = links.iter().all(|&link| {
            let link = &network.fabric.links()[link as usize];
            of.get(link.from.at()) == of.get(link.to.at())
        });
        let (from, to) = beside(a.at, b.at, room / 2.0 + 0.4);
        let middle = [0, 1].map(|i| f64::midpoint(from[i], to[i]));
        // Chords of neighbours bend most, those through the centre not at all.
        let bend = (!local).then(|| [0, 1].map(|i| middle[i] + (centre[i] - middle[i]) * 0.5));
        let free = [a.radius + 1.5, b.radius + 1.5];
        scene.marks.push(Mark { from, to, bend, free, room, links });
    }
}

//! A torus as slabs: for each two axes a plane, with the links of both axes, over which all other
//! axes are projected.
//!
//! Owns the places of slabs and the links of each mark (Landge et al., "Visualizing Network Traffic
//! to Understand the Performance of Massively Parallel Simulations", 2012). Three axes give X-Y,
//! Z-Y and Z-X; two give one plane, one a row, more the neighbouring pairs. Links keep to the
//! right: those to larger numbers below (or right of) those back. The link round an axis is a stub
//! at each side. Axes longer than 96 are folded.

use std::collections::BTreeMap;

use super::classes::{AXES, step};
use super::scene::{Grid, Label, Mark, Node, Point, Scene, beside};
use super::{Form, Network};

/// Maximum number of places on a side of a slab; longer axes have several numbers in a place.
const MOST_PLACES: u16 = 96;

/// Maximum pixels between neighbours: small tori use the available room.
const MOST_CELL: f64 = 64.0;

/// Room at the left for numbers, between slabs, above for names, below for numbers.
const LEFT: f64 = 34.0;
const TOP: f64 = 24.0;
const BELOW: f64 = 26.0;
const RIGHT: f64 = 26.0;

/// Two axes: to the right, and up. The second is absent for a torus of one axis.
pub(super) type Plane = (usize, Option<usize>);

/// The planes of a torus of these lengths; longer axes lie to the right.
pub(super) fn planes(lengths: &[u16]) -> Vec<Plane> {
    let lie =
        |a: usize, b: usize| if lengths[b] > lengths[a] { (b, Some(a)) } else { (a, Some(b)) };
    match lengths.len() {
        0 => Vec::new(),
        1 => vec![(0, None)],
        2 => vec![lie(0, 1)],
        axes => (0..axes).map(|at| lie(at, (at + 1) % axes)).collect(),
    }
}

/// Number of numbers of an axis that share a place.
fn fold(length: u16) -> u16 {
    length.div_ceil(MOST_PLACES).max(1)
}

/// The slabs in a room of this width, not much higher than `height`.
pub(super) fn scene(network: &Network<'_>, [width, height]: Point) -> Scene {
    let Form::Torus(lengths) = &network.form else { return Scene::default() };
    let lengths = &lengths[..lengths.len().min(AXES.len())];
    let planes = planes(lengths);
    let sizes: Vec<[u16; 2]> = planes
        .iter()
        .map(|&(across, up)| {
            [Some(across), up].map(|axis| {
                axis.map_or(1, |axis| lengths[axis].div_ceil(fold(lengths[axis])).max(1))
            })
        })
        .collect();
    let (cell, places, size) = arrange(&sizes, [width, height]);
    let mut scene = Scene { width: size[0], height: size[1], ..Scene::default() };
    for ((&plane, places), corner) in planes.iter().zip(sizes).zip(places) {
        let folds = [Some(plane.0), plane.1].map(|axis| axis.map_or(1, |axis| fold(lengths[axis])));
        let origin =
            [corner[0] + LEFT + cell * 0.8, corner[1] + TOP + cell * (f64::from(places[1]) - 0.2)];
        let slab = Grid { axes: plane, origin, cell, places, folds };
        texts(&slab, lengths, &mut scene);
        routers(network, &slab, &mut scene);
        links(network, &slab, lengths, &mut scene);
        scene.grids.push(slab);
    }
    let mut notes = Vec::new();
    if lengths.iter().any(|&length| fold(length) > 1) {
        notes.push(format!("axes longer than {MOST_PLACES} are folded"));
    }
    let astray = astray(network, lengths);
    if astray > 0 {
        notes.push(format!(
            "{astray} links are not drawn, as they lead to no neighbour on the torus"
        ));
    }
    scene.note = notes.join("; ");
    scene
}

/// Number of links that lead to no neighbour.
fn astray(network: &Network<'_>, lengths: &[u16]) -> usize {
    let at = |router: talea_fabric::RouterId| network.fabric.routers()[router.at()].at;
    let fits = |link: &&talea_fabric::Link| match (at(link.from), at(link.to)) {
        (Some(from), Some(to)) => step(from.values(), to.values(), lengths).is_some(),
        _ => false,
    };
    network.fabric.links().len() - network.fabric.links().iter().filter(fits).count()
}

/// The largest cell with which slabs fit, the corner of each, and the size of all. Slabs flow in
/// rows.
fn arrange(sizes: &[[u16; 2]], [width, height]: Point) -> (f64, Vec<Point>, Point) {
    let mut last = (4.0, Vec::new(), [width, 0.0]);
    let mut cell = MOST_CELL;
    while cell >= 4.0 {
        let (mut x, mut y, mut row, mut right) = (0.0, 0.0, 0.0_f64, 0.0_f64);
        let mut corners = Vec::new();
        for &[across, up] in sizes {
            // A stub at each side.
            let wide = LEFT + RIGHT + cell * (f64::from(across) + 0.6);
            let high = TOP + BELOW + cell * (f64::from(up) + 0.6);
            if x > 0.0 && x + wide > width {
                (x, y, row) = (0.0, y + row, 0.0);
            }
            corners.push([x, y]);
            x += wide;
            right = right.max(x);
            row = row.max(high);
        }
        last = (cell, corners, [right, y + row]);
        if right <= width && y + row <= height {
            break;
        }
        cell -= 0.5;
    }
    last
}

fn texts(slab: &Grid, lengths: &[u16], scene: &mut Scene) {
    let name = |axis: usize| AXES[axis];
    let [left, top] = slab.at([-0.8, f64::from(slab.places[1]) - 0.2]);
    let over: Vec<&str> = (0..lengths.len())
        .filter(|&axis| axis != slab.axes.0 && Some(axis) != slab.axes.1 && lengths[axis] > 1)
        .map(name)
        .collect();
    let up = slab.axes.1.map_or(String::new(), |up| format!("-{}", name(up)));
    let over = if over.is_empty() {
        String::new()
    } else {
        format!(", the most over {}", over.join(" and "))
    };
    let mut label = |at: Point, anchor, strong, text: String| {
        scene.labels.push(Label { at, anchor, strong, text });
    };
    label([left, top - 8.0], "start", true, format!("{}{up}{over}", name(slab.axes.0)));
    let bottom = slab.at([0.0, -0.8])[1] + 12.0;
    for (side, axis) in [Some(slab.axes.0), slab.axes.1].into_iter().enumerate() {
        let Some(axis) = axis else { continue };
        let every = ((26.0 / slab.cell).ceil() as u16).max(1);
        let last = slab.places[side] - 1;
        for place in (0..=last).filter(|&place| {
            place == last || (place % every == 0 && (last - place >= every || place == 0))
        }) {
            let number = (u32::from(place) * u32::from(slab.folds[side])).to_string();
            if side == 0 {
                label([slab.at([f64::from(place), 0.0])[0], bottom], "middle", false, number);
            } else {
                let y = slab.at([0.0, f64::from(place)])[1] + 3.5;
                label([left - 4.0, y], "end", false, number);
            }
        }
        if side == 0 {
            let x = slab.at([f64::from(last), 0.0])[0] + slab.cell * 0.8;
            label([x, bottom], "start", false, format!("{} \u{2192}", name(axis)));
        } else {
            label([left - 4.0, top - 8.0], "end", false, format!("{} \u{2191}", name(axis)));
        }
    }
}

fn routers(network: &Network<'_>, slab: &Grid, scene: &mut Scene) {
    let mut places: BTreeMap<[u16; 2], usize> = BTreeMap::new();
    for router in network.fabric.routers() {
        if let Some(place) = router.at.and_then(|at| slab.place(at.values())) {
            *places.entry(place).or_default() += 1;
        }
    }
    for (place, routers) in places {
        let at = slab.at(place.map(f64::from));
        let radius = (slab.cell * 0.11).clamp(0.6, 3.0);
        scene.nodes.push(Node { at, radius, routers, ..Node::default() });
    }
}

fn links(network: &Network<'_>, slab: &Grid, lengths: &[u16], scene: &mut Scene) {
    let routers = network.fabric.routers();
    // By side, direction and place of the end that they leave.
    let mut marks: BTreeMap<(usize, bool, [u16; 2]), Vec<u32>> = BTreeMap::new();
    for (id, link) in (0..).zip(network.fabric.links()) {
        let [from, to] = [link.from, link.to].map(|end| routers[end.at()].at);
        let (Some(from), Some(to)) = (from, to) else { continue };
        let Some((axis, plus)) = step(from.values(), to.values(), lengths) else { continue };
        let side = [Some(slab.axes.0), slab.axes.1].iter().position(|&one| one == Some(axis));
        if let (Some(side), Some(place)) = (side, slab.place(from.values())) {
            marks.entry((side, plus, place)).or_default().push(id);
        }
    }
    let cell = slab.cell;
    let room = (cell * 0.25).clamp(0.8, 8.0);
    let offset = room / 2.0 + 0.35;
    for ((side, plus, place), links) in marks {
        let edge = if plus { slab.places[side] - 1 } else { 0 };
        let round = place[side] == edge;
        let by = if round { 0.6 } else { 1.0 } * if plus { 1.0 } else { -1.0 };
        let begin = place.map(f64::from);
        let mut end = begin;
        end[side] += by;
        // Pixels: up is less, and links keep to the right.
        let (from, to) = beside(slab.at(begin), slab.at(end), offset);
        let free = [cell * 0.17, if round { 0.0 } else { cell * 0.17 }];
        scene.marks.push(Mark { from, to, bend: None, free, room, links });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use talea_fabric::shape::Torus;
    use talea_fabric::shape::torus::Wires;

    use super::*;

    fn torus<T>(lengths: &[u16], f: impl FnOnce(&Network<'_>) -> T) -> T {
        let wires = Wires { kind: "cable".to_owned(), lane: Some(1.0), count: 1 };
        let fabric = Torus::new(lengths).unwrap().fabric(&wires, 0).unwrap();
        f(&Network {
            title: String::new(),
            facts: Vec::new(),
            findings: Vec::new(),
            fabric: &fabric,
            form: Form::Torus(lengths.to_vec()),
            routing: None,
            views: Vec::new(),
            degraded: Vec::new(),
            gaps: Vec::new(),
        })
    }

    #[test]
    fn a_link_to_no_neighbour_is_said() {
        torus(&[4, 4], |network| {
            assert_eq!(scene(network, [600.0, 400.0]).note, "");
            // Seen as a torus of 8 by 4, the links round the first axis lead across.
            let other = Network { form: Form::Torus(vec![8, 4]), ..network.clone() };
            let note = scene(&other, [600.0, 400.0]).note;
            assert_eq!(note, "8 links are not drawn, as they lead to no neighbour on the torus");
        });
    }

    proptest! {
        #[test]
        fn each_link_is_once_in_each_plane_of_its_axis(
            lengths in prop::collection::vec(1_u16..6, 1..=4),
        ) {
            torus(&lengths, |network| {
                let scene = scene(network, [900.0, 500.0]);
                let mut seen = vec![0; network.fabric.links().len()];
                for link in scene.marks.iter().flat_map(|mark| &mark.links) {
                    seen[*link as usize] += 1;
                }
                let planes = planes(&lengths);
                for (link, seen) in network.fabric.links().iter().zip(seen) {
                    let [from, to] =
                        [link.from, link.to].map(
                            |end| network.fabric.routers()[end.at()].at.unwrap()
                        );
                    let axis = (0..lengths.len())
                        .find(|&axis| from.values()[axis] != to.values()[axis])
                        .unwrap();
                    let expected =
                        planes.iter().filter(
                            |plane| plane.0 == axis || plane.1 == Some(axis)
                        ).count();
                    assert_eq!(seen, expected, "{from} to {to}");
                }
                for mark in &scene.marks {
                    for [x, y] in [mark.from, mark.to] {
                        assert!(
                            (0.0..=scene.width).contains(&x) && (0.0..=scene.height).contains(&y)
                        );
                    }
                }
            });
        }
    }

    #[test]
    fn planes_of_any_torus() {
        assert_eq!(planes(&[5]), [(0, None)]);
        assert_eq!(planes(&[5, 9]), [(1, Some(0))]);
        assert_eq!(planes(&[16, 12, 24]), [(0, Some(1)), (2, Some(1)), (2, Some(0))]);
        assert_eq!(planes(&[2; 5]).len(), 5);
    }

    #[test]
    fn slabs_find_room() {
        for (sizes, room) in [
            (vec![[16, 12], [24, 12], [24, 16]], [1200.0, 460.0]),
            (vec![[16, 12], [24, 12], [24, 16]], [590.0, 900.0]),
            (vec![[96, 96]; 6], [600.0, 500.0]),
            (vec![[1, 1]], [600.0, 500.0]),
        ] {
            let (cell, corners, size) = arrange(&sizes, room);
            assert!(cell >= 4.0 && corners.len() == sizes.len());
            assert!(size[0] <= room[0] + 4.0 || cell < 4.25, "{size:?}");
        }
    }
}

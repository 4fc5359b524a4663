//! A drawing without values: places of routers, and marks for one link or several.
//!
//! Owns the common vocabulary of slabs, groups and levels, so that one painter draws all of them,
//! here and in the page. Lengths are pixels, y down.

use std::collections::BTreeMap;

use talea_fabric::RouterId;

use super::Network;

/// A place in a picture.
pub(super) type Point = [f64; 2];

/// A router, or several that are drawn as one.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// Centre.
    pub(super) at: Point,
    /// Half its width.
    pub(super) radius: f64,
    /// Beside it, or inside where there is room; may be empty.
    pub(super) label: String,
    /// Links between its own routers, whose largest value colours it; empty for a single router.
    pub(super) inside: Vec<u32>,
    /// Number of routers that it represents.
    pub(super) routers: usize,
}

/// One or more links one way, drawn as a line.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    /// Its begin: beside the centre of a router.
    pub(super) from: Point,
    /// Its end.
    pub(super) to: Point,
    /// Point towards which it bends; absent for a straight line.
    pub(super) bend: Option<Point>,
    /// Free lengths at the begin and at the end.
    pub(super) free: [f64; 2],
    /// Width of the largest capacity.
    pub(super) room: f64,
    /// Its links.
    pub(super) links: Vec<u32>,
}

/// Text in a picture.
#[derive(Clone, Debug)]
pub(super) struct Label {
    /// Its place.
    pub(super) at: Point,
    /// `start`, `middle` or `end` of the text is there.
    pub(super) anchor: &'static str,
    /// True if it is the title of the part below it.
    pub(super) strong: bool,
    /// Its text.
    pub(super) text: String,
}

/// Two axes of a torus as a plane of places.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// To the right, and up; the second is absent for a torus of one axis.
    pub(super) axes: (usize, Option<usize>),
    /// Pixel of the router at (0, 0).
    pub(super) origin: Point,
    /// Pixels between neighbours.
    pub(super) cell: f64,
    /// To the right, and up.
    pub(super) places: [u16; 2],
    /// Number of numbers of an axis that share a place.
    pub(super) folds: [u16; 2],
}

impl Grid {
    /// The pixel of a place.
    pub(super) fn at(&self, place: [f64; 2]) -> Point {
        [self.origin[0] + place[0] * self.cell, self.origin[1] - place[1] * self.cell]
    }

    /// The place of a coordinate; `None` outside.
    pub(super) fn place(&self, at: &[u16]) -> Option<[u16; 2]> {
        let along = |axis: Option<usize>, side: usize| match axis {
            None => Some(0),
            Some(axis) => {
                at.get(axis).map(|at| at / self.folds[side]).filter(|&at| at < self.places[side])
            }
        };
        Some([along(Some(self.axes.0), 0)?, along(self.axes.1, 1)?])
    }
}

/// A picture without values.
#[derive(Clone, Debug, Default)]
pub(super) struct Scene {
    /// To the right.
    pub(super) width: f64,
    /// Down.
    pub(super) height: f64,
    /// Routers.
    pub(super) nodes: Vec<Node>,
    /// Links.
    pub(super) marks: Vec<Mark>,
    /// Texts.
    pub(super) labels: Vec<Label>,
    /// The node of each router; empty for slabs, where a router has several places.
    pub(super) node_of: Vec<u32>,
    /// Slabs of a torus.
    pub(super) grids: Vec<Grid>,
    /// Note on folded or omitted parts, in a sentence; may be empty.
    pub(super) note: String,
}

/// The line from a point to another one, shifted by `by` to its right-hand side.
pub(super) fn beside(from: Point, to: Point, by: f64) -> (Point, Point) {
    let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
    let length = dx.hypot(dy).max(1e-9);
    let (x, y) = (-dy / length * by, dx / length * by);
    ([from[0] + x, from[1] + y], [to[0] + x, to[1] + y])
}

impl Scene {
    /// Links between different nodes of the picture, by both nodes; those inside one node are added
    /// to it.
    pub(super) fn bundles(&mut self, network: &Network<'_>) -> BTreeMap<(u32, u32), Vec<u32>> {
        let mut bundles: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for (id, link) in (0..).zip(network.fabric.links()) {
            let [from, to] = [link.from, link.to].map(|end| self.node_of[end.at()]);
            if from == to {
                self.nodes[from as usize].inside.push(id);
            } else {
                bundles.entry((from, to)).or_default().push(id);
            }
        }
        bundles
    }

    /// The largest capacity of a line: of one link in slabs, of all links of a bundle elsewhere.
    /// Absent if none is known.
    pub(super) fn widest(&self, network: &Network<'_>) -> Option<f64> {
        let links = network.fabric.links();
        let capacity = |link: &u32| links[*link as usize].capacity;
        let of_mark = |mark: &Mark| -> Option<f64> {
            let known = mark.links.iter().filter_map(capacity);
            if self.grids.is_empty() { known.reduce(|a, b| a + b) } else { known.reduce(f64::max) }
        };
        self.marks.iter().filter_map(of_mark).reduce(f64::max)
    }

    /// The places of a router.
    pub(super) fn places(&self, network: &Network<'_>, router: RouterId) -> Vec<Point> {
        if let Some(node) = self.node_of.get(router.at()) {
            return self.nodes.get(*node as usize).map(|node| node.at).into_iter().collect();
        }
        let Some(at) = network.fabric.routers().get(router.at()).and_then(|router| router.at)
        else {
            return Vec::new();
        };
        let place = |grid: &Grid| Some(grid.at(grid.place(at.values())?.map(f64::from)));
        self.grids.iter().filter_map(place).collect()
    }
}

impl Mark {
    /// Both ends, without the free lengths if `cut`.
    fn ends(&self, cut: bool) -> (Point, Point) {
        let [before, after] = if cut { self.free } else { [0.0, 0.0] };
        let towards = |from: Point, to: Point, by: f64| {
            let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
            let part = by / dx.hypot(dy).max(1e-9);
            [from[0] + dx * part, from[1] + dy * part]
        };
        let (first, last) = self.bend.map_or((self.to, self.from), |bend| (bend, bend));
        (towards(self.from, first, before), towards(self.to, last, after))
    }

    /// The same line, shifted to its right-hand side so that it does not cover the original.
    pub(super) fn shifted(&self, by: f64) -> Self {
        let (from, to) = beside(self.from, self.to, by);
        let [dx, dy] = [from[0] - self.from[0], from[1] - self.from[1]];
        let bend = self.bend.map(|[x, y]| [x + dx, y + dy]);
        Self { from, to, bend, links: Vec::new(), ..*self }
    }

    /// The outline for an SVG path; `cut` leaves the free ends out.
    pub(super) fn path(&self, cut: bool) -> String {
        let (from, to) = self.ends(cut);
        let [x, y] = from;
        match self.bend {
            Some(bend) => {
                format!("M{x:.1} {y:.1}Q{:.1} {:.1} {:.1} {:.1}", bend[0], bend[1], to[0], to[1])
            }
            None if (from[1] - to[1]).abs() < 0.05 => format!("M{x:.1} {y:.1}H{:.1}", to[0]),
            None if (from[0] - to[0]).abs() < 0.05 => format!("M{x:.1} {y:.1}V{:.1}", to[1]),
            None => format!("M{x:.1} {y:.1}L{:.1} {:.1}", to[0], to[1]),
        }
    }

    /// The middle of the line, and its direction (of length one).
    pub(super) fn middle(&self) -> (Point, Point) {
        let (from, to) = self.ends(true);
        let middle = self.bend.unwrap_or([0, 1].map(|i| f64::midpoint(from[i], to[i])));
        let [x, y] = [0, 1].map(|i| (from[i] + 2.0 * middle[i] + to[i]) / 4.0);
        let (dx, dy) = (self.to[0] - self.from[0], self.to[1] - self.from[1]);
        let length = dx.hypot(dy).max(1e-9);
        ([x, y], [dx / length, dy / length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_to_the_right_and_leave_their_ends_free() {
        assert_eq!(beside([0.0, 0.0], [10.0, 0.0], 2.0), ([0.0, 2.0], [10.0, 2.0]));
        let mark = Mark {
            from: [0.0, 2.0],
            to: [10.0, 2.0],
            bend: None,
            free: [1.0, 2.0],
            room: 3.0,
            links: vec![0],
        };
        assert_eq!(mark.path(true), "M1.0 2.0H8.0");
        assert_eq!(mark.path(false), "M0.0 2.0H10.0");
        assert_eq!(mark.middle(), ([4.5, 2.0], [1.0, 0.0]));
        assert_eq!(mark.shifted(3.0).path(false), "M0.0 5.0H10.0");
    }
}

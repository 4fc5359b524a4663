//! One region of the picture: the paper, or the inside of one loop.
//!
//! Owns layers, the order in a layer, lanes beside the layers, and the corners of the edges'
//! pieces. Coordinates count from the region's own top left corner.

use super::piece::{End, Item, Kind, Segment, Way};
use super::place::{self, Pull};

/// Between the lowest item of a layer and its first level track, and the same above a layer.
pub(super) const CLEAR: f64 = 7.0;
/// Between two parallel tracks or lanes.
pub(super) const TRACK: f64 = 7.0;
/// Room between layers in which edges change their place.
pub(super) const TURN: f64 = 20.0;
/// Width that an edge takes where it passes a layer.
const PASS: f64 = 12.0;
/// Between two items of a layer.
const BESIDE: f64 = 18.0;
/// Inside a loop's frame, left and right.
const FRAME: f64 = 14.0;
/// Room for the count at a loop's corner.
pub(super) const CORNER: f64 = 22.0;
/// Maximum number of layers that an edge passes; a longer one takes a lane on the right.
const PASSES: usize = 5;

#[derive(Clone, Debug, Default)]
pub(super) struct Region {
    pub(super) items: Vec<Item>,
    pub(super) segments: Vec<Segment>,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Region {
    pub(super) fn push(&mut self, kind: Kind, width: f64, height: f64) -> usize {
        self.items.push(Item::new(kind, width, height));
        self.items.len() - 1
    }

    pub(super) fn join(&mut self, edge: usize, from: End, to: End) -> usize {
        self.segments.push(Segment::new(edge, from, to));
        self.segments.len() - 1
    }

    /// Notes the continuation of an edge outside.
    pub(super) fn hint(&mut self, edge: usize, leaves: bool, x: f64) {
        for segment in &mut self.segments {
            if segment.edge == edge && leaves && segment.to == End::Outside {
                segment.outside.1 = Some(x);
            } else if segment.edge == edge && !leaves && segment.from == End::Outside {
                segment.outside.0 = Some(x);
            }
        }
    }

    /// The place to which a piece goes from its first item.
    pub(super) fn after(&self, piece: usize) -> f64 {
        let segment = &self.segments[piece];
        match segment.way {
            Way::Left(_) => f64::MIN,
            Way::Right(_) => f64::MAX,
            Way::Layers => segment.stops().get(1).map_or(0.0, |&item| self.middle(item)),
        }
    }

    /// The place from which a piece comes to its last item.
    pub(super) fn before(&self, piece: usize) -> f64 {
        let segment = &self.segments[piece];
        let stops = segment.stops();
        let before = stops.len().checked_sub(2).and_then(|at| stops.get(at));
        match segment.way {
            Way::Left(_) => f64::MIN,
            Way::Right(_) => f64::MAX,
            Way::Layers => before.map_or(0.0, |&item| self.middle(item)),
        }
    }

    pub(super) fn middle(&self, item: usize) -> f64 {
        self.items[item].x + self.items[item].width / 2.0
    }

    /// Takes over the size of a finished inner region and the places where edges cross its frame.
    pub(super) fn adopt(&mut self, item: usize, inner: &Region) {
        let item = &mut self.items[item];
        (item.width, item.height) = (inner.width, inner.height);
        for segment in &inner.segments {
            if let (End::Outside, Some(first)) = (segment.from, segment.corners.first()) {
                item.top.insert(segment.edge, first.0);
            }
            if let (End::Outside, Some(last)) = (segment.to, segment.corners.last()) {
                item.bottom.insert(segment.edge, last.0);
            }
        }
    }

    /// Finds all coordinates; `frame` leaves room for a loop's frame with a title of that width.
    pub(super) fn arrange(&mut self, frame: Option<f64>) {
        let framed = frame.is_some();
        let mut layers = self.layers();
        place::order(&mut layers, &self.links());
        let (left_lanes, right_lanes) = self.lanes(layers.len());
        let left = if framed { FRAME } else { 4.0 } + left_lanes as f64 * TRACK;
        let content = self.columns(&layers, left);
        let right = content + right_lanes as f64 * TRACK;
        self.width = (right + if framed { FRAME } else { 4.0 }).max(frame.unwrap_or(0.0));
        let rows = self.rows(&layers, framed);
        self.ports();
        self.route(&rows, left, content);
    }

    /// Breaks cycles, gives each item its layer, and adds passes for edges that skip layers.
    fn layers(&mut self) -> Vec<Vec<usize>> {
        let count = self.items.len();
        let mut next: Vec<Vec<(usize, usize)>> = vec![Vec::new(); count];
        for (number, segment) in self.segments.iter().enumerate() {
            if let (End::Item(from), End::Item(to)) = (segment.from, segment.to) {
                next[from].push((to, number));
            }
        }
        for list in &mut next {
            list.sort_unstable();
        }
        let (finished, closing) = place::depth_first(&next);
        for number in closing {
            self.segments[number].way = Way::Left(0);
        }
        for &from in finished.iter().rev() {
            for &(to, number) in &next[from] {
                if self.segments[number].way == Way::Layers {
                    self.items[to].layer = self.items[to].layer.max(self.items[from].layer + 1);
                }
            }
        }
        let depth = self.items.iter().map(|item| item.layer + 1).max().unwrap_or(0);
        for number in 0..self.segments.len() {
            let segment = &self.segments[number];
            let layer = |end, outside| match end {
                End::Item(item) => self.items[item].layer as isize,
                End::Outside => outside,
            };
            if segment.way != Way::Layers {
                continue;
            }
            let passed = layer(segment.from, -1) + 1..layer(segment.to, depth as isize);
            if passed.clone().count() > PASSES {
                self.segments[number].way = Way::Right(0);
                continue;
            }
            for layer in passed {
                let pass = self.push(Kind::Pass, PASS, 0.0);
                self.items[pass].layer = layer.unsigned_abs();
                self.segments[number].passes.push(pass);
            }
        }
        let mut layers = vec![Vec::new(); depth];
        for (index, item) in self.items.iter().enumerate() {
            layers[item.layer].push(index);
        }
        layers
    }

    /// Pairs of items in neighbouring layers that an edge joins.
    fn links(&self) -> Vec<(usize, usize)> {
        let mut links = Vec::new();
        for segment in self.segments.iter().filter(|segment| segment.way == Way::Layers) {
            let stops = segment.stops();
            links.extend(stops.windows(2).map(|pair| (pair[0], pair[1])));
        }
        links
    }

    /// Assigns lanes to the edges beside the layers, short ones inside; returns the number on each
    /// side.
    fn lanes(&mut self, depth: usize) -> (usize, usize) {
        let mut sides = (Vec::new(), Vec::new());
        for (number, segment) in self.segments.iter().enumerate() {
            let layer = |end, outside| match end {
                End::Item(item) => self.items[item].layer,
                End::Outside => outside,
            };
            let (a, b) = (layer(segment.from, 0), layer(segment.to, depth));
            // A lane's edge turns below one layer and above another, so neighbours may not share
            // it.
            let span = (a.min(b), a.max(b) + 1, number);
            match segment.way {
                Way::Layers => {}
                Way::Left(_) => sides.0.push(span),
                Way::Right(_) => sides.1.push(span),
            }
        }
        let (left, left_lanes) = place::lanes(sides.0);
        let (right, right_lanes) = place::lanes(sides.1);
        for (number, lane) in left {
            self.segments[number].way = Way::Left(lane);
        }
        for (number, lane) in right {
            self.segments[number].way = Way::Right(lane);
        }
        (left_lanes, right_lanes)
    }

    /// Sets every item's x; returns the right end of the content.
    fn columns(&mut self, layers: &[Vec<usize>], left: f64) -> f64 {
        let mut pulls: Vec<Vec<Pull>> = vec![Vec::new(); self.items.len()];
        let (mut leaving, mut entering) = (vec![0; self.items.len()], vec![0; self.items.len()]);
        for (upper, lower) in self.links() {
            leaving[upper] += 1;
            entering[lower] += 1;
        }
        for segment in self.segments.iter().filter(|segment| segment.way == Way::Layers) {
            let stops = segment.stops();
            for pair in stops.windows(2) {
                let from = self.items[pair[0]].leave(segment.edge);
                let to = self.items[pair[1]].enter(segment.edge);
                // Long edges and chains are kept straight first; the items at their ends may move
                // for them.
                let only = leaving[pair[0]] == 1 && entering[pair[1]] == 1;
                let pass = pair.iter().any(|&item| self.items[item].kind == Kind::Pass);
                let weight = match (only, pass) {
                    (true, _) => 30.0,
                    (false, true) => 4.0,
                    (false, false) => 1.0,
                };
                pulls[pair[0]].push(Pull { toward: pair[1], offset: to - from, weight });
                pulls[pair[1]].push(Pull { toward: pair[0], offset: from - to, weight });
            }
        }
        let widths: Vec<f64> = self.items.iter().map(|item| item.width).collect();
        let lefts = place::columns(layers, &widths, &pulls, BESIDE);
        let start = lefts.iter().copied().fold(f64::INFINITY, f64::min);
        let mut end = left;
        for (item, x) in self.items.iter_mut().zip(lefts) {
            item.x = x - start + left;
            end = end.max(item.x + item.width);
        }
        end
    }
}

//! The second half of a region's layout: rows, ports, and the corners of the edges' pieces.
//!
//! Owns heights and tracks. The layer of an item, and its x, are settled before.

use super::piece::{End, Kind, Way};
use super::place;
use super::region::{CLEAR, CORNER, Region, TRACK, TURN};

/// Level tracks below and above each layer, and the layers' own extent.
pub(super) struct Rows {
    top: Vec<f64>,
    bottom: Vec<f64>,
    below: Vec<usize>,
    above: Vec<usize>,
}

impl Region {
    /// Sets every item's y from the heights of layers and the tracks between them.
    pub(super) fn rows(&mut self, layers: &[Vec<usize>], framed: bool) -> Rows {
        let mut rows = Rows {
            top: Vec::new(),
            bottom: Vec::new(),
            below: vec![0; layers.len()],
            above: vec![0; layers.len() + 1],
        };
        for segment in self.segments.iter().filter(|segment| segment.way != Way::Layers) {
            if let End::Item(from) = segment.from {
                rows.below[self.items[from].layer] += 1;
            }
            if let End::Item(to) = segment.to {
                rows.above[self.items[to].layer] += 1;
            }
        }
        let mut y = if framed { CORNER } else { 2.0 };
        for (layer, items) in layers.iter().enumerate() {
            let tracks = rows.above[layer] as f64 * TRACK;
            y += tracks + if tracks > 0.0 || layer > 0 { CLEAR } else { 0.0 };
            let height = items.iter().map(|&item| self.items[item].height).fold(0.0, f64::max);
            for &item in items {
                self.items[item].y = y;
            }
            rows.top.push(y);
            rows.bottom.push(y + height);
            y += height + CLEAR + rows.below[layer] as f64 * TRACK;
            y += if layer + 1 < layers.len() { TURN } else { 0.0 };
        }
        self.height = y + if framed { CLEAR } else { 0.0 };
        rows
    }

    /// Spreads the ends of edges along a node's upper and lower side by their origins.
    pub(super) fn ports(&mut self) {
        let mut tops: Vec<Vec<(f64, usize)>> = vec![Vec::new(); self.items.len()];
        let mut bottoms = tops.clone();
        for segment in &self.segments {
            let stops = segment.stops();
            let beside = match segment.way {
                Way::Layers => None,
                Way::Left(_) => Some(f64::MIN),
                Way::Right(_) => Some(f64::MAX),
            };
            // A hint counts only where nothing inside the region is more specific; it is kept off
            // the marks for lanes.
            let known = |hint: Option<f64>| hint.map(|x| x.clamp(-1e9, 1e9));
            let middle = |item: usize| self.middle(item);
            if let End::Item(from) = segment.from {
                let next = stops.get(1).map(|&item| middle(item));
                let toward = next.or(known(segment.outside.1)).unwrap_or(middle(from));
                bottoms[from].push((beside.unwrap_or(toward), segment.edge));
            }
            if let End::Item(to) = segment.to {
                let before = stops.len().checked_sub(2).map(|at| stops[at]);
                let toward = before.map(middle).or(known(segment.outside.0)).unwrap_or(middle(to));
                tops[to].push((beside.unwrap_or(toward), segment.edge));
            }
        }
        for (item, (mut top, mut bottom)) in
            self.items.iter_mut().zip(tops.into_iter().zip(bottoms))
        {
            if matches!(item.kind, Kind::Node(_)) {
                place::spread(&mut top, item.width, &mut item.top);
                place::spread(&mut bottom, item.width, &mut item.bottom);
            }
        }
    }

    /// Writes the corners of every piece.
    pub(super) fn route(&mut self, rows: &Rows, left: f64, right: f64) {
        let (mut below, mut above) = (vec![0_u32; rows.below.len()], vec![0_u32; rows.above.len()]);
        for number in 0..self.segments.len() {
            let segment = &self.segments[number];
            let mut corners = Vec::new();
            if let Way::Layers = segment.way {
                for (at, &stop) in segment.stops().iter().enumerate() {
                    let item = &self.items[stop];
                    let layer = item.layer;
                    if at > 0 || segment.from == End::Outside {
                        let x = item.x + item.enter(segment.edge);
                        let tracks = rows.above[layer] as f64 * TRACK;
                        let outside = at == 0;
                        let y = if outside { 0.0 } else { rows.top[layer] - CLEAR - tracks };
                        corners.extend([(x, y), (x, item.y)]);
                    }
                    if at + 1 < segment.stops().len() || segment.to == End::Outside {
                        let x = item.x + item.leave(segment.edge);
                        let tracks = rows.below[layer] as f64 * TRACK;
                        let last = at + 1 == segment.stops().len();
                        let y = rows.bottom[layer] + CLEAR + tracks;
                        let y = if last { self.height } else { y };
                        corners.extend([(x, item.y + item.height), (x, y)]);
                    }
                }
            } else {
                let lane = match segment.way {
                    Way::Right(lane) => right + TRACK * (lane + 1) as f64,
                    Way::Left(lane) => left - TRACK * (lane + 1) as f64,
                    Way::Layers => left,
                };
                match segment.from {
                    End::Outside => corners.push((lane, 0.0)),
                    End::Item(from) => {
                        let item = &self.items[from];
                        let x = item.x + item.leave(segment.edge);
                        let track = f64::from(below[item.layer]) * TRACK;
                        below[item.layer] += 1;
                        let y = rows.bottom[item.layer] + CLEAR + track;
                        corners.extend([(x, item.y + item.height), (x, y), (lane, y)]);
                    }
                }
                match segment.to {
                    End::Outside => corners.push((lane, self.height)),
                    End::Item(to) => {
                        let item = &self.items[to];
                        let x = item.x + item.enter(segment.edge);
                        let track = f64::from(above[item.layer]) * TRACK;
                        above[item.layer] += 1;
                        let y = rows.top[item.layer] - CLEAR - track;
                        corners.extend([(lane, y), (x, y), (x, item.y)]);
                    }
                }
            }
            self.segments[number].corners = corners;
        }
    }
}

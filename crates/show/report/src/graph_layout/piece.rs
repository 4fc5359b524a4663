//! Parts of a region: items in layers, and the pieces of edges between them.
//!
//! Owns the two shapes. Coordinates count from the region's top left corner.

use std::collections::HashMap;

/// Kind of an item of a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Node(usize),
    Loop(usize),
    /// An edge's place in a layer that it passes.
    Pass,
}

/// An item in a layer of a region.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) kind: Kind,
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) layer: usize,
    /// For a loop: the places at which each edge enters and leaves its frame, from its left.
    pub(super) top: HashMap<usize, f64>,
    pub(super) bottom: HashMap<usize, f64>,
}

/// The begin or end of a piece of an edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    Item(usize),
    Outside,
}

/// Course of a piece: from layer to layer, or along a lane at the side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    Layers,
    Left(usize),
    Right(usize),
}

/// The piece of an edge inside one region.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) edge: usize,
    pub(super) from: End,
    pub(super) to: End,
    pub(super) way: Way,
    /// Its places in the layers that it passes.
    pub(super) passes: Vec<usize>,
    /// Its origin and destination outside the region, when known.
    pub(super) outside: (Option<f64>, Option<f64>),
    pub(super) corners: Vec<(f64, f64)>,
}

impl Segment {
    /// A piece that goes through the layers until another course is found for it.
    pub(super) fn new(edge: usize, from: End, to: End) -> Self {
        let (way, passes, corners) = (Way::Layers, Vec::new(), Vec::new());
        Self { edge, from, to, way, passes, outside: (None, None), corners }
    }

    /// The items that the piece touches, ends included.
    pub(super) fn stops(&self) -> Vec<usize> {
        let item = |end| match end {
            End::Item(item) => Some(item),
            End::Outside => None,
        };
        let passes = self.passes.iter().copied();
        item(self.from).into_iter().chain(passes).chain(item(self.to)).collect()
    }
}

impl Item {
    /// An item without a place.
    pub(super) fn new(kind: Kind, width: f64, height: f64) -> Self {
        let (top, bottom) = (HashMap::new(), HashMap::new());
        Self { kind, x: 0.0, y: 0.0, width, height, layer: 0, top, bottom }
    }

    pub(super) fn enter(&self, edge: usize) -> f64 {
        self.top.get(&edge).copied().unwrap_or(self.width / 2.0)
    }

    pub(super) fn leave(&self, edge: usize) -> f64 {
        self.bottom.get(&edge).copied().unwrap_or(self.width / 2.0)
    }
}

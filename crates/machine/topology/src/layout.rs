//! Places of objects in a picture: nested areas as in lstopo, in abstract pixels.
//!
//! Owns sizes and places. Every PU is a cell of the same size; caches, packages and the machine are
//! boxes with a bar on top that bears their name and value; memory stands as bars over the objects
//! to which it is local, devices in a strip below. Where the room is too small labels are dropped
//! first, then height; no object with PUs or memory is left out. It refuses colours and text (see
//! [`crate::svg`]). No recursion: the depth of a topology is the file's choice.

mod devices;
mod levels;
mod measure;
mod place;
mod shape;
mod strips;
#[cfg(test)]
mod tests;

pub(crate) use devices::class as device_class;
pub(crate) use place::CHARACTER;

use std::collections::BTreeSet;

use crate::objects::{ObjectId, Topology};

/// Constraints of the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Room in pixels. Smaller machines take less; one that does not fit with the smallest marks
    /// takes more.
    pub width: f64,
    /// Room in pixels.
    pub height: f64,
    /// More devices of one kind at one object than this become one mark, `12 x Block`; GPUs and
    /// networks twice as many.
    pub fold_above: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { width: 1600.0, height: 1000.0, fold_above: 4 }
    }
}

/// A rectangle, from its top left corner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "they say it themselves")]
pub struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rect {
    /// The right side.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// The lower side.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// True if the other lies in this one; the two may share sides.
    pub fn holds(&self, other: &Self) -> bool {
        const SLACK: f64 = 1e-6;
        other.x >= self.x - SLACK
            && other.y >= self.y - SLACK
            && other.right() <= self.right() + SLACK
            && other.bottom() <= self.bottom() + SLACK
    }

    /// True if the two share more than a side.
    pub fn overlaps(&self, other: &Self) -> bool {
        const SLACK: f64 = 1e-6;
        self.x + SLACK < other.right()
            && other.x + SLACK < self.right()
            && self.y + SLACK < other.bottom()
            && other.y + SLACK < self.bottom()
    }
}

/// Amount of text that fits into an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Nothing but its colour.
    Bare,
    /// Its number.
    Number,
    /// Its name.
    Name,
    /// Its name, and its value on a line below.
    Two,
    /// Its name at the left, its value at the right.
    Line,
}

/// The place of an object, or of several devices that share a mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Area {
    /// The object; the first of those that share the mark.
    pub object: ObjectId,
    /// The complete area of the object.
    pub rect: Rect,
    /// The part that has its colour and its text: all of a PU, of memory and of a device, the head
    /// of anything else.
    pub bar: Rect,
    /// Text that fits into the bar.
    pub detail: Detail,
    /// All objects of a shared mark, else empty.
    pub folded: Vec<ObjectId>,
}

impl Area {
    /// Number of devices that share the mark: a disk and its PCI device are one.
    pub fn devices(&self, topology: &Topology) -> usize {
        let inside = |id: &&ObjectId| {
            topology.get(**id).parent.is_some_and(|parent| self.folded.contains(&parent))
        };
        self.folded.len() - self.folded.iter().filter(inside).count()
    }

    /// The objects with values of the mark: disks rather than their PCI devices.
    pub fn innermost(&self, topology: &Topology) -> impl Iterator<Item = ObjectId> {
        let outer: BTreeSet<ObjectId> =
            self.folded.iter().filter_map(|&id| topology.get(id).parent).collect();
        self.folded.iter().copied().filter(move |id| !outer.contains(id))
    }
}

/// Places all objects, each after the one that contains it; the first area, if there is any, is the
/// whole picture.
///
/// Bridges have no area; their devices stand at the object to which they are local.
pub fn layout(topology: &Topology, options: &Options) -> Vec<Area> {
    let tree = shape::tree(topology, options.fold_above);
    let Some(arranged) = measure::fit(&tree, options) else { return Vec::new() };
    place::place(topology, &tree, &arranged)
}

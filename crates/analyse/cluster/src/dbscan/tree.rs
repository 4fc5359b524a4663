//! Tight boxes in boxes: finds cells where no table can, and nearest points anywhere.
//!
//! Owns the halving of points along grid lines until all that are left together are neighbours, or
//! few. Boxes are tight, so that empty space costs nothing and coordinates of any size do; that all
//! points of a leaf are neighbours is read from its box. Nodes lie in preorder, and each knows the
//! next node outside it: walking needs no stack.

use std::ops::Range;

use crate::geometry::{by_dims, cut, least, most, partition, surround, widest, width};
use crate::points::Points;

/// Condition for a leaf.
#[derive(Clone, Copy)]
pub(crate) enum Leaves {
    /// All points are within eps of each other; `side` is that of the grid.
    Within { eps2: f64, side: f64 },
    /// At most this many points are left, or all are in one place.
    Few(usize),
}

/// Points in the order of the leaves.
pub(crate) struct Order {
    /// First row of each leaf; one more for the end.
    pub(crate) starts: Vec<u32>,
    /// The points, leaf after leaf.
    pub(crate) rows: Vec<f64>,
    /// Place of each row in the input.
    pub(crate) of: Vec<u32>,
}

/// The set of all items under a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    Nothing,
    One(u32),
    Several,
}

impl Set {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            _ if self == other => self,
            _ => Self::Several,
        }
    }
}

/// Nodes in preorder.
pub(crate) struct Tree {
    dims: usize,
    /// Boxes of the nodes.
    bounds: Vec<f64>,
    /// For each node the next one that is no descendant.
    skip: Vec<u32>,
    /// Number of items in leaves up to and with this node: leaves themselves, or their contents.
    ends: Vec<u32>,
}

/// Nodes in construction: their boxes, which are leaves, and the number of points of each leaf.
#[derive(Default)]
struct Part {
    bounds: Vec<f64>,
    is_leaf: Vec<bool>,
    counts: Vec<u32>,
}

/// Halves are built in parallel from this many points on, and to this depth: 2^10 parts are enough
/// for any machine.
const SIDE_BY_SIDE: usize = 1 << 14;
const DEPTH: u32 = 10;

/// Dimension and coordinate of the cut; `None` for a leaf.
fn division(
    bounds: &[f64],
    points: usize,
    leaves: Leaves,
    is_within: bool,
) -> Option<(usize, f64)> {
    let (i, wide) = widest(bounds);
    let low = bounds[i];
    match leaves {
        _ if wide <= 0.0 || is_within => None,
        Leaves::Few(few) => (points > few).then(|| (i, cut(bounds, i, f64::NAN))),
        // Whole sides on both sides of the cut make leaves as large as possible.
        Leaves::Within { side, .. } => {
            let sides = (wide / side).ceil();
            Some((i, cut(bounds, i, low + (sides / 2.0).floor() * side)))
        }
    }
}

fn divide<const D: usize>(
    dims: usize,
    rows: &mut [f64],
    of: &mut [u32],
    leaves: Leaves,
    part: &mut Part,
) -> Option<usize> {
    let begin = part.bounds.len();
    part.bounds.resize(begin + 2 * dims, 0.0);
    let bounds = &mut part.bounds[begin..];
    surround::<D>(dims, rows, bounds);
    let is_within = match leaves {
        Leaves::Within { eps2, .. } => most::<D>(bounds, bounds) <= eps2,
        Leaves::Few(_) => false,
    };
    let division = division(bounds, of.len(), leaves, is_within);
    part.is_leaf.push(division.is_none());
    if let Some((i, at)) = division {
        return Some(partition::<D>(dims, rows, of, i, at));
    }
    part.counts.push(of.len() as u32);
    None
}

fn build<const D: usize>(
    dims: usize,
    rows: &mut [f64],
    of: &mut [u32],
    leaves: Leaves,
    depth: u32,
) -> Part {
    let dims = width::<D>(dims);
    let mut part = Part::default();
    if of.len() < SIDE_BY_SIDE || depth == DEPTH {
        let mut ahead = Vec::new();
        ahead.push(0..of.len());
        while let Some(range) = ahead.pop() {
            let rows = &mut rows[range.start * dims..range.end * dims];
            if let Some(front) = divide::<D>(dims, rows, &mut of[range.clone()], leaves, &mut part)
            {
                ahead.push(range.start + front..range.end);
                ahead.push(range.start..range.start + front);
            }
        }
    } else if let Some(front) = divide::<D>(dims, rows, of, leaves, &mut part) {
        let (left_of, right_of) = of.split_at_mut(front);
        let (left_rows, right_rows) = rows.split_at_mut(front * dims);
        let (left, right) = rayon::join(
            || build::<D>(dims, left_rows, left_of, leaves, depth + 1),
            || build::<D>(dims, right_rows, right_of, leaves, depth + 1),
        );
        for half in [left, right] {
            part.bounds.extend(half.bounds);
            part.is_leaf.extend(half.is_leaf);
            part.counts.extend(half.counts);
        }
    }
    part
}

impl Tree {
    pub(crate) fn new(points: &Points, leaves: Leaves) -> (Self, Order) {
        let dims = points.dimensions();
        let mut rows = points.rows().to_vec();
        let mut of: Vec<u32> = (0..points.len() as u32).collect();
        let part = if of.is_empty() {
            Part::default()
        } else {
            by_dims!(dims, build(dims, &mut rows, &mut of, leaves, 0))
        };
        let nodes = part.is_leaf.len();
        let mut skip = vec![0_u32; nodes];
        for node in (0..nodes).rev() {
            let next = node + 1;
            skip[node] = if part.is_leaf[node] { next as u32 } else { skip[skip[next] as usize] };
        }
        let mut count = 0;
        let ends = part.is_leaf.iter().map(|&is_leaf| {
            count += u32::from(is_leaf);
            count
        });
        let ends = ends.collect();
        let mut starts = Vec::with_capacity(part.counts.len() + 1);
        starts.push(0);
        starts.extend(part.counts.iter().scan(0, |end, &count| {
            *end += count;
            Some(*end)
        }));
        (Self { dims, bounds: part.bounds, skip, ends }, Order { starts, rows, of })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.skip.is_empty()
    }

    /// The tight box of a node.
    #[inline]
    pub(crate) fn bounds(&self, node: usize) -> &[f64] {
        &self.bounds[2 * self.dims * node..2 * self.dims * (node + 1)]
    }

    /// The two halves of a node, or its leaf.
    #[inline]
    pub(crate) fn halves(&self, node: usize) -> Result<(usize, usize), usize> {
        let next = node + 1;
        if self.skip[node] as usize == next {
            Err(self.ends[node] as usize - 1)
        } else {
            Ok((next, self.skip[next] as usize))
        }
    }

    /// The boxes of the leaves, in their order.
    pub(crate) fn leaf_bounds(&self) -> Vec<f64> {
        let leaves = (0..self.skip.len()).filter(|&node| self.skip[node] as usize == node + 1);
        leaves.flat_map(|node| self.bounds(node)).copied().collect()
    }

    /// Turns a tree of points into a tree of the boxes that they stand for, in the order of
    /// `order`.
    pub(crate) fn fit(&mut self, order: &Order, boxes: &[f64]) {
        let dims = self.dims;
        for end in &mut self.ends {
            *end = order.starts[*end as usize];
        }
        for node in (0..self.skip.len()).rev() {
            let mut bounds = [vec![f64::INFINITY; dims], vec![f64::NEG_INFINITY; dims]].concat();
            let mut grow = |other: &[f64]| {
                for i in 0..dims {
                    bounds[i] = bounds[i].min(other[i]);
                    bounds[dims + i] = bounds[dims + i].max(other[dims + i]);
                }
            };
            let next = node + 1;
            if self.skip[node] as usize == next {
                let held = self.held(node);
                boxes[2 * dims * held.start..2 * dims * held.end]
                    .chunks_exact(2 * dims)
                    .for_each(grow);
            } else {
                grow(self.bounds(next));
                grow(self.bounds(self.skip[next] as usize));
            }
            self.bounds[2 * dims * node..2 * dims * next].copy_from_slice(&bounds);
        }
    }

    /// Contents of a leaf.
    #[inline]
    fn held(&self, leaf: usize) -> Range<usize> {
        let begin = leaf.checked_sub(1).map_or(0, |before| self.ends[before]);
        begin as usize..self.ends[leaf] as usize
    }

    /// For each node the set that all of its items belong to, by `set_of`; `None` counts as no set.
    pub(crate) fn sets(&self, set_of: impl Fn(usize) -> Option<u32>) -> Vec<Set> {
        let mut sets = vec![Set::Nothing; self.skip.len()];
        for node in (0..sets.len()).rev() {
            let next = node + 1;
            sets[node] = if self.skip[node] as usize == next {
                let held = self.held(node).map(|one| set_of(one).map_or(Set::Nothing, Set::One));
                held.fold(Set::Nothing, Set::and)
            } else {
                sets[next].and(sets[self.skip[next] as usize])
            };
        }
        sets
    }

    /// Contents of leaves, from `from` on, whose box is within eps of `around`, except for nodes
    /// that are done.
    pub(crate) fn around<const D: usize>(
        &self,
        around: &[f64],
        eps2: f64,
        from: usize,
        is_done: impl Fn(usize) -> bool,
        mut look: impl FnMut(Range<usize>),
    ) {
        let mut node = 0;
        while node < self.skip.len() {
            let skip = self.skip[node] as usize;
            let is_past = self.ends[skip - 1] as usize <= from;
            if is_past || least::<D>(around, self.bounds(node)) > eps2 || is_done(node) {
                node = skip;
            } else {
                if skip == node + 1 {
                    look(self.held(node));
                }
                node += 1;
            }
        }
    }
}

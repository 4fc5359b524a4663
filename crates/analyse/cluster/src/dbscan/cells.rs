//! Points in cells so small that all points of a cell are neighbours.
//!
//! Owns the order of points by cell, the tight box of each cell, and the cells that can be near
//! another. Cells are those of a grid of side eps / sqrt(dimensions), after Gunawan (2013) and Gan
//! and Tao, "DBSCAN Revisited" (2015): found in a table where dimensions and extent allow one; else
//! sorted by keys, in a tree of their boxes; and where keys have no room, in a tree from the start.

use std::ops::Range;

use rayon::prelude::*;

use super::keys;
use super::table::{Order, Table};
use super::tree::{Leaves, Set, Tree};
use crate::geometry::{by_dims, least, most, surround, width};
use crate::points::Points;

/// Points by cell.
pub(crate) struct Cells {
    pub(crate) dims: usize,
    /// The square of eps: points this far apart, or less, are neighbours.
    pub(crate) eps2: f64,
    /// First row of each cell; one more for the end.
    pub(crate) starts: Vec<u32>,
    /// The points, cell after cell.
    pub(crate) rows: Vec<f64>,
    /// Place of each row in the input.
    pub(crate) of: Vec<u32>,
    /// The tight box of each cell: of its core points, once those are known.
    pub(crate) bounds: Vec<f64>,
    finder: Finder,
}

enum Finder {
    Table(Table),
    Tree(Tree),
    Nothing,
}

/// Cells in a leaf of the tree.
const CELLS: usize = 4;

impl Cells {
    pub(crate) fn new(points: &Points, eps: f64) -> Self {
        if let Some((table, order)) = Table::new(points, eps) {
            return Self::in_order(points, eps, order, Finder::Table(table));
        }
        Self::by_key(points, eps).unwrap_or_else(|| Self::in_tree(points, eps))
    }

    /// Cells of the grid, sorted by their keys, in a tree of their boxes; nothing where keys have
    /// no room for the grid.
    pub(crate) fn by_key(points: &Points, eps: f64) -> Option<Self> {
        let order = keys::sort(points, eps)?;
        // The first point of each cell stands for it: its nearest cells are near in space, and then
        // near in memory.
        let firsts: Vec<u32> = order.starts[..order.starts.len() - 1]
            .iter()
            .map(|&start| order.of[start as usize])
            .collect();
        let (mut tree, tree_order) = Tree::new(&points.select(&firsts), Leaves::Few(CELLS));
        let mut moved = Order { starts: Vec::with_capacity(order.starts.len()), of: Vec::new() };
        moved.of.reserve_exact(order.of.len());
        moved.starts.push(0);
        for &cell in &tree_order.of {
            let (begin, end) = (order.starts[cell as usize], order.starts[cell as usize + 1]);
            moved.of.extend_from_slice(&order.of[begin as usize..end as usize]);
            moved.starts.push(moved.of.len() as u32);
        }
        drop(order);
        let mut cells = Self::in_order(points, eps, moved, Finder::Nothing);
        tree.fit(&tree_order, &cells.bounds);
        cells.finder = Finder::Tree(tree);
        // For coordinates that are far larger than eps, keys may be wrong by rounding: the boxes
        // decide.
        let each = cells.bounds.par_chunks(2 * cells.dims).with_min_len(1 << 10);
        let is_small = each.map(|bounds| most::<0>(bounds, bounds) <= cells.eps2);
        is_small.reduce(|| true, |a, b| a && b).then_some(cells)
    }

    fn in_order(points: &Points, eps: f64, order: Order, finder: Finder) -> Self {
        let dims = points.dimensions();
        let rows = by_dims!(dims, gather(points, &order.of));
        let mut cells = Self {
            dims,
            eps2: eps * eps,
            bounds: vec![0.0; 2 * dims * (order.starts.len() - 1)],
            starts: order.starts,
            rows,
            of: order.of,
            finder,
        };
        by_dims!(dims, surround_all(&mut cells));
        cells
    }

    /// Cells from halving until they are small enough, whatever the extent.
    pub(crate) fn in_tree(points: &Points, eps: f64) -> Self {
        let dims = points.dimensions();
        let within = Leaves::Within { eps2: eps * eps, side: eps / (dims as f64).sqrt() };
        let (tree, order) = Tree::new(points, within);
        Self {
            dims,
            eps2: eps * eps,
            bounds: tree.leaf_bounds(),
            starts: order.starts,
            rows: order.rows,
            of: order.of,
            finder: Finder::Tree(tree),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn places(&self, cell: usize) -> Range<usize> {
        self.starts[cell] as usize..self.starts[cell + 1] as usize
    }

    pub(crate) fn count(&self, cell: usize) -> usize {
        self.places(cell).len()
    }

    pub(crate) fn rows(&self, places: Range<usize>) -> &[f64] {
        &self.rows[places.start * self.dims..places.end * self.dims]
    }

    pub(crate) fn bounds(&self, cell: usize) -> &[f64] {
        &self.bounds[2 * self.dims * cell..2 * self.dims * (cell + 1)]
    }

    /// Collects into `near` the cells, other than `cell`, that pass `wanted` and whose box may have
    /// neighbours of points of `around`, a box within `cell`.
    pub(crate) fn near<const D: usize>(
        &self,
        cell: usize,
        around: &[f64],
        wanted: impl Fn(usize) -> bool,
        near: &mut Vec<u32>,
    ) {
        near.clear();
        self.look::<D>(
            cell,
            around,
            0,
            |_| false,
            |other| {
                if other != cell && wanted(other) {
                    near.push(other as u32);
                }
            },
        );
    }

    /// The same for cells after `cell` alone, without nodes of a tree for which `is_done` is true.
    pub(crate) fn near_after<const D: usize>(
        &self,
        cell: usize,
        is_done: impl Fn(usize) -> bool,
        wanted: impl Fn(usize) -> bool,
        near: &mut Vec<u32>,
    ) {
        near.clear();
        self.look::<D>(cell, self.bounds(cell), cell + 1, is_done, |other| {
            if wanted(other) {
                near.push(other as u32);
            }
        });
    }

    fn look<const D: usize>(
        &self,
        cell: usize,
        around: &[f64],
        from: usize,
        is_done: impl Fn(usize) -> bool,
        mut see: impl FnMut(usize),
    ) {
        let mut look = |cells: Range<usize>| {
            for other in cells.start.max(from)..cells.end {
                if least::<D>(around, self.bounds(other)) <= self.eps2 {
                    see(other);
                }
            }
        };
        match &self.finder {
            Finder::Table(table) => table.around(cell).for_each(look),
            Finder::Tree(tree) => tree.around::<D>(around, self.eps2, from, is_done, &mut look),
            Finder::Nothing => {}
        }
    }

    /// For each node of the tree the set that its cells belong to; empty without a tree.
    pub(crate) fn sets(&self, set_of: impl Fn(usize) -> Option<u32>) -> Vec<Set> {
        match &self.finder {
            Finder::Tree(tree) => tree.sets(set_of),
            Finder::Table(_) | Finder::Nothing => Vec::new(),
        }
    }

    /// Ranges of cells with about as many points each, whatever the number of threads.
    pub(crate) fn blocks(&self) -> Vec<Range<usize>> {
        const POINTS: usize = 1 << 14;
        let mut blocks = Vec::with_capacity(self.of.len() / POINTS + 1);
        let mut begin = 0;
        for cell in 0..self.len() {
            if (self.starts[cell + 1] - self.starts[begin]) as usize >= POINTS {
                blocks.push(begin..cell + 1);
                begin = cell + 1;
            }
        }
        if begin < self.len() {
            blocks.push(begin..self.len());
        }
        blocks
    }

    /// Splits the data of each row, `each` values a row, by blocks of cells.
    pub(crate) fn split<'a, T>(
        &self,
        blocks: &[Range<usize>],
        each: usize,
        mut values: &'a mut [T],
    ) -> Vec<&'a mut [T]> {
        let mut parts = Vec::with_capacity(blocks.len());
        for block in blocks {
            let points = (self.starts[block.end] - self.starts[block.start]) as usize;
            let (part, rest) = values.split_at_mut(points * each);
            parts.push(part);
            values = rest;
        }
        parts
    }
}

fn gather<const D: usize>(points: &Points, of: &[u32]) -> Vec<f64> {
    const CHUNK: usize = 1 << 14;
    let dims = points.dimensions();
    let mut rows = vec![0.0; of.len() * dims];
    rows.par_chunks_mut(CHUNK * dims).zip(of.par_chunks(CHUNK)).for_each(|(rows, of)| {
        // A constant within the loop, for few dimensions: copying is then no call.
        let dims = width::<D>(dims);
        for (row, &place) in rows.chunks_exact_mut(dims).zip(of) {
            let begin = place as usize * dims;
            row.copy_from_slice(&points.rows()[begin..begin + dims]);
        }
    });
    rows
}

fn surround_all<const D: usize>(cells: &mut Cells) {
    let (dims, starts, rows) = (cells.dims, &cells.starts, &cells.rows);
    let each = cells.bounds.par_chunks_mut(2 * dims).enumerate().with_min_len(256);
    each.for_each(|(cell, bounds)| {
        let (begin, end) = (starts[cell] as usize, starts[cell + 1] as usize);
        surround::<D>(dims, &rows[begin * dims..end * dims], bounds);
    });
}

//! A table of all cells of the grid, for few dimensions and extents that are not much larger than
//! the points are many.
//!
//! Owns the number of each point's cell, the counting sort by it, and the rows of cells around a
//! cell. Cells that follow each other in the last dimension follow each other in memory, so that
//! the surroundings of a cell are a few ranges.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use crate::geometry::{by_dims, surround};
use crate::points::Points;

/// Points in the order of their cells.
pub(super) struct Order {
    /// First row of each cell; one more for the end.
    pub(super) starts: Vec<u32>,
    /// Place of each row in the input.
    pub(super) of: Vec<u32>,
}

/// Neighbourhood of cells with points.
pub(super) struct Table {
    /// For each key the number of cells with points before it.
    rank: Vec<u32>,
    /// The key of each cell.
    keys: Vec<u32>,
    /// Offsets from a cell to those of the rows around, with the same last index.
    rows: Vec<i64>,
}

/// Neighbours of a point of cell `i` lie in cells `i - 2` to `i + 2` of each dimension, for up to
/// 3: eps is sqrt(3) < 2 sides.
const REACH: i64 = 2;
const MOST_DIMENSIONS: usize = 3;
/// Keys for each point that are worth their memory, and the maximum in total: 64 MiB of ranks.
const KEYS: f64 = 8.0;
const MOST_KEYS: f64 = (1 << 24) as f64;
/// Sides are shorter than eps / sqrt(dimensions) by this part, far more than rounding of indices
/// below 2^27 can undo.
const SHORTER: f64 = 1e-6;

struct Grid {
    low: [f64; MOST_DIMENSIONS],
    per_side: f64,
    strides: [u32; MOST_DIMENSIONS],
    keys: usize,
}

impl Grid {
    fn new(points: &Points, eps: f64) -> Option<Self> {
        let dims = points.dimensions();
        if dims > MOST_DIMENSIONS || points.is_empty() || eps == 0.0 {
            return None;
        }
        let bounds = by_dims!(dims, surround_points(points));
        let per_side = (dims as f64).sqrt() / eps * (1.0 + SHORTER);
        let sizes: Vec<f64> = (0..dims)
            .map(|i| ((bounds[dims + i] - bounds[i]) * per_side).floor() + (2 * REACH + 1) as f64)
            .collect();
        let keys: f64 = sizes.iter().product();
        let most = (KEYS * points.len() as f64).clamp(65_536.0, MOST_KEYS);
        // An extent that overflows is infinite, and no limit holds that.
        if !(keys.is_finite() && keys <= most) {
            return None;
        }
        let (mut low, mut strides) = ([0.0; MOST_DIMENSIONS], [1; MOST_DIMENSIONS]);
        for i in (0..dims).rev() {
            low[i] = bounds[i];
            strides[i] = if i + 1 == dims { 1 } else { strides[i + 1] * sizes[i + 1] as u32 };
        }
        Some(Self { low, per_side, strides, keys: keys as usize })
    }

    #[inline]
    fn key<const D: usize>(&self, row: &[f64]) -> u32 {
        let sides = self.low.iter().zip(&self.strides);
        let keys = row[..D].iter().zip(sides).map(|(value, (low, stride))| {
            // By way of a signed number, as that is one instruction; indices are below 2^27.
            let index = ((value - low) * self.per_side) as i32 as u32;
            (index + REACH as u32) * stride
        });
        keys.sum()
    }
}

const CHUNK: usize = 1 << 14;

/// The tight box of all points.
pub(super) fn surround_points<const D: usize>(points: &Points) -> Vec<f64> {
    let dims = points.dimensions();
    let boxes = points.rows().par_chunks(CHUNK * dims).map(|rows| {
        let mut bounds = vec![0.0; 2 * dims];
        surround::<D>(dims, rows, &mut bounds);
        bounds
    });
    boxes.reduce(
        || [vec![f64::INFINITY; dims], vec![f64::NEG_INFINITY; dims]].concat(),
        |mut a, b| {
            for i in 0..dims {
                a[i] = a[i].min(b[i]);
                a[dims + i] = a[dims + i].max(b[dims + i]);
            }
            a
        },
    )
}

fn keys_of<const D: usize>(points: &Points, grid: &Grid) -> Vec<u32> {
    let mut keys = vec![0; points.len()];
    keys.par_chunks_mut(CHUNK).zip(points.rows().par_chunks(CHUNK * D.max(1))).for_each(
        |(keys, rows)| {
            for (key, row) in keys.iter_mut().zip(rows.chunks_exact(D.max(1))) {
                *key = grid.key::<D>(row);
            }
        },
    );
    keys
}

/// The number of cells with points before each key, the keys of those cells, and points by cell, in
/// their order in each.
fn count_and_sort(keys: &[u32], all: usize) -> (Vec<u32>, Vec<u32>, Order) {
    // Counts of each part of the points: in parallel where that takes little memory. The order is
    // the same for any parts.
    const MOST: usize = 1 << 20;
    let parts = if all <= MOST { rayon::current_num_threads().clamp(1, 8) } else { 1 };
    let chunk = keys.len().div_ceil(parts).max(1);
    let count = |keys: &[u32]| {
        let mut counts = vec![0_u32; all];
        for &key in keys {
            counts[key as usize] += 1;
        }
        counts
    };
    let mut next: Vec<Vec<u32>> = keys.par_chunks(chunk).map(count).collect();
    let mut rank = Vec::with_capacity(all + 1);
    let (mut starts, mut cells, mut total) = (vec![0], Vec::new(), 0);
    for key in 0..all {
        rank.push(cells.len() as u32);
        let begin = total;
        for counts in &mut next {
            // Counts become the places of the part's points.
            total += std::mem::replace(&mut counts[key], total);
        }
        if total > begin {
            cells.push(key as u32);
            starts.push(total);
        }
    }
    rank.push(cells.len() as u32);
    // Atomic, as parts write between each other; no place is written twice.
    let of: Vec<AtomicU32> = (0..keys.len()).map(|_| AtomicU32::new(0)).collect();
    let parts = keys.par_chunks(chunk).zip(&mut next).enumerate();
    parts.for_each(|(part, (keys, next))| {
        for (place, &key) in (part * chunk..).zip(keys) {
            let next = &mut next[key as usize];
            of[*next as usize].store(place as u32, Relaxed);
            *next += 1;
        }
    });
    (rank, cells, Order { starts, of: of.into_iter().map(AtomicU32::into_inner).collect() })
}

impl Table {
    /// `None` where a table does not pay.
    pub(super) fn new(points: &Points, eps: f64) -> Option<(Self, Order)> {
        let grid = Grid::new(points, eps)?;
        let dims = points.dimensions();
        let keys = by_dims!(dims, keys_of(points, &grid));
        let (rank, cell_keys, order) = count_and_sort(&keys, grid.keys);
        let mut rows = vec![0];
        for &stride in &grid.strides[..dims - 1] {
            let steps = (-REACH..=REACH).map(|step| step * i64::from(stride));
            rows = rows.iter().flat_map(|&row| steps.clone().map(move |step| row + step)).collect();
        }
        Some((Self { rank, keys: cell_keys, rows }, order))
    }

    /// Ranges of cells that hold all neighbours of the points of `cell`, itself included.
    #[inline]
    pub(super) fn around(&self, cell: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let key = i64::from(self.keys[cell]);
        self.rows.iter().map(move |row| {
            let (first, end) = (key + row - REACH, key + row + REACH + 1);
            self.rank[first as usize] as usize..self.rank[end as usize] as usize
        })
    }
}

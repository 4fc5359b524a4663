//! Cells of the grid by number, sorted: for any number of dimensions whose indices fit in 64 bits
//! together.
//!
//! Owns the numbers and the sort. It need not be exact: boxes and distances decide about
//! neighbours.

use rayon::prelude::*;

use super::table::{Order, surround_points};
use crate::geometry::{by_dims, width};
use crate::points::Points;

/// The grid, and the position of each dimension's index in a key.
struct Grid {
    low: Vec<f64>,
    per_side: f64,
    shifts: Vec<u32>,
    bits: u32,
}

impl Grid {
    fn new(points: &Points, eps: f64) -> Option<Self> {
        let dims = points.dimensions();
        if points.is_empty() || eps == 0.0 {
            return None;
        }
        let bounds = by_dims!(dims, surround_points(points));
        // Sides a little shorter than eps / sqrt(dimensions), so that rounding makes no cell too
        // large.
        let per_side = (dims as f64).sqrt() / eps * (1.0 + 1e-6);
        let (mut shifts, mut bits) = (Vec::with_capacity(dims), 0);
        for i in 0..dims {
            let last = ((bounds[dims + i] - bounds[i]) * per_side).floor();
            // Far below the size at which indices lose their last digit.
            if !last.is_finite() || last >= (1_u64 << 48) as f64 {
                return None;
            }
            shifts.push(bits);
            bits += 64 - (last as u64).leading_zeros();
        }
        let low = bounds[..dims].to_vec();
        (bits <= 64).then_some(Self { low, per_side, shifts, bits })
    }

    #[inline]
    fn key<const D: usize>(&self, row: &[f64]) -> u64 {
        let dims = width::<D>(row.len());
        let (row, low, shifts) = (&row[..dims], &self.low[..dims], &self.shifts[..dims]);
        let mut key = 0;
        for i in 0..dims {
            let index = ((row[i] - low[i]) * self.per_side) as u64;
            // A dimension without extent may come last, where 64 bits are full.
            key |= index.checked_shl(shifts[i]).unwrap_or(0);
        }
        key
    }
}

const CHUNK: usize = 1 << 14;

/// Points by the number of their cell; `None` where indices need more than 64 bits.
pub(super) fn sort(points: &Points, eps: f64) -> Option<Order> {
    let grid = Grid::new(points, eps)?;
    let keys = by_dims!(points.dimensions(), keys_of(points, &grid)).into_par_iter().enumerate();
    // Places have 31 bits: a short key and the place are one word, which sorts twice as fast.
    Some(if grid.bits <= 33 {
        let mut words: Vec<u64> = keys.map(|(place, key)| key << 31 | place as u64).collect();
        arrange(&mut words);
        order(&words, |word| word >> 31, |word| (word & 0x7fff_ffff) as u32)
    } else {
        let mut pairs: Vec<(u64, u32)> = keys.map(|(place, key)| (key, place as u32)).collect();
        arrange(&mut pairs);
        order(&pairs, |pair| pair.0, |pair| pair.1)
    })
}

fn keys_of<const D: usize>(points: &Points, grid: &Grid) -> Vec<u64> {
    let dims = width::<D>(points.dimensions());
    let rows = points.rows().par_chunks_exact(dims).with_min_len(CHUNK);
    rows.map(|row| grid.key::<D>(row)).collect()
}

/// All are different, so that every sort has the same outcome.
fn arrange<T: Ord + Send>(words: &mut [T]) {
    if rayon::current_num_threads() > 1 {
        words.par_sort_unstable();
    } else {
        words.sort_unstable();
    }
}

fn order<T: Copy>(words: &[T], key: impl Fn(T) -> u64, place: impl Fn(T) -> u32) -> Order {
    let mut starts = vec![0];
    for (i, pair) in words.windows(2).enumerate() {
        if key(pair[0]) != key(pair[1]) {
            starts.push(i as u32 + 1);
        }
    }
    starts.push(words.len() as u32);
    Order { starts, of: words.iter().map(|&word| place(word)).collect() }
}

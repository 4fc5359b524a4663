//! Core points.
//!
//! Owns the count of neighbours, itself included, up to the required number. A cell with enough
//! points is all core. Then the core points of each cell come first, so that the later steps read
//! them in one piece.

use rayon::prelude::*;

use super::cells::Cells;
use crate::geometry::{distance2, least_to_point, most_to_point, surround, width};

/// For each row whether it is a core point.
pub(super) fn find<const D: usize>(cells: &Cells, enough: usize) -> Vec<bool> {
    let mut is_core = vec![false; cells.of.len()];
    let blocks = cells.blocks();
    let parts = cells.split(&blocks, 1, &mut is_core);
    blocks.par_iter().zip(parts).for_each_init(Vec::new, |near, (block, part)| {
        let begin = cells.places(block.start).start;
        for cell in block.clone() {
            let places = cells.places(cell);
            let part = &mut part[places.start - begin..places.end - begin];
            if places.len() >= enough {
                part.fill(true);
            } else {
                count::<D>(cells, cell, enough, near, part);
            }
        }
    });
    is_core
}

/// Points in the cells before and after one in memory, which are near it in space, are counted
/// first: in a crowd they suffice.
const AROUND: usize = 32;

/// Counts neighbours in a cell with fewer points than the required number.
fn count<const D: usize>(
    cells: &Cells,
    cell: usize,
    enough: usize,
    near: &mut Vec<u32>,
    is_core: &mut [bool],
) {
    let dims = width::<D>(cells.dims);
    let places = cells.places(cell);
    let around = places.start.saturating_sub(AROUND)..(places.end + AROUND).min(cells.of.len());
    let rows = cells.rows(places).chunks_exact(dims);
    for (row, is_core) in rows.clone().zip(is_core.iter_mut()) {
        let others = cells.rows(around.clone()).chunks_exact(dims);
        let count: usize =
            others.map(|other| usize::from(distance2::<D>(row, other) <= cells.eps2)).sum();
        *is_core = count >= enough;
    }
    if is_core.iter().all(|&is_core| is_core) {
        return;
    }
    cells.near::<D>(cell, cells.bounds(cell), |_| true, near);
    let most: usize = near.iter().map(|&other| cells.count(other as usize)).sum();
    if is_core.len() + most < enough {
        return;
    }
    for (row, is_core) in rows.zip(is_core.iter_mut()).filter(|(_, is_core)| !**is_core) {
        let mut count = cells.count(cell);
        for &other in near.iter() {
            let bounds = cells.bounds(other as usize);
            if least_to_point::<D>(bounds, row) > cells.eps2 {
                continue;
            }
            let others = cells.places(other as usize);
            if most_to_point::<D>(bounds, row) <= cells.eps2 {
                count += others.len();
            } else {
                for other in cells.rows(others).chunks_exact(dims) {
                    count += usize::from(distance2::<D>(row, other) <= cells.eps2);
                    if count >= enough {
                        break;
                    }
                }
            }
            if count >= enough {
                break;
            }
        }
        *is_core = count >= enough;
    }
}

/// Moves core points to the front of their cells, and shrinks boxes to the core points; returns the
/// number of core points of each cell.
pub(super) fn to_front<const D: usize>(cells: &mut Cells, is_core: &mut [bool]) -> Vec<u32> {
    let dims = width::<D>(cells.dims);
    let blocks = cells.blocks();
    let mut rows = std::mem::take(&mut cells.rows);
    let mut of = std::mem::take(&mut cells.of);
    let mut bounds = std::mem::take(&mut cells.bounds);
    let mut cores = vec![0_u32; cells.len()];
    {
        let parts = cells.split(&blocks, dims, &mut rows).into_iter();
        let parts = parts.zip(cells.split(&blocks, 1, &mut of));
        let parts = parts.zip(cells.split(&blocks, 1, is_core));
        let (mut cores, mut bounds) = (&mut cores[..], &mut bounds[..]);
        let mut jobs = Vec::with_capacity(blocks.len());
        for (block, part) in blocks.iter().zip(parts) {
            let (block_cores, rest) = cores.split_at_mut(block.len());
            let (block_bounds, rest_bounds) = bounds.split_at_mut(block.len() * 2 * dims);
            (cores, bounds) = (rest, rest_bounds);
            jobs.push((block.clone(), part, block_cores, block_bounds));
        }
        let starts = &cells.starts;
        jobs.into_par_iter().for_each(|(block, ((rows, of), is_core), cores, bounds)| {
            let begin = starts[block.start] as usize;
            for (i, cell) in block.enumerate() {
                let (first, end) =
                    (starts[cell] as usize - begin, starts[cell + 1] as usize - begin);
                let all = end - first;
                let mut front = 0;
                // Most cells are all core; those are left alone.
                while front < all && is_core[first + front] {
                    front += 1;
                }
                for place in front + 1..all {
                    if is_core[first + place] {
                        is_core.swap(first + front, first + place);
                        of.swap(first + front, first + place);
                        for i in 0..dims {
                            rows.swap((first + front) * dims + i, (first + place) * dims + i);
                        }
                        front += 1;
                    }
                }
                cores[i] = front as u32;
                if front > 0 && front < all {
                    let rows = &rows[first * dims..(first + front) * dims];
                    surround::<D>(dims, rows, &mut bounds[2 * dims * i..2 * dims * (i + 1)]);
                }
            }
        });
    }
    (cells.rows, cells.of, cells.bounds) = (rows, of, bounds);
    cores
}

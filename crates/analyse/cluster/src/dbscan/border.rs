//! The cluster of each border point: a point that is no core point but near one.
//!
//! Owns the rule: the cluster of the nearest core point within eps; at equal distances that of the
//! higher rank.

use rayon::prelude::*;

use super::cells::Cells;
use crate::geometry::{distance2, least_to_point, width};

/// For each row of a border point the component of its cluster, by row.
pub(super) fn assign<const D: usize>(
    cells: &Cells,
    cores: &[u32],
    component_of: &[u32],
    rank_of: &[u32],
) -> Vec<(u32, u32)> {
    let dims = width::<D>(cells.dims);
    let blocks = cells.blocks();
    let found = blocks.par_iter().map_init(
        || (Vec::new(), vec![0.0; 2 * dims]),
        |(near, around), block| {
            let mut found = Vec::new();
            for cell in block.clone() {
                let places = cells.places(cell);
                let first = places.start + cores[cell] as usize;
                for place in first..places.end {
                    let row = cells.rows(place..place + 1);
                    around[..dims].copy_from_slice(row);
                    around[dims..].copy_from_slice(row);
                    // The own cell may have core points too; it needs no special rule.
                    cells.near::<D>(cell, around, |other| cores[other] > 0, near);
                    if cores[cell] > 0 {
                        near.push(cell as u32);
                    }
                    if let Some(component) =
                        nearest::<D>(cells, row, near, cores, component_of, rank_of)
                    {
                        found.push((place as u32, component));
                    }
                }
            }
            found
        },
    );
    found.collect::<Vec<_>>().concat()
}

fn nearest<const D: usize>(
    cells: &Cells,
    row: &[f64],
    near: &[u32],
    cores: &[u32],
    component_of: &[u32],
    rank_of: &[u32],
) -> Option<u32> {
    let dims = width::<D>(cells.dims);
    let mut best: Option<(f64, u32, u32)> = None;
    for &cell in near {
        let cell = cell as usize;
        let component = component_of[cell];
        let rank = rank_of[component as usize];
        let limit = best.map_or(cells.eps2, |(distance, ..)| distance);
        if least_to_point::<D>(cells.bounds(cell), row) > limit {
            continue;
        }
        let begin = cells.places(cell).start;
        let rows = cells.rows(begin..begin + cores[cell] as usize).chunks_exact(dims);
        let distance = rows.fold(f64::INFINITY, |least, other| {
            let distance = distance2::<D>(row, other);
            if distance < least { distance } else { least }
        });
        if distance <= cells.eps2
            && best.is_none_or(|(least, best_rank, _)| (distance, rank) < (least, best_rank))
        {
            best = Some((distance, rank, component));
        }
    }
    best.map(|(_, _, component)| component)
}

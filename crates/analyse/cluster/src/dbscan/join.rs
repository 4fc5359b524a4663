//! Connection of cells to clusters: cells with core points within eps of each other.
//!
//! Owns the test of two cells, which stops at the first such pair, and the order of tests: cheap
//! ones for all cells first, so that most of the rest are known to be connected before any close
//! test.

use rayon::prelude::*;

use super::cells::Cells;
use super::tree::Set;
use super::union::Union;
use crate::geometry::{
    cut, distance2, least, least_to_point, most, partition, surround, widest, width,
};

/// Unites the cells of each cluster.
pub(super) fn connect<const D: usize>(cells: &Cells, cores: &[u32]) -> Union {
    let union = Union::new(cells.len());
    let blocks = cells.blocks();
    let each = |run: &(dyn Fn(usize, &mut Vec<u32>, &mut Pair) + Sync)| {
        blocks.par_iter().for_each_init(
            || (Vec::new(), Pair::default()),
            |(near, pair), block| {
                for cell in block.clone().filter(|&cell| cores[cell] > 0) {
                    run(cell, near, pair);
                }
            },
        );
    };
    // Cells that follow in memory are near in space: the search skips those that this step unites.
    each(&|cell, _, _| {
        for other in cell + 1..cells.len().min(cell + 1 + FOLLOWING) {
            if cores[other] > 0 && touches_plainly::<D>(cells, [cell, other], cores) {
                union.unite(cell as u32, other as u32);
            }
        }
    });
    for is_close in [false, true] {
        let sets = cells.sets(|cell| (cores[cell] > 0).then(|| union.find(cell as u32)));
        each(&|cell, near, pair| {
            let own = union.find(cell as u32);
            let is_done = |node: usize| match sets[node] {
                Set::Nothing => true,
                Set::One(set) => set == own || union.are_together(set, own),
                Set::Several => false,
            };
            let wanted = |other: usize| cores[other] > 0 && !union.are_together(own, other as u32);
            cells.near_after::<D>(cell, is_done, wanted, near);
            for &other in near.iter() {
                let both = [cell, other as usize];
                // Another thread may have united them since.
                let touch = !union.are_together(own, other)
                    && if is_close {
                        pair.touches::<D>(cells, both, cores)
                    } else {
                        touches_plainly::<D>(cells, both, cores)
                    };
                if touch {
                    union.unite(own, other);
                }
            }
        });
    }
    union
}

/// Cells in memory that are tried first.
const FOLLOWING: usize = 8;

fn core_rows<'a>(cells: &'a Cells, cell: usize, cores: &[u32]) -> &'a [f64] {
    let begin = cells.places(cell).start;
    cells.rows(begin..begin + cores[cell] as usize)
}

/// True if the boxes, or one of a few pairs, show that the two touch.
fn touches_plainly<const D: usize>(cells: &Cells, [a, b]: [usize; 2], cores: &[u32]) -> bool {
    const FEW: usize = 3;
    if most::<D>(cells.bounds(a), cells.bounds(b)) <= cells.eps2 {
        return true;
    }
    let dims = width::<D>(cells.dims);
    let rows = |cell| core_rows(cells, cell, cores).chunks_exact(dims).take(FEW);
    rows(a).any(|a| rows(b).any(|b| distance2::<D>(a, b) <= cells.eps2))
}

/// Buffers of a close test of two cells.
#[derive(Default)]
struct Pair {
    rows: [Vec<f64>; 2],
    /// Places that `partition` moves along; not needed.
    of: [Vec<u32>; 2],
    ahead: Vec<[(usize, usize); 2]>,
}

impl Pair {
    /// True if core points of the two cells are neighbours: by halves, and by all pairs when few
    /// are left.
    fn touches<const D: usize>(&mut self, cells: &Cells, both: [usize; 2], cores: &[u32]) -> bool {
        const FEW: usize = 1 << 8;
        let dims = width::<D>(cells.dims);
        let mut bounds = [vec![0.0; 2 * dims], vec![0.0; 2 * dims]];
        // Only points near the other's box count.
        for i in 0..2 {
            let other = if i == 0 { cells.bounds(both[1]) } else { &bounds[0] };
            self.rows[i].clear();
            for row in core_rows(cells, both[i], cores).chunks_exact(dims) {
                if least_to_point::<D>(other, row) <= cells.eps2 {
                    self.rows[i].extend_from_slice(row);
                }
            }
            if self.rows[i].is_empty() {
                return false;
            }
            surround::<D>(dims, &self.rows[i], &mut bounds[i]);
            self.of[i].clear();
            self.of[i].resize(self.rows[i].len() / dims, 0);
        }
        self.ahead.clear();
        self.ahead.push([(0, self.of[0].len()), (0, self.of[1].len())]);
        while let Some(ranges) = self.ahead.pop() {
            for (i, (begin, end)) in ranges.into_iter().enumerate() {
                surround::<D>(dims, &self.rows[i][begin * dims..end * dims], &mut bounds[i]);
            }
            if least::<D>(&bounds[0], &bounds[1]) > cells.eps2 {
                continue;
            }
            if most::<D>(&bounds[0], &bounds[1]) <= cells.eps2 {
                return true;
            }
            let sizes = ranges.map(|(begin, end)| end - begin);
            if sizes[0] * sizes[1] <= FEW {
                let rows = |i: usize| {
                    let (begin, end) = ranges[i];
                    self.rows[i][begin * dims..end * dims].chunks_exact(dims)
                };
                if rows(0).any(|a| rows(1).any(|b| distance2::<D>(a, b) <= cells.eps2)) {
                    return true;
                }
                continue;
            }
            let wide = [widest(&bounds[0]), widest(&bounds[1])];
            // Boxes that are points would be decided by now.
            let i = usize::from(wide[1].1 > wide[0].1);
            let (dimension, at) = (wide[i].0, cut(&bounds[i], wide[i].0, f64::NAN));
            let (begin, end) = ranges[i];
            let rows = &mut self.rows[i][begin * dims..end * dims];
            let front =
                begin + partition::<D>(dims, rows, &mut self.of[i][begin..end], dimension, at);
            for half in [(begin, front), (front, end)] {
                let mut next = ranges;
                next[i] = half;
                self.ahead.push(next);
            }
        }
        false
    }
}

//! Samples summed in bins of x, separately for each group of instances.
//!
//! Owns the one pass over all samples. Repeated trials without some groups cost only a pass over
//! the bins. A group has every n-th instance, so that a slow drift of the program affects all of
//! them alike.

use crate::project::Projected;
use crate::spline::Knots;

/// Count, sum of x and sum of y of one bin.
type Cell = [f64; 3];

/// Sums of all groups.
#[derive(Clone, Debug)]
pub(crate) struct Bins {
    /// Number of groups.
    pub(crate) groups: usize,
    /// Number of bins of each group.
    count: usize,
    /// Cells by group, then by bin.
    cells: Vec<Cell>,
    all: Vec<Cell>,
}

impl Bins {
    /// Sums the samples of `projected`, with `y` in place of its own shares.
    pub(crate) fn new(projected: &Projected, y: &[f64], groups: usize, bins: usize) -> Self {
        let mut cells = vec![[0.0; 3]; groups * bins];
        for at in 0..projected.instances.len() {
            let group = at % groups;
            let row = &mut cells[group * bins..(group + 1) * bins];
            let range = projected.starts[at]..projected.starts[at + 1];
            for (&x, &y) in projected.x[range.clone()].iter().zip(&y[range]) {
                let cell = &mut row[((x * bins as f64) as usize).min(bins - 1)];
                cell[0] += 1.0;
                cell[1] += x;
                cell[2] += y;
            }
        }
        let mut all = vec![[0.0; 3]; bins];
        for row in cells.chunks_exact(bins) {
            add(&mut all, row, 1.0);
        }
        Self { groups, count: bins, cells, all }
    }

    /// Width of a bin.
    pub(crate) fn width(&self) -> f64 {
        1.0 / self.count as f64
    }

    /// The samples of all groups except those in `without`, as knots between (0,0) and (1,1),
    /// weights summing to 1.
    pub(crate) fn knots(&self, without: impl Iterator<Item = usize>) -> Knots {
        let mut cells = self.all.clone();
        for group in without {
            add(&mut cells, &self.cells[group * self.count..(group + 1) * self.count], -1.0);
        }
        // Counts are whole numbers, whose sums and differences are exact.
        let total: f64 = cells.iter().map(|cell| cell[0]).sum();
        let mut knots = Knots { x: vec![0.0], y: vec![0.0], variance: vec![0.0] };
        // Places closer than this would make the equations ill-conditioned; they become one.
        let closest = 0.05 * self.width();
        let (mut waiting, mut last): (Cell, f64) = ([0.0; 3], 0.0);
        for cell in cells.iter().filter(|cell| cell[0] > 0.5) {
            let x = cell[1] / cell[0];
            if waiting[0] > 0.0 && x - last < closest {
                add(std::slice::from_mut(&mut waiting), std::slice::from_ref(cell), 1.0);
                last = waiting[1] / waiting[0];
                continue;
            }
            push(&mut knots, waiting, total, closest);
            (waiting, last) = (*cell, x);
        }
        push(&mut knots, waiting, total, closest);
        knots.x.push(1.0);
        knots.y.push(1.0);
        knots.variance.push(0.0);
        knots
    }
}

fn push(knots: &mut Knots, cell: Cell, total: f64, closest: f64) {
    let x = cell[1] / cell[0];
    // Beside the ends, which are exact, a sample adds nothing. NaN of an empty cell fails too.
    if x > closest && x < 1.0 - closest && knots.x.last().is_some_and(|&last| x > last) {
        knots.x.push(x);
        knots.y.push(cell[2] / cell[0]);
        knots.variance.push(total / cell[0]);
    }
}

fn add(into: &mut [Cell], cells: &[Cell], sign: f64) {
    for (sum, cell) in into.iter_mut().zip(cells) {
        for (sum, value) in sum.iter_mut().zip(cell) {
            *sum += sign * value;
        }
    }
}

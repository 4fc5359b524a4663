//! Places of the objects' cells: panels beside or below each other, blocks in them, cells in
//! blocks.
//!
//! Owns the search for the largest cells that fit. Pure arithmetic on counts; drawing is in
//! [`super::grid`]. A cell has the same size for all objects; the PUs of a core stand on top of
//! each other.

use crate::map::groups::{Groups, Panel};

/// Candidate widths of cells, the widest first: with a figure, with a digit, the minimum.
const WIDTHS: [usize; 5] = [11, 7, 3, 2, 1];
/// Columns between panels.
const BETWEEN: usize = 2;
/// Maximum height of a cell in rows: a wide and flat cell, and a tall and thin one, are hard to see
/// as one thing.
const TALLEST: usize = 3;
/// Maximum number of panels beside each other: more would be narrower than any name.
const MOST_BESIDE: usize = 24;
/// A block has no more rows than this many stacks.
const STACKS: usize = 48;

/// Places of all parts, from the top left; rows may go beyond the screen.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Arranged {
    /// Columns of a cell.
    pub(super) cell: usize,
    /// Rows of a cell.
    pub(super) tall: usize,
    /// Rows in total.
    pub(super) height: usize,
    /// Of each panel, in order: column, row, width.
    pub(super) panels: Vec<(usize, usize, usize)>,
    /// Of each block, in order: column, row and width of its label.
    pub(super) labels: Vec<(usize, usize, usize)>,
    /// Of each object of the monitor: column and row.
    pub(super) cells: Vec<(usize, usize)>,
}

/// One candidate arrangement.
#[derive(Clone, Copy, Debug)]
struct Plan {
    cell: usize,
    /// Rows of a cell.
    tall: usize,
    /// Cells of a block on top of each other.
    rows: usize,
    /// Panels beside each other.
    beside: usize,
    /// Columns of a panel.
    width: usize,
}

/// Layout of one panel's blocks under a plan.
struct Shape {
    block: usize,
    per_band: usize,
    bands: usize,
    label: usize,
    /// Columns between blocks.
    gap: usize,
}

impl Shape {
    fn of(panel: &Panel, plan: &Plan) -> Option<Self> {
        let most = panel.blocks.iter().map(|block| block.cells.len()).max().unwrap_or(0);
        let block = most.div_ceil(plan.rows) * plan.cell;
        if block == 0 || block > plan.width {
            return None;
        }
        let count = panel.blocks.len();
        let most = ((plan.width + 1) / (block + 1)).clamp(1, count);
        let bands = count.div_ceil(most);
        let per_band = count.div_ceil(bands);
        let free = plan.width - (per_band * (block + 1) - 1);
        let gap = 1 + free.checked_div(per_band - 1).unwrap_or(0).min(2);
        Some(Self { block, per_band, bands, label: usize::from(count > 1), gap })
    }

    fn height(&self, plan: &Plan) -> usize {
        1 + self.bands * (plan.rows * plan.tall + self.label)
    }
}

/// The best arrangement in this many columns. If even the smallest does not fit into `height`, the
/// lowest one.
pub(super) fn arrange(groups: &Groups, width: usize, height: usize) -> Arranged {
    let stack = groups.stack.max(1);
    let count = groups.panels.len();
    let largest = groups.blocks().map(|block| block.cells.len()).max().unwrap_or(0);
    // Of those that need equally many rows of panels, the fewest beside each other have the most
    // room.
    let rows_of = |beside: usize| count.div_ceil(beside);
    let fewest = |&beside: &usize| beside == 1 || rows_of(beside) < rows_of(beside - 1);
    let besides: Vec<usize> = (1..=count.min(MOST_BESIDE)).rev().filter(fewest).collect();
    let mut lowest: Option<(usize, Plan)> = None;
    for cell in WIDTHS {
        let mut best: Option<((bool, usize), Plan)> = None;
        // Rows beyond the largest block would be empty.
        for times in (1..=STACKS).take_while(|times| (times - 1) * stack < largest) {
            for &beside in &besides {
                let Some(room) = (width + BETWEEN).checked_div(beside) else { continue };
                let width = room.saturating_sub(BETWEEN);
                let plan = Plan { cell, tall: 1, rows: times * stack, beside, width };
                let Some(needed) = total(groups, &plan) else { continue };
                // Two columns are the minimum for comfortable scrolling.
                if (cell >= 2 || lowest.is_none()) && lowest.is_none_or(|(known, _)| needed < known)
                {
                    lowest = Some((needed, plan));
                }
                // Among those that fit, whole rectangles come before lower ones.
                let rank = (ragged(groups, &plan), needed);
                if needed <= height && best.is_none_or(|(known, _)| rank < known) {
                    best = Some((rank, plan));
                }
            }
        }
        if let Some((_, plan)) = best {
            let taller = (1..=TALLEST).rev().map(|tall| Plan { tall, ..plan });
            let mut taller = taller.filter_map(|plan| Some((total(groups, &plan)?, plan)));
            // A tall cell of one or two columns would look like several.
            let fits = |(needed, plan): &(usize, Plan)| {
                *needed <= height && plan.tall <= plan.cell.div_ceil(2)
            };
            let (needed, plan) = taller.find(fits).unwrap_or((height, plan));
            return place(groups, &plan, needed);
        }
    }
    lowest.map_or_else(Arranged::default, |(needed, plan)| place(groups, &plan, needed))
}

/// Some block's last column is not full.
fn ragged(groups: &Groups, plan: &Plan) -> bool {
    groups.blocks().any(|block| block.cells.len() > plan.rows && block.cells.len() % plan.rows != 0)
}

fn total(groups: &Groups, plan: &Plan) -> Option<usize> {
    groups.panels.chunks(plan.beside).try_fold(0, |sum, row| {
        let heights = row.iter().map(|panel| Shape::of(panel, plan).map(|s| s.height(plan)));
        Some(sum + heights.collect::<Option<Vec<_>>>()?.into_iter().max().unwrap_or(0))
    })
}

fn place(groups: &Groups, plan: &Plan, height: usize) -> Arranged {
    let mut out = Arranged { cell: plan.cell, tall: plan.tall, height, ..Arranged::default() };
    let count = groups.blocks().flat_map(|block| &block.cells).max().map_or(0, |last| last + 1);
    out.cells = vec![(0, 0); count];
    let mut top = 0;
    for row in groups.panels.chunks(plan.beside) {
        let mut tallest = 0;
        for (beside, panel) in row.iter().enumerate() {
            let left = beside * (plan.width + BETWEEN);
            let Some(shape) = Shape::of(panel, plan) else { continue };
            out.panels.push((left, top, plan.width));
            for (number, block) in panel.blocks.iter().enumerate() {
                let x = left + number % shape.per_band * (shape.block + shape.gap);
                let y = top + 1 + number / shape.per_band * (plan.rows * plan.tall + shape.label);
                out.labels.push((x, y, shape.block));
                for (at, &cell) in block.cells.iter().enumerate() {
                    let column = x + at / plan.rows * plan.cell;
                    out.cells[cell] = (column, y + shape.label + at % plan.rows * plan.tall);
                }
            }
            tallest = tallest.max(shape.height(plan));
        }
        top += tallest;
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use talea_topology::{ObjectId, ObjectKind, Topology};

    use super::*;
    use crate::map::simulated::node;

    fn pus(topology: &Topology) -> Groups {
        let pus: Vec<ObjectId> = topology.of_kind(ObjectKind::Pu).map(|(id, _)| id).collect();
        Groups::new(topology, &pus)
    }

    #[test]
    fn machines_fit_on_one_screen() {
        let check = |topology: &Topology, size: (usize, usize), expected: (usize, usize)| {
            let arranged = arrange(&pus(topology), size.0, size.1);
            assert_eq!((arranged.cell, arranged.height), expected);
        };
        check(&node(2, 1, 12, 8, 2), (100, 16), (2, 16));
        check(&node(2, 1, 12, 8, 2), (80, 12), (1, 10));
        check(&node(1, 1, 1, 32, 1), (100, 18), (11, 13));
        check(&node(24, 1, 1, 8, 2), (100, 18), (3, 18));
    }

    proptest! {
        #[test]
        fn cells_are_apart_and_inside(
            shape in (
                1..5_usize,
                1..4_usize,
                1..5_usize,
                1..9_usize,
                1..5_usize
            ), width in 58..200_usize, height in 5..60_usize,
        ) {
            let topology = node(shape.0, shape.1, shape.2, shape.3, shape.4);
            let groups = pus(&topology);
            let arranged = arrange(&groups, width, height);
            let mut taken = BTreeSet::new();
            for &(x, y) in &arranged.cells {
                prop_assert!(x + arranged.cell <= width && y + arranged.tall <= arranged.height);
                for column in x..x + arranged.cell {
                    for row in y..y + arranged.tall {
                        prop_assert!(taken.insert((column, row)), "{} {} twice", column, row);
                    }
                }
            }
            for &(x, y, columns) in &arranged.panels {
                (x..x + columns).for_each(|column| { taken.insert((column, y)); });
            }
            prop_assert_eq!(arranged.panels.len(), groups.panels.len());
            prop_assert_eq!(arranged.labels.len(), groups.blocks().count());
        }
    }
}

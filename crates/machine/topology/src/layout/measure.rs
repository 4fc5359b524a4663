//! The room of each shape, and the number of columns of its contents.
//!
//! Owns the search. For every shape the best arrangement for each of a few proportions is kept,
//! from the innermost outwards; the largest level of detail at which the whole fits wins, and then
//! cells grow into the room that is left.

use super::Options;
use super::levels::{CELL_GAP, LARGEST_CELL, Level, all};
use super::shape::{Shape, Tree};
use super::strips::{Parts, memory_height};
use crate::objects::ObjectKind;

/// Target ratios of width to height of arrangements. One more is that of the room.
const PROPORTIONS: [f64; 7] = [0.3, 0.5, 0.8, 1.2, 1.8, 2.7, 4.2];
/// Number of targets, including that of the room.
pub(super) const TARGETS: usize = PROPORTIONS.len() + 1;
/// Weight of an arrangement's wasted room relative to its wrong proportion.
const WASTE: f64 = 1.5;
/// Weight of empty places in a grid: eight cores look better as four by two than as three by three.
const HOLES: f64 = 3.0;

/// Arrangement of the children of an object.
#[derive(Clone, Debug)]
pub(super) enum Rows {
    /// Equal children, this many in a row.
    Columns(usize),
    /// Rows that end before these children.
    Ends(Vec<usize>),
}

/// An arrangement of a shape.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub size: (f64, f64),
    /// The plan of the children, of theirs.
    pub kid: usize,
    pub rows: Rows,
}

/// The chosen arrangement of everything.
pub(super) struct Arranged {
    pub level: Level,
    /// For each shape its plans.
    pub plans: Vec<Vec<Plan>>,
    /// The root's plan.
    pub target: usize,
}

/// The best arrangement; `None` where nothing is drawn.
pub(super) fn fit(tree: &Tree, options: &Options) -> Option<Arranged> {
    let room = (options.width.clamp(1.0, 1e6), options.height.clamp(1.0, 1e6));
    let mut targets = PROPORTIONS.to_vec();
    targets.push(room.0 / room.1);
    let root = tree.nodes.first()?.shape;
    let mut best: Option<(f64, Arranged)> = None;
    for level in all() {
        let plans = search(tree, &level, &targets);
        let slack = |plan: &Plan| (room.0 / plan.size.0).min(room.1 / plan.size.1);
        let (target, slack) = plans[root]
            .iter()
            .map(slack)
            .enumerate()
            .fold((0, 0.0), |best, one| if one.1 > best.1 { one } else { best });
        if best.as_ref().is_none_or(|best| slack > best.0) {
            best = Some((slack, Arranged { level, plans, target }));
        }
        if slack >= 1.0 {
            break;
        }
    }
    let (_, mut arranged) = best?;
    grow(tree, &mut arranged, room);
    Some(arranged)
}

/// Makes all cells wider, then higher, as far as the picture still fits.
fn grow(tree: &Tree, arranged: &mut Arranged, room: (f64, f64)) {
    let root = tree.nodes[0].shape;
    let target = arranged.target;
    let base = arranged.level.cell;
    let mut try_cell = |cell: (f64, f64)| {
        let level = Level { cell, ..arranged.level };
        let plans = resize(tree, &level, &arranged.plans);
        let size = plans[root][target].size;
        let fits = size.0 <= room.0 && size.1 <= room.1;
        if fits {
            arranged.level = level;
            arranged.plans = plans;
        }
        fits
    };
    let mut widest = base.0;
    let mut step = (LARGEST_CELL.0 - base.0) / 2.0;
    for _ in 0..6 {
        if try_cell((widest + step, base.1)) {
            widest += step;
        }
        step /= 2.0;
    }
    // A cell higher than wide would look like a bar.
    let mut highest = base.1;
    let mut step = (LARGEST_CELL.1.min(widest * 0.8) - base.1).max(0.0) / 2.0;
    for _ in 0..6 {
        if try_cell((widest, highest + step)) {
            highest += step;
        }
        step /= 2.0;
    }
}

/// The sizes of all plans with other sizes of marks.
fn resize(tree: &Tree, level: &Level, before: &[Vec<Plan>]) -> Vec<Vec<Plan>> {
    let mut plans: Vec<Vec<Plan>> = Vec::with_capacity(before.len());
    for (shape, old) in tree.shapes.iter().zip(before) {
        let new = old.iter().map(|plan| {
            let kids = kids_size(shape, level, &plans, plan.kid, &plan.rows);
            Plan { size: outer(shape, tree, level, kids), ..plan.clone() }
        });
        let new = new.collect();
        plans.push(new);
    }
    plans
}

fn search(tree: &Tree, level: &Level, targets: &[f64]) -> Vec<Vec<Plan>> {
    let mut plans: Vec<Vec<Plan>> = Vec::with_capacity(tree.shapes.len());
    let mut first: Vec<Option<usize>> = vec![None; tree.shapes.len()];
    for shape in &tree.shapes {
        // Shapes that differ only in devices look alike.
        if let Some(like) = first[shape.skeleton] {
            let again = plans[like].iter().map(|plan| {
                let kids = kids_size(shape, level, &plans, plan.kid, &plan.rows);
                Plan { size: outer(shape, tree, level, kids), ..plan.clone() }
            });
            let again = again.collect();
            plans.push(again);
            continue;
        }
        first[shape.skeleton] = Some(plans.len());
        let mut found: Vec<Plan> = Vec::new();
        for kid in 0..TARGETS {
            if kid > 0 && same_sizes(shape, &plans, kid) {
                continue;
            }
            for rows in arrangements(shape, level, &plans, kid, targets) {
                let size = outer(shape, tree, level, kids_size(shape, level, &plans, kid, &rows));
                found.push(Plan { size, kid, rows });
            }
        }
        let area = |plan: &Plan| plan.size.0 * plan.size.1;
        let least = found.iter().map(area).fold(f64::INFINITY, f64::min);
        let chosen = targets.iter().map(|target| {
            let badness = |plan: &Plan| {
                let (w, h) = plan.size;
                (w / h / target).ln().abs()
                    + WASTE * (area(plan) / least).ln()
                    + HOLES * holes(shape, &plan.rows)
            };
            let best = found.iter().min_by(|a, b| badness(a).total_cmp(&badness(b)));
            // There is at least the arrangement in one column.
            best.cloned().unwrap_or(Plan { size: (1.0, 1.0), kid: 0, rows: Rows::Columns(1) })
        });
        let chosen = chosen.collect();
        plans.push(chosen);
    }
    plans
}

/// Share of a grid's places that stay empty.
fn holes(shape: &Shape, rows: &Rows) -> f64 {
    let count = shape.kids.len();
    let places = match rows {
        Rows::Columns(k) => k * count.div_ceil(*k),
        Rows::Ends(ends) => {
            let starts = std::iter::once(0).chain(ends.iter().copied());
            let longest = starts.zip(ends).map(|(from, to)| to - from).max();
            longest.unwrap_or(0) * ends.len()
        }
    };
    if places == 0 { 0.0 } else { 1.0 - count as f64 / places as f64 }
}

/// True if the children's plans for this target are those of the one before.
fn same_sizes(shape: &Shape, plans: &[Vec<Plan>], kid: usize) -> bool {
    shape.kids.iter().all(|&one| plans[one][kid].size == plans[one][kid - 1].size)
}

/// Candidate arrangements: about as wide as each target requires.
fn arrangements(
    shape: &Shape,
    level: &Level,
    plans: &[Vec<Plan>],
    kid: usize,
    targets: &[f64],
) -> Vec<Rows> {
    let Some(&first) = shape.kids.first() else { return vec![Rows::Columns(1)] };
    let gap = gap(shape, level);
    if shape.uniform() {
        let (w, h) = plans[first][kid].size;
        let count = shape.kids.len();
        let mut columns: Vec<usize> = Vec::new();
        for target in targets {
            let ideal = (count as f64 * (h + gap) * target / (w + gap)).sqrt() as usize;
            let near = ideal.saturating_sub(1).max(1)..=ideal + 2;
            // As many rows with fewer columns waste less.
            columns.extend(near.map(|k| count.div_ceil(count.div_ceil(k.min(count)))));
        }
        columns.sort_unstable();
        columns.dedup();
        return columns.into_iter().map(Rows::Columns).collect();
    }
    let sizes: Vec<(f64, f64)> = shape.kids.iter().map(|&one| plans[one][kid].size).collect();
    let area: f64 = sizes.iter().map(|(w, h)| (w + gap) * (h + gap)).sum();
    let all: f64 = sizes.iter().map(|(w, _)| w + gap).sum();
    let mut ways: Vec<Vec<usize>> = Vec::new();
    for target in targets {
        for stretch in [0.85, 1.05, 1.3] {
            ways.push(shelves(&sizes, gap, (area * target).sqrt() * stretch));
        }
    }
    ways.push(shelves(&sizes, gap, all));
    ways.sort_unstable();
    ways.dedup();
    ways.into_iter().map(Rows::Ends).collect()
}

/// Fills rows up to a width, in order.
fn shelves(sizes: &[(f64, f64)], gap: f64, limit: f64) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut x = 0.0;
    for (at, (w, _)) in sizes.iter().enumerate() {
        if x > 0.0 && x + w > limit {
            ends.push(at);
            x = 0.0;
        }
        x += w + gap;
    }
    ends.push(sizes.len());
    ends
}

/// Room between the children of an object.
pub(super) fn gap(shape: &Shape, level: &Level) -> f64 {
    if shape.kind == ObjectKind::Core { CELL_GAP } else { level.gap }
}

/// The children of each row.
pub(super) fn rows(rows: &Rows, count: usize) -> Vec<std::ops::Range<usize>> {
    match rows {
        Rows::Columns(k) => (0..count).step_by(*k).map(|at| at..(at + k).min(count)).collect(),
        Rows::Ends(ends) => {
            let starts = std::iter::once(0).chain(ends.iter().copied());
            starts.zip(ends.iter().copied()).map(|(from, to)| from..to).collect()
        }
    }
}

/// Width and height of all children together; `None` without children.
fn kids_size(
    shape: &Shape,
    level: &Level,
    plans: &[Vec<Plan>],
    kid: usize,
    how: &Rows,
) -> Option<(f64, f64)> {
    let first = *shape.kids.first()?;
    let gap = gap(shape, level);
    let spread = |count: usize, one: f64| count as f64 * (one + gap) - gap;
    if let Rows::Columns(k) = how {
        let (w, h) = plans[first][kid].size;
        return Some((spread(*k, w), spread(shape.kids.len().div_ceil(*k), h)));
    }
    let (mut width, mut height) = (0.0_f64, -gap);
    for row in rows(how, shape.kids.len()) {
        let sizes = shape.kids[row].iter().map(|&one| plans[one][kid].size);
        let (w, h) = sizes.fold((-gap, 0.0_f64), |(w, h), one| (w + one.0 + gap, h.max(one.1)));
        width = width.max(w);
        height += h + gap;
    }
    Some((width, height))
}

/// The size of an object around children of this size.
fn outer(shape: &Shape, tree: &Tree, level: &Level, kids: Option<(f64, f64)>) -> (f64, f64) {
    if shape.kind == ObjectKind::Pu {
        return level.cell;
    }
    if shape.kind.is_memory() {
        return (level.memory.0, memory_height(shape, tree, level));
    }
    let inset = level.inset(shape.kind, shape.several());
    let bar = level.bar(shape.kind, shape.several());
    let mut width = kids.map_or(level.cell.0, |kids| kids.0);
    if !shape.memory.is_empty() {
        width = width.max(level.memory.0);
    }
    if !shape.items.is_empty() {
        width = width.max(level.device.0);
    }
    let parts = Parts::measure(shape, tree, level, width);
    let heights = [parts.memory, kids.map_or(0.0, |kids| kids.1), parts.items];
    let below: f64 = heights.iter().filter(|&&h| h > 0.0).map(|h| h + between(level, inset)).sum();
    (width + 2.0 * inset, bar + below + if below > 0.0 { inset } else { 0.0 })
}

/// Room between the parts of an object, one below the other.
pub(super) fn between(level: &Level, inset: f64) -> f64 {
    let thin = if level.private >= 3.0 { 1.0 } else { 0.5 };
    inset.max(thin)
}

//! Repair of steps between samples that occur in one instance alone: while it did not run, or
//! others ran in its place.
//!
//! Owns their distinction from the program's own behaviour - by their size against the usual
//! deviation, by their rarity, and by whether other instances deviate at the same place - and their
//! replacement: the values of the curve.

use crate::held_out::spacing;
use crate::project::Projected;
use crate::select::median;
use crate::spline::Spline;

/// Maximum number of samples for which single steps are examined.
const MOST_SAMPLES: usize = 200_000;

/// Result of the repair.
pub(crate) struct Repaired {
    /// Shares of all samples, with those steps repaired.
    pub(crate) y: Vec<f64>,
    /// Number of steps that were replaced by values of the curve.
    pub(crate) replaced: u64,
    /// Their mean share of an instance. As shares end at 1 all other steps absorbed it, so that
    /// rates are uncertain by this much everywhere: the place of the next disturbance is unknown.
    pub(crate) moved: f64,
}

/// Repairs steps; `None` where there are none or where they are so frequent that they belong to the
/// program.
pub(crate) fn repaired(projected: &Projected, spline: &Spline) -> Option<Repaired> {
    let count = projected.instances.len();
    // One of many instances hardly matters, and neither does one step of very many.
    let samples = projected.x.len();
    if !(3..=100).contains(&count) || samples < 16 * count || samples > MOST_SAMPLES {
        return None;
    }
    let mut known_values = Vec::with_capacity(projected.x.len());
    for at in 0..count {
        let mut interval = 0;
        for &x in projected.samples(at).0 {
            interval = spline.interval_from(interval, x);
            known_values.push(spline.value_in(interval, x));
        }
    }
    let mut deviations = Vec::with_capacity(projected.x.len() + count);
    let each = |at: usize, visit: &mut dyn FnMut(usize, f64, f64, f64)| {
        let (x, y) = projected.samples(at);
        let (first, steps) = (projected.starts[at], x.len());
        let (mut before, mut known) = ((0.0, 0.0), 0.0);
        for k in 0..=x.len() {
            let (x, y) = if k < x.len() { (x[k], y[k]) } else { (1.0, 1.0) };
            let value = known_values.get(first + k).copied().filter(|_| k < steps).unwrap_or(1.0);
            let (step, expected) = (y - before.1, value - known);
            let scaled = (step - expected) / (x - before.0).max(f64::MIN_POSITIVE).sqrt();
            visit(k, before.0, scaled, if scaled.is_finite() { expected } else { step });
            (before, known) = ((x, y), value);
        }
    };
    for at in 0..count {
        each(at, &mut |_, _, scaled, _| deviations.push(scaled.abs()));
    }
    deviations.retain(|deviation| deviation.is_finite());
    let steps = deviations.len();
    deviations.sort_unstable_by(f64::total_cmp);
    let limit = 8.0 * 1.4826 * median(&deviations);
    let beyond = steps - deviations.partition_point(|&deviation| deviation <= limit);
    if beyond == 0 || beyond * 100 > steps || limit <= 0.0 {
        return None;
    }
    // Where several instances deviate at one place, the curve is wrong and not they.
    let cells = (0.5 / spacing(projected)).ceil().max(1.0) as usize;
    let cell = |x: f64| ((x * cells as f64) as usize).min(cells - 1);
    let mut where_beyond = vec![0_usize; cells];
    for at in 0..count {
        each(at, &mut |_, from, scaled, _| {
            if scaled.abs() > limit {
                where_beyond[cell(from)] += 1;
            }
        });
    }
    let most = (count / 5).max(1);
    let alone = |from: f64| {
        let at = cell(from);
        let near = &where_beyond[at.saturating_sub(1)..(at + 2).min(cells)];
        near.iter().sum::<usize>() <= most
    };
    let (mut y, mut replaced, mut moved) = (projected.y.clone(), 0, 0.0);
    for at in 0..count {
        let range = projected.starts[at]..projected.starts[at + 1];
        let samples = projected.samples(at).1;
        let (mut sum, mut any, mut last) = (0.0, 0, 0.0);
        let mine = &mut y[range];
        each(at, &mut |k, from, scaled, expected| {
            let now = samples.get(k).copied().unwrap_or(1.0);
            let take = scaled.abs() > limit && alone(from);
            any += u64::from(take);
            sum += if take { expected.max(0.0) } else { now - last };
            last = now;
            if let Some(y) = mine.get_mut(k) {
                *y = sum;
            }
        });
        if any == 0 || sum <= 0.0 {
            mine.copy_from_slice(samples);
        } else {
            for y in mine.iter_mut() {
                *y /= sum;
            }
            replaced += any;
            moved += (sum - 1.0).abs() / count as f64;
        }
    }
    (replaced > 0).then_some(Repaired { y, replaced, moved })
}

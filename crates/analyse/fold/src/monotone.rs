//! The nearest curve that never falls: counters only grow, hence a negative rate is an error of the
//! fit.
//!
//! Owns the projection of a rate on the rates that are nowhere negative and integrate to 1:
//! `max(rate - c, 0)` with the one `c` that keeps the integral. That is the exact L2 projection on
//! a convex set that contains the truth, so the rate's mean square error can only fall, and a rate
//! that is nowhere negative does not change.

use crate::spline::Spline;

/// A quadratic piece of the rate: its begin, its width, and its values at begin, middle and end.
#[derive(Clone, Copy)]
struct Piece {
    from: f64,
    width: f64,
    values: [f64; 3],
}

impl Piece {
    /// Integral of the part above `level`, minus `level`.
    fn above(&self, level: f64) -> f64 {
        let [begin, middle, end] = self.values.map(|value| value - level);
        if begin >= 0.0 && middle >= 0.0 && end >= 0.0 && 4.0 * middle >= begin.max(end) {
            return self.width / 6.0 * (begin + 4.0 * middle + end);
        }
        // begin + b t + a t^2 on 0..1, cut at its roots.
        let a = 2.0 * (begin + end) - 4.0 * middle;
        let b = end - begin - a;
        let at = |t: f64| begin + t * (b + t * a);
        let mut cuts = [0.0, 1.0, 1.0, 1.0];
        let inside = b * b - 4.0 * a * begin;
        if inside > 0.0 {
            // The numerically stable pair of roots.
            let q = -0.5 * (b + inside.sqrt().copysign(b));
            let roots =
                [q / a, begin / q].map(|t| if t.is_finite() { t.clamp(0.0, 1.0) } else { 1.0 });
            cuts[1] = roots[0].min(roots[1]);
            cuts[2] = roots[0].max(roots[1]);
        }
        cuts.windows(2)
            .map(|pair| {
                let (from, to) = (pair[0], pair[1]);
                let middle = at(f64::midpoint(from, to));
                let sum = (to - from) / 6.0 * (at(from) + 4.0 * middle + at(to));
                if middle > 0.0 { sum.max(0.0) } else { 0.0 }
            })
            .sum::<f64>()
            * self.width
    }
}

/// Rate and accumulated share on `grid` (ascending, from 0 to 1), and the level `c`, 0 where
/// nothing was negative.
pub(crate) fn on_grid(spline: &Spline, knots: &[f64], grid: &[f64]) -> (Vec<f64>, Vec<f64>, f64) {
    let rate: Vec<f64> = grid.iter().map(|&at| spline.slope(at)).collect();
    let mut cuts: Vec<f64> = knots.iter().chain(grid).copied().collect();
    cuts.extend(spline.kinks().iter().map(|kink| kink.0));
    cuts.retain(|cut| (0.0..=1.0).contains(cut));
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    let pieces: Vec<Piece> = cuts
        .windows(2)
        .map(|pair| {
            let (from, width) = (pair[0], pair[1] - pair[0]);
            // Values just inside, so that a kink at the border belongs to its own side.
            let values = [1e-6, 0.5, 1.0 - 1e-6].map(|t| spline.slope(from + t * width));
            Piece { from, width, values }
        })
        .collect();
    let least = pieces.iter().flat_map(|piece| piece.values).chain(rate.iter().copied());
    if least.fold(f64::INFINITY, f64::min) >= 0.0 {
        let accumulated = grid.iter().map(|&at| spline.value(at).clamp(0.0, 1.0)).collect();
        return (rate, accumulated, 0.0);
    }
    let total = |level: f64| pieces.iter().map(|piece| piece.above(level)).sum::<f64>();
    let (mut low, mut high) = (0.0, rate.iter().copied().fold(1.0, f64::max));
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if total(middle) > 1.0 { low = middle } else { high = middle }
    }
    let mut accumulated = Vec::with_capacity(grid.len());
    let (mut sum, mut next) = (0.0, 0);
    for &at in grid {
        while next < pieces.len() && pieces[next].from < at {
            sum += pieces[next].above(low);
            next += 1;
        }
        accumulated.push(sum);
    }
    // Removes the error of the bisection, and of the 1e-6.
    let all = accumulated.last().copied().filter(|&all| all > 0.0).unwrap_or(1.0);
    for share in &mut accumulated {
        *share /= all;
    }
    (rate.iter().map(|rate| (rate - low).max(0.0)).collect(), accumulated, low)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::spline::{Knots, System};

    proptest! {
        #[test]
        fn never_falls_and_keeps_the_total(
            steps in prop::collection::vec((0.01..1.0_f64, -1.0..2.0_f64), 3..30),
        ) {
            let width: f64 = steps.iter().map(|step| step.0).sum();
            let (mut x, mut y) = (0.0, 0.0);
            let mut points = vec![(0.0, 0.0, f64::INFINITY), (1.0, 1.0, f64::INFINITY)];
            for step in &steps[..steps.len() - 1] {
                x += step.0 / width;
                y += step.1 / steps.len() as f64;
                points.push((x, y, 1.0));
            }
            let knots = Knots::merged(points);
            let spline = System::new(&knots, 1e-6).unwrap().fit(&[0.4]);
            let grid: Vec<f64> = (0..=1000).map(|i| f64::from(i) / 1000.0).collect();
            let (rate, accumulated, _) = on_grid(&spline, &knots.x, &grid);
            prop_assert!(rate.iter().all(|&rate| rate >= 0.0));
            prop_assert!(accumulated.is_sorted());
            prop_assert!(accumulated[0] == 0.0 && (accumulated[1000] - 1.0).abs() < 1e-9);
            // The rate is the slope of the shares.
            for at in 0..1000 {
                let step = (accumulated[at + 1] - accumulated[at]) * 1000.0;
                let most = rate[at].max(rate[at + 1]).max(1.0);
                let near = (0.4 - grid[at]).abs() < 0.002;
                prop_assert!(
                    near || (step - f64::midpoint(rate[at], rate[at + 1])).abs() < 0.1 * most + 0.5
                );
            }
        }
    }
}

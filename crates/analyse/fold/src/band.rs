//! The 95 % band: the variation with other recorded instances, and the detail that smoothing hides.
//!
//! Owns three parts. The spread comes from fits that leave out one group of instances each (the
//! jackknife, which knows the correlation inside instances; Student's t for few groups). The bias
//! is the correction from smoothing the residuals once more (Tukey's twicing), the largest within
//! the width of the smoother. Around a jump the band covers both levels within the uncertainty of
//! its place. Without the last, coverage near jumps falls to half.

use crate::bins::Bins;
use crate::curve::Jump;
use crate::spline::{Knots, Spline, System};

/// Lambda of a bandwidth of a tenth of the region.
const COARSEST: f64 = 1e-4;

/// Fits that leave out one group each, on a grid of x.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replicates {
    /// Rates, with the jumps of the whole fit.
    pub(crate) rate: Vec<Vec<f64>>,
    /// Rates with jumps found again.
    pub(crate) moved: Vec<Vec<f64>>,
    /// Accumulated shares, with jumps found again.
    pub(crate) accumulated: Vec<Vec<f64>>,
    /// Places of the jumps found again.
    pub(crate) kinks: Vec<Vec<f64>>,
    /// Heights of the jumps at the places of the whole fit.
    pub(crate) heights: Vec<Vec<f64>>,
}

impl Replicates {
    /// Fits without each group in turn.
    pub(crate) fn new(bins: &Bins, lambda: f64, kinks: &[f64], grid: &[f64], closest: f64) -> Self {
        use rayon::prelude::*;
        let one = |group: usize| {
            let knots = bins.knots(std::iter::once(group));
            let system = System::new(&knots, lambda).ok()?;
            let fixed = system.fit(kinks);
            let mut own = kinks.to_vec();
            system.refine(&mut own, closest);
            let moved = if own.is_empty() { None } else { Some(system.fit(&own)) };
            let moved = moved.as_ref().unwrap_or(&fixed);
            let accumulated = values(moved, grid);
            let moved = slopes(moved, grid);
            let heights = fixed.kinks().iter().map(|kink| kink.1).collect();
            Some((slopes(&fixed, grid), moved, accumulated, own, heights))
        };
        let mut all = Self::default();
        if bins.groups >= 2 {
            let found: Vec<_> = (0..bins.groups).into_par_iter().map(one).collect();
            for (rate, moved, accumulated, kinks, heights) in found.into_iter().flatten() {
                all.rate.push(rate);
                all.moved.push(moved);
                all.accumulated.push(accumulated);
                all.kinks.push(kinks);
                all.heights.push(heights);
            }
        }
        all
    }
}

impl Replicates {
    /// Rates with jumps found again, which move the levels between jumps too, but as in the whole
    /// fit around `jumps`, where a moved jump would count as a change of level.
    pub(crate) fn rates(&self, grid: &[f64], jumps: &[Jump]) -> Vec<Vec<f64>> {
        let step = 1.0 / (grid.len() - 1) as f64;
        let mut rows = self.moved.clone();
        for jump in jumps {
            let from = grid.partition_point(|&x| x < jump.at - jump.within - step);
            let to = grid.partition_point(|&x| x <= jump.at + jump.within + step);
            for (row, fixed) in rows.iter_mut().zip(&self.rate) {
                row[from..to].copy_from_slice(&fixed[from..to]);
            }
        }
        rows
    }
}

/// The curve's values on an ascending grid.
pub(crate) fn values(spline: &Spline, grid: &[f64]) -> Vec<f64> {
    let mut interval = 0;
    let value = |&at: &f64| {
        interval = spline.interval_from(interval, at);
        spline.value_in(interval, at)
    };
    grid.iter().map(value).collect()
}

/// The curve's slopes on an ascending grid.
pub(crate) fn slopes(spline: &Spline, grid: &[f64]) -> Vec<f64> {
    let mut interval = 0;
    let slope = |&at: &f64| {
        interval = spline.interval_from(interval, at);
        spline.slope_in(interval, at)
    };
    grid.iter().map(slope).collect()
}

/// Jackknife standard error of each place; NaN with fewer than two replicates.
pub(crate) fn spread<'a>(
    replicates: impl Iterator<Item = &'a [f64]> + Clone,
    length: usize,
) -> Vec<f64> {
    let count = replicates.clone().count() as f64;
    let mut mean = vec![0.0; length];
    for row in replicates.clone() {
        mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += value / count);
    }
    let mut squares = vec![0.0; length];
    for row in replicates {
        for ((sum, value), mean) in squares.iter_mut().zip(row).zip(&mean) {
            *sum += (value - mean) * (value - mean);
        }
    }
    squares
        .iter()
        .map(|sum| if count < 2.0 { f64::NAN } else { ((count - 1.0) / count * sum).sqrt() })
        .collect()
}

/// Bias of smoothing in value and slope: the correction by twicing, the largest within `width` on
/// either side.
pub(crate) fn bias(
    knots: &Knots,
    lambda: f64,
    kinks: &[f64],
    spline: &Spline,
    grid: &[f64],
    width: f64,
) -> (Vec<f64>, Vec<f64>) {
    let mut residuals = knots.clone();
    for (y, &x) in residuals.y.iter_mut().zip(&knots.x) {
        *y -= spline.value(x);
    }
    // A very smooth curve must not be judged with its own smoothing: its residuals would hide the
    // same detail.
    let Ok(system) = System::new(&residuals, lambda.min(COARSEST)) else {
        return (vec![f64::NAN; grid.len()], vec![f64::NAN; grid.len()]);
    };
    let again = system.fit(kinks);
    let step = 1.0 / (grid.len() - 1) as f64;
    let reach = ((width / step).ceil() as usize).clamp(1, 40);
    (spread_out(&values(&again, grid), reach), spread_out(&slopes(&again, grid), reach))
}

/// The largest size among `reach` neighbours on either side.
fn spread_out(numbers: &[f64], reach: usize) -> Vec<f64> {
    (0..numbers.len())
        .map(|at| {
            let near = &numbers[at.saturating_sub(reach)..(at + reach + 1).min(numbers.len())];
            near.iter().fold(0.0, |most, number| f64::max(most, number.abs()))
        })
        .collect()
}

/// The bound of Student's t for 95 %, for `freedom` degrees of freedom; NaN for none.
pub(crate) fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 10] =
        [f64::NAN, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
    TABLE.get(freedom).copied().unwrap_or_else(|| {
        // The first terms of Fisher's expansion, exact to 0.003 from 10 on.
        let (z, n) = (1.959_964_f64, freedom as f64);
        z + (z.powi(3) + z) / (4.0 * n)
            + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
    })
}

/// Student's t as unlikely as `normal` of the normal distribution, for `freedom` degrees of
/// freedom; within 5 % from 4 on.
pub(crate) fn student_tail(normal: f64, freedom: usize) -> f64 {
    let n = freedom as f64;
    // Wallace, "Bounds on normal approximations to Student's and the chi-square distributions"
    // (1959).
    (n * ((normal * normal / (n - 0.5)).exp() - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_t() {
        assert!(student(0).is_nan());
        assert!((student(5) - 2.571).abs() < 1e-9);
        for (freedom, expected) in [(10, 2.228), (20, 2.086), (47, 2.012), (1000, 1.962)] {
            assert!((student(freedom) - expected).abs() < 0.003);
        }
    }

    #[test]
    fn spread_of_means_is_their_standard_error() {
        let values = [1.0, 4.0, 2.0, 9.0];
        let without: Vec<Vec<f64>> =
            (0..4).map(|at| vec![(values.iter().sum::<f64>() - values[at]) / 3.0]).collect();
        let found = spread(without.iter().map(Vec::as_slice), 1)[0];
        let variance = values.iter().map(|v| (v - 4.0_f64).powi(2)).sum::<f64>() / 3.0;
        assert!((found - (variance / 4.0).sqrt()).abs() < 1e-12);
    }
}

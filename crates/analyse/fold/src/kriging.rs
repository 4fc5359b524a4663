//! The reference's estimator: universal kriging with covariance `|h|^3`, linear drift and a fixed
//! nugget.
//!
//! Owns the dense equations, for comparison with the older tool. It equals the smoothing spline
//! with lambda = nugget / 12, at cubic cost, which is why samples beyond [`MOST`] are thinned
//! evenly. Follows Trochu, "A contouring program based on dual kriging interpolation" (1993).

use talea_model::{Gap, GapKind};

/// The reference's nugget.
pub const NUGGET: f64 = 1e-4;
/// Maximum number of samples that are used.
pub const MOST: usize = 1500;

/// Errors of kriging.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum KrigingError {
    /// Too few different places.
    #[error("expected samples at 2 places at least, found {0}")]
    TooFew(usize),
    /// No unique solution.
    #[error("expected a nugget above zero and finite samples")]
    Singular,
}

/// A fitted curve.
#[derive(Clone, Debug)]
pub struct Kriging {
    x: Vec<f64>,
    weights: Vec<f64>,
    drift: (f64, f64),
    /// Gap for samples that were left out.
    pub gap: Option<Gap>,
}

impl Kriging {
    /// Fits `y` at `x`; points that are not finite are left out, and beyond [`MOST`] all but evenly
    /// chosen ones in order of `x`.
    ///
    /// # Errors
    /// Fewer than two places, or no solution.
    pub fn new(x: &[f64], y: &[f64], nugget: f64) -> Result<Self, KrigingError> {
        let mut points: Vec<(f64, f64)> = x
            .iter()
            .copied()
            .zip(y.iter().copied())
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let places = points.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()).count();
        if places < 2 {
            return Err(KrigingError::TooFew(places));
        }
        if !(nugget > 0.0 && nugget.is_finite()) {
            return Err(KrigingError::Singular);
        }
        let found = points.len();
        let gap = (found > MOST).then(|| {
            points = (0..MOST).map(|i| points[i * (found - 1) / (MOST - 1)]).collect();
            let count = (found - MOST) as u64;
            let detail = format!("kriging uses {MOST} of {found} samples");
            Gap { kind: GapKind::Unsupported, rank: None, detail, count }
        });
        let n = points.len();
        let width = n + 3;
        let mut rows = vec![0.0; (n + 2) * width];
        for (i, &(x, y)) in points.iter().enumerate() {
            let row = &mut rows[i * width..(i + 1) * width];
            for (cell, other) in row.iter_mut().zip(&points) {
                *cell = (x - other.0).abs().powi(3);
            }
            row[i] += nugget;
            (row[n], row[n + 1], row[n + 2]) = (1.0, x, y);
            rows[n * width + i] = 1.0;
            rows[(n + 1) * width + i] = x;
        }
        let solved = eliminate(&mut rows, n + 2).ok_or(KrigingError::Singular)?;
        let drift = (solved[n], solved[n + 1]);
        let x = points.iter().map(|point| point.0).collect();
        Ok(Self { x, weights: solved[..n].to_vec(), drift, gap })
    }

    /// The value at `at`.
    pub fn value(&self, at: f64) -> f64 {
        let sum: f64 =
            self.x.iter().zip(&self.weights).map(|(x, w)| w * (at - x).abs().powi(3)).sum();
        self.drift.0 + self.drift.1 * at + sum
    }

    /// The slope at `at`.
    pub fn slope(&self, at: f64) -> f64 {
        let term = |(x, w): (&f64, &f64)| 3.0 * w * (at - x) * (at - x).abs();
        self.drift.1 + self.x.iter().zip(&self.weights).map(term).sum::<f64>()
    }
}

/// Gauss's elimination with row pivots, of `size` rows with the right side as the last column.
fn eliminate(rows: &mut [f64], size: usize) -> Option<Vec<f64>> {
    let width = size + 1;
    for k in 0..size {
        let best = (k..size)
            .max_by(|&a, &b| rows[a * width + k].abs().total_cmp(&rows[b * width + k].abs()))?;
        if best != k {
            let (upper, lower) = rows.split_at_mut(best * width);
            upper[k * width..(k + 1) * width].swap_with_slice(&mut lower[..width]);
        }
        let (upper, lower) = rows.split_at_mut((k + 1) * width);
        let pivot = &upper[k * width + k..(k + 1) * width];
        if !(pivot[0].abs() > 0.0 && pivot[0].is_finite()) {
            return None;
        }
        for row in lower.chunks_exact_mut(width) {
            let factor = row[k] / pivot[0];
            if factor != 0.0 {
                for (cell, above) in row[k..].iter_mut().zip(pivot) {
                    *cell -= factor * above;
                }
            }
        }
    }
    let mut solved = vec![0.0; size];
    for k in (0..size).rev() {
        let row = &rows[k * width..(k + 1) * width];
        let sum: f64 = row[k + 1..size].iter().zip(&solved[k + 1..]).map(|(a, b)| a * b).sum();
        solved[k] = (row[size] - sum) / row[k];
    }
    solved.iter().all(|value| value.is_finite()).then_some(solved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_a_line_and_many_samples_are_thinned() {
        let x: Vec<f64> = (0..1700).map(|i| f64::from(i) / 1699.0).collect();
        let y: Vec<f64> = x.iter().map(|x| 0.5 + 2.0 * x).collect();
        let fitted = Kriging::new(&x, &y, NUGGET).unwrap();
        assert!((fitted.value(0.3) - 1.1).abs() < 1e-6 && (fitted.slope(0.3) - 2.0).abs() < 1e-5);
        assert_eq!(fitted.gap.unwrap().detail, "kriging uses 1500 of 1700 samples");
    }

    #[test]
    fn nothing_to_fit_is_an_error() {
        assert_eq!(Kriging::new(&[1.0], &[1.0], 1.0).unwrap_err(), KrigingError::TooFew(1));
        let same = Kriging::new(&[1.0, 1.0, f64::NAN], &[1.0, 2.0, 3.0], 1.0);
        assert_eq!(same.unwrap_err(), KrigingError::TooFew(1));
        assert_eq!(
            Kriging::new(&[0.0, 1.0], &[0.0, 1.0], 0.0).unwrap_err(),
            KrigingError::Singular
        );
    }
}

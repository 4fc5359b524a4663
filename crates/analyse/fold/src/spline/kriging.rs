//! Dense kriging, the slow oracle of the smoothing spline.
//!
//! Universal kriging with covariance `|h|^3`, linear drift and a nugget equals the smoothing spline
//! with lambda = nugget / 12, at cubic cost. Follows Trochu, "A contouring program based on dual
//! kriging interpolation" (1993).

/// A fitted curve.
pub(super) struct Kriging {
    x: Vec<f64>,
    weights: Vec<f64>,
    drift: (f64, f64),
}

impl Kriging {
    /// Fits points at rising places.
    pub(super) fn new(points: &[(f64, f64)], nugget: f64) -> Self {
        let n = points.len();
        let width = n + 3;
        let mut rows = vec![0.0; (n + 2) * width];
        for (i, &(x, y)) in points.iter().enumerate() {
            let row = &mut rows[i * width..(i + 1) * width];
            for (cell, other) in row.iter_mut().zip(points) {
                *cell = (x - other.0).abs().powi(3);
            }
            row[i] += nugget;
            (row[n], row[n + 1], row[n + 2]) = (1.0, x, y);
            rows[n * width + i] = 1.0;
            rows[(n + 1) * width + i] = x;
        }
        let solved = eliminate(&mut rows, n + 2).expect("one solution");
        let x = points.iter().map(|point| point.0).collect();
        Self { x, weights: solved[..n].to_vec(), drift: (solved[n], solved[n + 1]) }
    }

    /// The value at `at`.
    pub(super) fn value(&self, at: f64) -> f64 {
        let sum: f64 =
            self.x.iter().zip(&self.weights).map(|(x, w)| w * (at - x).abs().powi(3)).sum();
        self.drift.0 + self.drift.1 * at + sum
    }

    /// The slope at `at`.
    pub(super) fn slope(&self, at: f64) -> f64 {
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

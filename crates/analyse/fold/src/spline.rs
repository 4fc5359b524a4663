//! The natural cubic smoothing spline with kinks, in linear time.
//!
//! Owns the minimiser of `sum w (y - f)^2 + lambda * integral f''^2` over functions with free kinks
//! at given places: Reinsch's banded equations in the second derivatives, in which an infinite
//! weight (a point that the curve must meet) is an ordinary case. It is the posterior mean of an
//! integrated Wiener process; a kink of `f` is a jump of its rate, whose test needs only the inner
//! band of the inverse matrix (Hutchinson and de Hoog, "Smoothing noisy data with spline
//! functions", 1985). Refuses to choose lambda or kinks.

#![allow(clippy::many_single_char_names, reason = "the names of the paper, one letter each")]

mod kinks;

use serde::{Deserialize, Serialize};

pub use self::kinks::{Candidate, Heights};
use self::kinks::{Kinked, Small, dot, gram};

/// Points to fit: `x` strictly ascending, and weights; an infinite weight makes the curve meet its
/// point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Knots {
    /// Places.
    pub x: Vec<f64>,
    /// Values.
    pub y: Vec<f64>,
    /// One over the weights: 0 where the curve must meet the point.
    pub variance: Vec<f64>,
}

/// Errors of the spline.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SplineError {
    /// Too few points.
    #[error("expected at least 3 points, found {0}")]
    TooFew(usize),
    /// Columns of different lengths.
    #[error("expected as many values and weights as places")]
    Lengths,
    /// Places that do not ascend, or numbers that are not finite.
    #[error("expected finite numbers and rising places, point {0} is not so")]
    Disordered(usize),
    /// A smoothing that is not a number above zero.
    #[error("expected a smoothing above zero, found {0}")]
    Smoothing(f64),
}

impl Knots {
    /// All points in order of `x`, those at the same place as one with the sum of their weights;
    /// points that are not finite or whose weight is not above zero are left out.
    pub fn merged(points: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        let mut points: Vec<(f64, f64, f64)> = points
            .into_iter()
            .filter(|&(x, y, w)| x.is_finite() && y.is_finite() && w > 0.0)
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut knots = Self::default();
        for same in points.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
            let weight: f64 = same.iter().map(|p| p.2).sum();
            let y = if weight.is_finite() {
                same.iter().map(|p| p.1 * p.2).sum::<f64>() / weight
            } else {
                // Points that the curve must meet override all others.
                let met = same.iter().filter(|p| p.2.is_infinite());
                let (sum, count) = met.fold((0.0, 0.0), |(sum, n), p| (sum + p.1, n + 1.0));
                sum / count
            };
            knots.x.push(same[0].0);
            knots.y.push(y);
            knots.variance.push(1.0 / weight);
        }
        knots
    }

    fn check(&self, lambda: f64) -> Result<(), SplineError> {
        let count = self.x.len();
        if count < 3 {
            return Err(SplineError::TooFew(count));
        }
        if self.y.len() != count || self.variance.len() != count {
            return Err(SplineError::Lengths);
        }
        let wrong = |at: usize| {
            let numbers = [self.x[at], self.y[at], self.variance[at]];
            numbers.iter().any(|number| !number.is_finite())
                || self.variance[at] < 0.0
                || (at > 0 && self.x[at] <= self.x[at - 1])
        };
        if let Some(at) = (0..count).find(|&at| wrong(at)) {
            return Err(SplineError::Disordered(at));
        }
        if !(lambda > 0.0 && lambda.is_finite()) {
            return Err(SplineError::Smoothing(lambda));
        }
        Ok(())
    }
}

/// The equations of one set of places, weights and lambda, factored.
#[derive(Clone, Debug)]
pub struct System<'a> {
    knots: &'a Knots,
    lambda: f64,
    /// Distances between places.
    h: Vec<f64>,
    /// One over the diagonal of D, and the two bands of L, of `L D L^T = R + lambda Q^T V Q`.
    pivot: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
}

/// A fitted curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spline {
    x: Vec<f64>,
    /// Values of the smooth part, without kinks.
    smooth: Vec<f64>,
    /// Second derivatives of the smooth part.
    bend: Vec<f64>,
    /// Places and heights of the jumps of the slope.
    kinks: Vec<(f64, f64)>,
}

impl<'a> System<'a> {
    /// Factors the equations.
    ///
    /// # Errors
    /// Too few or disordered points, or lambda not above zero.
    pub fn new(knots: &'a Knots, lambda: f64) -> Result<Self, SplineError> {
        knots.check(lambda)?;
        let h: Vec<f64> = knots.x.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let inner = h.len() - 1;
        let (mut pivot, mut first, mut second) =
            (vec![0.0; inner], vec![0.0; inner], vec![0.0; inner]);
        let v = &knots.variance;
        let (mut d1, mut d2, mut below) = (0.0, 0.0, 0.0);
        for j in 0..inner {
            let (a, b) = (1.0 / h[j], 1.0 / h[j + 1]);
            let diagonal = (h[j] + h[j + 1]) / 3.0
                + lambda * (v[j] * a * a + v[j + 1] * (a + b) * (a + b) + v[j + 2] * b * b);
            let c = if j + 1 < inner { 1.0 / h[j + 2] } else { 0.0 };
            let off1 = h[j + 1] / 6.0 - lambda * (v[j + 1] * (a + b) * b + v[j + 2] * b * (b + c));
            let off2 = lambda * v[j + 2] * b * c;
            // Column j of L from columns j - 1 and j - 2, whose pivots are d1 and d2.
            let lower: f64 = if j > 0 { first[j - 1] } else { 0.0 };
            let lowest: f64 = if j > 1 { second[j - 2] } else { 0.0 };
            let d = diagonal - lower * lower * d1 - lowest * lowest * d2;
            let one = 1.0 / d;
            pivot[j] = one;
            first[j] = (off1 - below * lower) * one;
            second[j] = off2 * one;
            below = second[j] * d;
            (d2, d1) = (d1, d);
        }
        if inner > 0 {
            first[inner - 1] = 0.0;
            second[inner - 1] = 0.0;
        }
        if inner > 1 {
            second[inner - 2] = 0.0;
        }
        Ok(Self { knots, lambda, h, pivot, first, second })
    }

    /// Solves the equations in place.
    fn solve(&self, rhs: &mut [f64]) {
        self.solve_from(rhs, 0);
    }

    /// Solves the equations in place, where `rhs` is zero before place `from`.
    fn solve_from(&self, rhs: &mut [f64], from: usize) {
        // Two values are carried along: reading back stored values would take most of the time.
        let (mut before, mut last) = (0.0, 0.0);
        for (j, value) in rhs.iter_mut().enumerate().skip(from) {
            let two = if j > 1 { self.second[j - 2] * before } else { 0.0 };
            let one = if j > 0 { self.first[j - 1] * last } else { 0.0 };
            (before, last) = (last, *value - two - one);
            *value = last;
        }
        let (mut after, mut next) = (0.0, 0.0);
        let bands = self.pivot.iter().zip(&self.first).zip(&self.second);
        for (((pivot, first), second), value) in bands.zip(rhs).rev() {
            // The part that does not depend on the following value comes first.
            let found = (*value * pivot - second * after) - first * next;
            (after, next) = (next, found);
            *value = found;
        }
    }

    /// Differences of the slopes of the polygon through `y`.
    fn bends(&self, y: &[f64]) -> Vec<f64> {
        (0..self.h.len() - 1)
            .map(|j| (y[j + 2] - y[j + 1]) / self.h[j + 1] - (y[j + 1] - y[j]) / self.h[j])
            .collect()
    }

    /// Diagonal and first band of the inverse matrix.
    fn inverse_band(&self) -> (Vec<f64>, Vec<f64>) {
        let n = self.pivot.len();
        let (mut p0, mut p1) = (vec![0.0; n + 2], vec![0.0; n + 2]);
        for j in (0..n).rev() {
            let (a, b) = (self.first[j], self.second[j]);
            let next = -a * p0[j + 1] - b * p1[j + 1];
            let after = -a * p1[j + 1] - b * p0[j + 2];
            p0[j] = self.pivot[j] - a * next - b * after;
            p1[j] = next;
        }
        p0.truncate(n);
        p1.truncate(n);
        (p0, p1)
    }

    /// Fits with kinks at `kinks`; kinks that cannot be separated from others or from the ends get
    /// height 0.
    pub fn fit(&self, kinks: &[f64]) -> Spline {
        let mut y = self.knots.y.clone();
        let mut gamma = self.bends(&y);
        self.solve(&mut gamma);
        let mut heights = vec![0.0; kinks.len()];
        if !kinks.is_empty() {
            let kinked = Kinked::all(self, kinks);
            let kinked: Vec<&Kinked> = kinked.iter().collect();
            let rhs: Vec<f64> = kinked.iter().map(|k| dot(&k.column, &gamma)).collect();
            heights = Small::new(gram(&kinked)).solve(rhs);
            for (kink, height) in kinked.iter().zip(&heights) {
                for (gamma, p) in gamma.iter_mut().zip(&kink.inverse) {
                    *gamma -= height * p;
                }
            }
            for (&at, &height) in kinks.iter().zip(&heights) {
                for (y, &x) in y.iter_mut().zip(&self.knots.x) {
                    *y -= height * (x - at).max(0.0);
                }
            }
        }
        let n = y.len();
        let mut bend = vec![0.0; n];
        bend[1..n - 1].copy_from_slice(&gamma);
        for k in 0..n {
            let before = if k == 0 { 0.0 } else { (bend[k] - bend[k - 1]) / self.h[k - 1] };
            let after = if k + 1 == n { 0.0 } else { (bend[k + 1] - bend[k]) / self.h[k] };
            y[k] -= self.lambda * self.knots.variance[k] * (after - before);
        }
        let kinks = kinks.iter().copied().zip(heights).collect();
        Spline { x: self.knots.x.clone(), smooth: y, bend, kinks }
    }
}

impl Spline {
    /// Jumps of the slope: places and heights.
    pub fn kinks(&self) -> &[(f64, f64)] {
        &self.kinks
    }

    /// The interval that contains `at`; its last or first beyond the ends.
    pub fn interval(&self, at: f64) -> usize {
        (self.x.partition_point(|&x| x <= at).max(1) - 1).min(self.x.len() - 2)
    }

    /// The interval that contains `at`, which lies in interval `from` or not far after it.
    pub fn interval_from(&self, from: usize, at: f64) -> usize {
        let mut interval = from.min(self.x.len() - 2);
        while interval + 2 < self.x.len() && self.x[interval + 1] <= at {
            interval += 1;
        }
        interval
    }

    /// The value at `at`; linear beyond the ends.
    pub fn value(&self, at: f64) -> f64 {
        self.value_in(self.interval(at), at)
    }

    /// The value at `at`, which the caller knows to be in interval `k`.
    pub fn value_in(&self, k: usize, at: f64) -> f64 {
        let h = self.x[k + 1] - self.x[k];
        let t = ((at - self.x[k]) / h).clamp(0.0, 1.0);
        let (s, b) = (&self.smooth, &self.bend);
        let bent = h * h / 6.0 * t * (1.0 - t) * ((2.0 - t) * b[k] + (1.0 + t) * b[k + 1]);
        let mut value = s[k] + t * (s[k + 1] - s[k]) - bent;
        let beyond = at - (self.x[k] + t * h);
        if beyond.abs() > 1e-12 * h {
            value += beyond * self.smooth_slope(k, t);
        }
        for &(place, height) in &self.kinks {
            value += height * (at - place).max(0.0);
        }
        value
    }

    fn smooth_slope(&self, k: usize, t: f64) -> f64 {
        let h = self.x[k + 1] - self.x[k];
        let (s, b) = (&self.smooth, &self.bend);
        (s[k + 1] - s[k]) / h
            + h / 6.0 * ((3.0 * t * t - 1.0) * b[k + 1] - (2.0 - 6.0 * t + 3.0 * t * t) * b[k])
    }

    /// The slope at `at`; at a kink the one after it.
    pub fn slope(&self, at: f64) -> f64 {
        self.slope_in(self.interval(at), at)
    }

    /// The slope at `at`, which the caller knows to be in interval `k`.
    pub fn slope_in(&self, k: usize, at: f64) -> f64 {
        let h = self.x[k + 1] - self.x[k];
        let t = ((at - self.x[k]) / h).clamp(0.0, 1.0);
        let kinks = self.kinks.iter().filter(|kink| kink.0 <= at).map(|kink| kink.1).sum::<f64>();
        self.smooth_slope(k, t) + kinks
    }
}

#[cfg(test)]
mod kriging;
#[cfg(test)]
mod tests;

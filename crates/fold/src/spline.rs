//! The natural cubic smoothing spline with kinks, in linear time.
//!
//! Owns the minimiser of `sum w (y - f)^2 + lambda * integral f''^2` over functions with free kinks at given places: Reinsch's banded
//! equations in the second derivatives, in which an infinite weight (a point that the curve must meet) is an ordinary case. It is the
//! posterior mean of an integrated Wiener process; a kink of `f` is a jump of its rate, whose test needs only the inner band of
//! the inverse matrix (Hutchinson and de Hoog, "Smoothing noisy data with spline functions", 1985). Refuses to choose lambda or kinks.

use serde::{Deserialize, Serialize};

/// Points to fit: `x` rising strictly, and weights; an infinite weight makes the curve meet its point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Knots {
    /// Places.
    pub x: Vec<f64>,
    /// Values.
    pub y: Vec<f64>,
    /// One over the weights: 0 where the curve must meet the point.
    pub variance: Vec<f64>,
}

/// Why nothing can be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SplineError {
    /// Too few points.
    #[error("expected at least 3 points, found {0}")]
    TooFew(usize),
    /// Columns of different lengths.
    #[error("expected as many values and weights as places")]
    Lengths,
    /// Places that do not rise, or numbers that are not finite.
    #[error("expected finite numbers and rising places, point {0} is not so")]
    Disordered(usize),
    /// A smoothing that is not a number above zero.
    #[error("expected a smoothing above zero, found {0}")]
    Smoothing(f64),
}

impl Knots {
    /// All points in order of `x`, those at the same place as one with the sum of their weights; points that are not
    /// finite or whose weight is not above zero are left out.
    pub fn merged(points: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        let mut points: Vec<(f64, f64, f64)> = points
            .into_iter()
            .filter(|&(x, y, w)| x.is_finite() && y.is_finite() && w > 0.0)
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut knots = Self::default();
        for same in points.chunk_by(|a, b| a.0 == b.0) {
            let weight: f64 = same.iter().map(|p| p.2).sum();
            let y = if weight.is_finite() {
                same.iter().map(|p| p.1 * p.2).sum::<f64>() / weight
            } else {
                // Points that must be met win over all others.
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

/// What one more kink would do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Its place.
    pub at: f64,
    /// By how much the minimum falls.
    pub gain: f64,
}

impl<'a> System<'a> {
    /// Factors the equations.
    ///
    /// # Errors
    /// Where the points are too few or disordered, or lambda is not above zero.
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
        let n = rhs.len();
        for j in 0..n {
            let value = rhs[j];
            if j + 1 < n {
                rhs[j + 1] -= self.first[j] * value;
            }
            if j + 2 < n {
                rhs[j + 2] -= self.second[j] * value;
            }
        }
        for j in (0..n).rev() {
            let mut value = rhs[j] * self.pivot[j];
            if j + 1 < n {
                value -= self.first[j] * rhs[j + 1];
            }
            if j + 2 < n {
                value -= self.second[j] * rhs[j + 2];
            }
            rhs[j] = value;
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

    /// The interval and its share before `at`: a kink at `at` bends the polygon at two inner points, by `u` and `1 - u`.
    fn place(&self, at: f64) -> (usize, f64) {
        let k = (self.knots.x.partition_point(|&x| x <= at).max(1) - 1).min(self.h.len() - 1);
        (k, ((self.knots.x[k + 1] - at) / self.h[k]).clamp(0.0, 1.0))
    }

    /// Column of the kink at `at`, as (inner point, weight).
    fn column(&self, at: f64) -> [(usize, f64); 2] {
        let (k, u) = self.place(at);
        let last = self.h.len() - 1;
        // Knot k is inner point k - 1; the ends have no equation, where a kink is a mere slope.
        let left = if k == 0 { (0, 0.0) } else { (k - 1, u) };
        let right = if k == last { (0, 0.0) } else { (k, 1.0 - u) };
        [left, right]
    }

    /// Fits with kinks at `kinks`; kinks that cannot be told apart from others or from the ends get height 0.
    pub fn fit(&self, kinks: &[f64]) -> Spline {
        let mut y = self.knots.y.clone();
        let mut gamma = self.bends(&y);
        self.solve(&mut gamma);
        let mut heights = vec![0.0; kinks.len()];
        if !kinks.is_empty() {
            let kinked: Vec<Kinked> = kinks.iter().map(|&at| Kinked::new(self, at)).collect();
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

    /// The best place for one more kink beside `kinks`, from `range.0` to `range.1`, among those that `allowed` admits.
    pub fn candidate(
        &self,
        kinks: &[f64],
        range: (f64, f64),
        allowed: impl Fn(f64) -> bool,
    ) -> Option<Candidate> {
        let kinked: Vec<Kinked> = kinks.iter().map(|&at| Kinked::new(self, at)).collect();
        self.residual().best(self, &kinked.iter().collect::<Vec<_>>(), range, allowed)
    }

    /// Moves each kink to its best place nearer to it than to its neighbours, given the others; `closest` to the ends at most.
    pub fn refine(&self, kinks: &mut [f64], closest: f64) {
        let mut kinked: Vec<Kinked> = kinks.iter().map(|&at| Kinked::new(self, at)).collect();
        let residual = if kinks.is_empty() { return } else { self.residual() };
        for at in 0..kinks.len() {
            let old = kinks[at];
            let others = |i: &usize| *i != at;
            let distances = (0..kinks.len()).filter(others).map(|i| (kinks[i] - old).abs());
            let distance = distances.fold(f64::INFINITY, f64::min);
            let reach = (0.45 * distance).min(distance - closest).clamp(0.0, 0.06);
            let range = ((old - reach).max(closest), (old + reach).min(1.0 - closest));
            let rest: Vec<&Kinked> = (0..kinks.len()).filter(others).map(|i| &kinked[i]).collect();
            if let Some(found) = residual.best(self, &rest, range, |_| true) {
                kinks[at] = found.at;
                kinked[at] = Kinked::new(self, found.at);
            }
        }
    }

    /// The places around kink `which` at which it would explain at least `share` of what it explains at its own, the others
    /// unmoved; no further than half way to its neighbours.
    pub fn places(&self, kinks: &[f64], which: usize, share: f64) -> (f64, f64) {
        let Some(&own) = kinks.get(which) else { return (f64::NAN, f64::NAN) };
        let others = |i: &usize| *i != which;
        let rest: Vec<f64> = (0..kinks.len()).filter(others).map(|i| kinks[i]).collect();
        let distances = rest.iter().map(|other| (other - own).abs());
        let reach = distances.fold(0.2, f64::min) / 2.0;
        let kinked: Vec<Kinked> = rest.iter().map(|&at| Kinked::new(self, at)).collect();
        let kinked: Vec<&Kinked> = kinked.iter().collect();
        let mut gains = Vec::new();
        let range = (own - reach, own + reach);
        self.residual().scan(self, &kinked, range, &mut |found| gains.push(found));
        let most = gains.iter().map(|found| found.gain).fold(0.0, f64::max);
        let enough = |found: &&Candidate| found.gain >= share * most;
        let first = gains.iter().find(enough).map_or(own, |found| found.at);
        let last = gains.iter().rev().find(enough).map_or(own, |found| found.at);
        (first.min(own), last.max(own))
    }

    /// What decides the heights of any of `kinks`.
    pub fn heights(&self, kinks: &[f64]) -> Heights {
        let mut gamma = self.bends(&self.knots.y);
        self.solve(&mut gamma);
        let kinked: Vec<Kinked> = kinks.iter().map(|&at| Kinked::new(self, at)).collect();
        let kinked: Vec<&Kinked> = kinked.iter().collect();
        Heights { gram: gram(&kinked), parts: kinked.iter().map(|k| dot(&k.column, &gamma)).collect() }
    }

    fn residual(&self) -> Residual {
        let mut gamma = self.bends(&self.knots.y);
        self.solve(&mut gamma);
        let (p0, p1) = self.inverse_band();
        Residual { gamma, p0, p1 }
    }
}

/// Second derivatives without kinks, and the band of the inverse matrix.
struct Residual {
    gamma: Vec<f64>,
    p0: Vec<f64>,
    p1: Vec<f64>,
}

impl Residual {
    fn best(
        &self,
        system: &System<'_>,
        kinks: &[&Kinked],
        range: (f64, f64),
        allowed: impl Fn(f64) -> bool,
    ) -> Option<Candidate> {
        let mut best = None::<Candidate>;
        self.scan(system, kinks, range, &mut |found| {
            if best.is_none_or(|best| found.gain > best.gain) && allowed(found.at) {
                best = Some(found);
            }
        });
        best
    }

    /// Shows every place for one more kink, in rising order.
    fn scan(
        &self,
        system: &System<'_>,
        kinks: &[&Kinked],
        range: (f64, f64),
        visit: &mut dyn FnMut(Candidate),
    ) {
        let (x, h) = (&system.knots.x, &system.h);
        let first = x.partition_point(|&x| x < range.0).max(1) - 1;
        let last = x.partition_point(|&x| x <= range.1).min(h.len());
        // Inner points that intervals first..last touch.
        let (from, to) = (first.saturating_sub(1), last.min(self.gamma.len()));
        if from >= to {
            return;
        }
        let mut gamma = self.gamma[from..to].to_vec();
        let (mut p0, mut p1) = (self.p0[from..to].to_vec(), self.p1[from..to].to_vec());
        // What the kinks already there explain is taken out of the residuals and of their covariance.
        for (white, part) in whitened(kinks, &self.gamma, from..to) {
            for j in 0..white.len() {
                gamma[j] -= part * white[j];
                p0[j] -= white[j] * white[j];
                p1[j] -= white[j] * white.get(j + 1).copied().unwrap_or(0.0);
            }
        }
        for k in first..last {
            for step in 0..4 {
                let u = 1.0 - f64::from(step) / 4.0;
                let at = x[k] + (1.0 - u) * h[k];
                let (left, right) = (k.checked_sub(1), (k + 1 < h.len()).then_some(k));
                let (wl, wr) = (u, 1.0 - u);
                let (mut score, mut spread) = (0.0, 0.0);
                if let Some(l) = left {
                    score += wl * gamma[l - from];
                    spread += wl * wl * p0[l - from];
                }
                if let Some(r) = right {
                    score += wr * gamma[r - from];
                    spread += wr * wr * p0[r - from];
                }
                if let (Some(l), Some(_)) = (left, right) {
                    spread += 2.0 * wl * wr * p1[l - from];
                }
                let gain = system.lambda * score * score / spread;
                // Beside a kink that is there already nothing is left, but for rounding.
                let floor = 1e-9 * system.pivot[left.or(right).unwrap_or(0)];
                if (range.0..=range.1).contains(&at) && spread > floor {
                    visit(Candidate { at, gain });
                }
            }
        }
    }
}

/// A kink as a column, with the inverse matrix applied to it.
struct Kinked {
    column: [(usize, f64); 2],
    inverse: Vec<f64>,
}

impl Kinked {
    fn new(system: &System<'_>, at: f64) -> Self {
        let column = system.column(at);
        let mut inverse = vec![0.0; system.pivot.len()];
        for &(at, weight) in &column {
            inverse[at] += weight;
        }
        system.solve(&mut inverse);
        Self { column, inverse }
    }
}

fn gram(kinks: &[&Kinked]) -> Vec<Vec<f64>> {
    let row = |k: &Kinked| kinks.iter().map(|other| dot(&k.column, &other.inverse)).collect();
    kinks.iter().map(|kink| row(kink)).collect()
}

/// Columns made orthonormal in the metric of the inverse matrix, after it was applied and within `range`, each with its part
/// in `gamma`.
fn whitened(
    kinks: &[&Kinked],
    gamma: &[f64],
    range: std::ops::Range<usize>,
) -> Vec<(Vec<f64>, f64)> {
    let small = Small::new(gram(kinks));
    let mut found: Vec<(Vec<f64>, f64)> = Vec::with_capacity(kinks.len());
    for (kink, row) in kinks.iter().zip(&small.0) {
        let mut white = kink.inverse[range.clone()].to_vec();
        let mut part = dot(&kink.column, gamma);
        for ((other, other_part), factor) in found.iter().zip(row) {
            white.iter_mut().zip(other).for_each(|(white, other)| *white -= factor * other);
            part -= factor * other_part;
        }
        // A kink that depends on those before it adds nothing.
        let pivot = row[found.len()];
        let scale = if pivot > 0.0 { 1.0 / pivot } else { 0.0 };
        white.iter_mut().for_each(|white| *white *= scale);
        found.push((white, part * scale));
    }
    found
}

/// What decides the heights of kinks, all or only some of them.
#[derive(Clone, Debug)]
pub struct Heights {
    gram: Vec<Vec<f64>>,
    parts: Vec<f64>,
}

impl Heights {
    /// Heights when only the kinks at the places `chosen` of the list are there; places beyond the list are left out.
    pub fn of(&self, chosen: &[usize]) -> Vec<f64> {
        let chosen: Vec<usize> = chosen.iter().copied().filter(|&i| i < self.parts.len()).collect();
        let rows = chosen.iter().map(|&i| chosen.iter().map(|&j| self.gram[i][j]).collect());
        Small::new(rows.collect()).solve(chosen.iter().map(|&i| self.parts[i]).collect())
    }
}

fn dot(column: &[(usize, f64); 2], values: &[f64]) -> f64 {
    column.iter().map(|&(at, weight)| weight * values[at]).sum()
}

/// A small symmetric matrix in Cholesky's factors; rows that depend on earlier ones give 0.
struct Small(Vec<Vec<f64>>);

impl Small {
    fn new(mut rows: Vec<Vec<f64>>) -> Self {
        for i in 0..rows.len() {
            for j in 0..=i {
                let sum: f64 = (0..j).map(|k| rows[i][k] * rows[j][k]).sum();
                let left = rows[i][j] - sum;
                rows[i][j] = if i == j {
                    if left > 1e-10 * rows[i][i] { left.sqrt() } else { 0.0 }
                } else if rows[j][j] > 0.0 {
                    left / rows[j][j]
                } else {
                    0.0
                };
            }
        }
        Self(rows)
    }

    fn solve(&self, mut rhs: Vec<f64>) -> Vec<f64> {
        let rows = &self.0;
        for i in 0..rhs.len() {
            let sum: f64 = (0..i).map(|k| rows[i][k] * rhs[k]).sum();
            rhs[i] = if rows[i][i] > 0.0 { (rhs[i] - sum) / rows[i][i] } else { 0.0 };
        }
        for i in (0..rhs.len()).rev() {
            let sum: f64 = (i + 1..rhs.len()).map(|k| rows[k][i] * rhs[k]).sum();
            rhs[i] = if rows[i][i] > 0.0 { (rhs[i] - sum) / rows[i][i] } else { 0.0 };
        }
        rhs
    }
}

impl Spline {
    /// Jumps of the slope: places and heights.
    pub fn kinks(&self) -> &[(f64, f64)] {
        &self.kinks
    }

    /// The interval that holds `at`; its last or first beyond the ends.
    pub fn interval(&self, at: f64) -> usize {
        (self.x.partition_point(|&x| x <= at).max(1) - 1).min(self.x.len() - 2)
    }

    /// The interval that holds `at`, which lies in interval `from` or not far behind it.
    pub fn interval_from(&self, from: usize, at: f64) -> usize {
        let mut interval = from.min(self.x.len() - 2);
        while interval + 2 < self.x.len() && self.x[interval + 1] <= at {
            interval += 1;
        }
        interval
    }

    /// The value at `at`, straight beyond the ends.
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

    /// The slope at `at`; at a kink the one behind it.
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
mod tests;

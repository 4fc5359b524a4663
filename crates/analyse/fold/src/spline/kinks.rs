//! Kinks of a smoothing spline: their columns, the test of one more, their best places and their
//! heights.
//!
//! Owns the algebra by which kinks cost a banded solve each, however many samples there are. A kink
//! bends the polygon at two inner points at most, so that all places are tested with the inner band
//! of the inverse matrix. Kinks that cannot be separated from others get height 0.

use super::System;

/// Effect of one more kink.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Its place.
    pub at: f64,
    /// Decrease of the minimum.
    pub gain: f64,
}

/// Number of equations that are solved side by side.
const LANES: usize = 4;

impl System<'_> {
    /// [`System::solve_from`] for several right sides, whose numbers lie beside each other.
    fn solve_lanes(&self, rhs: &mut [[f64; LANES]], from: usize) {
        let (mut before, mut last) = ([0.0; LANES], [0.0; LANES]);
        for (j, values) in rhs.iter_mut().enumerate().skip(from) {
            let two = if j > 1 { self.second[j - 2] } else { 0.0 };
            let one = if j > 0 { self.first[j - 1] } else { 0.0 };
            let now: [f64; LANES] =
                std::array::from_fn(|i| values[i] - two * before[i] - one * last[i]);
            (before, last, *values) = (last, now, now);
        }
        let (mut after, mut next) = ([0.0; LANES], [0.0; LANES]);
        let bands = self.pivot.iter().zip(&self.first).zip(&self.second);
        for (((pivot, first), second), values) in bands.zip(rhs).rev() {
            let found: [f64; LANES] =
                std::array::from_fn(|i| (values[i] * pivot - second * after[i]) - first * next[i]);
            (after, next, *values) = (next, found, found);
        }
    }

    /// The interval and its share before `at`: a kink at `at` bends the polygon at two inner
    /// points, by `u` and `1 - u`.
    fn place(&self, at: f64) -> (usize, f64) {
        let k = (self.knots.x.partition_point(|&x| x <= at).max(1) - 1).min(self.h.len() - 1);
        (k, ((self.knots.x[k + 1] - at) / self.h[k]).clamp(0.0, 1.0))
    }

    /// Column of the kink at `at`, as (inner point, weight).
    fn column(&self, at: f64) -> [(usize, f64); 2] {
        let (k, u) = self.place(at);
        let last = self.h.len() - 1;
        // Knot k is inner point k - 1; the ends have no equation, as a kink there is a mere slope.
        let left = if k == 0 { (0, 0.0) } else { (k - 1, u) };
        let right = if k == last { (0, 0.0) } else { (k, 1.0 - u) };
        [left, right]
    }

    /// The best place for one more kink beside `kinks`, from `range.0` to `range.1`, among those
    /// for which `allowed` is true.
    pub fn candidate(
        &self,
        kinks: &[f64],
        range: (f64, f64),
        allowed: impl Fn(f64) -> bool,
    ) -> Option<Candidate> {
        let kinked = Kinked::all(self, kinks);
        self.residual().best(self, &kinked.iter().collect::<Vec<_>>(), range, allowed)
    }

    /// Adds the best kinks, one after the other and each further than `closest` from others and
    /// from the ends, up to `most` in all and as long as one gains more than `share` of the first
    /// one's gain.
    pub fn grow(&self, kinks: &mut Vec<f64>, most: usize, share: f64, closest: f64) {
        let mut kinked = Kinked::all(self, kinks);
        let residual = self.residual();
        let mut first = None::<f64>;
        while kinks.len() < most {
            let free = |at: f64| kinks.iter().all(|kink| (kink - at).abs() > closest);
            let there: Vec<&Kinked> = kinked.iter().collect();
            let range = (closest, 1.0 - closest);
            let Some(found) = residual.best(self, &there, range, free) else { break };
            if found.gain < share * *first.get_or_insert(found.gain) {
                break;
            }
            kinks.push(found.at);
            kinked.push(Kinked::new(self, found.at));
        }
    }

    /// Moves each kink to its best place nearer to it than to its neighbours, given the others;
    /// `closest` to the ends at most.
    pub fn refine(&self, kinks: &mut [f64], closest: f64) {
        let mut kinked = Kinked::all(self, kinks);
        let residual = if kinks.is_empty() { return } else { self.residual() };
        for at in 0..kinks.len() {
            let old = kinks[at];
            let others = |i: &usize| *i != at;
            let distances = (0..kinks.len()).filter(others).map(|i| (kinks[i] - old).abs());
            let distance = distances.fold(f64::INFINITY, f64::min);
            let reach = (0.45 * distance).min(distance - closest).clamp(0.0, 0.06);
            let range = ((old - reach).max(closest), (old + reach).min(1.0 - closest));
            let rest: Vec<&Kinked> = (0..kinks.len()).filter(others).map(|i| &kinked[i]).collect();
            if let Some(found) = residual.best(self, &rest, range, |_| true)
                && found.at.total_cmp(&old).is_ne()
            {
                kinks[at] = found.at;
                kinked[at] = Kinked::new(self, found.at);
            }
        }
    }

    /// For each kink the places around it at which it would explain at least its share of `shares`
    /// of its explanation at its own, the others unmoved; no further than half way to its
    /// neighbours.
    pub fn places(&self, kinks: &[f64], shares: &[f64]) -> Vec<(f64, f64)> {
        if kinks.is_empty() {
            return Vec::new();
        }
        let (kinked, residual) = (Kinked::all(self, kinks), self.residual());
        let one = |(which, (&own, &share)): (usize, (&f64, &f64))| {
            let others = |i: &usize| *i != which;
            let distances = (0..kinks.len()).filter(others).map(|i| (kinks[i] - own).abs());
            let reach = distances.fold(0.2, f64::min) / 2.0;
            let rest: Vec<&Kinked> = (0..kinks.len()).filter(others).map(|i| &kinked[i]).collect();
            let mut gains = Vec::new();
            let range = (own - reach, own + reach);
            residual.scan(self, &rest, range, &mut |found| gains.push(found));
            let most = gains.iter().map(|found| found.gain).fold(0.0, f64::max);
            let enough = |found: &&Candidate| found.gain >= share * most;
            // Only the places connected to its own: further away lies the effect of another kink.
            let middle = gains.partition_point(|found| found.at < own);
            let before = gains[..middle].iter().rev().take_while(enough).last();
            let after = gains[middle..].iter().take_while(enough).last();
            let first = before.map_or(own, |found| found.at);
            let last = after.map_or(own, |found| found.at);
            (first.min(own), last.max(own))
        };
        kinks.iter().zip(shares).enumerate().map(one).collect()
    }

    /// Equations for the heights of any of `kinks`.
    pub fn heights(&self, kinks: &[f64]) -> Heights {
        let mut gamma = self.bends(&self.knots.y);
        self.solve(&mut gamma);
        let kinked = Kinked::all(self, kinks);
        let kinked: Vec<&Kinked> = kinked.iter().collect();
        Heights {
            gram: gram(&kinked),
            parts: kinked.iter().map(|k| dot(&k.column, &gamma)).collect(),
        }
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

    /// Passes on every place for one more kink, in ascending order.
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
        // The part explained by existing kinks is removed from the residuals and from their
        // covariance.
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
                // Beside an existing kink nothing is left, except for rounding.
                let floor = 1e-9 * system.pivot[left.or(right).unwrap_or(0)];
                if (range.0..=range.1).contains(&at) && spread > floor {
                    visit(Candidate { at, gain });
                }
            }
        }
    }
}

/// A kink as a column, with the inverse matrix applied to it.
pub(super) struct Kinked {
    pub(super) column: [(usize, f64); 2],
    pub(super) inverse: Vec<f64>,
}

impl Kinked {
    /// All of `kinks`, four side by side: each step of a solve waits for the step before it, and
    /// four wait together.
    pub(super) fn all(system: &System<'_>, kinks: &[f64]) -> Vec<Self> {
        let mut found = Vec::with_capacity(kinks.len());
        for some in kinks.chunks(LANES) {
            if let [alone] = some {
                found.push(Self::new(system, *alone));
                continue;
            }
            let columns: Vec<_> = some.iter().map(|&at| system.column(at)).collect();
            let mut lanes = vec![[0.0; LANES]; system.pivot.len()];
            let mut from = lanes.len();
            for (lane, column) in columns.iter().enumerate() {
                for &(at, weight) in column {
                    lanes[at][lane] += weight;
                    from = from.min(at);
                }
            }
            system.solve_lanes(&mut lanes, from);
            for (lane, column) in columns.into_iter().enumerate() {
                let inverse = lanes.iter().map(|values| values[lane]).collect();
                found.push(Self { column, inverse });
            }
        }
        found
    }

    pub(super) fn new(system: &System<'_>, at: f64) -> Self {
        let column = system.column(at);
        let mut inverse = vec![0.0; system.pivot.len()];
        for &(at, weight) in &column {
            inverse[at] += weight;
        }
        system.solve_from(&mut inverse, column[0].0.min(column[1].0));
        Self { column, inverse }
    }
}

pub(super) fn gram(kinks: &[&Kinked]) -> Vec<Vec<f64>> {
    let row = |k: &Kinked| kinks.iter().map(|other| dot(&k.column, &other.inverse)).collect();
    kinks.iter().map(|kink| row(kink)).collect()
}

/// Columns made orthonormal in the metric of the inverse matrix, after its application and within
/// `range`, each with its part in `gamma`.
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
        for white in &mut white {
            *white *= scale;
        }
        found.push((white, part * scale));
    }
    found
}

/// Equations for the heights of kinks, of all or only some of them.
#[derive(Clone, Debug)]
pub struct Heights {
    gram: Vec<Vec<f64>>,
    parts: Vec<f64>,
}

impl Heights {
    /// Heights with only the kinks at the places `chosen` of the list; places beyond the list are
    /// left out.
    pub fn with_kinks(&self, chosen: &[usize]) -> Vec<f64> {
        let chosen: Vec<usize> = chosen.iter().copied().filter(|&i| i < self.parts.len()).collect();
        let rows = chosen.iter().map(|&i| chosen.iter().map(|&j| self.gram[i][j]).collect());
        Small::new(rows.collect()).solve(chosen.iter().map(|&i| self.parts[i]).collect())
    }
}

pub(super) fn dot(column: &[(usize, f64); 2], values: &[f64]) -> f64 {
    column.iter().map(|&(at, weight)| weight * values[at]).sum()
}

/// A small symmetric matrix in Cholesky factors; rows that depend on earlier ones give 0.
pub(super) struct Small(Vec<Vec<f64>>);

impl Small {
    pub(super) fn new(mut rows: Vec<Vec<f64>>) -> Self {
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

    pub(super) fn solve(&self, mut rhs: Vec<f64>) -> Vec<f64> {
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

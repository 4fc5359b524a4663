//! A curve's band on the grid: spread, bias of smoothing and effect of repair added up, then
//! widened around jumps and suspected jumps.
//!
//! Owns the combination; `band` defines spread, bias and uncertain places. The band never leaves
//! the range of counters: no rate below zero, no share outside 0..1.

use crate::band::{self, Replicates};
use crate::bins::Bins;
use crate::curve::{Band, Jump};
use crate::jumps::Choice;
use crate::spline::{Knots, Spline, System};

/// A fit on a grid.
#[derive(Clone, Copy)]
pub(crate) struct Fitted<'a> {
    pub(crate) bins: &'a Bins,
    pub(crate) knots: &'a Knots,
    pub(crate) lambda: f64,
    pub(crate) spline: &'a Spline,
    pub(crate) grid: &'a [f64],
    pub(crate) closest: f64,
    /// Share of an instance that was repaired.
    pub(crate) moved: f64,
    /// A rougher smoothing whose prediction is as good within chance.
    pub(crate) rough: f64,
}

/// A rate with its band, and the parts of the band.
pub(crate) struct Banded {
    pub(crate) rate: Band,
    pub(crate) jumps: Vec<Jump>,
    /// Standard deviations of the rate, with the bias of smoothing and the effect of repair.
    pub(crate) deviation: Vec<f64>,
    pub(crate) accumulated_deviation: Vec<f64>,
    /// The part of `deviation` besides the spread.
    pub(crate) extra: Vec<f64>,
    /// Rates without each group.
    pub(crate) replicates: Vec<Vec<f64>>,
    /// Student's t.
    pub(crate) factor: f64,
}

impl Fitted<'_> {
    /// The band around `rate`, the rate of this fit on its grid.
    pub(crate) fn banded(&self, rate: Vec<f64>) -> Banded {
        let Fitted { bins, knots, lambda, spline, grid, closest, moved, rough } = *self;
        let kinks: Vec<f64> = spline.kinks().iter().map(|kink| kink.0).collect();
        let replicates = Replicates::new(bins, lambda, &kinks, grid, closest);
        let factor = band::student(replicates.rate.len().saturating_sub(1));
        let spread =
            |rows: &[Vec<f64>], length| band::spread(rows.iter().map(Vec::as_slice), length);
        let jumps = jumps_of(self, &replicates, factor);
        let rows = replicates.rates(grid, &jumps);
        let rates = spread(&rows, grid.len());
        let shares = spread(&replicates.accumulated, grid.len());
        let (mut hidden_share, mut hidden) =
            band::bias(knots, lambda, &kinks, spline, grid, lambda.powf(0.25));
        for ((&x, share), rate) in grid.iter().zip(&mut hidden_share).zip(&mut hidden) {
            *rate = rate.hypot(moved);
            // Effect of a step at any place, in a share that begins and ends exactly.
            *share = share.hypot(moved * (x * (1.0 - x)).sqrt());
        }
        let both = |a: &[f64], b: &[f64]| -> Vec<f64> {
            a.iter().zip(b).map(|(a, b)| a.hypot(*b)).collect()
        };
        if let Some(other) = System::new(knots, rough).ok().filter(|_| rough < lambda) {
            // Of two curves with equal prediction the right one is unknown.
            let other = other.fit(&kinks);
            let apart = |a: Vec<f64>, b: Vec<f64>| -> Vec<f64> {
                a.iter().zip(&b).map(|(a, b)| a - b).collect()
            };
            let rates = apart(band::slopes(&other, grid), band::slopes(spline, grid));
            let shares = apart(band::values(&other, grid), band::values(spline, grid));
            (hidden, hidden_share) = (both(&hidden, &rates), both(&hidden_share, &shares));
        }
        let deviation = both(&rates, &hidden);
        let mut rate = around(rate, &deviation, factor, f64::INFINITY);
        widen_all(&mut rate, grid, &jumps);
        let accumulated_deviation = both(&shares, &hidden_share);
        Banded {
            rate,
            jumps,
            deviation,
            accumulated_deviation,
            extra: hidden,
            replicates: rows,
            factor,
        }
    }

    /// Widens the band of this fit's rate, where a jump is only suspected, to that of the curve
    /// with the jump.
    pub(crate) fn doubt(&self, rate: &mut Band, suspect: &Choice, factor: f64) {
        let width = self.lambda.powf(0.25);
        let Ok(system) = System::new(self.knots, suspect.lambda) else { return };
        let spline = system.fit(&suspect.kinks);
        let fitted = Fitted { lambda: suspect.lambda, spline: &spline, ..*self };
        let grid = self.grid;
        let others = Replicates::new(self.bins, suspect.lambda, &suspect.kinks, grid, self.closest);
        let mut jumps = jumps_of(&fitted, &others, factor);
        // Beyond the width of the smoother the curve without jumps would have shown them.
        for jump in &mut jumps {
            jump.within = jump.within.min(width);
        }
        let spread = band::spread(others.rate.iter().map(Vec::as_slice), grid.len());
        // The choice itself is in doubt: its details matter less than those of the chosen curve.
        let mut other = around(band::slopes(&spline, grid), &spread, 0.9 * factor, f64::INFINITY);
        widen_all(&mut other, grid, &jumps);
        let known = |kink: f64| self.spline.kinks().iter().any(|own| (own.0 - kink).abs() < 1e-12);
        let new = suspect.kinks.iter().copied().filter(|&kink| !known(kink));
        include(rate, &other, grid, new, 3.0 * width);
    }
}

/// The jumps of a fit, with the uncertainty of their places.
fn jumps_of(fitted: &Fitted<'_>, replicates: &Replicates, factor: f64) -> Vec<Jump> {
    let kinks: Vec<f64> = fitted.spline.kinks().iter().map(|kink| kink.0).collect();
    let spread = |rows: &[Vec<f64>]| band::spread(rows.iter().map(Vec::as_slice), kinks.len());
    let (places, errors) = (spread(&replicates.kinks), spread(&replicates.heights));
    // The search finds a kink to within a step at best.
    let step = 0.5 / fitted.knots.x.len() as f64;
    // The jackknife knows little of a place that was chosen as the best of many; hence the band
    // also covers all places that explain nearly as much, measured in errors of the height. Half as
    // much again, as such places scatter more than a mean.
    let shares: Vec<f64> = fitted
        .spline
        .kinks()
        .iter()
        .zip(&errors)
        .map(|(&(_, height), error)| 1.0 - 1.5 * (factor * error / height).powi(2))
        .collect();
    let near = System::new(fitted.knots, fitted.lambda).map(|s| s.places(&kinks, &shares)).ok();
    let width = fitted.lambda.powf(0.25);
    let one = |(at, &(place, height)): (usize, &(f64, f64))| {
        let near = near.as_ref().and_then(|near| near.get(at)).copied().unwrap_or((place, place));
        let within = (factor * places[at].hypot(step)).max(place - near.0).max(near.1 - place);
        // Beyond some widths of the smoother the curve itself would have shown a jump there.
        let within = within.min((3.0 * width).max(factor * step));
        Jump { at: place, within, height }
    };
    fitted.spline.kinks().iter().enumerate().map(one).collect()
}

/// Widens the band to both levels of each jump within the uncertainty of its place.
fn widen_all(band: &mut Band, grid: &[f64], jumps: &[Jump]) {
    for (at, jump) in jumps.iter().enumerate() {
        let before = if at > 0 { jumps[at - 1].at } else { 0.0 };
        let after = jumps.get(at + 1).map_or(1.0, |next| next.at);
        widen(band, grid, (jump.at - jump.within, jump.at + jump.within), (before, after));
    }
}

/// Widens the band to include another one near `places`.
fn include(
    band: &mut Band,
    other: &Band,
    grid: &[f64],
    places: impl Iterator<Item = f64>,
    reach: f64,
) {
    for place in places {
        let from = grid.partition_point(|&x| x < place - reach);
        let to = grid.partition_point(|&x| x <= place + reach);
        for at in from..to {
            band.low[at] = band.low[at].min(other.low[at]);
            band.high[at] = band.high[at].max(other.high[at]);
        }
    }
}

/// `value` with `factor` deviations to either side, between 0 and `most`.
pub(crate) fn around(value: Vec<f64>, deviation: &[f64], factor: f64, most: f64) -> Band {
    // Counters only grow, and shares end at 1. Written so that NaN is kept.
    let clip = |end: f64| if end.is_nan() { end } else { end.clamp(0.0, most) };
    let end =
        |sign: f64| value.iter().zip(deviation).map(|(v, d)| clip(v + sign * factor * d)).collect();
    let (low, high) = (end(-1.0), end(1.0));
    Band { value, low, high }
}

/// Widens the band between two places to its extent on both sides, no further than to other jumps.
fn widen(band: &mut Band, grid: &[f64], place: (f64, f64), limits: (f64, f64)) {
    if !(place.0.is_finite() && place.1.is_finite()) {
        return;
    }
    let step = 1.0 / (grid.len() - 1) as f64;
    let from = grid.partition_point(|&x| x < place.0.max(limits.0) - step);
    let to = grid.partition_point(|&x| x <= place.1.min(limits.1) + step).min(grid.len());
    let low = band.low[from..to].iter().copied().fold(f64::INFINITY, f64::min);
    let high = band.high[from..to].iter().copied().fold(0.0, f64::max);
    band.low[from..to].fill(low);
    band.high[from..to].fill(high);
}

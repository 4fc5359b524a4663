//! Models of several counters (instructions per cycle, misses per instruction), comparison of
//! curves of several ranks, and one typical instance as a timeline.
//!
//! Owns the propagation of bands through arithmetic: counters read in the same instances leave out
//! the same groups together, so that their common variation cancels in a ratio; counters of other
//! sets are independent. Unavailable values are NaN.

use serde::{Deserialize, Serialize};
use talea_metric::Expression;
use talea_model::Nanos;

use crate::band::{spread, student};
use crate::curve::{Band, Curve};

/// Errors of combining curves.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CombineError {
    /// Curves on different grids, or none.
    #[error("expected curves on one grid")]
    Grids,
    /// A counter of the expression that is not folded.
    #[error("expected a curve of `{0}`, there is none")]
    NoCurve(String),
}

/// Evaluates `model` of the rates per second of `curves`, in their order, at each point of the
/// grid, with a 95 % band.
///
/// # Errors
/// Curves with different grids.
pub fn combine(curves: &[&Curve], model: impl Fn(&[f64]) -> f64) -> Result<Band, CombineError> {
    let length = curves.first().map_or(0, |curve| curve.x.len());
    if length < 2 || curves.iter().any(|curve| curve.x.len() != length) {
        return Err(CombineError::Grids);
    }
    let base: Vec<Vec<f64>> =
        curves.iter().map(|c| scaled(&c.rate.value, c.per_second())).collect();
    let at = |rows: &[&[f64]], place: usize| {
        let numbers: Vec<f64> = rows.iter().map(|row| row[place]).collect();
        model(&numbers)
    };
    let all: Vec<&[f64]> = base.iter().map(Vec::as_slice).collect();
    let evaluate = |rows: &[&[f64]]| (0..length).map(|place| at(rows, place)).collect::<Vec<f64>>();
    let value = evaluate(&all);
    let mut variance = vec![0.0; length];
    let mut freedom = usize::MAX;
    let mut done = vec![false; curves.len()];
    for first in 0..curves.len() {
        if std::mem::replace(&mut done[first], true) {
            continue;
        }
        let evidence = &curves[first].evidence;
        let same: Vec<usize> = (first..curves.len())
            .filter(|&other| {
                let theirs = &curves[other].evidence;
                theirs.instances == evidence.instances && theirs.rates.len() == evidence.rates.len()
            })
            .collect();
        for &other in &same {
            done[other] = true;
        }
        let groups = evidence.rates.len();
        freedom = freedom.min(groups.saturating_sub(1));
        let replicates: Vec<Vec<f64>> = (0..groups)
            .map(|group| {
                let without: Vec<Vec<f64>> = same
                    .iter()
                    .map(|&c| scaled(&curves[c].evidence.rates[group], scale(curves[c], group)))
                    .collect();
                let mut rows = all.clone();
                for (row, &c) in without.iter().zip(&same) {
                    rows[c] = row;
                }
                evaluate(&rows)
            })
            .collect();
        let spread = spread(replicates.iter().map(Vec::as_slice), length);
        variance.iter_mut().zip(spread).for_each(|(sum, s)| *sum += s * s);
    }
    // The bias of smoothing is assumed to be independent from counter to counter.
    for (c, curve) in curves.iter().enumerate() {
        let extra = scaled(&curve.evidence.extra, curve.per_second());
        let moved: Vec<f64> =
            base[c].iter().zip(&extra).map(|(rate, extra)| rate + extra).collect();
        let mut rows = all.clone();
        rows[c] = &moved;
        for (place, sum) in variance.iter_mut().enumerate() {
            *sum += (at(&rows, place) - value[place]).powi(2);
        }
    }
    let factor = if freedom == usize::MAX { f64::NAN } else { student(freedom) };
    let end = |sign: f64| {
        value.iter().zip(&variance).map(|(v, s)| v + sign * factor * s.sqrt()).collect()
    };
    let (low, high) = (end(-1.0), end(1.0));
    let mut band = Band { value, low, high };
    // Where a counter's place of a jump is uncertain, the model is too: the ends of its band, one
    // counter at a time.
    for (c, curve) in curves.iter().enumerate() {
        for ends in [&curve.rate.low, &curve.rate.high] {
            let ends = scaled(ends, curve.per_second());
            let mut rows = all.clone();
            rows[c] = &ends;
            for place in 0..length {
                let near =
                    |jump: &crate::curve::Jump| (jump.at - curve.x[place]).abs() <= jump.within;
                if curve.jumps.iter().any(near) {
                    let value = at(&rows, place);
                    band.low[place] = band.low[place].min(value);
                    band.high[place] = band.high[place].max(value);
                }
            }
        }
    }
    Ok(band)
}

fn scaled(values: &[f64], factor: f64) -> Vec<f64> {
    values.iter().map(|value| value * factor).collect()
}

fn scale(curve: &Curve, group: usize) -> f64 {
    curve.evidence.scales.get(group).copied().unwrap_or(f64::NAN)
}

/// Evaluates an expression over counters by name, such as `PAPI_TOT_INS / PAPI_TOT_CYC`.
///
/// # Errors
/// A counter without a curve, or different grids.
pub fn evaluate(expression: &Expression, curves: &[Curve]) -> Result<Band, CombineError> {
    let find = |name: &String| {
        let found = curves.iter().find(|curve| curve.counter == *name);
        found.ok_or_else(|| CombineError::NoCurve(name.clone()))
    };
    let wanted = expression.counters().iter().map(find).collect::<Result<Vec<_>, _>>()?;
    combine(&wanted, |numbers| expression.eval(numbers))
}

/// Comparison of curves of one counter from several ranks or runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overlay {
    /// Mean rate per second of all, at each point.
    pub mean: Vec<f64>,
    /// The lowest rate per second.
    pub low: Vec<f64>,
    /// The highest rate per second.
    pub high: Vec<f64>,
    /// Parts of the region in which at least one curve differs from the mean by more than chance:
    /// begin and end. Curves without a band are not compared.
    pub differ: Vec<(f64, f64)>,
}

/// Compares curves.
///
/// # Errors
/// Curves with different grids.
pub fn overlay(curves: &[&Curve]) -> Result<Overlay, CombineError> {
    let length = curves.first().map_or(0, |curve| curve.x.len());
    if length < 2 || curves.iter().any(|curve| curve.x.len() != length) {
        return Err(CombineError::Grids);
    }
    let count = curves.len() as f64;
    let mut found = Overlay::default();
    let mut open = None::<f64>;
    for at in 0..length {
        let rates: Vec<f64> = curves.iter().map(|c| c.rate.value[at] * c.per_second()).collect();
        let mean = rates.iter().sum::<f64>() / count;
        found.mean.push(mean);
        found.low.push(rates.iter().copied().fold(f64::INFINITY, f64::min));
        found.high.push(rates.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        let half = |c: &Curve| 0.5 * (c.rate.high[at] - c.rate.low[at]) * c.per_second();
        let banded = curves.iter().zip(&rates).map(|(c, &rate)| (rate, half(c)));
        let apart = apart(&banded.filter(|one| one.1.is_finite()).collect::<Vec<_>>());
        let x = curves[0].x[at];
        match (apart, open) {
            (true, None) => open = Some(x),
            (false, Some(begin)) => {
                found.differ.push((begin, x));
                open = None;
            }
            _ => {}
        }
    }
    found.differ.extend(open.map(|begin| (begin, 1.0)));
    Ok(found)
}

/// True if one of several rates with their half bands differs from their mean by more than chance.
/// Rates without a band do not count.
fn apart(rates: &[(f64, f64)]) -> bool {
    let count = rates.len() as f64;
    let mean = rates.iter().map(|one| one.0).sum::<f64>() / count;
    let own: f64 = rates.iter().map(|one| one.1.powi(2)).sum::<f64>() / (count * count);
    rates.iter().any(|&(rate, half)| {
        // The mean contains the curve itself: its own part counts once.
        let width = (half.powi(2) * (1.0 - 2.0 / count) + own).max(0.0).sqrt();
        rates.len() > 1 && (rate - mean).abs() > width
    })
}

/// Counters at one time of a typical instance, as counts since the previous one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Synthetic {
    /// Time.
    pub time: Nanos,
    /// One count per curve.
    pub counts: Vec<u64>,
}

/// Samples `curves` at `points` equal steps of an instance from `begin` to `end`; counts add up to
/// `totals` (or to the mean total of a curve beyond their number) exactly.
pub fn synthetic(
    curves: &[&Curve],
    totals: &[u64],
    begin: Nanos,
    end: Nanos,
    points: usize,
) -> Vec<Synthetic> {
    let points = (points as u64).min(end.0.saturating_sub(begin.0));
    let mut before = vec![0_u64; curves.len()];
    (1..=points)
        .map(|point| {
            // In 128 bits: a time of years in nanoseconds times a million points.
            let passed = u128::from(end.0 - begin.0) * u128::from(point) / u128::from(points);
            let place = point as f64 / points as f64;
            let counts = curves.iter().enumerate().map(|(c, curve)| {
                let total = totals.get(c).copied().unwrap_or(curve.mean_total.round() as u64);
                let share = if point == points { 1.0 } else { curve.share(place).clamp(0.0, 1.0) };
                let now = if point == points { total } else { (share * total as f64) as u64 };
                let now = now.clamp(before[c], total);
                now - std::mem::replace(&mut before[c], now)
            });
            let counts = counts.collect();
            Synthetic { time: Nanos(begin.0 + passed as u64), counts }
        })
        .collect()
}

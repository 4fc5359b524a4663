//! Prediction of unseen instances by curves, and the coverage of their counts by the band.
//!
//! Owns the trials behind the figures of results: a quick one, of halves fitted with the smoothing
//! and the jumps of the whole, and a strict one. In that instances are put into six groups in
//! turns; each choice of half of the groups is fitted from the start, smoothing and jumps included,
//! and compared with the mean direct counts of the other half between samples, in equal cells.
//! The error includes the noise of the predicted half; for the band it is added to its width.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::band::student;
use crate::bins::Bins;
use crate::curve::Curve;
use crate::held_out::{self, spacing};
use crate::project::Projected;
use crate::spline::System;

/// Number of groups of instances.
const GROUPS: usize = 6;
/// Maximum number of cells in which rates are compared.
const MOST_CELLS: usize = 100;
/// Number of samples from which on few splits suffice.
const MOST_SAMPLES: usize = 100_000;
/// Number of splits then.
const FEW: usize = 4;
/// Number of ways to take half of six groups.
pub const ALL_SPLITS: usize = 20;

/// Result of the trial; all as shares of the mean rate except `coverage`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Root mean square error of the rate over cells, mean over splits.
    pub error: f64,
    /// Mean absolute error, likewise.
    pub absolute: f64,
    /// Direct counts of one half against those of the other: the error of an estimate without any
    /// model.
    pub direct: f64,
    /// Share of cells in which the other half's mean lies in the 95 % band, including the standard
    /// error of that mean; NaN where there is no band.
    pub coverage: f64,
    /// Number of cells.
    pub cells: usize,
    /// Number of ways in which the instances were split.
    pub splits: usize,
}

/// The instances of `all` for which `keep` is true, by their place.
pub fn part(all: &Projected, keep: impl Fn(usize) -> bool) -> Projected {
    let mut part =
        Projected { counter: all.counter.clone(), starts: vec![0], ..Projected::default() };
    for at in (0..all.instances.len()).filter(|&at| keep(at)) {
        let (x, y) = all.samples(at);
        part.x.extend(x);
        part.y.extend(y);
        part.starts.push(part.x.len());
        part.instances.push(all.instances[at]);
        part.durations.push(all.durations[at]);
        part.totals.push(all.totals[at]);
    }
    part
}

/// Number of cells in which rates can be compared, some samples to each; absent if there are so few
/// samples in each instance that it is less than four.
fn cells(of: &Projected) -> Option<usize> {
    Some(((0.5 / spacing(of)) as usize).min(MOST_CELLS)).filter(|&cells| cells >= 4)
}

/// Root mean square error of the rate over cells, fitted with this smoothing and these kinks on
/// half of the groups, against the mean of the other half's counts there; in both directions. In
/// units of the mean rate.
pub(crate) fn halves(of: &Projected, bins: &Bins, lambda: f64, kinks: &[f64]) -> Option<f64> {
    let cells = cells(of).filter(|_| bins.groups > 1)?;
    // Whole rounds of groups, so that every group keeps its share.
    let round = 1 + of.x.len() / held_out::MOST_SAMPLES;
    let both = (0..2).map(|half| {
        let knots = bins.knots((0..bins.groups).filter(|group| group % 2 == half));
        let spline = System::new(&knots, lambda).ok()?.fit(kinks);
        let rows: Vec<Vec<f64>> = (0..of.instances.len())
            .filter(|at| at % bins.groups % 2 == half && (at / bins.groups).is_multiple_of(round))
            .map(|at| cells_of(of.samples(at), cells))
            .collect();
        let counted = mean(&rows.iter().collect::<Vec<_>>(), cells);
        Some(squares(&differences(&in_cells(cells, |x| spline.value(x)), &counted)))
    });
    let squares: Option<f64> = both.sum();
    squares.map(|sum| (sum / 2.0).sqrt()).filter(|error| error.is_finite())
}

/// The rates in `cells` cells of a curve whose accumulated share up to a place is `share`.
fn in_cells(cells: usize, share: impl Fn(f64) -> f64) -> Vec<f64> {
    let edge = |cell: usize| share(cell as f64 / cells as f64);
    (0..cells).map(|cell| (edge(cell + 1) - edge(cell)) * cells as f64).collect()
}

fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Mean square.
fn squares(errors: &[f64]) -> f64 {
    errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64
}

/// Counts of one instance in each of `cells` cells between its samples, in mean rates.
fn cells_of((x, y): (&[f64], &[f64]), cells: usize) -> Vec<f64> {
    let mut next = 0;
    let mut before = (0.0, 0.0);
    let mut last = 0.0;
    (1..=cells)
        .map(|edge| {
            let edge = edge as f64 / cells as f64;
            while next < x.len() && x[next] < edge {
                before = (x[next], y[next]);
                next += 1;
            }
            let after = if next < x.len() { (x[next], y[next]) } else { (1.0, 1.0) };
            let width = after.0 - before.0;
            let share = if width > 0.0 { (edge - before.0) / width } else { 1.0 };
            let now = before.1 + share * (after.1 - before.1);
            let counted = now - std::mem::replace(&mut last, now);
            counted * cells as f64
        })
        .collect()
}

fn mean(rows: &[&Vec<f64>], cells: usize) -> Vec<f64> {
    let mut mean = vec![0.0; cells];
    for row in rows {
        mean.iter_mut().zip(*row).for_each(|(sum, value)| *sum += value / rows.len() as f64);
    }
    mean
}

/// Scores `fit`, which makes a curve of instances, in `most` splits at most. Absent with fewer than
/// two instances, with so few samples in each that there are fewer than four cells, and where
/// nothing can be fitted.
pub fn score(
    all: &Projected,
    most: usize,
    fit: impl Fn(&Projected) -> Option<Curve> + Sync,
) -> Option<Score> {
    let count = all.instances.len();
    let cells = cells(all)?;
    let groups = count.min(GROUPS);
    if groups < 2 || all.starts.len() != count + 1 {
        return None;
    }
    let rows: Vec<Vec<f64>> = (0..count).map(|at| cells_of(all.samples(at), cells)).collect();
    let mut splits: Vec<usize> = (0..1_usize << groups)
        .filter(|chosen| chosen.count_ones() as usize == groups / 2)
        .collect();
    let most = if all.x.len() > MOST_SAMPLES { most.min(FEW) } else { most }.max(1);
    splits = splits.iter().copied().step_by(splits.len().div_ceil(most)).collect();
    let one = |&chosen: &usize| {
        let own = |at: usize| chosen >> (at % groups) & 1 == 1;
        let curve = fit(&part(all, own))?;
        let half = |wanted: bool| -> Vec<&Vec<f64>> {
            (0..count).filter(|&at| own(at) == wanted).map(|at| &rows[at]).collect()
        };
        let (seen, unseen) = (half(true), half(false));
        let (counted, truth) = (mean(&seen, cells), mean(&unseen, cells));
        let fitted = in_cells(cells, |x| curve.share(x));
        let errors = differences(&fitted, &truth);
        let absolute = errors.iter().map(|e| e.abs()).sum::<f64>() / cells as f64;
        let direct = squares(&differences(&counted, &truth)).sqrt();
        let inside = covered(&curve, &fitted, &unseen, &truth, &rows);
        Some([squares(&errors).sqrt(), absolute, direct, inside])
    };
    let found: Vec<[f64; 4]> = splits.par_iter().filter_map(one).collect();
    let number = found.len() as f64;
    let average = |at: usize| found.iter().map(|one| one[at]).sum::<f64>() / number;
    let score = Score {
        error: average(0),
        absolute: average(1),
        direct: average(2),
        coverage: average(3),
        cells,
        splits: found.len(),
    };
    score.error.is_finite().then_some(score)
}

/// Share of cells in which `truth` lies in the band around `fitted`, whose half width is that of
/// the curve's band there, and the error of the truth: the spread of all instances divided by the
/// root of the number of instances whose mean is the truth.
fn covered(
    curve: &Curve,
    fitted: &[f64],
    unseen: &[&Vec<f64>],
    truth: &[f64],
    rows: &[Vec<f64>],
) -> f64 {
    let cells = truth.len();
    let factor = student(rows.len().saturating_sub(1));
    let all = mean(&rows.iter().collect::<Vec<_>>(), cells);
    let points = curve.x.len().saturating_sub(1);
    let mut inside = 0.0;
    for cell in 0..cells {
        let squares: f64 = rows.iter().map(|row| (row[cell] - all[cell]).powi(2)).sum();
        let variance = squares / (rows.len() as f64 - 1.0) / unseen.len() as f64;
        let from = cell * points / cells;
        let to = ((cell + 1) * points / cells).min(points).max(from);
        let width = (to - from + 1) as f64;
        let end = |ends: &[f64]| ends[from..=to].iter().sum::<f64>() / width;
        let value = end(&curve.rate.value);
        let (below, above) = (value - end(&curve.rate.low), end(&curve.rate.high) - value);
        if below.is_nan() || above.is_nan() {
            return f64::NAN;
        }
        let error = truth[cell] - fitted[cell];
        let half = if error < 0.0 { below } else { above };
        inside += f64::from(u8::from(error.abs() <= half.hypot(factor * variance.sqrt())));
    }
    inside / cells as f64
}

#[cfg(test)]
mod tests {
    use talea_model::Nanos;

    use super::*;
    use crate::{FitOptions, fit};

    fn even(instances: usize, samples: usize) -> Projected {
        let mut made = Projected { counter: "c".into(), starts: vec![0], ..Projected::default() };
        for at in 0..instances {
            for i in 0..samples {
                let x = (i as f64 + (at + 1) as f64 / (instances + 1) as f64) / samples as f64;
                made.x.push(x);
                made.y.push(0.5 * (x + x * x));
            }
            made.starts.push(made.x.len());
            made.instances.push(at as u32);
            made.durations.push(Nanos(1000));
            made.totals.push(100.0);
        }
        made
    }

    #[test]
    fn a_curve_without_noise_is_foretold_exactly() {
        let found =
            score(&even(6, 50), ALL_SPLITS, |part| fit(part, &FitOptions::default()).ok()).unwrap();
        assert_eq!((found.cells, found.splits), (25, 20));
        assert!(found.error < 1e-3 && found.absolute <= found.error, "{found:?}");
        assert!(found.coverage > 0.9, "{found:?}");
        assert!((cells_of((&[0.5], &[0.25]), 2)[0] - 0.5).abs() < 1e-12);
    }

    #[test]
    fn too_little_has_no_score() {
        let options = FitOptions::default();
        assert_eq!(score(&even(1, 50), 9, |part| fit(part, &options).ok()), None);
        assert_eq!(score(&even(6, 3), 9, |part| fit(part, &options).ok()), None);
        assert_eq!(
            score(&Projected { starts: vec![0], ..Projected::default() }, 9, |_| None),
            None
        );
    }
}

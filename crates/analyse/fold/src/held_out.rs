//! Held-out instances: prediction of the counts between their samples by a fit on the others.
//!
//! Owns the trials by which smoothing and jumps are chosen. Whole instances are held out, because
//! the noise of accumulated counters is correlated inside an instance: generalised cross-validation
//! over samples follows that noise. The score is the mean squared error of the rate between
//! samples, in units of the mean rate squared; it includes the noise of the held-out instances.

use crate::bins::Bins;
use crate::project::Projected;
use crate::spline::{Knots, Spline, System};

/// Maximum number of samples; more do not improve the choice.
pub(crate) const MOST_SAMPLES: usize = 24_000;
/// Where one instance of each group has more samples than this, they are thinned.
const MOST_THINNED: f64 = 40_000.0;
/// Maximum number of folds; more do not improve the choice either.
const MOST_FOLDS: usize = 6;

/// One held-out sample.
struct Point {
    x: f64,
    y: f64,
    /// The interval of the fold's knots that holds `x`.
    interval: u32,
    /// True if an instance begins here: the interval before it is not counted.
    first: bool,
}

struct Fold {
    knots: Knots,
    points: Vec<(usize, Vec<Point>)>,
}

/// All folds.
pub(crate) struct Held {
    folds: Vec<Fold>,
    groups: usize,
    /// True if instances have so few samples that intervals between them are long.
    coarse: bool,
}

/// Instances with fewer samples are coarse.
const FEW_SAMPLES: f64 = 8.0;

/// The median distance between samples of an instance, its ends included.
pub(crate) fn spacing(projected: &Projected) -> f64 {
    let samples = projected.x.len() as f64 / projected.instances.len() as f64;
    1.0 / (samples + 1.0)
}

impl Held {
    /// Prepares trials; absent with fewer than two groups.
    pub(crate) fn new(projected: &Projected, y: &[f64], bins: &Bins) -> Option<Self> {
        let groups = bins.groups;
        if groups < 2 {
            return None;
        }
        let folds = groups.min(MOST_FOLDS);
        // Whole rounds of groups are taken, so that every group keeps its share.
        let round = 1 + projected.x.len() / MOST_SAMPLES;
        // At least one instance of each group is taken, thinned where that is too much.
        let closest = (0.5 * spacing(projected)).max(groups as f64 / MOST_THINNED);
        let fold = |fold: usize| {
            let knots = bins.knots((0..groups).filter(|group| group % folds == fold));
            let mut points: Vec<(usize, Vec<Point>)> = Vec::new();
            for group in (fold..groups).step_by(folds) {
                let mut of_group = Vec::new();
                for at in (group..projected.instances.len()).step_by(groups * round) {
                    let range = projected.starts[at]..projected.starts[at + 1];
                    instance(&mut of_group, &projected.x[range.clone()], &y[range], closest);
                }
                place(&mut of_group, &knots);
                points.push((group, of_group));
            }
            Fold { knots, points }
        };
        let coarse = spacing(projected) > 1.0 / (FEW_SAMPLES + 1.0);
        Some(Self { folds: (0..folds).map(fold).collect(), groups, coarse })
    }

    /// The score of each group; NaN where a fold cannot be fitted.
    pub(crate) fn scores(&self, lambda: f64, kinks: &[f64]) -> Vec<f64> {
        self.scores_by(lambda, |system| system.fit(kinks))
    }

    /// The score of each group, with kinks near `kinks` but at the places found in each fold.
    pub(crate) fn scores_found_anew(&self, lambda: f64, kinks: &[f64], closest: f64) -> Vec<f64> {
        self.scores_by(lambda, |system| {
            let mut kinks = kinks.to_vec();
            system.refine(&mut kinks, closest);
            system.fit(&kinks)
        })
    }

    fn scores_by(&self, lambda: f64, fit: impl Fn(&System<'_>) -> Spline) -> Vec<f64> {
        let mut scores = vec![f64::NAN; self.groups];
        for fold in &self.folds {
            let Ok(system) = System::new(&fold.knots, lambda) else { continue };
            let spline = fit(&system);
            for (group, points) in &fold.points {
                scores[*group] = score(&spline, points);
            }
        }
        scores
    }
}

/// Adds the samples of one instance, with its ends.
fn instance(points: &mut Vec<Point>, x: &[f64], y: &[f64], closest: f64) {
    points.push(Point { x: 0.0, y: 0.0, interval: 0, first: true });
    let mut last = 0.0;
    for (&x, &y) in x.iter().zip(y) {
        // Short intervals at the ends of instances would count for more than their information.
        if x - last >= closest && 1.0 - x >= closest {
            points.push(Point { x, y, interval: 0, first: false });
            last = x;
        }
    }
    points.push(Point { x: 1.0, y: 1.0, interval: 0, first: false });
}

fn place(points: &mut [Point], knots: &Knots) {
    let last = knots.x.len().saturating_sub(2);
    for point in points {
        point.interval = (knots.x.partition_point(|&x| x <= point.x).max(1) - 1).min(last) as u32;
    }
}

fn score(spline: &Spline, points: &[Point]) -> f64 {
    let (mut sum, mut instances) = (0.0, 0.0);
    let mut before = (0.0, 0.0);
    for point in points {
        let error = point.y - spline.value_in(point.interval as usize, point.x);
        if point.first {
            instances += 1.0;
        } else {
            let step = error - before.1;
            sum += step * step / (point.x - before.0);
        }
        before = (point.x, error);
    }
    sum / instances
}

/// The mean of the values that are not NaN; NaN of none.
pub(crate) fn mean(scores: &[f64]) -> f64 {
    let known = scores.iter().filter(|score| score.is_finite());
    let (sum, count) = known.fold((0.0, 0.0), |(sum, count), score| (sum + score, count + 1.0));
    sum / count
}

/// True if `new` is better than `old` by more than the standard error over groups.
pub(crate) fn better(new: &[f64], old: &[f64]) -> bool {
    let falls: Vec<f64> =
        new.iter().zip(old).map(|(new, old)| old - new).filter(|fall| fall.is_finite()).collect();
    let count = falls.len() as f64;
    let mean = falls.iter().sum::<f64>() / count;
    let variance = falls.iter().map(|fall| (fall - mean).powi(2)).sum::<f64>() / (count - 1.0);
    // One standard error is lenient: the strict test of a jump is that of its height.
    mean > 0.0 && (count < 2.0 || mean > (variance / count).sqrt())
}

/// The chosen smoothing, and the one with the lowest score, which is better only within chance;
/// `None` where no fold can be fitted.
pub(crate) fn smoothing(held: &Held, kinks: &[f64], least: f64) -> Option<(f64, f64)> {
    let mut best: Option<(f64, f64, Vec<f64>)> = None;
    let attempt = |power: f64, best: &mut Option<(f64, f64, Vec<f64>)>| {
        let scores = held.scores(10_f64.powf(power), kinks);
        let score = mean(&scores);
        if score.is_finite() && best.as_ref().is_none_or(|best| score < best.1) {
            *best = Some((power, score, scores));
        }
    };
    let first = least.log10();
    let steps = (-first / 1.2).ceil() as u32 + 1;
    for step in 0..steps {
        attempt(first + 1.2 * f64::from(step), &mut best);
    }
    for fine in [0.6, 0.3] {
        let Some(&(centre, ..)) = best.as_ref() else { break };
        attempt(centre - fine, &mut best);
        attempt(centre + fine, &mut best);
    }
    let (lowest, _, scores) = best?;
    let mut power = lowest;
    if held.coarse {
        // The smoothest curve with as good a prediction: a score over long intervals hardly
        // separates noise from detail.
        while power < 0.0 {
            let smoother = held.scores(10_f64.powf(power + 0.3), kinks);
            if !mean(&smoother).is_finite() || better(&scores, &smoother) {
                break;
            }
            power += 0.3;
        }
    }
    Some((10_f64.powf(power), 10_f64.powf(lowest)))
}

//! Held-out instances: how well a fit on some foretells the counts between samples of the others.
//!
//! Owns the trials by which smoothing and jumps are chosen. Whole instances are held out, because the noise of accumulated counters is
//! correlated inside an instance: generalised cross-validation over samples follows that noise. The score is the mean squared
//! error of the rate between samples, in units of the mean rate squared; the noise of the held-out instances is in it.

use crate::bins::Bins;
use crate::project::Projected;
use crate::select::median;
use crate::spline::{Knots, Spline, System};

/// More samples than these do not make the choice better.
const MOST_SAMPLES: usize = 24_000;
/// Where one instance of each group has more, samples are thinned.
const MOST_THINNED: f64 = 40_000.0;
/// Beyond so many samples single steps are not looked at.
const MOST_REPAIRED: usize = 200_000;
/// More folds neither.
const MOST_FOLDS: usize = 6;

/// One held-out sample.
struct Point {
    x: f64,
    y: f64,
    /// The interval of the fold's knots that holds `x`.
    interval: u32,
    /// Whether an instance begins here: the interval before it is not counted.
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
    /// Instances have so few samples that intervals between them are long.
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
        // One instance of each group is taken at least, thinned where that is too much.
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

    /// The score of each group, with kinks near `kinks` but where each fold has them.
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
        // Short intervals at the ends of instances would count for more than they tell.
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

/// The mean of what is a number; NaN of none.
pub(crate) fn mean(scores: &[f64]) -> f64 {
    let known = scores.iter().filter(|score| score.is_finite());
    let (sum, count) = known.fold((0.0, 0.0), |(sum, count), score| (sum + score, count + 1.0));
    sum / count
}

/// Whether `new` is better than `old` by more than the standard error over groups.
pub(crate) fn better(new: &[f64], old: &[f64]) -> bool {
    let falls: Vec<f64> =
        new.iter().zip(old).map(|(new, old)| old - new).filter(|fall| fall.is_finite()).collect();
    let count = falls.len() as f64;
    let mean = falls.iter().sum::<f64>() / count;
    let variance = falls.iter().map(|fall| (fall - mean).powi(2)).sum::<f64>() / (count - 1.0);
    // One standard error is lenient: the strict test of a jump is that of its height.
    mean > 0.0 && (count < 2.0 || mean > (variance / count).sqrt())
}

/// The smoothing with the lowest score, and its scores; `None` where no fold can be fitted.
pub(crate) fn smoothing(held: &Held, kinks: &[f64], least: f64) -> Option<(f64, Vec<f64>)> {
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
    let (mut power, _, mut scores) = best?;
    if held.coarse {
        // The smoothest curve that foretells as well: a score over long intervals hardly tells noise from detail.
        let lowest = scores.clone();
        while power < 0.0 {
            let smoother = held.scores(10_f64.powf(power + 0.3), kinks);
            if !mean(&smoother).is_finite() || better(&lowest, &smoother) {
                break;
            }
            (power, scores) = (power + 0.3, smoother);
        }
    }
    Some((10_f64.powf(power), scores))
}

/// Root mean square error of the rate in `cells` cells, fitted on half of the groups, against the mean of what the other half
/// counted there; both ways. In units of the mean rate.
pub(crate) fn error(
    projected: &Projected,
    bins: &Bins,
    cells: usize,
    lambda: f64,
    kinks: &[f64],
) -> Option<f64> {
    if bins.groups < 2 || cells == 0 {
        return None;
    }
    let round = 1 + projected.x.len() / MOST_SAMPLES;
    let mut squares = 0.0;
    for half in 0..2 {
        let knots = bins.knots((0..bins.groups).filter(|group| group % 2 == half));
        let spline = System::new(&knots, lambda).ok()?.fit(kinks);
        let (mut sums, mut count) = (vec![0.0; cells + 1], 0.0);
        for at in 0..projected.instances.len() {
            let group = at % bins.groups;
            if group % 2 != half || !(at / bins.groups).is_multiple_of(round) {
                continue;
            }
            let (x, y) = projected.samples(at);
            count += 1.0;
            let (mut next, mut before) = (0, (0.0, 0.0));
            for (edge, sum) in sums.iter_mut().enumerate().skip(1) {
                let edge = edge as f64 / cells as f64;
                while next < x.len() && x[next] < edge {
                    before = (x[next], y[next]);
                    next += 1;
                }
                let after = if next < x.len() { (x[next], y[next]) } else { (1.0, 1.0) };
                let width = after.0 - before.0;
                let share = if width > 0.0 { (edge - before.0) / width } else { 1.0 };
                *sum += before.1 + share * (after.1 - before.1);
            }
        }
        for cell in 0..cells {
            let (from, to) = (cell as f64 / cells as f64, (cell + 1) as f64 / cells as f64);
            let counted = (sums[cell + 1] - sums[cell]) / count;
            let error = (spline.value(to) - spline.value(from) - counted) * cells as f64;
            squares += error * error;
        }
    }
    let error = (squares / (2 * cells) as f64).sqrt();
    error.is_finite().then_some(error)
}

/// Shares with the steps repaired that only one instance shows: while it did not run, or others ran in its place.
///
/// Returns the shares and how many steps were replaced by what the curve says; `None` where nothing is to do or where
/// such steps are so frequent that they belong to the program.
pub(crate) fn repaired(projected: &Projected, spline: &Spline) -> Option<(Vec<f64>, u64)> {
    let count = projected.instances.len();
    // One of many instances hardly matters, and one step of very many neither.
    let samples = projected.x.len();
    if !(3..=100).contains(&count) || samples < 16 * count || samples > MOST_REPAIRED {
        return None;
    }
    let mut known_values = Vec::with_capacity(projected.x.len());
    for at in 0..count {
        let mut interval = 0;
        for &x in projected.samples(at).0 {
            interval = spline.interval_from(interval, x);
            known_values.push(spline.value_in(interval, x));
        }
    }
    let mut deviations = Vec::with_capacity(projected.x.len() + count);
    let each = |at: usize, visit: &mut dyn FnMut(usize, f64, f64, f64)| {
        let (x, y) = projected.samples(at);
        let (first, steps) = (projected.starts[at], x.len());
        let (mut before, mut known) = ((0.0, 0.0), 0.0);
        for k in 0..=x.len() {
            let (x, y) = if k < x.len() { (x[k], y[k]) } else { (1.0, 1.0) };
            let value = known_values.get(first + k).copied().filter(|_| k < steps).unwrap_or(1.0);
            let (step, expected) = (y - before.1, value - known);
            let scaled = (step - expected) / (x - before.0).max(f64::MIN_POSITIVE).sqrt();
            visit(k, before.0, scaled, if scaled.is_finite() { expected } else { step });
            (before, known) = ((x, y), value);
        }
    };
    for at in 0..count {
        each(at, &mut |_, _, scaled, _| deviations.push(scaled.abs()));
    }
    deviations.retain(|deviation| deviation.is_finite());
    let steps = deviations.len();
    deviations.sort_unstable_by(f64::total_cmp);
    let limit = 8.0 * 1.4826 * median(&deviations);
    let beyond = steps - deviations.partition_point(|&deviation| deviation <= limit);
    if beyond == 0 || beyond * 100 > steps || limit <= 0.0 {
        return None;
    }
    // Where several instances deviate at one place, the curve is wrong and not they.
    let cells = (0.5 / spacing(projected)).ceil().max(1.0) as usize;
    let cell = |x: f64| ((x * cells as f64) as usize).min(cells - 1);
    let mut where_beyond = vec![0_usize; cells];
    for at in 0..count {
        each(at, &mut |_, from, scaled, _| {
            if scaled.abs() > limit {
                where_beyond[cell(from)] += 1;
            }
        });
    }
    let most = (count / 5).max(1);
    let alone = |from: f64| {
        let at = cell(from);
        let near = &where_beyond[at.saturating_sub(1)..(at + 2).min(cells)];
        near.iter().sum::<usize>() <= most
    };
    let (mut y, mut replaced) = (projected.y.clone(), 0);
    for at in 0..count {
        let range = projected.starts[at]..projected.starts[at + 1];
        let samples = projected.samples(at).1;
        let (mut sum, mut any, mut last) = (0.0, 0, 0.0);
        let mine = &mut y[range];
        each(at, &mut |k, from, scaled, expected| {
            let now = samples.get(k).copied().unwrap_or(1.0);
            let take = scaled.abs() > limit && alone(from);
            any += u64::from(take);
            sum += if take { expected.max(0.0) } else { now - last };
            last = now;
            if let Some(y) = mine.get_mut(k) {
                *y = sum;
            }
        });
        if any == 0 || sum <= 0.0 {
            mine.copy_from_slice(samples);
        } else {
            for y in mine.iter_mut() {
                *y /= sum;
            }
            replaced += any;
        }
    }
    (replaced > 0).then_some((y, replaced))
}

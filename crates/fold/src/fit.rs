//! From the projected samples of one counter to its curve: rate, accumulated share, band, jumps and error.
//!
//! Owns the order of the steps: bins, smoothing by held-out instances, repair of disturbed steps, jumps, monotone curve, band. Every
//! figure is relative to the mean rate of the region; [`Curve::per_second`] turns it into counts. What could not be had (one instance,
//! too few samples) is absent with a gap.

use serde::{Deserialize, Serialize};
use talea_model::{Gap, GapKind, Gaps};

use crate::band::{self, Replicates};
use crate::bins::Bins;
use crate::held::{self, Held};
use crate::jumps::{Choice, Search};
use crate::kriging::NUGGET;
use crate::project::Projected;
use crate::spline::{Knots, Spline, System};
use crate::monotone;

/// Groups of instances; more make the band no better.
const MOST_GROUPS: usize = 48;
/// Cells in which the held-out error is measured.
const MOST_CELLS: usize = 100;

/// How smooth curves are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Smoothing {
    /// As foretells held-out instances best.
    HeldOut,
    /// This lambda of `sum (y - f)^2 + lambda * integral f''^2` over all samples.
    Fixed(f64),
}

/// Whether jumps of the rate are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Jumps {
    /// Where they foretell held-out instances better.
    Tested,
    /// None.
    None,
}

/// How curves are fitted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitOptions {
    /// Points of the curve, from x = 0 to x = 1; 2 at least.
    pub points: usize,
    /// Bins that samples are summed in: the finest detail; 16 at least.
    pub bins: usize,
    /// How smooth curves are.
    pub smoothing: Smoothing,
    /// Whether jumps are looked for.
    pub jumps: Jumps,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self { points: 1001, bins: 2048, smoothing: Smoothing::HeldOut, jumps: Jumps::Tested }
    }
}

/// Why there is no curve.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Nothing was counted in any instance.
    #[error("expected instances with samples of `{counter}`, found {instances} with {samples}")]
    Nothing {
        /// Its name.
        counter: String,
        /// Usable instances.
        instances: usize,
        /// Their samples.
        samples: usize,
    },
    /// Numbers that no sampling gives.
    #[error("expected rising shares of `{counter}` between 0 and 1")]
    Shares {
        /// Its name.
        counter: String,
    },
}

/// Values on the grid with their 95 % band; low and high are NaN where there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Best values.
    pub value: Vec<f64>,
    /// Lower ends.
    pub low: Vec<f64>,
    /// Upper ends.
    pub high: Vec<f64>,
}

/// One jump of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Jump {
    /// Where, in 0..1.
    pub at: f64,
    /// 95 % of its place to either side; NaN with one instance.
    pub within: f64,
    /// Rate behind it less rate before it, in mean rates.
    pub height: f64,
}

/// What the curve rests on, for models of several counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Evidence {
    pub(crate) instances: Vec<u32>,
    /// Rates without each group.
    pub(crate) rates: Vec<Vec<f64>>,
    /// Counts per second of the mean rate without each group.
    pub(crate) scales: Vec<f64>,
    /// What the band has beside the spread of the replicates, as a standard deviation.
    pub(crate) extra: Vec<f64>,
}

/// One folded counter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Its name.
    pub counter: String,
    /// The grid, from 0 to 1 in equal steps.
    pub x: Vec<f64>,
    /// Rate in units of the mean rate; never negative, mean 1.
    pub rate: Band,
    /// Share of the total counted so far, from 0 to 1.
    pub accumulated: Band,
    /// Jumps of the rate in rising order.
    pub jumps: Vec<Jump>,
    /// Lambda of `sum (y - f)^2 + lambda * integral f''^2`.
    pub lambda: f64,
    /// Instances that the curve rests on.
    pub instances: usize,
    /// Their samples.
    pub samples: usize,
    /// Mean count in an instance.
    pub mean_total: f64,
    /// Mean duration of an instance in seconds.
    pub mean_seconds: f64,
    /// Error of the rate as a share of the mean rate: fitted on half of the instances, against what the other half counted in cells
    /// of a hundredth (wider where samples are rarer), root mean square. The noise of both halves is in it. Absent with one
    /// instance or few samples in each.
    pub held_out_error: Option<f64>,
    /// The same by the band: root mean square of its standard deviation over x. Absent with one instance.
    pub estimated_error: Option<f64>,
    /// What is missing.
    pub gaps: Gaps,
    #[serde(skip)]
    pub(crate) evidence: Evidence,
}

impl Curve {
    /// Counts per second of the mean rate, by which the rates are multiplied.
    pub fn per_second(&self) -> f64 {
        self.mean_total / self.mean_seconds
    }

    /// The accumulated share at `at`, between the points of the grid along a line.
    pub fn share(&self, at: f64) -> f64 {
        let steps = self.x.len() - 1;
        let place = at.clamp(0.0, 1.0) * steps as f64;
        let before = (place as usize).min(steps - 1);
        let values = &self.accumulated.value;
        values[before] + (place - before as f64) * (values[before + 1] - values[before])
    }
}

/// Fits several counters side by side, in their order.
pub fn fit_all(projected: &[Projected], options: &FitOptions) -> Vec<Result<Curve, FitError>> {
    use rayon::prelude::*;
    projected.par_iter().map(|one| fit(one, options)).collect()
}

/// Fits one counter.
///
/// # Errors
/// Without instances or samples, or where the columns are not those of [`crate::project()`].
pub fn fit(projected: &Projected, options: &FitOptions) -> Result<Curve, FitError> {
    let (instances, samples) = (projected.instances.len(), projected.x.len());
    let counter = || projected.counter.clone();
    if instances == 0 || samples == 0 {
        return Err(FitError::Nothing { counter: counter(), instances, samples });
    }
    check(projected).ok_or_else(|| FitError::Shares { counter: counter() })?;
    let mut gaps = projected.gaps.clone();
    let mut note = |kind, count: u64, detail: String| {
        gaps.note(Gap { kind, rank: None, detail: format!("{}: {detail}", projected.counter), count });
    };
    let groups = instances.min(MOST_GROUPS);
    let bins_wanted = options.bins.clamp(16, 1 << 20);
    let count = samples as f64;
    let mut bins = Bins::new(projected, &projected.y, groups, bins_wanted);
    let mut held = Held::new(projected, &projected.y, &bins);

    // A bandwidth of half a bin, below which there is nothing to see.
    let least = (0.5 * bins.width()).powi(4);
    let chosen = match options.smoothing {
        Smoothing::Fixed(lambda) => Some(lambda / count),
        Smoothing::HeldOut => {
            held.as_ref().and_then(|held| held::smoothing(held, &[], least)).map(|found| found.0)
        }
    };
    if chosen.is_none() {
        note(GapKind::Estimated, 0, "one instance, smoothing is the usual one, not chosen".to_owned());
    }
    let usual = NUGGET / 12.0 / count;
    let mut lambda = chosen.filter(|l| l.is_finite() && *l > 0.0).unwrap_or(usual);

    let mut knots = bins.knots(std::iter::empty());
    if knots.x.len() < 3 {
        return Err(FitError::Nothing { counter: counter(), instances, samples });
    }
    let spline_of = |knots: &Knots, lambda: f64, kinks: &[f64]| {
        System::new(knots, lambda).map(|system| system.fit(kinks))
            .map_err(|_| FitError::Shares { counter: counter() })
    };
    if let Some((y, replaced)) = held::repaired(projected, &spline_of(&knots, lambda, &[])?) {
        let detail = format!("{replaced} intervals between samples differ from all other instances and are replaced");
        note(GapKind::Estimated, replaced, detail);
        bins = Bins::new(projected, &y, groups, bins_wanted);
        held = Held::new(projected, &y, &bins);
        knots = bins.knots(std::iter::empty());
    }
    let (mut kinks, mut suspects) = (Vec::new(), Vec::new());
    // Between two jumps there must be samples enough for the level, lest they make a spike of a few.
    let closest = (2.0 * bins.width()).max(30.0 / count).clamp(0.005, 0.1);
    if let (Some(held), Jumps::Tested) = (&held, options.jumps) {
        let scores = held.scores(lambda, &[]);
        let without = Choice { lambda, kinks: Vec::new(), scores };
        let search = Search { bins: &bins, knots: &knots, held, closest };
        let found = search.run(without);
        suspects = search.suspects(&found);
        kinks = found.kinks;
        if options.smoothing == Smoothing::HeldOut {
            lambda = found.lambda;
        }
    }
    let spline = spline_of(&knots, lambda, &kinks)?;

    let points = options.points.clamp(2, 1 << 20);
    let grid: Vec<f64> = (0..points).map(|i| i as f64 / (points - 1) as f64).collect();
    let (rate, accumulated, _) = monotone::on_grid(&spline, &knots.x, &grid);
    let width = lambda.powf(0.25);
    let whole = Fitted { bins: &bins, knots: &knots, lambda, spline: &spline, grid: &grid, closest };
    let Banded { mut rate, accumulated_deviation, deviation, jumps, extra, replicates, factor } =
        banded(&whole, rate);
    if replicates.len() < 2 {
        note(GapKind::Missing, 0, "one instance, no band".to_owned());
    }
    for suspect in &suspects {
        let other = spline_of(&knots, suspect.lambda, &suspect.kinks)?;
        let fitted = Fitted { lambda: suspect.lambda, spline: &other, ..whole };
        let others = Replicates::new(&bins, suspect.lambda, &suspect.kinks, &grid, closest);
        let jumps = jumps_of(&fitted, &others, factor);
        let spread = band::spread(others.rate.iter().map(Vec::as_slice), grid.len());
        // One standard deviation: the choice itself is in doubt, its details hardly matter.
        let mut other = around(band::slopes(&other, &grid), &spread, 1.0, f64::INFINITY);
        widen_all(&mut other, &grid, &jumps);
        let new = suspect.kinks.iter().copied().filter(|kink| !kinks.contains(kink));
        include(&mut rate, &other, &grid, new, 3.0 * width);
    }
    let accumulated = around(accumulated, &accumulated_deviation, factor, 1.0);
    let cells = ((0.5 / held::spacing(projected)) as usize).min(MOST_CELLS);
    let held_out_error = (cells >= 4)
        .then(|| held::error(projected, &bins, cells, lambda, &kinks))
        .flatten();
    let mean_square = deviation.iter().map(|d| d * d).sum::<f64>() / deviation.len() as f64;
    let estimated_error = Some(mean_square.sqrt()).filter(|error| error.is_finite());
    let scales = scales(projected, groups);
    let evidence =
        Evidence { instances: projected.instances.clone(), rates: replicates, scales, extra };
    Ok(Curve {
        counter: projected.counter.clone(),
        x: grid,
        rate,
        accumulated,
        jumps,
        lambda: lambda * count,
        instances,
        samples,
        mean_total: projected.mean_total(),
        mean_seconds: projected.mean_seconds(),
        held_out_error,
        estimated_error,
        gaps,
        evidence,
    })
}

/// Whether the columns fit together.
fn check(projected: &Projected) -> Option<()> {
    let count = projected.instances.len();
    let lengths = projected.starts.len() == count + 1
        && projected.durations.len() == count
        && projected.totals.len() == count
        && projected.y.len() == projected.x.len()
        && projected.starts.is_sorted()
        && projected.starts.first() == Some(&0)
        && projected.starts.last() == Some(&projected.x.len());
    let inside = lengths
        && projected.x.iter().all(|x| (0.0..=1.0).contains(x))
        && projected.y.iter().all(|y| (0.0..=1.0).contains(y));
    let rising = inside && (0..count).all(|at| projected.samples(at).0.is_sorted());
    rising.then_some(())
}

#[derive(Clone, Copy)]
struct Fitted<'a> {
    bins: &'a Bins,
    knots: &'a Knots,
    lambda: f64,
    spline: &'a Spline,
    grid: &'a [f64],
    closest: f64,
}

struct Banded {
    rate: Band,
    jumps: Vec<Jump>,
    /// Standard deviations of the rate, with what smoothing hides.
    deviation: Vec<f64>,
    accumulated_deviation: Vec<f64>,
    /// The part of `deviation` that is not spread.
    extra: Vec<f64>,
    /// Rates without each group.
    replicates: Vec<Vec<f64>>,
    /// Student's t.
    factor: f64,
}

/// The band around `rate`, which `fitted` has on its grid.
fn banded(fitted: &Fitted<'_>, rate: Vec<f64>) -> Banded {
    let Fitted { bins, knots, lambda, spline, grid, closest } = *fitted;
    let kinks: Vec<f64> = spline.kinks().iter().map(|kink| kink.0).collect();
    let replicates = Replicates::new(bins, lambda, &kinks, grid, closest);
    let factor = band::student(replicates.rate.len().saturating_sub(1));
    let spread = |rows: &[Vec<f64>], length| band::spread(rows.iter().map(Vec::as_slice), length);
    let jumps = jumps_of(fitted, &replicates, factor);
    let rows = replicates.rates(grid, &jumps);
    let rates = spread(&rows, grid.len());
    let shares = spread(&replicates.accumulated, grid.len());
    let (hidden_share, hidden) =
        band::bias(knots, lambda, &kinks, spline, grid, lambda.powf(0.25));
    let both = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a.hypot(*b)).collect();
    let deviation: Vec<f64> = both(&rates, &hidden);
    let mut rate = around(rate, &deviation, factor, f64::INFINITY);
    widen_all(&mut rate, grid, &jumps);
    let accumulated_deviation = both(&shares, &hidden_share);
    Banded { rate, jumps, deviation, accumulated_deviation, extra: hidden, replicates: rows, factor }
}

/// The jumps of a fit, with the uncertainty of their places.
fn jumps_of(fitted: &Fitted<'_>, replicates: &Replicates, factor: f64) -> Vec<Jump> {
    let kinks: Vec<f64> = fitted.spline.kinks().iter().map(|kink| kink.0).collect();
    let spread = |rows: &[Vec<f64>]| band::spread(rows.iter().map(Vec::as_slice), kinks.len());
    let (places, errors) = (spread(&replicates.kinks), spread(&replicates.heights));
    // A kink is found to within a step of the search at best.
    let step = 0.5 / fitted.knots.x.len() as f64;
    let system = System::new(fitted.knots, fitted.lambda).ok();
    let one = |(at, &(place, height)): (usize, &(f64, f64))| {
        // The jackknife knows little of a place that was chosen as the best of many; hence also all places that explain nearly
        // as much, measured in errors of the height. Half as much again, as such places scatter more than a mean.
        let share = 1.0 - 1.5 * (factor * errors[at] / height).powi(2);
        let near = system.as_ref().map_or((place, place), |s| s.places(&kinks, at, share));
        let within = (factor * places[at].hypot(step)).max(place - near.0).max(near.1 - place);
        Jump { at: place, within, height }
    };
    fitted.spline.kinks().iter().enumerate().map(one).collect()
}

/// Lets the band cover both sides of each jump as far as its place is uncertain.
fn widen_all(band: &mut Band, grid: &[f64], jumps: &[Jump]) {
    for (at, jump) in jumps.iter().enumerate() {
        let before = if at > 0 { jumps[at - 1].at } else { 0.0 };
        let after = jumps.get(at + 1).map_or(1.0, |next| next.at);
        widen(band, grid, (jump.at - jump.within, jump.at + jump.within), (before, after));
    }
}

/// Lets the band cover another one too, near `places`.
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

fn around(value: Vec<f64>, deviation: &[f64], factor: f64, most: f64) -> Band {
    // Counters only grow, and shares end at 1. Written so that NaN stays.
    let clip = |end: f64| if end.is_nan() { end } else { end.clamp(0.0, most) };
    let end = |sign: f64| {
        value.iter().zip(deviation).map(|(v, d)| clip(v + sign * factor * d)).collect()
    };
    let (low, high) = (end(-1.0), end(1.0));
    Band { value, low, high }
}

/// Lets the band between two places cover what it has on both sides, no further than to other jumps.
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

/// Counts per second without each group.
fn scales(projected: &Projected, groups: usize) -> Vec<f64> {
    let (mut totals, mut seconds) = (vec![0.0; groups], vec![0.0; groups]);
    for (at, (total, duration)) in projected.totals.iter().zip(&projected.durations).enumerate() {
        totals[at % groups] += total;
        seconds[at % groups] += duration.seconds();
    }
    let all: (f64, f64) = (totals.iter().sum(), seconds.iter().sum());
    totals.iter().zip(&seconds).map(|(t, s)| (all.0 - t) / (all.1 - s)).collect()
}

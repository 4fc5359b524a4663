//! From the projected samples of one counter to its curve: rate, accumulated share, band, jumps and error.
//!
//! Owns the order of the steps: bins, smoothing by held-out instances, repair of disturbed steps, jumps, monotone curve, band. Every
//! figure is relative to the mean rate of the region; [`Curve::per_second`] turns it into counts. What could not be had (one instance,
//! too few samples) is absent with a gap.

use serde::{Deserialize, Serialize};
use talea_model::{Gap, GapKind, Gaps};

use crate::banded::{Banded, Fitted, around};
use crate::bins::Bins;
use crate::held::{self, Held};
use crate::jumps::{Choice, Search};
use crate::kriging::NUGGET;
use crate::monotone;
use crate::project::Projected;
use crate::repair::{self, Repaired};
use crate::score;
use crate::spline::{Knots, Spline, System};

/// Groups of instances; more make the band no better.
const MOST_GROUPS: usize = 48;

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
    /// Error of the rate at a single place by the band: root mean square of its standard deviation over x, what smoothing hides
    /// included. Larger than the other where the rate varies faster than a hundredth. Absent with one instance.
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

    /// The accumulated share at `at`, between the points of the grid along a line; NaN without a grid.
    pub fn share(&self, at: f64) -> f64 {
        let steps = self.x.len().min(self.accumulated.value.len()).saturating_sub(1);
        if steps == 0 {
            return f64::NAN;
        }
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
    let chosen = choose(projected, options, &mut gaps)?;
    let Chosen { bins, knots, lambda, kinks, spline, closest, .. } = &chosen;
    let (lambda, closest) = (*lambda, *closest);

    let points = options.points.clamp(2, 1 << 20);
    let grid: Vec<f64> = (0..points).map(|i| i as f64 / (points - 1) as f64).collect();
    let (rate, accumulated, _) = monotone::on_grid(spline, &knots.x, &grid);
    let (moved, rough) = (chosen.moved, chosen.rough);
    let whole = Fitted { bins, knots, lambda, spline, grid: &grid, closest, moved, rough };
    let Banded { mut rate, accumulated_deviation, deviation, jumps, extra, replicates, factor } =
        whole.banded(rate);
    if replicates.len() < 2 {
        note(&mut gaps, projected, GapKind::Missing, 0, "one instance, no band");
    }
    for suspect in &chosen.suspects {
        whole.doubt(&mut rate, suspect, factor);
    }
    let accumulated = around(accumulated, &accumulated_deviation, factor, 1.0);
    let held_out_error = score::halves(projected, bins, lambda, kinks);
    let mean_square = deviation.iter().map(|d| d * d).sum::<f64>() / deviation.len() as f64;
    let estimated_error = Some(mean_square.sqrt()).filter(|error| error.is_finite());
    let scales = scales(projected, bins.groups);
    let evidence =
        Evidence { instances: projected.instances.clone(), rates: replicates, scales, extra };
    Ok(Curve {
        counter: projected.counter.clone(),
        x: grid,
        rate,
        accumulated,
        jumps,
        lambda: lambda * samples as f64,
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

/// What the curve of one counter is made of.
struct Chosen {
    bins: Bins,
    knots: Knots,
    /// For weights that sum to 1.
    lambda: f64,
    /// One that foretells as well but for chance.
    rough: f64,
    kinks: Vec<f64>,
    suspects: Vec<Choice>,
    /// Share of an instance that was repaired.
    moved: f64,
    spline: Spline,
    closest: f64,
}

fn note(gaps: &mut Gaps, of: &Projected, kind: GapKind, count: u64, detail: &str) {
    let detail = format!("{}: {detail}", of.counter);
    gaps.note(Gap { kind, rank: None, detail, count });
}

/// Chooses smoothing and jumps, and repairs steps that only one instance shows.
fn choose(of: &Projected, options: &FitOptions, gaps: &mut Gaps) -> Result<Chosen, FitError> {
    let count = of.x.len() as f64;
    let groups = of.instances.len().min(MOST_GROUPS);
    let wanted = options.bins.clamp(16, 1 << 16);
    let mut bins = Bins::new(of, &of.y, groups, wanted);
    let mut held = Held::new(of, &of.y, &bins);
    // A bandwidth of half a bin, below which there is nothing to see.
    let least = (0.5 * bins.width()).powi(4);
    let best = match options.smoothing {
        Smoothing::Fixed(lambda) => Some((lambda / count, lambda / count)),
        Smoothing::HeldOut => held.as_ref().and_then(|held| held::smoothing(held, &[], least)),
    };
    if best.is_none() {
        let detail = "one instance, smoothing is the usual one, not chosen";
        note(gaps, of, GapKind::Estimated, 0, detail);
    }
    let usual = NUGGET / 12.0 / count;
    let (mut lambda, mut rough) =
        best.filter(|(l, _)| l.is_finite() && *l > 0.0).unwrap_or((usual, usual));
    let counter = || of.counter.clone();
    let mut knots = bins.knots(std::iter::empty());
    if knots.x.len() < 3 {
        let (instances, samples) = (of.instances.len(), of.x.len());
        return Err(FitError::Nothing { counter: counter(), instances, samples });
    }
    let spline_of = |knots: &Knots, lambda: f64, kinks: &[f64]| {
        let system = System::new(knots, lambda);
        system.map(|s| s.fit(kinks)).map_err(|_| FitError::Shares { counter: counter() })
    };
    let mut moved = 0.0;
    if let Some(found) = repair::repaired(of, &spline_of(&knots, lambda, &[])?) {
        let Repaired { y, replaced, .. } = found;
        moved = found.moved;
        let detail = format!(
            "{replaced} intervals between samples differ from all other instances and are replaced"
        );
        note(gaps, of, GapKind::Estimated, replaced, &detail);
        bins = Bins::new(of, &y, groups, wanted);
        held = Held::new(of, &y, &bins);
        knots = bins.knots(std::iter::empty());
    }
    let (mut kinks, mut suspects) = (Vec::new(), Vec::new());
    // Between two jumps there must be samples enough for the level, lest they make a spike of a few, or one of each instance.
    let closest = held::spacing(of).min(12.0 / count).clamp(2.0 * bins.width(), 0.125);
    if let (Some(held), Jumps::Tested) = (&held, options.jumps) {
        let scores = held.scores(lambda, &[]);
        let search = Search { bins: &bins, knots: &knots, held, closest };
        let found = search.run(Choice { lambda, kinks: Vec::new(), scores });
        suspects = search.suspects(&found);
        kinks = found.kinks;
        if options.smoothing == Smoothing::HeldOut {
            lambda = found.lambda;
        }
        if !kinks.is_empty() {
            rough = lambda;
        }
    }
    let spline = spline_of(&knots, lambda, &kinks)?;
    Ok(Chosen { bins, knots, lambda, rough, kinks, suspects, moved, spline, closest })
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

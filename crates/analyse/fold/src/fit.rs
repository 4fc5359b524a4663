//! From the projected samples of one counter to its curve: rate, accumulated share, band, jumps and
//! error.
//!
//! Owns the order of the steps: bins, smoothing by held-out instances, repair of disturbed steps,
//! jumps, monotone curve, band. Every figure is relative to the mean rate of the region;
//! [`Curve::per_second`] converts it to counts. Unavailable results (one instance, too few samples)
//! are absent with a gap.

use serde::{Deserialize, Serialize};
use talea_model::{Gap, GapKind, Gaps};

use crate::banded::{Banded, Fitted, around};
use crate::bins::Bins;
use crate::curve::{Curve, Evidence};
use crate::held_out::{self, Held};
use crate::jumps::{Choice, Search};
use crate::monotone;
use crate::project::Projected;
use crate::repair::{self, Repaired};
use crate::score;
use crate::spline::{Knots, Spline, System};

/// Lambda of one sample where a single instance cannot choose it; the older tool always uses it.
const USUAL: f64 = 1e-4 / 12.0;
/// Maximum number of groups of instances; more do not improve the band.
const MOST_GROUPS: usize = 48;

/// Smoothness of curves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Smoothing {
    /// The best prediction of held-out instances.
    HeldOut,
    /// This lambda of `sum (y - f)^2 + lambda * integral f''^2` over all samples.
    Fixed(f64),
}

/// Search for jumps of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Jumps {
    /// Jumps that improve the prediction of held-out instances.
    Tested,
    /// None.
    None,
}

/// Options of the fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitOptions {
    /// Points of the curve, from x = 0 to x = 1; 2 at least.
    pub points: usize,
    /// Number of bins in which samples are summed: the finest detail; 16 at least.
    pub bins: usize,
    /// Smoothness of curves.
    pub smoothing: Smoothing,
    /// Search for jumps.
    pub jumps: Jumps,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self { points: 1001, bins: 2048, smoothing: Smoothing::HeldOut, jumps: Jumps::Tested }
    }
}

/// A sentence on too few samples; counts only where they are not 0.
fn nothing(counter: &str, instances: usize, samples: usize) -> String {
    if instances == 0 || samples == 0 {
        return format!("no folded instance has samples of `{counter}`");
    }
    let s = |count: usize| if count == 1 { "" } else { "s" };
    format!(
        "expected more samples of `{counter}`, found {samples} sample{} in {instances} instance{}",
        s(samples),
        s(instances)
    )
}

/// Errors of the fit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Nothing was counted in any instance.
    #[error("{}", nothing(counter, *instances, *samples))]
    Nothing {
        /// Its name.
        counter: String,
        /// Number of usable instances.
        instances: usize,
        /// Number of their samples.
        samples: usize,
    },
    /// Numbers that cannot come from sampling.
    #[error("expected rising shares of `{counter}` between 0 and 1")]
    Shares {
        /// Its name.
        counter: String,
    },
}

/// Fits several counters in parallel; results in their order.
pub fn fit_all(projected: &[Projected], options: &FitOptions) -> Vec<Result<Curve, FitError>> {
    use rayon::prelude::*;
    projected.par_iter().map(|one| fit(one, options)).collect()
}

/// Fits one counter.
///
/// # Errors
/// No instances or samples, or columns that are not those of [`crate::project()`].
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

/// Choices for the curve of one counter.
struct Chosen {
    bins: Bins,
    knots: Knots,
    /// Lambda for weights that sum to 1.
    lambda: f64,
    /// A rougher one whose prediction is as good within chance.
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

/// Chooses smoothing and jumps, and repairs steps that occur in one instance only.
fn choose(of: &Projected, options: &FitOptions, gaps: &mut Gaps) -> Result<Chosen, FitError> {
    let count = of.x.len() as f64;
    let groups = of.instances.len().min(MOST_GROUPS);
    let wanted = options.bins.clamp(16, 1 << 16);
    let mut bins = Bins::new(of, &of.y, groups, wanted);
    let mut held = Held::new(of, &of.y, &bins);
    // Lambda of a bandwidth of half a bin, below which there is no detail.
    let least = (0.5 * bins.width()).powi(4);
    let best = match options.smoothing {
        Smoothing::Fixed(lambda) => Some((lambda / count, lambda / count)),
        Smoothing::HeldOut => held.as_ref().and_then(|held| held_out::smoothing(held, &[], least)),
    };
    if best.is_none() {
        let detail = "one instance, smoothing is the usual one, not chosen";
        note(gaps, of, GapKind::Estimated, 0, detail);
    }
    let usual = USUAL / count;
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
    // Between two jumps there must be enough samples for the level, so that they do not make a
    // spike of a few, or one of each instance.
    let closest = held_out::spacing(of).min(12.0 / count).clamp(2.0 * bins.width(), 0.125);
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

/// `None` if the columns do not fit together.
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

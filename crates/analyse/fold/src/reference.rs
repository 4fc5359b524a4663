//! The reference's curve, in our form: kriging with its fixed nugget, for comparison.
//!
//! Owns the samples of the older tool: those of all instances in order, and the ends (0,0) and
//! (1,1). It has no band, its rates may be negative, and its smoothing is not chosen;
//! [`mod@crate::score`] measures the cost.

use rayon::prelude::*;
use talea_model::{Gap, GapKind};

use crate::curve::{Band, Curve, Evidence};
use crate::fit::{FitError, FitOptions};
use crate::kriging::{Kriging, NUGGET};
use crate::project::Projected;

/// Fits one counter by the method of the reference.
///
/// # Errors
/// No instances or samples.
pub fn krige(projected: &Projected, options: &FitOptions) -> Result<Curve, FitError> {
    let (instances, samples) = (projected.instances.len(), projected.x.len());
    let nothing = || FitError::Nothing { counter: projected.counter.clone(), instances, samples };
    if instances == 0 || samples == 0 {
        return Err(nothing());
    }
    let x: Vec<f64> = projected.x.iter().copied().chain([0.0, 1.0]).collect();
    let y: Vec<f64> = projected.y.iter().copied().chain([0.0, 1.0]).collect();
    let fitted = Kriging::new(&x, &y, NUGGET).map_err(|_| nothing())?;
    let points = options.points.clamp(2, 1 << 20);
    let grid: Vec<f64> = (0..points).map(|i| i as f64 / (points - 1) as f64).collect();
    let none = vec![f64::NAN; points];
    let band = |value: Vec<f64>| Band { value, low: none.clone(), high: none.clone() };
    let rate = band(grid.par_iter().map(|&at| fitted.slope(at)).collect());
    let accumulated = band(grid.par_iter().map(|&at| fitted.value(at)).collect());
    let mut gaps = projected.gaps.clone();
    let missing = format!("{}: kriging has no band and no chosen smoothing", projected.counter);
    gaps.note(Gap { kind: GapKind::Unsupported, rank: None, detail: missing, count: 0 });
    if let Some(gap) = fitted.gap {
        let detail = format!("{}: {}", projected.counter, gap.detail);
        gaps.note(Gap { detail, ..gap });
    }
    Ok(Curve {
        counter: projected.counter.clone(),
        x: grid,
        rate,
        accumulated,
        jumps: Vec::new(),
        lambda: NUGGET / 12.0,
        instances,
        samples,
        mean_total: projected.mean_total(),
        mean_seconds: projected.mean_seconds(),
        held_out_error: None,
        estimated_error: None,
        gaps,
        evidence: Evidence {
            instances: projected.instances.clone(),
            extra: vec![0.0; points],
            ..Evidence::default()
        },
    })
}

#[cfg(test)]
mod tests {
    use talea_model::Nanos;

    use super::*;

    #[test]
    fn a_line_has_the_mean_rate_everywhere_and_no_band() {
        let x: Vec<f64> = (1..40).map(|i| f64::from(i) / 40.0).collect();
        let one = Projected {
            counter: "c".into(),
            instances: vec![0],
            starts: vec![0, 39],
            y: x.clone(),
            x,
            durations: vec![Nanos(1_000)],
            totals: vec![80.0],
            ..Projected::default()
        };
        let curve = krige(&one, &FitOptions { points: 11, ..FitOptions::default() }).unwrap();
        assert!(curve.rate.value.iter().all(|rate| (rate - 1.0).abs() < 1e-6));
        assert!(curve.rate.low.iter().all(|low| low.is_nan()));
        assert!((curve.share(0.5) - 0.5).abs() < 1e-9);
        // Models of such curves have values without a band.
        let band = crate::combine(&[&curve], |rates| 2.0 * rates[0]).unwrap();
        assert!((band.value[5] - 160e6).abs() < 1.0 && band.low[5].is_nan());
        assert!(krige(&Projected::default(), &FitOptions::default()).is_err());
    }
}

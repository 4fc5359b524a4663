//! Coverage of the region by samples, and the beat of the sampling period with the region's
//! duration.
//!
//! Owns the measures and the warning. A period near a multiple of the duration puts the samples of
//! all instances at the same places and leaves holes in x, in which the curve is a guess; jitter in
//! the sampling interval prevents that.

use serde::{Deserialize, Serialize};
use talea_model::{Gap, GapKind, Nanos};

/// Measures of the places of samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Number of samples.
    pub samples: usize,
    /// The widest part of 0..1 without a sample: its begin, and its width.
    pub hole: (f64, f64),
    /// Expected width of the widest hole for random samples: ln(n) / n.
    pub expected_hole: f64,
    /// Share of 100 bins (fewer where there are fewer samples than 500) without a sample.
    pub empty: f64,
    /// Sampling period in durations of the region; NaN where unknown.
    pub periods: f64,
    /// Warnings.
    pub warnings: Vec<Gap>,
}

/// Measures the places `x` of all samples. `period` is that of sampling and `duration` the mean of
/// the instances, both 0 where unknown.
pub fn cover(x: &[f64], instances: usize, period: Nanos, duration: Nanos) -> Coverage {
    let mut sorted: Vec<f64> = x.iter().copied().filter(|x| (0.0..=1.0).contains(x)).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len();
    let mut hole = (0.0, 0.0);
    let mut last = 0.0;
    for &at in sorted.iter().chain(std::iter::once(&1.0)) {
        if at - last > hole.1 {
            hole = (last, at - last);
        }
        last = at;
    }
    let bins = (count / 5).clamp(1, 100);
    let mut used = vec![false; bins];
    for at in &sorted {
        used[((at * bins as f64) as usize).min(bins - 1)] = true;
    }
    let empty = used.iter().filter(|used| !**used).count() as f64 / bins as f64;
    let n = count as f64;
    let expected_hole = if count > 2 { n.ln() / n } else { 1.0 };
    let periods = period.0 as f64 / duration.0 as f64;
    let periods = if periods.is_finite() && periods > 0.0 { periods } else { f64::NAN };
    let mut found =
        Coverage { samples: count, hole, expected_hole, empty, periods, warnings: Vec::new() };
    let mut warn = |detail: String| {
        found.warnings.push(Gap { kind: GapKind::Missing, rank: None, detail, count: 0 });
    };
    // Samples at random leave a hole three times the expected one in one of n^2 cases.
    if hole.1 > 3.0 * expected_hole && hole.1 > 0.01 {
        let (from, to) = (100.0 * hole.0, 100.0 * (hole.0 + hole.1));
        warn(format!("no sample lies between {from:.1} % and {to:.1} % of the region"));
    }
    // From one sample to the next the place moves by the part of the period beyond a multiple of
    // the duration.
    let multiple = periods.round();
    let drift = (periods - multiple).abs();
    if multiple >= 1.0 && (drift < 0.02 || drift * (instances as f64) < 1.0) {
        warn(format!(
            "the sampling period is {periods:.3} times the duration of the region: samples fall at the same places, vary the period"
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_samples_are_well() {
        let x: Vec<f64> = (0..1000).map(|i| (f64::from(i) * 0.618_034) % 1.0).collect();
        let found = cover(&x, 500, Nanos(618), Nanos(1000));
        assert!(found.warnings.is_empty() && found.empty == 0.0 && found.hole.1 < 0.003);
    }

    #[test]
    fn a_period_like_the_duration_is_said() {
        let x: Vec<f64> = (0..500).map(|i| 0.2 + f64::from(i) * 0.0005).collect();
        let found = cover(&x, 500, Nanos(1_000_500), Nanos(1_000_000));
        let texts: Vec<_> = found.warnings.iter().map(|gap| &gap.detail[..]).collect();
        assert_eq!(texts.len(), 2);
        assert_eq!(texts[0], "no sample lies between 45.0 % and 100.0 % of the region");
        assert!(texts[1].starts_with("the sampling period is 1.000 times"));
        assert!((found.empty - 0.75).abs() < 0.02);
    }

    #[test]
    fn nothing_is_one_hole() {
        let found = cover(&[f64::NAN, -1.0], 0, Nanos(0), Nanos(0));
        assert_eq!((found.samples, found.hole, found.empty), (0, (0.0, 1.0), 1.0));
        assert!(found.periods.is_nan());
    }
}

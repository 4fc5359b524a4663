//! How sure a share of samples is.
//!
//! Owns standard error and interval of a proportion. Each sample is one draw; the interval is that
//! of Wilson (1927), which unlike p ± 1.96 σ stays inside 0 and 1 and holds for few samples and for
//! shares near 0. (Brown, Cai, Dasgupta, "Interval Estimation for a Binomial Proportion",
//! Statistical Science 16, 2001.) Missing samples of unknown activity widen it to the worst case:
//! none of them hit, or all did (Manski, "Nonparametric Bounds on Treatment Effects", American
//! Economic Review 80, 1990).

use serde::{Deserialize, Serialize};

/// The quantile of the normal distribution that leaves 95 % in the middle.
pub const Z: f64 = 1.959_963_984_540_054;

/// A share, between 0 and 1, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proportion {
    /// Samples that hit, of all.
    pub share: f64,
    /// Standard error: sqrt(p (1 - p) / n).
    pub error: f64,
    /// Lower end of the 95 % interval (Wilson score).
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Proportion {
    /// The share of `hits` in `n` samples; absent for no samples.
    ///
    /// `low` and `high` also cover the share in all `n + missing` samples, whatever the `missing`
    /// ones hit.
    pub fn with_missing(hits: u64, n: u64, missing: u64) -> Option<Self> {
        let found = Self::new(hits, n)?;
        if missing == 0 {
            return Some(found);
        }
        let all = n.saturating_add(missing);
        let (none, every) = (Self::new(hits, all)?, Self::new(hits.saturating_add(missing), all)?);
        Some(Self { low: found.low.min(none.low), high: found.high.max(every.high), ..found })
    }

    /// The share of `hits` in `n` samples; absent for no samples.
    pub fn new(hits: u64, n: u64) -> Option<Self> {
        if n == 0 {
            return None;
        }
        let (p, n) = ((hits as f64 / n as f64).min(1.0), n as f64);
        let z2 = Z * Z;
        let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let half = Z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
        Some(Self {
            share: p,
            error: (p * (1.0 - p) / n).sqrt(),
            // Rounding must not put the ends on the wrong side of the share.
            low: (middle - half).clamp(0.0, p),
            high: (middle + half).clamp(p, 1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_samples_widen_the_interval_to_the_worst_case() {
        let plain = Proportion::new(30, 100).unwrap();
        assert_eq!(Proportion::with_missing(30, 100, 0), Some(plain));
        let wide = Proportion::with_missing(30, 100, 50).unwrap();
        assert_eq!((wide.share, wide.error), (plain.share, plain.error));
        let (none, every) = (Proportion::new(30, 150).unwrap(), Proportion::new(80, 150).unwrap());
        assert_eq!((wide.low, wide.high), (none.low, every.high));
        // A share of all samples keeps its upper end, and loses its lower one.
        let all = Proportion::with_missing(100, 100, 100).unwrap();
        assert!(all.low < 0.45 && all.high >= 1.0, "{all:?}");
        assert!(Proportion::with_missing(u64::MAX, u64::MAX, u64::MAX).unwrap().high >= 1.0);
        assert_eq!(Proportion::with_missing(0, 0, 5), None);
    }

    #[test]
    fn as_published() {
        // One node of 48 cores for ten minutes at 1 Hz: a library at 5 %.
        let share = Proportion::new(1440, 28_800).unwrap();
        assert!((share.error - 0.001_284).abs() < 1e-6, "{share:?}");
        // Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in
        // Medicine 17, 1998, table I: Wilson.
        for (hits, n, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let found = Proportion::new(hits, n).unwrap();
            assert!(
                (found.low - low).abs() < 5e-5 && (found.high - high).abs() < 5e-5,
                "{found:?}"
            );
        }
        assert_eq!(Proportion::new(0, 0), None);
        let all = Proportion::new(7, 7).unwrap();
        assert!(all.error <= 0.0 && all.high >= 1.0 && all.low > 0.6);
    }
}

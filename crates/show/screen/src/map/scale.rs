//! The scale on which values are drawn, from all values seen so far.
//!
//! Owns the range of the seen values, and the scale of differences. The choice of the ends and the
//! place of a value between them are those of `talea-topology`.

use talea_topology::scale::{Ends, Scale, Wanted};

/// The range of the values seen so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    /// The smallest; infinite before the first value.
    pub(crate) min: f64,
    /// The smallest above zero, which a logarithmic scale needs.
    pub(crate) least: f64,
    /// The largest.
    pub(crate) max: f64,
}

impl Default for Seen {
    fn default() -> Self {
        Self { min: f64::INFINITY, least: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl Seen {
    /// Takes in a value, unless it is absent.
    pub(crate) fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.min = self.min.min(value);
            self.max = self.max.max(value);
            if value > 0.0 {
                self.least = self.least.min(value);
            }
        }
    }
}

/// A scale and the origin of its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shown {
    /// Its ends.
    pub(crate) scale: Scale,
    /// The ends come from the monitor's definition.
    pub(crate) fixed: bool,
}

impl Shown {
    /// The scale for these values; `wanted` has the fixed ends.
    pub(crate) fn new(wanted: Wanted, seen: &Seen) -> Self {
        // Before there is a value above zero, a logarithmic scale has three decades below 1.
        let blank = if wanted.log { [1e-3, 1.0, 1.0] } else { [0.0, 0.0, 1.0] };
        let most = if wanted.log { seen.least } else { seen.max };
        let values = if most.is_finite() { [seen.min, seen.least, seen.max] } else { blank };
        let scale = Scale::new(values, Ends::Round, wanted).unwrap_or_default();
        Self { scale, fixed: wanted.min.is_some() || wanted.max.is_some() }
    }

    /// The scale of differences: as far below zero as above.
    pub(crate) fn of_differences(differences: impl Iterator<Item = f64>) -> Self {
        let sizes = differences.map(f64::abs);
        let high = Scale::new(sizes, Ends::Round, Wanted::default()).unwrap_or_default().high;
        Self { scale: Scale { low: -high, high, log: false }, fixed: false }
    }

    /// The place of a value, 0 to 1; `None` for an absent one.
    pub(crate) fn fraction(&self, value: f64) -> Option<f64> {
        self.scale.fraction(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(values: &[f64]) -> Seen {
        let mut seen = Seen::default();
        for &value in values {
            seen.add(value);
        }
        seen
    }

    #[test]
    fn ends_are_round_and_hold_zero() {
        let check = |values: &[f64], log, expected: (f64, f64)| {
            let shown = Shown::new(Wanted { log, ..Wanted::default() }, &seen(values));
            assert!((shown.scale.low - expected.0).abs() <= 1e-12 * expected.0.abs(), "{shown:?}");
            assert!((shown.scale.high - expected.1).abs() <= 1e-12 * expected.1.abs(), "{shown:?}");
            assert!(!shown.fixed);
        };
        check(&[3.0, 6.2], false, (0.0, 7.5));
        check(&[-3.0, 6.2, f64::NAN, f64::INFINITY], false, (-3.0, 7.5));
        check(&[], false, (0.0, 1.0));
        check(&[0.0], false, (0.0, 1.0));
        check(&[20.0, 3000.0, 0.0], true, (10.0, 10_000.0));
        check(&[], true, (1e-3, 1.0));
        check(&[0.0], true, (1e-3, 1.0));
    }

    #[test]
    fn fixed_ends_cut() {
        let wanted = Wanted { min: Some(0.0), max: Some(100.0), log: false };
        let values = [50.0, 120.0, -1.0, f64::NAN];
        let shown = Shown::new(wanted, &seen(&values));
        assert!(shown.fixed);
        assert_eq!(values.map(|v| shown.fraction(v)), [Some(0.5), Some(1.0), Some(0.0), None]);
        assert_eq!(shown.scale.cut(values), (1, 1));
    }

    #[test]
    fn decades_are_equally_far() {
        let wanted = Wanted { min: Some(1.0), max: Some(1e6), log: true };
        let shown = Shown::new(wanted, &Seen::default());
        assert!((shown.fraction(1e3).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(shown.fraction(0.0), Some(0.0));
        assert_eq!(shown.scale.cut([0.0, 0.5, 2e6]), (1, 1));
    }

    proptest::proptest! {
        #[test]
        fn any_numbers_have_a_scale(
            values: Vec<f64>,
            min: Option<f64>,
            max: Option<f64>,
            log: bool
        ) {
            let wanted = Wanted { min, max, log };
            for shown in [
                Shown::new(wanted, &seen(&values)),
                Shown::of_differences(values.iter().copied())
            ] {
                for &value in &values {
                    let place = shown.fraction(value);
                    proptest::prop_assert_eq!(place.is_none(), value.is_nan());
                    proptest::prop_assert!(place.is_none_or(|place| (0.0..=1.0).contains(&place)));
                }
            }
        }
    }
}

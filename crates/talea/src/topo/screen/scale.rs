//! The scale on which values are drawn: its range, linear or logarithmic, fixed or from the values.
//!
//! Owns the choice of the ends - zero is on the axis; those from values are round, so that they stay while values move -
//! and leaves the place of a value between them to `talea-topology`. Values beyond the ends are counted for the legend.

use talea_topology::scale::Scale;

/// The scale that a monitor's definition asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wanted {
    /// Lower end, unless it is taken from the values.
    pub(crate) min: Option<f64>,
    /// Upper end, unless it is taken from the values.
    pub(crate) max: Option<f64>,
    /// Logarithmic.
    pub(crate) log: bool,
}

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

/// A scale and where its ends come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shown {
    /// Its ends, the lower one below the upper.
    pub(crate) scale: Scale,
    /// The ends come from the monitor's definition.
    pub(crate) fixed: bool,
}

impl Shown {
    /// The scale for these values; the ends come from `wanted` where it has them and `fixed` is asked for.
    pub(crate) fn new(wanted: &Wanted, seen: &Seen, log: bool, fixed: bool) -> Self {
        let end = |end: Option<f64>| end.filter(|value| fixed && value.is_finite());
        let (low, high) = (end(wanted.min), end(wanted.max));
        let is_fixed = low.is_some() || high.is_some();
        let top = if seen.max.is_finite() { seen.max } else { 1.0 };
        // Zero is on the axis unless values are below it: a part of a bar then means a part of the value.
        let bottom = seen.min.min(0.0);
        let (low, high) = if log {
            let most = if top > 0.0 { decade(top, f64::ceil) } else { 1.0 };
            let least =
                if seen.least.is_finite() { decade(seen.least, f64::floor) } else { most / 1e3 };
            let high = high.filter(|&high| high > 0.0).unwrap_or(most);
            (low.filter(|&low| low > 0.0).unwrap_or(least.min(high / 10.0)), high)
        } else {
            let bottom = if bottom.is_finite() { 0.0 - round_up(-bottom) } else { 0.0 };
            (low.unwrap_or(bottom), high.unwrap_or_else(|| round_up(top)))
        };
        let high = if high > low { high } else { low + low.abs().max(1.0) };
        Self { scale: Scale { low, high, log }, fixed: is_fixed }
    }

    /// The scale of differences: as far below zero as above.
    pub(crate) fn of_differences(differences: impl Iterator<Item = f64>) -> Self {
        let mut seen = Seen::default();
        differences.for_each(|difference| seen.add(difference.abs()));
        let most = if seen.max > 0.0 { round_up(seen.max) } else { 1.0 };
        Self { scale: Scale { low: -most, high: most, log: false }, fixed: false }
    }

    /// The place of a value, 0 to 1; none for an absent one.
    pub(crate) fn fraction(&self, value: f64) -> Option<f64> {
        self.scale.fraction(value)
    }

    /// How many values are below and above the ends. A zero has no place on a logarithmic scale, but nothing of it is cut.
    pub(crate) fn cut(&self, values: &[f64]) -> (usize, usize) {
        let Scale { low, high, log } = self.scale;
        let below = |value: &&f64| **value < low && !(log && **value == 0.0);
        let above = |value: &&f64| **value > high;
        (values.iter().filter(below).count(), values.iter().filter(above).count())
    }
}

/// The next number of 1, 1.5, 2, 3, 5, 7.5 times a power of ten, so that an end does not move with each frame.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 0.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0].into_iter();
    // What is printed with three digits is not moved by the last bit.
    steps.map(|step| step * power).find(|end| value <= end * (1.0 + 1e-9)).unwrap_or(value)
}

fn decade(value: f64, round: impl Fn(f64) -> f64) -> f64 {
    // The subnormal and the largest numbers have no decade beyond them.
    10_f64.powf(round(value.log10())).clamp(f64::MIN_POSITIVE, f64::MAX)
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
    fn ends_of_values_are_round_and_hold_zero() {
        let check = |values: &[f64], log, expected: (f64, f64)| {
            let shown = Shown::new(&Wanted::default(), &seen(values), log, true);
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
    }

    #[test]
    fn fixed_ends_cut() {
        let wanted = Wanted { min: Some(0.0), max: Some(100.0), log: false };
        let values = [50.0, 120.0, -1.0, f64::NAN];
        let shown = Shown::new(&wanted, &seen(&values), false, true);
        assert!(shown.fixed);
        assert_eq!(values.map(|v| shown.fraction(v)), [Some(0.5), Some(1.0), Some(0.0), None]);
        assert_eq!(shown.cut(&values), (1, 1));
        assert!(!Shown::new(&wanted, &seen(&values), false, false).fixed);
    }

    #[test]
    fn decades_are_equally_far() {
        let wanted = Wanted { min: Some(1.0), max: Some(1e6), log: true };
        let shown = Shown::new(&wanted, &Seen::default(), true, true);
        assert!((shown.fraction(1e3).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(shown.fraction(0.0), Some(0.0));
        assert_eq!(shown.cut(&[0.0, 0.5, 2e6]), (1, 1));
    }

    proptest::proptest! {
        #[test]
        fn any_numbers_have_a_scale(values: Vec<f64>, min: Option<f64>, max: Option<f64>, log: bool, fixed: bool) {
            let wanted = Wanted { min, max, log };
            for shown in [Shown::new(&wanted, &seen(&values), log, fixed), Shown::of_differences(values.iter().copied())] {
                for &value in &values {
                    let place = shown.fraction(value);
                    proptest::prop_assert_eq!(place.is_none(), value.is_nan());
                    proptest::prop_assert!(place.is_none_or(|place| (0.0..=1.0).contains(&place)));
                }
            }
        }
    }
}

//! From values to fractions of a scale: colours, bars.
//!
//! Owns linear and logarithmic scales whose ends are fixed, fit all values, or fit most of them. It refuses colours, and absent
//! values: they have no fraction.

use crate::monitors::Monitor;

/// How the ends of a scale are found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Ends {
    /// From the least to the greatest value.
    #[default]
    Auto,
    /// From the 5th to the 95th percentile: single outliers do not flatten the rest.
    Robust,
}

/// A scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The value at 0.
    pub low: f64,
    /// The value at 1; never below `low`.
    pub high: f64,
    /// Equal ratios, not equal differences, are equally far apart. Both ends are greater than zero then.
    pub log: bool,
}

impl Scale {
    /// A scale for these values: the ends that are given stay, the others fit. None where there is nothing to fit.
    ///
    /// A logarithmic scale fits the values above zero; where there are none, and where a given end is not above zero, that end is
    /// the nearest value above zero, or the scale is linear.
    pub fn new(
        values: impl IntoIterator<Item = f64>,
        ends: Ends,
        min: Option<f64>,
        max: Option<f64>,
        log: bool,
    ) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let above_zero = |end: Option<f64>| end.filter(|&end| end > 0.0 && end.is_finite());
        let log = log && max.is_none_or(|max| max > 0.0);
        let log = log && (above_zero(max).is_some() || values.iter().any(|&value| value > 0.0));
        let (min, max) = if log { (above_zero(min), above_zero(max)) } else { (min, max) };
        if log {
            values.retain(|&value| value > 0.0);
        }
        values.sort_by(f64::total_cmp);
        let (from, to) = match ends {
            Ends::Auto => (0.0, 1.0),
            Ends::Robust => (0.05, 0.95),
        };
        let low = min.or_else(|| quantile(&values, from)).or(max)?;
        let high = max.or_else(|| quantile(&values, to)).or(min)?;
        // Less than a decade on a logarithmic scale would blow up what is nearly equal.
        let low = if log && min.is_none() { low.min(high / 10.0) } else { low };
        // A given end wins over a fitted one.
        let (low, high) = match (low <= high, min.is_some()) {
            (true, _) => (low, high),
            (false, true) => (low, low),
            (false, false) => (high, high),
        };
        (low.is_finite() && high.is_finite()).then_some(Self { low, high, log })
    }

    /// The scale that a monitor asks for. Ends that are equal are none: some write `MAX = 0; MIN = 0;` for them.
    pub fn of_monitor(
        monitor: &Monitor,
        values: impl IntoIterator<Item = f64>,
        ends: Ends,
    ) -> Option<Self> {
        let given = monitor.min != monitor.max;
        let (min, max) = (monitor.min.filter(|_| given), monitor.max.filter(|_| given));
        Self::new(values, ends, min, max, monitor.log)
    }

    /// Where a value lies from 0 to 1, cut at the ends; none for an absent one. On a scale without extent equal values are in the middle.
    pub fn fraction(&self, value: f64) -> Option<f64> {
        if value.is_nan() {
            return None;
        }
        if value < self.low || value > self.high {
            return Some(if value < self.low { 0.0 } else { 1.0 });
        }
        if self.low >= self.high {
            return Some(0.5);
        }
        // Halves keep the difference of the largest numbers finite.
        let fraction = if self.log {
            (value.log2() - self.low.log2()) / (self.high.log2() - self.low.log2())
        } else {
            (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0)
        };
        Some(if fraction.is_nan() { 0.5 } else { fraction.clamp(0.0, 1.0) })
    }

    /// Whether a value is beyond an end, which pictures mark.
    pub fn is_cut(&self, value: f64) -> bool {
        value < self.low || value > self.high
    }
}

/// Between the two nearest of sorted values, in proportion.
fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = part * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    // Not from the difference, which may be too large for a number.
    Some(below * (1.0 - place.fract()) + above * place.fract())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ends_and_fractions() {
        let values = [4.0, f64::NAN, 2.0, 0.0, 8.0];
        let auto = Scale::new(values, Ends::Auto, None, None, false).unwrap();
        assert_eq!((auto.low, auto.high), (0.0, 8.0));
        assert_eq!(auto.fraction(2.0), Some(0.25));
        assert_eq!(auto.fraction(f64::NAN), None);
        assert_eq!((auto.fraction(-1.0), auto.is_cut(-1.0)), (Some(0.0), true));
        let wide = [0.0, 2.0, 20.0, 200.0];
        let log = Scale::new(wide, Ends::Auto, Some(0.0), None, true).unwrap();
        assert_eq!((log.low, log.high, log.log), (2.0, 200.0, true));
        assert_eq!(log.fraction(0.0), Some(0.0));
        assert!(log.fraction(20.0).is_some_and(|part| (part - 0.5).abs() < 1e-9));
        let narrow = Scale::new([135.0, 136.0], Ends::Auto, None, None, true).unwrap();
        assert!((narrow.low - 13.6).abs() < 1e-9, "{narrow:?}");
        let fixed = Scale::new([], Ends::Auto, Some(1.0), Some(100.0), true).unwrap();
        assert_eq!(fixed.fraction(10.0), Some(0.5));
        let outlier = (0..=100).map(f64::from).chain([1e9]);
        let robust = Scale::new(outlier, Ends::Robust, None, None, false).unwrap();
        assert!(robust.high < 100.0 && robust.low > 4.0, "{robust:?}");
        assert_eq!(Scale::new([f64::NAN], Ends::Auto, None, None, false), None);
        let same = Scale::new([3.0, 3.0], Ends::Auto, None, None, false).unwrap();
        assert_eq!(same.fraction(3.0), Some(0.5));
        let below = Scale::new([1.0, 2.0], Ends::Auto, Some(5.0), None, false).unwrap();
        assert_eq!((below.low, below.high), (5.0, 5.0));
    }

    proptest! {
        #[test]
        fn fractions_grow_with_values(
            mut values in prop::collection::vec(any::<f64>(), 0..20),
            robust in any::<bool>(),
            ends in (prop::option::of(-1e3..1e3), prop::option::of(-1e3..1e3)),
            log in any::<bool>(),
        ) {
            let how = if robust { Ends::Robust } else { Ends::Auto };
            if let Some(scale) = Scale::new(values.iter().copied(), how, ends.0, ends.1, log) {
                prop_assert!(scale.low <= scale.high && (!scale.log || scale.low > 0.0));
                values.retain(|value| !value.is_nan());
                values.sort_by(f64::total_cmp);
                let fractions: Vec<f64> = values.iter().filter_map(|&v| scale.fraction(v)).collect();
                prop_assert_eq!(fractions.len(), values.len());
                prop_assert!(fractions.iter().all(|f| (0.0..=1.0).contains(f)));
                prop_assert!(fractions.windows(2).all(|pair| pair[0] <= pair[1] + 1e-9));
            }
        }
    }
}

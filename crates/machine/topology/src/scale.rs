//! From values to fractions of a scale: colours, bars.
//!
//! Owns linear and logarithmic scales, and the choice of their ends: those that a monitor requests,
//! and others from the values - all of them, most of them, or round numbers around them. It refuses
//! colours, and absent values: they have no fraction.

use crate::monitors::Monitor;

/// The scale that a monitor requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wanted {
    /// The lower end, unless it is taken from the values.
    pub min: Option<f64>,
    /// The upper end, unless it is taken from the values.
    pub max: Option<f64>,
    /// Logarithmic.
    pub log: bool,
}

impl Wanted {
    /// The scale of a monitor's definition. Equal ends count as none: some authors write `MAX = 0;
    /// MIN = 0;` for them.
    pub fn from_monitor(monitor: &Monitor) -> Self {
        let (min, max) =
            if monitor.min == monitor.max { (None, None) } else { (monitor.min, monitor.max) };
        Self { min, max, log: monitor.log }
    }
}

/// Choice of the ends that are not requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ends {
    /// The minimum and the maximum value.
    #[default]
    Auto,
    /// The 5th and the 95th percentile: single outliers do not flatten the rest.
    Robust,
    /// Zero, and round numbers beyond the values (decades on a logarithmic scale), always some
    /// distance apart: they stay while values move, and a part of a bar means a part of the value.
    Round,
}

/// A scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The value at 0.
    pub low: f64,
    /// The value at 1; never below `low`.
    pub high: f64,
    /// True if equal ratios, not equal differences, are equally far apart. Both ends are greater
    /// than zero then.
    pub log: bool,
}

impl Default for Scale {
    fn default() -> Self {
        Self { low: 0.0, high: 1.0, log: false }
    }
}

impl Scale {
    /// A scale for these values: requested ends stay, the others are fitted. `None` where there is
    /// nothing to fit.
    ///
    /// A logarithmic scale fits the values above zero; where there are none, and where a wanted end
    /// is not above zero, that end is the nearest value above zero, or the scale is linear.
    pub fn new(values: impl IntoIterator<Item = f64>, ends: Ends, wanted: Wanted) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let finite = |end: Option<f64>| end.filter(|end| end.is_finite());
        let (min, max) = (finite(wanted.min), finite(wanted.max));
        let above_zero = |end: Option<f64>| end.filter(|&end| end > 0.0);
        let log = wanted.log && max.is_none_or(|max| max > 0.0);
        let log = log && (above_zero(max).is_some() || values.iter().any(|&value| value > 0.0));
        let (min, max) = if log { (above_zero(min), above_zero(max)) } else { (min, max) };
        if log {
            values.retain(|&value| value > 0.0);
        }
        values.sort_by(f64::total_cmp);
        let (low, high) = fitted(&values, ends, log).unzip();
        let low = min.or(low).or(max)?;
        let high = max.or(high).or(min)?;
        // Less than a decade on a logarithmic scale would exaggerate nearly equal values.
        let decade = Some(high / 10.0).filter(|&decade| decade > 0.0).unwrap_or(high);
        let low = if log && min.is_none() { low.min(decade) } else { low };
        // A requested end overrides a fitted one.
        let (low, high) = match (low <= high, min.is_some()) {
            (true, _) => (low, high),
            (false, true) => (low, low),
            (false, false) => (high, high),
        };
        let high = if ends == Ends::Round && low >= high { low + low.abs().max(1.0) } else { high };
        (low.is_finite() && high.is_finite()).then_some(Self { low, high, log })
    }

    /// Position of a value from 0 to 1, cut at the ends; `None` for an absent one. On a scale
    /// without extent all values are alike and in the middle: nothing is little or much, except
    /// zero.
    pub fn fraction(&self, value: f64) -> Option<f64> {
        if value.is_nan() {
            return None;
        }
        if value < self.low || value > self.high {
            return Some(if value < self.low { 0.0 } else { 1.0 });
        }
        if self.low >= self.high {
            return Some(if value == 0.0 { 0.0 } else { 0.5 });
        }
        // Halves keep the difference of the largest numbers finite.
        let fraction = if self.log {
            (value.log2() - self.low.log2()) / (self.high.log2() - self.low.log2())
        } else {
            (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0)
        };
        Some(if fraction.is_nan() { 0.5 } else { fraction.clamp(0.0, 1.0) })
    }

    /// Number of values below and above the ends, for legends. A zero has no place on a logarithmic
    /// scale, but does not count as cut.
    pub fn cut(&self, values: impl IntoIterator<Item = f64>) -> (usize, usize) {
        let (mut below, mut above) = (0, 0);
        for value in values {
            below += usize::from(value < self.low && !(self.log && value == 0.0));
            above += usize::from(value > self.high);
        }
        (below, above)
    }
}

/// The ends for sorted values; `None` without values.
fn fitted(sorted: &[f64], ends: Ends, log: bool) -> Option<(f64, f64)> {
    let ((from, to), round) = match ends {
        Ends::Auto => ((0.0, 1.0), false),
        Ends::Robust => ((0.05, 0.95), false),
        Ends::Round => ((0.0, 1.0), true),
    };
    let (low, high) = (quantile(sorted, from)?, quantile(sorted, to)?);
    Some(match (round, log) {
        (false, _) => (low, high),
        (true, true) => (decade(low, f64::floor), decade(high, f64::ceil)),
        (true, false) => (0.0 - round_up(-low), round_up(high)),
    })
}

/// The next number of 1, 1.5, 2, 3, 5, 7.5 times a power of ten, so that an end does not move with
/// each frame; zero for values below it.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 0.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0].into_iter();
    // The last bit does not move a number that is printed with three digits.
    let end = steps.map(|step| step * power).find(|end| value <= end * (1.0 + 1e-9));
    end.filter(|end| end.is_finite()).unwrap_or(value)
}

fn decade(value: f64, round: impl Fn(f64) -> f64) -> f64 {
    // The subnormal and the largest numbers have no decade beyond them.
    10_f64.powf(round(value.log10())).clamp(f64::MIN_POSITIVE, f64::MAX)
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

    fn scale<const N: usize>(
        values: [f64; N],
        min: Option<f64>,
        max: Option<f64>,
        log: bool,
    ) -> Option<Scale> {
        Scale::new(values, Ends::Auto, Wanted { min, max, log })
    }

    #[test]
    fn ends_and_fractions() {
        let values = [4.0, f64::NAN, 2.0, 0.0, 8.0];
        let auto = scale(values, None, None, false).unwrap();
        assert_eq!((auto.low, auto.high), (0.0, 8.0));
        assert_eq!(auto.fraction(2.0), Some(0.25));
        assert_eq!(auto.fraction(f64::NAN), None);
        assert_eq!((auto.fraction(-1.0), auto.cut([-1.0, 9.0, 9.0])), (Some(0.0), (1, 2)));
        assert_eq!(auto.fraction(f64::INFINITY), Some(1.0));
        let wide = [0.0, 2.0, 20.0, 200.0];
        let log = scale(wide, Some(0.0), None, true).unwrap();
        assert_eq!((log.low, log.high, log.log), (2.0, 200.0, true));
        assert_eq!((log.fraction(0.0), log.cut([0.0, 1.0])), (Some(0.0), (1, 0)));
        assert!(log.fraction(20.0).is_some_and(|part| (part - 0.5).abs() < 1e-9));
        let narrow = scale([135.0, 136.0], None, None, true).unwrap();
        assert!((narrow.low - 13.6).abs() < 1e-9, "{narrow:?}");
        let fixed = scale([], Some(1.0), Some(100.0), true).unwrap();
        assert_eq!(fixed.fraction(10.0), Some(0.5));
        let outlier = (0..=100).map(f64::from).chain([1e9]);
        let robust = Scale::new(outlier, Ends::Robust, Wanted::default()).unwrap();
        assert!(robust.high < 100.0 && robust.low > 4.0, "{robust:?}");
        assert_eq!(scale([f64::NAN], None, None, false), None);
        let same = scale([3.0, 3.0], None, None, false).unwrap();
        assert_eq!(same.fraction(3.0), Some(0.5));
        let nothing = scale([0.0, 0.0], None, None, false).unwrap();
        assert_eq!((nothing.fraction(0.0), nothing.fraction(2.0)), (Some(0.0), Some(1.0)));
        let below = scale([1.0, 2.0], Some(5.0), None, false).unwrap();
        assert_eq!((below.low, below.high), (5.0, 5.0));
    }

    #[test]
    fn round_ends_hold_zero() {
        let check = |values: &[f64], wanted: Wanted, expected: (f64, f64)| {
            let scale = Scale::new(values.iter().copied(), Ends::Round, wanted).unwrap();
            assert!((scale.low - expected.0).abs() <= 1e-12 * expected.0.abs(), "{scale:?}");
            assert!((scale.high - expected.1).abs() <= 1e-12 * expected.1.abs(), "{scale:?}");
        };
        let linear = Wanted::default();
        check(&[3.0, 6.2], linear, (0.0, 7.5));
        check(&[-3.0, 6.2, f64::NAN, f64::INFINITY], linear, (-3.0, 7.5));
        check(&[0.0], linear, (0.0, 1.0));
        check(&[20.0, 3000.0, 0.0], Wanted { log: true, ..linear }, (10.0, 10_000.0));
        check(&[2.0], Wanted { min: Some(5.0), ..linear }, (5.0, 10.0));
    }

    #[test]
    fn equal_ends_of_a_monitor_are_none() {
        let wanted = |text: &str| Wanted::from_monitor(&crate::monitors::parse(text).unwrap()[0]);
        assert_eq!(wanted("A{ OBJ = PU; CTR = x; MIN = 0; MAX = 0; }"), Wanted::default());
        let both = Wanted { min: Some(0.0), max: Some(2.0), log: true };
        assert_eq!(wanted("A{ OBJ = PU; CTR = x; MIN = 0; MAX = 2; LOGSCALE = 1; }"), both);
    }

    proptest! {
        #[test]
        fn fractions_grow_with_values(
            mut values in prop::collection::vec(any::<f64>(), 0..20),
            how in prop::sample::select(vec![Ends::Auto, Ends::Robust, Ends::Round]),
            ends in (prop::option::of(-1e3..1e3), prop::option::of(-1e3..1e3)),
            log in any::<bool>(),
        ) {
            if let Some(scale) = Scale::new(
                values.iter().copied(),
                how,
                Wanted { min: ends.0, max: ends.1, log }
            ) {
                prop_assert!(scale.low <= scale.high && (!scale.log || scale.low > 0.0));
                values.retain(|value| !value.is_nan());
                values.sort_by(f64::total_cmp);
                let fractions: Vec<f64> = values.iter().filter_map(
                    |&v| scale.fraction(v)
                ).collect();
                prop_assert_eq!(fractions.len(), values.len());
                prop_assert!(fractions.iter().all(|f| (0.0..=1.0).contains(f)));
                prop_assert!(fractions.windows(2).all(|pair| pair[0] <= pair[1] + 1e-9));
            }
        }
    }
}

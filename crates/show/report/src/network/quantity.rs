//! Quantity of the colours: the choice of a link's number, and its scale.
//!
//! Owns the choice of the number (shares of capacity where they are known, loads elsewhere), the
//! range that all views of a picture share, and the classes of the ramp. It refuses to show an
//! absent value as zero.

use talea_model::units::{si, three_digits};

use super::{Carried, Network, Shows, View};

/// Classes of the ramp: `q0` to `q11`, as in pictures of a node's objects.
pub(super) const STEPS: usize = 12;

/// A number of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Load in the unit of the view.
    Load,
    /// Share of capacity.
    Used,
    /// Share of time.
    Stalled,
}

impl Quantity {
    /// The quantity of a picture of these views.
    pub(super) fn for_views(network: &Network<'_>, views: &[usize], shows: Shows) -> Self {
        let views: Vec<&View> = views.iter().filter_map(|&at| network.views.get(at)).collect();
        // Loads in different units have no common scale, so that only shares can be compared.
        let known = views.iter().all(|view| view.links.iter().any(|link| link.used.is_some()));
        match shows {
            Shows::Stalled => Self::Stalled,
            Shows::Load if known && !views.is_empty() => Self::Used,
            Shows::Load => Self::Load,
        }
    }

    /// The number of a link.
    pub(super) fn value(self, carried: &Carried) -> Option<f64> {
        let value = match self {
            Self::Load => carried.load,
            Self::Used => carried.used,
            Self::Stalled => carried.stalled,
        };
        value.filter(|value| value.is_finite())
    }

    /// Digits of the number on pages.
    pub(super) fn digits(self) -> i32 {
        match self {
            Self::Load => 6,
            Self::Used | Self::Stalled => 4,
        }
    }

    /// Name in legends.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Used => "share of capacity used",
            Self::Stalled => "share of time stalled",
        }
    }

    /// Text of a value.
    pub(super) fn text(self, value: f64, unit: &str) -> String {
        match self {
            Self::Load => amount(value, unit),
            Self::Used | Self::Stalled => share(value),
        }
    }
}

/// A number with its unit.
pub(super) fn amount(value: f64, unit: &str) -> String {
    // Counts are whole numbers.
    if value.abs() < 1000.0 && value.fract() == 0.0 {
        return format!("{value:.0} {unit}").trim_end().to_owned();
    }
    si(value, unit)
}

/// Text of a share: three digits, and zero only for exactly zero.
pub(super) fn share(value: f64) -> String {
    let percent = value * 100.0;
    if percent > 0.0 && percent < 5e-6 {
        return "< 0.00001 %".to_owned();
    }
    format!("{} %", three_digits(percent))
}

/// A range of values from zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    /// Value of the darkest (in dark mode, the brightest) colour; above zero.
    pub(super) high: f64,
}

impl Range {
    /// The range of all links of these views; absent if no link has a value.
    pub(super) fn from_views(
        network: &Network<'_>,
        views: &[usize],
        quantity: Quantity,
    ) -> Option<Self> {
        let views = views.iter().filter_map(|&at| network.views.get(at));
        let values = views.flat_map(|view| &view.links).filter_map(|link| quantity.value(link));
        let high = values.fold(None, |high: Option<f64>, value| {
            Some(high.map_or(value, |high| high.max(value)))
        })?;
        Some(Self { high: if high > 0.0 { high } else { 1.0 } })
    }

    /// The class of a value.
    pub(super) fn step(self, value: f64) -> usize {
        ((value / self.high).clamp(0.0, 1.0) * STEPS as f64).min((STEPS - 1) as f64) as usize
    }
}

/// A value rounded to this many significant digits.
pub(super) fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let power = 10_f64.powi(digits - 1 - value.abs().log10().floor() as i32);
    let out = (value * power).round() / power;
    if out.is_finite() { out } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_values() {
        let range = Range { high: 12.0 };
        assert_eq!(
            [-1.0, 0.0, 0.99, 1.0, 11.0, 12.0, 99.0].map(|v| range.step(v)),
            [0, 0, 0, 1, 11, 11, 11]
        );
        assert_eq!(amount(385.0, ""), "385");
        assert_eq!(amount(0.0, "B"), "0 B");
        assert_eq!(share(0.4041), "40.4 %");
        assert_eq!(share(0.0002), "0.0200 %");
        assert_eq!(share(0.0), "0 %");
        assert_eq!(share(1e-9), "< 0.00001 %");
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "figures that are exact")]
    fn numbers_keep_their_digits() {
        assert_eq!(rounded(1_234_567.0, 6), 1_234_570.0);
        assert_eq!(rounded(-0.123_456, 4), -0.1235);
        assert_eq!(rounded(0.0, 4), 0.0);
        assert_eq!(rounded(f64::MAX, 6), 1.79769e308);
        assert_eq!(rounded(5e-324, 4), 5e-324);
    }
}

//! Scales: values to parts of an axis, and the round numbers beside it.
//!
//! Owns the choice of ticks (1, 2 or 5 times a power of ten; powers of ten on logarithmic axes). A
//! range without extent is widened, so that every value has a place; a non-finite value lies at the
//! start.

use talea_model::notation::grouped;
use talea_model::units::{si, three_digits};

/// Spacing of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// Evenly.
    Linear,
    /// By their logarithm; the range is above zero.
    Logarithmic,
}

/// Form of numbers beside an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbers {
    /// Three digits with prefix and unit; percent take no prefix.
    Units,
    /// Unchanged.
    Plain,
    /// Whole numbers alone, with all their digits.
    Whole,
}

/// An axis.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    name: String,
    unit: String,
    low: f64,
    high: f64,
    spacing: Spacing,
    numbers: Numbers,
}

impl Scale {
    /// The same axis with plain numbers, without prefixes: for ratios.
    #[must_use]
    pub(crate) fn plain(self) -> Self {
        Self { numbers: Numbers::Plain, ..self }
    }

    /// The same axis for counts, which are not negative.
    #[must_use]
    pub(crate) fn whole(self) -> Self {
        Self { numbers: Numbers::Whole, ..self }
    }

    /// An axis over a range. A logarithmic one whose range is not above zero becomes linear.
    pub(crate) fn new(name: &str, unit: &str, [low, high]: [f64; 2], spacing: Spacing) -> Self {
        let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
        let (mut low, mut high) = (finite(low).min(finite(high)), finite(low).max(finite(high)));
        let spacing = if low > 0.0 { spacing } else { Spacing::Linear };
        if high - low <= 1e-12 * high.abs().max(low.abs()) {
            let room = if low == 0.0 { 1.0 } else { 0.05 * low.abs() };
            (low, high) = (low - room, high + room);
        }
        Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
            low,
            high,
            spacing,
            numbers: Numbers::Units,
        }
    }

    /// An axis that contains all finite values, with some room at both ends.
    pub(crate) fn around(
        name: &str,
        unit: &str,
        values: impl IntoIterator<Item = f64>,
        spacing: Spacing,
    ) -> Self {
        let values = values.into_iter().filter(|value| value.is_finite());
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            return Self::new(name, unit, [0.0, 1.0], Spacing::Linear);
        }
        if spacing == Spacing::Logarithmic && low > 0.0 {
            let room = (high / low).powf(0.04).max(1.01);
            return Self::new(name, unit, [low / room, high * room], spacing);
        }
        let room = 0.04 * (high - low);
        Self::new(name, unit, [low - room, high + room], Spacing::Linear)
    }

    /// The part of the axis at which a value lies, 0 to 1 inside.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let part = match self.spacing {
            Spacing::Linear => (value - self.low) / (self.high - self.low),
            Spacing::Logarithmic if value > 0.0 => {
                (value / self.low).ln() / (self.high / self.low).ln()
            }
            Spacing::Logarithmic => 0.0,
        };
        if part.is_finite() { part.clamp(-1.0, 2.0) } else { 0.0 }
    }

    /// The smallest value inside.
    pub(crate) fn begin(&self) -> f64 {
        self.low
    }

    /// The largest value inside.
    pub(crate) fn end(&self) -> f64 {
        self.high
    }

    /// Name, unit where numbers do not include it, and the spacing where that is not linear.
    pub(crate) fn title(&self) -> String {
        match self.spacing {
            Spacing::Linear => self.name.clone(),
            Spacing::Logarithmic => format!("{} (log)", self.name),
        }
    }

    /// Round values inside the range with their texts; about `most` of them.
    pub(crate) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let most = most.clamp(2, 12);
        let text = |value: f64| (value, self.text(value));
        match self.spacing {
            Spacing::Logarithmic if self.high / self.low >= 10.0 => {
                let first = self.low.log10().ceil() as i32;
                let last = self.high.log10().floor() as i32;
                let step = ((last - first) as usize / most + 1) as i32;
                (first..=last)
                    .filter(|power| power.rem_euclid(step) == 0)
                    .map(|power| text(10_f64.powi(power)))
                    .collect()
            }
            _ => {
                let step = round_step((self.high - self.low) / most as f64);
                let first = (self.low / step).ceil() as i64;
                let last = (self.high / step).floor() as i64;
                let values = (first..=last.min(first.saturating_add(24))).map(|n| n as f64 * step);
                let whole = |value: &f64| self.numbers != Numbers::Whole || value.fract() == 0.0;
                let values: Vec<f64> = values.filter(whole).collect();
                let ticks: Vec<(f64, String)> = values.iter().map(|&value| text(value)).collect();
                if ticks.windows(2).any(|pair| pair[0].1 == pair[1].1) {
                    return self.finer(&values, step);
                }
                ticks
            }
        }
    }
}

impl Scale {
    fn text(&self, value: f64) -> String {
        match self.numbers {
            Numbers::Plain => format!("{:.2}", value + 0.0),
            Numbers::Whole => grouped(value.round().max(0.0) as u64),
            // A thousandth of a percent is never written as a milli-percent.
            Numbers::Units if self.unit == "%" => format!("{} %", three_digits(value)),
            // Round values below one need no more digits than they have.
            Numbers::Units if self.unit.is_empty() && value.abs() < 1.0 => {
                let text = si(value, "");
                if text.contains('e') {
                    text
                } else {
                    text.trim_end_matches('0').trim_end_matches('.').to_owned()
                }
            }
            Numbers::Units => si(value, &self.unit),
        }
    }

    /// Texts with as many digits as needed to distinguish values one step apart.
    fn finer(&self, values: &[f64], step: f64) -> Vec<(f64, String)> {
        let most = values.iter().copied().fold(0.0, |most: f64, value| most.max(value.abs()));
        let text = self.text(most);
        let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
        // Factor of the prefix: a power of a thousand.
        let ratio = (most / number.parse::<f64>().unwrap_or(1.0)).log10() / 3.0;
        let one = if ratio.is_finite() { 1000_f64.powi(ratio.round() as i32) } else { 1.0 };
        let digits = (-(step / one).log10().floor()).clamp(0.0, 12.0) as usize;
        let shown = |&value: &f64| {
            (value, format!("{:.digits$} {unit}", value / one).trim_end().to_owned())
        };
        values.iter().map(shown).collect()
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is no less than `least`.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|times| times * power)
        .into_iter()
        .find(|step| *step >= least * 0.999)
        .unwrap_or(power)
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "figures that are exact")]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let texts = |scale: &Scale, most| {
            scale.ticks(most).into_iter().map(|(_, text)| text).collect::<Vec<_>>()
        };
        let linear = Scale::new("t", "s", [0.0, 0.011], Spacing::Linear);
        assert_eq!(texts(&linear, 4), ["0 s", "5.00 ms", "10.0 ms"]);
        let logarithmic = Scale::new("n", "", [3.0, 3e6], Spacing::Logarithmic);
        assert_eq!(texts(&logarithmic, 3), ["100", "10.0 k", "1.00 M"]);
        let close = Scale::new("d", "ns", [14.62e9, 14.7e9], Spacing::Logarithmic);
        assert_eq!(texts(&close, 4), ["14.62 s", "14.64 s", "14.66 s", "14.68 s", "14.70 s"]);
        let ratio = Scale::new("r", "", [1.001, 1.004], Spacing::Linear).plain();
        assert_eq!(texts(&ratio, 3), ["1.001", "1.002", "1.003", "1.004"]);
        let shares = Scale::new("s", "%", [0.0, 0.03], Spacing::Linear);
        assert_eq!(texts(&shares, 3), ["0 %", "0.0100 %", "0.0200 %", "0.0300 %"]);
        let counts = Scale::new("n", "", [0.5, 20_000.0], Spacing::Logarithmic).whole();
        assert_eq!(texts(&counts, 5), ["1", "10", "100", "1,000", "10,000"]);
        let few = Scale::new("n", "", [0.0, 2.0], Spacing::Linear).whole();
        assert_eq!(texts(&few, 4), ["0", "1", "2"]);
        let narrow = Scale::new("n", "", [3.0, 6.0], Spacing::Logarithmic);
        assert_eq!(texts(&narrow, 3), ["3", "4", "5", "6"]);
    }

    #[test]
    fn every_value_has_a_place() {
        for range in [
            [0.0, 0.0],
            [5.0, 5.0],
            [f64::NAN, 1.0],
            [2.0, 1.0],
            [-1.0, 0.0],
            [0.0, 5e-324],
            [-1e308, 1e308],
        ] {
            for spacing in [Spacing::Linear, Spacing::Logarithmic] {
                let scale = Scale::new("", "", range, spacing);
                for value in [f64::NAN, f64::INFINITY, 0.0, -1.0, 1e300, range[0]] {
                    assert!(scale.at(value).is_finite());
                }
                assert!(scale.ticks(5).len() <= 25);
            }
        }
        assert!((Scale::around("", "", [], Spacing::Linear).at(0.5) - 0.5).abs() < 1e-12);
    }
}

//! Units carried by types, and how a person reads them: three significant digits and an SI prefix.
//!
//! Owns the arithmetic that keeps a unit and the text form. It refuses conversion between units.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A time or a duration in nanoseconds; which of the two, the name of the value says.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// An amount of data in bytes.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

macro_rules! amount {
    ($name:ident) => {
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl Sub for $name {
            type Output = Self;
            /// Stops at zero: a duration or an amount is never negative.
            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }
        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
                all.fold(Self(0), |sum, one| sum + one)
            }
        }
    };
}
amount!(Nanos);
amount!(Bytes);

impl Nanos {
    /// The same time in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time of this host's clock, since 1970; 0 where the clock is set before.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }
}

const UP: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
const DOWN: [&str; 5] = ["", "m", "µ", "n", "p"];

/// Units of more characters are words, which take no prefix.
const LONGEST_SYMBOL: usize = 3;

/// A part as `98.8 %`, with as many digits as mean something; 1 is 100 %. A small part is `< 0.1
/// %`.
pub fn percent(part: f64) -> String {
    let percent = part * 100.0;
    match percent {
        99.5..100.0 => format!("{:.1} %", percent.min(99.9)),
        9.95.. => format!("{percent:.0} %"),
        0.0 => "0 %".to_owned(),
        0.0..0.05 => "< 0.1 %".to_owned(),
        _ => format!("{percent:.1} %"),
    }
}

/// A measured time; one of 0 is below the `bound` of its resolution, as `< 100 ns`. Exact times
/// have a bound of 0.
pub fn at_most(time: Nanos, bound: Nanos) -> String {
    if time == Nanos(0) && bound > Nanos(0) { format!("< {bound}") } else { time.to_string() }
}

/// Three significant digits without a prefix, as ratios are read; five places behind the point at
/// most.
pub fn three_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = |value: f64| (2 - (value.abs().log10().floor() as i32).clamp(-3, 2)) as usize;
    let first = digits(value);
    // 9.996 becomes 10.00, which has a digit more before the point.
    let rounded = format!("{value:.first$}").parse().unwrap_or(value);
    format!("{rounded:.*}", digits(rounded))
}

/// Three significant digits with the SI prefix that leaves one to three digits before the point.
///
/// `unit` follows the prefix: `si(12_345.0, "B")` is `12.3 kB`. Nanoseconds become seconds with a
/// prefix, `1/s` loses its 1 (`7.46 k/s`), and a unit that is a word stands apart: `19.3 M
/// misses/s`, and `1.25 instr./cycle` without a prefix as long as three digits do. Counts, their
/// rates and ratios are in no unit that could be divided: `0.362 /s` and `0.992`, and `53` where
/// nothing follows the point.
pub fn si(value: f64, unit: &str) -> String {
    if let Some(rest) = unit.strip_prefix("ns")
        && (rest.is_empty() || rest.starts_with('/'))
    {
        return si(value / 1e9, &format!("s{rest}"));
    }
    let unit = if unit.starts_with("1/") { &unit[1..] } else { unit };
    let first = unit.split('/').next().unwrap_or_default();
    if first.chars().count() > LONGEST_SYMBOL {
        let plain = value == 0.0 || (0.001..999.5).contains(&value.abs());
        let number = if plain { three_digits(value) } else { si(value, "") };
        return format!("{number} {unit}");
    }
    if value == 0.0 || !value.is_finite() {
        return format!("{value} {unit}").trim_end().to_owned();
    }
    if (unit.is_empty() || unit.starts_with('/')) && value.abs() < 999.5 {
        return format!("{} {unit}", countless(value)).trim_end().to_owned();
    }
    let mut scaled = value.abs();
    let mut step = 0_i32;
    // 999.5 would print as 1000 with three digits, so it already belongs to the next prefix.
    while scaled >= 999.5 && step < 6 {
        scaled /= 1000.0;
        step += 1;
    }
    while scaled < 0.9995 && step > -4 {
        scaled *= 1000.0;
        step -= 1;
    }
    let prefix = if step >= 0 { UP[step as usize] } else { DOWN[(-step) as usize] };
    let digits = if scaled >= 99.95 {
        0
    } else if scaled >= 9.995 {
        1
    } else {
        2
    };
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{scaled:.digits$} {prefix}{unit}").trim_end().to_owned()
}

/// A number below a thousand that has no unit: whole ones are whole, and what is very small has a
/// power of ten.
fn countless(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else if value.abs() < 0.0005 {
        format!("{value:.2e}")
    } else {
        three_digits(value)
    }
}

/// A typical duration by name: `12.6 µs (median of 1,200)`, with the mean where it is more than a
/// tenth apart, `12.6 µs (median of 1,200; mean 631 µs)`.
pub fn typical(median: Nanos, mean: Nanos, count: u64) -> String {
    let count = crate::digits::grouped(count);
    if far_apart(median, mean) {
        format!("{median} (median of {count}; mean {mean})")
    } else {
        format!("{median} (median of {count})")
    }
}

/// A mean by name: `mean 631 µs`, with the median where it is more than a tenth apart.
pub fn mean_and_median(mean: Nanos, median: Nanos) -> String {
    if far_apart(median, mean) {
        format!("mean {mean}, median {median}")
    } else {
        format!("mean {mean}")
    }
}

fn far_apart(median: Nanos, mean: Nanos) -> bool {
    median.0.abs_diff(mean.0) as f64 > 0.1 * median.0.min(mean.0) as f64
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&si(self.seconds(), "s"))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Bytes are whole: a count below one thousand has no digits after the point.
        if self.0 < 1000 {
            return f.pad(&format!("{} B", self.0));
        }
        f.pad(&si(self.0 as f64, "B"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_below_the_resolution_have_its_bound() {
        assert_eq!(at_most(Nanos(0), Nanos(100)), "< 100 ns");
        assert_eq!(at_most(Nanos(0), Nanos(0)), "0 s");
        assert_eq!(at_most(Nanos(50), Nanos(100)), "50.0 ns");
    }

    #[test]
    fn median_and_mean_are_told_apart_where_they_are() {
        let us = |count: u64| Nanos(count * 1000);
        assert_eq!(typical(us(10), us(11), 1200), "10.0 µs (median of 1,200)");
        assert_eq!(typical(us(10), us(631), 12), "10.0 µs (median of 12; mean 631 µs)");
        assert_eq!(typical(us(12), us(10), 12), "12.0 µs (median of 12; mean 10.0 µs)");
        assert_eq!(mean_and_median(us(10), us(10)), "mean 10.0 µs");
        assert_eq!(mean_and_median(us(20), us(10)), "mean 20.0 µs, median 10.0 µs");
    }

    #[test]
    fn three_significant_digits() {
        let check = |nanos: u64, expected: &str| assert_eq!(Nanos(nanos).to_string(), expected);
        check(0, "0 s");
        check(1, "1.00 ns");
        check(999, "999 ns");
        check(1_000, "1.00 µs");
        check(12_345, "12.3 µs");
        check(999_600, "1.00 ms");
        check(61_000_000_000, "61.0 s");
        assert_eq!(Bytes(999).to_string(), "999 B");
        assert_eq!(Bytes(53_200).to_string(), "53.2 kB");
    }

    #[test]
    fn units_that_take_no_prefix() {
        assert_eq!(si(984e6, "ns/s"), "984 ms/s");
        assert_eq!(si(7460.0, "1/s"), "7.46 k/s");
        assert_eq!(si(19.31e6, "misses/s"), "19.3 M misses/s");
        assert_eq!(si(0.4721, "instr./cycle"), "0.472 instr./cycle");
        assert_eq!(si(1.25, "instr./cycle"), "1.25 instr./cycle");
        assert_eq!(si(0.0, "misses/s"), "0 misses/s");
        assert_eq!(si(0.3621, "1/s"), "0.362 /s");
        assert_eq!(si(7.464, "/s"), "7.46 /s");
        assert_eq!(si(0.9924, ""), "0.992");
        assert_eq!(si(53.0, ""), "53");
        assert_eq!(si(-1.0, ""), "-1");
        assert_eq!(si(52.96, ""), "53.0");
        assert_eq!(si(0.000_012_3, ""), "1.23e-5");
        assert_eq!(si(12_345.0, ""), "12.3 k");
    }
}

//! Units carried by types, and how a person reads them: three significant digits and an SI prefix.
//!
//! Owns the arithmetic that keeps a unit and the text form. It refuses conversion between units.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A time or a duration in nanoseconds; which of the two, the name of the value says.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// An amount of data in bytes.
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

/// Three significant digits without a prefix, as ratios are read; five places behind the point at most.
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
/// `unit` follows the prefix: `si(12_345.0, "B")` is `12.3 kB`. Nanoseconds become seconds with a prefix, `1/s` loses its 1
/// (`7.46 k/s`), and a unit that is a word stands apart: `19.3 M misses/s`, and `1.25 instr./cycle` without a prefix
/// as long as three digits do.
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
    }
}

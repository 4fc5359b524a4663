//! Units carried by types, and how a person reads them: three significant digits and an SI prefix.
//!
//! Owns the arithmetic that keeps a unit and the text form. It refuses conversion between units.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

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
}

/// Three significant digits with the SI prefix that leaves one to three digits before the point.
///
/// `unit` follows the prefix: `si(12_345.0, "B")` is `12.3 kB`.
pub fn si(value: f64, unit: &str) -> String {
    const UP: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    const DOWN: [&str; 5] = ["", "m", "µ", "n", "p"];
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
}

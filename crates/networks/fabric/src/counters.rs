//! Counters of ports and tiles, and differences of their readings.
//!
//! Owns widths, units, and differences of readings. Counters are never reset, since others read
//! them too: only the difference counts, within the width of the counter. There is none for a value
//! that ran backwards without a wrap, nor for one at which a counter stopped. It refuses to read
//! counters. Follows the InfiniBand specification (counters of 32 bits stop at their largest value,
//! data are in units of four bytes), and the documents of Gemini (48 bits) and Slingshot (56 bits).

use serde::{Deserialize, Serialize};
use talea_model::{Gap, GapKind, Nanos};

/// Width of a counter, and its behaviour at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Width {
    /// Number of bits of a counter that continues at 0.
    Wraps(u8),
    /// Number of bits of a counter that stays at the largest value.
    Stops(u8),
}

impl Width {
    /// 48 bits: tiles of Gemini and Aries.
    pub const GEMINI: Self = Self::Wraps(48);
    /// 56 bits: Cassini, the adapter of Slingshot.
    pub const SLINGSHOT: Self = Self::Wraps(56);
    /// 64 bits.
    pub const FULL: Self = Self::Wraps(64);

    /// The largest value; for more than 64 bits that of 64.
    pub fn largest(self) -> u64 {
        let (Self::Wraps(bits) | Self::Stops(bits)) = self;
        1_u64.checked_shl(bits.into()).map_or(u64::MAX, |end| end - 1)
    }
}

/// Unit of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Four bytes, as InfiniBand counts data.
    FourBytes,
    /// Three bytes, as Gemini counts them.
    Phits,
    /// Flow control units of an Omni-Path or Aries link, of a size that its source defines.
    Flits,
    /// Packets.
    Packets,
    /// Ticks of a clock that its source defines.
    Ticks,
    /// Ticks of 800 MHz.
    GeminiTicks,
    /// Errors and other events.
    Events,
}

impl Unit {
    /// Its name in JSON, as `Serialize` writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::FourBytes => "four_bytes",
            Self::Phits => "phits",
            Self::Flits => "flits",
            Self::Packets => "packets",
            Self::Ticks => "ticks",
            Self::GeminiTicks => "gemini_ticks",
            Self::Events => "events",
        }
    }

    /// Bytes of this many steps; `None` for units that are not data.
    pub fn bytes(self, steps: u64) -> Option<u64> {
        match self {
            Self::Bytes => Some(steps),
            Self::FourBytes => steps.checked_mul(4),
            Self::Phits => steps.checked_mul(3),
            _ => None,
        }
    }

    /// Nanoseconds of this many steps; `None` for units that are no times, or of an unknown clock.
    pub fn nanoseconds(self, steps: u64) -> Option<f64> {
        (self == Self::GeminiTicks).then_some(steps as f64 * 1.25)
    }
}

/// A counter of a port or tile.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counter {
    /// Name at its source.
    pub name: String,
    /// Unit of a step.
    pub unit: Unit,
    /// Width in bits, and behaviour at its end.
    pub width: Width,
}

/// A value of a counter and the time of its reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Time on the clock of the source.
    pub at: Nanos,
    /// Raw value, in units of the counter.
    pub value: u64,
}

/// Reasons why two values have no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Lost {
    /// The later one is below the earlier one by less than half of the range: it was reset, or the
    /// source restarted.
    #[error("ran backwards, as after a reset")]
    Backwards,
    /// It stands at its largest value, at which it stops.
    #[error("stopped at the largest value")]
    Stopped,
    /// It is larger than its width allows.
    #[error("had a value beyond the width")]
    Beyond,
}

impl Lost {
    /// Gap for a counter without a difference.
    pub fn gap(self, counter: &str) -> Gap {
        let detail = format!("counter {counter} {self}: its difference is absent");
        Gap { kind: GapKind::Missing, rank: None, detail, count: 0 }
    }
}

/// Steps from the first value to the second one.
///
/// A counter that wraps cannot have advanced by more than half of its range: a larger difference
/// counts as running backwards. Gemini's 48 bits of ticks at 800 MHz take 49 hours for that; read
/// more often than this.
///
/// # Errors
/// A pair of values without a difference.
pub fn delta(before: u64, after: u64, width: Width) -> Result<u64, Lost> {
    let largest = width.largest();
    if before > largest || after > largest {
        return Err(Lost::Beyond);
    }
    match width {
        // A counter at its largest value may have missed steps; the steps are unknown even if the
        // two values are equal.
        Width::Stops(_) if after == largest => Err(Lost::Stopped),
        Width::Stops(_) => after.checked_sub(before).ok_or(Lost::Backwards),
        Width::Wraps(_) => {
            let steps = after.wrapping_sub(before) & largest;
            if steps > largest / 2 { Err(Lost::Backwards) } else { Ok(steps) }
        }
    }
}

/// Steps a second between two readings; `None` if no time passed.
///
/// # Errors
/// A pair of values without a difference.
pub fn rate(before: Reading, after: Reading, width: Width) -> Result<Option<f64>, Lost> {
    let steps = delta(before.value, after.value, width)?;
    let passed = after.at.0.checked_sub(before.at.0).filter(|&passed| passed > 0);
    Ok(passed.map(|passed| steps as f64 / passed as f64 * 1e9))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ends_of_counters() {
        let end = 281_474_976_710_655;
        assert_eq!(Width::GEMINI.largest(), end);
        assert_eq!(delta(end - 1, 3, Width::GEMINI), Ok(5));
        assert_eq!(delta(3, end - 1, Width::GEMINI), Err(Lost::Backwards));
        assert_eq!(delta(1000, 10, Width::GEMINI), Err(Lost::Backwards));
        assert_eq!(delta(0, end + 1, Width::GEMINI), Err(Lost::Beyond));
        assert_eq!(delta((1 << 56) - 1, 0, Width::SLINGSHOT), Ok(1));
        assert_eq!(delta(u64::MAX, 1, Width::FULL), Ok(2));
        assert_eq!(delta(u64::MAX - 5, u64::MAX, Width::FULL), Ok(5));
        let narrow = Width::Stops(32);
        assert_eq!(delta(7, 12, narrow), Ok(5));
        assert_eq!(delta(12, 7, narrow), Err(Lost::Backwards));
        assert_eq!(delta(7, u32::MAX.into(), narrow), Err(Lost::Stopped));
        assert_eq!(delta(u32::MAX.into(), u32::MAX.into(), narrow), Err(Lost::Stopped));
        assert_eq!(
            Lost::Backwards.gap("port 1 bytes").detail,
            "counter port 1 bytes ran backwards, as after a reset: its difference is absent"
        );
    }

    #[test]
    fn steps_in_other_units() {
        assert_eq!(Unit::FourBytes.bytes(3), Some(12));
        assert_eq!(Unit::Phits.bytes(32), Some(96));
        assert_eq!(Unit::FourBytes.bytes(u64::MAX), None);
        assert_eq!(Unit::Packets.bytes(3), None);
        assert_eq!(Unit::GeminiTicks.nanoseconds(4), Some(5.0));
        let reading = |at, value| Reading { at: Nanos(at), value };
        let per_second = rate(reading(0, 1), reading(500_000_000, 4), Width::FULL);
        assert_eq!(per_second, Ok(Some(6.0)));
        assert_eq!(rate(reading(7, 1), reading(7, 4), Width::FULL), Ok(None));
    }

    proptest! {
        #[test]
        fn a_wrap_changes_no_difference(bits in 1_u8..=64, before: u64, steps: u64) {
            let width = Width::Wraps(bits);
            let before = before & width.largest();
            let steps = steps & (width.largest() / 2);
            let after = before.wrapping_add(steps) & width.largest();
            prop_assert_eq!(delta(before, after, width), Ok(steps));
        }

        #[test]
        fn no_values_do_harm(bits: u8, before: u64, after: u64) {
            for width in [Width::Wraps(bits), Width::Stops(bits)] {
                if let Ok(steps) = delta(before, after, width) {
                    prop_assert!(steps <= width.largest());
                }
            }
        }
    }
}

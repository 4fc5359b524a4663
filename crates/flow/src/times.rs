//! Times within a stated bound: how a duration or a gap becomes a small integer and back.
//!
//! Owns the quantiser. Its levels stand one tolerance apart, so that every time lies between two levels which are
//! both within the tolerance; the even one is taken, unless the sum of all errors so far asks for the other.
//! That keeps the entropy of levels two tolerances apart, and no error adds up: absolute times, which are sums of gaps
//! and durations, stay within the drift bound however long the run. Long times, whose tolerance passes the drift bound,
//! have extra bits that place them inside their cell.
//! Entropy coding of the cells is [`crate::codec`]'s; reading clocks is the recorder's.

use serde::{Deserialize, Serialize};
use talea_model::Nanos;

/// How far a recorded time may be from the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// Relative error of a duration or gap, in millionths: 20,000 is 2 %.
    pub relative_ppm: u32,
    /// Absolute error allowed where the relative one is smaller.
    pub absolute: Nanos,
    /// Largest error of an absolute time.
    pub drift: Nanos,
}

impl Default for Bound {
    fn default() -> Self {
        Self { relative_ppm: 20_000, absolute: Nanos(100), drift: Nanos(10_000) }
    }
}

impl Bound {
    /// The largest error that a duration or gap of `value` may have.
    pub fn tolerance(&self, value: Nanos) -> Nanos {
        let relative = u128::from(value.0) * u128::from(self.relative_ppm) / 1_000_000;
        Nanos(self.absolute.0.max(relative as u64))
    }
}

/// A quantised time: the cell, and the bits that place a long time inside its cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Which cell; below [`Quantiser::CELLS`].
    pub index: u16,
    /// Place inside the cell; takes as many bits as the quantiser says for this cell, 0 for most.
    pub extra: u32,
}

/// Turns times into cells and back; built once from a [`Bound`].
#[derive(Clone, Debug)]
pub struct Quantiser {
    bound: Bound,
    /// Lower edge of every cell, and one more.
    levels: Vec<u64>,
    /// Cells from this one on are long: coded by place inside the cell, not by the nearest edge.
    long: usize,
    /// Extra bits of every cell.
    bits: Vec<u8>,
    /// For each binary exponent and the next seven bits of a time: the cell of its smallest value.
    start: Vec<u16>,
}

/// Bits after the leading one that the start table looks at.
const MANTISSA: u32 = 7;

impl Quantiser {
    /// Number of cells; an index is always below.
    pub const CELLS: usize = 1024;
    /// Cells that grow by the tolerance; the rest grow by quarters of an octave.
    const FINE: usize = 900;
    /// Levels of short times may at most be as many as this.
    const SHORT: usize = 700;

    /// The cells for `bound`; a bound of 0 in any part is taken as the smallest that can be kept.
    pub fn new(bound: Bound) -> Self {
        let bound = Bound {
            relative_ppm: bound.relative_ppm.clamp(10, 1_000_000),
            absolute: Nanos(bound.absolute.0.max(1)),
            drift: Nanos(bound.drift.0.max(1_000)),
        };
        // A long cell errs by at most half of this, which leaves room for the short values between two long ones.
        let widest = bound.drift.0 * 8 / 5;
        let mut levels = vec![0_u64];
        while levels.len() < Self::SHORT {
            let last = levels[levels.len() - 1];
            let step = bound.tolerance(Nanos(last)).0;
            if step > widest / 2 {
                break;
            }
            levels.push(last + step);
        }
        let long = levels.len() - 1;
        // 100 s is where the fine cells end at the latest.
        let from = levels[long].max(1) as f64;
        let room = (Self::FINE - long) as f64;
        let ratio = (1e11 / from).powf(1.0 / room).max(1.0 + f64::from(bound.relative_ppm) / 1e6);
        while levels.len() < Self::CELLS {
            let last = levels[levels.len() - 1];
            let ratio = if levels.len() <= Self::FINE { ratio } else { 2_f64.powf(0.25) };
            levels.push(((last as f64 * ratio) as u64).max(last + 1));
        }
        let bits = (0..Self::CELLS - 1)
            .map(|cell| {
                if cell < long {
                    return 0;
                }
                let width = levels[cell + 1] - levels[cell];
                let tolerance = bound.tolerance(Nanos(levels[cell])).0;
                let parts = width.div_ceil(widest.min(tolerance).max(1));
                (u64::BITS - (parts - 1).leading_zeros()).min(32) as u8
            })
            .collect();
        let mut start = vec![0_u16; 64 << MANTISSA];
        for (key, cell) in start.iter_mut().enumerate() {
            let lowest = Self::lowest(key as u32);
            *cell = (levels.partition_point(|&level| level <= lowest).max(1) - 1)
                .min(Self::CELLS - 2) as u16;
        }
        Self { bound, levels, long, bits, start }
    }

    /// Smallest value with this key of the start table.
    fn lowest(key: u32) -> u64 {
        let exponent = key >> MANTISSA;
        let mantissa = u64::from(key & ((1 << MANTISSA) - 1));
        if exponent < MANTISSA {
            // Below 2^7 the mantissa has fewer bits than the key; those keys are not all used.
            return (1_u64 << exponent) + (mantissa >> (MANTISSA - exponent));
        }
        (1_u64 << exponent) + (mantissa << (exponent - MANTISSA))
    }

    /// The bound that the cells were made for.
    pub fn bound(&self) -> Bound {
        self.bound
    }

    /// Number of extra bits of a cell; 0 for an index that does not exist.
    pub fn extra_bits(&self, index: u16) -> u8 {
        let index = usize::from(index);
        if index <= self.long { 0 } else { self.bits.get(index - 1).copied().unwrap_or(0) }
    }

    #[inline]
    fn cell_of(&self, value: u64) -> usize {
        let value = value.max(1);
        let exponent = value.ilog2();
        let mantissa = if exponent >= MANTISSA {
            (value >> (exponent - MANTISSA)) & ((1 << MANTISSA) - 1)
        } else {
            (value << (MANTISSA - exponent)) & ((1 << MANTISSA) - 1)
        };
        let mut cell = usize::from(self.start[((exponent << MANTISSA) | mantissa as u32) as usize]);
        while cell + 2 < Self::CELLS && self.levels[cell + 1] <= value {
            cell += 1;
        }
        cell
    }

    /// Quantises `value`; `error` is the sum of all true times before minus the sum of what was given back for them,
    /// and is brought up to date.
    #[inline]
    pub fn quantise(&self, value: Nanos, error: &mut i64) -> Cell {
        let value = value.0;
        let cell = self.cell_of(value);
        if cell >= self.long {
            return self.quantise_long(value, error);
        }
        let below = (value - self.levels[cell]) as i64;
        let above = below - (self.levels[cell + 1] - self.levels[cell]) as i64;
        let (even, odd) = if cell & 1 == 0 { (below, above) } else { (above, below) };
        // The exact hit on a level needs no other; it also keeps a run of zeros free of drift.
        let limit = (self.bound.drift.0 * 4 / 5) as i64;
        let take_odd =
            (*error + even).abs() > limit && (*error + odd).abs() < (*error + even).abs();
        let chosen = if take_odd { odd } else { even };
        *error += chosen;
        let up = usize::from(chosen < 0 || (chosen == above));
        Cell { index: (cell + up) as u16, extra: 0 }
    }

    #[cold]
    fn quantise_long(&self, value: u64, error: &mut i64) -> Cell {
        let tolerance = self.bound.tolerance(Nanos(value)).0 as i64;
        // What rounding inside the cell may add is kept back from the correction.
        let cell = self.cell_of(value);
        let part = self.part(cell).max(self.part((cell + 1).min(Self::CELLS - 2))) as i64;
        let room = (tolerance - part / 2 - 1).max(0);
        let target = value as i64 + (*error).clamp(-room, room);
        let mut cell = self.cell_of(target as u64);
        if cell < self.long {
            // A correction that leads below the long cells: the nearest level of the short ones.
            let up = self.levels[cell + 1] as i64 - target < target - self.levels[cell] as i64;
            cell += usize::from(up);
            cell += usize::from(value as i64 - self.levels[cell] as i64 > tolerance);
            *error += value as i64 - self.levels[cell] as i64;
            return Cell { index: cell as u16, extra: 0 };
        }
        let inside = target as u64 - self.levels[cell];
        let parts = 1_u64 << self.bits[cell];
        let width = self.levels[cell + 1] - self.levels[cell];
        let extra =
            (u128::from(inside) * u128::from(parts) / u128::from(width)).min(u128::from(parts - 1));
        // Index `long` is the level between short and long cells, so that long ones count from the next.
        let cell = Cell { index: cell as u16 + 1, extra: extra as u32 };
        *error += value as i64 - self.restore(cell).0 as i64;
        cell
    }

    fn part(&self, cell: usize) -> u64 {
        ((self.levels[cell + 1] - self.levels[cell]) >> self.bits[cell]) + 1
    }

    /// The time that a cell stands for; the largest one for an index that does not exist.
    #[inline]
    pub fn restore(&self, cell: Cell) -> Nanos {
        let index = usize::from(cell.index).min(Self::CELLS - 1);
        if index <= self.long {
            return Nanos(self.levels[index]);
        }
        let index = index - 1;
        let width = u128::from(self.levels[index + 1] - self.levels[index]);
        // The middle of the part of the cell.
        let twice = 2 * u128::from(cell.extra) + 1;
        let inside = (width * twice) >> (u32::from(self.bits[index]) + 1);
        Nanos(self.levels[index] + inside as u64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(bound: Bound, values: &[u64]) {
        let quantiser = Quantiser::new(bound);
        let mut error = 0_i64;
        let (mut truth, mut given) = (0_i128, 0_i128);
        for &value in values {
            let cell = quantiser.quantise(Nanos(value), &mut error);
            assert!(usize::from(cell.index) < Quantiser::CELLS);
            assert!(u64::from(cell.extra) < 1 << quantiser.extra_bits(cell.index));
            let back = quantiser.restore(cell).0;
            let tolerance = bound.tolerance(Nanos(value)).0 + 1;
            assert!(
                back.abs_diff(value) <= tolerance,
                "{value} came back as {back}, allowed {tolerance}"
            );
            truth += i128::from(value);
            given += i128::from(back);
            let drift = (truth - given).unsigned_abs();
            assert!(drift <= u128::from(bound.drift.0), "drift {drift} after {value}");
            assert_eq!(i128::from(error), truth - given);
        }
    }

    #[test]
    fn constant_times_do_not_drift() {
        for value in [0, 1, 49, 50, 51, 99, 150, 151, 4_999, 5_001, 77_777, 399_999, 1_234_567] {
            check(Bound::default(), &vec![value; 5_000]);
        }
    }

    #[test]
    fn other_bounds_hold_too() {
        let values: Vec<u64> = (0..20_000_u64).map(|i| (i * 7_919) % 3_000_000).collect();
        for relative_ppm in [100, 5_000, 20_000, 50_000, 200_000] {
            for absolute in [10, 100, 1_000] {
                check(
                    Bound { relative_ppm, absolute: Nanos(absolute), drift: Nanos(10_000) },
                    &values,
                );
            }
        }
    }

    proptest! {
        #[test]
        fn bounds_hold(values in proptest::collection::vec(
            prop_oneof![0..300_u64, 0..20_000_u64, 0..2_000_000_u64, 0..100_000_000_000_u64], 1..2_000)) {
            check(Bound::default(), &values);
        }
    }
}

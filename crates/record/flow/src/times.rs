//! Times within a stated bound: conversion of a duration or a gap to a small integer and back.
//!
//! Owns the quantiser. Its levels stand one tolerance apart, so that every time lies between two
//! levels that are within the tolerance; the even one is taken, unless the sum of all errors so far
//! requires the other. That keeps the entropy of levels two tolerances apart, and no error adds up:
//! absolute times, which are sums of gaps and durations, stay within the drift bound however long
//! the run. Long times, whose tolerance exceeds that bound, have extra bits that place them inside
//! their cell. Entropy coding of the cells is [`crate::codec`]'s; reading clocks is the recorder's.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use talea_model::Nanos;

/// Maximum errors of recorded times.
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

    /// Expected error of the sum of this many recorded times, if their errors are independent.
    pub fn tolerance_of_sum(&self, sum: Nanos, times: u64) -> Nanos {
        let each = self.tolerance(Nanos(sum.0 / times.max(1))).min(self.drift);
        Nanos(each.0.saturating_mul(times.isqrt()))
    }
}

/// A quantised time: the cell, and the bits that place a long time inside its cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Number of the cell; below [`Quantiser::CELLS`].
    pub index: u16,
    /// Place inside the cell, in the quantiser's number of bits for this cell, 0 for most.
    pub extra: u32,
}

/// Accumulated error of the restored times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// Sum of all true times minus the sum of the restored ones, in nanoseconds.
    error: i64,
    /// Reduction of the permitted error: half while short times compensate for it. Many of them are
    /// alike and err alike: a run of odd levels after a run of even ones is predictable, while odd
    /// ones here and there at the edge of the bound would each have to be coded.
    less: i64,
}

/// Converts times to cells and back; built once from a [`Bound`].
#[derive(Clone, Debug)]
pub struct Quantiser {
    bound: Bound,
    /// Sum of errors from which on odd levels are taken.
    limit: i64,
    /// Lower edge of every cell, and one more.
    levels: Box<[u64; Self::CELLS]>,
    /// Cells below this one are as wide as the absolute tolerance.
    short: usize,
    /// Cells from this one on are long: coded by place inside the cell, not by the nearest edge.
    long: usize,
    /// Extra bits of every cell.
    bits: Vec<u8>,
    /// For each time below [`SMALL`] the adjacent levels.
    small: Box<[Small; SMALL]>,
    /// For each binary exponent and the next seven bits of a time: the cell of its smallest value.
    start: Box<[u16; 64 << MANTISSA]>,
}

/// The two levels next to a short time, the even one first.
#[derive(Clone, Copy, Debug, Default)]
struct Small {
    /// Their indices; [`ONE_BYTE`] where one does not fit or the time is not short.
    indices: [u8; 2],
    /// The time minus each.
    errors: [i16; 2],
}

/// Cells below this are one byte in a recorder's stream.
pub const ONE_BYTE: u8 = 224;

/// Times below this have a table of their own: calls that need not wait, and the gaps between them.
const SMALL: usize = 1024;

/// Maximum of any part of a bound: the head of a recording has 32 bits for each.
const LARGEST: u64 = u32::MAX as u64;

/// Bits after the leading one in the key of the start table.
const MANTISSA: u32 = 7;

/// The fourth root of 2.
const QUARTER_OCTAVE: f64 = 1.189_207_115_002_721;

/// The `n`-th root of a number from 1, by halving: with additions and multiplications alone, so
/// that the levels are the same on every machine; the roots of the mathematical library are not.
fn root(number: f64, n: u32) -> f64 {
    let power = |mut base: f64| {
        let (mut result, mut left) = (1.0, n);
        while left > 0 {
            if left & 1 == 1 {
                result *= base;
            }
            base *= base;
            left >>= 1;
        }
        result
    };
    let (mut low, mut high) = (1.0, number.max(1.0));
    for _ in 0..128 {
        let middle = f64::midpoint(low, high);
        if power(middle) <= number {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

impl Drift {
    /// The restored time that stands for an absolute one, by the errors so far.
    pub fn restored_time(&self, time: Nanos) -> Nanos {
        Nanos(time.0.saturating_add_signed(-self.error))
    }
}

impl Quantiser {
    /// Number of cells; an index is always below.
    pub const CELLS: usize = 1024;
    /// Cells that grow by the tolerance; the rest grow by quarters of an octave.
    const FINE: usize = 900;
    /// Maximum number of levels of short times.
    const SHORT: usize = 700;

    /// The cells for `bound`, made once for all threads of a recording.
    pub fn shared(bound: Bound) -> Arc<Self> {
        static LAST: Mutex<Option<(Bound, Arc<Quantiser>)>> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((known, shared)) if *known == bound => Arc::clone(shared),
            _ => {
                let made = Arc::new(Self::new(bound));
                *last = Some((bound, Arc::clone(&made)));
                made
            }
        }
    }

    /// The cells for `bound`; a bound of 0 in any part is treated as the smallest possible.
    pub fn new(bound: Bound) -> Self {
        let bound = Bound {
            relative_ppm: bound.relative_ppm.clamp(10, 1_000_000),
            absolute: Nanos(bound.absolute.0.clamp(1, LARGEST)),
            drift: Nanos(bound.drift.0.clamp(1_000, LARGEST)),
        };
        // A long cell errs by at most half of this, which leaves room for the short values between
        // two long ones.
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
        let short = levels.windows(2).take_while(|l| l[1] - l[0] <= bound.absolute.0).count();
        // 100 s is where the fine cells end at the latest.
        let from = levels[long].max(1) as f64;
        let fine = root(1e11 / from, (Self::FINE - long) as u32);
        let ratio = fine.max(1.0 + f64::from(bound.relative_ppm) / 1e6);
        while levels.len() < Self::CELLS {
            let last = levels[levels.len() - 1];
            let ratio = if levels.len() <= Self::FINE { ratio } else { QUARTER_OCTAVE };
            // The last levels lie beyond the range of 64 bits.
            levels.push(((last as f64 * ratio) as u64).max(last.saturating_add(1)));
        }
        let bits = (0..Self::CELLS - 1)
            .map(|cell| {
                if cell < long {
                    return 0;
                }
                let width = levels[cell + 1] - levels[cell];
                let tolerance = bound.tolerance(Nanos(levels[cell])).0;
                let parts = width.div_ceil(widest.min(tolerance).max(1)).max(1);
                (u64::BITS - (parts - 1).leading_zeros()).min(32) as u8
            })
            .collect();
        let mut start = Box::new([0_u16; 64 << MANTISSA]);
        for (key, cell) in start.iter_mut().enumerate() {
            let lowest = Self::lowest(key as u32);
            *cell = (levels.partition_point(|&level| level <= lowest).max(1) - 1)
                .min(Self::CELLS - 2) as u16;
        }
        let limit = (bound.drift.0 * 4 / 5) as i64;
        let mut edges = Box::new([u64::MAX; Self::CELLS]);
        edges.copy_from_slice(&levels);
        let mut small = Box::new([Small { indices: [ONE_BYTE; 2], errors: [0; 2] }; SMALL]);
        for (time, small) in small.iter_mut().enumerate() {
            let cell = edges.partition_point(|&level| level <= time as u64) - 1;
            let both = [(cell + 1) & !1, cell | 1];
            let errors = both.map(|level| time as i64 - edges[level] as i64);
            let fits = errors.iter().all(|&error| i16::try_from(error).is_ok());
            if fits && cell < short.min(usize::from(ONE_BYTE) - 1) {
                *small = Small { indices: both.map(|n| n as u8), errors: errors.map(|e| e as i16) };
            }
        }
        Self { bound, limit, levels: edges, short, long, bits, small, start }
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

    /// Number of extra bits of a cell; 0 for an invalid index.
    pub fn extra_bits(&self, index: u16) -> u8 {
        let index = usize::from(index);
        if index <= self.long { 0 } else { self.bits.get(index - 1).copied().unwrap_or(0) }
    }

    #[inline]
    fn cell_of(&self, value: u64) -> usize {
        // The start table begins with 1, which may be a level of its own.
        if value == 0 {
            return 0;
        }
        let zeros = value.leading_zeros();
        let mantissa = ((value << zeros) >> (63 - MANTISSA)) as usize & ((1 << MANTISSA) - 1);
        let mut cell = usize::from(self.start[((63 - zeros) as usize) << MANTISSA | mantissa]);
        while cell + 2 < Self::CELLS && self.levels[cell + 1] <= value {
            cell += 1;
        }
        cell
    }

    /// Quantises `value`; `drift` is that of all times before, and is updated.
    #[inline]
    pub fn quantise(&self, value: Nanos, drift: &mut Drift) -> Cell {
        let value = value.0;
        let cell = self.cell_of(value);
        if cell >= self.long {
            return self.quantise_long(value, &mut drift.error);
        }
        let near = (cell + 1) & !1;
        let even = value.wrapping_sub(self.levels[near]) as i64;
        let with_even = drift.error + even;
        if with_even.abs() <= self.limit - drift.less {
            drift.error = with_even;
            drift.less = 0;
            return Cell { index: near as u16, extra: 0 };
        }
        self.quantise_against_drift(value, cell, drift)
    }

    /// As [`Self::quantise`], for short times; the index of their cell, which is below
    /// [`ONE_BYTE`]. `None` for all others, without any change.
    #[inline]
    pub fn quantise_small(&self, value: Nanos, drift: &mut Drift) -> Option<u8> {
        let Small { indices, errors } = *self.small.get(value.0 as usize)?;
        if indices[0] == ONE_BYTE {
            return None;
        }
        let with_even = drift.error + i64::from(errors[0]);
        if with_even.abs() <= self.limit - drift.less {
            drift.error = with_even;
            drift.less = 0;
            return Some(indices[0]);
        }
        // As in `quantise_against_drift`.
        let with_odd = drift.error + i64::from(errors[1]);
        let to_odd = with_odd.abs() < with_even.abs();
        drift.error = if to_odd { with_odd } else { with_even };
        drift.less = self.limit / 2;
        Some(indices[usize::from(to_odd)])
    }

    /// As [`Self::quantise`], where the even level would exceed the drift bound.
    #[inline(never)]
    fn quantise_against_drift(&self, value: u64, cell: usize, drift: &mut Drift) -> Cell {
        let error = |level: usize| value.wrapping_sub(self.levels[level]) as i64;
        // One of the two is the level below, the other the level above.
        let (even, odd) = ((cell + 1) & !1, cell | 1);
        let (with_even, with_odd) = (drift.error + error(even), drift.error + error(odd));
        let short = cell < self.short;
        let nearer = with_odd.abs() < with_even.abs();
        let to_odd = nearer && (short || with_even.abs() > self.limit);
        drift.error = if to_odd { with_odd } else { with_even };
        drift.less = if short { self.limit / 2 } else { drift.less };
        Cell { index: if to_odd { odd } else { even } as u16, extra: 0 }
    }

    #[cold]
    fn quantise_long(&self, value: u64, error: &mut i64) -> Cell {
        // 73 years: sums with a tolerance stay within 64 bits.
        let value = value.min(1 << 61);
        let tolerance = self.bound.tolerance(Nanos(value)).0 as i64;
        // The possible rounding error inside the cell is withheld from the correction.
        let cell = self.cell_of(value);
        let part = self.part(cell).max(self.part((cell + 1).min(Self::CELLS - 2))) as i64;
        let room = (tolerance - part / 2 - 1).max(0);
        let target = (value as i64 + (*error).clamp(-room, room)).max(0);
        let mut cell = self.cell_of(target as u64);
        if cell < self.long {
            // A correction to a value below the long cells: the nearest level of the short ones.
            let up = self.levels[cell + 1] as i64 - target < target - self.levels[cell] as i64;
            cell += usize::from(up);
            cell += usize::from(value as i64 - self.levels[cell] as i64 > tolerance);
            *error += value as i64 - self.levels[cell] as i64;
            return Cell { index: cell as u16, extra: 0 };
        }
        let inside = target as u64 - self.levels[cell];
        let parts = 1_u64 << self.bits[cell];
        let width = (self.levels[cell + 1] - self.levels[cell]).max(1);
        let extra =
            (u128::from(inside) * u128::from(parts) / u128::from(width)).min(u128::from(parts - 1));
        // Index `long` is the level between short and long cells, so that long ones count from the
        // next.
        let cell = Cell { index: cell as u16 + 1, extra: extra as u32 };
        *error += value as i64 - self.restore(cell).0 as i64;
        cell
    }

    fn part(&self, cell: usize) -> u64 {
        ((self.levels[cell + 1] - self.levels[cell]) >> self.bits[cell]) + 1
    }

    /// The time of a cell; the largest one for an invalid index.
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
        let mut drift = Drift::default();
        let (mut truth, mut given) = (0_i128, 0_i128);
        for &value in values {
            let mut again = drift;
            let small = quantiser.quantise_small(Nanos(value), &mut again);
            let cell = quantiser.quantise(Nanos(value), &mut drift);
            // The short path has the same result.
            if let Some(index) = small {
                assert_eq!((u16::from(index), again), (cell.index, drift));
            }
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
            let error = truth - given;
            assert!(error.unsigned_abs() <= u128::from(bound.drift.0), "{error} after {value}");
            assert_eq!(i128::from(drift.error), error);
        }
    }

    #[test]
    fn short_times_go_the_short_way() {
        let quantiser = Quantiser::new(Bound::default());
        for value in 0..SMALL as u64 {
            assert!(quantiser.quantise_small(Nanos(value), &mut Drift::default()).is_some());
        }
        assert!(quantiser.quantise_small(Nanos(1 << 20), &mut Drift::default()).is_none());
    }

    #[test]
    fn constant_times_do_not_drift() {
        for value in [0, 1, 49, 50, 51, 99, 150, 151, 4_999, 5_001, 77_777, 399_999, 1_234_567] {
            check(Bound::default(), &vec![value; 5_000]);
        }
    }

    #[test]
    fn short_times_correct_in_runs() {
        let quantiser = Quantiser::new(Bound::default());
        for value in [110, 140, 230, 290, 770] {
            let mut drift = Drift::default();
            let cells = (0..20_000).map(|_| quantiser.quantise(Nanos(value), &mut drift));
            let odd: Vec<bool> = cells.map(|cell| cell.index % 2 == 1).collect();
            let turns = odd.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert!((50..1_000).contains(&turns), "{turns} turns at {value}");
        }
    }

    #[test]
    fn roots_are_roots() {
        for (number, n) in [(1.0, 5), (2.0, 1), (1024.0, 10), (1e11, 800), (0.5, 3)] {
            let expected = f64::powf(number, 1.0 / f64::from(n)).max(1.0);
            assert!((root(number, n) / expected - 1.0).abs() < 1e-12, "{n}th root of {number}");
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

    #[test]
    fn no_bound_and_no_time_is_too_large() {
        for part in [0, 1, 1 << 40, u64::MAX] {
            for relative_ppm in [0, 20_000, u32::MAX] {
                let bound = Bound { relative_ppm, absolute: Nanos(part), drift: Nanos(part) };
                let quantiser = Quantiser::new(bound);
                let mut drift = Drift::default();
                for time in [0, 1 << 40, 1 << 62, u64::MAX] {
                    let cell = quantiser.quantise(Nanos(time), &mut drift);
                    assert!(usize::from(cell.index) < Quantiser::CELLS);
                    quantiser.restore(cell);
                }
                for index in [0, 1023, u16::MAX] {
                    quantiser.restore(Cell { index, extra: u32::MAX });
                }
            }
        }
    }

    proptest! {
        #[test]
        fn bounds_hold(values in proptest::collection::vec(
            prop_oneof![0..300_u64, 0..20_000_u64, 0..2_000_000_u64, 0..100_000_000_000_u64],
            1..2_000
        )) {
            check(Bound::default(), &values);
        }
    }
}

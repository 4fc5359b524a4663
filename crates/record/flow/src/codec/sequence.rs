//! Integer streams: one value per visit of a node, packed to about their entropy and read back run
//! by run.
//!
//! Owns the decoder and the form of the whole. A stream is a change of its values (`form`), repeats
//! of its runs (`repeats`, LZ77), and what is left as numbers in mixed contexts (`pieces`,
//! `number`); each stage does nothing where it gains nothing. Nested loops, counters and strides
//! end as a few numbers, data-dependent values as contexts. The number of values is not stored: it
//! is the number of visits of the node.

use super::DecodeError;
use super::form::{Form, Scale, Undo};
use super::number::Numbers;
use super::pieces::{Coded, Pieces, Setting};
use super::{plan, range};
use crate::cycles::{Cycles, CyclesBuilder};

/// Packs a stream; all its runs take time. An empty one takes no bytes, a constant one 1 to 3
/// unless its value is large.
pub fn encode(values: &Cycles<i64>) -> Vec<u8> {
    plan::best(values)
}

/// Bounds of unpacking, which neither the number of values nor the bytes give: a copy of two runs,
/// repeated, takes as few bytes as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Runs that may still be kept, of 16 bytes: see [`Cycles::kept`].
    pub runs: u64,
    /// Runs that may still be unpacked, kept or not: these take time.
    pub steps: u64,
}

/// Unpacks a stream of `len` values at once; what that takes is subtracted from the `bounds`.
pub fn decode_all(bytes: &[u8], len: u64, bounds: &mut Bounds) -> Result<Cycles<i64>, DecodeError> {
    let mut decoder = Decoder::new(bytes, len)?;
    let mut values = CyclesBuilder::new();
    while let Some((value, count)) = decoder.next_run()? {
        bounds.steps = bounds.steps.checked_sub(1).ok_or(DecodeError::TooLong)?;
        values.push(value, count);
        if values.kept() > bounds.runs {
            bounds.runs = 0;
            return Err(DecodeError::TooLong);
        }
    }
    decoder.finish()?;
    let values = Cycles::from(values);
    let left = bounds.runs.checked_sub(values.kept());
    bounds.runs = left.unwrap_or(0);
    left.map(|_| values).ok_or(DecodeError::TooLong)
}

/// Unpacks a stream run by run.
///
/// Its memory is the window of runs that copies reach back to, as written in the stream, at most 16
/// MiB, and the statistics of new runs, at most 8 MiB; both grow with the values read.
#[derive(Clone, Debug)]
struct Decoder<'a> {
    coder: range::Decoder<'a>,
    numbers: Numbers,
    pieces: Pieces,
    undo: Undo,
    /// Runs still to copy.
    copies: u64,
    /// Transformed values not yet decoded.
    left: u64,
    plain: bool,
}

impl<'a> Decoder<'a> {
    /// Begins to read the `len` values that [`encode`] packed into `bytes`.
    fn new(bytes: &'a [u8], len: u64) -> Result<Self, DecodeError> {
        let mut coder = range::Decoder::new(bytes);
        let mut numbers = Numbers::new();
        let plain = Form { scale: Scale::Plain, lag: 0 };
        let form = if len == 0 { plain.clone() } else { plain.code(&mut numbers, &mut coder)? };
        let pieces =
            Pieces::new(&mut numbers, &mut coder, 1, Setting { cycle: 1, relative: false })?;
        let plain = form == plain;
        Ok(Self { coder, numbers, pieces, undo: Undo::new(form), copies: 0, left: len, plain })
    }

    /// The next value and the number of repetitions; `None` at the end. The run after may have the
    /// same value.
    #[inline]
    fn next_run(&mut self) -> Result<Option<(i64, u64)>, DecodeError> {
        if self.undo.is_empty() {
            if self.left == 0 {
                return Ok(None);
            }
            let run = if self.copies > 0 { self.copy()? } else { self.piece()? };
            if self.plain {
                return Ok(Some(run));
            }
            self.undo.give(run.0, run.1);
        }
        self.undo.take().map(Some)
    }

    #[inline]
    fn copy(&mut self) -> Result<(i64, u64), DecodeError> {
        let Some((value, count)) = self.pieces.copied() else {
            return Err(DecodeError::Malformed("copy from before the start or the window"));
        };
        self.copies -= 1;
        // The last run of a stream may be cut short.
        let run = (value, count.min(self.left));
        self.left -= run.1;
        self.pieces.note(run);
        Ok(run)
    }

    #[cold]
    fn piece(&mut self) -> Result<(i64, u64), DecodeError> {
        let given = Coded::New(0, 1);
        match self.pieces.code(&mut self.numbers, &mut self.coder, given, self.left)? {
            Coded::New(value, count) => {
                self.left -= count;
                self.pieces.note((value, count));
                Ok((value, count))
            }
            Coded::Copy { runs, .. } => {
                self.copies = runs;
                self.copy()
            }
        }
    }

    /// Checks, after the last run, that all bytes were used.
    fn finish(&self) -> Result<(), DecodeError> {
        if self.coder.at_end() { Ok(()) } else { Err(DecodeError::Trailing) }
    }
}

/// Numbers from 0 with greatest common divisor 1, and the `base` and `step`: `base + step * number`
/// are the values again.
///
/// Streams that differ in these only, as counts and bytes do, become the same. Arithmetic wraps.
pub fn scaled(values: &Cycles<i64>) -> (i64, u64, Cycles<i64>) {
    let Some(scale) = Scale::steps(values) else { return (0, 1, values.clone()) };
    let Scale::Steps { base, step } = scale else { return (0, 1, values.clone()) };
    (base, step, values.map(|value| scale.number(value)))
}

/// The value of a number from [`scaled`].
#[inline]
pub const fn unscaled(number: i64, base: i64, step: u64) -> i64 {
    base.wrapping_add((number as u64).wrapping_mul(step) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unpack(bytes: &[u8], len: u64, most: u64) -> Result<Cycles<i64>, DecodeError> {
        decode_all(bytes, len, &mut Bounds { runs: u64::MAX, steps: most })
    }

    fn round_trip(values: &Cycles<i64>) -> usize {
        let bytes = encode(values);
        assert_eq!(unpack(&bytes, values.len(), u64::MAX).as_ref(), Ok(values));
        bytes.len()
    }

    fn arbitrary() -> impl Strategy<Value = Cycles<i64>> {
        let value = prop_oneof![
            4 => 0..4_i64,
            2 => (0..5_i64).prop_map(|n| 1000 + 24 * n),
            1 => any::<i64>(),
            1 => prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(-1)],
        ];
        let count = prop_oneof![6 => Just(1), 3 => 1..70_u64, 1 => 0..1_u64 << 40];
        let block = prop::collection::vec((value, count), 0..12);
        prop::collection::vec((block, 1..20_usize), 0..8).prop_map(|blocks| {
            let mut values = CyclesBuilder::new();
            for (block, times) in blocks {
                for _ in 0..times {
                    for &(value, count) in &block {
                        values.push(value, count);
                    }
                }
            }
            values.into()
        })
    }

    proptest! {
        #[test]
        fn interleaved_counters_are_found(
            strides in prop::collection::vec((-10_000..10_000_i64, -100..100_i64), 1..12),
        ) {
            let values: Cycles<i64> = (0..20_000)
                .map(|i| {
                    let (base, stride) = strides[i % strides.len()];
                    base + stride * i as i64
                })
                .collect();
            let size = round_trip(&values);
            prop_assert!(size <= 16 + 8 * strides.len(), "{} bytes", size);
        }

        #[test]
        fn scales_are_reversible(values in prop::collection::vec(any::<i64>(), 0..60)) {
            let values: Cycles<i64> = values.into_iter().collect();
            let (base, step, numbers) = scaled(&values);
            let back: Cycles<i64> = numbers.values().map(|n| unscaled(n, base, step)).collect();
            prop_assert_eq!(back, values);
        }

        #[test]
        fn streams_come_back(values in arbitrary()) {
            round_trip(&values);
        }

        /// Plans are sought on the first values only.
        #[test]
        fn what_comes_late_may_be_unlike_what_came_first(
            first in prop::collection::vec((1..5_i64, 1..20_u64), 1..12),
            draws in prop::collection::vec(any::<u8>(), 100..2000),
            scale in (-3..3_i64, 1..50_i64),
            late in prop::collection::vec(
                (any::<i64>().prop_map(|v| v >> (v & 63)), 1..20_u64),
                0..8
            ),
        ) {
            let mut values = CyclesBuilder::new();
            for draw in draws {
                let (value, count) = first[usize::from(draw) % first.len()];
                values.push(scale.0 + scale.1 * value, count);
            }
            for (value, count) in late {
                values.push(value, count);
            }
            round_trip(&values.into());
        }

        #[test]
        fn single_values_come_back(values in prop::collection::vec(any::<i64>(), 0..200)) {
            round_trip(&values.into_iter().collect());
        }

        #[test]
        fn any_bytes_give_as_many_values_or_an_error(
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            len in 0..5000_u64,
        ) {
            if let Ok(values) = unpack(&bytes, len, u64::MAX) {
                prop_assert_eq!(values.len(), len);
            }
        }

        #[test]
        fn damage_gives_as_many_values_or_an_error(
            values in arbitrary(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut bytes = encode(&values);
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let mut decoder = Decoder::new(&bytes, values.len());
            // A damaged stream may claim to be single values; some of them are proof enough.
            for _ in 0..100_000 {
                let Ok(decoder) = &mut decoder else { break };
                if !matches!(decoder.next_run(), Ok(Some(_))) {
                    break;
                }
            }
        }
    }

    #[test]
    fn an_empty_stream_has_no_bytes() {
        assert!(encode(&Cycles::new()).is_empty());
        assert_eq!(unpack(&[], 0, 0), Ok(Cycles::new()));
        assert_eq!(unpack(&[1, 2, 3, 4, 5, 6], 0, 0), Err(DecodeError::Trailing));
    }

    #[test]
    fn a_claimed_length_is_believed_only_as_far_as_it_is_cheap() {
        let identical = Cycles::from_runs([(7, 1 << 60)]);
        assert_eq!(unpack(&encode(&identical), 1 << 60, 1), Ok(identical));
        // The same few bytes may be read as alternating for ever.
        let alternating: Cycles<i64> = (0..1000).map(|i| i % 2).collect();
        let bytes = encode(&alternating);
        assert!(bytes.len() < 16);
        assert_eq!(unpack(&bytes, 1 << 60, 10_000), Err(DecodeError::TooLong));
        let irregular: Cycles<i64> = (0..1000_i64).map(|i| i * i % 1009).collect();
        let mut bounds = Bounds { runs: 900, steps: 2000 };
        let unpacked = decode_all(&encode(&irregular), 1000, &mut bounds);
        assert_eq!((unpacked, bounds.runs), (Err(DecodeError::TooLong), 0));
        bounds = Bounds { runs: 2000, steps: 2000 };
        let unpacked = decode_all(&encode(&irregular), 1000, &mut bounds).unwrap();
        assert_eq!(bounds, Bounds { runs: 2000 - unpacked.kept(), steps: 1000 });
    }

    /// Reproducible pseudorandom numbers.
    fn noise(seed: u64) -> impl FnMut(u64) -> i64 {
        let mut state = seed;
        move |below| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            ((state >> 33) % below) as i64
        }
    }

    #[test]
    fn regular_streams_take_a_few_bytes() {
        let loops = |counts: [usize; 3]| {
            let mut values = CyclesBuilder::new();
            for _ in 0..counts[0] {
                for _ in 0..counts[1] {
                    values.push(0, counts[2] as u64);
                    values.push(1, 1);
                }
                values.push(2, 1);
            }
            Cycles::from(values)
        };
        let constant = Cycles::from_runs([(7, 1_000_000)]);
        let peers = [3, 5, 1, 9, 2, 5, 8];
        let cases: [(&str, Cycles<i64>, usize); 7] = [
            ("constant", constant, 2),
            ("counter", (0..100_000).collect(), 3),
            ("stride", (0..100_000).map(|i| 1000 - 24 * i).collect(), 6),
            ("peers", (0..100_000).map(|i| peers[i % 7]).collect(), 10),
            ("loops", loops([1000, 20, 59]), 11),
            ("short loops", loops([100, 300, 1]), 11),
            ("counters", (0..90_000).map(|i| [5, 100 + i, -7 * i][i as usize % 3]).collect(), 11),
        ];
        for (name, values, most) in cases {
            let size = round_trip(&values);
            assert!(size <= most, "{name} takes {size} bytes");
        }
    }

    #[test]
    fn irregular_streams_come_near_their_entropy() {
        let mut draw = noise(1);
        let mut random = |below: u64| draw(below);
        // Six message sizes that change every 20 steps by up to 8 atoms of 24 bytes: 6 x 4.09 bits
        // a change.
        let mut sizes = [1500, 1600, 1400, 1800, 1700, 1550];
        let mut halo = CyclesBuilder::new();
        for _ in 0..200 {
            for size in &mut sizes {
                *size += random(17) - 8;
            }
            for _ in 0..20 {
                for size in sizes {
                    halo.push(size * 24, 1);
                }
            }
        }
        let few: Cycles<i64> =
            (0..20_000).map(|_| [96, 4096, 123_456, 77][random(4) as usize]).collect();
        let mut at = 100_000;
        let walk: Cycles<i64> = (0..20_000)
            .map(|_| {
                at += random(3) - 1;
                at
            })
            .collect();
        let cases = [
            ("halo", halo.into(), 200.0 * 6.0 * 4.09),
            ("few", few, 40_000.0),
            ("walk", walk, 31_700.0),
        ];
        for (name, values, bits) in cases {
            let size = round_trip(&values);
            assert!(
                (size as f64) < bits / 8.0 * 1.15,
                "{name} takes {size} bytes, entropy {}",
                bits / 8.0
            );
        }
    }
}

//! Exact times: every nanosecond of gap and duration, without loss.
//!
//! Owns the split of a number into a cell, sixteen an octave, modelled like quantised times, and
//! the digits below, which are practically random and copied.

use super::cells::Cells;
use crate::codec::DecodeError;
use crate::codec::range::{self, Bits};

/// Number of digits below the leading one that determine the cell.
const FINE: u32 = 4;

/// Cell of a time, and the number of digits that follow.
fn split(time: u64) -> (u16, u32) {
    if time < 1 << FINE {
        return (time as u16, 0);
    }
    let rest = time.ilog2() - FINE;
    ((((rest + 1) << FINE) + ((time >> rest) as u32 & ((1 << FINE) - 1))) as u16, rest)
}

/// First time of a cell, and the number of digits that follow; `None` if no time has it.
fn place(index: u16) -> Option<(u64, u32)> {
    let index = u32::from(index);
    if index < 1 << FINE {
        return Some((u64::from(index), 0));
    }
    let rest = (index >> FINE) - 1;
    let leading = u64::from(1 << FINE | index & ((1 << FINE) - 1));
    (rest < u64::BITS - FINE).then_some((leading << rest, rest))
}

/// Writes exact times.
#[derive(Debug, Default)]
pub struct Encoder {
    coder: range::Encoder,
    cells: Cells,
}

impl Encoder {
    /// An empty stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the times of an event in nanoseconds, each with its context, an edge and a node.
    pub fn push(&mut self, gap_context: u32, gap: u64, duration_context: u32, duration: u64) {
        let (index, rest) = split(gap);
        self.cells.gap(&mut self.coder, gap_context, duration_context, index);
        self.coder.raw(rest, gap);
        let (index, rest) = split(duration);
        self.cells.duration(&mut self.coder, index);
        self.coder.raw(rest, duration);
    }

    /// Ends the stream.
    pub fn finish(self) -> Vec<u8> {
        self.coder.finish()
    }
}

/// Reads exact times back.
#[derive(Debug)]
pub struct Decoder<'a> {
    coder: range::Decoder<'a>,
    cells: Cells,
}

impl<'a> Decoder<'a> {
    /// Begins to read the output of [`Encoder::finish`].
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { coder: range::Decoder::new(bytes), cells: Cells::new() }
    }

    /// Gap and duration of the next event, with the contexts of its `push`.
    pub fn next(
        &mut self,
        gap_context: u32,
        duration_context: u32,
    ) -> Result<(u64, u64), DecodeError> {
        let gap = self.cells.gap(&mut self.coder, gap_context, duration_context, 0);
        let gap = self.time(gap)?;
        let duration = self.cells.duration(&mut self.coder, 0);
        let duration = self.time(duration)?;
        if self.coder.exhausted() {
            return Err(DecodeError::Truncated);
        }
        Ok((gap, duration))
    }

    fn time(&mut self, index: u16) -> Result<u64, DecodeError> {
        let (first, rest) = place(index).ok_or(DecodeError::Malformed("time above 64 bits"))?;
        Ok(first + self.coder.raw(rest, 0))
    }

    /// Checks, after the last event, that all bytes were used.
    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.coder.at_end() { Ok(()) } else { Err(DecodeError::Trailing) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn time() -> impl Strategy<Value = u64> {
        prop_oneof![
            any::<u64>(),
            0..40_u64,
            Just(u64::MAX),
            (0..64_u32).prop_map(|shift| 1 << shift)
        ]
    }

    proptest! {
        #[test]
        fn exact_times_come_back(
            events in prop::collection::vec((0..5_u32, time(), any::<u32>(), time()), 0..300),
        ) {
            let mut encoder = Encoder::new();
            for &(a, gap, b, duration) in &events {
                encoder.push(a, gap, b, duration);
            }
            let bytes = encoder.finish();
            let mut decoder = Decoder::new(&bytes);
            for &(a, gap, b, duration) in &events {
                prop_assert_eq!(decoder.next(a, b), Ok((gap, duration)));
            }
            prop_assert_eq!(decoder.finish(), Ok(()));
        }

        #[test]
        fn any_bytes_give_times_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut decoder = Decoder::new(&bytes);
            let read = (0..1000).take_while(|i| decoder.next(i % 3, i % 5).is_ok()).count();
            prop_assert!(read <= 1000);
        }
    }
}

//! Times of the first two versions of recordings, which are still read.
//!
//! Owns the decoder of their streams: the statistics of [`cells`](super::cells) coded bit by bit.
//! Nothing writes them any more.

use super::cells::Cells;
#[cfg(test)]
use super::cells::INDICES;
use crate::codec::DecodeError;
use crate::codec::range::{self, Bits};
use crate::times::Cell;

/// Reads times back.
#[derive(Debug)]
pub struct Decoder<'a, F> {
    coder: range::Decoder<'a>,
    cells: Cells,
    extra_bits: F,
}

impl<'a, F: Fn(u16) -> u8> Decoder<'a, F> {
    /// Begins to read a stream; `extra_bits` returns the number of extra bits of a cell.
    pub fn new(bytes: &'a [u8], extra_bits: F) -> Self {
        Self { coder: range::Decoder::new(bytes), cells: Cells::new(), extra_bits }
    }

    /// Gap and duration of the next event; its contexts are an edge and a node.
    pub fn next(
        &mut self,
        gap_context: u32,
        duration_context: u32,
    ) -> Result<(Cell, Cell), DecodeError> {
        let gap = self.cells.gap(&mut self.coder, gap_context, duration_context, 0);
        let gap = self.cell(gap);
        let duration = self.cells.duration(&mut self.coder, 0);
        let duration = self.cell(duration);
        if self.coder.exhausted() {
            return Err(DecodeError::Truncated);
        }
        Ok((gap, duration))
    }

    #[inline]
    fn cell(&mut self, index: u16) -> Cell {
        let width = u32::from((self.extra_bits)(index)).min(32);
        Cell { index, extra: self.coder.raw(width, 0) as u32 }
    }

    /// Checks, after the last event, that all bytes were used.
    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.coder.at_end() { Ok(()) } else { Err(DecodeError::Trailing) }
    }
}

/// Writes times, for tests alone; `F` returns the number of extra bits of a cell, at most 32.
#[cfg(test)]
#[derive(Debug)]
pub struct Encoder<F> {
    coder: range::Encoder,
    cells: Cells,
    extra_bits: F,
}

#[cfg(test)]
impl<F: Fn(u16) -> u8> Encoder<F> {
    /// An empty stream.
    pub fn new(extra_bits: F) -> Self {
        Self { coder: range::Encoder::new(), cells: Cells::new(), extra_bits }
    }

    /// Appends the times of an event: gap before it and duration, each with its context, an edge
    /// and a node.
    ///
    /// # Panics
    ///
    /// If the index of a cell is 1024 or more.
    pub fn push(&mut self, gap_context: u32, gap: Cell, duration_context: u32, duration: Cell) {
        for index in [gap.index, duration.index] {
            assert!(index < INDICES, "cell {index} is not below {INDICES}");
        }
        self.cells.gap(&mut self.coder, gap_context, duration_context, gap.index);
        self.extra(gap);
        self.cells.duration(&mut self.coder, duration.index);
        self.extra(duration);
    }

    fn extra(&mut self, cell: Cell) {
        let width = u32::from((self.extra_bits)(cell.index)).min(32);
        self.coder.raw(width, u64::from(cell.extra));
    }

    /// Ends the stream.
    pub fn finish(self) -> Vec<u8> {
        self.coder.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn extra_bits(index: u16) -> u8 {
        (index / 100) as u8
    }

    proptest! {
        #[test]
        fn times_come_back(
            events in prop::collection::vec(
                (0..6_u32, 0..1024_u16, any::<u32>(), 40..50_u16),
                0..400
            ),
        ) {
            let cell = |index: u16| Cell { index, extra: 0x5a5a & ((1 << extra_bits(index)) - 1) };
            let mut encoder = Encoder::new(extra_bits);
            for &(a, gap, b, duration) in &events {
                encoder.push(a, cell(gap), b, cell(duration));
            }
            let bytes = encoder.finish();
            let mut decoder = Decoder::new(&bytes, extra_bits);
            for &(a, gap, b, duration) in &events {
                prop_assert_eq!(decoder.next(a, b), Ok((cell(gap), cell(duration))));
            }
            prop_assert_eq!(decoder.finish(), Ok(()));
        }

        #[test]
        fn any_bytes_give_cells_or_an_error(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            contexts in prop::collection::vec((0..5_u32, any::<u32>()), 0..400),
        ) {
            let mut decoder = Decoder::new(&bytes, extra_bits);
            for (a, b) in contexts {
                if let Ok((gap, duration)) = decoder.next(a, b) {
                    prop_assert!(gap.index < INDICES && duration.index < INDICES);
                }
            }
        }
    }
}

//! Times coded bit by bit, for short streams and those of earlier recordings.
//!
//! Owns the order of the bits: the statistics are those of [`cells`](super::cells).

use super::cells::{Cells, INDICES};
use super::indices::ExtraBits;
use crate::codec::DecodeError;
use crate::codec::range::{self, Bits};
use crate::times::Cell;

/// Reads times back.
#[derive(Debug)]
pub struct Decoder<'a> {
    coder: range::Decoder<'a>,
    cells: Cells,
    extra_bits: ExtraBits,
}

impl<'a> Decoder<'a> {
    /// Begins to read a stream; `extra_bits` returns the number of extra bits of a cell.
    pub fn new(bytes: &'a [u8], extra_bits: impl Fn(u16) -> u8) -> Self {
        let extra_bits = ExtraBits::new(extra_bits);
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
        let width = self.extra_bits.width(index);
        Cell { index, extra: self.coder.raw(width, 0) as u32 }
    }

    /// Checks, after the last event, that all bytes were used.
    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.coder.at_end() { Ok(()) } else { Err(DecodeError::Trailing) }
    }
}

/// Writes times.
#[derive(Debug)]
pub struct Encoder {
    coder: range::Encoder,
    cells: Cells,
    extra_bits: ExtraBits,
}

impl Encoder {
    /// An empty stream; `extra_bits` returns the number of extra bits of a cell, at most 32.
    pub fn new(extra_bits: impl Fn(u16) -> u8) -> Self {
        let extra_bits = ExtraBits::new(extra_bits);
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
        let width = self.extra_bits.width(cell.index);
        self.coder.raw(width, u64::from(cell.extra));
    }

    /// Ends the stream.
    pub fn finish(self) -> Vec<u8> {
        self.coder.finish()
    }
}

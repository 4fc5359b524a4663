//! Times coded by symbols of 16, for long streams: read several times faster than bit by bit.
//!
//! Owns the blocks of a stream, and the places where it begins anew with nothing learned, so that
//! reading may begin there. The statistics are those of [`model`](super::model).

use super::model::{INDICES, Model};
use super::rans;
use crate::codec::DecodeError;
use crate::times::Cell;

/// Events of a block, the part of a stream that an encoder holds in memory: at most 12 symbols of 8
/// bytes for each.
const BLOCK: u32 = 8192;

/// Blocks after which a stream begins anew at the earliest.
const PART: u64 = 8;
/// Events for each context before a stream begins anew, which costs some 10 bytes a context.
const PART_OF_CONTEXT: u64 = 2048;

/// True if a stream begins anew after this many blocks, in which `model` learned.
fn is_whole(blocks: u64, model: &Model) -> bool {
    blocks >= PART && blocks * u64::from(BLOCK) >= model.contexts() as u64 * PART_OF_CONTEXT
}

/// Writes times.
#[derive(Debug)]
pub struct Encoder {
    coder: rans::Encoder,
    model: Model,
    /// Events in the current block.
    events: u32,
    /// Blocks since the stream began anew.
    blocks: u64,
}

impl Encoder {
    /// An empty stream; `extra_bits` returns the number of extra bits of a cell, at most 32.
    pub fn new(extra_bits: impl Fn(u16) -> u8) -> Self {
        let model = Model::new(extra_bits);
        Self { coder: rans::Encoder::default(), model, events: 0, blocks: 0 }
    }

    /// Appends the times of an event: gap before it and duration, each with its context, an edge
    /// and a node. Where the stream begins anew with this event, returns the offset of its bytes.
    ///
    /// # Panics
    ///
    /// If the index of a cell is 1024 or more.
    pub fn push(
        &mut self,
        gap_context: u32,
        gap: Cell,
        duration_context: u32,
        duration: Cell,
    ) -> Option<usize> {
        let largest = gap.index.max(duration.index);
        assert!(usize::from(largest) < INDICES, "cell {largest} is not below {INDICES}");
        let mut begin = None;
        if self.events == BLOCK {
            self.coder.end_block();
            self.events = 0;
            self.blocks += 1;
            if is_whole(self.blocks, &self.model) {
                self.model.restart();
                self.blocks = 0;
                begin = Some(self.coder.len());
            }
        }
        self.events += 1;
        let contexts = (gap_context, duration_context);
        self.model.event(&mut self.coder, contexts, gap, duration);
        begin
    }

    /// Ends the stream.
    pub fn finish(self) -> Vec<u8> {
        self.coder.finish()
    }
}

/// Reads times back.
#[derive(Debug)]
pub struct Decoder<'a> {
    coder: rans::Decoder<'a>,
    model: Model,
    /// Events left in the current block.
    events: u32,
    /// Blocks that have begun since the stream began anew.
    blocks: u64,
}

impl<'a> Decoder<'a> {
    /// Begins to read the output of [`Encoder::finish`], from its begin or where
    /// [`Encoder::push`] said; `extra_bits` is that of the encoder.
    pub fn new(bytes: &'a [u8], extra_bits: impl Fn(u16) -> u8) -> Self {
        let model = Model::new(extra_bits);
        Self { coder: rans::Decoder::new(bytes), model, events: 0, blocks: 0 }
    }

    /// Gap and duration of the next event, with the contexts of its `push`. After an error there is
    /// nothing more to read.
    #[expect(clippy::inline_always, reason = "results stay in registers only without a call")]
    #[inline(always)]
    pub fn next(
        &mut self,
        gap_context: u32,
        duration_context: u32,
    ) -> Result<(Cell, Cell), DecodeError> {
        if self.events == 0 {
            self.begin_block()?;
        }
        self.events -= 1;
        let contexts = (gap_context, duration_context);
        let any = Cell::default();
        // A copy stays in registers.
        let mut coder = self.coder;
        let cells = self.model.event(&mut coder, contexts, any, any);
        self.coder = coder;
        if coder.is_exhausted() { Err(DecodeError::Truncated) } else { Ok(cells) }
    }

    #[cold]
    fn begin_block(&mut self) -> Result<(), DecodeError> {
        if is_whole(self.blocks, &self.model) {
            self.model.restart();
            self.blocks = 0;
        }
        self.coder.begin_block()?;
        self.blocks += 1;
        self.events = BLOCK;
        Ok(())
    }

    /// Checks, after the last event, that all bytes were used.
    pub fn finish(&self) -> Result<(), DecodeError> {
        self.coder.end_block()?;
        if self.coder.is_at_end() { Ok(()) } else { Err(DecodeError::Trailing) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cell, extra_bits};
    use super::*;

    /// Events of some blocks, some of them with cells of every kind.
    fn many(blocks: u64) -> Vec<(u32, Cell, u32, Cell)> {
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 33) % below
        };
        let mut time = |context: u64| {
            let near = 40 + 7 * context + draw(6) * draw(6);
            let index = if draw(20) == 0 { draw(1024) } else { near };
            cell(index as u16, draw(1 << 30) as u32)
        };
        let event = |i: u64| (i as u32 % 5, time(i % 5), i as u32 % 3, time(i % 3));
        (0..blocks * u64::from(BLOCK) + 100).map(event).collect()
    }

    #[test]
    fn streams_of_several_blocks_stay_readable() {
        let mut encoder = Encoder::new(extra_bits);
        for &(a, gap, b, duration) in &many(2) {
            assert_eq!(encoder.push(a, gap, b, duration), None);
        }
        let bytes = encoder.finish();
        let mut decoder = Decoder::new(&bytes, extra_bits);
        for &(a, gap, b, duration) in &many(2) {
            assert_eq!(decoder.next(a, b), Ok((gap, duration)));
        }
        assert_eq!(decoder.finish(), Ok(()));
        let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, &byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        let expected = (18_392, 8_603_560_193_232_609_187);
        assert_eq!((bytes.len(), sum), expected, "the form changed: files need a new version");
    }

    #[test]
    fn reading_begins_where_a_stream_begins_anew() {
        let events = many(2 * PART);
        let mut encoder = Encoder::new(extra_bits);
        let mut begins = Vec::new();
        for (at, &(a, gap, b, duration)) in events.iter().enumerate() {
            begins.extend(encoder.push(a, gap, b, duration).map(|offset| (at, offset)));
        }
        let bytes = encoder.finish();
        assert_eq!(begins.len(), 2);
        for (at, offset) in [(0, 0)].into_iter().chain(begins) {
            let mut decoder = Decoder::new(&bytes[offset..], extra_bits);
            for &(a, gap, b, duration) in &events[at..] {
                assert_eq!(decoder.next(a, b), Ok((gap, duration)));
            }
            assert_eq!(decoder.finish(), Ok(()));
        }
    }
}

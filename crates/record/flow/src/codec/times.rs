//! Times of all events: entropy coding of the quantiser's cells, or of exact nanoseconds in
//! [`exact`].
//!
//! Owns the order of a stream: for each event its gap, in the context of the edge that led to it,
//! then its duration, in the context of its node. The statistics are learned while coding
//! (`model`); the extra bits of a cell are equally likely and copied. The contexts are not stored:
//! the decoder of the events knows them. Now and then a stream begins anew with nothing learned, so
//! that reading may begin there. Streams of earlier recordings are read by [`first`].

use std::collections::BTreeMap;

use super::DecodeError;
use crate::times::Cell;

mod before;
mod cells;
pub mod exact;
pub mod first;
mod ids;
#[expect(clippy::inline_always, reason = "a decoder stays in registers only without calls")]
mod indices;
#[expect(clippy::inline_always, reason = "a decoder stays in registers only without calls")]
mod kind;
mod level;
mod mixture;
#[expect(clippy::inline_always, reason = "a decoder stays in registers only without calls")]
mod model;
mod place;
#[expect(clippy::inline_always, reason = "a decoder stays in registers only without calls")]
mod rans;
pub mod sums;
mod zones;

use model::{INDICES, Model};

/// Events of a block, the part of a stream that an encoder holds in memory: at most 16 symbols of 8
/// bytes for each.
const BLOCK: u32 = 8192;

/// Blocks after which a stream begins anew at the earliest.
const PART: u64 = 8;
/// Events for each context before a stream begins anew, which costs some 15 bytes a context.
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

/// Number of bits of the same cells if each context had a perfect code for its own distribution.
///
/// The empirical conditional entropy of order 0, plus the extra bits: the usual measure, to which a
/// real coder adds the cost of learning.
#[derive(Clone, Debug)]
pub struct Entropy<F> {
    counts: BTreeMap<(bool, u32), BTreeMap<u16, u64>>,
    extra: u64,
    extra_bits: F,
}

impl<F: Fn(u16) -> u8> Entropy<F> {
    /// The entropy of nothing.
    pub const fn new(extra_bits: F) -> Self {
        Self { counts: BTreeMap::new(), extra: 0, extra_bits }
    }

    /// Takes the arguments of [`Encoder::push`].
    pub fn push(&mut self, gap_context: u32, gap: Cell, duration_context: u32, duration: Cell) {
        for (context, cell) in [((false, gap_context), gap), ((true, duration_context), duration)] {
            *self.counts.entry(context).or_default().entry(cell.index).or_default() += 1;
            self.extra += u64::from((self.extra_bits)(cell.index));
        }
    }

    /// The entropy of all of them together, in bits.
    pub fn bits(&self) -> f64 {
        let of = |cells: &BTreeMap<u16, u64>| -> f64 {
            let all = cells.values().sum::<u64>() as f64;
            cells.values().map(|&count| count as f64 * (all / count as f64).log2()).sum()
        };
        self.extra as f64 + self.counts.values().map(of).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use talea_model::Nanos;

    use super::*;
    use crate::times::{Bound, Drift, Quantiser};

    fn extra_bits(index: u16) -> u8 {
        (index / 100) as u8
    }

    fn cell(index: u16, extra: u32) -> Cell {
        Cell { index, extra: extra & ((1 << extra_bits(index)) - 1) }
    }

    fn events() -> impl Strategy<Value = Vec<(u32, Cell, u32, Cell)>> {
        let index = prop_oneof![0..1024_u16, 40..50_u16, Just(0), Just(1023)];
        let cells = (index, any::<u32>()).prop_map(|(index, extra)| cell(index, extra));
        let context = prop_oneof![0..6_u32, any::<u32>(), Just(u32::MAX)];
        prop::collection::vec((context.clone(), cells.clone(), context, cells), 0..400)
    }

    proptest! {
        #[test]
        fn times_come_back(events in events()) {
            let mut encoder = Encoder::new(extra_bits);
            for &(a, gap, b, duration) in &events {
                encoder.push(a, gap, b, duration);
            }
            let bytes = encoder.finish();
            let mut decoder = Decoder::new(&bytes, extra_bits);
            for &(a, gap, b, duration) in &events {
                prop_assert_eq!(decoder.next(a, b), Ok((gap, duration)));
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
                    prop_assert!(usize::from(gap.index.max(duration.index)) < INDICES);
                }
            }
        }
    }

    #[test]
    fn entropy_of_two_equally_likely_cells_is_a_bit() {
        let mut entropy = Entropy::new(|_| 0);
        for i in 0..10 {
            entropy.push(0, cell(i % 2, 0), 0, cell(7, 0));
        }
        assert!((entropy.bits() - 10.0).abs() < 1e-9);
    }

    /// Bytes of 13,000 events of 60 nodes, and their entropy in bytes, for times drawn by `time`
    /// from the node, the visit and a normally distributed number.
    fn sizes(time: impl Fn(usize, usize, f64) -> f64) -> (f64, f64) {
        let quantiser = Quantiser::new(Bound::default());
        let extra_bits = |index| quantiser.extra_bits(index);
        let mut state = 1_u64;
        let mut normal = || {
            (0..12).fold(-6.0, |sum, _| {
                state =
                    state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                sum + (state >> 40) as f64 / f64::from(1 << 24)
            })
        };
        let (mut encoder, mut entropy) = (Encoder::new(extra_bits), Entropy::new(extra_bits));
        let mut drift = Drift::default();
        for event in 0..13_000 {
            let (node, visit) = (event % 60, event / 60);
            let mut draw = |node| {
                let time = time(node, visit, normal());
                quantiser.quantise(Nanos(time as u64), &mut drift)
            };
            let (gap, duration) = (draw(node + 60), draw(node));
            encoder.push(node as u32, gap, node as u32, duration);
            entropy.push(node as u32, gap, node as u32, duration);
        }
        (encoder.finish().len() as f64, entropy.bits() / 8.0)
    }

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
        let expected = (19_964, 8_891_529_957_724_534_988);
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

    #[test]
    fn short_recordings_come_near_their_entropy() {
        let spread = |node| 0.2 + 0.01 * (node * 37 % 50) as f64;
        let level = |node| 7.0 + 0.1 * (node * 17 % 60) as f64;
        let plain = sizes(|node, _, x| f64::exp(level(node) + spread(node) * x));
        assert!(plain.0 < 1.17 * plain.1, "{plain:?}");
        let drifting =
            sizes(|node, visit, x| f64::exp(level(node) + spread(node) * x + 0.005 * visit as f64));
        assert!(drifting.0 < 1.17 * drifting.1, "{drifting:?}");
        let outliers = sizes(|node, visit, x| {
            let outlier = if visit % 20 == 19 { 2.0 } else { 0.0 };
            f64::exp(level(node) + 0.2 * x + outlier)
        });
        assert!(outliers.0 < 1.17 * outliers.1, "{outliers:?}");
    }
}

//! Entropy coding with asymmetric numerals: symbols of known probability into bytes, and back.
//!
//! Owns the bytes and nothing of their meaning. A decoder needs one multiplication a symbol and no
//! division. It returns symbols in the reverse order of the encoder, which therefore keeps those of
//! a block and codes them from the last to the first when the block ends. The bytes of blocks
//! follow each other without lengths. Follows J. Duda, "Asymmetric numeral systems" (2013), with
//! the state of 64 bits and renormalisation by 32 of F. Giesen's notes on rANS (2014). A decoder
//! reads zeros past the end of its bytes and says so, and its caller stops.

use crate::codec::DecodeError;

/// Number of symbols of an alphabet.
pub(super) const SYMBOLS: usize = 16;

/// Logarithm of the sum of all probabilities.
pub(super) const SCALE_BITS: u32 = 15;
pub(super) const SCALE: u32 = 1 << SCALE_BITS;

/// A state is from this to 2^63; a block begins, for the encoder, with this.
const LOW: u64 = 1 << 31;

/// Largest number of equally likely bits in one step: with one more the state could become too low.
const RAW_MAX: u32 = 31;

/// One direction of coding: an encoder takes the value given, a decoder ignores it and returns the
/// value read.
pub(super) trait Symbols {
    /// Codes a symbol; `starts` ascend from 0 to `SCALE`, the last one.
    fn symbol(&mut self, starts: &[u16; SYMBOLS + 1], symbol: usize) -> usize;

    /// Codes the low `width` (at most [`RAW_MAX`]) bits of `value`, all values equally likely.
    fn raw(&mut self, width: u32, value: u32) -> u32;
}

/// A symbol to code: an interval of `size` from `start`, both in units of 2^-`bits`.
#[derive(Clone, Copy, Debug)]
struct Step {
    start: u32,
    size: u16,
    bits: u8,
}

/// Writes symbols.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    /// Those of the current block.
    steps: Vec<Step>,
    /// Words of the current block, the last one first.
    words: Vec<u32>,
    bytes: Vec<u8>,
}

impl Encoder {
    /// Ends a block, if one has begun: later symbols are independent of the state of earlier ones.
    pub(super) fn end_block(&mut self) {
        if self.steps.is_empty() {
            return;
        }
        let mut state = LOW;
        for &Step { start, size, bits } in self.steps.iter().rev() {
            let (size, bits) = (u64::from(size), u32::from(bits));
            if state >= size << (63 - bits) {
                self.words.push(state as u32);
                state >>= 32;
            }
            state = if size == 1 {
                (state << bits) + u64::from(start)
            } else {
                ((state / size) << bits) + state % size + u64::from(start)
            };
        }
        self.words.extend([state as u32, (state >> 32) as u32]);
        self.bytes.extend(self.words.iter().rev().flat_map(|word| word.to_le_bytes()));
        self.words.clear();
        self.steps.clear();
    }

    /// Number of bytes of all blocks that have ended.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Ends the stream.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.end_block();
        self.bytes
    }
}

impl Symbols for Encoder {
    #[inline]
    fn symbol(&mut self, starts: &[u16; SYMBOLS + 1], symbol: usize) -> usize {
        let (start, end) = (u32::from(starts[symbol]), u32::from(starts[symbol + 1]));
        self.steps.push(Step { start, size: (end - start) as u16, bits: SCALE_BITS as u8 });
        symbol
    }

    #[inline]
    fn raw(&mut self, width: u32, value: u32) -> u32 {
        debug_assert!(width <= RAW_MAX, "{width} bits in one step");
        let start = value & ((1 << width) - 1);
        if width > 0 {
            self.steps.push(Step { start, size: 1, bits: width as u8 });
        }
        start
    }
}

/// Reads symbols back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    state: u64,
}

impl<'a> Decoder<'a> {
    /// Begins to read the output of [`Encoder::finish`].
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, state: LOW }
    }

    #[inline]
    fn word(&self) -> u64 {
        let word = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk());
        word.map_or(0, |&word| u64::from(u32::from_le_bytes(word)))
    }

    /// Makes `state` the new one.
    #[inline(always)]
    fn set(&mut self, state: u64) {
        self.state = state;
        // Seldom needed, so that a branch costs less than doing without.
        if state < LOW {
            self.state = state << 32 | self.word();
            self.at += 4;
        }
    }

    /// Begins a block, where the one before has ended.
    pub(super) fn begin_block(&mut self) -> Result<(), DecodeError> {
        self.end_block()?;
        let high = self.word();
        self.at += 4;
        self.state = high << 32 | self.word();
        self.at += 4;
        if self.is_exhausted() { Err(DecodeError::Truncated) } else { Ok(()) }
    }

    /// Checks that the block has ended here.
    pub(super) fn end_block(&self) -> Result<(), DecodeError> {
        if self.is_exhausted() {
            return Err(DecodeError::Truncated);
        }
        if self.state == LOW { Ok(()) } else { Err(DecodeError::Malformed("end of a block")) }
    }

    /// True once it has run out of bytes; its latest results have no meaning.
    #[inline]
    pub(super) fn is_exhausted(&self) -> bool {
        self.at > self.bytes.len()
    }

    /// True if all bytes were used.
    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }
}

impl Symbols for Decoder<'_> {
    #[inline(always)]
    fn symbol(&mut self, starts: &[u16; SYMBOLS + 1], _: usize) -> usize {
        let state = self.state;
        let place = state as u32 & (SCALE - 1);
        // Comparing with all is a few vector instructions, and has no branch to mispredict.
        let mut above = 0_u16;
        for &start in &starts[..SYMBOLS] {
            above += (place as u16).wrapping_sub(start) >> 15;
        }
        let symbol = SYMBOLS - 1 - (usize::from(above) & (SYMBOLS - 1));
        let (start, end) = (u32::from(starts[symbol]), u32::from(starts[symbol + 1]));
        let size = u64::from(end - start);
        self.set(size * (state >> SCALE_BITS) + u64::from(place - start));
        symbol
    }

    #[inline(always)]
    fn raw(&mut self, width: u32, _: u32) -> u32 {
        let state = self.state;
        let value = (state & ((1 << width) - 1)) as u32;
        self.set(state >> width);
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EVEN: [u16; SYMBOLS + 1] = {
        let mut starts = [0; SYMBOLS + 1];
        let mut i = 0;
        while i <= SYMBOLS {
            starts[i] = (i * SCALE as usize / SYMBOLS) as u16;
            i += 1;
        }
        starts
    };

    #[test]
    fn an_empty_stream_has_no_bytes() {
        let mut encoder = Encoder::default();
        encoder.end_block();
        assert!(encoder.finish().is_empty());
    }

    #[test]
    fn predicted_symbols_cost_little() {
        let mut encoder = Encoder::default();
        let starts =
            std::array::from_fn(|i| if i == 0 { 0 } else { (SCALE as usize - 16 + i) as u16 });
        for _ in 0..1000 {
            encoder.symbol(&starts, 0);
        }
        assert!(encoder.finish().len() <= 12);
    }

    proptest! {
        #[test]
        fn symbols_come_back(
            steps in prop::collection::vec(
                (0..16_usize, 0..=RAW_MAX, any::<u32>(), 0..20_u8),
                1..500
            )
        ) {
            let cut = |width: u32, value: u32| value & (((1_u64 << width) - 1) as u32);
            let mut encoder = Encoder::default();
            for &(symbol, width, value, end) in &steps {
                encoder.symbol(&EVEN, symbol);
                encoder.raw(width, value);
                if end == 0 {
                    encoder.end_block();
                }
            }
            let bytes = encoder.finish();
            let mut decoder = Decoder::new(&bytes);
            let mut begin = true;
            for &(symbol, width, value, end) in &steps {
                if begin {
                    prop_assert_eq!(decoder.begin_block(), Ok(()));
                }
                prop_assert_eq!(decoder.symbol(&EVEN, 0), symbol);
                prop_assert_eq!(decoder.raw(width, 0), cut(width, value));
                begin = end == 0;
            }
            prop_assert_eq!(decoder.end_block(), Ok(()));
            prop_assert!(decoder.is_at_end());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut decoder = Decoder::new(&bytes);
            let _ = decoder.begin_block();
            for i in 0..2000_u32 {
                prop_assert!(decoder.symbol(&EVEN, 0) < 16);
                decoder.raw(i % (RAW_MAX + 1), 0);
            }
            prop_assert!(decoder.is_exhausted());
        }
    }
}

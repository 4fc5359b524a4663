//! A binary range coder: 32-bit range, carry propagated through pending bytes, probabilities in
//! 1/65536.
//!
//! Owns the bytes of a coded stream and nothing of its meaning. Models are written once against
//! [`Bits`] and run in both directions. Follows G. N. N. Martin, "Range encoding" (1979), with the
//! byte-wise carry of I. Pavlov's LZMA; the end is cut to the fewest bytes that still identify the
//! interval. A decoder may read a few zeros past the end of its bytes and stops being valid after
//! that, so that no input makes it run for ever.

/// Sum of the probabilities of the two values of a bit.
pub(super) const SCALE: u32 = 1 << 16;

/// Zeros that a stream may leave out at its end.
const SLACK: usize = 8;

const TOP: u32 = 1 << 24;

/// One direction of coding: an encoder takes the value given, a decoder ignores it and returns the
/// value read.
pub(super) trait Bits {
    /// Codes `bit`, which is true with probability `chance / SCALE`; `0 < chance < SCALE`.
    fn bit(&mut self, chance: u32, bit: bool) -> bool;

    /// Codes the low `width` (at most 64) bits of `value`, all values equally likely.
    fn raw(&mut self, width: u32, value: u64) -> u64;

    /// True once a decoder has run out of bytes; its latest results have no meaning.
    fn exhausted(&self) -> bool {
        false
    }
}

/// Writes bits into bytes.
#[derive(Debug)]
pub(super) struct Encoder {
    low: u64,
    range: u32,
    /// The last byte not yet written, as a carry may still change it; `None` before the first.
    held: Option<u8>,
    /// Bytes of 255 after `held`.
    pending: u64,
    bytes: Vec<u8>,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { low: 0, range: u32::MAX, held: None, pending: 0, bytes: Vec::new() }
    }
}

impl Encoder {
    /// An empty stream.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Number of bytes written so far, up to the few not settled yet.
    pub(super) fn written(&self) -> usize {
        self.bytes.len() + self.pending as usize
    }

    fn shift(&mut self) {
        if self.low < 0xff00_0000 || self.low > 0xffff_ffff {
            let carry = (self.low >> 32) as u8;
            if let Some(held) = self.held {
                self.bytes.push(held.wrapping_add(carry));
            }
            for _ in 0..self.pending {
                self.bytes.push(0xff_u8.wrapping_add(carry));
            }
            self.pending = 0;
            self.held = Some((self.low >> 24) as u8);
        } else {
            self.pending += 1;
        }
        self.low = (self.low & 0x00ff_ffff) << 8;
    }

    fn normalise(&mut self) {
        while self.range < TOP {
            self.range <<= 8;
            self.shift();
        }
    }

    /// Ends the stream.
    pub(super) fn finish(mut self) -> Vec<u8> {
        // The roundest number inside the interval has the most zeros at its end.
        let last = self.low + u64::from(self.range) - 1;
        for zeros in (0..=32).rev() {
            let mask = (1_u64 << zeros) - 1;
            let round = (self.low + mask) & !mask;
            if round <= last {
                self.low = round;
                break;
            }
        }
        for _ in 0..5 {
            self.shift();
        }
        let shortest = self.bytes.len().saturating_sub(SLACK);
        while self.bytes.len() > shortest && self.bytes.last() == Some(&0) {
            self.bytes.pop();
        }
        self.bytes
    }
}

impl Bits for Encoder {
    #[inline]
    fn bit(&mut self, chance: u32, bit: bool) -> bool {
        let bound = ((u64::from(self.range) * u64::from(chance)) >> 16) as u32;
        if bit {
            self.range = bound;
        } else {
            self.low += u64::from(bound);
            self.range -= bound;
        }
        self.normalise();
        bit
    }

    fn raw(&mut self, width: u32, value: u64) -> u64 {
        let mut left = width;
        while left > 0 {
            let step = left.min(8);
            left -= step;
            self.range >>= step;
            self.low += u64::from(self.range) * ((value >> left) & ((1 << step) - 1));
            self.normalise();
        }
        value
    }
}

/// Reads bits back.
#[derive(Debug, Clone)]
pub(super) struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    code: u32,
    range: u32,
}

impl<'a> Decoder<'a> {
    /// Begins to read the output of [`Encoder::finish`].
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Self { bytes, at: 0, code: 0, range: u32::MAX };
        for _ in 0..4 {
            decoder.shift();
        }
        decoder
    }

    #[inline]
    fn shift(&mut self) {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        self.code = (self.code << 8) | u32::from(byte);
    }

    #[inline]
    fn normalise(&mut self) {
        while self.range < TOP {
            self.range <<= 8;
            self.shift();
        }
    }

    /// True if all bytes were used.
    pub(super) fn at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }
}

impl Bits for Decoder<'_> {
    #[inline]
    fn bit(&mut self, chance: u32, _: bool) -> bool {
        let bound = ((u64::from(self.range) * u64::from(chance)) >> 16) as u32;
        let bit = self.code < bound;
        // Masks, as a branch on a bit worth coding is mispredicted half of the time.
        let mask = u32::from(bit).wrapping_neg();
        self.code -= bound & !mask;
        self.range = (bound & mask) | ((self.range - bound) & !mask);
        self.normalise();
        bit
    }

    fn raw(&mut self, width: u32, _: u64) -> u64 {
        let mut value = 0;
        let mut left = width;
        while left > 0 {
            let step = left.min(8);
            left -= step;
            self.range >>= step;
            // The part of the range lost to rounding belongs to no value; malformed bytes may point
            // there.
            let digit = (self.code / self.range).min((1 << step) - 1);
            self.code -= digit * self.range;
            value = (value << step) | u64::from(digit);
            self.normalise();
        }
        value
    }

    #[inline]
    fn exhausted(&self) -> bool {
        self.at > self.bytes.len() + SLACK
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_million_predicted_bits_cost_a_few_bytes() {
        let mut encoder = Encoder::new();
        for _ in 0..1_000_000 {
            encoder.bit(SCALE - 1, true);
        }
        assert!(encoder.finish().len() <= 4);
    }

    #[test]
    fn an_empty_stream_has_no_bytes() {
        assert!(Encoder::new().finish().is_empty());
    }

    proptest! {
        #[test]
        fn bits_come_back(
            bits in prop::collection::vec(
                (1..SCALE, any::<bool>(), 0..=64_u32, any::<u64>()),
                0..500
            )
        ) {
            let cut = |width: u32, value: u64| if width == 0 { 0 } else { value >> (64 - width) };
            let mut encoder = Encoder::new();
            for &(chance, bit, width, value) in &bits {
                encoder.bit(chance, bit);
                encoder.raw(width, cut(width, value));
            }
            let bytes = encoder.finish();
            let mut decoder = Decoder::new(&bytes);
            for &(chance, bit, width, value) in &bits {
                prop_assert_eq!(decoder.bit(chance, false), bit);
                prop_assert_eq!(decoder.raw(width, 0), cut(width, value));
            }
            prop_assert!(decoder.at_end() && !decoder.exhausted());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut decoder = Decoder::new(&bytes);
            for i in 0..2000_u32 {
                decoder.bit(1 + i * 31 % (SCALE - 1), false);
                decoder.raw(i % 65, 0);
            }
            prop_assert!(decoder.exhausted());
        }
    }
}

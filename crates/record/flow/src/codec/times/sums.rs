//! Differences between exact sums and the sums of restored times.
//!
//! Owns the statistics of these differences: their length in binary digits, relative to the
//! expected length, is learned; sign and digits are practically random and copied. That takes about
//! a byte a sum where the sum of few times is known within some hundred nanoseconds.

use crate::codec::mix::Counter;
use crate::codec::range::{self, Bits};

/// Binary digits of a decision about lengths: the length minus the expected one, from -64 to 64.
const DIGITS: u32 = 8;
/// Memory of counters in lengths.
const MEMORY: u8 = 60;

/// Counters of all decisions about a length; gaps and durations share them.
#[derive(Clone, Debug)]
struct Lengths([Counter; 1 << DIGITS]);

impl Lengths {
    const fn new() -> Self {
        Self([Counter::even(0); 1 << DIGITS])
    }

    /// Codes a difference that is expected to be about as large as `expected`.
    fn code<B: Bits>(&mut self, coder: &mut B, expected: u64, difference: i64) -> i64 {
        let middle = 64 - length(expected);
        let size = difference.unsigned_abs();
        let class = length(size) + middle;
        let mut node = 1_u32;
        for digit in (0..DIGITS).rev() {
            let bit = self.0[node as usize].code(coder, class >> digit & 1 == 1, MEMORY);
            node = node << 1 | u32::from(bit);
        }
        // Malformed bytes may give an impossible length.
        let length = (node & ((1 << DIGITS) - 1)).saturating_sub(middle).min(u64::BITS);
        if length == 0 {
            return 0;
        }
        let negative = coder.raw(1, u64::from(difference < 0)) == 1;
        let leading = 1 << (length - 1);
        let size = (leading | coder.raw(length - 1, size & (leading - 1))) as i64;
        if negative { size.wrapping_neg() } else { size }
    }
}

/// Number of binary digits.
const fn length(size: u64) -> u32 {
    u64::BITS - size.leading_zeros()
}

/// Writes the differences of one node after the other.
#[derive(Debug)]
pub struct Encoder {
    coder: range::Encoder,
    lengths: Lengths,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { coder: range::Encoder::new(), lengths: Lengths::new() }
    }
}

impl Encoder {
    /// Appends the differences of gaps and durations of a node, and their expected sizes.
    pub fn push(&mut self, expected: [u64; 2], differences: [i64; 2]) {
        for (expected, difference) in expected.into_iter().zip(differences) {
            self.lengths.code(&mut self.coder, expected, difference);
        }
    }

    /// Ends the stream.
    pub fn finish(self) -> Vec<u8> {
        self.coder.finish()
    }
}

/// Reads them back.
#[derive(Debug)]
pub struct Decoder<'a> {
    coder: range::Decoder<'a>,
    lengths: Lengths,
}

impl<'a> Decoder<'a> {
    /// Begins to read the output of [`Encoder::finish`].
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { coder: range::Decoder::new(bytes), lengths: Lengths::new() }
    }

    /// The differences of the next node, with the arguments of their `push`; `None` after the end
    /// of the bytes.
    pub fn next(&mut self, expected: [u64; 2]) -> Option<[i64; 2]> {
        let differences = expected.map(|e| self.lengths.code(&mut self.coder, e, 0));
        (!self.coder.exhausted()).then_some(differences)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sums() -> impl Strategy<Value = Vec<([u64; 2], [i64; 2])>> {
        let expected = prop_oneof![Just(0), 0..1000_u64, any::<u64>()];
        let difference =
            prop_oneof![Just(0), -200..200_i64, any::<i64>(), Just(i64::MIN), Just(i64::MAX)];
        prop::collection::vec(
            ([expected.clone(), expected], [difference.clone(), difference]),
            0..100,
        )
    }

    proptest! {
        #[test]
        fn differences_come_back(sums in sums()) {
            let mut encoder = Encoder::default();
            for &(expected, differences) in &sums {
                encoder.push(expected, differences);
            }
            let bytes = encoder.finish();
            let mut decoder = Decoder::new(&bytes);
            for &(expected, differences) in &sums {
                prop_assert_eq!(decoder.next(expected), Some(differences));
            }
        }

        #[test]
        fn any_bytes_give_differences_that_come_back(
            bytes in prop::collection::vec(any::<u8>(), 0..50),
            expected in prop::collection::vec(any::<[u64; 2]>(), 200),
        ) {
            let mut decoder = Decoder::new(&bytes);
            let read: Vec<_> = expected.iter().map_while(|&e| decoder.next(e)).collect();
            let mut encoder = Encoder::default();
            expected.iter().zip(&read).for_each(|(&e, &differences)| encoder.push(e, differences));
            let bytes = encoder.finish();
            let mut decoder = Decoder::new(&bytes);
            for (&e, &differences) in expected.iter().zip(&read) {
                prop_assert_eq!(decoder.next(e), Some(differences));
            }
        }
    }

    #[test]
    fn a_cut_stream_ends() {
        let expected = [1 << 20; 2];
        let mut encoder = Encoder::default();
        (0..100).for_each(|node| encoder.push(expected, [node * 7_919, 1 - node * 104_729]));
        let bytes = encoder.finish();
        let mut decoder = Decoder::new(&bytes[..bytes.len() / 2]);
        let read = (0..100).take_while(|_| decoder.next(expected).is_some()).count();
        assert!((40..70).contains(&read), "{read}");
    }

    #[test]
    fn differences_as_expected_take_a_byte() {
        let mut encoder = Encoder::default();
        for node in 0..500_i64 {
            let difference = |at: i64| (node * 131 + at * 57) % 200 - 100;
            encoder.push([100; 2], [difference(0), difference(1)]);
        }
        let bytes = encoder.finish().len();
        assert!(bytes < 1100, "{bytes}");
    }
}

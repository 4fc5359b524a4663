//! A mixture of a few predictions of one bit in the logistic domain, at a constant rate of
//! learning.
//!
//! Owns the narrow sibling of [`Mixer`](crate::codec::mix): weights and logits of 16 bits, always
//! eight, so that compilers turn the sums into vector instructions. The predictors of times change
//! all the time, so the weights never settle either. Follows M. Mahoney's paq8 (2007).

use crate::codec::mix::squash;
use crate::codec::range::Bits;

/// Logarithm of a weight of 1.
const WEIGHT_BITS: u32 = 14;
/// Weights stay within this, so that the sum of six products fits: logits are below 9 * 256.
const WEIGHT_MAX: i32 = 8 << WEIGHT_BITS;
/// Weights move by the error of the probability times the logit, over 64: in the units of all three
/// this is the shift.
const RATE_SHIFT: u32 = 16 + 8 + 6 - WEIGHT_BITS;

/// Sets of weights for `N` logits, at most six.
#[derive(Clone, Debug)]
pub(super) struct Mixture<const N: usize> {
    sets: Vec<[i32; N]>,
}

impl<const N: usize> Mixture<N> {
    /// `sets` sets that begin with all weights at `percent` in 100.
    pub(super) fn new(sets: usize, percent: i32) -> Self {
        Self { sets: vec![[(percent << WEIGHT_BITS) / 100; N]; sets] }
    }

    /// Codes a bit by the mixture of `logits`, in 1/256, under the weights of `set`.
    #[inline]
    pub(super) fn code<B: Bits>(
        &mut self,
        coder: &mut B,
        set: usize,
        logits: &[i16; N],
        bit: bool,
    ) -> bool {
        let weights = &mut self.sets[set];
        let products = weights.iter().zip(logits).map(|(&w, &l)| w * i32::from(l));
        let chance = squash(products.sum::<i32>() >> WEIGHT_BITS);
        let bit = coder.bit(chance, bit);
        let error = (i32::from(bit) << 16) - chance as i32;
        for (weight, &logit) in weights.iter_mut().zip(logits) {
            let step = (error * i32::from(logit) + (1 << (RATE_SHIFT - 1))) >> RATE_SHIFT;
            *weight = (*weight + step).clamp(-WEIGHT_MAX, WEIGHT_MAX);
        }
        bit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::range::Encoder;

    #[test]
    fn weight_goes_to_the_input_that_is_right() {
        let mut encoder = Encoder::new();
        let mut mixture = Mixture::new(1, 25);
        for i in 0..4000_u32 {
            let bit = i * i % 7 > 3;
            let right = if bit { 500 } else { -500 };
            let other = if i % 3 == 0 { 500 } else { -500 };
            mixture.code(&mut encoder, 0, &[right, other], bit);
        }
        let [right, other] = mixture.sets[0];
        assert!(right > (1 << WEIGHT_BITS) && other.abs() < right / 8, "{right} {other}");
        assert!(encoder.finish().len() < 40);
    }

    #[test]
    fn weights_stay_in_their_bounds() {
        let mut encoder = Encoder::new();
        let mut mixture = Mixture::<6>::new(1, 100);
        for i in 0..100_000 {
            let logit = if i % 5 == 4 { i16::MIN / 15 } else { i16::MAX / 15 };
            mixture.code(&mut encoder, 0, &[logit; 6], i % 2 == 0);
        }
    }
}

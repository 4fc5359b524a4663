//! Probabilities of a bit: adaptive counters, and their mixture in the logistic domain.
//!
//! Owns the estimate of one bit from several contexts; the models above choose the contexts.
//! Follows M. Mahoney, "Adaptive Weighing of Context Models for Lossless Data Compression" (2005)
//! and lpaq. All of it is integer arithmetic, so that every machine decodes what another one wrote;
//! the tables are computed when this is compiled, from additions, multiplications and divisions
//! that IEEE 754 defines to the bit.

use super::range::{Bits, SCALE};

/// A logit of 1 as an integer.
const LOGIT: i32 = 256;
/// Largest logit that the mixture yields: 1 in 160,000 is below the resolution of the coder.
const LOGIT_MAX: f64 = 12.0;
const LOGIT_STEPS: usize = 128;
const SQUASHED: usize = 2 * LOGIT_MAX as usize * LOGIT_STEPS;
const STRETCHED: usize = 4096;

const fn exp(x: f64) -> f64 {
    let small = x / 64.0;
    let mut term = 1.0;
    let mut sum = 1.0;
    let mut i = 1.0;
    while i < 10.0 {
        term *= small / i;
        sum += term;
        i += 1.0;
    }
    let mut doublings = 0;
    while doublings < 6 {
        sum *= sum;
        doublings += 1;
    }
    sum
}

/// Logit of every twelve-bit probability.
static STRETCH: [i16; STRETCHED] = {
    let mut table = [0; STRETCHED];
    let mut logit = -9.0;
    let mut i = 0;
    while i < STRETCHED {
        let odds = (i as f64 + 0.5) / (STRETCHED as f64 - i as f64 - 0.5);
        // Newton's method (Halley's form) from the entry before, which is near.
        let mut round = 0;
        while round < 3 {
            let power = exp(logit);
            logit += 2.0 * (odds - power) / (odds + power);
            round += 1;
        }
        table[i] = (logit * LOGIT as f64) as i16;
        i += 1;
    }
    table
};

/// Probability in 1/65536 of every logit from `-LOGIT_MAX`, in steps of 1/128.
static SQUASH: [u16; SQUASHED] = {
    let mut table = [0; SQUASHED];
    let mut i = 0;
    while i < SQUASHED {
        let logit = (i as f64 + 0.5) / LOGIT_STEPS as f64 - LOGIT_MAX;
        let chance = (SCALE as f64 / (1.0 + exp(-logit))) as u32;
        table[i] = if chance < 1 {
            1
        } else if chance > SCALE - 1 {
            (SCALE - 1) as u16
        } else {
            chance as u16
        };
        i += 1;
    }
    table
};

/// Weight of a new observation after n earlier ones, in 1/65536.
static RATE: [i64; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = (65536.0 / (i as f64 + 2.0)) as i64;
        i += 1;
    }
    table
};

/// The logistic function: probability in 1/65536 of a logit in 1/256.
#[inline]
pub(super) fn squash(logit: i32) -> u32 {
    let step = (logit >> 1).saturating_add(SQUASHED as i32 / 2);
    u32::from(SQUASH[step.clamp(0, SQUASHED as i32 - 1) as usize])
}

/// Probability of a bit seen in one context: 24 bits of it, and 8 bits of the number of
/// observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counter(u32);

impl Default for Counter {
    fn default() -> Self {
        Self(1 << 31)
    }
}

impl Counter {
    /// A counter with even odds and the confidence of this many observations.
    pub(super) const fn even(seen: u8) -> Self {
        Self(1 << 31 | seen as u32)
    }

    /// Probability in 1/65536; 0 means less than that.
    #[inline]
    pub(super) fn chance(self) -> u32 {
        self.0 >> 16
    }

    /// The logit of the probability, in 1/256.
    #[inline]
    pub(super) fn logit(self) -> i16 {
        STRETCH[(self.0 >> 20) as usize]
    }

    /// Observations so far, up to the limit given to `learn`.
    #[inline]
    pub(super) fn observations(self) -> u8 {
        self.0 as u8
    }

    /// Moves `chance`, in 1/65536, towards this one, by a share of `trust` in 1/256 that grows with
    /// the observations.
    #[inline]
    pub(super) fn pull(self, chance: i32, trust: &[i32; 256]) -> i32 {
        chance + (((self.chance() as i32 - chance) * trust[usize::from(self.observations())]) >> 8)
    }

    /// Moves towards `bit`, by 1/n until n reaches `limit`.
    #[inline]
    pub(super) fn learn(&mut self, bit: bool, limit: u8) {
        let seen = self.observations();
        let target = i64::from(u32::from(bit).wrapping_neg());
        let step = ((target - i64::from(self.0)) * RATE[usize::from(seen)]) >> 16;
        let moved = (i64::from(self.0) + step) as u32;
        self.0 = (moved & !255) | (u32::from(seen) + u32::from(seen < limit));
    }

    /// Codes a bit by this counter alone.
    #[inline]
    pub(super) fn code<B: Bits>(&mut self, coder: &mut B, bit: bool, limit: u8) -> bool {
        let bit = coder.bit(self.chance().clamp(1, SCALE - 1), bit);
        self.learn(bit, limit);
        bit
    }
}

/// Sets of weights for `N` logits.
///
/// Additions and multiplications of `f32` give the same bits on every machine as long as their
/// order is fixed, as it is here: four sums side by side, as in vector units.
#[derive(Clone, Debug)]
pub(super) struct Mixer<const N: usize> {
    sets: Vec<Weights<N>>,
    floor: f32,
}

#[derive(Clone, Copy, Debug)]
struct Weights<const N: usize> {
    weights: [f32; N],
    /// Rate of learning.
    rate: f32,
}

/// Number of sums that are added up side by side.
const LANES: usize = 4;
/// Maximum magnitude of a weight.
const WEIGHT_MAX: f32 = 64.0;

impl<const N: usize> Mixer<N> {
    /// `sets` sets that begin with all weights at `weight`, and learn at a rate falling from
    /// `start` to `floor`.
    pub(super) fn new(sets: usize, weight: f32, start: f32, floor: f32) -> Self {
        const { assert!(N.is_multiple_of(LANES)) };
        Self { sets: vec![Weights { weights: [weight; N], rate: start }; sets], floor }
    }

    /// Codes a bit by the mixture of `logits` under the weights of `set`.
    #[inline]
    pub(super) fn code<B: Bits>(
        &mut self,
        coder: &mut B,
        set: usize,
        logits: &[i32; N],
        bit: bool,
    ) -> bool {
        let set = &mut self.sets[set];
        let mut sums = [0.0_f32; LANES];
        for (weights, logits) in set.weights.chunks_exact(LANES).zip(logits.chunks_exact(LANES)) {
            for lane in 0..LANES {
                sums[lane] += weights[lane] * logits[lane] as f32;
            }
        }
        let chance = squash(((sums[0] + sums[1]) + (sums[2] + sums[3])) as i32);
        let bit = coder.bit(chance, bit);
        // Error in 1/2^16, logits in 1/2^8.
        let error = ((i32::from(bit) << 16) - chance as i32) as f32;
        let step = error * set.rate * (1.0 / (SCALE as f32 * LOGIT as f32));
        for (weights, logits) in set.weights.chunks_exact_mut(LANES).zip(logits.chunks_exact(LANES))
        {
            for lane in 0..LANES {
                let moved = weights[lane] + step * logits[lane] as f32;
                weights[lane] = moved.clamp(-WEIGHT_MAX, WEIGHT_MAX);
            }
        }
        set.rate += (self.floor - set.rate) * (1.0 / 64.0);
        bit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logits_and_probabilities_are_inverse() {
        for i in [0, 1, 7, 100, 2047, 2048, 4000, 4095] {
            let back = squash(i32::from(STRETCH[i])) as f32 / 16.0;
            assert!((back - i as f32 - 0.5).abs() <= 8.5, "{i} {back}");
        }
        assert!(squash(i32::MIN) >= 1 && squash(i32::MAX) < SCALE);
    }

    #[test]
    fn a_counter_approaches_the_frequency() {
        let mut counter = Counter::default();
        for i in 0..4000 {
            counter.learn(i % 4 == 0, 255);
        }
        assert!((counter.chance() as f32 / SCALE as f32 - 0.25).abs() < 0.02);
    }
}

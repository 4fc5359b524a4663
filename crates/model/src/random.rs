//! Pseudorandom numbers that are the same everywhere: `SplitMix64` (Steele, Lea and Flood, "Fast
//! splittable pseudorandom number generators", 2014).
//!
//! Owns the generator. It refuses secrets and entropy: the seed determines all numbers.

/// Distance of the generator's states.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number that depends on all bits of the given one: the generator's next number in the state
/// `value`.
#[inline]
pub const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(STEP);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A sequence of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number of 64 bits.
    #[inline]
    pub const fn number(&mut self) -> u64 {
        let number = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        number
    }

    /// A number below `end`, uniform but for less than one in 2^32; 0 where `end` is 0.
    pub const fn below(&mut self, end: usize) -> usize {
        ((self.number() as u128 * end as u128) >> 64) as usize
    }

    /// Uniform in [0, 1).
    pub const fn uniform(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About normal with mean 0 and deviation 1: twelve uniform numbers, without functions that
    /// libraries round differently.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// Puts a list into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_the_reference() {
        // The first numbers of the reference's generator for the seed 1234567.
        let mut random = Random::new(1_234_567);
        let found = [random.number(), random.number()];
        assert_eq!(found, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn every_place_is_reached_and_nothing_is_lost() {
        let mut random = Random::new(3);
        let mut seen = [0; 5];
        for _ in 0..200 {
            seen[random.below(5)] += 1;
        }
        assert!(seen.iter().all(|&times| times > 10), "{seen:?}");
        assert_eq!(random.below(0), 0);
        let mut list: Vec<u32> = (0..100).collect();
        random.shuffle(&mut list);
        assert!(list.iter().zip(0..).any(|(&value, at)| value != at));
        list.sort_unstable();
        assert!(list.iter().zip(0..).all(|(&value, at)| value == at));
    }

    #[test]
    fn uniform_and_normal_numbers_have_their_means() {
        let mut random = Random::new(7);
        let mean = |draw: &mut dyn FnMut() -> f64| (0..10_000).map(|_| draw()).sum::<f64>() / 1e4;
        assert!((mean(&mut || random.uniform()) - 0.5).abs() < 0.02);
        assert!(mean(&mut || random.normal()).abs() < 0.05);
    }
}

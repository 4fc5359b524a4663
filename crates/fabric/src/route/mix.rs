//! Reproducible pseudorandom numbers: `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
//!
//! Owns the random numbers of routes and placements. It refuses secrets: the seed determines the numbers.

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A number that depends on all bits of the given one.
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(STEP);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// A sequence of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`, which must not be 0; uniform but for less than one in 2^32.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let value = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        ((u128::from(value) * end as u128) >> 64) as usize
    }

    /// Puts a list into a random order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
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
        let mut state = 1_234_567_u64;
        let mut next = || {
            let value = mix(state);
            state = state.wrapping_add(STEP);
            value
        };
        assert_eq!([next(), next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn every_place_is_reached_and_nothing_is_lost() {
        let mut random = Random::new(3);
        let mut seen = [0; 5];
        for _ in 0..200 {
            seen[random.below(5)] += 1;
        }
        assert!(seen.iter().all(|&times| times > 10), "{seen:?}");
        let mut list: Vec<u32> = (0..100).collect();
        random.shuffle(&mut list);
        assert!(list.iter().zip(0..).any(|(&value, at)| value != at));
        list.sort_unstable();
        assert!(list.iter().zip(0..).all(|(&value, at)| value == at));
    }
}

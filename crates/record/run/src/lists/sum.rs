//! The content of a list as one number, which a change of one entry changes in constant time.
//!
//! Owns the numbers of positions. The sum of each entry times its position's number, modulo 2^128:
//! lists that differ have the same sum with a probability of about 2^-88 (an age has less than 40
//! trailing zeros), far below that of an error in memory. So lists with the same number count as
//! equal without a comparison of their entries.

use talea_model::random::{STEP, mix};

/// Sum over the entries of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    all: u128,
    /// Sum of the numbers of positions with ages that change with each request created.
    own: u128,
}

/// A number for each position.
#[inline]
const fn weight(position: u32) -> u128 {
    let seed = (position as u64).wrapping_mul(STEP);
    (mix(seed) as u128) << 64 | mix(seed ^ 0xd1b5_4a32_d192_ed03) as u128 | 1
}

impl Sum {
    /// Adds an entry that stays unchanged, or (`own`) an age that grows with each request created.
    #[inline]
    pub fn add(&mut self, position: u32, value: i64, own: bool) {
        let weight = weight(position);
        self.all = self.all.wrapping_add(weight.wrapping_mul(i128::from(value) as u128));
        if own {
            self.own = self.own.wrapping_add(weight);
        }
    }

    /// Removes an entry.
    #[inline]
    pub fn remove(&mut self, position: u32, value: i64, own: bool) {
        let weight = weight(position);
        self.all = self.all.wrapping_sub(weight.wrapping_mul(i128::from(value) as u128));
        if own {
            self.own = self.own.wrapping_sub(weight);
        }
    }

    /// The number of a list of this length, whose own ages are larger than the added ones by
    /// `shift`.
    #[inline]
    pub fn number(&self, length: usize, shift: i64) -> u128 {
        const OF_LENGTH: u128 = 0x9fb2_1c65_1e98_df25_a0b4_28db_9f3f_6a17;
        let shifted = self.own.wrapping_mul(i128::from(shift) as u128);
        self.all.wrapping_add(shifted).wrapping_add(OF_LENGTH.wrapping_mul(length as u128 + 1))
    }

    /// The number of a list with these entries.
    pub fn number_of(entries: &[i64]) -> u128 {
        let mut sum = Self::default();
        for (&value, position) in entries.iter().zip(0..) {
            sum.add(position, value, false);
        }
        sum.number(entries.len(), 0)
    }
}
